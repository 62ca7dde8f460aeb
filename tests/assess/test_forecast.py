"""What is said of a study before its first run: how long, how much memory, and what would make it shorter."""

import sys
from dataclasses import replace
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from command import FINE, outrisk, write_study

from outrisk.api import studies
from outrisk.assess import forecast as forecasting
from outrisk.assess.backends import Backend
from outrisk.assess.forecast import FEW, Forecast, Timing, Trial, _Begun, forecast, typical_generations
from outrisk.assess.study import in_order

LONG = {"outputs": FINE, "evolve": {"generations": 5000, "patience": 0}, "study": {"runs": 3, "folds": [1, 2]}}


def prepared(folder, changes=None):
    return studies.prepare_study(write_study(folder, changes or LONG), folder / "run", False, 2, None)


def test_it_is_the_generations_of_every_run(tmp_path, monkeypatch):
    """Halves tried: two seconds before, half a second a generation, three seconds of measures on 80 records."""
    run = prepared(tmp_path)
    trial = Trial({2: Timing(2.0, 0.5, 3.0, 80)}, 40.0, 100.0)
    monkeypatch.setattr(forecasting, "tried", lambda *_: trial)
    found = forecast(run.jobs, [], 2, Event())
    assert [job.fold.level for job in run.jobs].count(2) == 6
    assert found.likely == pytest.approx((3 * 2 + 6) * (2.0 + 0.5 * 40 + 3.0) / 2)  # 160 records take twice as long
    assert found.most == pytest.approx((3 * 2 + 6) * (2.0 + 0.5 * 5000 + 3.0) / 2)
    both = replace(trial, timings={**trial.timings, 1: Timing(2.0, 0.25, 1.0, 160)})
    monkeypatch.setattr(forecasting, "tried", lambda *_: both)
    likely = forecast(run.jobs, [], 2, Event()).likely
    assert likely == pytest.approx((3 * (2.0 + 0.25 * 40 + 1.0) + 6 * (2.0 + 0.5 * 40 + 3.0)) / 2)


@pytest.mark.parametrize("backend", ["threads", "fork"])
def test_runs_that_have_ended_are_done_as_they_would_have_been(tmp_path, backend):
    """Beside a study that is carried out without a forecast."""
    quick = {"evolve": {"generations": 6, "patience": 0}, "study": {"runs": 2, "folds": [1, 2]}}
    (tmp_path / "plain").mkdir()
    foretold, plain = prepared(tmp_path, quick), prepared(tmp_path / "plain", quick)
    told, foretold.backend = [], Backend(backend)
    with foretold, plain:
        foretold.fork()
        assert (foretold.backend.forked is not None) == (backend == "fork")
        assert foretold.foretell(Event(), told.append) is not None
        assert told and [result.job for result in told] == list(foretold.done)
        assert foretold.keeps
        plain.carry_out(Event(), lambda *_: None, lambda _: None)
        others = {result.job.name: result for result in plain.done.values()}
        for result in told:
            assert np.array_equal(result.synthetic.codes, others[result.job.name].synthetic.codes)
            assert repr(result.measures) == repr(others[result.job.name].measures)  # some are NaN
        foretold.directory.discard()
        plain.directory.discard()


@pytest.mark.parametrize("backend", ["threads", "fork"])
def test_runs_that_have_not_go_on_where_they_were(tmp_path, monkeypatch, backend):
    """Beside a study that is carried out without a forecast, where they begin."""
    longer = LONG | {"evolve": {"generations": 2 * FEW, "patience": 0}, "study": {"runs": 1, "folds": [1, 2]}}
    (tmp_path / "plain").mkdir()
    foretold, plain = prepared(tmp_path, longer), prepared(tmp_path / "plain", longer)
    foretold.backend, found, heard = Backend(backend), [], {"foretold": [], "plain": []}
    monkeypatch.setattr("outrisk.assess.study_run.TRIED", 0.0)
    monkeypatch.setattr("outrisk.assess.study_run.forecast", lambda *of: found.append(forecast(*of)))

    def watch(whose):
        return lambda fold, _, number, share: heard[whose].append((fold.name, number))

    with foretold, plain:
        foretold.fork()
        foretold.foretell(Event(), lambda _: None)
        assert foretold.keeps and not foretold.done and found[0].likely > 0
        foretold.carry_out(Event(), watch("foretold"), lambda _: None)
        plain.carry_out(Event(), watch("plain"), lambda _: None)
        for job in foretold.jobs:
            (result,) = (result for result in foretold.done.values() if result.job.name == job.name)
            (other,) = (result for result in plain.done.values() if result.job.name == job.name)
            assert np.array_equal(result.synthetic.codes, other.synthetic.codes)
            assert repr(result.measures) == repr(other.measures)
            assert [step.mae for step in result.trajectory] == [step.mae for step in other.trajectory]
            assert [each.generation for each in result.snapshots] == [each.generation for each in other.snapshots]
        foretold.directory.discard()
        plain.directory.discard()
    first = {name: min(number for fold, number in heard["foretold"] if fold == name) for name in ("whole", "1", "2")}
    assert sorted(first.values()) == [0, FEW + 1, FEW + 1]  # as many were tried as go side by side
    assert ("1", 0) in heard["plain"]


