"""A study that was cut short goes on where it was, to the same results; or is refused, with what differs."""

import json
import os
import sys
from dataclasses import replace
from threading import Event

import pytest
import yaml
from command import CODEBOOK, FINE, STUDY, outrisk, records, refused, write_study
from rich.console import Console
from timeless import contents

from outrisk.api import studies
from outrisk.assess import backends
from outrisk.cli.commands import run
from outrisk.readers.values import files_of
from outrisk.records.provenance import versions

RUNS = {"study": {"runs": {1: 1, 2: 2}, "folds": [1, 2]}}


def cut_short(path, after, **arguments):
    """Carry out a study until so many runs are done, as if the process had died then."""
    made = studies.prepare_study(path, path.parent / "runs" / "small", False, 1, None)
    halt, ended = Event(), []
    made.__enter__()

    def end(result):
        ended.append(1)
        if len(ended) == after:
            halt.set()

    made.carry_out(halt, lambda *heard: None, end)
    made.directory._lock._file.close()  # as the system does
    return made


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    assert run(["assess", str(write_study(folder, RUNS)), "--out", str(folder / "runs" / "small"), "--quiet"]) == 0
    return contents(folder / "runs" / "small")


@pytest.mark.parametrize("after", [1, 3, 5])
def test_it_ends_as_if_undisturbed(tmp_path, capsys, monkeypatch, undisturbed, after):
    path, place = write_study(tmp_path, RUNS), tmp_path / "runs" / "small"
    assert len(cut_short(path, after).done) == after
    carried = []
    perform = backends.perform
    monkeypatch.setattr(backends, "perform", lambda job, *rest: (carried.append(job.name), perform(job, *rest))[1])
    code, _, err = outrisk(capsys, "assess", path, "--out", place, "--quiet", "--backend", "threads")
    assert (code, err) == (0, "")
    assert len(carried) == 5 - after  # none of those that had ended
    assert contents(place) == undisturbed
    assert not [path.name for path in place.iterdir() if path.name.startswith((".", "unfinished"))]
    assert json.loads((place / "manifest.json").read_text())["status"] == "complete"
    assert "exists; give --force" in refused(capsys, "assess", path, "--out", place)


def test_those_that_answer_come_first(tmp_path):
    done = cut_short(write_study(tmp_path, RUNS), 3).done
    assert [(job.fold.name, job.run) for job in done] == [("1", 1), ("2", 1), ("1", 2)]


def changed(path, what):
    folder = path.parent
    if what == "seed":
        path.write_text(path.read_text() + "tau: 0.9\n")
    elif what == "data":
        records(seed=6).to_csv(folder / "small.csv", index=False)
    elif what == "codebook":
        variables = CODEBOOK["variables"] | {"age": {"kind": "integer", "min": 0, "max": 5}}
        (folder / "small.codebook.yaml").write_text(yaml.safe_dump({"variables": variables}))


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("seed", "tau was 1.0, is 0.9"),
        ("data", "data small.csv differs"),
        ("codebook", "study: codebook small.codebook.yaml differs;"),
    ],
)
def test_another_study_is_refused_with_what_differs(tmp_path, capsys, what, said):
    path, place = write_study(tmp_path, RUNS), tmp_path / "runs" / "small"
    cut_short(path, 1)
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file() and path.name != "lock"}
    changed(path, what)
    message = refused(capsys, "assess", path, "--out", place)
    assert said in message and "--force" in message
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file() and path.name != "lock"} == before


@pytest.mark.parametrize("what", ["values", "function"])
def test_another_release_before_it_is_refused(tmp_path, capsys, what):
    old, table = tmp_path / "old", {"kind": "frequencies", "by": ["area"]}
    old.mkdir()
    (old / "small.csv").write_text("label,value\narea=n,50\narea=s,50\narea=w,60\n")
    (old / "own.py").write_text("def fit(data):\n    return [data['age'].astype(float).mean()]\n")
    own = {"kind": "custom", "function": "own.py:fit", "variables": ["age"], "labels": ["mean"], "decimals": 2}
    outputs = [table | {"values": "small.csv"} if what == "values" else own]
    document = STUDY | {"name": "old", "data": {"path": "../small.csv"}, "outputs": outputs}
    document.pop("codebook")
    (old / "old.yaml").write_text(yaml.safe_dump(document))
    made = studies.prepare_study(
        write_study(tmp_path, RUNS | {"released": ["old/old.yaml"]}), tmp_path / "run", False, 1, None, True
    )
    with made:
        made.carry_out(Event(), lambda *heard: None, lambda result: None)
    made.directory.leave()
    file = old / ("small.csv" if what == "values" else "own.py")
    file.write_text(file.read_text().replace("60", "61").replace("mean()", "median()"))
    message = refused(capsys, "assess", made.study.path, "--out", tmp_path / "run", "--trust")
    assert f"with another study: {what} old/{file.name} differs;" in message


def test_the_head_beside_a_table_of_coefficients_is_read_too(tmp_path):
    for name in ("fit_0.csv", "fit_1.csv", "other_1.csv"):
        (tmp_path / name).write_text("")
    assert [path.name for path in files_of("fit_1.csv", tmp_path)] == ["fit_1.csv", "fit_0.csv"]
    assert [path.name for path in files_of("other_1.csv", tmp_path)] == ["other_1.csv"]


