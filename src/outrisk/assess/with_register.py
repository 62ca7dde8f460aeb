"""The intruder with a register: what is guessed about everybody from the keys of everybody and the released numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from outrisk.assess.folds import Fold
from outrisk.assess.run import Job, groups_of
from outrisk.assess.told_by_statistics import programme_with_statistics
from outrisk.assess.verdict.decide import says
from outrisk.codebook import Variable
from outrisk.errors import ProveError
from outrisk.evolve.problem import Problem
from outrisk.prove.programme import Programme, drawn
from outrisk.reconstruct.best_guesses import Guesses, best_guesses
from outrisk.records.schema import Guessed, LeftOut, Limit, Register, RegisterFold, Reliability
from outrisk.risk.attribution.definitions import Floats
from outrisk.risk.coding.classes import HOLDOUT, ORIGINAL
from outrisk.risk.intervals.jackknife import within
from outrisk.risk.register.predictors import predictors
from outrisk.risk.register.rightly import Attacked, Bin, Compared, compare, crossed, dealt, reliability, unique_rows
from outrisk.side_by_side.forked import Forked, Here

RECONSTRUCTION = "reconstruction"  # the guesser who looks people up in the register
_MOST = 50_000  # people guessed about on a side; beyond, drawn at random


@dataclass(frozen=True, eq=False)
class FoldGuessed:
    """What the intruder guesses of one fold; nothing where `facts.skipped` says why."""

    facts: RegisterFold
    compared: tuple[Compared, ...] = ()
    holdout: str = ""  # name of the fold whose people are the holdout of this
    bins: Mapping[str, tuple[Bin, ...]] | None = None


def begin_guessing(
    problems: Mapping[Fold, Problem],
    keys: Sequence[str],
    target: str,
    seed: int,
    known_for: float = 1.0,
    workers: int = 1,
    forked: Forked | None = None,
) -> Callable[[], list[FoldGuessed]]:
    """What the intruder guesses from the release of each of the largest folds with a holdout, else of the smallest,
    when it is asked for: `workers` folds side by side then, or from now on in forked processes that know them.
    """
    held_out = [fold.level for fold in problems if fold.holdout is not None]
    last = min(held_out, default=max(fold.level for fold in problems))

    asked = [fold for fold in problems if fold.level == last]
    more = (keys, target, seed, known_for)
    if forked is not None:
        places = {job.fold: forked.shared.place(job) for job in forked.shared.jobs}
        found = forked.carry_out(_guessed, [(places[fold], *more) for fold in asked], Event())
        return lambda: [guessed for _, guessed in sorted(found, key=lambda each: each[0])]

    def guesses() -> list[FoldGuessed]:
        with threadpool_limits(limits=1), ThreadPoolExecutor(workers) as threads:  # the same on any machine
            return list(threads.map(lambda fold: guess_fold(fold, problems[fold], *more), asked))

    return guesses


def _guessed(here: Here, place: int, *more: Any) -> FoldGuessed:
    job: Job = here.shared.jobs[place]
    return guess_fold(job.fold, job.problem, *more)


def guess_fold(
    fold: Fold, problem: Problem, keys: Sequence[str], target: str, seed: int, known_for: float = 1.0
) -> FoldGuessed:
    """Reconstruct the target of the people of a fold, and compare with people of its holdout.

    Of the fold's records only the columns of `keys` go into the reconstruction, those of a share `known_for` of its
    people, who are guessed about. People of the holdout are guessed from the same release by predictors that learn from
    the reconstruction; on each side the best guesser counts.
    """
    listed = np.flatnonzero(drawn(len(fold.original), known_for, seed))
    facts = RegisterFold(fold.level, fold.name, len(listed), len(fold.holdout) if fold.holdout else 0)
    if not len(listed):
        return FoldGuessed(replace(facts, skipped="the register holds nobody"))
    columns = [problem.codebook.index(name) for name in keys]
    known = {name: fold.original.codes[listed, at].astype(np.int64) for name, at in zip(keys, columns, strict=True)}
    try:
        of = programme_with_statistics(
            problem.codebook, problem.released, problem.n_records, known, [target], problem.rules
        )
        left_out = tuple(LeftOut(name, reason) for name, reason in of.left_out.items())
        facts = replace(facts, left_out=left_out, equations=sum(bool(origin) for origin in of.origin))
        if not facts.equations:
            return FoldGuessed(replace(facts, skipped="no released number is an equation in numbers of people"))
        found = best_guesses(of, target)
    except ProveError as error:
        return FoldGuessed(replace(facts, skipped=str(error)))
    sides = _sides(fold, listed, of, found, columns, problem.codebook.index(target), seed)
    best = {side: people.best() for side, people in sides.items()}
    facts = replace(
        facts,
        missed=found.missed,
        contradicted=found.contradicted,
        converged=found.converged,
        guesser=best[ORIGINAL],
        predictor=best.get(HOLDOUT, ""),
    )
    bins = {side: tuple(reliability(each.chances[best[side]], each.truth)) for side, each in sides.items()}
    return FoldGuessed(facts, tuple(compare(sides)), fold.holdout_name.removeprefix("fold "), bins)


def _sides(
    fold: Fold,
    listed: NDArray[np.int64],
    of: Programme,
    found: Guesses,
    columns: Sequence[int],
    target: int,
    seed: int,
) -> dict[str, Attacked]:
    """People attacked on each side (those `listed` of the original), with the chances that every guesser gives them."""
    records = {ORIGINAL: fold.people} | ({HOLDOUT: fold.others} if fold.others is not None else {})
    every = {side: each.codes[:, columns].astype(np.int64) for side, each in records.items()}
    groups = {side: dealt(len(each), groups_of(fold), seed, each.together) for side, each in records.items()}
    people = {side: listed if side == ORIGINAL else np.arange(len(each)) for side, each in records.items()}
    keys = {side: every[side][people[side]] for side in records}
    some = {side: _some(len(each), seed) for side, each in people.items()}
    queries = np.concatenate([keys[side][some[side]] for side in records])
    sizes = [of.codebook.sizes[at] for at in columns]
    reconstructed = found.chances if fold.bands is None else fold.bands.sums(found.chances)
    learnt = predictors(keys[ORIGINAL], reconstructed, queries, sizes, seed)
    if fold.bands is not None:
        learnt |= {
            f"{name}, its mean": fold.bands.mean_first(each, _expected(each, fold.bands.variable))
            for name, each in learnt.items()
        }
    n, sides = len(some[ORIGINAL]), {}
    for side, part in ((ORIGINAL, slice(0, n)), (HOLDOUT, slice(n, None))):
        if side in records:
            chances = {RECONSTRUCTION: reconstructed[some[side]]} if side == ORIGINAL else {}
            if fold.bands is not None and side == ORIGINAL:
                means = _expected(found.chances[some[side]], of.codebook.variables[target])
                chances[f"{RECONSTRUCTION}, its mean"] = fold.bands.mean_first(chances[RECONSTRUCTION], means)
            at, owner, together = people[side][some[side]], records[side].person, records[side].together
            sides[side] = Attacked(
                chances | {name: each[part] for name, each in learnt.items()},
                records[side].codes[at, target].astype(np.int64),
                unique_rows(keys[side], None if owner is None else owner[people[side]])[some[side]],
                int(reconstructed.sum(axis=0).argmax()),
                groups[side][at],
                None if together is None else together[at],
            )
    return sides


def _expected(chances: Floats, variable: Variable) -> Floats:
    """The mean of a number with these chances (n, levels), (n,); of those who have one."""
    known = chances[:, : len(variable.values)]
    return np.asarray(known @ np.array(variable.values, dtype=float) / np.maximum(known.sum(axis=1), 1e-12))


def _some(people: int, seed: int) -> NDArray[np.int64]:
    """Who is guessed about: the same people whichever side they are on."""
    return np.sort(np.random.default_rng(seed).permutation(people)[:_MOST])


# ---------------------------------------------------------------- rows of the files


def guessed_rows(folds: Sequence[FoldGuessed]) -> Iterator[Guessed]:
    """Rows of register.csv: each fold's, and (fold empty) the means over the folds of a level."""
    for level, part in groupby(folds, key=lambda each: each.facts.level):
        measured = [each for each in part if each.compared]
        own = [list(_rows(each)) for each in measured]
        yield from (_within(row) for rows in own for row in rows)
        for at, rows in enumerate(zip(*own, strict=True)):
            yield _within(_crossed(measured, at, _mean(level, rows)))


