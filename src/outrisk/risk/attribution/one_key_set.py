"""TCAP, DCAP and WEAP of one key set on data frames of any origin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from outrisk.codebook import Codebook
from outrisk.reasons import sentence
from outrisk.risk.attribution.definitions import (
    Attribution,
    DifferentialAttribution,
    Floats,
    baseline,
    check_tau,
    differential_attribution,
    mean_weap,
    targeted_attribution,
)
from outrisk.risk.attribution.marginals import tcap_interval, tcap_scores
from outrisk.risk.coding.classes import HOLDOUT, ORIGINAL, SIDES, SYNTHETIC, check_keys, code_frames, cross
from outrisk.risk.coding.frames import code_tables


@dataclass(frozen=True)
class TcapResult:
    """TCAP of one key set, beside what it must be read against."""

    original: Attribution
    holdout: Attribution | None
    baseline: float  # what the target's distribution in the original gives away by itself
    mean_weap: float
    low: float = math.nan  # 95 % interval of `marginal`, delete-a-group jackknife
    high: float = math.nan
    interval_reason: str = "no holdout"  # why there is no interval, else empty

    @property
    def marginal(self) -> float:
        """TCAP (non-matches undefined) of the original minus that of the holdout, in [-1, 1]; NaN without either."""
        return math.nan if self.holdout is None else self.original.tcap_undefined - self.holdout.tcap_undefined

    @property
    def reason(self) -> str:
        """Why `marginal` is NaN, else empty."""
        return "no holdout" if self.holdout is None else self.original.reason or self.holdout.reason


@dataclass(frozen=True)
class DcapResult:
    """DCAP of one key set, beside what it must be read against."""

    original: DifferentialAttribution
    holdout: DifferentialAttribution | None
    baseline: float  # what the target's distribution in the original gives away by itself

    @property
    def marginal(self) -> float:
        """DCAP (non-matches as zero) of the original minus that of the holdout, in [-1, 1]; NaN without a holdout."""
        return math.nan if self.holdout is None else self.original.dcap - self.holdout.dcap


def tcap(
    original: pd.DataFrame,
    synthetic: pd.DataFrame,
    holdout: pd.DataFrame | None = None,
    *,
    keys: Sequence[str],
    target: str,
    tau: float = 1.0,
    codebook: Codebook | None = None,
    groups: int = 20,
    seed: int = 0,
) -> TcapResult:
    """TCAP of one key set on data frames of any origin; larger = riskier.

    With a codebook, values are read as it says; without, they are the same when they read the same (`code_frames`),
    also where a column holds text on one side and numbers on the other.
    """
    check_tau(tau)
    coding = code_tables(original, synthetic, holdout, keys, target, codebook, same_kinds=False)
    equivalence = cross(coding, keys, target)
    low, high, code = tcap_interval(tcap_scores(coding, [tuple(keys)], target, tau, groups, seed))
    return TcapResult(
        original=targeted_attribution(equivalence, ORIGINAL, tau),
        holdout=None if holdout is None else targeted_attribution(equivalence, HOLDOUT, tau),
        baseline=baseline(equivalence),
        mean_weap=mean_weap(equivalence),
        low=low,
        high=high,
        interval_reason=sentence(code),
    )


def dcap(
    original: pd.DataFrame,
    synthetic: pd.DataFrame,
    holdout: pd.DataFrame | None = None,
    *,
    keys: Sequence[str],
    target: str,
    codebook: Codebook | None = None,
) -> DcapResult:
    """DCAP of one key set on data frames of any origin; larger = riskier. Values are read as `tcap` reads them."""
    equivalence = cross(
        code_tables(original, synthetic, holdout, keys, target, codebook, same_kinds=False), keys, target
    )
    sides = [differential_attribution(equivalence, side) for side in SIDES if side in equivalence.counts]
    return DcapResult(sides[0], sides[1] if len(sides) > 1 else None, baseline(equivalence))


def weap(synthetic: pd.DataFrame, *, keys: Sequence[str], target: str) -> Floats:
    """WEAP s_tq / s_.q of each synthetic record, shape (n_records,), in (0, 1]; 1 = its keys determine its target."""
    check_keys(list(synthetic.columns), keys, target)
    equivalence = cross(code_frames({SYNTHETIC: synthetic}, (*keys, target)), keys, target)
    return equivalence.shares(SYNTHETIC)[equivalence.records[SYNTHETIC]]
