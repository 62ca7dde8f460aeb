"""A measure from outside the package, through a whole study to its page."""

import shutil

import pandas as pd
import pytest
import yaml
from pages import words

from outrisk.cli.commands import run
from outrisk.risk.coding.classes import cross
from outrisk.risk.families import FAMILIES, Family, register
from outrisk.risk.rows import Row, joined, of_scores


def rows(coding, question):
    counts = cross(coding, question.keys, question.target)
    met = (counts.class_totals("synthetic") > 0).astype(float)
    row = Row(family="met", measure="met by somebody", keys=joined(question.keys), target=question.target)
    return [of_scores(row, met, counts)]


def test_a_measure_of_ones_own(assessed, tmp_path, monkeypatch):
    monkeypatch.setattr("outrisk.risk.families.FAMILIES", dict(FAMILIES))
    register(Family("met", "People whose keys are met", rows, lambda question: ["met by somebody"]))
    folder = assessed["halves"].parent
    study = yaml.safe_load((folder / "small.yaml").read_text())
    study |= {"study": {"runs": 1, "folds": [2]}, "privacy": {"metrics": []}}
    for name in ("small.csv", "small.codebook.yaml"):
        shutil.copy(folder / name, tmp_path)
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(study))
    out = tmp_path / "run"
    assert run(["assess", str(tmp_path / "small.yaml"), "--out", str(out), "--quiet", "--workers", "1"]) == 0
    (first, second) = (row for row in pd.read_csv(out / "measures.csv").itertuples() if row.family == "met")
    assert first.keys == second.keys == "age+area+sex"
    assert first.original - first.holdout == pytest.approx(first.difference, abs=1e-12)
    page = words((out / "details.html").read_text())
    assert "Further measures" in page and "met by somebody" in page
