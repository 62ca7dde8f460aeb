"""What each operator of preset `fast` is worth: python benchmarks/ablation.py [--quick] [--seeds 10] [--sizes 50 300]

Operators are switched off one at a time, on classes of problems made of SARS-like records: a lone logit; ten two-way
tables; tables and means beside two regressions with standard errors. Printed for each: runs that matched every number,
the share of numbers matched at the end by refit, generations and processor seconds (medians over the seeds). A run ends
as any run of the preset does, or after --seconds.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from contextlib import ExitStack
from dataclasses import replace
from unittest.mock import PropertyMock, patch

import numpy as np
import pandas as pd
from pydantic import TypeAdapter
from threadpoolctl import threadpool_limits

from outrisk.config import OutputEntry
from outrisk.datasets import sars_codebook, sars_like
from outrisk.evolve import acceptance, linear_map, local_search, moves, schedule, weights
from outrisk.evolve.breeding import mutate
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.evolve.tuning import TUNING
from outrisk.microdata import Microdata, from_frame
from outrisk.outputs import Frequencies, release

BOTH = {"release": ["coefficients", "standard_errors"], "decimals": 3}
LOGIT = {"kind": "logit", "formula": "TENURE ~ AGE + SEX + LTILL", "event": 1, "decimals": 4}
MIXED = [
    {**LOGIT, **BOTH},
    {"kind": "ols", "formula": "AGE ~ C(SEX) + C(LTILL)", **BOTH},
    *({"kind": "frequencies", "by": by} for by in (["SEX", "TENURE"], ["MSTATUS", "SEX"], ["AREAP", "LTILL"])),
    {"kind": "magnitudes", "value": "AGE", "by": ["MSTATUS"]},
]
TUNED = (acceptance, linear_map, local_search, moves, schedule, weights)  # modules that read the constants


def kicked(move, rate=0.001):
    """A move after which values were redrawn at random, as a genetic algorithm mutates (iterated local search)."""

    def after_mutation(candidate, linear, visits, temperature, rng):
        mutate(linear.problem, candidate, rate, rng)
        move(candidate, linear, visits, temperature, rng)

    return after_mutation


SWITCHES = {  # operator: settings, constants of the tuning, and (place, name, what stands there instead)
    "as is": ({}, {}, []),
    "with mutation": (
        {},
        {},
        [(moves, name, kicked(getattr(moves, name))) for name in ("descend", "descend_with_swaps")],
    ),
    "no local search beside swaps": ({}, {"beside": (1e-9, 1e-9)}, []),
    "no exchanges": ({}, {}, [(moves.exchanges, "exchange", lambda *_: (0, 0))]),
    "no counts first": ({}, {}, [(Problem, "counts", PropertyMock(return_value=None))]),
    "no tightening": ({"tighten": 0.0}, {}, []),
    "no batches of swaps": ({}, {}, [(moves, "anneal", lambda *_: 0)]),
    "no temperature": ({"temperature": 0.0}, {}, []),
    "one finish": ({}, {}, [(schedule.Schedule, "_turns", lambda *_: False)]),
    "no penalty weights": ({}, {"emphasis": 1.0}, []),
    "no bends": ({}, {"within": 0.0}, []),
    "uniform start": ({"start": "uniform"}, {}, []),
}
TABLES = ("as is", "with mutation", "no exchanges", "no penalty weights", "uniform start")
CLASSES = {
    "a lone logit": (
        "as is",
        "with mutation",
        "no tightening",
        "no batches of swaps",
        "no temperature",
        "no penalty weights",
    ),
    "ten two-way tables": TABLES,
    "tables with regressions": tuple(SWITCHES),
}


def problem_of(kind, n):
    """A class of problem, for so many records."""
    codebook = sars_codebook()
    data = from_frame(sars_like(n, 1991), codebook)
    if kind == "ten two-way tables":
        pairs = list(itertools.combinations(codebook.names, 2))[::2][:10]
        outputs = [Frequencies(codebook, " x ".join(by), by) for by in pairs]
    else:
        entries = [LOGIT] if kind == "a lone logit" else MIXED
        adapter = TypeAdapter(OutputEntry)
        outputs = [o for at, e in enumerate(entries, 1) for o in adapter.validate_python(e).build(codebook, at)]
    return Problem(codebook, n, tuple(release(output, data) for output in outputs))


def run(problem, switch, seed, seconds):
    """Processor seconds, generations, share of numbers matched by refit, and whether all of them are."""
    changes, constants, places = SWITCHES[switch]
    with ExitStack() as stack:
        for module in TUNED:
            stack.enter_context(patch.object(module, "TUNING", replace(TUNING, **constants)))
        for place, name, instead in places:
            stack.enter_context(patch.object(place, name, instead))
        started = time.process_time()
        for generation in evolve(problem, preset("fast", **changes), np.random.default_rng(seed)):
            if generation.stop or time.process_time() - started > seconds:
                break
        used = time.process_time() - started
    synthetic = Microdata(problem.codebook, generation.codes)
    matched = [one.recompute(synthetic).matched for one in problem.released]
    return used, generation.number, float(np.concatenate(matched).mean()), generation.stop == "matched"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one seed, 50 and 300 records, 5 seconds")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20.0, help="processor seconds after which a run ends")
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 300, 3_000, 50_000])
    parser.add_argument("--classes", nargs="+", choices=list(CLASSES), default=list(CLASSES))
    parser.add_argument("--only", nargs="+", choices=list(SWITCHES), help="these operators alone")
    given = parser.parse_args()
    if given.quick:
        given.seeds, given.sizes, given.seconds = 1, [50, 300], 5.0
    for kind, n in itertools.product(given.classes, given.sizes):
        problem = problem_of(kind, n)
        run(problem, "as is", 0, 2.0)  # compiled code and plan are there
        rows = []
        for switch in CLASSES[kind]:
            if given.only and switch not in given.only:
                continue
            runs = [run(problem, switch, seed, given.seconds) for seed in range(1, given.seeds + 1)]
            used, generations, share, all_of_them = zip(*runs, strict=True)
            rows.append(
                {
                    "operator": switch,
                    "all matched": f"{sum(all_of_them)} of {len(runs)}",
                    "share matched": f"{statistics.mean(share):.4f}",
                    "generations": statistics.median(generations),
                    "seconds": f"{statistics.median(used):.2f}",
                }
            )
        print(f"\n{kind}, {n:,} records, {int(problem.importance.size)} numbers, {given.seeds} seeds\n", flush=True)
        print(pd.DataFrame(rows).to_string(index=False), flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