def test_seconds_that_a_run_was_tried_in_are_not_to_come(tmp_path):
    run = prepared(tmp_path)
    half = next(job for job in run.jobs if job.fold.level == 2)
    trial = Trial({2: Timing(2.0, 0.5, 3.0, 80)}, 40.0, 100.0, spent={half: 8.0})
    assert trial.run(half, 40.0) == pytest.approx(2.0 + 0.5 * 40 - 8.0 + 3.0)
    assert trial.run(half, 0.0) == pytest.approx(3.0)  # it has had more than it was to have


@pytest.mark.parametrize("backend", ["threads", "fork"])
def test_a_run_that_its_own_time_limit_ends_meanwhile_is_done(tmp_path, backend):
    run = prepared(tmp_path, LONG | {"study": {"runs": 1, "folds": [1, 2], "run_time_limit": 0.01}})
    run.backend = Backend(backend)
    with run:
        run.fork()
        run.foretell(Event(), lambda _: None)
        assert run.done and {result.stop for result in run.done.values()} == {"time"}
        run.directory.discard()


def test_halted_nothing_is_begun_again(tmp_path, monkeypatch):
    """A start of a large release may take a minute."""
    run, begun = prepared(tmp_path), []
    halt = Event()
    run.jobs[0].folder.mkdir(parents=True)

    def first(job, halted):
        begun.append(job)
        halt.set()

    monkeypatch.setattr(forecasting, "evolved", first)
    assert list(forecasting._begun(run.jobs, 1.0, halt)) == []
    assert [job.tried for job in begun] == [0.0]  # and nothing again


def test_generations_seen_over_ends(tmp_path, monkeypatch):
    """Two ends in 60 and 20 generations and one put by at 10 are 90; the typical number is one more end."""
    run = prepared(tmp_path)
    typical = typical_generations(run.jobs[0])
    ends = [(60, "matched"), (20, "near"), (10, "tried")]
    begun = [_Begun(run.jobs[0], SimpleNamespace(generations=g, stop=stop), 1.0, 0.0) for g, stop in ends]
    assert forecasting._generations(run.jobs[0], begun) == pytest.approx((90 + typical) / 3)
    assert forecasting._generations(run.jobs[0], begun[2:]) == pytest.approx(10 + typical)
    assert forecasting._generations(run.jobs[0], begun[:2]) == pytest.approx(40)


def test_a_few_generations_are_tried_at_least_and_leave_nothing(tmp_path):
    run = prepared(tmp_path)
    found = forecasting.tried(run.jobs, 2, 0.0, Event())
    assert [timing.n_records for timing in found.timings.values()] == [160]
    timing = found.timings[1]
    assert timing.start >= 0 and timing.generation > 0 and timing.measures > 0 and not found.ended
    assert found.generations == 2 * FEW + typical_generations(run.jobs[0])
    halted = Event()
    halted.set()
    assert forecasting.tried(run.jobs, 2, 0.0, halted) is None
    assert not (tmp_path / "run").exists()


def test_no_run_is_begun_that_would_be_put_by_where_one_of_its_level_has_ended(tmp_path, monkeypatch):
    """Runs of 0.4 seconds in one: two of a level, and one of another, of which nothing is known, as the time is up."""
    run, now = prepared(tmp_path), [0.0]

    def evolved(job, halt):
        now[0] += 0.4
        return None, "matched"

    monkeypatch.setattr(forecasting, "evolved", evolved)
    monkeypatch.setattr(forecasting, "measured", lambda job, _, stop, halt: SimpleNamespace(stop=stop, job=job))
    monkeypatch.setattr(forecasting, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    whole, half = ([job for job in run.jobs if job.fold.level == level] for level in (1, 2))
    assert [each.job for each in forecasting._begun(half, 1.0, Event())] == half[:2]
    now[0] = 0.0
    assert [each.job for each in forecasting._begun([*half[:2], *whole], 1.0, Event())] == [*half[:2], whole[0]]


def test_every_level_has_its_turn(tmp_path):
    run = prepared(tmp_path)
    order = [job.fold.level for job in forecasting._levels_by_turns(in_order(run.jobs), 2)]
    assert order == [2, 2, 1, 1, 2, 2, 1, 2, 2]


def test_subsets_of_outputs_are_in_it(tmp_path):
    wish = {"contributions": {"leave_one_out": True}, **LONG}
    run = prepared(tmp_path, wish)
    assert forecast(run.jobs[:1], run.asked.jobs, 2, Event()).subsets > 0
    assert forecast(run.jobs[:1], [], 2, Event()).subsets == 0


@pytest.mark.parametrize(("most", "times"), [(20.0, 0), (4000.0, 1)])
def test_it_stands_before_the_first_run_and_only_of_what_may_take_long(tmp_path, capsys, monkeypatch, most, times):
    found = Forecast(likely=most / 10, most=most, subsets=120.0, memory=512.0)
    order = []
    monkeypatch.setattr(studies.StudyRun, "foretell", lambda run, halt, _: order.append(len(run.done)) or found)
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
