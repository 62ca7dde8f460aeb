"""Numbers that stand side by side subtract, in every file of a run directory and on its page."""

import json
import math
import re

import pandas as pd
import pytest

STUDIES = ("halves", "holdout", "odd")


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("file", ["measures.csv", "over_runs.csv"])
def test_every_row(assessed, study, file):
    rows = pd.read_csv(assessed[study] / file, dtype={"keys": str, "size": str, "fold": str})
    compared = rows[rows["difference"].notna()]
    assert len(compared) >= (20 if study != "odd" else 0)
    gap = compared["original"] - compared["holdout"] - compared["difference"]
    assert gap.abs().max() < 1e-9 or compared.empty
    assert set(rows["family"]) == {"attribution", "synthpop", "cap", "privacy"}
    shares = rows[(rows["unit"] == "share") & ~rows["measure"].str.contains("denom|MDCR|DCR")]
    assert shares[["original", "holdout"]].max(axis=None) <= 1 + 1e-12


@pytest.mark.parametrize("study", ["halves", "holdout"])
def test_every_estimate_of_risk_json(assessed, study):
    risk, compared = json.loads((assessed[study] / "risk.json").read_text()), 0
    for part in [*risk["folds"], *risk["levels"]]:
        values = {(each["measure"], each["keys"], each["side"]): each["value"] for each in part["estimates"]}
        for measure, keys, side in values:
            if side == "marginal" and values[measure, keys, side] is not None:
                own, other = (values[measure, keys, each] for each in ("original", "holdout"))
                assert math.isclose(own - other, values[measure, keys, side], abs_tol=1e-9), (measure, keys)
                compared += 1
    assert compared >= 8


@pytest.mark.parametrize("study", STUDIES)
def test_no_number_is_a_negative_nothing(assessed, study):
    page = (assessed[study] / "details.html").read_text()
    found = re.findall(r"[-\N{MINUS SIGN}]0\.0+(?![\d])", re.sub(r"<svg.*?</svg>", "", page, flags=re.S))
    assert found == []
