"""The CAP family and the classifier attacks in a study: rows of cap.csv and attacks.csv."""

import math

import numpy as np
import pandas as pd
import pytest

from outrisk.assess.folds import Fold
from outrisk.assess.suite.cap_rows import ATTACK_COLUMNS, CAP_COLUMNS, attack_rows, cap_rows, code_fold
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.risk import attack, cap
from outrisk.risk.attribution import nearest as hamming
from outrisk.risk.attribution.definitions import key_sets
from outrisk.risk.attribution.over_key_sets import score

KEYS, TARGET = ("age", "area", "job"), "ill"
CODEBOOK = Codebook(
    (
        Variable("age", "integer", tuple(range(10))),
        Variable("area", "categorical", ("n", "s", "e", "w")),
        Variable("job", "categorical", ("a", "b", "c")),
        Variable("ill", "categorical", ("no", "yes")),
    )
)
SETS = key_sets(KEYS, [2, 3])


def drawn(seed, n=90):
    rng = np.random.default_rng(seed)
    return Microdata(CODEBOOK, np.column_stack([rng.integers(0, size, n) for size in (10, 4, 3, 2)]).astype(np.uint16))


def measured(holdout, time_limit=20.0):
    fold, synthetic = Fold(2, 0, "1", drawn(1), holdout, "2"), drawn(2)
    scores = score(fold.original, synthetic, holdout, sets=[*SETS, KEYS[:1]], target=TARGET, groups=10, seed=3)
    return pd.DataFrame(cap_rows(code_fold(synthetic, fold, KEYS, TARGET), SETS, KEYS, scores, time_limit))


@pytest.mark.parametrize("holdout", [drawn(3), None])
def test_cap_rows_are_those_of_the_decoded_data_frames(holdout):
    frames = [data.frame() for data in (drawn(1), drawn(2))]
    against = None if holdout is None else holdout.frame()
    expected = cap(
        *frames, against, keys=KEYS, target=TARGET, key_sizes=[2, 3], codebook=CODEBOOK, groups=10, seed=3
    ).marginal
    found = measured(holdout)
    pd.testing.assert_frame_equal(found, expected)
    assert set(found.columns) - {"definition"} <= set(CAP_COLUMNS)


def test_a_gcap_that_takes_too_long_is_undefined_with_the_reason_and_the_rest_is_not():
    found, whole = measured(drawn(3), time_limit=-1.0), measured(drawn(3))
    late = found["measure"].str.contains("GCAP")
    assert set(found["measure"]) == set(whole["measure"])
    assert late.sum() == 4 * 3  # with three ways to resolve ties, for two sizes and all
    assert found.loc[late, ["original", "holdout", "marginal"]].isna().all(axis=None)
    assert set(found.loc[late, "reason"]) == {"timed out after -1 s"}
    columns = ["size", "measure", "original", "holdout", "marginal", "low", "high"]
    rest = whole[~whole["measure"].str.contains("GCAP")].reset_index(drop=True)
    pd.testing.assert_frame_equal(found.loc[~late, columns].reset_index(drop=True), rest[columns])


def test_attack_rows_are_those_of_the_decoded_data_frames():
    fold = Fold(2, 0, "1", drawn(1), drawn(3), "2")
    coding, names = code_fold(drawn(2), fold, KEYS, TARGET), ("naive_bayes", "fr_nn", "zero_rule")
    found = pd.DataFrame(attack_rows(coding, KEYS, TARGET, names, 5))
    frames = [data.frame() for data in (drawn(1), drawn(2), drawn(3))]
    expected = attack(*frames, keys=KEYS, target=TARGET, classifiers=names, codebook=CODEBOOK, seed=5).frame
    assert list(found["measure"]) == list(names)
    assert list(found["original"]) == list(expected["accuracy_original"])
    assert list(found["low"]) == list(expected["low"])
    assert set(ATTACK_COLUMNS[3:]) <= set(found.columns)
    assert attack_rows(coding, KEYS, TARGET, (), 5) == []
    alone = attack_rows(
        code_fold(drawn(2), Fold(1, 0, "whole", drawn(1), None, ""), KEYS, TARGET), KEYS, TARGET, names, 5
    )
    assert all(math.isnan(row["holdout"]) and row["reason"] == "no holdout" for row in alone)


def test_a_search_that_cannot_be_made_stops_nothing(monkeypatch):
    monkeypatch.setattr(hamming, "_FEW_LEVELS", 2)
    found = measured(drawn(3))
    reason = "3 keys: at most 2 can be searched for the nearest; name fewer"
    assert set(found.loc[found["measure"].str.contains("GCAP"), "reason"]) == {reason}
    assert found.loc[found["measure"] == "0CAP", "marginal"].notna().all()
    coding = code_fold(drawn(2), Fold(2, 0, "1", drawn(1), drawn(3), "2"), KEYS, TARGET)
    (row,) = attack_rows(coding, KEYS, TARGET, ("fr_nn",), 5)
    assert (row["measure"], row["reason"]) == ("fr_nn", reason) and math.isnan(row["original"])
