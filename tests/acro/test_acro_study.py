"""`outrisk init --acro`: every output of a folder assessed, or said why not; what is open settled by the data."""

import csv
import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
import yaml

sys.path.insert(0, str(Path(__file__).parents[1] / "readers"))
sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from command import outrisk, refused
from fair import OCCUPATIONS, frame
from sessions import entry, write_folder, write_session

from outrisk.acro.command import read_command
from outrisk.acro.session import _failed
from outrisk.config import read_study
from outrisk.load import load_study_data
from outrisk.outputs import release

ROLES = ("--keys", "age", "--keys", "religion", "--keys", "educ", "--target", "affair")


@pytest.fixture(scope="module")
def fair_csv(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "fair.csv"
    frame().to_csv(path, index=False)
    return path


def covered(study):
    """Coverage by output, from the file beside the study."""
    text = study.with_name(f"{study.stem}.coverage.md").read_text()
    rows = [re.split(r"(?<!\\) \| ", line.strip("| ")) for line in text.splitlines() if line.startswith("| ")][2:]
    return {row[0]: (row[2], row[3] if len(row) > 3 else "") for row in rows}


@pytest.mark.parametrize("old", [False, True], ids=["1.x", "0.4.x"])
def test_a_folder_with_data_becomes_a_study_that_agrees(tmp_path, capsys, fair_csv, old):
    folder = write_session(tmp_path / "session", frame(), old)
    study = tmp_path / "study.yaml"
    code, out, err = outrisk(capsys, "init", "--acro", folder, "--data", fair_csv, "--out", study, *ROLES)
    assert code == 0, err
    assert "6 outputs: 5 assessed, 0 need input, 1 not covered." in out
    found = covered(study)
    assert list(found) == ["one", "two", "hidden", "label_only", "model", "plot"]
    assert "where: occ != 'student' (found by trying: every number agrees)" in found["two"][1]
    assert "cut off" in found["model"][1] and "where: age >= 27" in found["model"][1]
    assert found["plot"] == (
        "not covered",
        "a picture (histogram) holds no numbers that can be read; give its numbers as a table",
    )
    read = read_study(study)
    original = load_study_data(read).original
    given = read.given(original.codebook)
    assert all(released.recompute(original).matched.all() for released in given.values())
    hidden = given["hidden"]
    assert (hidden.low != hidden.high).sum() == 6 and hidden.high[hidden.low != hidden.high].max() == 9
    assert (given["label_only"].low == given["label_only"].high).all()  # by its cells, whatever its label says
    _, said, _ = outrisk(capsys, "check", study)
    assert "differs from the data" not in said and "two" in said and "difference of outputs" in said


def test_numbers_that_a_grid_moves_are_computed_by_the_study(tmp_path, capsys):
    """As many numbers as the session has, of values rounded to the grid; where cells are withheld, its own, coarser."""
    data = frame().assign(affairs=lambda known: known["affairs"] + np.arange(len(known)) % 999 * 1.234567e-6)
    data.to_csv(tmp_path / "fair.csv", index=False)
    data = pd.read_csv(tmp_path / "fair.csv")
    sums = pd.crosstab(data["occ"], data["affair"], values=data["affairs"], aggfunc="sum", margins=True)
    means = pd.crosstab(data["occ"], data["marriage"], values=data["affairs"], aggfunc="mean")
    counts = pd.crosstab(data["occ"], data["marriage"])
    hidden = [[r, c] for r in range(6) for c in range(5) if counts.iloc[r, c] < 10]
    check = {"summary": {"MinimumThresholdCheck": len(hidden)}, "cells": {"MinimumThresholdCheck": hidden}}
    text = "session.crosstab(df.occ, df.{}, values=df.affairs, aggfunc={})"
    results = {
        "sums": entry("crosstab", text.format("affair", "'sum', margins=True"), ["sums_0.csv"]),
        "means": entry(
            "crosstab", text.format("marriage", "'mean'"), ["m_0.csv"], sdc=check, properties={"mitigation": "suppress"}
        ),
    }
    files = {"sums_0.csv": sums.to_csv(), "m_0.csv": means.where(counts >= 10).to_csv()}
    folder, study = write_folder(tmp_path / "session", files, results), tmp_path / "study.yaml"
    code, _, err = outrisk(capsys, "init", "--acro", folder, "--data", tmp_path / "fair.csv", "--out", study, *ROLES)
    assert code == 0, err
    found = covered(study)
    assert "computed by the study, from values on the codebook's grid" in found["sums"][1]
    assert re.search(r"taken at \d decimals", found["means"][1])
    read = read_study(study)
    original = load_study_data(read).original
    assert list(read.given(original.codebook)) == ["means"]
    built = {output.name: output for output in read.outputs(original.codebook)}
    assert set(built) == {"sums", "sums: totals by occ", "sums: totals by affair", "sums: totals", "means"}
    apart = release(built["sums: totals by occ"], original).values - sums["All"].iloc[:-1].to_numpy()
    assert 1e-3 < np.abs(apart).max() < 1.0  # of some 2,000 records a cell, each rounded by 0.001 at most
    _, said, _ = outrisk(capsys, "check", study)
    assert "differ" not in said


def test_robust_errors_of_a_session_are_known_or_left_out(tmp_path, capsys, fair_csv):
    """The head of a regression says it, in a file of its own; that of the coefficients does not."""
    files, results = {}, {}
    for name, covariance in (("plain", "nonrobust"), ("white", "HC1"), ("leverage", "HC3"), ("grouped", "cluster")):
        groups = {"groups": frame()["religion"]} if covariance == "cluster" else {}
        fit = smf.ols("affairs ~ age + educ", frame()).fit(cov_type=covariance, cov_kwds=groups or None)
        head, table = (list(csv.reader(each.as_csv().splitlines())) for each in fit.summary().tables[:2])
        for at, rows in enumerate((head[1:], table)):
            files[f"{name}_{at}.csv"] = "\n".join(",".join(cell.strip() for cell in row) for row in rows) + "\n"
        command = "session.olsr(formula='affairs ~ age + educ', data=df)"
        results[name] = entry("olsr", command, [f"{name}_0.csv", f"{name}_1.csv"], "regression", properties={"dof": 9})
    folder, study = write_folder(tmp_path / "session", files, results), tmp_path / "study.yaml"
    code, _, err = outrisk(capsys, "init", "--acro", folder, "--data", fair_csv, "--out", study, *ROLES)
    assert code == 0, err
    read = read_study(study)
    original = load_study_data(read).original
    given = read.given(original.codebook)
    for name, estimator, distribution in (("plain", "", ""), ("white", "HC1", "normal")):
        output = given[name].output
        assert (output.covariance.estimator, output.covariance.distribution) == (estimator, distribution)
        assert "standard_errors" in output.release.parts
        assert given[name].recompute(original).matched.all()
    for name in ("leverage", "grouped"):
        assert given[name].output.release.parts == ("coefficients",)
        assert "they, limits and p-values are left out" in covered(study)[name][1]


def test_without_data_what_is_open_is_blank_and_said(tmp_path, capsys):
    folder = write_session(tmp_path / "session", frame())
    study = tmp_path / "study.yaml"
    code, out, _ = outrisk(capsys, "init", "--acro", folder, "--out", study)
    assert code == 0 and "6 outputs: 3 assessed, 2 need input, 1 not covered." in out
    text = study.read_text()
    assert "# two: session.crosstab(some.religion, some.affair)" in text
    assert "??? where: it is computed on 'some', not on 'df'; say on which records" in text
    assert "[data.path] is still ???: it could not be known; fill it in" in refused(capsys, "check", study)
    document = yaml.safe_load(text)
    assert [entry["name"] for entry in document["outputs"]] == ["one", "hidden", "label_only"]


def test_nothing_is_overwritten_and_folders_that_are_none_are_refused(tmp_path, capsys, fair_csv):
    folder = write_session(tmp_path / "session", frame())
    (tmp_path / "study.yaml").write_text("mine")
    assert "exists; give --force" in refused(capsys, "init", "--acro", folder, "--out", tmp_path / "study.yaml")
    results = (folder / "results.json").read_bytes()
    assert "is an input" in refused(capsys, "init", "--acro", folder, "--out", folder / "results.json", "--force")
    assert (folder / "results.json").read_bytes() == results
    assert "neither results.json nor results.xlsx" in refused(capsys, "init", "--acro", tmp_path)
    assert "no such folder" in refused(capsys, "init", "--acro", tmp_path / "no")
    (folder / "results.json").write_text('{"version": "1", "results": {"a": {"files": [{"name": "../x.csv"}]}}}')
    assert "a file lies in the folder itself" in refused(capsys, "check", folder)
    (folder / "results.json").write_text("{")
    assert "not JSON" in refused(capsys, "check", folder)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s.crosstab(df.a, df['b b'])", {"rows": ("a",), "columns": ("b b",)}),
        (
            "s.crosstab([df.a, df.c], [df.b], values=df.x, aggfunc=['mean', 'std'])",
            {"rows": ("a", "c"), "aggfunc": ("mean", "std")},
        ),
        ("s.crosstab(df.a, df.b, normalize=True, margins=True)", {"normalize": "all", "margins": True}),
        ('s.logitr("y ~ a", df[df.a > 3])', {"formula": "y ~ a", "where": "a > 3"}),
        ('s.olsr("y ~ a", data=df[(df.a > 3) & (df["b"] != "x")])', {"where": "(a > 3 and b != 'x')"}),
        ('s.olsr("y ~ a", df.query("a == 1"))', {"where": "a == 1"}),
        ('s.olsr("y ~ a", df[df.a.map(f)])', {"where": "", "unread": ("df[df.a.map(f)]",)}),
        ("s.logitr(", {"whole": False, "method": "logitr"}),
        ("__import__('os').system('x')", {"rows": (), "formula": "x"}),
        ("", {"whole": False}),
    ],
)
def test_commands_are_read_and_never_run(text, expected):
    found = read_command(text)
    assert {name: getattr(found, name) for name in expected} == expected


