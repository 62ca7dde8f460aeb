"""Exact copies, by hand and beside the common rows proportion."""

import numpy as np
import pandas as pd
import pytest

from outrisk.risk import privacy_metrics
from outrisk.risk.exact_copies import exact_copies
from outrisk.risk.meanings import MEANINGS, meaning_of
from outrisk.risk.synthpop.claims import ATTRIBUTE, CAP, IDENTITY

FRAME = pd.DataFrame({"a": [1.0, 2.0, None, 4.0], "b": ["x", "y", "z", ""], "c": [1, 2, 3, 4]})


def test_by_hand():
    found = exact_copies(FRAME, FRAME.iloc[[0, 2, 2]].assign(c=["1", "3", "3"]), FRAME.iloc[[0, 1, 3]])
    assert (found.original, found.n_original, found.holdout, found.n_holdout) == (2, 4, 1, 3)
    assert found.columns == ("a", "b", "c")
    assert exact_copies(FRAME, FRAME.iloc[3:].assign(b=None)).original == 1  # missing is missing, however written
    assert exact_copies(FRAME, FRAME[["a"]].rename(columns={"a": "z"})) == exact_copies(FRAME, FRAME.iloc[:0][[]])
    assert exact_copies(FRAME, FRAME[["c"]].iloc[:3]).original == 3  # of the columns that both have


def test_no_two_records_are_taken_for_one():
    rng = np.random.default_rng(1)
    original, synthetic = (pd.DataFrame(rng.integers(0, 3, (300, 5)), columns=list("abcde")) for _ in range(2))
    rows = {tuple(row) for row in synthetic.to_numpy()}
    expected = sum(tuple(row) in rows for row in original.to_numpy())
    assert exact_copies(original, synthetic).original == expected
    crp = privacy_metrics(original, synthetic, metrics=["CRP"], keys=["a"], target="b")
    assert crp["value"].iloc[0] == pytest.approx(expected / 300)


def test_every_measure_has_a_meaning():
    for name in (*IDENTITY, *ATTRIBUTE, *CAP, "DCAP_synthpop", "TCAP_zero", "GCAP_review", "R_0CAP_first", "fr_nn"):
        assert meaning_of(name), name
    assert meaning_of("random_forest", "attacks") and not meaning_of("mine", "own")
    assert all(len(text) < 160 for text in MEANINGS.values())
