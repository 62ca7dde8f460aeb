"""Printed numbers of a table as they are given: whether its protection allows them, and what a reader knows of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import format_value
from outrisk.outputs.base import Array
from outrisk.outputs.tables.protection import Protection

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Sheet:
    """The numbers that a table prints (k,); the numbers of records behind its cells are not among them.

    cell (k,): the cell of each number, where several statistics share one. count (k,): which are counts. real (k,):
    which exist only where there are records, as a mean does and a sum does not. protection: as it bears on the counts.
    whole: counts are numbers of records, not weighted. guarded: whether `known` ends with the numbers of records.
    sums (k,): which are sums, rounded as counts are.
    """

    labels: Sequence[str]
    protection: Protection
    cell: NDArray[np.int64]
    count: Flags
    real: Flags
    whole: bool
    guarded: bool
    sums: Flags | None = None

    def fault(self, values: Array, withheld: Flags, undefined: Flags) -> str:
        """What contradicts the protection, in words; empty if nothing does. values (k,): NaN where there is none."""
        rule, counted = self.protection, self.count & ~np.isnan(values)
        top, base = (np.inf if each is None else float(each) for each in (rule.top_code, rule.round_to))
        multiple = np.isinf(base) | (np.mod(values, base) == 0) | (values == top)
        cells = f"cells of {0 if rule.withhold_zeros else 1} to {(rule.threshold or 1) - 1} records"
        for wrong, why in (
            (
                counted & (values > top),
                f"counts above {format_value(top)} are given as that (top_code); write {format_value(top)}, "
                "or correct the protection",
            ),
            (
                (counted | self._known_sums(values)) & ~multiple,
                f"{'counts' if self.sums is None else 'counts and sums'} are rounded to base {base:g} (round_to); "
                "write a multiple of it, or correct the protection",
            ),
            (
                counted & ~rule.prints(values) & self.whole,
                f"{cells} are withheld (threshold); write 'withheld', or correct the protection",
            ),
            (undefined & self.count, "a count never is; write 0, or 'withheld'"),
            (
                withheld & ~self.count & (rule.threshold is None),
                "its table has no threshold; add its 'protection', or write 'undefined' for what no record gives",
            ),
        ):
            if wrong.any():
                at = int(np.argmax(wrong))
                is_ = "withheld" if withheld[at] else "undefined" if undefined[at] else f"{values[at]:g}"
                return f"{self.labels[at]} is {is_}, and {why}"
        return ""

    def known(self, values: Array, withheld: Flags, undefined: Flags) -> tuple[Array, Array]:
        """What a reader knows: low, high of the numbers (k,), and of the records of each cell if guarded.

        values (k,): NaN where none is given, or only a range, which says nothing of records.
        """
        low, high = np.where(np.isnan(values), -np.inf, values), np.where(np.isnan(values), np.inf, values)
        least, most = self.protection.known(np.where(self.count, values, np.nan), self.whole)
        low, high = np.where(self.count, least, low), np.where(self.count, most, high)
        half, rounded = self.protection.half_of_sums, self._known_sums(values)
        low, high = np.where(rounded, low - half, low), np.where(rounded, high + half, high)
        if not self.guarded:
            return low, high
        exact = ~np.isnan(values)
        zeros_show = not self.protection.withhold_zeros
        some = self._in_cell(exact & (self.real | (values != 0))) | (self._in_cell(exact) & (not zeros_show))
        nobody = self._in_cell(undefined) & ~self._in_cell(exact) & self.whole
        records = np.select(
            [some, self._in_cell(withheld), nobody], [float(self.protection.threshold or 1), 1.0, 0.0], np.nan
        )
        least, most = self.protection.presence(records)
        open_ = np.isnan(records)  # a share of 0 may be one of nobody, or one that rounds to 0
        return (
            np.concatenate([low, np.where(open_, 0.0, least)]),
            np.concatenate([high, np.where(open_, np.inf, most)]),
        )

    def _known_sums(self, values: Array) -> Flags:
        return np.zeros(len(values), np.bool_) if self.sums is None else self.sums & ~np.isnan(values)

    def _in_cell(self, which: Flags) -> Flags:
        """Cells with one of these numbers."""
        return np.asarray(np.bincount(self.cell, which) > 0)


def sheet_of_shares(labels: Sequence[str], protection: Protection, counts: bool, whole: bool, guarded: bool) -> Sheet:
    """A table of counts, or of shares, one a cell."""
    each = np.full(len(labels), counts)
    return Sheet(labels, protection, np.arange(len(labels)), each, each & False, whole, guarded)


def sheet_of_values(labels: Sequence[str], protection: Protection, every: int) -> Sheet:
    """A table of numbers that a cell of no record has not, `every` of them a cell."""
    all_ = np.ones(len(labels), dtype=np.bool_)
    return Sheet(
        labels, protection, np.arange(len(labels)) // every, ~all_, all_, True, protection.threshold is not None
    )
