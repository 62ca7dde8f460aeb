"""Numbers that are counts of records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outrisk.problem.blocks import Array
from outrisk.problem.formulas import Formula
from outrisk.problem.released import Bounds, Released, TallyPart


def middle(low: Array, high: Array) -> Array:
    """One value for each range: its middle; its finite end where the other is infinite; 0 where both are."""
    ends = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 0.0))
    both = np.isfinite(low) & np.isfinite(high)
    return np.where(both, 0.5 * (np.where(both, low, 0.0) + np.where(both, high, 0.0)), ends)


@dataclass(frozen=True, eq=False)
class Counts:
    """Published numbers that are totals themselves: number[i] (m,) is the position of total i's number.

    spread: variance of a total divided by its size (1 without weights).
    """

    number: NDArray[np.int64]
    spread: float = 1.0
    differentiable = True

    def numbers(self, totals: Array) -> Array:
        """The totals, in the order of the numbers."""
        numbers = np.empty(len(totals))
        numbers[self.number] = totals
        return numbers

    def bounds(self, totals: Array, low: Array, high: Array) -> Bounds:
        """The ranges themselves."""
        low, high = low[self.number], high[self.number]
        variance = np.maximum(self.spread * np.maximum(middle(low, high), 1.0), self.spread**2)
        return Bounds(low, high, np.ones(len(low)), self.number, variance)

    def formulas(self, n_numbers: int) -> list[Formula]:
        """Each the total."""
        return [Formula("total", np.array([at])) for at in np.argsort(self.number)]


@dataclass(frozen=True, eq=False)
class _Counted:
    """What the search asks of an analysis, of some of its numbers alone."""

    name: str
    kind: str
    importance: float
    decimals: NDArray[np.int64]


def made_of_counts(part: TallyPart) -> bool:
    """Whether a part is made of counts alone, weighted or not; quantiles, which rest on counts of other records for
    each data set, are none.
    """
    plain = all(block.value is None for block in part.blocks)
    return plain and not any(formula.kind == "rank" for formula in part.formulas)


def counts_in(part: TallyPart) -> tuple[TallyPart, NDArray[np.int64]] | None:
    """The counts alone that a part has beside others, and which of its numbers they are; None where it has none. A part
    that is made of counts is returned as it is.
    """
    if made_of_counts(part):
        return part, np.arange(part.n_numbers)
    block, total_of = part.blocks[0], {int(f.totals[0]): at for at, f in enumerate(part.formulas) if f.kind == "total"}
    if block.value is not None or any(total not in total_of for total in range(block.size)):
        return None
    which = np.array([total_of[total] for total in range(block.size)])
    return TallyPart((block,), Counts(np.arange(block.size), getattr(part.map, "spread", 1.0)), block.size), which


def counts_alone(output: Released) -> Released | None:
    """An output with its counts alone; None where it has none."""
    parts, which, at = list[TallyPart](), [np.zeros(0, np.int64)], 0
    for part in output.parts:
        if isinstance(part, TallyPart) and (found := counts_in(part)) is not None:
            parts.append(found[0])
            which.append(at + found[1])
        at += part.n_numbers
    if tuple(parts) == output.parts:
        return output
    if not parts:
        return None
    some = np.concatenate(which)
    analysis: Any = _Counted(output.name, output.kind, output.importance, output.decimals[some])
    return replace(output, output=analysis, low=output.low[some], high=output.high[some], parts=tuple(parts), of=None)