def _within(row: Guessed) -> Guessed:
    """With intervals of shares and differences that can be: the last step, as margins are joined as they are."""
    ends: dict[str, Any] = {}
    for name, low, high in _INTERVALS:
        side = "marginal" if name == "difference" else name
        ends[low], ends[high] = within(getattr(row, low), getattr(row, high), side)
    return replace(row, **ends)


def _rows(one: FoldGuessed) -> Iterator[Guessed]:
    for row in one.compared:
        yield Guessed(
            level=one.facts.level,
            fold=one.facts.fold,
            people="unique" if row.unique else "all",
            measure=row.measure,
            original=row.original.value,
            original_low=row.original.low,
            original_high=row.original.high,
            holdout=row.holdout.value,
            holdout_low=row.holdout.low,
            holdout_high=row.holdout.high,
            difference=row.difference.value,
            low=row.difference.low,
            high=row.difference.high,
            n_original=row.n_original,
            n_holdout=row.n_holdout,
            reason=row.difference.reason or row.original.reason,
        )


def _crossed(folds: Sequence[FoldGuessed], at: int, mean: Guessed) -> Guessed:
    """The mean with the interval of its difference from people who are in one fold and beside the other, at once."""
    by = {each.facts.fold: each for each in folds}
    pairs = [(each, by[each.holdout]) for each in folds if each.holdout in by and each.facts.fold < each.holdout]
    joined = [crossed(one.compared[at], other.compared[at]) for one, other in pairs]
    found = [each for each in joined if each is not None and not math.isnan(each.low)]
    if not found or 2 * len(found) < len(folds):
        return mean
    margin = math.hypot(*((each.high - each.low) / 2 for each in found)) / len(found)
    return replace(mean, low=mean.difference - margin, high=mean.difference + margin)


