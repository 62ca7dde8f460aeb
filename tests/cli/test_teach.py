import io
import json
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
import yaml
from command import CODEBOOK, outrisk, records, refused, write_study
from rich.console import Console

from outrisk.config import read_codebook
from outrisk.microdata import from_frame
from outrisk.report.pages.teaching_page import render_teaching
from outrisk.tabular import read_table

TABLE = {"kind": "frequencies", "by": ["area", "ill"], "values": [40, 20, 30, 25, 25, 20]}
LOGIT = {
    "kind": "logit",
    "formula": "ill ~ age",
    "decimals": 2,
    "values": {"age": 0.25, "Intercept": -1.0},
}
RULES = ["age == 0 implies sex == 1", "area != 'w' or age < 4"]


def study(folder, changes=None, codebook=None):
    """The small study with released values in place of its data."""
    given = {
        "data": None,
        "keys": None,
        "target": None,
        "study": None,
        "records": 160,
        "outputs": [TABLE],
        "evolve": {"generations": 120},
    }
    path = write_study(folder, given | (changes or {}), codebook)
    (folder / "small.csv").unlink()
    return path


def test_teaching_data_from_released_numbers_alone(tmp_path, capsys):
    path, place = study(tmp_path, {"rules": RULES, "source": "A paper & its <tables>, 1999"}), tmp_path / "course"
    code, out, err = outrisk(
        capsys, "teach", path, "--copies", "2", "--out", place, "--parquet", "--dta", "--workers", "2"
    )
    assert (code, err) == (0, "")
    assert "2 synthetic data sets of 160 records; 6 of 6 released numbers reproduced (full refit), 6 to 1 %" in out
    assert "In no output: age and sex" in out
    assert "6 to 1 % of their sampling error" in (place / "teaching.html").read_text(encoding="utf-8")
    assert not list(tmp_path.glob(".*"))
    names = [f"small_synthetic_{k}.{ending}" for k in (1, 2) for ending in ("csv", "dta", "parquet")]
    assert sorted(file.name for file in (place / "synthetic").iterdir()) == names
    frames = [pd.read_csv(place / "synthetic" / name) for name in names[::3]]
    assert (frames[0] != frames[1]).any(axis=None)
    codebook = read_codebook(place / "codebook.yaml")
    assert codebook.names == [*CODEBOOK["variables"], "synthetic"]
    for frame in frames:
        counts = frame.groupby(["area", "ill"]).size()
        assert counts.tolist() == TABLE["values"]
        assert (frame["synthetic"] == 1).all()
        assert not ((frame["age"] == 0) & (frame["sex"] == 2)).any()
        assert not ((frame["area"] == "w") & (frame["age"] == 4)).any()
    for name in (name for name in names if not name.endswith("dta")):
        assert len(from_frame(read_table(place / "synthetic" / name), codebook)) == 160
    stata = [pd.read_stata(place / "synthetic" / name) for name in names[1::3]]
    assert all((one["area"].astype(str) == other["area"]).all() for one, other in zip(stata, frames, strict=True))
    rows = pd.read_csv(place / "reproduced.csv")
    assert len(rows) == 12 and rows["matched"].all() and (rows["refit"] == rows["released"]).all()
    for name in ("study.yaml", "codebook.yaml"):
        assert (place / name).read_text().startswith("# synthetic: ")
    assert json.loads((place / "manifest.json").read_text())["synthetic"] is True
    page = (place / "teaching.html").read_text()
    assert "A paper &amp; its &lt;tables&gt;, 1999" in page
    assert "http" not in page.replace('http-equiv="Content-Security-Policy"', "")
    for rule in RULES:
        assert rule.replace("'", "&#39;").replace("<", "&lt;") in page
    assert '<td>categorical</td><td class="prose">n, s, w</td>' in page
    assert '<td>integer</td><td class="prose">0 to 4</td>' in page
    assert "object at 0x" not in page and "nan" not in re.findall(r"<td[^>]*>([^<]*)", page)
    before = (place / "teaching.html").read_bytes()
    (place / "teaching.html").unlink()
    assert outrisk(capsys, "report", place)[0] == 0
    assert (place / "teaching.html").read_bytes() == before


