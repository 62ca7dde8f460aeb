"""Marginal risk of people in the data, crossed where both sides' releases were evolved, at every key set at once.

Each person is scored by synthetic data of the release that the person is in, and by those of a release that the person
is not in; the half of the difference, averaged over the people of both sides, is the marginal risk. What is peculiar
to one of the halves cancels. Where only the original's release was evolved, the mean score of the original less that of
the holdout stands in its place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from outrisk.errors import RiskError
from outrisk.microdata import Microdata
from outrisk.result_row import NORMAL
from outrisk.risk.by_person.full_tables import FullTables
from outrisk.risk.by_person.record_scores import (
    ESTIMATES,
    MEASURES,
    Amounts,
    Floats,
    estimate_scores,
    record_scores,
)
from outrisk.risk.coding.bands import Bands
from outrisk.risk.coding.classes import Coding, Equivalence, Positions, code_microdata, cross, numbers_of

_PEOPLE = "people"
_WIDER, _FROM, _TO = 0.4, 2.0, 8.0  # errors are up to 40 % larger, between so many of them from 0
_HALF = 0.5
_PERMUTED_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class Pairing:
    """Two samples of people, and the synthetic data of the runs on the release of each (of the holdout's: or none), as
    they are.
    """

    original: Microdata
    holdout: Microdata
    of_original: Sequence[Microdata]
    of_holdout: Sequence[Microdata] = ()
    bands: Bands | None = None  # of a target that is an amount

    @property
    def measures(self) -> tuple[str, ...]:
        """What people are scored by."""
        return MEASURES if self.bands is None else (*MEASURES, *ESTIMATES)

    @property
    def crossed(self) -> bool:
        """Whether the holdout's release was evolved too."""
        return bool(self.of_holdout)


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Marginal risk by measure and key set, arrays (n_measures, n_sets + 1): the last column is the mean over key sets.

    own, other: mean scores of people by releases they are in, and are not in; difference: own - other, the marginal
    risk. standard_error: of sampling the people (the jackknife that leaves out a record at a time, or all that go
    together, which for a difference of means has a closed form) and of the runs' chance beyond it; runs_share: the part
    of its square that more runs would lessen.
    null_error: the standard error under exchanged labels. permuted: differences with labels exchanged at random,
    (permutations, n_measures, n_sets + 1).
    """

    own: Floats
    other: Floats
    standard_error: Floats
    runs_share: Floats
    null_error: Floats
    permuted: NDArray[np.float32]
    measures: tuple[str, ...]

    @property
    def difference(self) -> Floats:
        """Marginal risk."""
        return self.own - self.other

    def interval(self) -> tuple[Floats, Floats]:
        """95 % limits of each difference for itself."""
        margin = NORMAL * self.standard_error
        return self.difference - margin, self.difference + margin


@dataclass(frozen=True, eq=False)
class Simultaneous:
    """95 % limits that hold for all the columns of some measures at once, and each column's permutation level.

    low, high, chance: (n_measures, n_sets + 1). chance: how often exchanged labels give some column a difference as far
    above 0, in its standard errors; at least 1 / (permutations + 1). critical: half-width in standard errors.
    """

    low: Floats
    high: Floats
    chance: Floats
    critical: float


def contrasts(
    pairing: Pairing,
    sets: Sequence[tuple[str, ...]],
    target: str,
    tau: float = 1.0,
    n_mean: int | None = None,
    permutations: int = 999,
    seed: int = 0,
) -> Contrasts:
    """All measures of a pairing at every key set, and their mean over the first `n_mean` of the sets (by default all).

    People with the same values are scored once: O(runs x sets x records + permutations x people x sets).
    """
    return _of_scores(pairing, _scored(pairing, sets, target, tau, n_mean), permutations, seed)


def person_contrasts(
    pairing: Pairing, sets: Sequence[tuple[str, ...]], target: str, tau: float = 1.0
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Each person's contrast d, mean over key sets: (n_original, n_measures) and (n_holdout, n_measures), by measure.

    The marginal risk is the mean of d over the original less that over the holdout; so two releases of the same people
    are compared by the differences of their d, person by person.
    """
    scored = _scored(pairing, sets, target, tau, None, bounded=False)
    mine, theirs = np.split(scored.contrast[scored.pattern, :, -1], [len(pairing.original)])
    return mine, theirs


@dataclass(frozen=True, eq=False)
class _Scored:
    """means: scores by run and side, (runs, 2, n_measures, n_sets + 1). contrast: by pattern, the own release less the
    other. both: variance of the difference that comes from people and runs together. least: see `FullTables`; 0 where
    the two are not crossed. members: people of each side by pattern; pattern: everybody's. groups: of each side, how
    many records of each pattern (columns) go together (rows); None: each is for itself.
    """

    means: Floats
    contrast: NDArray[np.float32]
    both: Floats
    least: Floats
    members: Floats
    pattern: Positions
    groups: tuple[csr_array | None, csr_array | None]


def _scored(
    pairing: Pairing,
    sets: Sequence[tuple[str, ...]],
    target: str,
    tau: float,
    n_mean: int | None,
    bounded: bool = True,  # whether to look for the least variance
) -> _Scored:
    if not sets:
        raise RiskError("no key sets to score; give at least one")
    names = list(dict.fromkeys([*(key for keys in sets for key in keys), target]))
    patterns, members, pattern = _patterns(pairing, names)
    coding, weights, amounts = _coding(pairing, patterns, names, target)
    weight = np.array(list(weights.values()))
    n_mean = len(sets) if n_mean is None else n_mean
    shape = (len(pairing.measures), len(sets) + 1)
    means = np.zeros((len(weights), 2, *shape))  # of a run's data, over a side's people
    contrast = np.zeros((len(patterns), *shape), dtype=np.float32)  # own release less the other's
    both, least = np.zeros(shape), np.zeros(shape)
    over_sets = np.zeros((len(weights), len(patterns), shape[0]))
    sizes, groups = members.sum(axis=1, keepdims=True), _groups(pairing, pattern, len(patterns))
    tables = FullTables(members, pattern, *_together(groups), n_mean, tau) if pairing.crossed and bounded else None
    for k, keys in enumerate(sets):
        equivalence = cross(coding, keys, target)
        found = np.stack([_scores(equivalence, table, tau, amounts) for table in weights])
        means[..., k] = members @ found / sizes
        contrast[:, :, k] = np.tensordot(weight, found, axes=1)
        both[:, k] = _people_by_runs(found, weight, members, groups)
        least[:, k] = tables.least(equivalence, _PEOPLE, contrast[:, :, k], k) if tables else 0.0
        if k < n_mean:
            over_sets += found / n_mean
    means[..., -1] = means[..., :n_mean].mean(axis=-1)
    contrast[..., -1] = contrast[..., :n_mean].mean(axis=-1)
    both[:, -1] = _people_by_runs(over_sets, weight, members, groups)
    least[:, -1] = tables.of_mean(contrast[:, :, -1]) if tables else 0.0
    return _Scored(means, contrast, both, least, members, pattern, groups)


def _scores(equivalence: Equivalence, table: str, tau: float, amounts: Amounts | None) -> Floats:
    found = record_scores(equivalence, table, _PEOPLE, tau)
    return found if amounts is None else np.hstack([found, estimate_scores(equivalence, table, _PEOPLE, amounts)])


def _groups(pairing: Pairing, pattern: Positions, n_patterns: int) -> tuple[csr_array | None, csr_array | None]:
    """How many records of each pattern go together, for each side."""
    sides = zip((pairing.original, pairing.holdout), np.split(pattern, [len(pairing.original)]), strict=True)
    mine, theirs = (None if side.together is None else _by_pattern(side.together, of, n_patterns) for side, of in sides)
    return mine, theirs


def _together(groups: tuple[csr_array | None, csr_array | None]) -> tuple[int, csr_array | None]:
    """How many go together on the first side, and both sides' one below the other."""
    mine, theirs = groups
    if mine is None or theirs is None:
        return 0, None
    return mine.shape[0], vstack([mine, theirs], format="csr")


def _by_pattern(together: Positions, pattern: Positions, n_patterns: int) -> csr_array:
    number = np.unique(together, return_inverse=True)[1]
    return csr_array((np.ones(len(number)), (number, pattern)), shape=(int(number.max()) + 1, n_patterns))


def _squares(values: Floats, members: Floats, group: csr_array | None) -> tuple[Floats, float]:
    """Sums of squared deviations from the mean, (columns,), of records with the values (n_patterns, columns), or of
    those that go together as one; and what makes a variance of them: that of the mean of n records times n.
    """
    n = members.sum()
    mean = members @ values / n
    if group is None:
        return np.asarray(members @ values**2 - n * mean**2), float(n - 1)
    apart = group.shape[0]
    return np.asarray(np.square(group @ (values - mean)).sum(axis=0)), float(n * (apart - 1) / apart)


def _people_by_runs(
    scores: Floats, weight: Floats, members: Floats, groups: tuple[csr_array | None, csr_array | None]
) -> Floats:
    """Variance of the difference from what runs score people differently by, (n_measures,).

    scores: (runs, n_patterns, n_measures). It is in the variance of sampling the people, and in that between runs, too.
    """
    variance = np.zeros(scores.shape[-1])
    for of_side in (weight > 0, weight < 0):
        runs = scores[of_side]
        if len(runs) < 2:
            continue
        apart = runs - runs.mean(axis=0)
        for side, group in zip(members, groups, strict=True):
            n = side.sum()
            if group is None:
                squares = side @ (apart**2).sum(axis=0) - n * ((side @ apart / n) ** 2).sum(axis=0)
                divisor = n - 1
            else:
                found = [_squares(run, side, group) for run in apart]
                squares, divisor = sum(each for each, _ in found), found[0][1]
            variance += weight[of_side][0] ** 2 * len(runs) / (len(runs) - 1) * squares / divisor / n
    return variance


def _patterns(pairing: Pairing, names: Sequence[str]) -> tuple[Microdata, Floats, Positions]:
    """Each combination of values that occurs, once; how many of each side have it, (2, n_patterns); everybody's."""
    codebook = pairing.original.codebook
    columns = [codebook.index(name) for name in names]
    both = np.vstack([pairing.original.codes[:, columns], pairing.holdout.codes[:, columns]])
    _, first, pattern = np.unique(both, axis=0, return_index=True, return_inverse=True)
    n = len(pairing.original)
    pattern = pattern.reshape(-1)
    members = [np.bincount(part, minlength=len(first)) for part in (pattern[:n], pattern[n:])]
    everybody = np.vstack([pairing.original.codes, pairing.holdout.codes])
    return Microdata(codebook, everybody[first]), np.array(members, dtype=float), pattern


def _coding(
    pairing: Pairing, patterns: Microdata, names: Sequence[str], target: str
) -> tuple[Coding, dict[str, float], Amounts | None]:
    """The people and all synthetic data under one coding, the weight of each run's scores in the contrast, amounts."""
    sides = {"original": (1.0, pairing.of_original), "holdout": (-1.0, pairing.of_holdout)}
    half = 0.5 if pairing.crossed else 1.0
    tables, weights = {_PEOPLE: patterns}, {}
    for side, (sign, runs) in sides.items():
        for number, synthetic in enumerate(runs):
            tables[f"{side} {number}"] = synthetic
            weights[f"{side} {number}"] = half * sign / len(runs)
    if pairing.bands is None:
        return code_microdata(tables, names), weights, None
    of, column = pairing.bands, patterns.codebook.index(target)
    number_of = numbers_of(patterns.codebook[target])
    amounts = Amounts({name: number_of[table.codes[:, column]] for name, table in tables.items()}, of.within)
    return code_microdata({name: of.of(table) for name, table in tables.items()}, names), weights, amounts


def _of_scores(pairing: Pairing, scored: _Scored, permutations: int, seed: int) -> Contrasts:
    """The variance is that of people and of runs, less what is in both (Cameron, Gelbach and Miller, 2011); at least
    that of `FullTables`, but where the risk is so many errors from 0 that these are sure and were made larger.
    """
    contrast, members = scored.contrast, scored.members
    ours, theirs = np.split(scored.means, [len(pairing.of_original)])
    own, other = ours[:, 0].mean(axis=0), ours[:, 1].mean(axis=0)
    by_run = [ours[:, 0] - ours[:, 1]]
    if pairing.crossed:
        own, other = (own + theirs[:, 1].mean(axis=0)) / 2, (other + theirs[:, 0].mean(axis=0)) / 2
        by_run = [by_run[0] / 2, (theirs[:, 1] - theirs[:, 0]) / 2]
    of_runs = sum(np.var(runs, axis=0, ddof=1) / len(runs) if len(runs) > 1 else 0.0 for runs in by_run)
    sampling = sum(
        _variance(contrast, side, group) / side.sum() for side, group in zip(members, scored.groups, strict=True)
    )
    wider = widened(own - other, np.sqrt(sampling))
    variance = sampling * wider**2 + np.maximum(of_runs - scored.both, 0.0)
    variance = np.where(wider < 1 + _WIDER, np.maximum(variance, scored.least), variance)
    everybody = members.sum(axis=0)
    mine, group = _together(scored.groups)
    if group is None:
        permuted = _permuted(contrast, members, permutations, seed)
    else:
        permuted = _permuted_together(contrast, group, mine, permutations, seed)
    null = _variance(contrast, everybody, group) * (1 / members.sum(axis=1)).sum()
    return Contrasts(
        own=own,
        other=other,
        standard_error=np.sqrt(variance),
        runs_share=np.minimum(of_runs / variance, 1.0),
        null_error=np.sqrt(null),
        permuted=permuted,
        measures=pairing.measures,
    )


def widened(difference: Floats, error: Floats) -> Floats:
    """By how much an error of sampling the people is made larger: where the risk is many errors from 0, people of a
    class share their fate, and leaving out one at a time shows too little (docs/validation.md has the coverage).
    """
    return np.asarray(1 + _WIDER * np.clip((np.abs(difference) / error - _FROM) / (_TO - _FROM), 0.0, 1.0))


def _variance(contrast: NDArray[np.float32], members: Floats, group: csr_array | None) -> Floats:
    """Variance over people (see `_squares`), with two more of them above and below the mean (see `intervals.closed`),
    as far as anybody is from 0, half a unit at most, and half a unit where nobody is from 0.

    So it is never 0: nobody told rightly among few people is not a risk of exactly 0.
    """
    flat = contrast.reshape(len(contrast), -1).astype(float)
    farthest = np.abs(flat).max(axis=0)
    reach = np.where(farthest > 0, np.minimum(farthest, _HALF), _HALF)
    reach *= 1.0 if group is None else members.sum() / group.shape[0]
    squares, divisor = _squares(flat, members, group)
    return np.asarray(((np.maximum(squares, 0.0) + 2 * reach**2) / divisor).reshape(contrast.shape[1:]))


def _permuted(contrast: NDArray[np.float32], members: Floats, permutations: int, seed: int) -> NDArray[np.float32]:
    """Mean contrast of the original less that of the holdout, with the people dealt to the two at random."""
    rng = np.random.default_rng(seed)
    n_original, n_holdout = members.sum(axis=1)
    everybody = members.sum(axis=0)
    starts = np.concatenate([[0], np.cumsum(everybody)[:-1]]).astype(np.intp)
    labels = np.zeros(int(everybody.sum()), dtype=np.int32)
    labels[: int(n_original)] = 1
    flat = contrast.reshape(len(contrast), -1)
    total = everybody.astype(np.float32) @ flat
    found = np.empty((permutations, flat.shape[1]), dtype=np.float32)
    for start in range(0, permutations, _PERMUTED_AT_ONCE):
        drawn = range(start, min(start + _PERMUTED_AT_ONCE, permutations))
        dealt = np.empty((len(drawn), len(flat)), dtype=np.float32)
        for row in range(len(drawn)):
            rng.shuffle(labels)
            dealt[row] = np.add.reduceat(labels, starts)
        of_original = dealt @ flat
        found[drawn.start : drawn.stop] = of_original / n_original - (total - of_original) / n_holdout
    return found.reshape(permutations, *contrast.shape[1:])


def _permuted_together(
    contrast: NDArray[np.float32], group: csr_array, n_original: int, permutations: int, seed: int
) -> NDArray[np.float32]:
    """As `_permuted`, with people or households dealt whole: as many of them to the original as it has."""
    rng = np.random.default_rng(seed)
    sums = np.asarray(group @ contrast.reshape(len(contrast), -1), dtype=np.float32)
    records, total = np.asarray(group.sum(axis=1)), sums.sum(axis=0)
    labels = np.zeros(len(sums), dtype=np.float32)
    labels[:n_original] = 1
    found = np.empty((permutations, sums.shape[1]), dtype=np.float32)
    for start in range(0, permutations, _PERMUTED_AT_ONCE):
        dealt = np.array([rng.permutation(labels) for _ in range(min(_PERMUTED_AT_ONCE, permutations - start))])
        of_original, held = dealt @ sums, (dealt @ records)[:, None]
        found[start : start + len(dealt)] = of_original / held - (total - of_original) / (records.sum() - held)
    return found.reshape(permutations, *contrast.shape[1:])


def joined(parts: Sequence[Contrasts]) -> Contrasts:
    """Mean over pairs of folds that share nobody; labels are exchanged within each pair."""
    n = len(parts)
    sampling = sum(part.standard_error**2 for part in parts)
    runs = sum(part.standard_error**2 * part.runs_share for part in parts)
    return Contrasts(
        own=np.mean([part.own for part in parts], axis=0),
        other=np.mean([part.other for part in parts], axis=0),
        standard_error=np.sqrt(sampling) / n,
        runs_share=np.asarray(runs / sampling),
        null_error=np.sqrt(sum(part.null_error**2 for part in parts)) / n,
        permuted=np.mean([part.permuted for part in parts], axis=0),
        measures=parts[0].measures,
    )


def simultaneous(found: Contrasts, measures: Sequence[str] = ()) -> Simultaneous:
    """Limits and levels over all columns of these measures (all: none named) at once, by the largest difference under
    exchanged labels.

    Westfall and Young (Resampling-based multiple testing, 1993): the difference of each column in its standard errors,
    the largest over columns, over permutations. Two-sided for the limits, one-sided for the levels.
    """
    at = [found.measures.index(name) for name in measures or found.measures]
    drawn = found.permuted[:, at] / found.null_error[at]
    largest = np.sort(drawn.reshape(len(drawn), -1).max(axis=1))
    either = np.sort(np.abs(drawn).reshape(len(drawn), -1).max(axis=1))
    critical = float(either[min(math.ceil(0.95 * (len(either) + 1)) - 1, len(either) - 1)])
    seen = found.difference[at] / found.null_error[at]
    above = len(largest) - np.searchsorted(largest, seen - 1e-6)
    margin = critical * found.standard_error[at]
    return Simultaneous(
        low=found.difference[at] - margin,
        high=found.difference[at] + margin,
        chance=(above + 1) / (len(largest) + 1),
        critical=critical,
    )