def test_another_version_is_refused(tmp_path, capsys, monkeypatch):
    path, place = write_study(tmp_path, RUNS), tmp_path / "runs" / "small"
    cut_short(path, 1)
    monkeypatch.setattr("outrisk.assess.study_run.versions", lambda: versions() | {"outrisk": "0.0.9"})
    assert "outrisk was 0.1.0, is 0.0.9" in refused(capsys, "assess", path, "--out", place)


def test_what_is_kept_and_broken_is_computed_again(tmp_path, capsys, undisturbed):
    path, place = write_study(tmp_path, RUNS), tmp_path / "runs" / "small"
    cut_short(path, 3)
    kept = sorted((place / "unfinished" / "runs").iterdir())
    kept[0].write_bytes(kept[0].read_bytes()[:-20])
    kept[3].write_bytes(b"")
    assert outrisk(capsys, "assess", path, "--out", place, "--quiet")[0] == 0
    assert contents(place) == undisturbed


def test_results_of_before_stay_until_the_new_ones_are_whole(tmp_path, capsys, undisturbed):
    path, place = write_study(tmp_path, RUNS), tmp_path / "runs" / "small"
    assert outrisk(capsys, "assess", path, "--out", place, "--seed", 7, "--quiet")[0] == 0
    (place / "note.txt").write_text("of the study before")
    before = contents(place)
    made = studies.prepare_study(path, place, True, 1, None)
    with made:
        made.carry_out(Event(), lambda *heard: None, lambda result: None)
        assert {name: text for name, text in contents(place).items() if "unfinished" not in name} == before
        made.done.popitem()
        studies.write_study(made)  # stopped: not whole
    assert {name: text for name, text in contents(place).items() if "unfinished" not in name} == before
    assert outrisk(capsys, "assess", path, "--out", place, "--quiet")[0] == 0  # goes on without --force
    assert contents(place) == undisturbed


def test_nothing_stays_of_a_process_killed_while_it_cleared_up(tmp_path, capsys, undisturbed):
    path, place = write_study(tmp_path, RUNS), tmp_path / "runs" / "small"
    assert outrisk(capsys, "assess", path, "--out", place, "--quiet")[0] == 0
    (place / "unfinished" / "runs").mkdir(parents=True)
    (place / "unfinished" / "lock").write_text("process 1\n")
    assert "exists; give --force" in refused(capsys, "assess", path, "--out", place)
    assert contents(place) == undisturbed


def test_a_second_process_is_refused(tmp_path, capsys):
    path, place = write_study(tmp_path, RUNS), tmp_path / "runs" / "small"
    made = studies.prepare_study(path, place, False, 1, None)
    with made:
        message = refused(capsys, "assess", path, "--out", place)
        assert "is being written by process" in message
        assert "is being written by process" in refused(capsys, "assess", path, "--out", place, "--force")
        studies.carry_out(made, Event(), Console(quiet=True))
        studies.write_study(made)
    assert (place / "report.html").is_file()


def _alive(here):
    return os.getpid()


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")
def test_a_second_process_is_refused_while_forked_ones_live_and_when_they_have_ended(tmp_path, capsys, undisturbed):
    path, place = write_study(tmp_path, RUNS), tmp_path / "runs" / "small"
    made = studies.prepare_study(path, place, False, 2, None, backend="fork")
    with made:
        made.fork()
        assert made.backend.forked is not None
        begun = dict(made.backend.forked.carry_out(_alive, [(), ()], Event()))
        assert os.getpid() not in begun.values()
        assert f"is being written by process {os.getpid()}" in refused(capsys, "assess", path, "--out", place)
        made.backend.end_forked()
        assert f"is being written by process {os.getpid()}" in refused(capsys, "assess", path, "--out", place)
        studies.carry_out(made, Event(), Console(quiet=True))
        studies.write_study(made)
    assert contents(place) == undisturbed


@pytest.mark.parametrize("preset", ["fast", "paper"])
def test_a_long_run_goes_on_from_its_checkpoint(tmp_path, capsys, preset):
    sizes = {"generations": 30, "patience": 0} if preset == "fast" else {"generations": 30, "population": 4}
    changes = {"outputs": FINE, "study": {"runs": 1, "folds": [1, 2]}, "evolve": {"preset": preset, **sizes}}
    path = write_study(tmp_path, changes)
    assert outrisk(capsys, "assess", path, "--out", tmp_path / "runs" / "whole", "--workers", 1, "--quiet")[0] == 0
    heard = []
    for limit in (12, 45, 1000):
        made = studies.prepare_study(path, tmp_path / "runs" / "small", False, 1, None)
        made.planned = [replace(job, every=0.0) for job in made.planned]
        halt = Event()

        def watch(fold, run, number, share, halt=halt, limit=limit):
            heard.append((fold.name, number))
            if len(heard) >= limit:
                halt.set()

        with made:
            made.carry_out(halt, watch, lambda result: None)
            if not halt.is_set():
                made.contribute(halt, lambda *heard: None)
            studies.write_study(made)
    assert len(heard) == len(set(heard)) and len(heard) > 45  # no generation twice
    assert contents(tmp_path / "runs" / "small") == contents(tmp_path / "runs" / "whole")
