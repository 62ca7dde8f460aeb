from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import outrisk, records, refused, write_study

from outrisk.config import read_codebook, read_study
from outrisk.load import load_study_data

WEIRD = ["yes", "null", "a: b", "my age", "ünï", "1", "# no", "it's", "{x}"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("weird", [False, True])
def test_a_starter_study_is_valid_marked_and_runs(tmp_path, capsys, ending, weird):
    frame = records(60)
    if weird:
        rng = np.random.default_rng(1)
        frame = pd.DataFrame({name: rng.choice(["no", "yes", "é, ñ"], 60) for name in WEIRD})
        frame["my age"] = rng.choice([1.5, 2.0, np.nan], 60)
    data = tmp_path / f"my data.{ending}"
    frame.to_parquet(data) if ending == "parquet" else frame.to_csv(data, index=False)
    code, out, err = outrisk(capsys, "init", data, *(["--target", "yes"] if weird else []))
    assert (code, err) == (0, "")
    study, codebook = tmp_path / "my data.yaml", tmp_path / "my data.codebook.yaml"
    assert str(study) in out
    assert str(codebook) in out
    assert read_codebook(codebook).names == list(frame.columns)
    assert codebook.read_text(encoding="utf-8").count("# CHECK ") == 1 + len(frame.columns)
    assert study.read_text(encoding="utf-8").count("CHECK") >= 3
    found = read_study(study)
    assert found.file.target not in found.file.keys
    assert len(load_study_data(found).original) == 60
    text = study.read_text(encoding="utf-8").replace("runs: 5, folds: [1, 2]", "runs: 1, folds: [1]")
    study.write_text(text.replace("seed: 1", "seed: 1, generations: 2"), encoding="utf-8")
    code, out, err = outrisk(capsys, "assess", study, "--out", tmp_path / "run", "--quiet", "--workers", "1")
    assert (code, err) == (0, "")


def test_it_may_be_written_elsewhere(tmp_path, capsys):
    (tmp_path / "data").mkdir()
    (tmp_path / "studies").mkdir()
    records().to_csv(tmp_path / "data" / "d.csv", index=False)
    study = tmp_path / "studies" / "s.yaml"
    assert outrisk(capsys, "init", tmp_path / "data" / "d.csv", "--out", study)[0] == 0
    found = read_study(study)
    assert found.file.data.path == "../data/d.csv"
    assert len(load_study_data(found).original) == 160


def test_files_in_the_way(tmp_path, capsys):
    records().to_csv(tmp_path / "d.csv", index=False)
    (tmp_path / "d.codebook.yaml").write_text("mine")
    assert "d.codebook.yaml exists; give --force" in refused(capsys, "init", tmp_path / "d.csv")
    assert (tmp_path / "d.codebook.yaml").read_text() == "mine"
    assert not (tmp_path / "d.yaml").exists()
    assert outrisk(capsys, "init", tmp_path / "d.csv", "--force")[0] == 0
    assert "d.yaml exists; give --force" in refused(capsys, "init", tmp_path / "d.csv")
    line = refused(capsys, "init", tmp_path / "d.csv", "--out", tmp_path / "no" / "d.yaml")
    assert "no: no such directory; make it, or name another file" in line


def test_data_that_make_no_study(tmp_path, capsys):
    records()[["age"]].to_csv(tmp_path / "d.csv", index=False)
    assert "one column only; a study needs a key and a target" in refused(capsys, "init", tmp_path / "d.csv")
    records()[["age"]].assign(empty="", one=1).to_csv(tmp_path / "d.csv", index=False)
    line = refused(capsys, "init", tmp_path / "d.csv")
    assert "1 column can go into a codebook, a study needs a key and a target; 'empty': no values at all" in line
    assert [p.name for p in tmp_path.iterdir()] == ["d.csv"]


def test_copies_of_records_are_said(tmp_path, capsys):
    people = records().assign(code=lambda frame: [f"p{at:05}" for at in range(len(frame))])
    pd.concat([people, people[:3]]).to_csv(tmp_path / "d.csv", index=False)
    told = outrisk(capsys, "init", tmp_path / "d.csv")[1]
    assert "Records alike in all columns, 'code' too, to one before: 3; if they are copies" in " ".join(told.split())
    people.to_csv(tmp_path / "e.csv", index=False)
    assert "alike in all columns" not in outrisk(capsys, "init", tmp_path / "e.csv")[1]


def test_a_directory_is_no_study(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    records().to_csv("d.csv", index=False)
    for out in (".", str(tmp_path), ".."):
        line = refused(capsys, "init", "d.csv", "--out", out)
        assert "is a directory; name the file to write" in line
        assert "a directory" in refused(capsys, "init", "d.csv", "--out", out, "--force")
    assert "a directory" in refused(capsys, "init", ".")
    Path("loop.csv").symlink_to("loop.csv")
    for command in (("init", "loop.csv"), ("measure", "--original", "loop.csv", "--synthetic", "d.csv")):
        more = ("--keys", "age", "--target", "ill") if command[0] == "measure" else ()
        assert "loop.csv: no such file" in refused(capsys, *command, *more)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.csv", "loop.csv"]


def test_numbers_with_a_word_for_missing_and_codes_about_zero(tmp_path, capsys):
    """A number among which N stands for missing is on a grid; -1, 0, 1 are codes; a grid's ends lie on its step."""
    rng = np.random.default_rng(2)
    income = rng.integers(0, 90_000, 400).astype(str)
    income[rng.random(400) < 0.2] = "N"
    frame = pd.DataFrame({"income": income, "fever": rng.choice([-1, 0, 1], 400), "sex": rng.choice(["f", "m"], 400)})
    frame["change"] = rng.integers(-30, 30, 400)
    frame.loc[0, "change"] = -31
    frame.to_csv(tmp_path / "d.csv", index=False)
    code, out, err = outrisk(capsys, "init", tmp_path / "d.csv", "--target", "income")
    assert (code, err) == (0, "") and "Taken as missing in 'income': N (--missing says otherwise)" in out
    found = read_codebook(tmp_path / "d.codebook.yaml")
    assert found["income"].numeric and found["income"].missing and len(found["income"].values) < 1_001
    assert found["fever"].values == ("-1", "0", "1")
    assert found["change"].values[0] < -31 and len(set(found["change"].values)) == len(found["change"].values)
    assert len(load_study_data(read_study(tmp_path / "d.yaml")).original) == 400


@pytest.mark.parametrize(("name", "out"), [("d.csv", "d.csv"), ("d.codebook.yaml", "d.yaml"), ("d.csv", "link.csv")])
def test_the_records_are_not_written_over(tmp_path, capsys, name, out):
    data = tmp_path / name
    records().to_csv(data, index=False)
    if out.startswith("link"):
        (tmp_path / out).symlink_to(data)
    before = data.read_bytes()
    assert "is an input" in refused(capsys, "init", data, "--out", tmp_path / out, "--force")
    assert data.read_bytes() == before


@pytest.mark.parametrize("name", ["small.yaml", "small.csv", "small.codebook.yaml"])
def test_who_is_proved_is_not_written_over_an_input(tmp_path, capsys, name):
    path = write_study(tmp_path)
    assert "is an input" in refused(capsys, "prove", path, "--csv", tmp_path / name)


def test_many_columns_with_one_code_for_missing_stand_in_one_line(tmp_path, capsys):
    """A hundred lines of the same would hide what else is to be checked."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({f"q{k}": rng.choice([1, 2, 3, -9], 400, p=[0.3, 0.3, 0.3, 0.1]) for k in range(5)})
    frame.assign(ill=rng.choice(["no", "yes"], 400)).to_csv(tmp_path / "d.csv", index=False)
    out = outrisk(capsys, "init", tmp_path / "d.csv", "--target", "ill")[1]
    line = "Taken as missing in 5 columns, 'q0', 'q1', 'q2', 'q3', 'q4': -9 (--missing says otherwise)"
    assert line in out and out.count("Taken as missing") == 1