def _mean(level: int, rows: Sequence[Guessed]) -> Guessed:
    """Mean over folds where the difference is defined, if it is in any; margins joined as of independent samples."""
    compared = [row for row in rows if not math.isnan(row.difference)]
    used = compared or [row for row in rows if not math.isnan(row.original)]
    values: dict[str, Any] = {}
    for name, low, high in _INTERVALS:
        value = float(np.mean([getattr(row, name) for row in used])) if used else math.nan
        margin = (
            math.hypot(*((getattr(row, high) - getattr(row, low)) / 2 for row in used)) / len(used)
            if used
            else math.nan
        )
        values |= {name: value, low: value - margin, high: value + margin}
    people = {name: sum(getattr(row, name) for row in rows) for name in ("n_original", "n_holdout")}
    reason = next((row.reason for row in rows if row.reason), "")
    if used and len(used) < len(rows):
        reason = f"{len(rows) - len(used)} of {len(rows)} folds left out: {reason}"
    return replace(rows[0], level=level, fold="", **values, **people, reason=reason)


_INTERVALS = (
    ("original", "original_low", "original_high"),
    ("holdout", "holdout_low", "holdout_high"),
    ("difference", "low", "high"),
)


def reliability_rows(folds: Sequence[FoldGuessed]) -> Iterator[Reliability]:
    """Rows of reliability.csv."""
    for one in folds:
        for side, bins in (one.bins or {}).items():
            for each in bins:
                yield Reliability(
                    one.facts.level, one.facts.fold, side, each.low, each.high, each.people, each.chance, each.right
                )


def register_of(folds: Sequence[FoldGuessed], keys: Sequence[str], target: str, known_for: float = 1.0) -> Register:
    """The content of register.json."""
    lead = _lead(folds)
    facts = tuple(each.facts for each in folds)
    return Register(
        keys=tuple(keys),
        target=target,
        known_for=known_for,
        level=lead.level if lead else 0,
        assumption=(
            f"Assumed: the intruder knows who is in the data and {_and(keys)} of {_whom(known_for)}, the codebook and "
            "the released numbers, and nothing else."
        ),
        sentence=_sentence(lead, facts, target),
        folds=facts,
    )


def _lead(folds: Sequence[FoldGuessed]) -> Guessed | None:
    """How many are guessed rightly at the level of the largest folds with a holdout."""
    rows = [row for row in guessed_rows(folds) if not row.fold and row.people == "all" and row.measure == "right"]
    return next((row for row in rows if not math.isnan(row.difference)), rows[0] if rows else None)


def limit_of(folds: Sequence[FoldGuessed], keys: Sequence[str], margin: float) -> Limit:
    """The marginal risk to this intruder beside the margin; undefined where nothing is measured."""
    lead = _lead(folds)
    values = (lead.original, lead.holdout, lead.difference, lead.low, lead.high) if lead else (math.nan,) * 5
    beside = says(values[3], values[4], margin)
    return Limit("register", "people", "+".join(keys), *values, chance=math.nan, margin=margin, says=beside)


def _whom(known_for: float) -> str:
    return "every one of them" if known_for == 1 else f"{100 * known_for:g} % of them (drawn at random)"


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _sentence(lead: Guessed | None, facts: Sequence[RegisterFold], target: str) -> str:
    if lead is None:
        return f"Not measured: {facts[0].skipped}."
    what = f"{target} guessed with a register is right for {lead.original:.3f} of people in the data"
    if math.isnan(lead.difference):
        return f"{what}; {lead.reason}."
    difference, low, high = (
        f"{value:+.3f}" if abs(value) >= 0.0005 else "0.000" for value in (lead.difference, lead.low, lead.high)
    )
    return (
        f"{what} and {lead.holdout:.3f} of people who are not, guessed from the same release: a marginal risk of "
        f"{difference} (95 % interval {low} to {high})."
    )
