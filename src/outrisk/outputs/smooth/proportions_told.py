"""What proportions tell of numbers of records and events.

All numbers of a group follow from two whole numbers, its events and its records, and their digits leave few pairs of
these (see pairs_behind.py). Where they leave one, the two are counts, as tables have them, and the others follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from outrisk.outputs.base import Array
from outrisk.outputs.counts_first import CountsFirst
from outrisk.outputs.regression.existence import Existence
from outrisk.outputs.smooth.pairs_behind import Behind, Printed, behind
from outrisk.outputs.smooth.pairs_of_totals import PairsOfTotals
from outrisk.outputs.smooth.proportions_of_totals import Quotients
from outrisk.outputs.tables.person_time import ENDS
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.blocks import Tally
from outrisk.problem.counts import Counts
from outrisk.problem.released import ROUNDING, Part, Released, TallyPart, half_digit

if TYPE_CHECKING:
    from outrisk.outputs.smooth.proportions import Proportions

_FIELDS = {
    "proportion": "proportion",
    "standard error": "error",
    "lower limit": "lower",
    "upper limit": "upper",
    "events": "events",
    "n": "n",
}
_UNSAID = (-np.inf, np.inf)
_COUNTED = ("events", "n")


@dataclass(frozen=True, eq=False)
class Known:
    """From where to where events (rows,) and records (groups,) lie; certain (rows,): which rows have one pair alone."""

    fewest: Array
    most: Array
    shortest: Array
    longest: Array
    certain: NDArray[np.bool_]

    def of(self, statistic: str) -> tuple[Array, Array]:
        """The ends of 'events' or 'n'."""
        return (self.fewest, self.most) if statistic == "events" else (self.shortest, self.longest)


def pairs_told(output: Proportions, low: Array, high: Array) -> list[Behind]:
    """The pairs of events and records of each row that numbers released from low to high (k,) can be of; rows of a
    group have the same records.
    """
    return [one for each in by_group(output, low, high) for one in each]


def by_group(output: Proportions, low: Array, high: Array, first: int = 0) -> Iterator[list[Behind]]:
    """The same, group by group, as they are asked for; the one of row `first` before the others."""
    rows, several = printed_rows(output, low, high), len(output.counted)
    starts = range(0, len(rows), several)
    for at in sorted(starts, key=lambda at: not at <= first < at + several):
        yield _of_a_group([behind(output.limits, each) for each in rows[at : at + several]])


def printed_rows(output: Proportions, low: Array, high: Array) -> list[Printed]:
    """From where to where the numbers of each row lie that were released from low to high (k,)."""
    half = half_digit(output.decimals) * ROUNDING
    unit = np.full(len(low), output.per)
    counts = np.concatenate([output.at("events"), output.at("n")])
    half[counts], unit[counts] = 0.0, 1.0
    ends = np.stack([(low - half) / unit, (high + half) / unit], axis=-1).reshape(len(output.names), -1, 2)
    found = []
    for row in ends:
        numbers = dict.fromkeys(_FIELDS.values(), _UNSAID)
        numbers |= {_FIELDS[each]: (float(a), float(b)) for each, (a, b) in zip(output.shown, row, strict=True)}
        found.append(Printed(**numbers))
    return found


def _of_a_group(rows: list[Behind]) -> list[Behind]:
    """The pairs of the rows of one group, whose records are the same."""
    if len(rows) == 1:
        return rows
    sets = [np.unique(each.pairs[:, 1]) for each in rows if each.pairs is not None]
    if sets:
        n = sets[0]
        for other in sets[1:]:
            n = np.intersect1d(n, other)
        rows = [each.among(n) for each in rows]
    least, most = max(each.n[0] for each in rows), min(each.n[1] for each in rows)
    return [each if each.pairs is not None else replace(each, n=(least, most)) for each in rows]


def known(output: Proportions, low: Array, high: Array) -> Known:
    """What released numbers from low to high (k,) tell; from 0 to infinity where they say nothing."""
    rows = pairs_told(output, low, high)
    ends = np.array([[*each.events, *each.n] for each in rows])
    ends = np.where(np.isnan(ends), [0.0, np.inf, 0.0, np.inf], ends)
    fewest, most, n_low, n_high = np.maximum(ends, 0.0).T
    shape = len(output.groups), len(output.counted)
    shortest, longest = n_low.reshape(shape).max(axis=1), n_high.reshape(shape).min(axis=1)
    longest = np.where(longest < shortest, np.inf, longest)
    return Known(fewest, most, shortest, longest, np.array([each.certain for each in rows]))


def counts_first(output: Proportions, low: Array, high: Array, proves: bool) -> Released | None:
    """What was released from low to high (k,) with events and records first, in parts of their own, where they are
    known; numbers of rows with one pair follow from these. For proofs (`proves`) ranges count too, and nothing that was
    printed is left out. None where nothing is known.
    """
    told = known(output, low, high)
    plain = tuple(each for each in output.statistics if each not in _COUNTED)
    whole = replace(output, statistics=(*plain, "events", "n"))
    made = list[tuple[Part, NDArray[np.int64], Array, Array]]()
    for statistic in _COUNTED:
        least, most = told.of(statistic)
        which = ((least > 0.0) | np.isfinite(most)) if proves else least == most
        if which.any():
            place = np.flatnonzero(which)
            row = place if statistic == "events" else place * len(output.counted)
            made.append((_tallied(output, statistic, which), whole.at(statistic)[row], least[which], most[which]))
    if not made:
        return None
    for part, of, ends in _others(output, whole, told, low, high, proves):
        made.append((part, of, *ends))
    parts, numbers, lows, highs = zip(*made, strict=True)
    places = np.concatenate(numbers)
    printed = _printed(output, whole)[places]
    names = [
        whole.labels[at] + ("" if whole.shown[at % len(whole.shown)] in output.shown else " by the other numbers")
        for at in places
    ]
    first = CountsFirst.of_whole(output, whole, parts, places, names)
    return Released(first, np.concatenate(lows), np.concatenate(highs), tuple(parts), printed)


def _others(
    output: Proportions, whole: Proportions, told: Known, low: Array, high: Array, proves: bool
) -> Iterator[tuple[Part, NDArray[np.int64], tuple[Array, Array]]]:
    """Parts of what is no count, which numbers of the whole they are, and their ranges."""
    others = [each for each in output.shown if each not in _COUNTED]
    every = np.arange(len(output.names))
    open_ = every[~told.certain]
    groups = [(others, open_, False)]
    if proves:
        rest = [each for each in others if each != "proportion"]
        groups = [(rest, open_, False), (others, every[told.certain], True)]
        if "proportion" in others and len(open_):
            at = output.at("proportion")[open_]
            yield _quotients(output, ~told.certain), whole.at("proportion")[open_], (low[at], high[at])
    for shown, rows, follow in groups:
        if shown and len(rows):
            of, from_ = (np.stack([each.at(name)[rows] for name in shown], axis=1).ravel() for each in (whole, output))
            yield output.of_shown(shown, rows, follow), of, (low[from_], high[from_])


def _printed(output: Proportions, whole: Proportions) -> NDArray[np.int64]:
    """Of which printed number each of the whole is, or follows: of counts that are not printed the first of the row."""
    found = np.empty((len(output.names), len(whole.shown)), np.int64)
    for column, name in enumerate(whole.shown):
        found[:, column] = output.at(name if name in output.shown else output.shown[0])
    return found.ravel()


def _tallied(output: Proportions, statistic: str, which: NDArray[np.bool_]) -> TallyPart:
    """Events of some rows, or records of some groups."""
    size = int(which.sum())
    return TallyPart((_tally(output, statistic, which),), Counts(np.arange(size)), size)


def _tally(output: Proportions, statistic: str, which: NDArray[np.bool_]) -> Tally:
    joint, cell = output.cells(statistic)
    place = np.where(which, np.cumsum(which) - 1, -1)
    return Tally(joint, int(which.sum()), np.append(place, -1)[cell].astype(np.int32), masks=output.masks)


def _quotients(output: Proportions, rows: NDArray[np.bool_]) -> TallyPart:
    """Proportions of some rows, as quotients of events and records."""
    groups = np.zeros(len(output.groups), np.bool_)
    groups[output.group[rows]] = True
    blocks = _tally(output, "events", rows), _tally(output, "n", groups)
    place = (np.cumsum(groups) - 1)[output.group[rows]]
    return TallyPart(blocks, Quotients(output.per, place), int(rows.sum()))


def implied(output: Proportions, low: Array, high: Array) -> tuple[Released, ...]:
    """Events and records of rows that have several pairs, or none that are known, in ranges; those of the events as the
    records are (see pairs_of_totals.py).
    """
    pairs, told = pairs_told(output, low, high), known(output, low, high)
    rows = ~told.certain & ((told.shortest[output.group] > 0.0) | np.isfinite(told.most))
    if not rows.any():
        return ()
    groups = np.zeros(len(output.groups), np.bool_)
    groups[output.group[rows]] = True
    blocks = _tally(output, "events", rows), _tally(output, "n", groups)
    printed = [one for one, own in zip(printed_rows(output, low, high), rows, strict=True) if own]
    map_ = PairsOfTotals(
        output.limits,
        (np.cumsum(groups) - 1)[output.group[rows]],
        {name: np.array([getattr(each, _FIELDS[name]) for each in printed]) for name in ("proportion", *ENDS)},
        [_possible(pairs, output, int(group)) for group in np.flatnonzero(groups)],
    )
    part = TallyPart(blocks, map_, int(rows.sum() + groups.sum()))
    least = np.concatenate([told.fewest[rows], told.shortest[groups]])
    most = np.concatenate([told.most[rows], told.longest[groups]])
    one = Existence(output.codebook, output.name, part, importance=output.importance)
    return (Released(one, least, most, (part,)),)


def _possible(pairs: list[Behind], output: Proportions, group: int) -> Array | None:
    """The records that a group can have, in rising order; None where they are too many."""
    own = [each for each, of in zip(pairs, output.group, strict=True) if of == group and each.pairs is not None]
    return np.unique(own[0].pairs[:, 1]) if own and own[0].pairs is not None else None


def record_counts_of(output: Proportions, low: Array, high: Array) -> Iterator[RecordCounts]:
    """How many records groups have, and how many of them the event. Of groups with a missing value nothing is said, and
    where the event may be missing, groups may have more records.
    """
    told = known(output, low, high)
    sizes = [output.codebook[name].size for name in output.by]
    inside = tuple(slice(len(output.codebook[name].values)) for name in output.by)
    shape = [len(output.codebook[name].values) for name in output.by]
    event = output.codebook[output.event]
    if ((told.shortest > 0.0) | np.isfinite(told.longest)).any():
        least, most = np.zeros(sizes), np.full(sizes, np.inf)
        least[inside] = told.shortest.reshape(shape)
        if not event.missing:
            most[inside] = told.longest.reshape(shape)
        yield RecordCounts(output.by, least, most)
    if ((told.fewest > 0.0) | np.isfinite(told.most)).any():
        least, most = np.zeros([*sizes, event.size]), np.full([*sizes, event.size], np.inf)
        for at, value in enumerate(output.counted):
            place: tuple[slice | int, ...] = (*inside, int(event.code_of[value]))
            least[place] = told.fewest.reshape(*shape, -1)[..., at]
            most[place] = told.most.reshape(*shape, -1)[..., at]
        yield RecordCounts((*output.by, output.event), least, most)
