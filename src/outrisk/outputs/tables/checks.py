"""Whether released values can be the numbers of a table: each fault is named, with the way out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from outrisk.errors import OutputError
from outrisk.outputs.base import Array


def check_within(
    output: str, labels: Sequence[str], low: Array, high: Array, least: Array | float, most: Array | float, what: str
) -> None:
    """Every range meets [least, most]."""
    least, most = np.broadcast_to(least, low.shape), np.broadcast_to(most, low.shape)
    wrong = (high < least) | (low > most)
    if wrong.any():
        at = int(np.argmax(wrong))
        span = f"from {least[at]:.6g}" + (f" to {most[at]:.6g}" if np.isfinite(most[at]) else "")
        value = high[at] if high[at] < least[at] else low[at]
        raise OutputError(f"output '{output}': {labels[at]} is {value:g}; {what} lies {span}: correct the value")


def check_whole(output: str, labels: Sequence[str], low: Array, high: Array) -> None:
    """Every count that is known exactly is a whole number."""
    wrong = (low == high) & (low != np.round(low))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise OutputError(
            f"output '{output}': {labels[at]} is {low[at]:g}; a count is a whole number: correct the value"
        )


def check_sum(
    output: str, of: Sequence[str], low: Array, high: Array, least: Array, most: Array, slack: Array | float
) -> None:
    """The sums of ranges, low to high, meet least to most (all (m,), with what they are sums of in words)."""
    wrong = (high + slack < least) | (low - slack > most)
    if wrong.any():
        at: int = int(np.argmax(wrong))
        sums, should = _span(low[at], high[at]), _span(least[at], most[at])
        raise OutputError(f"output '{output}': {of[at]} add up to {sums} and should to {should}; correct the values")


def _span(low: float, high: float) -> str:
    return f"{low:,.6g}" if low == high else f"{low:,.6g} to {high:,.6g}"


def unknown(low: Array, high: Array) -> NDArray[np.bool_]:
    """Numbers of which nothing is known: withheld or not defined."""
    return np.isneginf(low) & np.isposinf(high)


def check_order(output: str, labels: Sequence[str], low: Array, high: Array, every: int) -> None:
    """Numbers rise within each run of `every` of them."""
    lows, highs = low.reshape(-1, every), high.reshape(-1, every)
    wrong = lows[:, :-1] > highs[:, 1:]
    if wrong.any():
        cell, at = np.argwhere(wrong)[0]
        first, second = cell * every + at, cell * every + at + 1
        raise OutputError(
            f"output '{output}': {labels[first]} is {low[first]:g} and {labels[second]} {high[second]:g}; "
            "a higher quantile is no smaller: correct the values"
        )


def check_shares(
    output: str,
    labels: Sequence[str],
    low: Array,
    high: Array,
    number: NDArray[np.int64],
    base: NDArray[np.int64],
    whole: float,
    slack: Array,
) -> None:
    """Shares lie between 0 and the whole, and those at `number` (m,) add up to it in each group `base` (m,).

    slack (k,): half a last digit. A group of shares that are all unknown may hold no record.
    """
    nothing = unknown(low, high)
    low, high = np.where(nothing, 0.0, low), np.where(nothing, whole, high)
    check_within(output, labels, low, high, 0.0, whole, "a share" if whole == 1 else "a percentage")
    sizes = np.bincount(base)
    lows, highs, slacks = (
        np.asarray(np.bincount(base, part[number]), dtype=np.float64) for part in (low, high, slack * (1 + 1e-9))
    )
    empty = np.bincount(base, nothing[number].astype(float)) == sizes
    first = number[np.unique(base, return_index=True)[1]]
    of = [f"the {size} shares from '{labels[at]}' on" for size, at in zip(sizes, first, strict=True)]
    least, most = np.where(empty, -np.inf, whole), np.where(empty, np.inf, whole)
    check_sum(output, of, lows, highs, least, most, slacks)
