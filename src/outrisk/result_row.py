"""Result rows: of a measure, what it is of, its value on each side, what it is read against; of a ranking, its top.

Shares stay shares in [0, 1]; percentages are made where people read them. Undefined is NaN, and `reason` says why.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from outrisk.reasons import REASONS, sentence

SHARE = "share"  # unit of all measures so far
RISKIER = "larger = riskier"
NORMAL = 1.959963984540054  # standard errors on each side of a 95 % interval
_NAN = math.nan


@dataclass(frozen=True, kw_only=True)
class Row:
    """One measure of one synthetic table. `difference` is `original` - `holdout`, over the same key sets and runs."""

    family: str
    measure: str
    keys: str = ""  # the key set, joined by '+'; empty for a mean over key sets
    size: str = ""  # of the key sets that a mean is over: '3', 'all'; else empty
    target: str = ""
    unit: str = SHARE
    direction: str = RISKIER
    original: float = _NAN
    original_low: float = _NAN  # 95 % interval of `original`, where there is one
    original_high: float = _NAN
    holdout: float = _NAN
    difference: float = _NAN
    low: float = _NAN  # 95 % interval of `difference`
    high: float = _NAN
    method: str = ""  # of that interval
    baseline: float = _NAN  # what the target's distribution in the original gives away by itself
    worst_case: float = _NAN  # with a resample of the original released, where there is no holdout
    synthetic: float = _NAN  # measures of the synthetic data alone
    sets: int = 0  # key sets that a mean is over
    defined: int = 0  # those of them where it is defined, on both sides where there is a holdout
    n_original: int = 0  # records attacked; 0 = not told
    n_holdout: int = 0
    reason: str = ""  # a code of REASONS: why a number is missing
    detail: str = ""  # what completes its sentence
    note: str = ""  # what else to know of it

    def __post_init__(self) -> None:
        if self.reason and self.reason not in REASONS:
            raise ValueError(f"reason {self.reason!r} of {self.measure!r}; known: {list(REASONS)}")

    @property
    def sentence(self) -> str:
        """The reason in words; empty where nothing is missing."""
        return sentence(self.reason, self.detail)


@dataclass(frozen=True)
class Top:
    """The top k records: how often the least of them recurs, and the share of them that is in each table.

    top: k. recurs: share of the syntheses that hold the k-th record. original, holdout, null: match rates; difference:
    original less holdout, with its 95 % interval over the k records. area_...: mean match rate of the top 1 to k.
    """

    top: int
    recurs: float
    original: float
    holdout: float
    null: float
    difference: float
    low: float
    high: float
    area_original: float
    area_holdout: float
    area_null: float
