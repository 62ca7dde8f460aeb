"""Released numbers that a table settles, and that are not what it settles.

A table of counts of everybody says all about the variables that it crosses: any output of these variables alone, linear
or not, follows from it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from outrisk.codebook import Codebook
from outrisk.microdata import Microdata
from outrisk.problem.blocks import variables
from outrisk.problem.released import Released


def not_as_tables_say(codebook: Codebook, released: Sequence[Released], n_records: int) -> list[dict[int, str]]:
    """Of each output, by position: the table, in words, that has another value for a number of it."""
    found: list[dict[int, str]] = [{} for _ in released]
    for table in released:
        full = _records(codebook, table, n_records)
        if full is None:
            continue
        data, of = full
        for at, one in enumerate(released):
            if one is not table and one.blocks and {j for block in one.blocks for j in variables(block)} <= of:
                refit = one.recompute(data)
                off = np.flatnonzero(one.known & np.isfinite(refit.numbers) & ~one.is_matched(refit.numbers))
                found[at] |= dict.fromkeys(off.tolist(), f"the counts of '{table.name}'")
    return found


def _records(codebook: Codebook, table: Released, n_records: int) -> tuple[Microdata, set[int]] | None:
    """Records as a table counts them, and the positions of its variables; None where it does not count everybody."""
    for counts in table.output.counts(table.low, table.high):
        sizes = tuple(codebook[name].size for name in counts.by)
        whole = np.array_equal(counts.low, counts.high) and np.array_equal(counts.low, np.rint(counts.low))
        if set(counts.by) == set(table.output.table) and counts.low.shape == sizes and whole:
            if counts.low.sum() != n_records:
                return None
            places = [codebook.index(name) for name in counts.by]
            codes = np.zeros((n_records, len(codebook.sizes)), dtype=np.uint16)
            codes[:, places] = np.repeat(np.argwhere(counts.low >= 0), counts.low.ravel().astype(int), axis=0)
            return Microdata(codebook, codes), set(places)
    return None
