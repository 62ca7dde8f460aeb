"""How often guesses with chances are right: accuracy, what is claimed at few false claims, and with confidence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outrisk.microdata import people_by
from outrisk.risk.attribution.definitions import Floats
from outrisk.risk.coding.classes import HOLDOUT, ORIGINAL, SIDES
from outrisk.risk.intervals.jackknife import NO_REPLICATES, Estimate, estimate, undefined

Codes = NDArray[np.int64]
CONFIDENT = 0.9
MEASURES = ("right", "baseline", "confident", "confident_right", "tpr_01", "tpr_001")
EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)  # of the bins of a reliability diagram
_SAME = 1e-9  # chances that differ by less are alike


@dataclass(frozen=True, eq=False)
class Attacked:
    """People of one side: the chances (n, levels) that each guesser gives them, and what is true.

    truth (n,): codes of the target. unique (n,): whether nobody else on this side has their keys. commonest: the value
    that one who does not look at keys always guesses. group (n,): the jackknife group of each (`dealt`).
    """

    chances: Mapping[str, Floats]
    truth: Codes
    unique: NDArray[np.bool_]
    commonest: int
    group: Codes
    together: Codes | None = None

    def best(self) -> str:
        """The guesser who is right most often (ties: the first)."""
        return max(self.chances, key=lambda name: right(self.chances[name], self.truth))


@dataclass(frozen=True)
class Compared:
    """A measure on both sides, each by its best guesser, with 95 % intervals; NaN with a reason where undefined.

    least: the least variance of the original's, as it would be 0 where all people are guessed alike.
    """

    measure: str
    unique: bool  # of the people unique on their keys alone
    original: Estimate
    holdout: Estimate
    difference: Estimate
    n_original: int
    n_holdout: int
    least: float


@dataclass(frozen=True)
class Bin:
    """One bin of a reliability diagram: people whose likeliest value has a chance in [low, high)."""

    low: float
    high: float
    people: int
    chance: float  # mean
    right: float  # share guessed rightly


def right(chances: Floats, truth: Codes) -> float:
    """Share of people whose likeliest value is the true one; among equally likely values one is drawn. In [0, 1]."""
    return float(_rightly(chances, truth).mean()) if len(truth) else math.nan


def _rightly(chances: Floats, truth: Codes) -> Floats:
    top = chances >= chances.max(axis=1, keepdims=True) - _SAME
    return np.asarray(top[np.arange(len(truth)), truth] / top.sum(axis=1))


def at_false_rate(chances: Floats, truth: Codes, rate: float) -> float:
    """True positive rate at a false positive rate of at most `rate`: a claim is a person and a value whose chance is
    above a threshold, the lowest at which at most the share `rate` of all false claims possible is made; of the true
    claims possible, one a person, the share made. In [0, 1]; equal chances are claimed together or not at all.
    """
    if not len(truth):
        return math.nan
    true = np.zeros(chances.shape, np.bool_)
    true[np.arange(len(truth)), truth] = True
    false = np.sort(chances[~true])[::-1]
    allowed = math.floor(rate * len(false))
    threshold = false[allowed] if allowed < len(false) else -1.0
    return float((chances[true] > threshold + _SAME).mean())


def measured(measure: str, chances: Floats, truth: Codes) -> float:
    """The value of one of MEASURES, in [0, 1], larger = riskier; NaN where nobody is there, or guessed confidently."""
    if measure in ("right", "baseline"):
        return right(chances, truth)
    if measure.startswith("tpr"):
        return at_false_rate(chances, truth, {"tpr_01": 0.01, "tpr_001": 0.001}[measure])
    sure = chances.max(axis=1) >= CONFIDENT - _SAME
    if measure == "confident":
        return float(sure.mean()) if len(truth) else math.nan
    return right(chances[sure], truth[sure])


def reliability(chances: Floats, truth: Codes) -> list[Bin]:
    """Bins of EDGES that hold anybody; the last includes 1."""
    top, hits = chances.max(axis=1), _rightly(chances, truth)
    place = np.clip(np.searchsorted(EDGES, top + _SAME, side="right") - 1, 0, len(EDGES) - 2)
    return [
        Bin(
            EDGES[at],
            EDGES[at + 1],
            int((place == at).sum()),
            float(top[place == at].mean()),
            float(hits[place == at].mean()),
        )
        for at in np.unique(place)
    ]


def dealt(people: int, groups: int, seed: int, together: Codes | None = None) -> Codes:
    """The jackknife group (people,) of each record of a side, at random, in groups of one size (or one apart).

    The same records in the same order are in the same groups, whichever side they are on (`crossed`). Groups are not
    balanced on anything else: that would make them more alike than samples of people are. together (people,): records
    of one number are in one group, as they are of one person or household.
    """
    if together is not None:
        number = np.unique(together, return_inverse=True)[1]
        return dealt(int(number.max()) + 1, groups, seed)[number]
    group = np.empty(people, np.int64)
    group[np.random.default_rng(seed).permutation(people)] = np.arange(people) % max(groups, 1)
    return group


def compare(sides: Mapping[str, Attacked]) -> list[Compared]:
    """Every measure, of everybody and of the people unique on their keys, on 'original' and perhaps 'holdout'.

    Intervals: delete-a-group jackknife over the people of each side, the release and the guesser held fixed; the
    standard error is at least 1 / (n + 2), with one person more who is guessed rightly and one who is not (Agresti and
    Caffo, 2000): people who are all guessed alike say nothing of how others would be.
    """
    best = {side: people.best() for side, people in sides.items()}
    found = []
    for unique in (False, True):
        some = {side: np.flatnonzero(people.unique | (not unique)) for side, people in sides.items()}
        for measure in MEASURES:
            runs = {side: _side(measure, sides[side], best[side], some[side]) for side in sides}
            found.append(_compared(measure, unique, runs, {side: len(rows) for side, rows in some.items()}))
    return found


def crossed(one: Compared, other: Compared) -> Estimate | None:
    """Mean difference of two releases of which each one's people are the other's holdout, with its 95 % interval.

    A group of people is deleted as the original of one, as far as the register has them, and as the holdout of the
    other at once: what makes them easy to guess from either release cancels. None where these are not as many groups,
    or a difference is undefined.
    """
    pairs = [
        (of.difference.replicates_original, against.difference.replicates_holdout)
        for of, against in ((one, other), (other, one))
    ]
    if any(len(a) != len(b) or not len(a) for a, b in pairs):
        return None
    value = (one.difference.value + other.difference.value) / 2
    first, second = ((a - b) / 2 for a, b in pairs)
    return estimate([value], 1, 0, first, second, least=one.least + other.least)


@dataclass(frozen=True, eq=False)
class _Side:
    """A measure of one side, its jackknife replicates, and its least variance."""

    value: float
    replicates: Floats
    least: float


def _side(measure: str, people: Attacked, guesser: str, rows: Codes) -> _Side:
    chances, truth, group = people.chances[guesser][rows], people.truth[rows], people.group[rows]
    if measure == "baseline":
        chances = np.eye(chances.shape[1])[np.full(len(rows), people.commonest)]
    value = measured(measure, chances, truth)
    counted = chances.max(axis=1) >= CONFIDENT - _SAME if measure == "confident_right" else np.ones(len(rows), np.bool_)
    n = counted.sum() if people.together is None else len(np.unique(people.together[rows][counted]))
    least = 1.0 / (float(n) + 2.0) ** 2
    groups = int(group.max(initial=0)) + 1
    if math.isnan(value) or groups < 2:
        return _Side(value, NO_REPLICATES, least)
    without = [measured(measure, chances[group != each], truth[group != each]) for each in range(groups)]
    return _Side(value, np.array(without), least)


def _compared(measure: str, unique: bool, sides: Mapping[str, _Side], people: Mapping[str, int]) -> Compared:
    alone = {side: _estimate(sides[side], people[side]) if side in sides else _NO_HOLDOUT for side in SIDES}
    own, difference = sides[ORIGINAL], _NO_HOLDOUT
    if HOLDOUT in sides:
        other = sides[HOLDOUT]
        missing = next((side for side in SIDES if math.isnan(sides[side].value)), "")
        difference = (
            alone[missing]
            if missing
            else estimate(
                [own.value - other.value], 1, 0, own.replicates, other.replicates, least=own.least + other.least
            )
        )
    return Compared(
        measure,
        unique,
        alone[ORIGINAL],
        alone[HOLDOUT],
        difference,
        people[ORIGINAL],
        people.get(HOLDOUT, 0),
        own.least,
    )


_NO_HOLDOUT = undefined(1, "no holdout", "no_holdout")


def _estimate(side: _Side, people: int) -> Estimate:
    if not math.isnan(side.value):
        return estimate([side.value], 1, 0, side.replicates, NO_REPLICATES, least=side.least)
    if not people:
        return undefined(1, "nobody has keys of their own", "nobody_unique")
    return undefined(1, f"nobody is guessed with a chance of {CONFIDENT} or more", "nobody_confident")


def unique_rows(keys: Codes, owner: Codes | None = None) -> NDArray[np.bool_]:
    """Rows (n,) whose combination of codes (n, k) no other row has, or, with the person of each (n,), nobody else."""
    place = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
    return np.asarray((np.bincount(place) if owner is None else people_by(place, owner))[place] == 1)
