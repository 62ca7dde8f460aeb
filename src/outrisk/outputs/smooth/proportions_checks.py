"""What released proportions can be: of some whole numbers of events and records."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, get_args

import numpy as np

from outrisk.errors import OutputError
from outrisk.outputs.base import Array
from outrisk.outputs.smooth import derivatives as smooth
from outrisk.outputs.smooth.binomial_limits import BY_ERROR, Distribution, Divisor, ProportionInterval
from outrisk.outputs.smooth.pairs_behind import MOST_RECORDS
from outrisk.outputs.smooth.proportions_told import by_group
from outrisk.outputs.tables.checks import check_whole
from outrisk.problem.released import ROUNDING, half_digit

if TYPE_CHECKING:
    from outrisk.outputs.smooth.proportions import Proportions


def check(output: Proportions, low: Array, high: Array) -> None:
    """OutputError that names the first number that no data can have, or the group of which no pair of whole numbers has
    all that is printed; with what would make all of them right, where that is another interval.
    """
    k, half = len(low), half_digit(output.decimals) * ROUNDING
    most = np.full(k, output.per) + half
    for each in ("events", "n"):
        at = output.at(each)
        most[at] = np.inf
        if len(at):
            check_whole(output.name, [output.labels[place] for place in at], low[at], high[at])
    why = f"nothing here is below 0, nor a share above {output.per:g}; correct it, or 'per'"
    smooth.check_range(output.name, output.labels, low, high, np.zeros(k), most, why)
    wrong = _impossible(output, low, high)
    if wrong < 0:
        return
    printed = [
        f"{each} {_value(low[at], high[at])}"
        for at, each in zip(range(wrong * len(output.shown), k), output.shown, strict=False)
        if np.isfinite(low[at]) or np.isfinite(high[at])
    ]
    limits = f" by {output.interval} limits at {100 * output.level:g} %" if "limits" in output.statistics else ""
    n = "" if "n" in output.shown else f" among up to {MOST_RECORDS:,} records"
    raise OutputError(
        f"output '{output.name}': {output.names[wrong]}: no number of events{n} has {', '.join(printed)}{limits}; "
        f"{_way_out(output, low, high, wrong)}"
    )


def _value(low: float, high: float) -> str:
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _impossible(output: Proportions, low: Array, high: Array) -> int:
    """The first row of which no pair has all numbers; -1 where there is none."""
    rows = (each for group in by_group(output, low, high) for each in group)
    return next((at for at, each in enumerate(rows) if each.impossible), -1)


def _way_out(output: Proportions, low: Array, high: Array, wrong: int) -> str:
    """What to correct: the interval, divisor or distribution with which all numbers are possible, if there is one, also
    those of the row that is `wrong`.
    """
    uses = [each for each in ("limits", "standard error") if each in output.statistics]
    if not uses:
        return "correct one of them"
    keys = ["'interval'", "'level'"] if "limits" in uses else []
    intervals = get_args(ProportionInterval) if "limits" in uses else (output.interval,)
    for interval, divisor, distribution in product(intervals, get_args(Divisor), get_args(Distribution)):
        by_error = interval in BY_ERROR
        if (distribution == "t" and not by_error) or (
            divisor == "n-1" and not by_error and "standard error" not in uses
        ):
            continue
        other = replace(output, interval=interval, divisor=divisor, distribution=distribution)
        if not any(row.impossible for group in by_group(other, low, high, wrong) for row in group):
            changes = {"interval": interval, "divisor": divisor, "distribution": distribution}
            named = [f"'{key}: {value}'" for key, value in changes.items() if getattr(output, key) != value]
            return f"{' with '.join(named)} has all numbers of this output: say so, or correct them"
    return f"correct them, {' or '.join([*keys, chr(39) + 'divisor' + chr(39)])}"
