"""The search beside that of another checkout, in turns: python benchmarks/beside.py CHECKOUT [PART ...] [--seeds N]

tables, mixed: problems of outputs.py, for as many processor seconds as there, numbers matched at the end by refit.
scale: a logit, and all two-way tables to 0.5 a cell, of 10,000 and 100,000 SARS-like records, processor seconds to the
end. engine: those of engine.py, the tables to 0.05 a cell, and a generation of preset `paper`. Each run is a process of
one thread; those of the two checkouts take turns, so that a busy machine is so for both. Printed for each problem:
ratios of this checkout to the other, of every seed and their median, and numbers matched. CHECKOUT needs the same
environment, and `tables` and `mixed` the census excerpt.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("tables", "mixed", "scale", "engine")
TERMS = ["AGE", "AREAP", "ETHGROUP", "LTILL", "MSTATUS", "SEX"]


def of_tree(tree):
    """benchmarks/outputs.py of a checkout, whose package is the one imported."""
    import outrisk

    if Path(outrisk.__file__).resolve().parents[2] != tree:
        sys.exit(f"{tree}: its package is not imported, but {outrisk.__file__}")
    spec = importlib.util.spec_from_file_location("outputs_of_tree", tree / "benchmarks" / "outputs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def posed(codebook, data, outputs):
    """These outputs and the problem that they are, released of the data."""
    from outrisk.evolve.problem import Problem
    from outrisk.outputs import release

    return outputs, Problem(codebook, len(data), tuple(release(output, data) for output in outputs))


def problems_of(part, tree, census):
    """Of each: name, outputs and problem, processor seconds that a run has (None: to its end), error it ends at."""
    from pydantic import TypeAdapter

    from outrisk.config import OutputEntry
    from outrisk.datasets import sars_codebook, sars_like
    from outrisk.microdata import from_frame
    from outrisk.outputs import Frequencies, logit_from_terms

    def tables(codebook, ways):
        return [Frequencies(codebook, f"table {by}", by) for by in itertools.combinations(codebook.names, ways)]

    if part in ("tables", "mixed"):
        codebook, data = tree.census(census)
        if part == "tables":
            for ways, (seconds, _) in tree.LIMITS.items():
                yield f"{ways}-way tables", posed(codebook, data, tables(codebook, ways)), seconds, None
            return
        built = (TypeAdapter(OutputEntry).validate_python(e).build(codebook, at) for at, e in enumerate(tree.MIXED, 1))
        yield "mixed", posed(codebook, data, list(itertools.chain(*built))), 30.0, None
        return
    codebook = sars_codebook()
    logit = logit_from_terms(codebook, "logit", "TENURE", TERMS, {})
    for n in (50_357,) if part == "engine" else (10_000, 100_000):
        data = from_frame(sars_like(n), codebook)
        yield f"{part}: logit of {n:,}", posed(codebook, data, [logit]), None, None
        to = 0.05 if part == "engine" else 0.5
        yield f"{part}: tables of {n:,}", posed(codebook, data, tables(codebook, 2)), None, to


def run(outputs, problem, seed, seconds, to):
    """Processor seconds and generations of a run, and numbers matched by refit of what it ends with."""
    import numpy as np

    from outrisk.evolve.loop import evolve
    from outrisk.evolve.settings import preset
    from outrisk.microdata import Microdata

    next(iter(evolve(problem, preset("fast"), np.random.default_rng(0))))  # compiled code is there
    settings = preset("fast") if seconds is None else preset("fast", patience=0)
    started = time.process_time()
    for generation in evolve(problem, settings, np.random.default_rng(seed)):
        used = time.process_time() - started
        if generation.stop or (seconds and used > seconds) or (to and generation.errors.mae <= to):
            break
    synthetic, pairs = Microdata(problem.codebook, generation.codes), zip(outputs, problem.released, strict=True)
    matched = sum(int(one.is_matched(output.refit(synthetic))[one.known].sum()) for output, one in pairs)
    return {"seconds": used, "generations": generation.number, "matched": matched, "numbers": generation.errors.numbers}


def paper_generation(problem):
    """Median processor seconds of 60 generations of preset `paper`."""
    import numpy as np

    from outrisk.evolve.loop import evolve
    from outrisk.evolve.settings import preset

    last, seconds = time.process_time(), []
    for _ in evolve(problem, preset("paper", generations=60), np.random.default_rng(1), 1):
        seconds.append(time.process_time() - last)
        last = time.process_time()
    return {"seconds": statistics.median(seconds[1:])}


def one(part, seed, tree, census):
    """What a process prints: a line for each problem of the part; compiling is done in a run before."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        for name, (outputs, problem), seconds, to in problems_of(part, of_tree(tree), census):
            if not seed:
                run(outputs, problem, 1, seconds and 1.0, to)
                continue
            print(json.dumps([name, run(outputs, problem, seed, seconds, to)]))
            if name.startswith("engine: logit"):
                print(json.dumps(["engine: a generation of `paper`", paper_generation(problem)]))


def found_by(part, seed, tree, census):
    """What a process on a checkout prints, by name."""
    command = [sys.executable, __file__, str(tree), part, "--one", str(seed), "--data", str(census)]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return dict(map(json.loads, done.stdout.splitlines()))


def compare(part, other, seeds, census):
    for tree in (other, ROOT):
        found_by(part, 0, tree, census)
    pairs = [[found_by(part, seed, tree, census) for tree in (other, ROOT)] for seed in range(1, seeds + 1)]
    for name in pairs[0][0]:
        theirs, ours = zip(*((before[name], now[name]) for before, now in pairs), strict=True)
        for what in ("seconds", "matched", "generations"):
            if what in ours[0]:
                ratios = [mine[what] / yours[what] for mine, yours in zip(ours, theirs, strict=True)]
                shown = ", ".join(f"{each:.3f}" for each in ratios)
                print(f"{name}: {what} {statistics.median(ratios):.3f} ({shown})", flush=True)
        if "matched" in ours[0]:
            here, there = ([each["matched"] for each in side] for side in (ours, theirs))
            print(f"{name}: matched {here} of {ours[0]['numbers']:,}; the other {there}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("parts", nargs="*", choices=PARTS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    shared = ROOT.parent / "shared" / "data" / "census" / "acs_us" / "acs7.csv"
    parser.add_argument("--data", type=Path, default=shared)
    given = parser.parse_args()
    for part in given.parts or PARTS:
        if given.one is not None:
            one(part, given.one, given.checkout.resolve(), given.data)
        else:
            compare(part, given.checkout.resolve(), given.seeds, given.data)


if __name__ == "__main__":
    main()
