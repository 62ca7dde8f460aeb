"""Protection of released tables: what is withheld, rounded or cut off, and what a reader then knows of each number."""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from outrisk.codebook import format_value
from outrisk.outputs.base import Array


class Protection(BaseModel):
    """What is done to a table before its release.

    threshold: cells with fewer records (unweighted) are withheld, all their numbers with them; a cell of no records is
    shown, unless `withhold_zeros`. With `known_threshold` (the default) a reader knows the rule: a withheld count is 1
    to threshold - 1, and what is shown has at least threshold records. round_to: counts and sums are rounded to
    multiples, a half upwards; with `random` to the multiple below or above by chance, such that the mean is right
    (drawn from `seed`). top_code: a count above it is given as 'top_code or more'; in tables of a numeric variable, its
    values above it count as top_code.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    threshold: int | None = Field(default=None, ge=2)
    withhold_zeros: bool = False
    known_threshold: bool = True
    round_to: int | None = Field(default=None, ge=2)
    random: bool = False
    seed: int = Field(default=1, ge=0)
    top_code: float | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Protection:
        if self.threshold is None and (self.withhold_zeros or not self.known_threshold):
            raise ValueError("'withhold_zeros' and 'known_threshold' go with 'threshold'")
        if self.random and self.round_to is None:
            raise ValueError("'random' goes with 'round_to'")
        if self.seed != 1 and not self.random:
            raise ValueError("'seed' goes with 'random: true'; nothing else is drawn by chance")
        return self

    def notes(self, of_counts: bool) -> str:
        """What was done, in words; `of_counts`: a top code is one of counts."""
        parts = []
        if self.threshold is not None:
            lowest = 0 if self.withhold_zeros else 1
            rule = "" if self.known_threshold else " (the rule is not published)"
            parts.append(f"cells of {lowest} to {self.threshold - 1} records withheld{rule}")
        if self.round_to is not None:
            what = "counts" if of_counts else "counts and sums"
            parts.append(f"{what} {'randomly ' * self.random}rounded to base {self.round_to}")
        if self.top_code is not None:
            top = format_value(self.top_code)
            parts.append(f"counts above {top} given as {top} or more" if of_counts else f"values above {top} as {top}")
        return "; ".join(parts)

    @property
    def withheld(self) -> tuple[float, float]:
        """What a reader knows of a withheld count."""
        low = 0.0 if self.withhold_zeros or self.threshold is None else 1.0
        return low, (float(self.threshold - 1) if self.threshold is not None and self.known_threshold else np.inf)

    def hides(self, counts: Array) -> NDArray[np.bool_]:
        """Which cells are withheld, by their exact number of records (cells,)."""
        if self.threshold is None:
            return np.zeros(len(counts), dtype=np.bool_)
        return np.asarray((counts < self.threshold) & ((counts > 0) | self.withhold_zeros))

    def presence(self, counts: Array) -> tuple[Array, Array]:
        """What is known of counts (cells,) that are not published, from which cells are withheld: low, high."""
        least = float(self.threshold) if self.threshold is not None and self.known_threshold else 1.0
        low, high = np.where(counts > 0, least, 0.0), np.where(counts > 0, np.inf, 0.0)
        hidden = self.hides(counts)
        return np.where(hidden, self.withheld[0], low), np.where(hidden, self.withheld[1], high)

    def behind_shares(self, shares: Array, half: Array, records: Array) -> tuple[Array, tuple[Array, Array]]:
        """Half the last digit of shares (cells,), infinite of those that are withheld, which are 0 here; and what is
        known of the records behind them: least, most. records: the middle of what `presence` tells of these, where it
        does (cells,), or none.
        """
        if not len(records):
            return half, (np.zeros(len(shares)), np.full(len(shares), np.inf))
        shown = float(self.threshold or 0) if self.known_threshold else np.inf
        hidden = (shares == 0.0) & (records > 0.0) & (records != shown)
        least, most = self.withheld
        low = np.where(hidden, least, np.where(records == shown, shown, 0.0))
        return np.where(hidden, np.inf, half), (low, np.where(hidden, most, np.inf))

    def printed(self, counts: Array, hidden: NDArray[np.bool_], name: str) -> Array:
        """Counts (cells,) as they are printed, NaN where hidden. `name` sets the draws of random rounding apart."""
        return np.where(hidden, np.nan, self.top_coded(self._to_base(np.asarray(counts, dtype=np.float64), name)))

    def _to_base(self, numbers: Array, name: str) -> Array:
        if self.round_to is None:
            return numbers
        base, shift = float(self.round_to), np.full(len(numbers), 0.5)
        if self.random:
            shift = np.random.default_rng([self.seed, zlib.crc32(name.encode())]).random(len(numbers))
        return np.asarray(base * np.floor(numbers / base + shift), dtype=np.float64)

    def rounded_sums(self, sums: Array, hidden: NDArray[np.bool_], name: str) -> tuple[Array, Array]:
        """What a reader knows of sums (cells,) that are printed rounded: low, high."""
        printed = self._to_base(sums, f"{name}: sum")
        half = self.half_of_sums
        return np.where(hidden, -np.inf, printed - half), np.where(hidden, np.inf, printed + half)

    @property
    def half_of_sums(self) -> float:
        """How far a sum may be from the multiple that is printed."""
        return float(self.round_to or 0) / (1 if self.random else 2)

    def top_coded(self, values: Array) -> Array:
        """Values, those above the top code as the top code; the shape they have."""
        return values if self.top_code is None else np.minimum(values, self.top_code)

    def prints(self, printed: Array) -> NDArray[np.bool_]:
        """Whether some number of records that is not withheld is printed so, (cells,)."""
        low, high = self.without_threshold(printed)
        return ((low <= 0) & (not self.withhold_zeros)) | (high >= (self.threshold or -np.inf))

    def without_threshold(self, printed: Array, whole: bool = True) -> tuple[Array, Array]:
        """What rounding and a top code leave open of printed counts (cells,): low, high."""
        low, high = printed, printed
        if self.round_to is not None:
            low, high = self._unrounded(printed, whole)
        if self.top_code is not None:
            high = np.where(printed >= self.top_code, np.inf, high)
        return low, high

    def known(self, printed: Array, whole: bool = True) -> tuple[Array, Array]:
        """What a reader knows of the counts behind printed ones (cells,), NaN if withheld: low, high.

        `whole`: they are numbers of records; weighted counts are not, and the threshold is not one of them.
        """
        low, high = self.without_threshold(printed, whole)
        if self.threshold is not None and self.known_threshold and whole:
            zero = (low <= 0) & (not self.withhold_zeros)
            some = high >= self.threshold
            high = np.where(some, high, 0.0)
            low = np.where(zero, 0.0, np.maximum(low, self.threshold))
        hidden, (least, most) = np.isnan(printed), self.withheld if whole else (0.0, np.inf)
        return np.where(hidden, least, low), np.where(hidden, most, high)

    def _unrounded(self, printed: Array, whole: bool) -> tuple[Array, Array]:
        base = float(self.round_to or 1)
        if self.random:
            below = above = base - 1 if whole else base
        else:
            below = np.floor(base / 2) if whole else base / 2
            above = np.ceil(base / 2) - 1 if whole else base / 2
        return np.maximum(printed - below, 0.0), printed + above

    def publish_cells(
        self, values: Array, decimals: NDArray[np.int64], guarded: bool, name: str, counts: bool, weighted: bool
    ) -> tuple[Array, Array]:
        """What a reader knows of a table of counts or shares (k,), the numbers of records behind it last if guarded."""
        k = len(values) // (1 + guarded)
        numbers, records = rounded(values[:k], decimals[:k]), np.asarray(values[-k:])
        hidden = self.hides(records)
        if counts:
            low, high = self.known(self.printed(numbers, hidden, name), whole=not weighted)
        else:
            low, high = withheld(numbers, hidden)
        return self.with_presence(low, high, records) if guarded else (low, high)

    def with_presence(self, low: Array, high: Array, records: Array) -> tuple[Array, Array]:
        """Ranges of published numbers, and of the numbers of records behind them."""
        least, most = self.presence(records)
        return np.concatenate([low, least]), np.concatenate([high, most])


def rounded(values: Array, decimals: NDArray[np.int64]) -> Array:
    """Numbers (k,), each to its own digits after the point."""
    found = np.array(values, dtype=np.float64)
    for digits in np.unique(decimals):
        found[decimals == digits] = np.round(found[decimals == digits], int(digits))
    return found


def withheld(numbers: Array, hidden: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Numbers as ranges: the number itself; without ends where it is hidden, or not defined (NaN)."""
    nothing = hidden | np.isnan(numbers)
    return np.where(nothing, -np.inf, numbers), np.where(nothing, np.inf, numbers)


UNPROTECTED = Protection()
