"""Kills at random instants, a full disk, a directory that goes, one that cannot be written, a clock set back."""

import errno
import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from command import FINE, outrisk, refused, write_study
from timeless import contents

from outrisk import whole_files
from outrisk.cli.commands import run
from outrisk.records import directory

RUNS = {"study": {"runs": 2, "folds": [1, 2]}, "privacy": {"metrics": []}}


@pytest.mark.slow
def test_killed_at_random_instants_it_ends_with_the_same_bytes():
    script = Path(__file__).with_name("kills.py")
    done = subprocess.run([sys.executable, script, "--kills", "25"], capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("25 kills, ")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    assert run(["assess", str(write_study(folder, RUNS)), "--out", str(folder / "run"), "--quiet"]) == 0
    return contents(folder / "run")


@pytest.mark.parametrize("at", [1, 5, 9, 17, 31, 45])
def test_a_full_disk_is_told_in_a_line_and_loses_nothing(tmp_path, capsys, monkeypatch, undisturbed, at):
    """The disk is full when so much has been written (a file and its folder each count); then there is room again."""
    path, place = write_study(tmp_path, RUNS), tmp_path / "run"
    left, sync = [at], os.fsync

    def full(handle):
        left[0] -= 1
        if left[0] == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    monkeypatch.setattr(whole_files.os, "fsync", full)
    message = refused(capsys, "assess", path, "--out", place, "--quiet")
    assert "No space left on device" in message and str(place) in message
    assert "runs are kept" in message or at < 17
    monkeypatch.undo()
    assert not place.exists() or not (place / "manifest.json").exists() or status(place) == "interrupted"
    assert outrisk(capsys, "assess", path, "--out", place, "--quiet")[0] == 0
    assert contents(place) == undisturbed


def status(place):
    return json.loads((place / "manifest.json").read_text())["status"]


def test_a_directory_that_goes_while_a_study_is_carried_out(tmp_path, capsys, monkeypatch, undisturbed):
    path, place = write_study(tmp_path, RUNS), tmp_path / "run"
    keep = directory.StudyDirectory.keep

    def gone(self, *of):
        keep(self, *of)
        shutil.rmtree(place, ignore_errors=True)

    monkeypatch.setattr(directory.StudyDirectory, "keep", gone)
    assert str(place) in refused(capsys, "assess", path, "--out", place, "--quiet")
    assert not place.exists()
    monkeypatch.undo()
    assert outrisk(capsys, "assess", path, "--out", place, "--quiet")[0] == 0
    assert contents(place) == undisturbed


@pytest.mark.parametrize("command", ["assess", "teach"])
@pytest.mark.parametrize("more", [(), ("--force",)])
def test_a_folder_of_the_users_own_that_is_called_unfinished(tmp_path, capsys, command, more):
    path, own = write_study(tmp_path, RUNS), tmp_path / "results" / "unfinished"
    own.mkdir(parents=True)
    (own / "thesis.txt").write_text("years")
    assert str(own.parent) in refused(capsys, command, path, "--out", own.parent, *more)
    assert [file.name for file in own.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("after", [0, 1, 4, 12])
def test_results_that_are_being_replaced_are_not_said_to_be_complete(tmp_path, capsys, monkeypatch, undisturbed, after):
    """The process dies when so many files of the results before have been removed."""
    path, place, left = write_study(tmp_path, RUNS), tmp_path / "run", [after]
    assert outrisk(capsys, "assess", path, "--out", place, "--seed", 7, "--quiet")[0] == 0
    unlink = Path.unlink

    def dies(self, *of, **how):
        if self.parent == place:
            left[0] -= 1
            if left[0] < 0:
                raise RuntimeError("killed")
        unlink(self, *of, **how)

    monkeypatch.setattr(Path, "unlink", dies)
    with pytest.raises(RuntimeError, match="killed"):
        outrisk(capsys, "assess", path, "--out", place, "--force", "--quiet")
    monkeypatch.undo()
    assert (place / "manifest.json").exists() == (after == 0)
    assert outrisk(capsys, "assess", path, "--out", place, "--quiet")[0] == 0
    assert contents(place) == undisturbed


def test_a_time_limit_that_is_too_short_leaves_no_folder(tmp_path, capsys, monkeypatch):
    long = {"outputs": FINE, "evolve": {"generations": 100_000, "patience": 0}}
    path = write_study(tmp_path, RUNS | long)
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    assert "time limit" in refused(capsys, "assess", path, "--time-limit", 0.3, "--quiet")
    assert sorted(tmp_path.iterdir()) == before


def test_the_home_of_the_user(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    assert outrisk(capsys, "assess", write_study(tmp_path, RUNS), "--out", "~/run", "--quiet")[0] == 0
    assert (tmp_path / "home" / "run" / "report.html").is_file() and not (tmp_path / "~").exists()


@pytest.mark.parametrize("command", ["assess", "teach"])
def test_a_directory_that_an_input_lies_in_is_not_replaced(tmp_path, capsys, command):
    path, place = write_study(tmp_path, RUNS), tmp_path / "run"
    assert outrisk(capsys, command, path, "--out", place, "--quiet")[0] == 0
    (place / "small.codebook.yaml").write_bytes((tmp_path / "small.codebook.yaml").read_bytes())
    path.write_text(path.read_text().replace("small.codebook.yaml", "run/small.codebook.yaml"))
    assert "is an input and lies in" in refused(capsys, command, path, "--out", place, "--force")
    assert (place / "small.codebook.yaml").is_file()


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_where_nothing_can_be_written(tmp_path, capsys, monkeypatch, number):
    path, place = write_study(tmp_path, RUNS), tmp_path / "run"

    def refuse(self, *of, **how):
        raise OSError(number, os.strerror(number), str(self))

    monkeypatch.setattr(Path, "mkdir", refuse)
    message = refused(capsys, "assess", path, "--out", place)
    assert f"{place}: cannot write there: {os.strerror(number)}" in message
    assert not place.exists()


def test_a_clock_that_is_set_back_changes_nothing(tmp_path, capsys, monkeypatch, undisturbed):
    """Each time that it is asked, the clock says an hour less."""
    path, place = write_study(tmp_path, RUNS), tmp_path / "run"
    told = [datetime(2030, 1, 1, tzinfo=UTC)]

    class Back(datetime):
        @classmethod
        def now(cls, tz=None):
            told[0] -= timedelta(hours=1)
            return told[0]

    monkeypatch.setattr(directory, "datetime", Back)
    monkeypatch.setattr("outrisk.assess.study_run.datetime", Back)
    monkeypatch.setattr("time.time", lambda: told[0].timestamp())
    assert outrisk(capsys, "assess", path, "--out", place, "--quiet")[0] == 0
    assert contents(place) == undisturbed
    times = [json.loads(line)["time"] for line in (place / "log.jsonl").read_text().splitlines()]
    assert times == sorted(times, reverse=True)
