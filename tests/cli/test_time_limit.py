"""A study, or a run, that ends by the clock: it is said, what has ended is kept, and nothing is lost."""

import json

import pytest
from command import outrisk, refused, write_study

LONG = {"preset": "paper", "generations": 1_000_000, "population": 20}


def manifest_of(run):
    return json.loads((run / "manifest.json").read_text())


def test_a_run_ends_where_it_is(tmp_path, capsys):
    path = write_study(tmp_path, {"evolve": LONG, "study": {"runs": 1, "folds": [2], "run_time_limit": 0.2}})
    code, out, err = outrisk(capsys, "assess", path, "--out", tmp_path / "run")
    assert code == 0, err
    assert "2 runs of 2 ended at the time limit of 0.2 s" in " ".join(out.split())
    risk = json.loads((tmp_path / "run" / "risk.json").read_text())
    assert [run["stop"] for fold in risk["folds"] for run in fold["runs"]] == ["time", "time"]
    manifest = manifest_of(tmp_path / "run")
    assert (manifest["status"], manifest["run_time_limit"], manifest["late"]) == ("complete", 0.2, False)


def test_a_study_that_its_limit_ends_is_reported_and_goes_on(tmp_path, capsys):
    changes = {"study": {"runs": 200, "folds": [1, 2]}, "evolve": {"generations": 40, "patience": 0}}
    path, run = write_study(tmp_path, changes), tmp_path / "run"
    code, out, err = outrisk(capsys, "assess", path, "--out", run, "--time-limit", 4)
    assert code == 0, err
    manifest = manifest_of(run)
    assert manifest["late"] and manifest["status"] == "interrupted" and manifest["time_limit"] == 4
    done = manifest["runs_done"]
    assert 0 < done < 600
    assert f"time limit of 4.0 s ended it after {done} of 600 planned runs" in " ".join(out.split())
    assert (run / "report.html").is_file()
    assert len(list((run / "unfinished" / "runs").glob("*.json"))) == done
    code, _, err = outrisk(capsys, "assess", path, "--out", run, "--time-limit", 3)
    assert code == 0, err
    assert manifest_of(run)["runs_done"] > done


@pytest.mark.parametrize("place", ["study", "command"])
def test_too_short_for_one_run(tmp_path, capsys, place):
    limits = {"time_limit": 0.5} if place == "study" else {}
    path = write_study(tmp_path, {"evolve": LONG, "study": {"runs": 1, "folds": [2], **limits}})
    options = [] if place == "study" else ["--time-limit", "0.5"]
    message = refused(capsys, "assess", path, "--out", tmp_path / "run", "--quiet", *options)
    assert "the time limit of 0.5 s is up, and no run has ended" in message
    assert not (tmp_path / "run").exists()


def test_limits_that_are_none(tmp_path, capsys):
    path = write_study(tmp_path, {"study": {"time_limit": 0}})
    assert "[study.time_limit] is 0" in refused(capsys, "assess", path)
