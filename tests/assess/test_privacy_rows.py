"""The privacy metrics in a study: rows of privacy.csv, and the report's section made of them."""

import math

import numpy as np
import pandas as pd
import pytest

from outrisk.assess.folds import Fold
from outrisk.assess.privacy import COLUMNS, STUDY_METRICS, privacy_rows
from outrisk.codebook import Codebook, Variable
from outrisk.errors import ConfigError
from outrisk.microdata import Microdata
from outrisk.report.privacy import privacy_context
from outrisk.risk import privacy_metrics

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
        *frames, keys=["age", "area"], target="ill", codebook=CODEBOOK, metrics=STUDY_METRICS, seed=4
    )
    found = pd.DataFrame(rows)
    assert tuple(found["metric"]) == STUDY_METRICS
    assert not {"D-MLP", "MIR", "HiddR"} & set(STUDY_METRICS)
    for column in ("value", "low", "high", "holdout", "difference"):
        assert list(found[column]) == pytest.approx(list(expected[column]), nan_ok=True)
    assert set(found.columns) <= set(COLUMNS)


def test_a_candidate_on_which_nothing_is_defined_is_error_rows():
    original = drawn(1)
    rows = privacy_rows(original, Fold(1, 0, "whole", original, None, ""), ("age", "ill"), "ill", 4)
    assert [row["status"] for row in rows] == ["error"] * len(STUDY_METRICS)
    assert all(math.isnan(row["value"]) and "target 'ill' is among the keys" in row["note"] for row in rows)


def row(fold, metric, value, holdout, low, high, status="ok", note=""):
    place = {"level": 2, "fold": fold, "run": 1, "metric": metric, "direction": "larger = riskier"}
    return place | {
        "value": value, "holdout": holdout, "difference": value - holdout, "difference_low": low,
        "difference_high": high, "status": status, "note": note,
    }  # fmt: skip


def test_the_section_averages_folds_and_says_what_is_undefined(tmp_path):
    nan = math.nan
    rows = [
        *[row("1", "NNAA", 0.6, 0.5, 0.02, 0.2), row("1", "MDCR", nan, nan, nan, nan, "undefined", "median is 0")],
        *[row("2", "NNAA", 0.5, 0.5, -0.1, 0.1), row("2", "MDCR", 0.4, 0.4, -0.1, 0.1)],
    ]
    pd.DataFrame(rows, columns=COLUMNS).to_csv(tmp_path / "privacy.csv", index=False)
    context = privacy_context(tmp_path, [1, 2], 2)
    nnaa, mdcr = context["rows"]
    assert (context["level"], context["folds"], context["against"], context["number"]) == (2, 2, True, 9)
    assert (nnaa["value"], nnaa["holdout"], nnaa["difference"], nnaa["apart"]) == ("0.550", "0.500", "+0.050", "1 of 2")
    assert mdcr["value"] == "undefined"
    assert context["notes"] == ["MDCR (fold 1): median is 0"]


def test_an_older_run_has_no_section_and_a_broken_file_is_told(tmp_path):
    assert privacy_context(tmp_path, [1], None) is None
    (tmp_path / "privacy.csv").write_text("level,fold\n1,whole\n")
    with pytest.raises(ConfigError, match=r"privacy.csv cannot be read"):
        privacy_context(tmp_path, [1], None)
