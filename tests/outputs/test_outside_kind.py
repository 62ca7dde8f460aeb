"""A kind of output from outside the package: one class, one entry, one line; a study releases and reproduces it."""

import csv
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "cli"))

from command import STUDY, outrisk, records, refused, write_study

import outrisk as session
from outrisk.outputs import REGISTRY, Common, FrequenciesEntry, counting, entry_of, register

ROOT = Path(__file__).resolve().parents[2]


def above_of_contributing():
    """The class that CONTRIBUTING shows, by running its text."""
    text = (ROOT / "CONTRIBUTING.md").read_text().split("## Add an output")[1].split("```python\n")[1].split("```")[0]
    assert len([line for line in text.splitlines() if line.strip()]) <= 12
    names = {"dataclass": dataclass, "np": np, "Common": Common, "counting": counting}
    exec(text, names)
    return names["Above"]


@pytest.fixture
def above(monkeypatch):
    monkeypatch.setattr("outrisk.outputs.REGISTRY", REGISTRY)
    register(entry_of(above_of_contributing()))
    yield {"kind": "above", "variable": "age", "least": 3}
    del REGISTRY["above"]


def rows(path):
    with path.open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["output"] == "above 1"]


def test_a_study_with_it_is_assessed(tmp_path, capsys, above):
    outputs = [above | {"importance": 2}, STUDY["outputs"][0]]
    path = write_study(tmp_path, {"outputs": outputs, "study": {"runs": 1, "folds": [1]}})
    code, _, said = outrisk(capsys, "assess", path, "--out", tmp_path / "run", "--quiet")
    assert code == 0, said
    (row,) = rows(tmp_path / "run" / "matched.csv")
    assert float(row["released"]) == (records().age >= 3).sum()
    assert (row["label"], row["matched"]) == ("age from 3", "true")
    assert "above 1" in (tmp_path / "run" / "report.html").read_text()
    code, said, _ = outrisk(capsys, "check", path)
    assert code == 0 and "No rule can read an output of kind above" in said


def test_teaching_data_are_made_of_it(tmp_path, capsys, above):
    changes = {"outputs": [above | {"values": [40]}], "data": None, "keys": None, "target": None, "study": None}
    path = write_study(tmp_path, changes | {"records": 100})
    code, _, said = outrisk(capsys, "teach", path, "--out", tmp_path / "run", "--quiet")
    assert code == 0, said
    (row,) = rows(tmp_path / "run" / "reproduced.csv")
    assert (float(row["refit"]), row["matched"]) == (40, "true")


def test_its_keys_are_checked_and_its_name_is_its_own(tmp_path, capsys, above):
    for change, message in (
        ({"leest": 3}, "[outputs 1] has unknown keys ['leest']; known: ['importance', 'kind', 'least', 'name'"),
        ({"least": "x"}, "[outputs 1.least] is 'x': write a number"),
        ({"kind": "abov"}, "[outputs 1] needs a kind, one of ['above', 'association'"),
    ):
        path = write_study(tmp_path, {"outputs": [above | change]})
        assert message in refused(capsys, "assess", path, "--out", tmp_path / "run")

    path = write_study(tmp_path, {"outputs": [above | {"where": "age > 2"}]})
    message = "output 'above 1': no above has a where:; leave it out"
    assert message in refused(capsys, "assess", path, "--out", tmp_path / "run")
    assert session.Above("age", least=3).document == above
    assert "Above" in dir(session)
    with pytest.raises(AttributeError, match="module 'outrisk' has no attribute 'Below'"):
        _ = session.Below

    class Again(FrequenciesEntry):
        pass

    with pytest.raises(ValueError, match="there is a kind 'frequencies' already"):
        register(Again)
