"""The measures against original and holdout, and their difference with a 95 % interval.

Given the synthetic table, the two samples of records are independent. A measure that asks of each record alone whether
the claim about it is made, or right, is a proportion of independent records: its interval is Newcombe's (Statistics in
Medicine 17, 1998, method 10). The others ask about the other records too (is it unique?) or are ratios: theirs is the
delete-a-group jackknife's, as in `outrisk.risk.jackknife`. A bootstrap would not do: its repeated records are never
unique.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from outrisk.risk.cap import HOLDOUT, ORIGINAL, Floats
from outrisk.risk.equivalence import Counts, Equivalence
from outrisk.risk.jackknife import SIDES, Estimate, combine, deal, estimate
from outrisk.risk.synthpop import Claims

MEASURES = ("UiO", "UiOiS", "repU", "Dorig", "iS", "DiS", "DiSCO", "DiSDiO", "baseCAPd", "CAPd", "DCAP", "TCAP")
_BY_RECORD = ("iS", "DiS", "DiSCO")  # proportions of records, each judged by the synthetic table alone
BY_COMPANY = ("UiO", "UiOiS", "repU", "Dorig", "DiSDiO", "CAPd")  # each record is judged by the others of its table too
_NO_SPREAD = "no interval: the jackknife groups all give the same value"
COLUMNS = ["synthesis", "measure", "original", "holdout", "marginal", "low", "high", "method", "baseline", "reason"]


def margins(equivalence: Equivalence, claims: Mapping[Any, Claims], groups: int, seed: int) -> pd.DataFrame:
    """A row for each synthetic table and measure, and for the mean over the tables where there are several.

    original, holdout, marginal (original minus holdout), low, high, baseline: percentages. Without a holdout the last
    four are NaN but for the baseline. baseline: what the distribution of the target alone gives away, for DCAP and TCAP
    (baseCAPd) and for DiSCO (expected, were the target independent of the keys).
    """
    sides = [side for side in SIDES if side in equivalence.counts]
    values = {(name, side): claim.attack(equivalence.counts[side]) for name, claim in claims.items() for side in sides}
    replicates = _replicates(equivalence, claims, sides, groups, seed) if HOLDOUT in sides else {}
    rows = []
    differences: dict[str, list[Estimate]] = {measure: [] for measure in MEASURES}
    for name, claim in claims.items():
        expected = baselines(claim, equivalence.counts[ORIGINAL])
        for measure in MEASURES:
            both = {side: float(values[name, side][measure]) for side in sides}
            row = {"synthesis": name, "measure": measure, **both, "baseline": expected.get(measure, math.nan)}
            if HOLDOUT in sides:
                found = _difference(both, [replicates[name, side, measure] for side in SIDES])
                differences[measure].append(found)
                if measure in _BY_RECORD and claim.exclusions.denom_lim is None:
                    row |= _newcombe(both, [equivalence.n_records(side) for side in SIDES])
                else:
                    row |= _interval(found)
            else:
                row["reason"] = "no holdout"
            rows.append(row)
    table = pd.DataFrame(rows, columns=COLUMNS)
    return table if len(claims) == 1 else pd.concat([table, _mean_rows(table, differences)], ignore_index=True)


def baselines(claims: Claims, counts: Counts) -> dict[str, float]:
    """What the target's distribution in the table attacked gives away by itself, in percent, by measure."""
    n_records = int(counts.sum())
    target = claims.equivalence.cell_target
    shares = np.bincount(target, weights=counts) / n_records
    base = 100 * float(shares @ shares)
    totals = claims.sums(counts)[claims.classes]
    kept = claims.certain if claims.exclusions.named is None else claims.certain & ~claims.exclusions.named
    expected = 100 * float(totals[kept] @ shares[target[kept]]) / n_records
    return {"DiSCO": expected, "DCAP": base, "TCAP": base}


def _replicates(
    equivalence: Equivalence, claims: Mapping[Any, Claims], sides: Sequence[str], groups: int, seed: int
) -> dict[tuple[Any, str, str], Floats]:
    """(synthesis, side, measure) -> the measure without each jackknife group in turn, (groups,)."""
    groups = min(groups, *(equivalence.n_records(side) for side in sides))
    groups = groups if groups >= 2 else 0
    found = {(name, side, measure): np.empty(groups) for name in claims for side in sides for measure in MEASURES}
    for side in sides:
        counts, records = equivalence.counts[side], equivalence.records[side]
        for group, rows in enumerate(deal(len(records), groups, seed, side)):
            left = counts - np.bincount(records[rows], minlength=len(counts))
            for name, claim in claims.items():
                for measure, value in claim.attack(left).items():
                    if measure in MEASURES:
                        found[name, side, measure][group] = value
    return found


def _difference(values: Mapping[str, float], replicates: Sequence[Floats]) -> Estimate:
    original, holdout = replicates
    return estimate([values[ORIGINAL] - values[HOLDOUT]], 1, 0, original, holdout)


def _interval(found: Estimate) -> dict[str, Any]:
    """The columns of a jackknife interval; one of no width, which would claim certainty, is none."""
    row = {"marginal": found.value, "low": found.low, "high": found.high, "method": "jackknife", "reason": found.reason}
    if math.isnan(found.value):
        return row | {"reason": "undefined in original or holdout: no record has its keys in the synthetic table"}
    if found.standard_error == 0:
        return row | {"low": math.nan, "high": math.nan, "reason": _NO_SPREAD}
    return row


def _newcombe(values: Mapping[str, float], records: Sequence[int]) -> dict[str, Any]:
    from statsmodels.stats.proportion import confint_proportions_2indep  # takes a second to import: only here

    counts = [round(values[side] * n / 100) for side, n in zip(SIDES, records, strict=True)]
    low, high = confint_proportions_2indep(counts[0], records[0], counts[1], records[1], method="newcomb")
    return {
        "marginal": values[ORIGINAL] - values[HOLDOUT],
        "low": 100 * float(low),
        "high": 100 * float(high),
        "method": "Newcombe",
        "reason": "",
    }


def _mean_rows(table: pd.DataFrame, differences: Mapping[str, Sequence[Estimate]]) -> pd.DataFrame:
    """Means over the synthetic tables where defined; the interval adds the spread between the tables."""
    rows = []
    for measure in MEASURES:
        own = table[table["measure"] == measure]
        row = {
            "synthesis": "mean",
            "measure": measure,
            "reason": own["reason"].iloc[0] if not differences[measure] else "",
        }
        row |= {column: own[column].mean() for column in ("original", "holdout", "baseline")}
        rows.append(row | (_interval(combine(differences[measure])) if differences[measure] else {}))
    return pd.DataFrame(rows, columns=COLUMNS)
