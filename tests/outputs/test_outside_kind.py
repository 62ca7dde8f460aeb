"""A kind of output from outside the package: one class, one entry, one line; a study releases and reproduces it."""

import csv
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "cli"))

from command import STUDY, outrisk, records, refused, write_study

from outrisk.codebook import Codebook
from outrisk.outputs import REGISTRY, Common, Entry, FrequenciesEntry, register
from outrisk.outputs.base import printed
from outrisk.outputs.tables.shares import Counts
from outrisk.problem.blocks import Tally, joint_of
from outrisk.problem.released import TallyPart


@dataclass(frozen=True)
class Above(Common):
    """How many records have a value from `least` on."""

    codebook: Codebook
    name: str
    variable: str
    least: float
    kind = "above"

    @property
    def labels(self):
        return [f"{self.variable} from {self.least:g}"]

    @property
    def decimals(self):
        return np.zeros(1, dtype=np.int64)

    def refit(self, data, start=None):
        return np.array([float((data.frame()[self.variable] >= self.least).sum())])

    def publish(self, values):
        return printed(values, self.decimals)

    def parts(self, values):
        place = joint_of(self.codebook, [self.variable])
        cell = np.where(np.array(self.codebook[self.variable].values) >= self.least, 0, -1).astype(np.int32)
        return (TallyPart((Tally(place, 1, cell),), Counts(np.arange(1)), 1),)


class AboveEntry(Entry):
    """It in a study file."""

    kind: Literal["above"]
    variable: str
    least: float

    def build(self, codebook, position):
        return [Above(codebook, self.name or f"above {position}", self.variable, self.least)]


@pytest.fixture
def above(monkeypatch):
    monkeypatch.setattr("outrisk.outputs.REGISTRY", REGISTRY)
    register(AboveEntry)
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
        ({"kind": "abov"}, "[outputs 1] needs a kind, one of ['above', 'correlations'"),
    ):
        path = write_study(tmp_path, {"outputs": [above | change]})
        assert message in refused(capsys, "assess", path, "--out", tmp_path / "run")

    class Again(FrequenciesEntry):
        pass

    with pytest.raises(ValueError, match="there is a kind 'frequencies' already"):
        register(Again)
