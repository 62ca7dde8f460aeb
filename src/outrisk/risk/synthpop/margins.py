"""The measures against original and holdout, and their difference with a 95 % interval.

Given the synthetic table, the two samples of records are independent. A measure that asks of each record alone what the
synthetic table says of it is a mean of scores of independent records: its interval is that of `intervals.closed`
(Agresti and Caffo). The others ask about the other records too (is it unique?): theirs is the delete-a-group
jackknife's (`intervals.jackknife`), which for counts of uniques errs on the wide side (Efron and Stein, Annals of
Statistics 9, 1981). A bootstrap would not do: its repeated records are never unique.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from outrisk.reasons import sentence
from outrisk.risk.attribution.definitions import Floats
from outrisk.risk.coding.classes import HOLDOUT, ORIGINAL, SIDES, Counts, Equivalence
from outrisk.risk.intervals.closed import interval, sample
from outrisk.risk.intervals.jackknife import Estimate, combine, deal, estimate
from outrisk.risk.rows import AGRESTI_CAFFO, JACKKNIFE, Row, joined
from outrisk.risk.synthpop.claims import Claims

MEASURES = ("UiO", "UiOiS", "repU", "Dorig", "iS", "DiS", "DiSCO", "DiSDiO", "baseCAPd", "CAPd", "DCAP", "TCAP")
BY_COMPANY = ("UiO", "UiOiS", "repU", "Dorig", "DiSDiO", "CAPd")  # each record is judged by the others of its table too
COLUMNS = [
    "synthesis",
    "measure",
    "original",
    "holdout",
    "marginal",
    "low",
    "high",
    "method",
    "baseline",
    "reason",
    "code",
]
FAMILY = "synthpop"
ALONE = ("UiS", "Dsyn", "CAPs")  # measures of the synthetic table alone


def margins(equivalence: Equivalence, claims: Mapping[Any, Claims], groups: int, seed: int) -> pd.DataFrame:
    """A row for each synthetic table and measure, and for the mean over the tables where there are several.

    original, holdout, marginal (original minus holdout), low, high, baseline: shares. Without a holdout the last four
    are NaN but for the baseline. baseline: what the distribution of the target alone gives away, for DCAP and TCAP
    (baseCAPd) and for DiSCO (expected, were the target independent of the keys).
    """
    sides = [side for side in SIDES if side in equivalence.counts]
    values = {(name, side): claim.attack(equivalence.counts[side]) for name, claim in claims.items() for side in sides}
    replicates = _replicates(equivalence, claims, sides, groups, seed) if HOLDOUT in sides else {}
    rows = []
    differences: dict[str, list[Estimate]] = {measure: [] for measure in MEASURES}
    for name, claim in claims.items():
        expected = baselines(claim, equivalence.counts[ORIGINAL])
        scores = record_scores(claim)
        for measure in MEASURES:
            both = {side: float(values[name, side][measure]) for side in sides}
            row = {"synthesis": name, "measure": measure, **both, "code": ""}
            row["baseline"] = expected.get(measure, math.nan)
            if HOLDOUT in sides:
                found = _difference(both, [replicates[name, side, measure] for side in SIDES])
                differences[measure].append(found)
                row |= _interval(found)
                if measure in scores and not math.isnan(found.value):
                    row |= _closed_interval(scores[measure], equivalence)
            else:
                row["code"] = "no_holdout"
            rows.append(row)
    table = pd.DataFrame(rows, columns=COLUMNS)
    if len(claims) > 1:
        table = pd.concat([table, _mean_rows(table, differences)], ignore_index=True)
    return table.assign(reason=[sentence(code) for code in table["code"]])


def row_name(measure: str) -> str:
    """A measure's name among those of all families: synthpop's TCAP and DCAP are not Taub and Elliot's."""
    return f"{measure}_synthpop" if measure in ("TCAP", "DCAP") else measure


