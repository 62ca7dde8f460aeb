"""What standardised rates tell of numbers of records and events.

Events and records that are printed are counts, as tables have them. So are events that other numbers tell: the ratio
with its limits or its standard error, as those of a Poisson variable, and a crude rate beside its denominator.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from outrisk.outputs.base import Array, joint_for, places_in, support_frame
from outrisk.outputs.counts_first import CountsFirst
from outrisk.outputs.regression.existence import Existence
from outrisk.outputs.tables.person_time import ENDS, Limits, behind_rates
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.blocks import Joint, Tally
from outrisk.problem.counts import Counts
from outrisk.problem.released import ROUNDING, Part, Released, TallyPart, half_digit

if TYPE_CHECKING:
    from outrisk.outputs.smooth.standardised import Standardised

Ends = tuple[Array, Array]
_TALLIED = ("events", "n", "person-time", "expected")


def counts_first(output: Standardised, low: Array, high: Array, proves: bool) -> Released | None:
    """What was released from low to high (k,) with events, records and sums over records first, in parts of their own;
    for proofs (`proves`) also events that the other numbers tell. None where there are none of these.
    """
    whole, printed = output, np.arange(len(low))
    if proves:
        whole, low, high, printed = _with_events(output, low, high)
    some = [each for each in _TALLIED if each in whole.shown]
    if not some:
        return None
    of = [whole.at(each) for each in some]
    parts: list[Part] = [TallyPart((_tally(whole, each),), _map(whole, each), len(whole.groups)) for each in some]
    others = np.setdiff1d(np.arange(len(low)), np.concatenate(of))
    if len(others):
        rest = [each for each in whole.shown if each not in some]
        parts.append(output.of_shown(rest, whole.decimals[others]))
    places = np.concatenate([*of, others])
    names = [
        label + " by the other numbers" * (whole is not output and label.endswith(": events")) for label in whole.labels
    ]
    first = CountsFirst.of_whole(output, whole, parts, places, [names[at] for at in places])
    return Released(first, first.at(low), first.at(high), tuple(parts), printed[places])


def _map(output: Standardised, statistic: str) -> Counts:
    value, spread = _adds(output, statistic), 1.0
    if value is not None:
        spread = float((value**2).sum() / value.sum())
    return Counts(np.arange(len(output.groups)), spread)


def _joint(output: Standardised, statistic: str) -> Joint:
    time = [output.time] if output.time else []
    names = {"events": [output.event], "person-time": time, "expected": [*output.over, *time]}.get(statistic, [])
    return joint_for(output.codebook, [*output.by, *names], output.name)


def _adds(output: Standardised, statistic: str) -> Array | None:
    """What a record adds to a sum, at each level of its joint; None for a count."""
    if statistic not in ("person-time", "expected"):
        return None
    frame = support_frame(output.codebook, _joint(output, statistic))
    time = frame[output.time].fillna(0.0).to_numpy(dtype=float) if output.time else np.ones(len(frame))
    if statistic == "person-time":
        return time
    stratum = output.stratum_of(frame, frame[list(output.over)].notna().all(axis=1).to_numpy(dtype=bool))
    return np.where(stratum < 0, 0.0, time * output.strata.numbers[stratum] / output.per)


def _tally(output: Standardised, statistic: str) -> Tally:
    """Events, records, person-time or expected events of each group."""
    joint = _joint(output, statistic)
    frame = support_frame(output.codebook, joint)
    counts = frame.notna().all(axis=1).to_numpy(dtype=bool)
    if statistic == "events":
        counts = counts & np.asarray(frame[output.event] == output.happened)
    cell = np.where(counts, places_in(output.codebook, output.by, frame), -1).astype(np.int32)
    return Tally(joint, len(output.groups), cell, _adds(output, statistic), output.masks)


def _with_events(output: Standardised, low: Array, high: Array) -> tuple[Standardised, Array, Array, NDArray[np.int64]]:
    """The same with events, between the fewest and the most that the other numbers leave, where these were not printed
    and something is told of them; and from which of the numbers that were each follows.
    """
    fewest, most = sums_told(output, low, high)["events"]
    if "events" in output.shown or not ((fewest > 0.0) | np.isfinite(most)).any():
        return output, low, high, np.arange(len(low))
    from_ = next(each for each in ("ratio", "crude rate", output.shown[0]) if each in output.shown)

    def beside(numbers: NDArray[np.generic], more: NDArray[np.generic]) -> NDArray[np.generic]:
        return np.column_stack([numbers.reshape(len(output.groups), -1), more]).ravel()

    whole = replace(output, statistics=(*output.columns, "events"))
    printed = beside(np.arange(len(low)), output.at(from_))
    return whole, beside(low, fewest), beside(high, most), printed  # type: ignore[return-value]


def implied(output: Standardised, low: Array, high: Array) -> tuple[Released, ...]:
    """Records of each stratum, one at least, of groups that have a direct rate; and events, and expected ones, where
    something is told of them and they are not printed.
    """
    defined = _defined(output, low, high)
    found = list[tuple[Tally, Counts, Array, Array]]()
    if output.method == "direct" and defined.any():
        block = _of_strata(output, defined)
        found.append((block, Counts(np.arange(block.size)), np.ones(block.size), np.full(block.size, np.inf)))
    for each, (least, most) in sums_told(output, low, high).items():
        if each not in output.shown and ((least > 0.0) | np.isfinite(most)).any():
            found.append((_tally(output, each), _map(output, each), least, most))
    made = [TallyPart((block,), map_, block.size) for block, map_, _, _ in found]
    outputs = [Existence(output.codebook, output.name, part, importance=output.importance) for part in made]
    return tuple(
        Released(one, least, most, (part,)) for one, part, (_, _, least, most) in zip(outputs, made, found, strict=True)
    )


def _defined(output: Standardised, low: Array, high: Array) -> NDArray[np.bool_]:
    """Groups (groups,) that have a direct rate, as one of its numbers is printed."""
    at = [output.at(each) for each in ("rate", "standard error", *ENDS) if each in output.shown]
    finite = [np.isfinite(low[each]) | np.isfinite(high[each]) for each in at]
    return np.any(finite, axis=0) if finite else np.zeros(len(output.groups), np.bool_)


def _of_strata(output: Standardised, groups: NDArray[np.bool_]) -> Tally:
    """Records with a denominator in each stratum of some groups."""
    names = [*output.by, *output.over, *([output.time] if output.time else [])]
    joint = joint_for(output.codebook, names, output.name)
    frame = support_frame(output.codebook, joint)
    inside = frame.notna().all(axis=1).to_numpy(dtype=bool)
    among, strata = output.stratum_of(frame, inside), len(output.strata.labels)
    group = np.where(inside, places_in(output.codebook, output.by, frame), 0)
    inside = inside & (among >= 0) & groups[group]
    if output.time:
        inside &= frame[output.time].to_numpy(dtype=float) > 0.0
    cell = (np.cumsum(groups) - 1)[group] * strata + among
    return Tally(joint, int(groups.sum()) * strata, np.where(inside, cell, -1).astype(np.int32), None, output.masks)


def sums_told(output: Standardised, low: Array, high: Array) -> dict[str, Ends]:
    """The fewest and the most 'events' of each group (groups,) that released numbers from low to high (k,) leave, and,
    of ratios, the least and the most 'expected'; from 0 to infinity where they say nothing.
    """
    half = half_digit(output.decimals) * ROUNDING
    half[np.concatenate([output.at(each) for each in ("events", "n")])] = 0.0  # whole
    ends = {each: (low[at] - half[at], high[at] + half[at]) for each in output.shown for at in [output.at(each)]}
    nothing = np.zeros(len(output.groups)), np.full(len(output.groups), np.inf)
    events, time = nothing, ends.get("person-time" if output.time else "n", nothing)
    if "events" in ends:
        events = np.maximum(low[output.at("events")], 0.0), high[output.at("events")]
    direct = output.method == "direct"
    limits = Limits("exact" if direct else output.settings["interval"], output.level)
    if "crude rate" in ends:
        events, _ = _behind(limits, output.per, events, time, {"rate": ends["crude rate"]})
    if direct:
        return {"events": events}
    if {"ratio", "standard error"} <= set(ends):
        events = _of_error(events, ends["ratio"], ends["standard error"])
    of_ratio = {name: ends[each] for name, each in zip(("rate", *ENDS), ("ratio", *ENDS), strict=True) if each in ends}
    events, expected = _behind(limits, 1.0, events, ends.get("expected", nothing), of_ratio)
    return {"events": events, "expected": expected}


def _behind(limits: Limits, per: float, events: Ends, time: Ends, numbers: dict[str, Ends]) -> tuple[Ends, Ends]:
    """What `behind_rates` finds; where it finds nothing, as of too many events, what was known before."""
    if not numbers:
        return events, time
    time = np.maximum(time[0], 0.0), time[1]
    fewest, most = behind_rates(limits, per, events, time, numbers)
    least, greatest = (
        np.where(np.isnan(each), before, each)
        for each, before in zip(
            (fewest, most), (np.array([events[0], time[0]]), np.array([events[1], time[1]])), strict=True
        )
    )
    return (least[0], greatest[0]), (least[1], greatest[1])


def _of_error(events: Ends, ratio: Ends, error: Ends) -> Ends:
    """A ratio is d / expected and its standard error sqrt(d) / expected, so that d is the square of their quotient."""
    with np.errstate(all="ignore"):
        least = np.where(np.isfinite(error[1]) & (ratio[0] > 0.0), (ratio[0] / error[1]) ** 2, 0.0)
        most = np.where(np.isfinite(ratio[1]) & (error[0] > 0.0), (ratio[1] / error[0]) ** 2, np.inf)
    least, most = np.ceil(least * (1.0 - 1e-9)), np.where(np.isfinite(most), np.floor(most * (1.0 + 1e-9)), np.inf)
    return np.maximum(events[0], least), np.minimum(events[1], most)


def record_counts_of(output: Standardised, low: Array, high: Array) -> Iterator[RecordCounts]:
    """How many records groups have, and how many of them the event, where these are printed. Of groups with a missing
    value nothing is said, and there may be more records where another variable may be missing.
    """
    incomplete = {name for name in output.variables if output.codebook[name].missing}
    sizes = [output.codebook[name].size for name in output.by]
    known = tuple(slice(len(output.codebook[name].values)) for name in output.by)
    shape = [len(output.codebook[name].values) for name in output.by]
    if "n" in output.shown:
        at = output.at("n")
        least, most = np.zeros(sizes), np.full(sizes, np.inf)
        least[known], most[known] = low[at].reshape(shape), high[at].reshape(shape)
        most = np.full(sizes, np.inf) if incomplete - {*output.by} else most
        yield RecordCounts(output.by, np.maximum(least, 0.0), most)
    if "events" in output.shown:
        event, at = output.codebook[output.event], output.at("events")
        least, most = np.zeros([*sizes, event.size]), np.full([*sizes, event.size], np.inf)
        place: tuple[slice | int, ...] = (*known, int(event.code_of[output.happened]))
        least[place], most[place] = low[at].reshape(shape), high[at].reshape(shape)
        most = np.full(most.shape, np.inf) if incomplete - {*output.by, output.event} else most
        yield RecordCounts((*output.by, output.event), np.maximum(least, 0.0), most)
