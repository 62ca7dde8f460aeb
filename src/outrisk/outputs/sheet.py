"""Printed numbers of a table as they are given: whether its protection allows them, and what a reader knows of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import format_value
from outrisk.outputs.base import Array
from outrisk.outputs.protection import Protection

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Sheet:
    """The numbers that a table prints (k,); the numbers of records behind its cells are not among them.

    cell (k,): the cell of each number, where several statistics share one. count (k,): which are counts. real (k,):
    which exist only where there are records, as a mean does and a sum does not. protection: as it bears on the counts.
    whole: counts are numbers of records, not weighted. guarded: whether `known` ends with the numbers of records.
    """

    labels: Sequence[str]
    protection: Protection
    cell: NDArray[np.int64]
    count: Flags
    real: Flags
    whole: bool
    guarded: bool

    def fault(self, values: Array, withheld: Flags, undefined: Flags) -> str:
        """What contradicts the protection, in words; empty if nothing does. values (k,): NaN where there is none."""
        rule, counts = self.protection, np.where(self.count, values, np.nan)
        for label, value in zip(self.labels, counts, strict=True):
            found = "" if np.isnan(value) else self._fault_of(float(value))
            if found:
                return f"{label} is {value:g}, and {found} or correct the protection"
        never, why = undefined & self.count, withheld & ~self.count & (rule.threshold is None)
        if never.any():
            return f"{self.labels[int(np.argmax(never))]} is undefined, which a count never is; write 0, or 'withheld'"
        if why.any():
            return (
                f"{self.labels[int(np.argmax(why))]} is withheld, and its table has no threshold; "
                "add its 'protection', or write 'undefined' for what no record gives"
            )
        return ""

    def _fault_of(self, count: float) -> str:
        rule = self.protection
        if rule.top_code is not None and count > rule.top_code:
            top = format_value(rule.top_code)
            return f"counts above {top} are given as {top} (top_code); write {top},"
        if rule.round_to is not None and count % rule.round_to and count != rule.top_code:
            return f"counts are rounded to base {rule.round_to} (round_to); write a multiple of it,"
        if self.whole and not rule.prints(count):
            cells = f"cells of {0 if rule.withhold_zeros else 1} to {(rule.threshold or 1) - 1} records"
            return f"{cells} are withheld (threshold); write 'withheld',"
        return ""

    def known(self, values: Array, withheld: Flags, undefined: Flags) -> tuple[Array, Array]:
        """What a reader knows: low, high of the numbers (k,), and of the records of each cell if guarded.

        values (k,): NaN where none is given, or only a range, which says nothing of records.
        """
        low, high = np.where(np.isnan(values), -np.inf, values), np.where(np.isnan(values), np.inf, values)
        least, most = self.protection.known(np.where(self.count, values, np.nan), self.whole)
        low, high = np.where(self.count, least, low), np.where(self.count, most, high)
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