def test_what_is_not_reproduced_is_named(tmp_path, capsys):
    """Two intercepts of one regression: not both can come out."""
    fits = [
        {"kind": "ols", "name": name, "formula": "age ~ sex", "values": {"Intercept": first, "sex": 0.1}}
        for name, first in (("one", 1.5), ("other", 2.5))
    ]
    path, place = study(tmp_path, {"outputs": [TABLE, *fits]}), tmp_path / "course"
    code, out, _ = outrisk(capsys, "teach", path, "--out", place)
    said = "Some results come out otherwise than they were released, by more than 1 % of their sampling error: "
    assert code == 0 and f"Note: {said}" in out and "other, Intercept: 2.5000 released, " in out
    assert said in (place / "teaching.html").read_text()


@pytest.mark.parametrize("command", ["teach", "assess"])
def test_progress_on_a_terminal_alone(tmp_path, capsys, monkeypatch, command):
    changes = {"outputs": [{"kind": "frequencies", "by": ["area", "ill"]}], "study": {"folds": [1], "runs": 1}}
    path, screen = write_study(tmp_path, changes), io.StringIO()
    terminal = partial(Console, file=screen, force_terminal=True, width=120)
    monkeypatch.setattr(f"outrisk.cli.{command}.Console", terminal)
    assert outrisk(capsys, command, path, "--out", tmp_path / "run")[0] == 0
    what = "data sets" if command == "teach" else "runs"
    assert f"{what} 1 of 1" in screen.getvalue() and "% of numbers at their digits" in screen.getvalue()
    screen.truncate(0)
    assert outrisk(capsys, command, path, "--out", tmp_path / "quiet", "--quiet")[0] == 0
    assert not screen.getvalue()


def test_seed_and_records_of_the_command_line_are_kept_and_give_the_same_again(tmp_path, capsys):
    path, first, again = study(tmp_path), tmp_path / "first", tmp_path / "again"
    for place, copies in ((first, 1), (again, 2)):
        arguments = ["--seed", "9", "--copies", copies, "--out", place, "--quiet"]
        assert outrisk(capsys, "teach", path, *arguments) == (0, "", "")
    name = "synthetic/small_synthetic_1.csv"
    assert (first / name).read_bytes() == (again / name).read_bytes()
    assert outrisk(capsys, "teach", path, "--out", tmp_path / "other", "--quiet") == (0, "", "")
    assert (first / name).read_bytes() != (tmp_path / "other" / name).read_bytes()
    resolved = yaml.safe_load((first / "study.yaml").read_text())
    assert (resolved["records"], resolved["evolve"]["seed"]) == (160, 9)
    assert resolved["outputs"][0]["values"] == TABLE["values"]


def test_a_regression_is_checked_by_refit_of_the_written_file(tmp_path, capsys):
    path, place = study(tmp_path, {"outputs": [LOGIT], "codebook": "small.codebook.yaml"}), tmp_path / "course"
    assert outrisk(capsys, "teach", path, "--records", "400", "--out", place, "--quiet") == (0, "", "")
    frame = pd.read_csv(place / "synthetic" / "small_synthetic_1.csv")
    assert len(frame) == 400
    fitted = smf.logit("y ~ age", frame.assign(y=(frame["ill"] == "yes").astype(int))).fit(disp=0).params
    rows = pd.read_csv(place / "reproduced.csv").set_index("label")
    assert np.allclose(rows.loc[fitted.index, "refit"], fitted, atol=1e-6)
    assert rows["matched"].all()
    assert rows.loc["age", "released"] == 0.25


def test_with_data_the_numbers_are_computed_and_that_is_said(tmp_path, capsys):
    path, place = write_study(tmp_path, {"outputs": [{"kind": "frequencies", "by": ["area", "ill"]}]}), tmp_path / "c"
    code, out, err = outrisk(capsys, "teach", path, "--out", place)
    assert (code, err) == (0, "")
    assert "the numbers were computed from the study's data" in out
    assert "Not from a publication" in (page := (place / "teaching.html").read_text(encoding="utf-8"))
    assert "<code>outrisk assess</code> measures what they give away" in page
    made = pd.read_csv(place / "synthetic" / "small_synthetic_1.csv")
    assert (made.groupby(["area", "ill"]).size() == records().groupby(["area", "ill"]).size()).all()


