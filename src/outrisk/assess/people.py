"""By person: of how many people the target is inferred rightly run after run, in the data and in the holdout."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from outrisk.microdata import Microdata
from outrisk.records.schema import PeopleCount
from outrisk.risk.intervals.closed import Sample, interval, sample
from outrisk.risk.intervals.paired import paired_interval
from outrisk.risk.register.rightly import unique_rows

if TYPE_CHECKING:
    from outrisk.assess.folds import Fold
    from outrisk.assess.run import RunResult

CONSISTENT = 0.9  # of the runs
INFERENCES = ("certain", "most frequent")
EVERYBODY, UNIQUE = "everybody", "unique on the keys"
_MOST_VALUES = 5  # of the target that have a row of their own; of more, the rarest alone
Flags = NDArray[np.bool_]
Together = NDArray[np.intp] | None
Right = Mapping[str, Flags]  # inference -> (n_records,)


def inferred_rightly(synthetic: Microdata, attacked: Microdata, keys: Sequence[str], target: str, tau: float) -> Right:
    """Whose target the synthetic records with the same keys give rightly, (n_records,) for each of INFERENCES.

    `certain`: at least the share `tau` of these records holds the person's value (as TCAP asks of its records).
    `most frequent`: more of them hold it than any other value. Where no record has the keys, nothing is inferred.
    """
    at = synthetic.codebook.index(target)
    n_levels = synthetic.codebook.sizes[at]
    classes = _classes(np.vstack([synthetic.codes, attacked.codes]), synthetic, keys)
    mine, theirs = classes[: len(synthetic)], classes[len(synthetic) :]
    cells, counts = np.unique(mine * n_levels + synthetic.codes[:, at], return_counts=True)
    of = cells // n_levels
    totals = np.bincount(mine, minlength=int(classes.max()) + 1)
    certain = counts >= totals[of] if tau == 1 else counts >= tau * totals[of]
    most = np.zeros(len(totals), dtype=np.int64)
    np.maximum.at(most, of, counts)
    held_by = np.bincount(of[counts == most[of]], minlength=len(totals))
    frequent = (counts == most[of]) & (held_by[of] == 1)
    own = theirs * n_levels + attacked.codes[:, at]
    return {"certain": np.isin(own, cells[certain]), "most frequent": np.isin(own, cells[frequent])}


def _classes(codes: NDArray[np.uint16], like: Microdata, keys: Sequence[str]) -> NDArray[np.int64]:
    """Records with the same values of all keys have the same number, from 0."""
    columns = [like.codebook.index(name) for name in keys]
    sizes = [like.codebook.sizes[column] for column in columns]
    both = codes[:, columns]
    if math.prod(sizes) < 2**62:  # else rows are compared as they are, which is slower
        both = np.ravel_multi_index(tuple(both.T.astype(np.int64)), tuple(sizes))
    return np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)


@dataclass(frozen=True, eq=False)
class _Seen:
    """People of a level: whose target is rightly inferred by releases with them, and by releases without them.

    paired: the two are the same people in the same order.
    """

    own: Flags
    other: Flags
    own_people: list[Microdata]
    other_people: list[Microdata]
    paired: bool

    def rows(self, groups: tuple[Flags, Flags]) -> tuple[Flags, Flags]:
        """Both sides, of the people of a group."""
        return self.own[groups[0]], self.other[groups[1]]

    def together(self, groups: tuple[Flags, Flags]) -> tuple[Together, Together]:
        """Whose records go together on both sides, of the people of a group (see `Microdata`)."""
        return _together(self.own_people, groups[0]), _together(self.other_people, groups[1])


def _together(side: Sequence[Microdata], group: Flags) -> Together:
    numbers = [each.together for each in side if each.together is not None]
    return np.concatenate(numbers)[group] if numbers else None


def people_rows(results: Sequence[RunResult]) -> Iterator[PeopleCount]:
    """A row for each level, inference and group of people: whose target is right in 90 % of the runs of a fold.

    Shares lie in [0, 1], larger = riskier. Intervals (95 %) of the difference of the shares: of pairs, where folds are
    each other's holdout, as each person is then inferred with and without themselves in the data; else as of
    independent samples (see `risk/intervals`). Pairs of people with the same keys share their fate where a release
    follows them: the interval is the wider of that of people and that of key combinations.
    """
    for level, part in groupby(results, key=lambda result: result.job.fold.level):
        folds = {name: list(runs) for name, runs in groupby(part, key=lambda result: result.job.fold.name)}
        runs = min(len(each) for each in folds.values())
        for inference in INFERENCES:
            seen = _seen(folds, inference)
            first = next(iter(folds.values()))[0]
            people = seen.own_people
            alike = _classes(np.concatenate([each.codes for each in people]), people[0], first.job.keys)
            for group, members in _groups(seen, first):
                sides, together = seen.rows(members), seen.together(members)
                paired = alike[members[0]] if seen.paired else None
                yield _row(level, inference, group, runs, *sides, paired, together)


def _seen(folds: Mapping[str, Sequence[RunResult]], inference: str) -> _Seen:
    first = {name: runs[0].job.fold for name, runs in folds.items()}
    own = [_consistent(runs, "original", inference) for runs in folds.values()]
    held = [name for name, fold in first.items() if fold.holdout is not None]
    other = {name: _consistent(folds[name], "holdout", inference) for name in held}
    sibling = {name: first[name].holdout_name.removeprefix("fold ") for name in held}
    paired = len(held) == len(folds) and all(each in other for each in sibling.values())
    order = [sibling[name] for name in first] if paired else held  # whose holdout these people are
    return _Seen(
        own=np.concatenate(own),
        other=np.concatenate([*(other[name] for name in order), np.zeros(0, dtype=np.bool_)]),
        own_people=[fold.people for fold in first.values()],
        other_people=[_holdout(first[name]) for name in order],
        paired=paired,
    )


def _holdout(fold: Fold) -> Microdata:
    assert fold.others is not None
    return fold.others


def _consistent(runs: Sequence[RunResult], side: str, inference: str) -> Flags:
    """Whose target is right in enough runs of a fold."""
    return np.asarray(np.mean([run.right[side][inference] for run in runs], axis=0) >= CONSISTENT - 1e-9)


def _groups(seen: _Seen, result: RunResult) -> Iterator[tuple[str, tuple[Flags, Flags]]]:
    """Groups of people by name, as flags over the people of both sides.

    Who is alone with their keys is so among all people of the level that the release is of or that are held out.
    """
    job, codebook = result.job, result.job.fold.people.codebook
    at, sides = codebook.index(job.target), (seen.own_people, seen.other_people)
    codes = [np.concatenate([*(part.codes for part in side), job.fold.original.codes[:0]]) for side in sides]
    yield EVERYBODY, _flags([np.ones(len(each), dtype=np.bool_) for each in codes])
    alone = zip(codes, sides, strict=True)
    yield UNIQUE, _flags([_alone(each, side, job.fold.original, job.keys) for each, side in alone])
    counts = np.bincount(codes[0][:, at], minlength=codebook.sizes[at])
    values = [value for value in np.argsort(counts, kind="stable").tolist() if counts[value]]
    labels = job.fold.bands.labels if job.fold.bands else codebook[job.target].labels
    if len(values) > _MOST_VALUES:  # of a number a band of several, as the rarest value is one person's
        values = [each for each in values if not codebook[job.target].numeric or " to " in labels[each]][:1]
    for value in values:
        yield f"{job.target} = {labels[value]}", _flags([each[:, at] == value for each in codes])


def _flags(sides: list[Flags]) -> tuple[Flags, Flags]:
    return sides[0], sides[1]


def _alone(codes: NDArray[np.uint16], side: Sequence[Microdata], like: Microdata, keys: Sequence[str]) -> Flags:
    if not len(codes):
        return np.zeros(0, dtype=np.bool_)
    classes = _classes(codes, like, keys)
    owners = [each.person for each in side if each.person is not None]
    return unique_rows(classes[:, None], np.concatenate(owners) if owners else None)


def _row(
    level: int,
    inference: str,
    group: str,
    runs: int,
    original: Flags,
    holdout: Flags,
    alike: Together,
    together: tuple[Together, Together],
) -> PeopleCount:
    """alike: of pairs, whose keys are the same; None: the sides are not paired."""
    nan = math.nan
    shares = [float(right.mean()) if len(right) else nan for right in (original, holdout)]
    difference, low, high = shares[0] - shares[1], nan, nan
    if len(original) and len(holdout):
        if alike is None:
            low, high = interval(_sample(original, together[0]), _sample(holdout, together[1]))
        else:
            both = [
                paired_interval(original, holdout, together[0]),
                paired_interval(original, holdout, alike, sampled=False),
            ]
            low, high = min(each[0] for each in both), max(each[1] for each in both)
    nobody = "nobody is in this group" if not len(original) else "nobody of the holdout is in this group"
    return PeopleCount(
        level=level,
        inference=inference,
        group=group,
        runs=runs,
        people_original=len(original),
        right_original=int(original.sum()),
        share_original=shares[0],
        people_holdout=len(holdout),
        right_holdout=int(holdout.sum()),
        share_holdout=shares[1],
        difference=difference,
        low=low,
        high=high,
        beyond=difference * len(original),
        beyond_low=low * len(original),
        beyond_high=high * len(original),
        reason="" if not math.isnan(difference) else nobody if group != EVERYBODY else "no holdout",
    )


def _sample(right: Flags, together: Together) -> Sample:
    members = None if together is None else (np.arange(len(right)), together)
    return sample(right.astype(float), np.ones(len(right)), members=members)
