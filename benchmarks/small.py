"""Few people and a page of statistics: python benchmarks/small.py [--people N ...] [--seeds N]

For 7 people (configs/cacm.yaml, one solution) and for 20, 50 and 200 drawn at random from a seed: share of the released
numbers matched by refit over seeds, and processor seconds a run. The page: counts, two two-way tables, means and sds,
medians and quartiles, and a regression with standard errors.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import TypeAdapter

from outrisk.codebook import Codebook, Variable
from outrisk.config import OutputEntry, read_study
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata, from_frame
from outrisk.outputs import release

CONFIG = Path(__file__).parent.parent / "configs" / "cacm.yaml"
PAGE = [
    {"kind": "frequencies", "by": ["sex", "employed"]},
    {"kind": "frequencies", "by": ["region", "school"]},
    {"kind": "magnitudes", "value": "age", "by": ["sex"], "statistics": ["mean", "sd"], "decimals": 1},
    {"kind": "magnitudes", "value": "income", "by": ["employed"], "statistics": ["count", "mean"], "decimals": 1},
    {"kind": "quantiles", "value": "income", "by": ["region"], "decimals": 1},
    {"kind": "quantiles", "value": "age", "quantiles": [0.25, 0.5, 0.75], "decimals": 1},
    {"kind": "ols", "formula": "income ~ age + C(sex) + C(employed)", "release": ["coefficients", "standard_errors"],
     "decimals": 2},
]  # fmt: skip


def population(people, seed=1):
    """People with an age, a sex, schooling, a region, work and an income in thousands, drawn at random."""
    rng = np.random.default_rng([seed, people])
    age = rng.integers(18, 91, people)
    sex, region = rng.integers(0, 2, people), rng.choice(3, people, p=[0.5, 0.3, 0.2])
    school = np.clip(rng.poisson(1.3, people), 0, 3)
    employed = (rng.random(people) < np.where(age < 65, 0.75, 0.15)).astype(int)
    income = np.clip(np.round(8 + 12 * employed + 5 * school + 0.1 * age + rng.gamma(2.0, 4.0, people)), 0, 120)
    return pd.DataFrame(
        {"age": age, "sex": sex, "region": region, "school": school, "employed": employed, "income": income.astype(int)}
    )


def codebook():
    """The variables: two numeric ones on whole values, four of a few levels."""
    levels = {"sex": 2, "region": 3, "school": 4, "employed": 2}
    ranges = {"age": range(18, 91), "income": range(121)}
    names = ["age", "sex", "region", "school", "employed", "income"]
    return Codebook(
        tuple(
            Variable(name, "integer", tuple(ranges[name]))
            if name in ranges
            else Variable(name, "categorical", tuple(str(level) for level in range(levels[name])))
            for name in names
        )
    )


def drawn(people):
    """The problem of so many people."""
    book = codebook()
    data = from_frame(population(people), book)
    adapter = TypeAdapter(OutputEntry)
    outputs = [o for at, entry in enumerate(PAGE, 1) for o in adapter.validate_python(entry).build(book, at)]
    released = tuple(release(output, data) for output in outputs)
    return Problem(book, people, released)


def published():
    """The same of the seven people, from the study file."""
    study = read_study(CONFIG)
    book = study.codebook()
    released = tuple(study.released(book))
    rules = tuple(rule.mask for rule in study.rules(book))
    return Problem(book, study.file.records, released, rules)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, nargs="+", default=[7, 20, 50, 200])
    parser.add_argument("--seeds", type=int, default=10)
    arguments = parser.parse_args()
    for people in arguments.people:
        problem = published() if people == 7 else drawn(people)
        for _ in evolve(problem, preset("fast", generations=2), np.random.default_rng(0)):  # compiled
            pass
        shares, seconds = [], []
        for seed in range(1, arguments.seeds + 1):
            started = time.process_time()
            *_, last = evolve(problem, preset("fast"), np.random.default_rng(seed))
            seconds.append(time.process_time() - started)
            data = Microdata(problem.codebook, last.codes)
            matched = [released.recompute(data).matched for released in problem.released]
            shares.append(float(np.mean(np.concatenate(matched))))
        whole = sum(share == 1.0 for share in shares)
        print(
            f"{people:4} people: all numbers in {whole} of {len(shares)} runs; share matched median "
            f"{statistics.median(shares):.3f}, least {min(shares):.3f}; {statistics.median(seconds):.2f} s a run, "
            f"{sum(seconds):.1f} s in all",
            flush=True,
        )


if __name__ == "__main__":
    main()
