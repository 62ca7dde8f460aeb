"""How often limits hold what is true: python benchmarks/limits_hold.py [PART ...] [--draws N] [--people N ...]

Studies of people drawn from a known population: four keys of 6, 5, 4 and 2 levels, a target of two. The data that meet
a release are drawn from their own distribution instead of being evolved, so that hundreds of studies take minutes; all
else is what `assess` does. Releases: one-way tables; a model of the target by one key, keys unknown; every key by the
target; three keys by the target; all of it in one table; the people of one area in full, the others by target. Parts:

- null: the releases are of other people, so the marginal risk is 0. False: a limit above the margin.
- own: of the people themselves. True is the mean over draws.
- enough, quarters, several, holdout, smaller (not by default): as `runs: enough` has them; four folds; people with one
  to five records; a given holdout, crossed; one of half as many people, not crossed. Both ways each.
- zero: TCAP at zero error (non-matches undefined, as zero) along paths that put records right one after another, the
  last so many per cent never: truth, the line's end, the last points, how often the interval holds the truth, and how
  often it lies below. True is the mean over 25 data sets that meet the release.
- assess (not by default): the questions of `own` through `outrisk.assess`, evolved; three runs on each of two halves.

People: in all (of both halves). Covered: share of draws whose 95 % interval holds the truth, attribution and existence:
of the mean over key sets, of all keys, of all 32 columns, of the least covered one. At once: the limits that a verdict
rests on hold in all columns. Short: the highest upper limit, X of "up to X", is below the highest true risk.
"""

from __future__ import annotations

import argparse
import logging
import math
from collections.abc import Sequence
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import outrisk
from outrisk.appetite import Appetite
from outrisk.assess.extrapolation import extrapolate, possible
from outrisk.assess.folds import Fold
from outrisk.assess.people import EVERYBODY, inferred_rightly, people_rows
from outrisk.assess.rounds import ROUNDS
from outrisk.assess.verdict.by_level import risk_by_level
from outrisk.assess.verdict.decide import Evidence, limits_of
from outrisk.assess.verdict.looked_at import LookedAt
from outrisk.assess.verdict.more_runs import are_enough
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.result_row import NORMAL
from outrisk.risk.attribution.definitions import targeted_attribution
from outrisk.risk.by_person.full_tables import FullTables
from outrisk.risk.coding.classes import code_microdata, cross

Floats = NDArray[np.float64]
KEYS, TARGET, SIZES = ("area", "age", "work", "sex"), "ill", (6, 5, 4, 2, 2)
BOOK = Codebook(
    tuple(
        Variable(name, "categorical", tuple(map(str, range(size))))
        for name, size in zip((*KEYS, TARGET), SIZES, strict=True)
    )
)
SETS = [LookedAt(keys) for size in range(1, 5) for keys in combinations(KEYS, size)]
CELLS = np.array(np.unravel_index(np.arange(math.prod(SIZES)), SIZES)).T.astype(np.uint16)
RELEASES = ("one-way", "model", "by target", "three keys", "full", "one area in full")
MARGINS, MARGIN = (0.0, 0.05), 0.05
RUNS = 3
TRUE_RUNS = 25
RESTS = (0.0, 0.01, 0.1)  # shares of records that a path never puts right
ONE_WAY, BY_TARGET = [(j,) for j in range(5)], [(j, 4) for j in range(4)]
TABLES = {"by target": BY_TARGET, "three keys": [(0, 1, 4), (2, 4), (3, 4)], "full": [(0, 1, 2, 3, 4)]}


def population() -> Floats:
    """Probability of each cell: small areas, keys that go together, a target that depends on three of them."""
    area, age, work, sex, ill = CELLS.T.astype(int)
    of_keys = (1.1 - 0.15 * area) / (1 + 0.4 * age) * (1 + 0.3 * ((area + age) % 3)) * (1 + 0.4 * ((age + work) % 2))
    of_keys *= 1 + 0.3 * ((work + sex) % 2)
    chance = 1 / (1 + np.exp(0.9 - 0.35 * area + 0.3 * age - 0.5 * sex * (work == 1)))
    weight = of_keys * np.where(ill == 1, chance, 1 - chance)
    return np.asarray(weight / weight.sum())


POPULATION = population()


def draw(n: int, rng: np.random.Generator, several: bool = False) -> Microdata:
    """Some people; `several`: each with one to five equal records."""
    codes = CELLS[rng.choice(len(CELLS), n, p=POPULATION)]
    if not several:
        return Microdata(BOOK, codes)
    whose = np.repeat(np.arange(n), rng.integers(1, 6, n))
    return Microdata(BOOK, codes[whose], person=whose, together=whose)


