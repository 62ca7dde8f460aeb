"""A run's study.yaml is carried out from where it lies: its paths lead there, the released numbers stand in it."""

import pandas as pd
import pytest
import yaml
from command import outrisk, records, write_study

TABLE = {"kind": "frequencies", "name": "table", "by": ["area", "ill"]}


@pytest.fixture
def run(tmp_path, capsys):
    """A run of a study whose numbers are in files of a folder beside it, written far from the study."""
    (tmp_path / "project" / "released").mkdir(parents=True)
    path = write_study(
        tmp_path / "project",
        {
            "outputs": [
                TABLE | {"values": "released/table.csv"},
                {"kind": "logit", "formula": "ill ~ age + area", "values": "released/model.csv", "decimals": 4},
                {"kind": "univariate", "variables": ["sex", "ill"], "values": "released/one-way.csv"},
            ],
            "holdout": {"path": "held.csv"},
        },
    )
    records(seed=9).to_csv(tmp_path / "project" / "held.csv", index=False)
    frame = records()
    pd.crosstab(frame["area"], frame["ill"], margins=True).to_csv(tmp_path / "project" / "released" / "table.csv")
    import statsmodels.formula.api as smf

    fit = smf.logit("ill ~ age + area", frame.assign(ill=(frame["ill"] == "yes").astype(int))).fit(disp=0)
    tidy = pd.DataFrame({"term": fit.params.index, "estimate": fit.params.values, "std.error": fit.bse.values})
    tidy.to_csv(tmp_path / "project" / "released" / "model.csv", index=False)
    counts = [(name, level, n) for name in ("sex", "ill") for level, n in frame[name].value_counts().items()]
    one_way = pd.DataFrame(
        [{"output": f"univariate {name}", "label": f"{name}={level}", "value": n} for name, level, n in counts]
    )
    one_way.to_csv(tmp_path / "project" / "released" / "one-way.csv", index=False)
    out = tmp_path / "elsewhere" / "runs" / "one"
    out.parent.mkdir(parents=True)
    code, _, err = outrisk(capsys, "assess", path, "--out", out, "--quiet", "--workers", "1")
    assert code == 0, err
    return out


def test_the_study_of_a_run_gives_the_run_again(run, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    again = tmp_path / "again"
    code, _, err = outrisk(capsys, "assess", run / "study.yaml", "--out", again, "--quiet", "--workers", "1")
    assert code == 0, err
    for name in ("matched.csv", "given.csv", "findings.csv", "risk.csv", "codebook.yaml"):
        assert (again / name).read_bytes() == (run / name).read_bytes(), name
    first, second = (yaml.safe_load((each / "study.yaml").read_text()) for each in (run, again))
    assert first["outputs"][:2] == second["outputs"][:2]
    assert outrisk(capsys, "check", run / "study.yaml")[0] == 0


def test_no_path_of_the_machine_is_in_the_run(run, tmp_path):
    stored = yaml.safe_load((run / "study.yaml").read_text())
    assert stored["data"]["path"] == "../../../project/small.csv" and stored["codebook"] == "codebook.yaml"
    assert isinstance(stored["outputs"][0]["values"], dict) and isinstance(stored["outputs"][1]["values"], list)
    assert (
        stored["outputs"][2]["values"] == "../../../project/released/one-way.csv"
    )  # OutRisk's own form, of two outputs
    for path in run.rglob("*"):
        if path.is_file():
            assert str(tmp_path).encode() not in path.read_bytes(), path
    for page in ("report.html", "details.html"):
        assert "../project" not in (run / page).read_text(encoding="utf-8")


def test_released_studies_and_functions_are_found_too(tmp_path, capsys):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "count.py").write_text("def people(frame):\n    return [float(len(frame))]\n")
    custom = {
        "kind": "custom",
        "function": "count.py:people",
        "variables": ["age"],
        "labels": ["people"],
        "decimals": 0,
    }
    (tmp_path / "a" / "old.yaml").write_text(write_study(tmp_path / "a", {"name": "old"}).read_text())
    path = write_study(tmp_path / "a", {"outputs": [TABLE, custom], "released": ["old.yaml"]})
    out = tmp_path / "b"
    code, _, err = outrisk(capsys, "assess", path, "--out", out, "--quiet", "--workers", "1", "--trust")
    assert code == 0, err
    stored = yaml.safe_load((out / "study.yaml").read_text())
    assert stored["released"] == ["../a/old.yaml"] and stored["outputs"][1]["function"] == "../a/count.py:people"
    assert outrisk(capsys, "check", out / "study.yaml", "--trust")[0] == 0
