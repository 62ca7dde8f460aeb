"""What released standardised rates can be, and what of them contradicts each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from outrisk.errors import OutputError
from outrisk.outputs.base import Array
from outrisk.outputs.smooth import derivatives as smooth
from outrisk.outputs.smooth.standardised_told import sums_told
from outrisk.outputs.tables.checks import check_whole
from outrisk.outputs.tables.person_time import ENDS, MOST_EVENTS, Limits, behind_rates
from outrisk.problem.released import ROUNDING, half_digit

if TYPE_CHECKING:
    from outrisk.outputs.smooth.standardised import Standardised


def check(output: Standardised, low: Array, high: Array) -> None:
    """OutputError that names the first number, or two, that no data can have."""
    k = len(low)
    at = {each: output.at(each) for each in output.shown}
    labels = output.labels
    least, most = np.zeros(k), np.full(k, np.inf)
    if output.method == "direct" and output.settings["interval"] != "fay-feuer" and ENDS[0] in at:
        least[at[ENDS[0]]] = -np.inf
    for each in ("rate", "crude rate"):
        if each in at and not output.time:
            most[at[each]] = output.per + half_digit(output.decimals[at[each]]) * ROUNDING
    why = f"nothing here is below 0{'' if output.time else f', nor a rate above {output.per:g}'}; correct it, or 'per'"
    smooth.check_range(output.name, labels, low, high, least, most, why)
    for each in ("events", "n"):
        if each in at:
            check_whole(output.name, [labels[place] for place in at[each]], low[at[each]], high[at[each]])
    _check_order(output, low, high, at)
    _check_quotients(output, low, high, at)
    if output.method == "indirect" and ENDS[0] in at:
        _check_limits(output, low, high, at)
    for each, (fewest, most_of) in sums_told(output, low, high).items():
        wrong = np.flatnonzero(fewest > most_of * (1.0 + 1e-9))
        if len(wrong):
            name = output.names[wrong[0]]
            raise OutputError(
                f"output '{output.name}': no {'number of events' if each == 'events' else 'expected events'} of {name} "
                "has all of its numbers; correct one of them"
            )


def _half(output: Standardised, at: dict[str, NDArray[np.int64]]) -> Array:
    """Half a last digit of each number (k,); of counts none, which are whole."""
    half = half_digit(output.decimals) * ROUNDING
    for each in ("events", "n"):
        half[at.get(each, [])] = 0.0
    return half


def _check_order(output: Standardised, low: Array, high: Array, at: dict[str, NDArray[np.int64]]) -> None:
    """Lower limits lie below, upper ones above; nobody has the event who is no record."""
    half = _half(output, at)
    centre = "rate" if output.method == "direct" else "ratio"
    for small, large in ((ENDS[0], centre), (centre, ENDS[1]), ENDS, ("events", "n")):
        if small not in at or large not in at:
            continue
        less, more = low[at[small]] - half[at[small]], high[at[large]] + half[at[large]]
        wrong = np.flatnonzero(less > more)
        if len(wrong):
            one, other = at[small][wrong[0]], at[large][wrong[0]]
            raise OutputError(
                f"output '{output.name}': {output.labels[one]} is {low[one]:g} and {output.labels[other]} "
                f"{high[other]:g}; the first is never above the other: correct one of them"
            )


def _check_quotients(output: Standardised, low: Array, high: Array, at: dict[str, NDArray[np.int64]]) -> None:
    """A crude rate is events over denominator, a ratio events over those expected, where the three are printed."""
    half = _half(output, at)
    below = "person-time" if output.time else "n"
    for rate, denominator, per in (("crude rate", below, output.per), ("ratio", "expected", 1.0)):
        if not {rate, "events", denominator} <= set(at):
            continue
        events, time = at["events"], at[denominator]
        with np.errstate(all="ignore"):
            least = per * low[events] / (high[time] + half[time])
            most = per * high[events] / np.maximum(low[time] - half[time], 0.0)
        bound = np.full(len(low), -np.inf), np.full(len(low), np.inf)
        bound[0][at[rate]] = np.where(np.isnan(least), -np.inf, least) - half[at[rate]]
        bound[1][at[rate]] = np.where(np.isnan(most), np.inf, most) + half[at[rate]]
        why = f"events and {denominator} make it another number; correct it, or these"
        smooth.check_range(output.name, output.labels, low, high, *bound, why)


def _check_limits(output: Standardised, low: Array, high: Array, at: dict[str, NDArray[np.int64]]) -> None:
    """Some number of events has these limits, where they are so far apart that there are not too many to try."""
    half = half_digit(output.decimals) * ROUNDING
    limits, none = Limits(output.settings["interval"], output.level), np.zeros(len(output.groups))
    names = {"rate": "ratio", **{each: each for each in ENDS}}
    numbers = {
        name: (low[at[each]] - half[at[each]], high[at[each]] + half[at[each]])
        for name, each in names.items()
        if each in at
    }
    (fewest, _), _ = behind_rates(limits, 1.0, (none, none + np.inf), (none, none + np.inf), numbers)
    apart = limits.of(float(MOST_EVENTS))
    lower, upper = (numbers[each][end] for end, each in enumerate(ENDS))
    wide = (lower > 0.0) & np.isfinite(upper) & (upper > lower * float(apart[1] / apart[0]) * 1.01)
    wrong = np.flatnonzero(np.isnan(fewest) & wide)
    if len(wrong):
        one, other = (at[each][wrong[0]] for each in ENDS)
        raise OutputError(
            f"output '{output.name}': {output.labels[one]} is {low[one]:g} and {output.labels[other]} {high[other]:g}; "
            f"no number of events has these {output.settings['interval']} limits at {100 * output.level:g} % beside "
            "the other numbers; correct them, 'interval' or 'level'"
        )
