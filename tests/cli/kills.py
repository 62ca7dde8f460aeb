"""Kill a study at random instants until it has ended, again and again: python tests/cli/kills.py --kills 200

Each time that it ends, every file must be that of a study which nothing disturbed, byte for byte but for times. The
study is carried out by the command line, in a process forked from one that has loaded everything, with a checkpoint
every few hundredths of a second, on two workers; every other time in place of results of another seed.
"""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from command import write_study
from timeless import contents

from outrisk.assess import run as running
from outrisk.assess import study as studying
from outrisk.cli.commands import run

STUDY = {
    "study": {"runs": 2, "folds": [1, 2]},
    "evolve": {"generations": 12, "patience": 0},
    "privacy": {"metrics": []},
}
EVERY = 0.02  # seconds between checkpoints


def assess(path, place, workers, *more):
    return run(["assess", str(path), "--out", str(place), "--workers", str(workers), "--quiet", *more])


def begun(path, place, *more):
    """The id of a process that assesses the study."""
    process = os.fork()
    if process:
        return process
    studying.Job = partial(running.Job, every=EVERY)
    try:
        code = assess(path, place, 2, *more)
    except BaseException:
        code = 99
        raise
    finally:
        os._exit(code)


def ended(process, seconds):
    """Exit code of a process that ends within so many seconds; None if it was killed then."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    return None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)


def check_left(folder, place):
    """What a kill may leave: the directory alone, its drafts of fixed names, and a manifest that does not say complete
    before everything is there.
    """
    assert {path.name for path in folder.iterdir()} <= {place.name}, sorted(folder.iterdir())
    if (place / "manifest.json").exists() and '"status": "complete"' in (place / "manifest.json").read_text():
        assert (place / "report.html").is_file() and (place / "risk.json").is_file()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    folder = Path(tempfile.mkdtemp())
    path, place = write_study(folder, STUDY), folder / "runs" / "killed"
    before = folder / "before"  # as deep as the other: a run says where the data are seen from it
    before.mkdir()
    assert assess(path, folder / "warm", 1) == 0  # loads what a study needs
    assert ended(begun(path, before / "whole"), 600) == 0
    started = time.monotonic()
    assert ended(begun(path, before / "again"), 600) == 0
    took, expected = time.monotonic() - started, contents(before / "whole")
    assert contents(before / "again") == expected
    place.parent.mkdir()
    assert assess(path, before / "old", 2, "--seed", "7") == 0
    kills = whole = 0
    while kills < options.kills or place.exists():
        last = kills >= options.kills
        if whole % 2 == 0 and not place.exists():
            shutil.copytree(before / "old", place)
        replaces = place.exists() and not (place / "unfinished" / "study.json").exists()
        code = ended(begun(path, place, *["--force"][:replaces]), 600 if last else draw.uniform(0.0, took))
        if code is None:
            kills += 1
            if place.parent.exists():
                check_left(place.parent, place)
            continue
        if code == 2 and '"status": "complete"' in (place / "manifest.json").read_text():
            code = 0  # killed with everything in place, and refused as complete
        assert code == 0, code
        found = contents(place)
        assert found == expected, [name for name in {**expected, **found} if found.get(name) != expected.get(name)]
        assert sorted(found) == sorted(expected)
        shutil.rmtree(place)
        whole += 1
    shutil.rmtree(folder)
    print(f"{kills} kills, {whole} times to the end ({took:.1f} s undisturbed): always the same bytes but for times")


if __name__ == "__main__":
    main()
