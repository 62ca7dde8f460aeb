"""Folds by halving: the whole data, its halves, the halves of halves; the holdout of a fold is its other half."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from outrisk.errors import ConfigError
from outrisk.microdata import Microdata
from outrisk.risk.coding.bands import Bands
from outrisk.risk.coding.classes import HOLDOUT, ORIGINAL, Coding, code_microdata

WHOLE, SWAPPED = "whole", "holdout"
_LEAST = 0.8  # of the records of the data, for a holdout to be crossed with them


@dataclass(frozen=True, eq=False)
class Fold:
    """Records in the part of the original, and those that are its holdout (None: there is none)."""

    level: int  # number of folds that the data are cut into
    index: int  # position among them, from 0
    name: str  # 'whole', '1', '2', '1.1', ...
    original: Microdata
    holdout: Microdata | None
    holdout_name: str
    swapped: bool = False  # the given holdout in the place of the data, so that the marginal risk can be crossed
    not_crossed: str = ""  # why there is no such fold beside this one, which has a given holdout
    divided_anew: str = ""  # how often the data were divided, and for which outputs, if not once
    bands: Bands | None = None  # of the target, for the measures

    def measured(self, data: Microdata) -> Microdata:
        """Records as the measures see them: the target in bands, where it is measured so."""
        return data if self.bands is None else self.bands.of(data)

    @cached_property
    def people(self) -> Microdata:
        """Those in the original, as the measures see them."""
        return self.measured(self.original)

    @cached_property
    def others(self) -> Microdata | None:
        """Those of the holdout, as the measures see them."""
        return None if self.holdout is None else self.measured(self.holdout)

    @cached_property
    def coding(self) -> Coding:
        """All variables of original and holdout, coded once for the measures of every run."""
        tables = {ORIGINAL: self.people} | ({} if self.others is None else {HOLDOUT: self.others})
        return code_microdata(tables, self.original.codebook.names)


def make_folds(
    original: Microdata,
    holdout: Microdata | None,
    levels: Sequence[int],
    rng: np.random.Generator,
    bands: Bands | None = None,
) -> list[Fold]:
    """Every fold of every level (1, 2, 4, ...: powers of two), from one random order of the records.

    The whole has the given holdout, if any. ConfigError where a fold would have fewer than 2 records.
    """
    order = rng.permutation(len(original))
    folds = []
    for level in levels:
        if len(original) // level < 2:
            raise ConfigError(
                f"[study] folds: {level} folds of {len(original):,} records "
                "leave fewer than 2 records each; use fewer folds"
            )
        if level == 1:
            folds.append(Fold(1, 0, WHOLE, original, holdout, "holdout file" if holdout else "", bands=bands))
            continue
        parts = list(_halve(order, level, ""))
        for index, (name, rows) in enumerate(parts):
            sibling_name, sibling = parts[index ^ 1]
            records, beside = original.take(rows), original.take(sibling)
            folds.append(Fold(level, index, name, records, beside, f"fold {sibling_name}", bands=bands))
    return folds


def swapped(whole: Fold, rng: np.random.Generator) -> Fold | None:
    """The whole with data and given holdout in each other's place; None where the holdout is too small for that.

    Of a larger holdout as many records are drawn as the data have: the risk of a release depends on their number.
    """
    if whole.holdout is None or len(whole.holdout) < _LEAST * len(whole.original):
        return None
    rows = rng.permutation(len(whole.holdout))[: len(whole.original)]
    records = whole.holdout.take(np.sort(rows))
    return Fold(1, 1, SWAPPED, records, whole.original, f"fold {WHOLE}", swapped=True, bands=whole.bands)


def _halve(rows: np.ndarray, level: int, name: str) -> Iterator[tuple[str, np.ndarray]]:
    if level == 1:
        yield name, rows
        return
    middle = len(rows) // 2
    for number, half in (("1", rows[:middle]), ("2", rows[middle:])):
        yield from _halve(half, level // 2, f"{name}.{number}" if name else number)