def margin_rows(table: pd.DataFrame, alone: pd.Series[float], keys: Sequence[str], target: str) -> list[Row]:
    """Result rows of `margins`, means where there are several synthetic tables; and of the measures of ALONE."""
    last = table[table["synthesis"] == table["synthesis"].iloc[-1]]
    place = Row(family=FAMILY, measure="", keys=joined(keys), target=target, sets=1)
    rows = [
        replace(
            place,
            measure=row_name(row["measure"]),
            original=row["original"],
            holdout=row["holdout"],
            difference=row["marginal"],
            low=row["low"],
            high=row["high"],
            method=row["method"] if isinstance(row["method"], str) else "",
            baseline=row["baseline"],
            reason=row["code"],
            defined=int(not math.isnan(row["original"])),
        )
        for row in last.to_dict("records")
    ]
    return rows + [replace(place, measure=name, synthetic=float(alone[name]), defined=1) for name in ALONE]


def baselines(claims: Claims, counts: Counts) -> dict[str, float]:
    """What the target's distribution in the table attacked gives away by itself, by measure."""
    n_records = int(counts.sum())
    target = claims.equivalence.cell_target
    shares = np.bincount(target, weights=counts) / n_records
    base = float((shares * shares).sum())
    if claims.exclusions.denom_lim is not None:  # what cells of another distribution would be too large is not known
        return {"DCAP": base, "TCAP": base}
    totals = claims.sums(counts)[claims.classes]
    kept = claims.certain if claims.exclusions.named is None else claims.certain & ~claims.exclusions.named
    expected = float((totals[kept] * shares[target[kept]]).sum()) / n_records
    return {"DiSCO": expected, "DCAP": base, "TCAP": base}


def record_scores(claims: Claims) -> dict[str, tuple[Floats, Floats]]:
    """Measure -> score of a record in each cell, and whether the record counts (0 or 1); arrays of shape (n_cells,).

    The measures that are the mean score of the records that count; none where cells are left out for their
    size, which depends on the other records.
    """
    if claims.exclusions.denom_lim is not None:
        return {}
    everyone = np.ones(len(claims.certain))
    kept = everyone if claims.exclusions.named is None else (~claims.exclusions.named).astype(float)
    by_class = {"iS": claims.met, "DiS": claims.claimed}
    return {
        **{measure: (classes[claims.classes] * kept, everyone) for measure, classes in by_class.items()},
        "DiSCO": (claims.certain * kept, everyone),
        "DCAP": (claims.shares * kept, everyone),
        "TCAP": (claims.certain * kept, (claims.kept_classes > 0)[claims.classes] * kept),
    }


def _replicates(
    equivalence: Equivalence, claims: Mapping[Any, Claims], sides: Sequence[str], groups: int, seed: int
) -> dict[tuple[Any, str, str], Floats]:
    """(synthesis, side, measure) -> the measure without each jackknife group in turn, (groups,)."""
    groups = min(groups, *(equivalence.apart(side) for side in sides))
    groups = groups if groups >= 2 else 0
    found = {(name, side, measure): np.empty(groups) for name in claims for side in sides for measure in MEASURES}
    for side in sides:
        counts, records = equivalence.counts[side], equivalence.records[side]
        for group, rows in enumerate(deal(len(records), groups, seed, side, equivalence.together.get(side))):
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
    row = {"marginal": found.value, "low": found.low, "high": found.high, "method": JACKKNIFE, "code": found.code}
    if math.isnan(found.value):
        return row | {"code": "unmet"}
    if found.standard_error == 0:
        return row | {"low": math.nan, "high": math.nan, "code": "no_spread"}
    return row


def _closed_interval(score: tuple[Floats, Floats], of: Equivalence) -> dict[str, Any]:
    low, high = interval(
        *(sample(score[0], of.counts[side].astype(float), score[1], of.members(side)) for side in SIDES)
    )
    return {"low": low, "high": high, "method": AGRESTI_CAFFO, "code": ""}


def _mean_rows(table: pd.DataFrame, differences: Mapping[str, Sequence[Estimate]]) -> pd.DataFrame:
    """Means over the synthetic tables where both sides are defined; the interval adds the spread between the tables."""
    rows = []
    for measure in MEASURES:
        own = table[table["measure"] == measure]
        compared = own["marginal"].notna()
        own = own[compared] if compared.any() else own
        row = {"synthesis": "mean", "measure": measure, "code": own["code"].iloc[0] if not differences[measure] else ""}
        row |= {column: own[column].mean() for column in ("original", "holdout", "baseline")}
        rows.append(row | (_interval(combine(differences[measure])) if differences[measure] else {}))
    return pd.DataFrame(rows, columns=COLUMNS)
