import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event

import pytest
from command import outrisk, write_study

from outrisk.cli.interrupt import halting, undisturbed

COMMAND = [shutil.which("outrisk", path=Path(sys.executable).parent) or "outrisk", "assess"]
LONG = {"study": {"runs": 400, "folds": [1]}, "evolve": {"generations": 300, "patience": 0}}


def started(folder, *arguments):
    return subprocess.Popen(
        [*COMMAND, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def stopped(process):
    """Seconds from SIGINT to the end, and what was said."""
    before = time.perf_counter()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    err = "".join(line for line in err.splitlines(keepends=True) if not line.startswith(("Forecast: ", "compiling, ")))
    assert err.count("\n") == 1, err
    return time.perf_counter() - before, err


def log_of(folder):
    return next((path.read_text() for path in folder.glob("runs/small/unfinished/log.jsonl")), "")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_what_is_done_is_kept(tmp_path, capsys, workers):
    process = started(tmp_path, write_study(tmp_path, LONG), "--workers", workers)
    until = time.monotonic() + 90
    while log_of(tmp_path).count('"event": "run"') < 2 and time.monotonic() < until:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    seconds, said = stopped(process)
    assert seconds < 2
    run = tmp_path / "runs" / "small"
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["status"] == "interrupted"
    assert 2 <= manifest["runs_done"] < manifest["runs_planned"] == 400
    assert f"{manifest['runs_done']} of 400 runs are kept in runs/small" in said
    assert len(list((run / "synthetic").iterdir())) == manifest["runs_done"]
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["small"]
    code, _, err = outrisk(capsys, "report", run)
    assert (code, err) == (0, "")
    assert (run / "report.html").is_file()


@pytest.mark.parametrize("delay", [0.7, 1.5, 4.0])
def test_before_any_run_has_ended(tmp_path, delay):
    """Nothing is left; or, where a run had begun by then, its checkpoint."""
    path = write_study(tmp_path, {**LONG, "evolve": {"preset": "paper", "generations": 1_000_000, "population": 100}})
    process = started(tmp_path, path)
    time.sleep(delay)
    seconds, said = stopped(process)
    assert seconds < 2
    left = [each.name for each in (tmp_path / "runs").glob("*")]
    if not left:
        assert said == "outrisk: stopped; nothing was written\n"
        assert not (tmp_path / "runs").exists()
        return
    assert said == (
        "outrisk: stopped; no run has ended; what was begun is kept in runs/small, "
        "and the same command goes on with it\n"
    )
    assert left == ["small"] and [each.name for each in (tmp_path / "runs" / "small").iterdir()] == ["unfinished"]
    assert any((tmp_path / "runs" / "small" / "unfinished" / "checkpoints").iterdir())


def test_a_signal_that_comes_too_early_is_not_lost():
    """While a directory is begun, say: it halted nothing, and the study went on as if nobody had asked."""
    halt = Event()
    with undisturbed() as missed:
        signal.raise_signal(signal.SIGINT)
        assert missed.is_set()
        with halting(halt, missed):
            assert halt.is_set()
    late = Event()
    with undisturbed() as missed:
        with halting(late, missed):
            assert not late.is_set()
        signal.raise_signal(signal.SIGINT)
    assert not late.is_set()
