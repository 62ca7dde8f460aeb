"""What released numbers of shape and concentration can be, and what of them contradicts each other."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from outrisk.errors import OutputError
from outrisk.outputs.base import Array
from outrisk.outputs.smooth import derivatives as smooth
from outrisk.outputs.smooth.shape_by_records import from_moments
from outrisk.outputs.tables.checks import check_whole, check_within
from outrisk.problem.released import ROUNDING, half_digit

if TYPE_CHECKING:
    from outrisk.outputs.smooth.shape import Shape

Ranges = dict[str, tuple[Array, Array]]
_SLACK = 1e-9


def check(output: Shape, low: Array, high: Array) -> None:
    """OutputError that names the first number, or two, that no data can have."""
    counts = slice(0, output.n_counts)
    check_within(output.name, output.labels[counts], low[counts], high[counts], 0.0, np.inf, "a count")
    check_whole(output.name, output.labels[counts], low[counts], high[counts])
    ranges, n = of_cells(output, low, high)
    for each in output.shown:
        _check_one(output, each, ranges[each], n)
    _check_pairs(output, ranges)


def of_cells(output: Shape, low: Array, high: Array) -> tuple[Ranges, tuple[Array, Array]]:
    """Where the exact numbers of the cells lie, as shares, by statistic (cells,): half a last digit beyond what is
    printed; and how many records there are.
    """
    start, every, cells = output.n_counts, len(output.shown), len(output.cells.labels)
    own = slice(start, start + every * cells)
    half = half_digit(output.decimals[own]) * ROUNDING
    ends = [(end[own] + sign * half).reshape(cells, every) / output.scale for end, sign in ((low, -1), (high, 1))]
    ranges = {each: (ends[0][:, at], ends[1][:, at]) for at, each in enumerate(output.shown)}
    n = (np.zeros(cells), np.full(cells, np.inf))
    if output.counted or len(low) > own.stop:
        at = slice(0, start) if output.counted else slice(own.stop, None)
        n = np.maximum(low[at], 0.0), high[at]
    return ranges, n


def _check_one(output: Shape, statistic: str, ends: tuple[Array, Array], n: tuple[Array, Array]) -> None:
    """A number lies where so many records can have it."""
    low, high = ends
    most_records = np.where(np.isfinite(n[1]), np.maximum(n[1], 1.0), np.inf)
    least, most, why = np.zeros(len(low)), np.ones(len(low)), "it lies from 0 to 1"
    if statistic == "cv":
        least, most, why = np.full(len(low), -np.inf), np.full(len(low), np.inf), ""
    elif statistic == "hhi" or statistic.startswith("cr"):
        largest = 1 if statistic == "hhi" else int(statistic[2:])
        least = np.minimum(largest / most_records, 1.0)
        why = "a share of n records is at least that of equal ones, and at most all"
    elif statistic == "gini":
        most = np.ones(len(low)) if output.divisor == "n - 1" else 1.0 - 1.0 / most_records
        why = "it lies from 0 to 1 - 1 / n"
    elif statistic == "kurtosis" and output.moments != "adjusted":
        fewest = np.maximum(n[0], 2.0)
        least = from_moments("kurtosis", fewest, 0.0, 1.0, output.moments, output.excess)
        most, why = np.full(len(low), np.inf), "a kurtosis is no less than that; correct it, 'moments' or 'excess'"
    else:
        return
    column = output.shown.index(statistic)
    names = [output.labels[output.n_counts + cell * len(output.shown) + column] for cell in range(len(low))]
    unit, half = float(output.scale[column]), float(half_digit(output.digits[statistic])) * ROUNDING
    ends = (least - _SLACK) * unit - half, (most + _SLACK) * unit + half
    said = f"{why}; correct it, the count, or 'percent' and 'points'"
    smooth.check_range(output.name, names, low * unit + half, high * unit - half, *ends, said)


def _check_pairs(output: Shape, ranges: Ranges) -> None:
    """More of the largest have no smaller share; squared shares add up to no more than the largest of them."""
    shares = sorted((each for each in ranges if each.startswith("cr")), key=lambda each: int(each[2:]))
    pairs = list(pairwise(shares))
    for small, large in pairs:
        _refuse(output, small, large, ranges[small][0] > ranges[large][1] + _SLACK, "is larger than")
    if "hhi" in ranges and shares:
        low, high = ranges["hhi"]
        for each in shares:
            most, largest = np.minimum(ranges[each][1], 1.0), int(each[2:])
            _refuse(output, "hhi", each, low > most + _SLACK, "is larger than")
            least = np.maximum(ranges[each][0], 0.0) ** 2 / largest  # of equal ones
            _refuse(output, "hhi", each, high < least - _SLACK, "is too small beside")


def _refuse(output: Shape, one: str, other: str, wrong: NDArray[np.bool_], how: str) -> None:
    if wrong.any():
        cell = int(np.argmax(wrong))
        label = output.cells.labels[cell]
        raise OutputError(
            f"output '{output.name}': {label}: {one} of {output.value} {how} its {other}; correct one of them"
        )
