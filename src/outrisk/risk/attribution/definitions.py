"""Correct attribution probability: what an intruder who knows the keys learns of the target from synthetic data.

Notation of the definitions: s_tq, d_tq are the numbers of records with keys q and target t in the synthetic table and
in the table attacked (original or holdout); s_.q, d_.q are the sizes of class q. All measures lie in [0, 1] and
larger = riskier. A measure is read against the same measure of a holdout, or against `baseline`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from outrisk.errors import RiskError
from outrisk.reasons import sentence
from outrisk.risk.coding.classes import ORIGINAL, SYNTHETIC, Counts, Equivalence, Positions

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Attribution:
    """Counts behind TCAP (Taub and Elliot, The synthetic data challenge, 2019), one key set and one table attacked.

    The intruder trusts the synthetic records that are certain (WEAP >= tau) and looks up people with the same keys.
    TCAP is the mean, over those records, of the share d_tq / d_.q of people whose target is as they say. The two
    conventions differ in the certain records whose key no attacked record has.
    """

    correct: float  # sum over certain records with a match of d_tq / d_.q
    matched: int  # certain records whose key is in the table attacked
    certain: int  # synthetic records with WEAP >= tau
    n_synthetic: int

    @property
    def tcap_undefined(self) -> float:
        """TCAP with non-matches left out, in [0, 1]; NaN when no certain record has a match."""
        return _ratio(self.correct, self.matched)

    @property
    def tcap_zero(self) -> float:
        """TCAP with non-matches counted as 0, in [0, 1]; NaN when no synthetic record is certain."""
        return _ratio(self.correct, self.certain)

    @property
    def reason(self) -> str:
        """Why `tcap_undefined` is NaN, else empty; `tcap_zero` is NaN for the first of the two reasons only."""
        return sentence(self.code)

    @property
    def code(self) -> str:
        """The code of `reason`."""
        if self.certain == 0:
            return "nothing_certain"
        return "" if self.matched else "certain_unmatched"


@dataclass(frozen=True)
class DifferentialAttribution:
    """Counts behind DCAP (Taub, Elliot, Pampaka and Smith, 2018), one key set and one table attacked.

    Every person attacked is looked up in the synthetic data; the share s_tq / s_.q of the synthetic records with the
    person's keys that have the person's target is the probability of a correct attribution.
    """

    correct: float  # sum over attacked records with a match of s_tq / s_.q
    matched: int  # attacked records whose key is in the synthetic data
    n_records: int  # records of the table attacked

    @property
    def dcap(self) -> float:
        """Mean over all attacked records, a non-match counting 0 (0CAP of Hittmeir, Mayer and Ekelhart, 2020)."""
        return _ratio(self.correct, self.n_records)

    @property
    def dcap_matches(self) -> float:
        """Mean over the attacked records with a match (ICAP, same source); NaN when there is none."""
        return _ratio(self.correct, self.matched)

    @property
    def non_matches(self) -> int:
        """Attacked records whose key is not in the synthetic data."""
        return self.n_records - self.matched

    @property
    def reason(self) -> str:
        """Why `dcap_matches` is NaN, else empty."""
        return "" if self.matched else sentence("no_match")


@dataclass(frozen=True)
class AttributionOverOriginal:
    """Counts behind a variant of TCAP found in public code that averages over *attacked* records.

    A record contributes p = s_tq / s_.q when p >= tau and 0 otherwise. It is not TCAP: its denominators are persons.
    """

    correct: float  # sum of the contributions
    certain_matched: int  # attacked records in a class where some synthetic share is >= tau
    matched: int  # attacked records whose key is in the synthetic data
    n_records: int

    @property
    def undefined_all_matches(self) -> float:
        """Mean over the attacked records with a match; NaN when there is none."""
        return _ratio(self.correct, self.matched)

    @property
    def zero_all(self) -> float:
        """Mean over all attacked records."""
        return _ratio(self.correct, self.n_records)

    @property
    def undefined_weap_matches(self) -> float:
        """Mean over the attacked records whose class gives a certain attribution; NaN when there is none."""
        return _ratio(self.correct, self.certain_matched)


def key_sets(keys: Sequence[str], sizes: Sequence[int]) -> list[tuple[str, ...]]:
    """All combinations of the keys of the given sizes, by size as given, each in the order of `keys`."""
    repeated = sorted({key for key in keys if list(keys).count(key) > 1})
    if repeated:
        raise RiskError(f"keys {list(keys)}: {repeated} repeated; name each key once")
    for size in sizes:
        if not 1 <= size <= len(keys) or list(sizes).count(size) > 1:
            raise RiskError(f"key sizes {list(sizes)}: give each size once, from 1 to the number of keys, {len(keys)}")
    return [chosen for size in sizes for chosen in combinations(keys, size)]


def mean_weap(equivalence: Equivalence) -> float:
    """Mean over synthetic records of WEAP = s_tq / s_.q, in (0, 1]; 1 means that keys determine the target."""
    return _mean_share(equivalence, SYNTHETIC)


def cap_original(equivalence: Equivalence, attacked: str = ORIGINAL) -> float:
    """Mean over attacked records of d_tq / d_.q, the record itself included, in (0, 1]: CAP of the data themselves."""
    return _mean_share(equivalence, attacked)


def baseline(equivalence: Equivalence, attacked: str = ORIGINAL) -> float:
    """Sum over t of p_t^2, p the target's distribution in the table attacked, in (0, 1].

    It is the mean probability of a correct attribution of an intruder who knows nothing but that distribution.
    """
    counts = np.bincount(equivalence.cell_target, weights=equivalence.counts[attacked])
    return float(counts @ counts) / equivalence.n_records(attacked) ** 2


def certain_cells(equivalence: Equivalence, tau: float = 1.0) -> Positions:
    """Cells whose synthetic records have WEAP >= tau; with tau 1 by the integer counts, s_tq = s_.q."""
    check_tau(tau)
    counts = equivalence.counts[SYNTHETIC]
    if tau == 1:
        return np.flatnonzero((counts > 0) & (counts == equivalence.class_totals(SYNTHETIC)))
    return np.flatnonzero(equivalence.shares(SYNTHETIC) >= tau)


def targeted_attribution(equivalence: Equivalence, attacked: str = ORIGINAL, tau: float = 1.0) -> Attribution:
    """TCAP's counts (see `Attribution`) over the synthetic records with WEAP >= tau, 0 < tau <= 1."""
    cells = certain_cells(equivalence, tau)
    weights = equivalence.counts[SYNTHETIC][cells]
    counts, totals = equivalence.counts[attacked][cells], equivalence.class_totals(attacked)[cells]
    correct, matched = attribute(weights, counts, totals)
    return Attribution(correct, matched, int(weights.sum()), equivalence.n_records(SYNTHETIC))


