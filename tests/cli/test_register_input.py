"""A register that cannot be: one line that names place, value and way out, exit 2, from every command that uses it."""

import re

import pandas as pd
import pytest
from command import outrisk, records, refused, write_study

COUNTS = {"kind": "frequencies", "by": ["area"], "values": [1, 2, 3]}
TABLE = {"kind": "frequencies", "by": ["area", "ill"]}
FULL = {"kind": "frequencies", "by": ["age", "area", "sex", "ill"]}


@pytest.mark.parametrize("command", ["prove", "assess"])
@pytest.mark.parametrize(
    ("register", "message"),
    [
        ({"keys": ["age", "wage"]}, r"small.yaml: \[register\] keys: no variable 'wage'; known: "),
        ({"keys": ["age", "ill"]}, r"small.yaml: \[register\] target 'ill' is among the keys"),
        ({"keys": ["age", "age"]}, r"small.yaml: \[register\] keys .* repeated; name each key once"),
        ({"keys": "age"}, r"\[register.keys\] is 'age': write a list"),
        ({"known_for": 0}, r"\[register.known_for\] is 0: write 'all', or the share"),
        ({"known_for": "half"}, r"\[register.known_for\] is 'half': write 'all', or the share"),
        ({"people": 5}, r"\[register\] has unknown keys \['people'\]; known: "),
    ],
)
def test_a_register_that_cannot_be(tmp_path, capsys, command, register, message):
    path = write_study(tmp_path, {"register": register})
    out = ["--out", tmp_path / "run"] if command == "assess" else []
    assert re.search(message, refused(capsys, command, path, *out))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("command", ["prove", "assess"])
def test_keys_with_values_outside_the_codebook(tmp_path, capsys, command):
    path = write_study(tmp_path, {"register": {"keys": ["area"]}}, data=records().replace({"area": {"w": "east"}}))
    line = refused(capsys, command, path)
    assert "column 'area' holds 'east', which is not in its codebook" in line


def test_prove_asks_for_the_keys_and_the_share_of_the_register(tmp_path, capsys):
    path = write_study(tmp_path, {"outputs": [FULL], "register": {"keys": ["age", "area"], "known_for": 0.5}})
    assert "who knows age, area of 80 of 160 people" in " ".join(outrisk(capsys, "prove", path)[1].split())
    code, out, _ = outrisk(capsys, "prove", path, "--known-for", 1, "--csv", tmp_path / "proved.csv")
    assert code == 0 and "who knows age, area of everybody in the data" in " ".join(out.split())
    people = records()
    alone = people.groupby(["age", "area"]).ill.transform("nunique") == 1
    assert pd.read_csv(tmp_path / "proved.csv").record.tolist() == people.index[alone].tolist()


def test_a_register_that_contradicts_what_is_released(tmp_path, capsys):
    path = write_study(tmp_path, {"outputs": [COUNTS, TABLE]})
    line = refused(capsys, "prove", path)
    assert "no data set fits all the released numbers: table area: area=n = 1 cannot be; correct it" in line


def test_a_solver_that_stops_early_proves_nothing_that_it_has_not_shown(tmp_path, capsys):
    path = write_study(tmp_path, {"outputs": [FULL]})
    code, *_ = outrisk(capsys, "prove", path, "--time-limit", 1, "--csv", tmp_path / "proved.csv")
    assert code == 0
    proved = pd.read_csv(tmp_path / "proved.csv")
    assert proved.value.tolist() == records().ill[proved.record].tolist()


@pytest.mark.parametrize(
    ("limit", "said"),
    [("_LONG", "this may take minutes and about 0.3 GB"), ("_MUCH", "this takes about 0.3 GB")],
)
def test_a_programme_too_large_for_time_or_memory_is_told_before(tmp_path, capsys, monkeypatch, limit, said):
    """Before anything is solved; the ways out that are named then give the answers of all."""
    path = write_study(tmp_path, {"outputs": [FULL]})
    monkeypatch.setattr(f"outrisk.assess.certain_people.{limit}", -1)
    told, proved = [], {}
    monkeypatch.setattr(
        "outrisk.prove.budget.Budget.part", lambda self, share: told.append(capsys.readouterr()) or self
    )
    for options in ((), ("--sample", 150), ("--time-limit", 60)):
        assert outrisk(capsys, "prove", path, *options, "--csv", tmp_path / "proved.csv")[0] == 0
        proved[options] = set(pd.read_csv(tmp_path / "proved.csv").itertuples(index=False, name=None))
    line = " ".join(told[0].err.split())
    assert said in line and "--sample N" in line and "--time-limit S" in line
    assert len(told) == 6 and not told[0].out
    assert proved["--time-limit", 60] == proved[()]
    assert proved["--sample", 150] and proved["--sample", 150] <= proved[()]


def test_too_large_a_programme_is_told_with_a_way_out(tmp_path, capsys):
    wide = {"kind": "integer", "min": 0, "max": 1999}
    codebook = dict.fromkeys(("age", "sex"), wide)
    table = {"kind": "frequencies", "by": ["age", "sex"]}
    path = write_study(tmp_path, {"outputs": [table, TABLE], "keys": ["area"], "key_sizes": [1]}, codebook=codebook)
    code, out, _ = outrisk(capsys, "prove", path)
    said = "Not used, or not in full: table age x sex (its variables make too many kinds of records)"
    assert code == 0 and said in " ".join(out.split())
