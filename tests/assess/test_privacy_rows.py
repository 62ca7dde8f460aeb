"""The privacy metrics in a study: rows of privacy.csv."""

import math

import numpy as np
import pandas as pd
import pytest

from outrisk.assess.folds import Fold
from outrisk.assess.suite.privacy_rows import COLUMNS, UNTRAINED, privacy_rows
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.risk import privacy_metrics
from outrisk.risk.privacy import METRICS

CODEBOOK = Codebook(
    (
        Variable("age", "integer", tuple(range(10))),
        Variable("area", "categorical", ("n", "s", "e", "w")),
        Variable("ill", "categorical", ("no", "yes")),
    )
)


def drawn(seed, n=120):
    rng = np.random.default_rng(seed)
    return Microdata(CODEBOOK, np.column_stack([rng.integers(0, size, n) for size in (10, 4, 2)]).astype(np.uint16))


def test_rows_are_those_of_the_decoded_data_frames():
    original, synthetic, holdout = (drawn(seed) for seed in (1, 2, 3))
    rows = privacy_rows(synthetic, Fold(2, 0, "1", original, holdout, "2"), ("age", "area"), "ill", 4)
    frames = [data.frame() for data in (original, synthetic, holdout)]
    expected = privacy_metrics(
        *frames, keys=["age", "area"], target="ill", codebook=CODEBOOK, metrics=UNTRAINED, seed=4
    )
    found = pd.DataFrame(rows)
    assert tuple(found["metric"]) == tuple(METRICS)
    assert set(METRICS) - set(UNTRAINED) == {"D-MLP", "MIR"}
    measured = found[found["metric"].isin(UNTRAINED)]
    for column in ("value", "low", "high", "holdout", "difference"):
        assert list(measured[column]) == pytest.approx(list(expected[column]), nan_ok=True)
    assert set(found.columns) <= set(COLUMNS)


def test_what_was_not_asked_for_or_failed_is_a_row_with_the_reason():
    fold = Fold(2, 0, "1", drawn(1), drawn(3), "2")
    rows = {row["metric"]: row for row in privacy_rows(drawn(2), fold, ("age", "area"), "ill", 4, ("HiddR", "DCR"))}
    assert set(rows) == set(METRICS)
    assert (rows["DCR"]["status"], rows["HiddR"]["status"]) == ("ok", "undefined")
    assert "needs links" in rows["HiddR"]["note"]
    others = [row for name, row in rows.items() if name not in ("DCR", "HiddR")]
    assert all(row["status"] == "not asked" and math.isnan(row["value"]) and row["note"] for row in others)
    assert "'privacy: {metrics: all}'" in rows["MIR"]["note"]
    assert "not among the privacy metrics" in rows["NNAA"]["note"]
    assert all(row["status"] == "not asked" for row in privacy_rows(drawn(2), fold, ("age",), "ill", 4, ()))


def test_a_metric_that_takes_too_long_is_a_timed_out_row():
    fold = Fold(2, 0, "1", drawn(1), drawn(3), "2")
    rows = privacy_rows(drawn(2), fold, ("age", "area"), "ill", 4, ("D-MLP", "CRP"), time_limit=1e-9)
    found = {row["metric"]: row for row in rows}
    assert (found["D-MLP"]["status"], found["CRP"]["status"]) == ("timed out", "ok")
    assert math.isnan(found["D-MLP"]["value"]) and "timed out after" in found["D-MLP"]["note"]


def test_a_candidate_on_which_nothing_is_defined_is_error_rows():
    original = drawn(1)
    rows = privacy_rows(original, Fold(1, 0, "whole", original, None, ""), ("age", "ill"), "ill", 4)
    assert {row["status"] for row in rows} == {"error", "not asked"}
    failed = [row for row in rows if row["status"] == "error"]
    assert len(failed) == len(UNTRAINED)
    assert all(math.isnan(row["value"]) and "target 'ill' is among the keys" in row["note"] for row in failed)
