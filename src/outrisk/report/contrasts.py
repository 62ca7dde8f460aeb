"""Original against holdout, a row a fold: for tables, figures and the terminal."""

from __future__ import annotations

import math
from dataclasses import dataclass

from outrisk.records.results import Results, find
from outrisk.records.schema import Estimate, Fold, Level
from outrisk.report import formats

NO_HOLDOUT = "no holdout"
_IN_ROW = 40  # characters of a reason that fits in a table row


@dataclass(frozen=True)
class Contrast:
    """Original against holdout in one fold, or averaged over the folds of a level."""

    name: str
    average: bool
    level: int
    records: str
    original: Estimate
    holdout: Estimate
    marginal: Estimate
    held_out: bool

    @property
    def no_contrast(self) -> str:
        """The one reason why neither holdout nor difference is defined; empty where there are two, or none."""
        if not self.held_out:
            return NO_HOLDOUT
        gone = math.isnan(self.holdout.value) and math.isnan(self.marginal.value)
        return self.marginal.reason if gone and self.marginal.reason == self.holdout.reason else ""

    @property
    def gap(self) -> str:
        """What stands in place of holdout and difference: `no_contrast`, if it fits in a row; empty if they stand."""
        return self.no_contrast if len(self.no_contrast) <= _IN_ROW else formats.UNDEFINED

    @property
    def reasons(self) -> list[str]:
        """What the files say on undefined or partial figures, but for `gap`."""
        found = [each.reason for each in (self.original, self.holdout, self.marginal)]
        return [reason for reason in (found if self.held_out else found[:1]) if reason and reason != self.gap]

    @property
    def left_out(self) -> str:
        """Key sets left out of the difference as undefined (of the original's mean, where there is no holdout)."""
        most = self.original if self.no_contrast else self.marginal
        return f"{most.n_undefined:,} of {most.n_undefined + most.n_key_sets:,}"


def contrasts(results: Results, measure: str, keys: str = "all") -> list[Contrast]:
    """A row for each fold with a finished run, then for the average of its level where there are several folds."""
    rows = []
    for level in sorted({fold.level for fold in results.risk.folds if fold.runs}):
        folds = results.folds_of(level)
        rows += [_contrast(fold, measure, keys, bool(fold.n_holdout)) for fold in folds]
        if len(folds) > 1:
            held_out = any(fold.n_holdout for fold in folds)
            rows += [_contrast(each, measure, keys, held_out) for each in results.risk.levels if each.level == level]
    return rows


def _contrast(part: Fold | Level, measure: str, keys: str, held_out: bool) -> Contrast:
    fold = isinstance(part, Fold)
    return Contrast(
        name=formats.fold_name(part.level, part.fold) if isinstance(part, Fold) else f"mean of {part.n_folds} folds",
        average=not fold,
        level=part.level,
        records=f"{part.n_original:,} / {formats.count(part.n_holdout or None)}" if isinstance(part, Fold) else "",
        original=find(part.estimates, measure, "original", keys),
        holdout=find(part.estimates, measure, "holdout", keys),
        marginal=find(part.estimates, measure, "marginal", keys),
        held_out=held_out,
    )