def test_a_session_in_a_workbook(tmp_path, capsys, fair_csv):
    """As acro's finalise("...", "xlsx") lays sheets out: command, summary, checks, values; merged headers."""
    book = pytest.importorskip("openpyxl").Workbook()
    (tmp_path / "session").mkdir()
    folder = write_session(tmp_path / "other", frame())
    described = book.active
    described.title = "description"
    described.append(["Sheet", "Command", "Summary"])
    four = pd.crosstab([frame()["occ"], frame()["religion"]], [frame()["affair"], frame()["marriage"]])
    tables = {
        "one": ("s.crosstab(df.religion, df.affair)", [line.split(",") for line in _lines(folder / "one_0.csv")]),
        "four": ("s.crosstab([df.occ, df.religion], [df.affair, df.marriage])", _merged(four)),
        "hidden": ("s.crosstab(df.occ, df.marriage)", [line.split(",") for line in _lines(folder / "hidden_0.csv")]),
        "model": ('s.logitr("affair ~ age + C(religion)", df[df.age > 25])', None),
    }
    for name, (command, rows) in tables.items():
        described.append([name, command, "summary"])
        sheet = book.create_sheet(name)
        for row in ([None, 0], ["Command", command], ["Summary", "x"], [None]):
            sheet.append(row)
        blocks = [_checks(rows), rows] if rows else [_csv(folder / "model_0.csv"), _csv(folder / "model_1.csv")]
        for block in blocks:
            for row in [*block, [None]]:
                sheet.append([_number(cell) for cell in row])
    book.save(tmp_path / "session" / "results.xlsx")
    study = tmp_path / "study.yaml"
    code, out, err = outrisk(capsys, "init", "--acro", tmp_path / "session", "--data", fair_csv, "--out", study, *ROLES)
    assert code == 0 and "4 outputs: 4 assessed" in out, (out, err)
    read = read_study(study)
    original = load_study_data(read).original
    given = read.given(original.codebook)
    assert all(released.recompute(original).matched.all() for released in given.values())
    hidden = given["hidden"]
    assert len(given["four"].low) == 240 and (hidden.low != hidden.high).sum() == 6 and hidden.high.max() > 9
    assert hidden.high[hidden.low != hidden.high].max() == 9


