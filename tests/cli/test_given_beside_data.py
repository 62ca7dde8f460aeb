"""Released numbers that a study gives beside its data: assessed as given, compared with the data, never refused."""

import pandas as pd
import pytest
from command import outrisk, records, write_study

from outrisk.records.files import read_rows, write_rows
from outrisk.records.schema import Given

TABLE = {"kind": "frequencies", "name": "table", "by": ["area", "ill"]}


def counts():
    table = records().groupby(["area", "ill"]).size()
    return {f"area={area}, ill={ill}": int(number) for (area, ill), number in table.items()}


def assessed(folder, capsys, values, **changes):
    path = write_study(folder, {"outputs": [TABLE | {"values": values}]} | changes)
    code, _, err = outrisk(capsys, "assess", path, "--out", folder / "run", "--quiet", "--workers", "1")
    assert code == 0, err
    return folder / "run"


def test_numbers_as_the_data_give_them_change_nothing(tmp_path, capsys):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    given = assessed(tmp_path / "a", capsys, counts())
    plain = assessed(tmp_path / "b", capsys, None)
    assert (given / "matched.csv").read_text() == (plain / "matched.csv").read_text()
    assert (given / "risk.csv").read_text() == (plain / "risk.csv").read_text()
    beside = pd.read_csv(given / "given.csv")
    write_rows(tmp_path / "again.csv", Given, read_rows(given / "given.csv", Given))
    assert (tmp_path / "again.csv").read_bytes() == (given / "given.csv").read_bytes()
    assert beside["matched"].all() and (beside["released"] == beside["refit"]).all() and len(beside) == 6
    assert not (plain / "given.csv").exists()
    assert "differs from the data" not in (given / "findings.csv").read_text()
    assert "The released numbers beside the data" in (given / "details.html").read_text()


def test_a_released_number_that_the_data_do_not_give(tmp_path, capsys):
    wrong = counts()
    right = wrong["area=n, ill=yes"]
    wrong["area=n, ill=yes"] += 3
    run = assessed(tmp_path, capsys, wrong)
    finding = pd.read_csv(run / "findings.csv").set_index("rule").loc["differs from the data"]
    said = f"area=n, ill=yes: released {right + 3}, the data give {right}"
    assert said in finding["what"] and finding["cells"] == 1 and not finding["certain"]
    assert said.split(": ")[0] in (run / "details.html").read_text()
    matched = pd.read_csv(run / "matched.csv", dtype={"fold": str})
    cell = matched[matched["label"] == "area=n, ill=yes"].set_index("fold")
    assert cell.loc["whole", "released"] == right + 3  # what is to be released is what is assessed
    assert cell.loc[["1", "2"], "released"].sum() == right  # halves have no released numbers: computed
    assert "Released numbers of 1 output differ" in (run / "risk.json").read_text()
    missed = matched[(matched["fold"] == "whole") & ~matched["matched"]]
    assert len(missed) and set(missed["reason"]) == {"conflict"}  # three people more than there are records
    assert "no data set has it together with area=" in (run / "details.html").read_text()
    assert not (matched.loc[matched["fold"] != "whole", "reason"] == "conflict").any()


def test_check_says_so_without_an_evolution(tmp_path, capsys):
    wrong = counts() | {"area=w, ill=no": 999}
    _, out, _ = outrisk(capsys, "check", write_study(tmp_path, {"outputs": [TABLE | {"values": wrong}]}))
    assert "differs from the data" in out and "released 999" in " ".join(out.split())


def test_a_variable_that_the_study_rounds_is_named_first(tmp_path, capsys):
    total = {"kind": "magnitudes", "value": "age", "by": ["area"], "statistics": ["sum"], "decimals": 0}
    sums = records().groupby("area")["age"].sum()
    values = {f"area={area}: sum of age": float(number) for area, number in sums.items()}
    changes = {"outputs": [total | {"values": values}]}
    assert "differs" not in outrisk(capsys, "check", write_study(tmp_path, changes))[1]
    data = {"path": "small.csv", "derive": {"age": "round(age / 2) * 2"}}
    _, out, _ = outrisk(capsys, "check", write_study(tmp_path, changes | {"data": data}))
    assert "no more than that the study rounds age to the codebook's grid" in " ".join(out.split())


def test_rounding_is_no_difference_and_one_digit_more_is(tmp_path, capsys):
    logit = {"kind": "logit", "name": "model", "formula": "ill ~ age", "decimals": 3}
    path = write_study(tmp_path, {"outputs": [logit]})
    outrisk(capsys, "assess", path, "--out", tmp_path / "run", "--quiet", "--workers", "1")
    rows = pd.read_csv(tmp_path / "run" / "matched.csv")
    right = dict(rows[rows["level"] == 1].set_index("label")["released"])
    for far, n_found in ((0.0, 0), (0.001, 1)):
        values = {label: round(float(value) + far * (label == "age"), 3) for label, value in right.items()}
        path = write_study(tmp_path, {"outputs": [logit | {"values": values}]})
        _, out, _ = outrisk(capsys, "check", path)
        assert out.count("(differs from the data)") == n_found
        if far:
            assert f"age: released {values['age']:.3f}, the data give {right['age']:.3f}" in " ".join(out.split())


def test_what_is_withheld_is_not_told_by_the_comparison(tmp_path, capsys):
    """Neither a withheld count nor more digits than were released stand in the run directory."""
    hidden = counts() | {"area=n, ill=yes": "0 to 99"}
    run = assessed(tmp_path, capsys, hidden)
    rows = pd.read_csv(run / "given.csv").set_index("label")
    assert pd.isna(rows.loc["area=n, ill=yes", "refit"]) and rows.loc["area=n, ill=yes", "matched"]
    assert (rows.drop("area=n, ill=yes")["refit"] == rows.drop("area=n, ill=yes")["released"]).all()


@pytest.mark.parametrize("values", [[1, 2], {"area=n, ill=yes": "many"}])
def test_values_that_cannot_be_read_are_refused(tmp_path, capsys, values):
    code, _, err = outrisk(capsys, "check", write_study(tmp_path, {"outputs": [TABLE | {"values": values}]}))
    assert code == 2 and err.startswith("outrisk: output 'table': ")
