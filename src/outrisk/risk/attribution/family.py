"""The CAP family on data frames: 0CAP, ICAP and GCAP with the attacker's accuracy R, WEAP and TCAP, by key set.

0CAP, ICAP, GCAP and R are those of Hittmeir, Mayer and Ekelhart (A baseline for attribute disclosure risk in synthetic
data, CODASPY 2020); WEAP and TCAP those of Taub and Elliot (The synthetic data challenge, 2019), not synthpop's TCAP.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import ThreadpoolController

from outrisk.codebook import Codebook
from outrisk.errors import RiskError
from outrisk.risk.attribution.definitions import (
    Floats,
    baseline,
    cap_original,
    check_tau,
    key_sets,
    mean_weap,
    targeted_attribution,
)
from outrisk.risk.attribution.marginals import (
    TCAP_MEASURES,
    RecordMeans,
    RecordScores,
    family_rows,
    marginal_frame,
    summary_frame,
    tcap_scores,
)
from outrisk.risk.attribution.nearest import Lookup, nearest_keys, same_keys
from outrisk.risk.coding.classes import SIDES, SYNTHETIC, Coding, Counts, Equivalence, Positions, cross
from outrisk.risk.coding.frames import code_tables
from outrisk.risk.intervals.closed import Members
from outrisk.risk.rows import Row

TIES = ("counted", "shared", "first")
_LOOKUPS = ("0CAP", "ICAP", "GCAP")


@dataclass(frozen=True, eq=False)
class CapResult:
    """The CAP family of one synthetic table; every measure in [0, 1], larger = riskier, undefined NaN with a reason.

    Measures: `0CAP`, `ICAP`, `GCAP`; `R_<one of these>_<ties>`, the accuracy of an attacker who guesses the most
    frequent target, with ties `counted` (right if the true value is among the most frequent), `shared` (1 / number of
    tied values) or broken by the `first` level; `TCAP_undefined` and `TCAP_zero`. ICAP and R_ICAP leave out the records
    without a match, which count 0 in 0CAP and R_0CAP and take their nearest synthetic records in GCAP and R_GCAP.
    """

    keys: tuple[str, ...]
    target: str
    tau: float
    per_set: pd.DataFrame
    """One row a key set and table attacked: the measures, `CAP_self` (CAP of the table attacked on itself) and
    `mean_WEAP`; counts (`n_records`, `n_synthetic`, `non_matches`, `certain`, `certain_matched`); the Hamming distance
    to the nearest synthetic records (`mean_rho`, `max_rho`); `baseline` and `baseline_R`; `reason`."""
    summary: pd.DataFrame
    """One row a measure, size (`all` = all key sets) and table attacked: `mean`, `sd` and `sd_sample` (divisors n and
    n - 1) over the `n_defined` of `n_sets` key sets on which it is defined; `baseline`: what the target's distribution
    in the table attacked gives away by itself (for R, a guess of its most frequent value); `definition`; `reason`."""
    marginal: pd.DataFrame
    """One row a measure and size: means over the `n_both` of `n_sets` key sets where both sides are defined of
    `original`, `holdout` and their difference `marginal`, with its 95 % interval `low`, `high`; `baseline` of the
    original; `definition`; `reason`."""
    rows: tuple[Row, ...]
    """The same as result rows."""


def cap(
    original: pd.DataFrame,
    synthetic: pd.DataFrame,
    holdout: pd.DataFrame | None = None,
    *,
    keys: Sequence[str],
    target: str,
    key_sizes: Sequence[int] | None = None,
    tau: float = 1.0,
    codebook: Codebook | None = None,
    groups: int = 20,
    seed: int = 0,
) -> CapResult:
    """The CAP family over all subsets of the keys of the given sizes (by default all keys together).

    Missing values are a level of their own. The interval of a marginal takes the synthetic data as fixed: for TCAP it
    is the delete-a-group jackknife's (`groups`, dealt with `seed`), for the rest closed (see `difference`).
    RiskError or DataError where no measure is defined on the input. Cost: O(sets x records), and for GCAP in each set
    the product of the distinct key combinations that lack a match and the distinct synthetic ones.
    """
    check_tau(tau)
    coding = code_tables(original, synthetic, holdout, keys, target, codebook)
    sets = key_sets(keys, [len(keys)] if key_sizes is None else key_sizes)
    if not sets:
        raise RiskError("key sizes []: give at least one size, or leave key_sizes out for all keys together")
    per_set, means = cap_sets(coding, sets, keys, target, tau)
    names = measures()
    with one_thread():
        replicates = tcap_scores(coding, sets, target, tau, groups, seed)
        rows = family_rows(per_set, names, target, means, replicates)
    return CapResult(
        tuple(keys), target, tau, per_set, summary_frame(per_set, names), marginal_frame(rows), tuple(rows)
    )


def cap_sets(
    coding: Coding,
    sets: Sequence[tuple[str, ...]],
    keys: Sequence[str],
    target: str,
    tau: float = 1.0,
    nearest: bool = True,
    check: Callable[[float], None] | None = None,
) -> tuple[pd.DataFrame, RecordMeans]:
    """Rows of `CapResult.per_set` of tables under one coding, and the means that intervals come from.

    keys: those of all sets. nearest: whether to search for the nearest records, which GCAP needs; without, the rows
    lack it. `check` is called during the search and may raise, to stop.
    """
    sides = [side for side in SIDES if side in coding.lengths]
    means = RecordMeans(sides)
    everyone = _distinct_records(coding, keys, target, sides)
    rows = []
    with one_thread():
        for chosen in sets:
            equivalence = cross(coding, chosen, target)
            exact = same_keys(equivalence)
            near = nearest_keys(equivalence, coding, chosen, exact, check) if nearest else None
            scores = record_scores(equivalence, exact, near)
            for side in sides:
                rows.append(_row(chosen, side, equivalence, scores, near, tau))
            if len(sides) > 1:
                cells = {side: equivalence.records[side][everyone[side].first] for side in sides}
                weights = {side: everyone[side].weights for side in sides}
                means.add(len(chosen), scores, cells, weights, {side: everyone[side].members for side in sides})
    return pd.DataFrame(rows), means


def one_thread() -> AbstractContextManager[Any]:
    """In this block NumPy multiplies in one thread: in thousands of short products others would be waited for."""
    limited: AbstractContextManager[Any] = _libraries().limit(limits=1)
    return limited


@cache
def _libraries() -> ThreadpoolController:
    """Looking for them takes longer than the measures of a key set."""
    return ThreadpoolController()


def measures(nearest: bool = True) -> list[str]:
    """Names of the measures that `cap` gives for every key set; with `nearest` False those without GCAP."""
    lookups = [name for name in _LOOKUPS if nearest or name != "GCAP"]
    return [*lookups, *(f"R_{name}_{ties}" for name in lookups for ties in TIES), *TCAP_MEASURES]


def record_scores(equivalence: Equivalence, exact: Lookup, near: Lookup | None) -> RecordScores:
    """What an attacked record in each cell scores by each measure but TCAP's."""
    everyone = np.ones(len(equivalence.cell_class))
    met = (exact.size > 0)[equivalence.cell_class].astype(float)
    by_keys = _scores(equivalence, exact)
    lookups = [("0CAP", by_keys, everyone), ("ICAP", by_keys, met)]
    if near is not None:
        lookups.append(("GCAP", _scores(equivalence, near), everyone))
    return RecordScores(
        tuple(measure.format(name) for name, scores, _ in lookups for measure in scores),
        np.array([score for _, scores, _ in lookups for score in scores.values()]),
        np.array([counted for _, scores, counted in lookups for _ in scores]),
    )


