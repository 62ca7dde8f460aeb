"""What each operator of preset `fast` is worth: python benchmarks/ablation.py [--quick] [--sizes 50 300] [--keep FILE]

Operators are switched off one at a time, on classes of problems made of SARS-like records: a lone logit; ten two-way
tables; tables and means beside regressions with standard errors (of 30 records or fewer, one regression, printed to
two decimals). Printed for each: runs that matched every number, the mean and the least share of numbers matched at
the end by refit, in how many seeds it is above and below that of `as is`, medians of generations and processor
seconds. A run ends as any run of the preset does, or after so many processor seconds (SECONDS). Operators take turns
within a seed, so that a busy machine is so for all of them. With --keep every run is added to a file, and the same
command goes on where it ended.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import time
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from unittest.mock import PropertyMock, patch

import numpy as np
import pandas as pd
from pydantic import TypeAdapter
from threadpoolctl import threadpool_limits

from outrisk.config import OutputEntry
from outrisk.datasets import sars_codebook, sars_like
from outrisk.errors import OutRiskError
from outrisk.evolve import (
    acceptance,
    by_size,
    calibrated,
    closing,
    freely,
    linear_map,
    local_search,
    mending,
    moves,
    schedule,
    small,
    swaps,
    weights,
)
from outrisk.evolve.ahead import compile_ahead
from outrisk.evolve.balance import balanced
from outrisk.evolve.breeding import mutate
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.evolve.swaps import Edits, draw_swaps
from outrisk.evolve.tuning import TUNING
from outrisk.microdata import Microdata, from_frame
from outrisk.outputs import release

SECONDS = {
    "a lone logit": 2.0,
    "ten two-way tables": 2.0,
    "tables with regressions": 3.0,
}  # twice as many from 50,000 records
FEW = 30  # records up to which a run anneals
LARGE = 50_000  # records from which on a run has twice as many seconds


TUNED = (
    acceptance,
    by_size,
    calibrated,
    closing,
    freely,
    linear_map,
    local_search,
    mending,
    moves,
    schedule,
    small,
    swaps,
    weights,
)  # modules that read the constants


def entries_of(kind, n):
    """The outputs of a class of problems, of so many records, as a study file has them."""
    if kind == "ten two-way tables":
        names = sars_codebook().names
        return [{"kind": "frequencies", "by": list(by)} for by in list(itertools.combinations(names, 2))[::2][:10]]
    if kind == "a lone logit":
        return [{"kind": "logit", "formula": "TENURE ~ AGE + C(MSTATUS) + SEX", "event": 1, "decimals": 4}]
    tables = [["SEX", "TENURE"], ["MSTATUS", "SEX"], ["AREAP", "LTILL"]]
    others = [{"kind": "frequencies", "by": by} for by in tables]
    others.append({"kind": "magnitudes", "value": "AGE", "by": ["MSTATUS"]})
    both = {"release": ["coefficients", "standard_errors"], "decimals": 2 if n <= FEW else 3 if n < 50_000 else 5}
    ols = {"kind": "ols", "formula": "AGE ~ C(SEX) + C(TENURE)" if n <= FEW else "AGE ~ C(SEX) + C(LTILL)", **both}
    logit = {"kind": "logit", "formula": "TENURE ~ AGE + SEX + LTILL", "event": 1, **both}
    return [ols, *others] if n <= FEW else [logit, ols, *others]


def kicked(move, rate=0.001):
    """A move after which values were redrawn at random, as a genetic algorithm mutates (iterated local search)."""

    def after_mutation(candidate, linear, visits, temperature, rng):
        mutate(linear.problem, candidate, rate, rng)
        move(candidate, linear, visits, temperature, rng)

    return after_mutation


def systematic(rows, shares, asked, order, polish, rng, others=None):
    """Items taken by systematic sampling along the order, not by the cube method."""
    at = np.cumsum(shares[order]) + rng.random()
    taken = np.zeros(len(shares), np.bool_)
    taken[order] = np.diff(np.floor(at), prepend=np.floor(at[0] - shares[order[0]])) > 0
    return taken, taken @ rows - asked


def by_chance(rows, shares, asked, order, polish, rng, others=None):
    """Items taken one by one by chance, then annealed as after the cube method."""
    return balanced(rows, (rng.random(len(shares)) < shares).astype(float), asked, order, polish, rng, others)


def unpolished(rows, shares, asked, order, polish, rng, others=None):
    """Items taken by the cube method, with no annealing over all of them."""
    return balanced(rows, shares, asked, order, 0, rng)


def by_sorting(problem, codes, who, kept, ranges, rng):
    """Swaps drawn by sorting, where they would be drawn between records alike in most."""
    return draw_swaps(problem, codes, who, kept, kept, rng)


def no_swaps(_, codes, *__):
    """None drawn."""
    return Edits.of_one(np.zeros(0, np.int64), codes[:0])


def of_any(codes, free, variable, numeric, sizes, most, rng):
    """Records that take any other value, drawn alike whatever value they have."""
    new = codes[free[:most]]
    new[:, variable] = (new[:, variable] + rng.integers(1, sizes[variable], len(new))) % sizes[variable]
    return free[:most, None], new


NEVER = lambda *_: False  # noqa: E731
SWITCHES = {  # operator: settings, constants of the tuning, (place, name, what stands there instead)
    "as is": ({}, {}, []),
    "with mutation": (
        {},
        {},
        [(moves, name, kicked(getattr(moves, name))) for name in ("descend", "descend_with_swaps")],
    ),
    "uniform start": ({"start": "uniform"}, {}, []),
    "start released": ({"start": "released"}, {}, []),
    "start released, no counts first": (
        {"start": "released"},
        {},
        [(Problem, "counts", PropertyMock(return_value=None))],
    ),
    "calibrated start by systematic sampling": ({}, {}, [(calibrated, "balanced", systematic)]),
    "no closing in": ({}, {}, [(schedule, "applies", NEVER), (schedule, "closes", NEVER)]),
    "closing in without the cube": ({}, {}, [(closing, "balanced", by_chance)]),
    "closing in, no annealing": ({}, {}, [(closing, "balanced", unpolished), (closing, "SWEEPS", 1)]),
    "closing in, one start": ({}, {"anew": 0}, [(closing.Closing, "in_vain", lambda *_: False)]),
    "closing in, no round without gain goes on": ({}, {}, [(closing, "KICKS", (0, 0))]),
    "closing in, values changed of any records": ({}, {}, [(swaps, "_changes", of_any)]),
    "closing in, swaps by sorting alone": ({}, {}, [(closing, "drawn_alike", by_sorting)]),
    "closing in, no amounts moved at once": ({}, {}, [(local_search, "moved", lambda *_: None)]),
    "closing in, all changes alike": ({}, {}, [(by_size, "PEOPLE", (0, 0))]),
    "closing in, no swaps beside changes": ({}, {}, [(freely.Freely, "_swaps", no_swaps)]),
    "no local search beside swaps": ({}, {"beside": 1e-9}, []),
    "no exchanges": ({}, {}, [(moves.exchanges, "exchange", lambda *_: (0, 0))]),
    "no tightening": ({"tighten": 0.0}, {}, []),
    "no batches of swaps": ({}, {}, [(moves, "anneal", lambda *_: 0)]),
    "no temperature": ({"temperature": 0.0}, {}, []),
    "no penalty weights": ({}, {"emphasis": 1.0}, []),
    "no bends": ({}, {}, [(linear_map, "WITHIN", 0.0)]),
    "no annealing of few people": ({"anneal": 0}, {}, []),
    "annealing of few people, one chain": ({}, {}, [(small, "CHAINS", (1, 1))]),
}
TABLES = ("as is", "with mutation", "no exchanges", "no penalty weights", "uniform start")
LOGIT = (
    "as is",
    "with mutation",
    "no tightening",
    "no batches of swaps",
    "no temperature",
    "no penalty weights",
    "uniform start",
)
ALONE = ("closing in, no amounts moved at once", "closing in, all changes alike", "closing in, no swaps beside changes")
OF_FEW = ("as is", "no annealing of few people", "annealing of few people, one chain")
CLASSES = {
    "a lone logit": LOGIT,
    "ten two-way tables": TABLES,
    "tables with regressions": tuple(name for name in SWITCHES if name not in (*OF_FEW[1:], *ALONE)),
}


@cache
def problem_of(kind, n):
    """A class of problem, for so many records; None where it cannot be released of so few."""
    codebook = sars_codebook()
    data = from_frame(sars_like(n, 1991), codebook)
    adapter = TypeAdapter(OutputEntry)
    try:
        outputs = [
            o for at, e in enumerate(entries_of(kind, n), 1) for o in adapter.validate_python(e).build(codebook, at)
        ]
        problem = Problem(codebook, n, tuple(release(output, data) for output in outputs))
    except OutRiskError as error:
        print(f"{kind}, {n:,} records: {error}", flush=True)
        return None
    run(problem, "as is", 0, 2.0)  # compiled code and plan are there
    return problem


@contextmanager
def switched(switch):
    """The search with an operator switched off; gives its settings."""
    changes, constants, places = SWITCHES[switch]
    with ExitStack() as stack:
        for module in TUNED:
            stack.enter_context(patch.object(module, "TUNING", replace(TUNING, **constants)))
        for place, name, instead in places:
            stack.enter_context(patch.object(place, name, instead))
        yield preset("fast", **changes)


def run(problem, switch, seed, seconds):
    """Processor seconds, generations, share of numbers matched by refit, and whether all of them are."""
    with switched(switch) as settings:
        started = time.process_time()
        for generation in evolve(problem, settings, np.random.default_rng(seed)):
            if generation.stop or time.process_time() - started > seconds:
                break
        used = time.process_time() - started
    synthetic = Microdata(problem.codebook, generation.codes)
    matched = [one.recompute(synthetic).matched for one in problem.released]
    return used, generation.number, float(np.concatenate(matched).mean()), generation.stop == "matched"


def table_of(runs, switches):
    """The rows of a class of problem of one size; runs: {(operator, seed): what `run` returned}."""
    of = {name: {seed: each for (switch, seed), each in runs.items() if switch == name} for name in switches}
    rows = []
    for switch, found in of.items():
        if not found:
            continue
        used, generations, share, all_of_them = zip(*found.values(), strict=True)
        beside = [(each[2], of["as is"][seed][2]) for seed, each in found.items() if seed in of["as is"]]
        rows.append(
            {
                "operator": switch,
                "all matched": f"{sum(all_of_them)} of {len(found)}",
                "share matched": f"{statistics.mean(share):.4f}",
                "least": f"{min(share):.4f}",
                "better": sum(one > other for one, other in beside),
                "worse": sum(one < other for one, other in beside),
                "generations": statistics.median(generations),
                "seconds": f"{statistics.median(used):.2f}",
            }
        )
    return pd.DataFrame(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one seed, 50 and 300 records")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--sizes", type=int, nargs="+", default=[7, 300, 3_000, 50_000])
    parser.add_argument("--classes", nargs="+", choices=list(CLASSES), default=list(CLASSES))
    parser.add_argument("--only", nargs="+", choices=list(SWITCHES), help="these operators, beside `as is`")
    parser.add_argument("--keep", type=Path, help="a file of all runs, which the same command goes on from")
    given = parser.parse_args()
    if given.quick:
        given.seeds, given.sizes = 1, [50, 300]
    compile_ahead(swaps=True)
    runs = {}
    if given.keep and given.keep.exists():
        for kind, n, switch, seed, *found in map(json.loads, given.keep.read_text().splitlines()):
            runs.setdefault((kind, n), {})[switch, seed] = found
    for seed, kind, n in itertools.product(range(1, given.seeds + 1), given.classes, given.sizes):
        switches = OF_FEW if n <= FEW else CLASSES[kind]
        for switch in switches:
            wanted = not given.only or switch in ("as is", *given.only)
            if not wanted or (switch, seed) in runs.setdefault((kind, n), {}) or problem_of(kind, n) is None:
                continue
            found = run(problem_of(kind, n), switch, seed, SECONDS[kind] * (2.0 if n >= LARGE else 1.0))
            runs[kind, n][switch, seed] = found
            if given.keep:
                with given.keep.open("a") as file:
                    print(json.dumps([kind, n, switch, seed, *found]), file=file)
    for (kind, n), found in runs.items():
        if found:
            print(f"\n{kind}, {n:,} records, {max(seed for _, seed in found)} seeds\n")
            print(table_of(found, OF_FEW if n <= FEW else CLASSES[kind]).to_string(index=False), flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