def met(people: Microdata, release: str, rng: np.random.Generator) -> Microdata:
    """A data set that meets the release of some people: what it leaves open is dealt at random."""
    codes = people.codes.copy()
    if release == "one-way":
        codes = np.column_stack([rng.permutation(column) for column in codes.T])
    elif release == "model":
        seen = np.bincount(codes[:, 0], minlength=6)
        chance = np.bincount(codes[:, 0], weights=codes[:, 4], minlength=6) / np.maximum(seen, 1)
        codes = np.column_stack([rng.integers(0, size, len(codes)) for size in SIZES]).astype(np.uint16)
        codes[:, 4] = rng.random(len(codes)) < chance[codes[:, 0]]
    elif release == "one area in full":
        rest = np.flatnonzero(codes[:, 0] != 5)
        codes[rest] = met(people.take(rest), "by target", rng).codes
    elif release != "full":
        for j in range(4) if release == "by target" else (2, 3):
            for value in (0, 1):
                among = np.flatnonzero(codes[:, 4] == value)
                codes[among, j] = rng.permutation(codes[among, j])
    return Microdata(BOOK, codes)


def folds_of(n: int, part: str, rng: np.random.Generator) -> list[Fold]:
    """The folds of a study of n people, or of n / 2 with a holdout: each draws people of its own."""
    several = part == "several"
    if part in ("holdout", "smaller"):
        data, holdout = draw(n // 2, rng), draw(n // 2 if part == "holdout" else n // 4, rng)
        whole = Fold(1, 0, "whole", data, holdout, "holdout file")
        other = Fold(1, 1, "holdout", holdout, data, "fold whole", swapped=True)
        return [whole, other] if part == "holdout" else [whole]
    names = ("1.1", "1.2", "2.1", "2.2") if part == "quarters" else ("1", "2")
    people = [draw(n // len(names), rng, several) for _ in names]
    return [Fold(len(names), k, name, people[k], people[k ^ 1], f"fold {names[k ^ 1]}") for k, name in enumerate(names)]


def study(n: int, release: str, part: str, null: bool, seed: int) -> dict[str, Any]:
    """What a study finds: differences, errors and limits of the measures judged, and what it says."""
    rng = np.random.default_rng([seed, n])
    folds = folds_of(n, part, rng)
    sources = [draw(fold.original.apart, rng, part == "several") if null else fold.original for fold in folds]
    made: list[list[Any]] = [[] for _ in folds]
    for runs in ROUNDS if part == "enough" else (RUNS,):
        for fold, source, done in zip(folds, sources, made, strict=True):
            done += [_run(fold, met(source, release, rng)) for _ in range(runs - len(done))]
        results: list[Any] = [result for done in made for result in done]
        levels = risk_by_level(results, SETS, Appetite().measure, np.random.SeedSequence([seed, 1]))
        if are_enough(levels, MARGIN):
            break
    people = tuple(people_rows([each for each in results if not each.job.fold.swapped]))
    evidence = [
        Evidence("", TARGET, KEYS, Appetite(margin=margin), {}, [], levels, people, (), 0) for margin in MARGINS
    ]
    lead = levels[0]
    low, high = (np.array([lead.limits_of(measure)[at] for measure in lead.judged]) for at in (0, 1))
    at = [lead.found.measures.index(measure) for measure in lead.judged]
    certain = next(row for row in people if (row.inference, row.group) == ("certain", EVERYBODY))
    return {
        "difference": lead.found.difference[at], "error": lead.found.standard_error[at], "low": low, "high": high,
        "people": (certain.difference, certain.low, certain.high), "runs": runs,
        "says": [_says(each) for each in evidence], "up to": max(limit.high for limit in limits_of(evidence[-1])),
    }  # fmt: skip


def _run(fold: Fold, synthetic: Microdata) -> SimpleNamespace:
    """A run as far as a verdict looks at it."""
    sides = {"original": fold.original, "holdout": fold.holdout}
    right = {
        side: inferred_rightly(synthetic, people, KEYS, TARGET, 1.0)
        for side, people in sides.items()
        if people is not None
    }
    return SimpleNamespace(
        job=SimpleNamespace(fold=fold, keys=KEYS, target=TARGET, tau=1.0), synthetic=synthetic, right=right
    )


def _says(evidence: Evidence) -> str:
    says = {limit.says for limit in limits_of(evidence)}
    return "found" if "above" in says else "none" if says == {"below"} else "open"


def row(part: str, n: int, release: str, null: bool, draws: Sequence[dict[str, Any]]) -> str:
    """A row of the table of coverages."""
    columns = {name: np.array([each[name] for each in draws]) for name in draws[0]}
    difference, error, people = columns["difference"], columns["error"], columns["people"]
    truth = np.zeros(difference.shape[1:]) if null else difference.mean(axis=0)
    of_people = 0.0 if null else people[:, 0].mean()
    held = (np.abs(difference - truth) <= NORMAL * error + 1e-12).mean(axis=0)
    at_once = ((columns["low"] <= truth) & (columns["high"] >= truth)).all(axis=(1, 2)).mean()
    right = ((people[:, 1] <= of_people) & (people[:, 2] >= of_people)).mean()
    worst = max(truth.max(), of_people)
    found = [np.mean(columns["says"][:, m] == "found") for m in range(len(MARGINS))]
    none = columns["says"][:, -1] == "none"
    short = columns["up to"] < worst - 1e-12
    cells = [f"{held[m, k]:.2f}" for k in (-1, -2) for m in (0, 1)]
    cells += [f"{each:.2f}" for each in (held.mean(), held.min(), at_once, right)]
    cells += [f"{each:.3f}" for each in (*found, none.mean(), short.mean(), (short & none).mean())]
    name = f"{part}, null" if null and part != "null" else part
    return (
        f"| {name} | {n:,} | {release} | {len(draws)} | {np.mean(columns['runs']):.1f} | {truth[0, -2]:.3f} | "
        f"{truth[1, -2]:.3f} | {worst:.3f} | {' | '.join(cells)} |"
    )


HEAD = (
    "| part | people | release | draws | runs a fold | true: attribution, all keys | existence, all keys | highest | "
    "covered: attribution, mean | existence, mean | attribution, all keys | existence, all keys | mean | least | "
    "at once | people inferred | found, margin 0 | found, 0.05 | none, 0.05 | short | none and short |"
)


def studies(part: str, draws: int, people: Sequence[int]) -> None:
    """Print a table of coverages."""
    some = RELEASES if part == "own" else ("model", "three keys", "full")[: 3 if part == "null" else 2]
    for n in people:
        for release in some:
            for null in (True,) if part == "null" else (False,) if part == "own" else (True, False):
                found = [study(n, release, part, null, seed) for seed in range(draws)]
                print(row(part, n, release, null, found), flush=True)


def path(people: Microdata, release: str, rest: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Errors of a release (mean absolute, of its tables) and TCAP, (s,) and (s, 2), each time the error has halved.

    Records begin as anything and are put right in random order; the share `rest` never is.
    """
    n, right = len(people), met(people, release, rng).codes
    wrong = np.column_stack([rng.integers(0, size, n) for size in SIZES]).astype(np.uint16)
    order, released, errors, risks = rng.permutation(n), counts(people, release), list[float](), list[Any]()
    for share in np.append(2.0 ** -np.arange(0, 12, 0.25), 0.0):
        left = order[: round(max(share, rest) * n)]
        codes = right.copy()
        codes[left] = wrong[left]
        now = Microdata(BOOK, codes)
        error = float(np.abs(counts(now, release) - released).mean())
        if not errors or error < errors[-1] / 2 or share <= rest:
            errors.append(error)
            risks.append(tcap(now, people))
        if share <= rest:
            break
    return np.array(errors), np.array(risks)


def counts(data: Microdata, release: str) -> Floats:
    """All cells of the tables of a release."""
    sizes = [[SIZES[j] for j in table] for table in TABLES[release]]
    cells = [
        np.ravel_multi_index(tuple(data.codes[:, table].T.astype(int)), size)
        for table, size in zip(map(list, TABLES[release]), sizes, strict=True)
    ]
    return np.concatenate([np.bincount(at, minlength=math.prod(size)) for at, size in zip(cells, sizes, strict=True)])


def tcap(synthetic: Microdata, people: Microdata) -> tuple[float, float]:
    """TCAP of all keys, non-matches undefined and as zero."""
    tables = {"synthetic": synthetic, "original": people}
    found = targeted_attribution(cross(code_microdata(tables, [*KEYS, TARGET]), KEYS, TARGET))
    return found.tcap_undefined, found.tcap_zero


def at_zero_error(draws: int, people: Sequence[int]) -> None:
    """Print how the line of risk on error ends."""
    print("| people | release | never right | TCAP | draws with a line | true | the line's end | last points | "
          "covered | below |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")  # fmt: skip
    for n in people:
        for release in TABLES:
            found = [_lines(n, release, seed) for seed in range(draws)]  # rests x measures x 5 each
            for r, rest in enumerate(RESTS):
                for m, name in enumerate(("undefined", "zero")):
                    rows = np.array([each[r][m] for each in found])
                    print(_line(f"| {n:,} | {release} | {rest:.0%} | {name}", rows), flush=True)


def _lines(n: int, release: str, seed: int) -> list[list[tuple[float, ...]]]:
    """True TCAP, the line's end, the last points and limits of one sample, for each of RESTS and of both measures."""
    rng = np.random.default_rng([seed, n])
    some = draw(n, rng)
    truth = np.nanmean([tcap(met(some, release, rng), some) for _ in range(TRUE_RUNS)], axis=0)
    found = []
    for rest in RESTS:
        runs = [path(some, release, rest, rng) for _ in range(RUNS)]
        lines = [possible(extrapolate([(error, risk[:, m]) for error, risk in runs]), "original") for m in (0, 1)]
        found.append([(truth[m], line.intercept, line.measured, line.low, line.high) for m, line in enumerate(lines)])
    return found


def _line(start: str, rows: Floats) -> str:
    drawn = rows[np.isfinite(rows[:, 1])]
    if not len(drawn):
        return f"{start} | 0 of {len(rows)} | {rows[:, 0].mean():.3f} | | {rows[:, 2].mean():.3f} | | |"
    true, end, last, low, high = drawn.T
    held, below = ((low <= true + 1e-12) & (high >= true - 1e-12)).mean(), (high < true - 1e-12).mean()
    means = " | ".join(f"{each.mean():.3f}" for each in (true, end, last))
    return f"{start} | {len(drawn)} of {len(rows)} | {means} | {held:.2f} | {below:.2f} |"


OUTPUTS: dict[str, list[dict[str, Any]]] = {
    "one-way": [{"kind": "univariate", "variables": [*KEYS, TARGET]}],
    "by target": [{"kind": "frequencies", "by": [key, TARGET]} for key in KEYS],
    "full": [{"kind": "frequencies", "by": [*KEYS, TARGET]}],
}


def assessed(draws: int, people: Sequence[int]) -> None:
    """Print the same table of studies that `assess` carries out."""
    for n in people:
        for release, outputs in OUTPUTS.items():
            print(row("assess", n, release, False, [_assessed(n, outputs, seed) for seed in range(draws)]), flush=True)


def _assessed(n: int, outputs: list[dict[str, Any]], seed: int) -> dict[str, Any]:
    frame = draw(n, np.random.default_rng([seed, n])).frame()
    result = outrisk.assess(
        frame, outputs, keys=list(KEYS), target=TARGET, runs=RUNS, folds=[2], privacy=False, workers=1, seed=seed,
        quiet=True,
    )  # fmt: skip
    table, decision = result.tables["marginal"], result.decision
    names = [*("+".join(each.keys) for each in SETS), ""]
    by_name = {(each.measure, each.keys): each for each in table.fillna({"keys": ""}).itertuples()}
    rows = [[by_name[measure, name] for name in names] for measure in ("attribution", "existence")]

    def of(name: str) -> Floats:
        return np.array([[float(getattr(each, name)) for each in line] for line in rows])

    certain = next(limit for limit in decision.limits if limit.over == "people")
    above = [any(limit.low > margin for limit in decision.limits) for margin in MARGINS]
    below = [all(limit.high < margin for limit in decision.limits) for margin in MARGINS]
    return {
        "difference": of("difference"), "error": of("standard_error"), "low": of("lowest"), "high": of("highest"),
        "people": (certain.difference, certain.low, certain.high), "runs": RUNS,
        "says": ["found" if a else "none" if b else "open" for a, b in zip(above, below, strict=True)],
        "up to": max(limit.high for limit in decision.limits),
    }  # fmt: skip


STUDIES = ("null", "own", "enough", "quarters", "several", "holdout", "smaller")


def main() -> None:
    """Print the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(STUDIES)}, zero, assess")
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--people", type=int, nargs="+", default=[300])
    parser.add_argument("--bare", action="store_true", help="errors without what full tables add to them")
    given = parser.parse_args()
    if given.bare:
        FullTables._least = lambda self, table, release: np.zeros(release.shape[1])  # type: ignore[method-assign]
    logging.getLogger("outrisk").setLevel(logging.ERROR)
    parts = given.parts or ["null", "own", "zero"]
    unknown = [part for part in parts if part not in (*STUDIES, "zero", "assess")]
    if unknown:
        parser.error(f"no part {unknown[0]!r}; there are {', '.join((*STUDIES, 'zero', 'assess'))}")
    for part in parts:
        if part != "zero" and part == next(each for each in parts if each != "zero"):
            print(f"{HEAD}\n|{' --- |' * HEAD.count(' | ')} --- |")
        if part == "zero":
            at_zero_error(given.draws, given.people)
        elif part == "assess":
            assessed(given.draws, given.people)
        else:
            studies(part, given.draws, given.people)


if __name__ == "__main__":
    main()
