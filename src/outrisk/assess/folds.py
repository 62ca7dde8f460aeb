"""Folds by halving: the whole data, its halves, the halves of halves; the holdout of a fold is its other half."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from outrisk.errors import ConfigError
from outrisk.microdata import Microdata
from outrisk.risk.coding.bands import Bands
from outrisk.risk.coding.classes import HOLDOUT, ORIGINAL, Coding, Positions, code_microdata

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

    Records that go together (of one person or household) are in one fold: nobody is in their own holdout. The whole has
    the given holdout, if any. ConfigError where a fold would have fewer than 2 records, or fewer than 2 that may part.
    """
    order, opens = _in_random_order(original, rng)
    folds = []
    for level in levels:
        if len(opens) // level < 2:
            what = "records" if original.together is None else "people or households"
            raise ConfigError(
                f"[study] folds: {level} folds of {len(opens):,} {what} leave fewer than 2 {what} each; use fewer folds"
            )
        if level == 1:
            folds.append(Fold(1, 0, WHOLE, original, holdout, "holdout file" if holdout else "", bands=bands))
            continue
        parts = [(name, order[start:end]) for name, start, end in _halves(0, len(order), opens, level, "")]
        for index, (name, rows) in enumerate(parts):
            sibling_name, sibling = parts[index ^ 1]
            records, beside = original.take(rows), original.take(sibling)
            folds.append(Fold(level, index, name, records, beside, f"fold {sibling_name}", bands=bands))
    return folds


def swapped(whole: Fold, rng: np.random.Generator) -> Fold | None:
    """The whole with data and given holdout in each other's place; None where the holdout is too small for that.

    Of a larger holdout as many records are drawn as the data have (or nearly, where some go together): the risk of a
    release depends on their number.
    """
    if whole.holdout is None or len(whole.holdout) < _LEAST * len(whole.original):
        return None
    order, opens = _in_random_order(whole.holdout, rng)
    ends = np.append(opens[1:], len(order))
    end = int(ends[np.abs(ends - len(whole.original)).argmin()])
    records = whole.holdout.take(np.sort(order[:end]))
    if end < _LEAST * len(whole.original) or records.apart < 2:
        return None
    return Fold(1, 1, SWAPPED, records, whole.original, f"fold {WHOLE}", swapped=True, bands=whole.bands)


def _in_random_order(data: Microdata, rng: np.random.Generator) -> tuple[Positions, Positions]:
    """Records at random, those that go together side by side, and the places where the order may be cut."""
    if data.together is None:
        return rng.permutation(len(data)), np.arange(len(data))
    drawn = rng.permutation(int(data.together.max()) + 1)[data.together]
    order = np.argsort(drawn, kind="stable")
    return order, np.flatnonzero(np.diff(drawn[order], prepend=-1))


def _halves(start: int, end: int, opens: Positions, level: int, name: str) -> Iterator[tuple[str, int, int]]:
    """Names, first and last places of so many parts, each half cut where `opens` allows it, nearest to its middle."""
    if level == 1:
        yield name, start, end
        return
    middle = (start + end) // 2
    at = opens[(opens > start) & (opens < end)]
    at = at[level - 1 : len(at) - level + 1]  # so that each part can have two
    middle = int(at[np.abs(at - middle).argmin()])
    for number, first, last in (("1", start, middle), ("2", middle, end)):
        yield from _halves(first, last, opens, level // 2, f"{name}.{number}" if name else number)
