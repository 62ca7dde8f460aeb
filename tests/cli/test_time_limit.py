"""A study, or a run, that ends by the clock: it is said, what has ended is kept, and nothing is lost."""

import json
from types import SimpleNamespace

import pytest
from command import outrisk, refused, write_study

from outrisk.api import studies
from outrisk.assess import study_run
from outrisk.progress import COLUMNS

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


class Clock:
    """In place of a timer: the time is up when so many runs have been kept."""

    def __init__(self, monkeypatch, runs):
        self.left, keep = runs, study_run.keep_run
        monkeypatch.setattr(study_run, "Timer", self.timer)
        monkeypatch.setattr(study_run, "keep_run", lambda *of: (keep(*of), self.kept()))

    def timer(self, seconds, end):
        self.end = end
        return SimpleNamespace(start=lambda: None, cancel=lambda: None)

    def kept(self):
        self.left -= 1
        if not self.left:
            self.end()


def test_a_study_that_its_limit_ends_is_reported_and_goes_on(tmp_path, capsys, monkeypatch):
    path, run = write_study(tmp_path, {"study": {"runs": 5, "folds": [1, 2]}}), tmp_path / "run"
    monkeypatch.setattr(study_run, "TRIED", 0.0)  # two runs are begun for the forecast
    Clock(monkeypatch, 3)
    code, out, err = outrisk(capsys, "assess", path, "--out", run, "--time-limit", 1000)
    assert code == 0, err
    manifest = manifest_of(run)
    assert manifest["late"] and manifest["status"] == "interrupted" and manifest["time_limit"] == 1000
    done = manifest["runs_done"]
    assert 3 <= done <= 5  # one a worker may have been at its end
    assert f"time limit of 16.7 min ended it after {done} of 15 planned runs" in " ".join(out.split())
    assert (run / "report.html").is_file()
    assert len(list((run / "unfinished" / "runs").glob("*.json"))) == done
    monkeypatch.undo()
    assert outrisk(capsys, "assess", path, "--out", run, "--quiet")[0] == 0
    manifest = manifest_of(run)
    assert (manifest["status"], manifest["late"], manifest["runs_done"]) == ("complete", False, 15)


@pytest.mark.parametrize("place", ["study", "command"])
def test_too_short_for_one_run(tmp_path, capsys, place):
    limits = {"time_limit": 0.5} if place == "study" else {}
    path = write_study(tmp_path, {"evolve": LONG, "study": {"runs": 1, "folds": [2], **limits}})
    options = [] if place == "study" else ["--time-limit", "0.5"]
    message = refused(capsys, "assess", path, "--out", tmp_path / "run", "--quiet", *options)
    assert "the time limit of 0.5 s is up, and no run has ended" in message
    assert not (tmp_path / "run").exists()


def test_limits_that_are_none(tmp_path, capsys):
    for limit, number in {"0": 0, "1e10": 1e10, "inf": float("inf"), "nan": float("nan")}.items():
        path = write_study(tmp_path, {"study": {"time_limit": number}})
        assert f"[study.time_limit] is {number}: it must be" in refused(capsys, "assess", path)
        path = write_study(tmp_path)
        for option in ("time-limit", "run-time-limit"):
            said = refused(capsys, "assess", path, f"--{option}", limit)
            place = f"[study.{option.replace('-', '_')}] is {float(limit)}: it must be"
            assert (f"--{option}" if limit == "nan" else place) in said


def test_the_limit_ends_the_forecast_too_and_says_what_it_does_not_end(tmp_path, capsys, monkeypatch):
    """A first generation may take longer than all the time there is: the forecast is no longer gone on with."""
    path = write_study(tmp_path, {"evolve": LONG, "study": {"runs": 2, "folds": [2]}})
    monkeypatch.setattr(study_run, "TRIED", 1e9)
    monkeypatch.setattr(study_run, "min", lambda first, second: first, raising=False)
    code, _, err = outrisk(capsys, "assess", path, "--out", tmp_path / "run", "--time-limit", 3)
    assert code == 2 and "the time limit of 3 s is up, and no run has ended" in err
    assert "The direct look before them, and what is measured and written after them, take the time" in err
    assert "The direct look at 2 outputs found no small cell" in err  # which came in time, and is not lost


def test_what_goes_on_after_the_runs_is_told_stage_by_stage(tmp_path, capsys, monkeypatch):
    told = []
    monkeypatch.setattr(studies.Stages, "say", lambda self, what: told.append(what))
    path = write_study(tmp_path, {"study": {"runs": 1, "folds": [2]}})
    assert outrisk(capsys, "assess", path, "--out", tmp_path / "run", "--quiet")[0] == 0
    stages = ["working out what they say together", "proving what holds for certain", "deciding"]
    stages += ["writing the synthetic data", "rendering the report"]
    assert told == [f"all runs done; {stage}" for stage in stages]
    assert all(len(each) <= COLUMNS - 2 for each in told)
