"""What a release tells of an amount: shares of records that are right, and means as estimates. Made-up wages.

    python benchmarks/amounts.py [--people 2000] [--seeds 1 2 3 4 5] [--only NAME]

A row for each release and seed: the marginal risk at the variables of the release, by halves, two runs each, with its
95 % interval, and the verdict.

    python benchmarks/amounts.py --columns

One linear programme of what "a table and an ols" proves of the wages, in tens and on coarser grids, by column
generation and with all columns at once: kinds of records with the same keys, unknowns, optimum, processor seconds.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import pandas as pd
from everyday import problem_of

import outrisk
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import from_frame
from outrisk.prove import solver
from outrisk.prove.budget import Budget
from outrisk.prove.programme import programme

KEYS = ("age", "sex", "region", "edu")
RELEASES: dict[str, list[dict[str, Any]]] = {
    "a table and an ols": [
        {"kind": "frequencies", "by": ["edu", "sex"]},
        {"kind": "ols", "formula": "wage ~ age + C(sex) + C(edu)", "decimals": 4},
    ],
    "means by edu, sex, region": [
        {"kind": "magnitudes", "value": "wage", "by": ["edu", "sex", "region"], "statistics": ["count", "mean", "sd"]}
    ],
    "means by age, edu, sex": [
        {"kind": "magnitudes", "value": "wage", "by": ["age", "edu", "sex"], "statistics": ["count", "mean"]}
    ],
    "medians by age, edu, sex": [
        {"kind": "quantiles", "value": "wage", "by": ["age", "edu", "sex"], "quantiles": [0.5]}
    ],
}


def people(n: int, seed: int, step: int = 10) -> tuple[pd.DataFrame, Codebook]:
    """Wages, log-normal around what age, sex and education make of them, in steps of so much."""
    rng = np.random.default_rng(seed)
    levels = {"sex": ("f", "m"), "region": ("east", "north", "south", "west"), "edu": ("high", "low", "middle")}
    frame = pd.DataFrame(
        {"age": rng.integers(18, 66, n)} | {name: rng.choice(each, n) for name, each in levels.items()}
    )
    log = 6.9 + 0.01 * (frame["age"] - 40) + 0.15 * (frame["sex"] == "m") + 0.35 * (frame["edu"] == "high")
    wage = np.exp(log - 0.2 * (frame["edu"] == "low") + rng.normal(0, 0.35, n))
    frame["wage"] = np.clip((wage / step).round() * step, 0, 6000).astype(int)
    variables = [Variable("age", "integer", tuple(range(18, 66)))]
    variables += [Variable(name, "categorical", each) for name, each in levels.items()]
    return frame, Codebook((*variables, Variable("wage", "integer", tuple(range(0, 6001, step)))))


def row(name: str, n: int, seed: int) -> str:
    """The marginal risk of one release."""
    frame, book = people(n, seed)
    asked: dict[str, Any] = {"keys": KEYS, "target": "wage", "codebook": book, "decimals": 0, "seed": seed}
    found = outrisk.assess(frame, RELEASES[name], **asked, runs=2, folds=[2], quiet=True)
    variables = {name for entry in RELEASES[name] for name in (*entry.get("by", ()), *entry.get("formula", "").split())}
    keys = "+".join(key for key in KEYS if key in variables or f"C({key})" in variables)
    rows = found.tables["marginal"]
    here = rows[rows["keys"] == keys].drop_duplicates("measure").set_index("measure")
    cells = [
        f"{here.loc[m, 'difference']:z.3f} ({here.loc[m, 'low']:z.3f} to {here.loc[m, 'high']:z.3f})"
        for m in ("attribution", "estimate_mean", "estimate_median")
    ]
    return f"| {name} | {n:,} | {seed} | {' | '.join(cells)} | {found.verdict} |"


def columns(n: int, seed: int) -> None:
    """One programme on each grid, solved both ways."""
    for step in (10, 50, 100, 200):
        frame, book = people(n, seed, step)
        data = from_frame(frame, book)
        codes = {name: data.codes[:, book.index(name)].astype(np.int64) for name in KEYS}
        released = problem_of(frame, RELEASES["a table and an ols"], book).released
        of = programme(book, released, n, codes, ["wage"])
        objective = np.random.default_rng(seed).random(of.n_counts)
        for name, kinds in (("by column generation", 0), ("at once", np.inf)):
            solver.MANY, solver.KINDS = 0, kinds
            started = time.process_time()
            found = solver.Solver(of, Budget()).maximise(objective)
            took = time.process_time() - started
            print(f"{name}: {of.n_kinds} kinds, {of.n_counts:,} unknowns, {-found.fun:.4f}, {took:.1f} s", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=2_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--only", default="")
    parser.add_argument("--columns", action="store_true")
    arguments = parser.parse_args()
    if arguments.columns:
        columns(arguments.people, 1)
        return
    print("| release | people | seed | attribution | estimate_mean | estimate_median | verdict |")
    print("| --- " * 7 + "|")
    for name in RELEASES:
        for seed in arguments.seeds if arguments.only in name else ():
            print(row(name, arguments.people, seed), flush=True)


if __name__ == "__main__":
    main()
