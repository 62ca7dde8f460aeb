"""What is said of a study before its first run: how long, how much memory, and what would make it shorter."""

import sys
from pathlib import Path
from threading import Event

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from command import outrisk, write_study

from outrisk.api import studies
from outrisk.assess import forecast as forecasting
from outrisk.assess.forecast import FEW, Forecast, Trial, forecast, typical_generations

LONG = {"evolve": {"generations": 5000, "patience": 0}, "study": {"runs": 3, "folds": [1, 2]}}


def prepared(folder, changes=None):
    return studies.prepare_study(write_study(folder, changes or LONG), folder / "run", False, 2, None)


def test_it_is_a_few_generations_times_runs(tmp_path, monkeypatch):
    """Of two seconds before, half a second a generation and three seconds of measures on 80 records."""
    run = prepared(tmp_path)
    monkeypatch.setattr(forecasting, "tried", lambda job, halt: Trial(2.0, 0.5, 3.0, 80, 100.0))
    found = forecast(run.jobs, [], 2, Event())
    whole = [job for job in run.jobs if job.fold.level == 1]
    halves = [job for job in run.jobs if job.fold.level == 2]
    assert (len(whole), len(halves)) == (3, 6)
    generations = typical_generations(whole[0])
    one = 2.0 + 0.5 * generations + 3.0
    assert found.likely == pytest.approx((3 * 2 * one + 6 * one) / 2)  # 160 records take twice as long
    assert found.most == pytest.approx((3 * 2 + 6) * (2.0 + 0.5 * 5000 + 3.0) / 2)


def test_a_few_generations_are_tried_and_leave_nothing(tmp_path):
    run = prepared(tmp_path)
    found = forecasting.tried(run.jobs[0], Event())
    assert found.start >= 0 and found.generation > 0 and found.measures > 0
    assert FEW < 10
    halted = Event()
    halted.set()
    assert forecasting.tried(run.jobs[0], halted) is None
    assert not (tmp_path / "run").exists()


def test_subsets_of_outputs_are_in_it(tmp_path):
    wish = {"contributions": {"leave_one_out": True}, **LONG}
    run = prepared(tmp_path, wish)
    assert forecast(run.jobs[:1], run.asked.jobs, 2, Event()).subsets > 0
    assert forecast(run.jobs[:1], [], 2, Event()).subsets == 0


@pytest.mark.parametrize(("most", "times"), [(20.0, 0), (4000.0, 1)])
def test_it_stands_before_the_first_run_and_only_of_what_may_take_long(tmp_path, capsys, monkeypatch, most, times):
    found = Forecast(likely=most / 10, most=most, subsets=120.0, memory=512.0)
    order = []
    monkeypatch.setattr(studies.StudyRun, "foretell", lambda run, halt: order.append(len(run.done)) or found)
    path = write_study(tmp_path, {"study": {"runs": 1, "folds": [1, 2], "time_limit": 300}})
    code, _, err = outrisk(capsys, "assess", path, "--out", tmp_path / "run")
    assert code == 0 and order == [0]
    said = " ".join(err.split())
    assert said.count("Forecast:") == times
    if times:
        assert "Forecast: likely 7 min, at most about 67 min, for 3 runs" in said
        assert "likely 2 min more to tell outputs apart" in said and "512 MB of memory" in said
        assert "the time limit of 5 min ends it after about 2 of them" in said
        assert "Shorter with more --workers" in said


def test_quiet_asks_for_none(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(studies.StudyRun, "foretell", lambda *_: pytest.fail("asked for"))
    code, _, _ = outrisk(capsys, "assess", write_study(tmp_path), "--out", tmp_path / "run", "--quiet")
    assert code == 0