def _lines(path):
    return path.read_text().splitlines()


def _csv(path):
    return [line.split(",") for line in _lines(path)]


def _number(cell):
    try:
        return float(cell) if cell not in (None, "") else None
    except ValueError:
        return cell


def _checks(rows):
    """The block of checks above a table: ok, or the check that a cell fails."""
    found = []
    for row in rows:
        cells = [_number(cell) for cell in row]
        data = sum(isinstance(cell, float) for cell in cells) > 1 and not isinstance(cells[0], type(None))
        data = data or (len(row) > 2 and cells[0] in OCCUPATIONS.values())
        failed = ["ok" if isinstance(cell, float) else "MinimumThresholdCheck; " for cell in cells[1:]]
        found.append([row[0], *failed] if data and row[0] not in ("religion", "occ", "") else row)
    return found


def _merged(table):
    """Header and row levels as a sheet with merged cells has them: each once."""
    text = [line.split(",") for line in table.to_csv().splitlines()]
    head, body = text[0], text[3:]
    text[0] = head[:2] + [
        cell if cell != before else "" for cell, before in zip(head[2:], ["", *head[2:-1]], strict=True)
    ]
    firsts = [row[0] for row in body]
    for row, before in zip(body[1:], firsts[:-1], strict=True):
        row[0] = "" if row[0] == before else row[0]
    return text