def _scores(equivalence: Equivalence, lookup: Lookup) -> dict[str, Floats]:
    classes = equivalence.cell_class
    size, hits = lookup.size[classes], lookup.hits
    modal = (hits == lookup.top[classes]) & (hits > 0)
    return {
        "{}": np.divide(hits, size, out=np.zeros(len(hits)), where=size > 0),
        "R_{}_counted": modal.astype(float),
        "R_{}_shared": np.divide(modal, lookup.tied[classes], out=np.zeros(len(hits)), where=modal),
        "R_{}_first": (lookup.guess[classes] == equivalence.cell_target).astype(float),
    }


def _row(
    keys: tuple[str, ...],
    side: str,
    equivalence: Equivalence,
    scores: RecordScores,
    near: Lookup | None,
    tau: float,
) -> dict[str, object]:
    """One row of `CapResult.per_set`."""
    counts, n_records = equivalence.counts[side], equivalence.n_records(side)
    targeted = targeted_attribution(equivalence, side, tau)
    in_class = equivalence.class_counts[side]
    unmatched = int(in_class[equivalence.class_counts[SYNTHETIC] == 0].sum())
    by_target = np.bincount(equivalence.cell_target, weights=counts)
    no_match = "ICAP: no attacked record has its keys in the synthetic data" if unmatched == n_records else ""
    uncertain = f"TCAP: {targeted.reason}" if targeted.reason else ""
    return {
        "keys": keys,
        "size": len(keys),
        "attacked": side,
        "n_records": n_records,
        "n_synthetic": equivalence.n_records(SYNTHETIC),
        "non_matches": unmatched,
        **scores.values(counts),
        **({} if near is None else _distances(in_class, near)),
        "CAP_self": cap_original(equivalence, side),
        "mean_WEAP": mean_weap(equivalence),
        "certain": targeted.certain,
        "certain_matched": targeted.matched,
        "TCAP_undefined": targeted.tcap_undefined,
        "TCAP_zero": targeted.tcap_zero,
        "baseline": baseline(equivalence, side),
        "baseline_R": float(by_target.max()) / n_records,
        "reason": "; ".join(filter(None, (no_match, uncertain))),
    }


def _distances(in_class: Counts, near: Lookup) -> dict[str, object]:
    """Hamming distance of the records attacked to the nearest synthetic ones: mean and largest."""
    return {
        "mean_rho": float(in_class @ near.distance) / int(in_class.sum()),
        "max_rho": int(near.distance[in_class > 0].max()),
    }


@dataclass(frozen=True, eq=False)
class _Distinct:
    """One record of each combination of keys and target, how many records are like it, and which (see `Sample`)."""

    first: Positions
    weights: Floats
    members: Members | None


def _distinct_records(coding: Coding, keys: Sequence[str], target: str, sides: Sequence[str]) -> dict[str, _Distinct]:
    """The distinct records of each side: those alike in all keys and the target score alike on every key set."""
    equivalence, found = cross(coding, keys, target), {}
    for side in sides:
        cells, first, row = np.unique(equivalence.records[side], return_index=True, return_inverse=True)
        together = coding.together.get(side)
        members = None if together is None else (row, together)
        found[side] = _Distinct(first, equivalence.counts[side][cells].astype(float), members)
    return found
