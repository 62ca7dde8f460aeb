"""Records that recur over runs, in a study: its file, and its section of the report."""

import numpy as np
import pandas as pd

import outrisk
from outrisk.records import schema
from outrisk.records.files import read_rows


def test_a_study_of_two_runs_says_which_records_recur(tmp_path):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({name: rng.integers(0, 4, 120) for name in ("age", "area", "ill", "job")})
    outputs = [pd.crosstab([frame["age"], frame["area"]], frame["ill"])]
    settings = {"evolve": {"generations": 3}, "privacy": {"metrics": []}, "runs": {1: 1, 2: 2}, "folds": [1, 2]}
    result = outrisk.assess(
        frame, outputs, keys=["age", "area"], target="ill", out=tmp_path / "run", quiet=True, workers=1, **settings
    )
    rows = read_rows(tmp_path / "run" / "recurring.csv", schema.Recurring)
    assert {(row.level, row.fold, row.of) for row in rows} == {
        (2, fold, of) for fold in ("1", "2") for of in ("keys and target", "all variables")
    }
    by_keys = [row for row in rows if row.of == "keys and target"]
    assert all(row.original == 1.0 for row in by_keys if row.recurs == 1.0)  # the release is a table of just these
    assert by_keys[-1].original > by_keys[-1].holdout
    assert len(result.tables["recurring"]) == len(rows)
    page = (tmp_path / "run" / "details.html").read_text(encoding="utf-8")
    assert "Records that recur from run to run" in page and "over 2 runs of each of 2 folds" in page