def test_the_fixture_end_to_end(shared, tmp_path, capsys, fair_csv):
    """A real folder of acro 1.0.2: of 45 results at least 30 are assessed, every number beside the data."""
    study = tmp_path / "fair.yaml"
    folder = shared / "fixtures" / "acro_fair"
    code, _, err = outrisk(capsys, "init", "--acro", folder, "--data", fair_csv, "--out", study)
    assert code == 0, err
    # of seven that others know, not the number of children, which stands in the fewest outputs
    assert "\nkeys: [marriage, religion, age, yrs_married, educ, occ]\ntarget: affair\n" in study.read_text()
    found = covered(study)
    assert list(found) == list(json.loads((folder / "results.json").read_text())["results"])
    by_state = {state: [name for name, (each, _) in found.items() if each == state] for state, _ in found.values()}
    assert len(by_state["assessed"]) >= 30 and by_state["needs input"] == ["olsr_few"]
    assert all("agree with the data" in found[name][1] for name in by_state["assessed"])
    assert "the command was cut off" in found["logitr_over25"][1]
    assert "where: age >= 27 (found by trying" in found["logitr_over25"][1]
    assert all(why for name in (*by_state["not covered"], *by_state["needs input"]) for why in [found[name][1]])
    _, said, _ = outrisk(capsys, "check", study)
    said = " ".join(said.split())
    assert "difference of outputs" in said and "xt_religion_affair minus xt_religion_affair_nostudent" in said


def test_faults_of_the_fixture(shared, capsys):
    code, out, _ = outrisk(capsys, "check", shared / "fixtures" / "acro_fair")
    said = " ".join(out.split())
    assert code == 0
    assert "sup_occ_marriage_margins (not suppressed)" in said and "output_35 (not suppressed)" in said
    assert "sup_occ_marriage (withheld cells recoverable)" in said and "occ=professional, marriage=1: 1" in said
    assert "xt_religion_affair minus xt_religion_affair_nostudent (difference of outputs)" in said
    assert "olsr_few (degrees of freedom) 7 residual" in said and "logitr_over25 (command cut off)" in said
    assert "(checksum)" not in said and "cannot be read" not in said
    assert "output_7 (failed in ACRO) It fails ACRO's own checks (NKCheck: 4 cells; PPercentCheck: 5 cells; " in said
    assert "(MinimumThresholdCheck: 1 cells; MinimumDoFCheck: dof=6 < 10)" in said
    assert "The researcher asks for an exception: Shape of the distribution only." in said
    assert "output_18, output_34, output_39, output_41, output_42 (not looked at) 10 outputs" in said
    for key, said_of in json.loads((shared / "fixtures" / "acro_fair" / "results.json").read_text())["results"].items():
        assert said_of["status"] != "fail" or f"{key} (" in said  # nothing that ACRO fails goes without a word


def test_failed_checks_are_read_from_a_summary():
    assert _failed("fail; threshold: 6 cells may need suppressing; p-ratio: 5 cells may need suppressing; ") == (
        "MinimumThresholdCheck: 6 cells",
        "PPercentCheck: 5 cells",
    )
    assert _failed("Mean : \nNKCheck: fail - 4 cells may need suppressing.\n PPercentCheck: pass\n") == (
        "NKCheck: 4 cells",
    )
    assert _failed("MinimumDoFCheck: pass dof=6362 >= 10") == _failed("pass") == _failed("") == ()


def test_faults_of_a_folder_worst_first(tmp_path, capsys):
    folder = write_session(tmp_path / "session", frame())
    (folder / "one_0.csv").write_text((folder / "one_0.csv").read_text().replace("613", "612"))
    (folder / "plot_0.png").unlink()
    _, out, _ = outrisk(capsys, "check", folder)
    said = " ".join(out.split())
    order = [
        "1. plot (file is missing)",
        "2. one (checksum)",
        "3. label_only (not suppressed)",
        "4. hidden (withheld cells recoverable)",
    ]
    places = [said.index(each) for each in order]
    assert places == sorted(places)
    assert "6 of 6 withheld cells follow from label_only" in said
    assert "(degrees of freedom) 4 residual" in said