def attribute(weights: Counts, counts: Counts, totals: Counts) -> tuple[float, int]:
    """Sum of weights * counts / totals, and sum of weights, over the cells with totals > 0; all shape (n_cells,)."""
    met = totals > 0
    correct = weights @ np.divide(counts, totals, out=np.zeros(len(counts)), where=met)
    return float(correct), int(weights @ met)


def differential_attribution(equivalence: Equivalence, attacked: str = ORIGINAL) -> DifferentialAttribution:
    """DCAP's counts (see `DifferentialAttribution`) over the records of the table attacked."""
    counts = equivalence.counts[attacked]
    met = equivalence.class_totals(SYNTHETIC) > 0
    correct = float(counts @ equivalence.shares(SYNTHETIC))
    return DifferentialAttribution(correct, int(counts @ met), equivalence.n_records(attacked))


def attribution_over_original(
    equivalence: Equivalence, attacked: str = ORIGINAL, tau: float = 1.0
) -> AttributionOverOriginal:
    """Counts of the variant over attacked records (see `AttributionOverOriginal`); for comparison with other code."""
    cells = certain_cells(equivalence, tau)
    counts, class_counts = equivalence.counts[attacked], equivalence.class_counts[attacked]
    return AttributionOverOriginal(
        correct=float(counts[cells] @ equivalence.shares(SYNTHETIC)[cells]),
        certain_matched=int(class_counts[np.unique(equivalence.cell_class[cells])].sum()),
        matched=int(class_counts[equivalence.class_counts[SYNTHETIC] > 0].sum()),
        n_records=equivalence.n_records(attacked),
    )


def check_tau(tau: float) -> None:
    """Refuse a threshold outside (0, 1]."""
    if not 0 < tau <= 1:
        raise RiskError(f"tau is {tau}; it is a share of records: give a number above 0 and at most 1")


def _mean_share(equivalence: Equivalence, table: str) -> float:
    return float(equivalence.counts[table] @ equivalence.shares(table)) / equivalence.n_records(table)


def _ratio(numerator: float, denominator: int) -> float:
    return numerator / denominator if denominator else math.nan
