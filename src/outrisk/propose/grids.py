"""A grid for a number: rounded ends and a rounded step, never the values seen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from keyword import iskeyword

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import Kind, Variable, grid

_FINE = 1_001  # values of a grid at the digits that are written
_COARSE = 500  # about so many where numbers must be rounded
_LEAST_STEP = 1e-8
_DIGITS = 4  # after the point, at most


@dataclass(frozen=True)
class Grid:
    """Numbers from `low` to `high` by `step`; `rounded`: data must be rounded to it, `topped`: cut off at its ends."""

    low: float
    high: float
    step: float
    rounded: bool
    topped: bool

    def variable(self, name: str, missing: bool, label: str) -> Variable:
        """The codebook's variable."""
        values: tuple[float, ...] = grid(self.low, self.high, self.step)
        kind: Kind = "numeric"
        if self.step == 1:
            kind, values = "integer", tuple(int(value) for value in values)
        return Variable(name, kind, values, missing, label)

    def expression(self, name: str) -> str:
        """How data are brought to the grid; empty where they are on it."""
        text = name if name.isidentifier() and not iskeyword(name) else f"`{name}`"
        if self.topped:
            text = f"minimum(maximum({text}, {_plain(self.low)}), {_plain(self.high)})"
        if self.rounded:
            text = f"round({text})" if self.step == 1 else f"round({text} / {_plain(self.step)}) * {_plain(self.step)}"
        return text if self.rounded or self.topped else ""


def grid_of(numbers: NDArray[np.float64], threshold: int, fine: int = _FINE, coarse: int = _COARSE) -> Grid:
    """A grid over numbers (n,). Its ends are round; no end is a value held by fewer than `threshold` people but 0.

    A few numbers far out do not stretch it: it then ends near the `threshold` greatest, or least, and they are cut.
    Numbers whose digits need fewer than `fine` points stay as they are; others are rounded to about `coarse`.
    """
    ordered = np.sort(numbers)
    most = max(1, min(threshold, len(ordered) // 20))
    inner_low, inner_high = float(ordered[most - 1]), float(ordered[-most])
    spread = inner_high - inner_low or abs(inner_high) or 1.0
    low, high = float(ordered[0]), float(ordered[-1])
    far_low, far_high = inner_low - low > 2 * spread, high - inner_high > 2 * spread
    low, high = inner_low if far_low else low, inner_high if far_high else high
    unit = _unit(high - low or abs(high) or 1.0)
    ends = math.floor(low / unit) * unit, math.ceil(high / unit) * unit
    low_end, high_end = (_clear(end, way * unit, ordered, threshold) for end, way in zip(ends, (-1, 1), strict=True))
    if ordered[0] >= 0:
        low_end = max(low_end, 0.0)
    digits = _digits(numbers)
    step = 10.0**-digits if digits is not None else 0.0
    exact = step > 0 and (high_end - low_end) / step < fine
    if not exact:
        step = max(_nice((high_end - low_end) / coarse), step, _LEAST_STEP)
    low_end, high_end = math.floor(low_end / step + 1e-9) * step, math.ceil(high_end / step - 1e-9) * step
    return Grid(round(low_end, 9), round(high_end, 9), round(step, 9), not exact, far_low or far_high)


def _clear(end: float, further: float, ordered: NDArray[np.float64], threshold: int) -> float:
    """An end that is not a value of a few people: else it is moved further out."""
    held = int(np.isclose(ordered, end, rtol=1e-9, atol=1e-9).sum())
    return end + further if 0 < held < threshold and end != 0 else end


def _unit(span: float) -> float:
    """What ends are rounded to: a power of ten of which a span has at least two and a half, or half of it."""
    power = 10.0 ** math.floor(math.log10(span))
    return power if span / power >= 2.5 else power / 2


def _nice(step: float) -> float:
    """The next of 1, 2, 5, 10, 20 ... times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step) + 1e-12)
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * (1 - 1e-9))


def _digits(numbers: NDArray[np.float64]) -> int | None:
    """Digits after the point that all numbers need; None for more than a few."""
    return next(
        (digits for digits in range(_DIGITS + 1) if np.allclose(np.round(numbers, digits), numbers, rtol=0, atol=1e-9)),
        None,
    )


def _plain(number: float) -> str:
    return f"{number:.12g}" if abs(number) < 1e12 else f"{number:.0f}"
