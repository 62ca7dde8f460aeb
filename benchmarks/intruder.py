"""What does an intruder guess who holds a register of everybody's keys? On a census excerpt beside the checkout.

    python benchmarks/intruder.py [guesses] [--people 1000 2000 20000] [--ways 3 4]
    python benchmarks/intruder.py logit         # a logit on the keys beside the one-way tables of the target
    python benchmarks/intruder.py protected     # 2,000 people: the same tables, protected in several ways
    python benchmarks/intruder.py reliable --people 5000 --ways 3  # draws docs/reliability.svg
    python benchmarks/intruder.py null --draws 100 --people 1000
    python benchmarks/intruder.py recurring --people 1000 --runs 20  # no register; draws docs/recurring.svg

Original: 2019; holdout: 2018; target: TENURE (own or rent); six keys, ages in single years. Released: all tables of the
target by every set of 1 to `ways` - 1 keys. Beside the guesses stands the attack of Annamalai, Gadotti and Rocher
(USENIX Security 2024) on the same tables: the linear programme that holds all counts, its solution rounded.
`null`: the tables are those of a third sample, the register is that of the original (all of 2019); the marginal risk is
then 0. `recurring`: all tables of 2 and of 3 of the seven variables, evolved anew from so many seeds; the records are
ranked by how many of the data sets hold them.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
from census import PROTECTIONS, TARGET, Census
from matplotlib.figure import Figure
from scipy.optimize import linprog

from outrisk.assess.folds import Fold
from outrisk.assess.with_register import guess_fold
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, logit_from_terms, release
from outrisk.problem.released import Released
from outrisk.reconstruct.best_guesses import best_guesses
from outrisk.records.provenance import peak_memory_mb
from outrisk.report.figures.reliability_figure import reliability_figure
from outrisk.result_row import Top
from outrisk.risk.recurrence.recurring import recurring as recur

_DOCS = Path(__file__).resolve().parents[1] / "docs"
_PATIENCE = 180.0  # seconds by the clock for the linear programme
_SECONDS = 5.0  # of the processor for a data set that reproduces tables
HEAD = (
    "| people | released | right, original | right, holdout | marginal risk (95 %) | guessed with 0.9: share, right "
    "| unique keys: right | TPR at FPR 0.01, 0.001 | processor seconds |"
)


def guess(census: Census, original: Microdata, holdout: Microdata, released: list[Released], seed: int = 1):
    """What the intruder guesses, as a study has it, and its processor seconds."""
    fold = Fold(1, 0, "whole", original, holdout, "2018")
    problem = Problem(census.book, len(original), tuple(released))
    started = time.process_time()
    found = guess_fold(fold, problem, census.keys, TARGET, seed)
    return found, time.process_time() - started


def row(n: int, what: str, found, seconds: float) -> str:
    """A row under HEAD."""
    if found.facts.skipped:
        return f"| {n:,} | {what} | {found.facts.skipped} | | | | | | |"
    by = {(each.measure, each.unique): each for each in found.compared}
    right, sure, surely = by["right", False], by["confident", False], by["confident_right", False]
    unique, rates = by["right", True].original.value, [by[name, False].original.value for name in ("tpr_01", "tpr_001")]
    return (
        f"| {n:,} | {what} | {right.original.value:.3f} | {right.holdout.value:.3f} | {right.difference.value:+.3f} "
        f"({right.difference.low:+.3f} to {right.difference.high:+.3f}) | {sure.original.value:.2f}, "
        f"{surely.original.value:.3f} | {unique:.3f} | {rates[0]:.3f}, {rates[1]:.3f} | "
        f"{seconds:.1f} |"
    )


def side_by_side(census: Census, data: Microdata, released: list[Released], programme: bool) -> str:
    """Shares right and processor seconds of the guesses, and of a vertex of the linear programme that holds all counts.

    Both have the same constraints; setting these up is in neither, nor are predictors for people not in the data. The
    linear programme has one unknown a group of people with the same keys, their number with the second value.
    """
    of, truth = census.programme(data, released), census.truth(data)
    started = time.process_time()
    right = float((best_guesses(of, TARGET).chances.argmax(axis=1) == truth).mean())
    guessed = f"{right:.3f}, {time.process_time() - started:.2f}"
    if not programme:
        return f"{guessed} | not tried | not tried |"
    first, second = (of.matrix[:, at : of.n_counts : 2].tocsr() for at in (0, 1))
    matrix, ends = (second - first).tocsr(), of.low - first @ of.sizes
    cost, most = np.random.default_rng(1).random(len(of.sizes)), np.stack([0.0 * of.sizes, of.sizes], axis=1)
    answers = []
    for method in ("highs-ds", "highs-ipm"):
        started = time.process_time()
        found = linprog(cost, A_eq=matrix, b_eq=ends, bounds=most, method=method, options={"time_limit": _PATIENCE})
        seconds = time.process_time() - started
        if found.x is None:
            answers.append(f"no answer in {seconds:.0f}")
            continue
        vertex = of.kinds[(found.x > of.sizes / 2).astype(np.int64)[of.groups], 0]
        answers.append(f"{float((vertex == truth).mean()):.3f}, {seconds:.2f}")
    return f"{guessed} | {' | '.join(answers)} |"


def guesses(census: Census, arguments: argparse.Namespace) -> None:
    """The table of people and ways."""
    print(f"{HEAD} guesses alone: right, processor seconds | linear programme by simplex | by interior point |")
    print("| --- " * 12 + "|")
    for n in arguments.people:
        for ways in arguments.ways:
            original, holdout = census.some("2019", n, 1), census.some("2018", n, 1)
            released = census.tables(original, ways)
            line = row(n, f"{ways}-way", *guess(census, original, holdout, released))
            print(f"{line} {side_by_side(census, original, released, arguments.programme)}", flush=True)
    print(f"\nmost memory of the process: {peak_memory_mb() / 1e3:.1f} GB")


def logit(census: Census, arguments: argparse.Namespace) -> None:
    """A logit of the target on all keys as categories, and the one-way tables of the target."""
    print(HEAD)
    print("| --- " * 9 + "|")
    for n in arguments.people:
        original, holdout = census.some("2019", n, 1), census.some("2018", n, 1)
        some = original.frame()
        terms = [name for name in census.keys if name != "AGE"]
        rare = [name for name in terms if some.groupby(name, observed=False)[TARGET].nunique().min() < 2]
        terms = [name for name in terms if name not in rare]
        tables = [release(Frequencies(census.book, by, (by, TARGET)), original) for by in terms]
        for decimals in (3, 4):
            model = logit_from_terms(census.book, "logit", TARGET, terms, {}, decimals)
            line = row(
                n,
                f"logit on {'+'.join(terms)}, {decimals} decimals",
                *guess(census, original, holdout, [release(model, original)]),
            )
            print(line, flush=True)
        print(row(n, "their one-way tables", *guess(census, original, holdout, tables)), flush=True)


def protected(census: Census, arguments: argparse.Namespace) -> None:
    """The same tables of 2,000 people, protected."""
    print(HEAD)
    print("| --- " * 9 + "|")
    n, ways = arguments.people[0], arguments.ways[0]
    original, holdout = census.some("2019", n, 1), census.some("2018", n, 1)
    for name, protection in PROTECTIONS.items():
        released = census.tables(original, ways, protection)
        print(row(n, f"{ways}-way, {name}", *guess(census, original, holdout, released)), flush=True)


def reliable(census: Census, arguments: argparse.Namespace) -> None:
    """Draw docs/reliability.svg: share guessed rightly by the chance of the guess."""
    n, ways = arguments.people[0], arguments.ways[0]
    original, holdout = census.some("2019", n, 1), census.some("2018", n, 1)
    found, _ = guess(census, original, holdout, census.tables(original, ways))
    bins: dict[float, dict[str, tuple[int, float, float]]] = {}
    for side, each in (found.bins or {}).items():
        for one in each:
            bins.setdefault(one.low, {})[side] = (one.people, one.chance, one.right)
            print(f"{side}: chance {one.chance:.3f}, right {one.right:.3f}, {one.people:,} people")
    drawing = reliability_figure([bins[low] for low in sorted(bins)])
    replace(drawing, png=None).write(_DOCS)


def evolved(census: Census, original: Microdata, ways: int, runs: int) -> tuple[list[Microdata], int]:
    """Data sets that reproduce all tables of so many variables, and how many of them do so exactly."""
    names = [variable.name for variable in census.book.variables]
    tables = [release(Frequencies(census.book, " x ".join(by), by), original) for by in combinations(names, ways)]
    problem, found, exact = Problem(census.book, len(original), tuple(tables)), [], 0
    for run in range(runs):
        started = time.process_time()
        for generation in evolve(problem, preset("fast"), np.random.default_rng(run)):
            if generation.stop or time.process_time() - started > _SECONDS:
                break
        found.append(Microdata(census.book, generation.codes))
        exact += all(each.recompute(found[-1]).matched.all() for each in problem.released)
    return found, exact


def _limits(top: Top) -> str:
    """The interval in brackets; of a single record there is none."""
    return "" if np.isnan(top.low) else f" ({top.low:+.3f} to {top.high:+.3f})"


def recurring(census: Census, arguments: argparse.Namespace) -> None:
    """Confidence-ranked reconstruction: match rates of the top k, and their area; draws docs/recurring.svg."""
    print(
        "| released | exact | top | in so many of the runs | original | holdout | null | beyond the holdout (95 %) "
        "| area: original | holdout | null |"
    )
    print("| --- " * 11 + "|")
    n, drawing = arguments.people[0], Figure(figsize=(7, 3.2), layout="constrained")
    original, holdout = census.some("2019", n, 1), census.some("2018", n, 1)
    for axes, ways in zip(drawing.subplots(1, 2, sharey=True), (2, 3), strict=True):
        found, exact = evolved(census, original, ways, arguments.runs)
        tops = recur(found, original, holdout, census.book.names, 1)
        for top in tops:
            print(
                f"| {ways}-way | {exact} of {len(found)} | {top.top:,} | {top.recurs:.2f} | {top.original:.3f} | "
                f"{top.holdout:.3f} | {top.null:.3f} | {top.difference:+.3f}{_limits(top)} | "
                f"{top.area_original:.3f} | {top.area_holdout:.3f} | {top.area_null:.3f} |",
                flush=True,
            )
        for side, mark in (("original", "o-"), ("holdout", "s--"), ("null", "^:")):
            axes.plot([top.top for top in tops], [getattr(top, side) for top in tops], mark, label=side)
        axes.set(xscale="log", xlabel="records that recur most", ylim=(0, 1.03), title=f"all {ways}-way tables")
    axes.legend(frameon=False)
    drawing.axes[0].set_ylabel("share that is in the data")
    drawing.savefig(_DOCS / "recurring.svg", metadata={"Date": None})


def null(census: Census, arguments: argparse.Namespace) -> None:
    """How often 0 lies in the interval where the release is of other people."""
    n, ways = arguments.people[0], arguments.ways[0]
    held, contradicted, values = 0, 0, []
    for draw in range(arguments.draws):
        three = census.some("2019", 3 * n, draw)
        original, third, holdout = (three.take(np.arange(at * n, (at + 1) * n)) for at in range(3))
        found, _ = guess(census, original, holdout, census.tables(third, ways), draw)
        right = next(each for each in found.compared if each.measure == "right" and not each.unique)
        held += right.difference.low <= 0 <= right.difference.high
        contradicted += found.facts.contradicted
        values.append(right.difference.value)
    print(
        f"{n:,} people, {ways}-way tables of other people: 0 within the interval of the marginal risk in {held} of "
        f"{arguments.draws} draws (mean {np.mean(values):+.4f}, sd {np.std(values):.4f}); "
        f"said to be contradicted: {contradicted}"
    )


def main() -> None:
    """Print the tables asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = {each.__name__: each for each in (guesses, logit, protected, reliable, null, recurring)}
    parser.add_argument("what", choices=list(kinds), nargs="?", default="guesses")
    parser.add_argument("--people", type=int, nargs="+", default=[1000, 2000, 20000])
    parser.add_argument("--ways", type=int, nargs="+", default=[3, 4], help="most variables of a table")
    parser.add_argument("--programme", action=argparse.BooleanOptionalAction, default=True, help="the attack beside")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--runs", type=int, default=20, help="data sets whose records are ranked")
    arguments = parser.parse_args()
    kinds[arguments.what](Census(), arguments)


if __name__ == "__main__":
    main()
