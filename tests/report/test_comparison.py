"""Two runs side by side."""

import json
import math

import pandas as pd
import pytest
from pages import altered

from outrisk.cli.commands import run
from outrisk.records.results import read_run
from outrisk.report.comparison import changes


def test_two_runs_of_different_outputs(assessed, tmp_path, capsys):
    def moved(rows):
        for row in rows:
            row["difference"] = str(float(row["difference"] or "nan") + 0.25)

    one = assessed["halves"]
    place = altered(one, tmp_path / "second", risk_json=lambda risk: risk["outputs"][0].update(name="renamed"),
                    marginal_csv=moved)  # fmt: skip
    rows = list(changes(read_run(one), read_run(place)))
    contrasts = pd.read_csv(one / "marginal.csv", keep_default_na=False)
    level = json.loads((one / "decision.json").read_text())["basis"]["level"]
    assert len(rows) >= 2
    for label, before, after, low, high in rows:
        measure, _, keys = label.partition(", ")
        at = "" if keys == "mean over key sets" else keys.replace(", ", "+")
        found = contrasts[(contrasts.level == level) & (contrasts.measure == measure) & (contrasts["keys"] == at)]
        (row,) = found.itertuples()
        assert (before, after) == pytest.approx((float(row.difference), float(row.difference) + 0.25))
        half = 1.959963984540054 * math.sqrt(2) * float(row.standard_error)
        assert (low, high) == pytest.approx((0.25 - half, 0.25 + half))
    assert run(["compare", str(one), str(place)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "1 output only in" in said and "renamed" in said and "+0.250" in said


def test_what_cannot_be_compared_is_said(assessed, tmp_path, capsys):
    for place, why in ((assessed["odd"], "compare runs with the same target and keys"), (tmp_path, "not a run")):
        assert run(["compare", str(assessed["halves"]), str(place)]) == 2
        error = capsys.readouterr().err
        assert why in error and error.count("\n") == 1


def test_outputs_that_the_other_run_takes_as_already_released_are_the_same(assessed, tmp_path, capsys):
    """`--released` calls them after their study, and says of their findings what is already released."""

    one = assessed["halves"]
    name = read_run(one).manifest.study

    def after_the_study(risk):
        for output in risk["outputs"]:
            output["name"] = f"{name}: {output['name']}"

    found = pd.read_csv(one / "findings.csv", keep_default_na=False)
    place = altered(
        one, tmp_path / "second", risk_json=after_the_study, manifest_json=lambda facts: facts.update(study="later")
    )
    found["output"] = name + ": " + found["output"]
    found["what"] += " What is already released says so of all of them by itself."
    found.to_csv(place / "findings.csv", index=False)
    assert run(["compare", str(one), str(place)]) == 0
    assert "only in" not in capsys.readouterr().out


def test_a_difference_is_that_of_the_two_numbers_beside_it(assessed, tmp_path, capsys):
    """0.0086 and 0.0034 are printed as 0.009 and 0.003, 0.006 apart, where the difference itself rounds to 0.005."""

    def put(value):
        def change(rows):
            for row in rows:
                row["difference"] = value

        return change

    one, other = (
        altered(assessed["halves"], tmp_path / name, marginal_csv=put(value))
        for name, value in (("first", "0.0086"), ("second", "0.0034"))
    )
    assert run(["compare", str(one), str(other)]) == 0
    said = capsys.readouterr().out
    assert "+0.009" in said and "+0.003" in said and "-0.006" in said and "-0.005" not in said
