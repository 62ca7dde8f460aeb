"""The disclosure suite in a study: rows of disclosure.csv."""

import math

import numpy as np
import pandas as pd
import pytest

from outrisk.assess.folds import Fold
from outrisk.assess.suite.synthpop_rows import COLUMNS, disclosure_rows
from outrisk.codebook import codebook_from_dict
from outrisk.microdata import Microdata
from outrisk.risk import disclosure

CODEBOOK = codebook_from_dict(
    {
        "variables": {
            "age": {"kind": "integer", "min": 0, "max": 9},
            "area": {"kind": "categorical", "levels": ["s", "n", "w"], "missing": True},
            "ill": {"kind": "categorical", "levels": ["yes", "no"], "missing": True},
        }
    }
)


def drawn(seed, n=150):
    rng = np.random.default_rng(seed)
    return Microdata(CODEBOOK, np.column_stack([rng.integers(0, size, n) for size in (10, 4, 3)]).astype(np.uint16))


def test_rows_are_those_of_the_decoded_data_frames():
    original, synthetic, holdout = (drawn(seed) for seed in (1, 2, 3))
    rows = disclosure_rows(synthetic, Fold(1, 0, "whole", original, holdout, "h"), ("age", "area"), "ill", 10, 4)
    frames = [data.frame() for data in (original, synthetic, holdout)]
    expected = disclosure(*frames, keys=["age", "area"], target="ill", groups=10, seed=4)
    found = pd.DataFrame(rows, columns=COLUMNS)
    assert list(found["measure"]) == [*expected.marginal["measure"], "UiS", "Dsyn", "CAPs"]
    for column in ("original", "holdout", "marginal", "low", "high", "baseline"):
        assert list(found[column][:-3]) == pytest.approx(list(expected.marginal[column]), nan_ok=True)
    assert list(found["synthetic"][-3:]) == pytest.approx(list(expected.mean[["UiS", "Dsyn", "CAPs"]]))


def test_a_candidate_without_the_target_is_undefined_with_the_reason():
    original, synthetic = drawn(1), drawn(2)
    synthetic.codes[:, 2] = 2  # all missing
    rows = disclosure_rows(synthetic, Fold(1, 0, "whole", original, None, ""), ("age", "area"), "ill", 10, 4)
    assert all(math.isnan(row["original"]) for row in rows)
    assert {row["reason"] for row in rows} == {
        "synthetic: target 'ill' is missing in every record; choose one that is known"
    }
