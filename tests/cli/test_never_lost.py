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
from command import outrisk, refused, write_study
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
