"""Many outputs at once, and size: python benchmarks/outputs.py [PART ...] [--data FILE] [--seeds N]

tables: all two-, three- and four-way tables of the seven variables of the census excerpt, 2019, 25,435 records, one
core: mean absolute cell error reached at times. mixed: twenty outputs of nine kinds together, numbers matched at
their released precision, by refit. scale: a logit and all two-way tables from 10,000 to 10,000,000 records, seven
variables, in processor seconds (above a million once); --figure draws them. variables: fifty variables, twenty tables,
and what a visit costs. FILE is the census excerpt (acs7.csv).
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from pydantic import TypeAdapter
from threadpoolctl import threadpool_limits

from outrisk.codebook import Codebook, Variable
from outrisk.config import OutputEntry
from outrisk.datasets import sars_codebook, sars_like
from outrisk.evolve import moves
from outrisk.evolve.candidate import draw_candidate
from outrisk.evolve.compiled import climb as kernels
from outrisk.evolve.linear_map import linearise
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.evolve.start import uniform
from outrisk.microdata import Microdata, from_frame, infer_codebook
from outrisk.outputs import Frequencies, logit_from_terms, release
from outrisk.records.provenance import peak_memory_mb

YEAR = 2019
LIMITS = {2: (2.0, 0.05), 3: (4.0, 0.12), 4: (6.0, 0.06)}  # seconds, mean absolute cell error asked for
MOST_REFITTED = 1_000_000
PARTS = ["coefficients", "standard_errors"]
MIXED = [
    {"kind": "logit", "formula": "TENURE ~ AGE + C(ETHGROUP) + C(LTILL) + C(MSTATUS) + C(SEX)", "event": 1,
     "release": PARTS},
    {"kind": "logit", "formula": "LTILL ~ AGE + C(SEX) + C(AREA)", "event": 1, "release": PARTS},
    {"kind": "probit", "formula": "TENURE ~ AGE + C(SEX) + C(MSTATUS)", "event": 1, "release": PARTS},
    {"kind": "ols", "formula": "AGE ~ C(SEX) + C(MSTATUS) + C(LTILL)", "release": PARTS},
    {"kind": "mnlogit", "formula": "MSTATUS ~ AGE + C(SEX)", "release": PARTS},
    *(
        {"kind": "frequencies", "by": list(by)}
        for by in [
            ("AREA", "TENURE"), ("AREA", "ETHGROUP"), ("AGE", "SEX"), ("AGE", "MSTATUS"), ("AREA", "MSTATUS"),
            ("ETHGROUP", "TENURE"), ("LTILL", "SEX"), ("MSTATUS", "TENURE"), ("ETHGROUP", "MSTATUS"),
            ("AREA", "SEX", "LTILL"),
        ]
    ),
    {"kind": "magnitudes", "value": "AGE", "by": ["AREA"], "statistics": ["mean", "sd"]},
    {"kind": "magnitudes", "value": "AGE", "by": ["ETHGROUP", "SEX"], "statistics": ["mean"]},
    {"kind": "quantiles", "value": "AGE", "by": ["MSTATUS"], "quantiles": [0.25, 0.5, 0.75]},
    {"kind": "survival", "time": "AGE", "event": "LTILL", "event_value": 1, "by": "SEX"},
    {"kind": "correlations", "variables": ["AGE", "LTILL", "SEX", "TENURE"]},
]  # fmt: skip


def census(path):
    frame = pd.read_csv(path)
    frame = frame[frame["YEAR"] == YEAR].drop(columns="YEAR").reset_index(drop=True)
    codebook, _ = infer_codebook(frame)
    return codebook, from_frame(frame, codebook)


def run(problem, seconds, seed=1):
    """Evolve for some processor seconds of this thread; returns (seconds, generation) of every generation."""
    next(iter(evolve(problem, preset("fast"), np.random.default_rng(0))))  # compiled code and plan are there
    started, found = time.thread_time(), []
    for generation in evolve(problem, preset("fast", patience=0), np.random.default_rng(seed)):
        found.append((time.thread_time() - started, generation))
        if found[-1][0] > seconds or generation.stop:
            break
    return found


def warm(problem):
    candidate = draw_candidate(problem, uniform(problem), np.random.default_rng(0))
    for fitness, move in (("chi2", moves.descend), ("precision", moves.descend_with_swaps)):
        linear = linearise(problem, candidate.codes, candidate.totals, fitness)
        move(candidate, linear, 10, 0.0, np.random.default_rng(0))


def tables(path, seeds):
    codebook, data = census(path)
    for ways, (limit, asked) in LIMITS.items():
        outputs = [Frequencies(codebook, f"table {by}", by) for by in itertools.combinations(codebook.names, ways)]
        problem = Problem(codebook, len(data), tuple(release(output, data) for output in outputs))
        warm(problem)
        reached = []
        for seed in range(1, seeds + 1):
            trace = run(problem, limit, seed)
            inside = [generation.errors for seconds, generation in trace if seconds <= limit]
            reached.append(inside[-1].mae)
            first = next((seconds for seconds, generation in trace if generation.errors.mae <= asked), float("nan"))
            print(f"{ways}-way, seed {seed}: {inside[-1].mae:.4f} per cell in {limit:g} s, {asked:g} in {first:.2f} s")
        print(f"{ways}-way: {len(problem.low):,} cells, median {statistics.median(reached):.4f}\n")
        state = draw_candidate(problem, uniform(problem), np.random.default_rng(1))  # with all of the work left to do
        linear = linearise(problem, state.codes, state.totals, "precision")
        ranges = (*linear.arrays, *linear.slopes(state.totals))
        started = time.thread_time()
        _, looked = kernels.climb(
            problem.plan, state.codes, state.totals, *ranges, 200_000, True, 0.0, np.random.default_rng(0)
        )
        print(f"{ways}-way: {looked / (time.thread_time() - started) / 1e6:.1f} million proposals/s\n")


def mixed(path, seeds, seconds=30.0):
    codebook, data = census(path)
    adapter = TypeAdapter(OutputEntry)
    outputs = [o for at, entry in enumerate(MIXED, 1) for o in adapter.validate_python(entry).build(codebook, at)]
    problem = Problem(codebook, len(data), tuple(release(output, data) for output in outputs))
    warm(problem)
    shares, kinds = [], []
    for seed in range(1, seeds + 1):
        trace = run(problem, seconds, seed)
        for at in np.linspace(0, len(trace) - 1, 6).astype(int):
            print(f"  {trace[at][0]:5.1f} s: {trace[at][1].errors.matched:,} of {trace[at][1].errors.numbers:,}")
        synthetic = Microdata(codebook, trace[-1][1].codes)
        rows = []
        for one in problem.released:
            matched = one.recompute(synthetic).matched
            rows.append({"kind": one.kind, "matched": int(matched.sum()), "numbers": len(matched)})
            print(f"    {one.name[:60]:60s} {matched.sum():4d} of {len(matched)}")
        by_kind = pd.DataFrame(rows).groupby("kind").sum().assign(share=lambda t: t["matched"] / t["numbers"])
        print(by_kind.round(3).to_string())
        kinds.append(by_kind["share"])
        shares.append(by_kind["matched"].sum() / by_kind["numbers"].sum())
        print(f"seed {seed}: {shares[-1]:.3f} of all numbers matched by refit, {trace[-1][0]:.1f} s of evolution\n")
    spread = pd.concat(kinds, axis=1).agg(["median", "min"], axis=1).round(3)
    print(f"median {statistics.median(shares):.3f} (asked: 0.95), by kind (asked: 0.80):\n{spread.to_string()}")


def scale(seeds, largest, figure):
    codebook = sars_codebook()
    terms = ["AGE", "AREAP", "ETHGROUP", "LTILL", "MSTATUS", "SEX"]
    logit = logit_from_terms(codebook, "logit", "TENURE", terms, {})
    pairs = [Frequencies(codebook, f"table {by}", by) for by in itertools.combinations(codebook.names, 2)]
    sizes = [n for n in (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000) if n <= largest]
    medians = {}
    for n in sizes:
        data = sars(codebook, n)
        part = Microdata(
            codebook, data.codes[:MOST_REFITTED]
        )  # the published logit: statsmodels needs 0.6 GB a million
        for name, outputs in (("logit to 4 decimals", [logit]), ("two-way tables to 0.5 per cell", pairs)):
            source = part if outputs == [logit] else data
            problem = Problem(codebook, n, tuple(release(output, source) for output in outputs))
            warm(problem)
            times, before = [], peak_memory_mb()
            for seed in range(1, (seeds if n <= MOST_REFITTED else 1) + 1):
                started = time.thread_time()
                for generation in evolve(problem, preset("fast"), np.random.default_rng(seed)):
                    if generation.stop or (len(outputs) > 1 and generation.errors.mae <= 0.5):
                        break
                times.append(time.thread_time() - started)
            errors = generation.errors
            medians.setdefault(name, []).append(statistics.median(times))
            print(
                f"{n:>10,} records, {name}: median {medians[name][-1]:.2f} processor s, {errors.matched:,} of "
                f"{errors.numbers:,} matched, error {errors.mae:.2g}, peak {peak_memory_mb():,.0f} MB "
                f"({before:,.0f} MB before evolution)",
                flush=True,
            )
    if figure:
        draw(figure, sizes, medians)


def sars(codebook, n):
    """SARS-like data, drawn a million records at a time: the frames of text that they come from need much memory."""
    steps = [min(MOST_REFITTED, n - at) for at in range(0, n, MOST_REFITTED)]
    return Microdata(
        codebook, np.concatenate([from_frame(sars_like(k, 1991 + e), codebook).codes for e, k in enumerate(steps)])
    )


def draw(path, sizes, medians):
    """Time over records, both on logarithmic scales, beside lines of time in proportion to records."""
    plt.rcParams["svg.hashsalt"] = "outrisk"
    figure, axes = plt.subplots(figsize=(6.4, 4))
    for (name, times), colour, marker in zip(medians.items(), ("#1b6ca8", "#c2571a"), "os", strict=True):
        axes.loglog(sizes, times, marker + "-", color=colour, label=name)
        axes.loglog(sizes, [times[0] * n / sizes[0] for n in sizes], ":", color=colour, linewidth=1)
    axes.set(xlabel="records", ylabel="processor seconds of evolution (one core)")
    axes.plot([], [], ":", color="grey", label="in proportion to the records, from the first")
    axes.grid(True, alpha=0.3)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def variables():
    rng = np.random.default_rng(1)
    codebook = Codebook(tuple(Variable(f"v{j}", "categorical", tuple("abcdef")) for j in range(50)))
    codes = rng.integers(0, 6, (20_000, 50)).astype(np.uint16)
    codes[:, 1::2] = np.where(rng.random((20_000, 25)) < 0.4, codes[:, ::2], codes[:, 1::2])
    data = Microdata(codebook, codes)
    names = codebook.names
    for p, chosen in ((4, [("v0", "v1"), ("v2", "v3")]), (50, [tuple(names[2 * k : 2 * k + 2]) for k in range(20)])):
        problem = Problem(
            codebook, len(data), tuple(release(Frequencies(codebook, f"table {by}", by), data) for by in chosen)
        )
        warm(problem)
        candidate = draw_candidate(problem, uniform(problem), rng)
        linear = linearise(problem, candidate.codes, candidate.totals, "precision")
        ranges = linear.arrays
        slopes = linear.slopes(candidate.totals)
        started = time.thread_time()
        kernels.climb(problem.plan, candidate.codes, candidate.totals, *ranges, *slopes, 500_000, True, 0.0, rng)
        cost = (time.thread_time() - started) / 500_000 * 1e9
        *_, end = run(problem, 20.0)
        found = end[1].errors
        print(
            f"{p} variables in {len(chosen)} tables: {cost:.0f} ns a visit; {found.matched} of {found.numbers} matched "
            f"in {end[0]:.1f} s"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="*", choices=["tables", "mixed", "scale", "variables"])
    shared = Path(__file__).resolve().parents[2] / "shared" / "data" / "census" / "acs_us" / "acs7.csv"
    parser.add_argument("--data", type=Path, default=shared)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--figure", type=Path, help="scale: where to draw time over records (SVG or PNG)")
    given = parser.parse_args()
    with threadpool_limits(1):
        wanted = given.what or ["tables", "mixed", "scale", "variables"]
        if "tables" in wanted:
            tables(given.data, given.seeds)
        if "mixed" in wanted:
            mixed(given.data, given.seeds)
        if "scale" in wanted:
            scale(given.seeds, given.largest, given.figure)
        if "variables" in wanted:
            variables()