def test_without_data_the_page_does_not_speak_of_any(tmp_path, capsys):
    place = tmp_path / "course"
    assert outrisk(capsys, "teach", study(tmp_path), "--out", place, "--quiet") == (0, "", "")
    assert "Not from a publication" not in (place / "teaching.html").read_text()
    assert "no original record was read" in (place / "teaching.html").read_text()


def test_values_from_a_file_stand_in_the_manifest(tmp_path, capsys):
    path, place = study(tmp_path, {"outputs": [LOGIT | {"values": "paper.csv"}]}), tmp_path / "course"
    (tmp_path / "paper.csv").write_text("term,value\nage,0.25\nIntercept,-1\n")
    assert outrisk(capsys, "teach", path, "--out", place, "--quiet") == (0, "", "")
    manifest = json.loads((place / "manifest.json").read_text())
    assert [each["name"] for each in manifest["inputs"] if each["what"] == "values"] == ["paper.csv"]


def test_risk_needs_the_original(tmp_path, capsys):
    line = refused(capsys, "assess", study(tmp_path), "--out", tmp_path / "run")
    assert re.search(r"small.yaml: risk is measured against the original records, .* outrisk teach .*small.yaml", line)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"records": None}, r"'records' is missing; add how many the results rest on \(--records, in Python"),
        ({"records": 90}, "output 'table area x ill' counts 160 records, and 90 are to be made; make as many"),
        (
            {"outputs": [TABLE, {"kind": "frequencies", "by": ["ill"], "values": [100, 60]}]},
            "table area x ill.*table ill",
        ),
        ({"records": 0}, r"\[records\] is 0: it must be"),
        ({"rules": ["age > 1 implies wage == 0"]}, r"\[rules 1\] 'wage == 0' names \['wage'\]; variables are"),
        ({"rules": ["age > 1", "age < 1"]}, r"\[rules\] no combination of values keeps 1 \(age > 1\) and 2"),
        ({"rules": "age > 1"}, r"\[rules\] is 'age > 1': write a list"),
        (
            {"outputs": [TABLE | {"values": [1, 2]}]},
            "output 'table area x ill': 2 values given for 6 published numbers",
        ),
        ({"outputs": [TABLE | {"values": [40, 20, 30, 25, 25, -20]}]}, "area=w, ill=yes is -20; a count lies from 0"),
        (
            {"outputs": [TABLE | {"show": "row_percentages", "values": [101, 0, 50, 50, 50, 50]}]},
            "area=n, ill=no is 101; a percentage lies from 0 to 100: correct the value",
        ),
        (
            {"outputs": [TABLE | {"show": "row_percentages", "values": [60, 60, 50, 50, 50, 50]}]},
            "the 2 shares from 'area=n, ill=no' on add up to 120 and should to 100",
        ),
        (
            {"outputs": [TABLE | {"values": [40, 3, 30, 25, 25, 37], "protection": {"threshold": 10}}]},
            "area=n, ill=yes is 3, and cells of 1 to 9 records are withheld",
        ),
        (
            {"outputs": [TABLE | {"values": [40, 13, 30, 25, 25, 30], "protection": {"round_to": 5}}]},
            "area=n, ill=yes is 13, and counts are rounded to base 5",
        ),
        ({"outputs": [TABLE | {"values": {"ill=no, area=n": 40}}]}, "did you mean 'area=n, ill=no'"),
        ({"outputs": [TABLE | {"where": "age > 9"}]}, "where: 'age > 9' holds for no value of the codebook"),
        (
            {
                "outputs": [
                    LOGIT
                    | {
                        "release": ["coefficients", "standard_errors"],
                        "values": LOGIT["values"] | {"age: standard error": -1, "Intercept: standard error": 0.2},
                    }
                ]
            },
            "age: standard error is -1; a standard error is positive",
        ),
        ({"outputs": [TABLE | {"values": 5}]}, r"\[outputs 1.values\] is 5: write a list in the order"),
        ({"outputs": [LOGIT | {"values": {"agee": 1}}]}, "it has no number called 'agee'; did you mean 'age'"),
        ({"outputs": [LOGIT | {"values": "no.csv"}]}, "no.csv: no such file"),
        ({"outputs": [LOGIT, {"kind": "frequencies", "by": ["sex"]}]}, r"outputs 2 has none"),
        ({"codebook": None}, "'codebook' is missing; add it: without 'data' it cannot be inferred"),
        ({"holdout": {"path": "x.csv"}}, "'holdout' goes with 'data'"),
        ({"privacy": {"metrics": []}}, "'privacy' goes with 'data'"),
        ({"attacks": "all"}, "'attacks' goes with 'data'"),
    ],
)
def test_studies_that_cannot_be_taught(tmp_path, capsys, changes, message):
    line = refused(capsys, "teach", study(tmp_path, changes), "--out", tmp_path / "course")
    assert re.search(message, line), line
    assert not (tmp_path / "course").exists()


