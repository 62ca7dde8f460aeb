"""Risk by number of keys, and the key sets with the largest difference."""

from __future__ import annotations

from typing import Any

import pandas as pd

from outrisk.report import formats
from outrisk.report.compose import Section, asset
from outrisk.report.results import Results


def content(results: Results) -> dict[str, Any]:
    """Means by key size on the level of the answer, else on the largest folds; the riskiest key sets."""
    lead = results.lead
    levels = [lead.level] if lead else sorted({fold.level for fold in results.risk.folds if fold.runs})
    return {
        "risk": results.risk,
        "lead": lead,
        "conventions": formats.CONVENTIONS,
        "key_sizes": key_size_rows(results, levels[0]) if levels else [],
        "riskiest": riskiest(results, lead.level) if lead else [],
    }


def key_size_rows(results: Results, level: int) -> list[dict[str, Any]]:
    """Mean TCAP over key sets, folds and runs of a level, by key size; differences where both sides are defined."""
    wide = _wide(results.scores[results.scores["level"] == level])
    rows = []
    for size, group in wide.groupby("key_size"):
        row: dict[str, Any] = {"size": formats.count(float(str(size))), "sets": group["keys"].nunique()}
        for measure in formats.CONVENTIONS:
            original, holdout = (group[f"{measure} {side}"] for side in ("original", "holdout"))
            row[measure] = (original.mean(), holdout.mean(), (original - holdout).mean())
            row[f"{measure} undefined"] = int(original.isna().sum())
        row["certain"], row["met"] = group["certain"].mean(), group["met"].mean()
        rows.append(row)
    return rows


def riskiest(results: Results, level: int, most: int = 5) -> list[dict[str, Any]]:
    """Key sets with the largest difference of `tcap_undefined`, averaged over the folds and runs of a level."""
    wide = _wide(results.scores[results.scores["level"] == level])
    sides = ["original", "holdout", "difference"]
    original, holdout = wide["tcap_undefined original"], wide["tcap_undefined holdout"]
    wide = wide.assign(original=original, holdout=holdout, difference=original - holdout)
    means = wide.dropna(subset=["difference"]).groupby("keys", sort=False)[sides].mean()
    chosen = means.sort_values("difference", ascending=False, kind="stable").head(most)
    return [
        {"keys": str(keys).replace("+", ", "), **{side: float(row[side]) for side in sides}}
        for keys, row in chosen.iterrows()
    ]


def _wide(scores: pd.DataFrame) -> pd.DataFrame:
    """One row a run and key set: a column for each convention and side, and the counts behind the original's TCAP."""
    index = ["fold", "run", "key_size", "keys"]
    columns = [f"{measure} {side}" for measure in formats.CONVENTIONS for side in ("original", "holdout")]
    scores = scores[scores["measure"].isin(list(formats.CONVENTIONS))]
    names = scores["measure"] + " " + scores["side"]
    wide = scores.assign(name=names).set_index([*index, "name"])["value"].unstack("name")
    counts = scores[(scores["measure"] == "tcap_undefined") & (scores["side"] == "original")].set_index(index)
    return wide.reindex(columns=columns).assign(certain=counts["certain"], met=counts["matched"]).reset_index()


SECTION = Section("keysizes", "Risk by number of keys", content, asset("study/keysizes.html"))