def test_a_codebook_that_has_the_mark_already(tmp_path, capsys):
    path = study(tmp_path, codebook={"synthetic": {"kind": "integer", "min": 0, "max": 1}})
    assert "a variable is called 'synthetic'" in refused(capsys, "teach", path, "--out", tmp_path / "course")


def test_a_directory_in_the_way(tmp_path, capsys):
    path = study(tmp_path)
    (tmp_path / "course").mkdir()
    (tmp_path / "course" / "thesis.txt").write_text("years")
    assert "exists; give --force" in refused(capsys, "teach", path, "--out", tmp_path / "course")
    assert "is not a run directory" in refused(capsys, "teach", path, "--out", tmp_path / "course", "--force")
    assert "'--copies'" in refused(capsys, "teach", path, "--copies", "0")


def test_an_assessment_keeps_the_rules_too(tmp_path, capsys):
    changes = {
        "rules": ["age > 0"],
        "outputs": [{"kind": "frequencies", "by": ["area", "ill"]}],
        "study": {"folds": [1], "runs": 1},
    }
    people = records()
    for data, kept in ((people[people["age"] > 0], True), (people, False)):  # a rule that records break is no rule
        path = write_study(tmp_path, changes, data=data)
        assert outrisk(capsys, "assess", path, "--out", tmp_path / "run", "--quiet", "--force")[0] == 0
        (made,) = (tmp_path / "run" / "synthetic").iterdir()
        assert (pd.read_csv(made)["age"] > 0).all() == kept


def test_the_page_shows_cross_tables_pictures_and_a_chance_relation(tmp_path, capsys):
    other = {"kind": "frequencies", "by": ["sex"], "values": [70, 90]}
    path, place = study(tmp_path, {"outputs": [TABLE, other]}), tmp_path / "course"
    assert outrisk(capsys, "teach", path, "--copies", "2", "--out", place, "--workers", "1")[0] == 0
    page = (place / "teaching.html").read_text(encoding="utf-8")
    assert ": area by ill, as released</caption>" in page
    assert '<th scope="row" class="label">n</th><td class="n">40</td><td class="n">20</td>' in page
    assert page.count('<svg class="bars"') == len(CODEBOOK["variables"])
    assert "An example of what not to find" in page and "In the other data sets, evolved from the same numbers" in page
    chance = json.loads((place / "teaching.json").read_text(encoding="utf-8"))["chance"]
    assert {chance["first"], chance["second"]} in ({"area", "sex"}, {"sex", "ill"}) and len(chance["p_values"]) == 2
    assert (place / "read.do").read_text(encoding="utf-8").startswith("* synthetic")
    assert (place / "read.R").read_text(encoding="utf-8").startswith("# synthetic")
    teaching = json.loads((place / "teaching.json").read_text(encoding="utf-8"))
    teaching["chance"]["p_values"][1] = None  # as where the second data set has one group of enough records
    (place / "teaching.json").write_text(json.dumps(teaching), encoding="utf-8")
    render_teaching(place)
    page = (place / "teaching.html").read_text(encoding="utf-8")
    assert "p is undefined (only one of the groups has enough records)." in page


def test_the_page_says_how_printed_numbers_were_read(tmp_path, capsys):
    chi2 = (
        "\n\tPearson's Chi-squared test with simulated p-value\n\ndata:  area and ill\n"
        "X-squared = 2.1265, df = NA, p-value = 0.5\n"
    )
    test = {"kind": "test", "variable": "area", "by": "ill", "values": chi2}
    path, place = study(tmp_path, {"outputs": [TABLE, test]}), tmp_path / "course"
    code, _, _ = outrisk(capsys, "teach", path, "--out", place, "--workers", "1")
    page = (place / "teaching.html").read_text(encoding="utf-8")
    assert code == 0 and "How printed numbers were read" in page
    assert "a simulated p-value is that of no refit; it is left out" in page
