"""Fuzzed studies, codebooks, values and data: refused in one line with exit code 2, or carried out; nothing is run.

`OUTRISK_FUZZ=10000 pytest tests/test_fuzz.py` tries as many inputs; `OUTRISK_FUZZ_SEED` others than those of every run.
"""

import os
import signal
from collections import Counter

import pytest
from cli.command import outrisk
from fuzzing import Fuzzer

from outrisk.api import lessons, studies

INPUTS = int(os.environ.get("OUTRISK_FUZZ", "300"))
SEED = int(os.environ.get("OUTRISK_FUZZ_SEED", "1"))
LIMIT = 60  # seconds


@pytest.fixture
def only_prepared(monkeypatch):
    """Studies are made ready, their outputs released and their runs laid out, and then left: as if stopped at once."""
    monkeypatch.setattr(studies, "carry_out", lambda *_: None)
    monkeypatch.setattr(lessons, "make", lambda *_: None)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(10))
def test_every_input_is_refused_in_one_line_or_carried_out(tmp_path, capsys, monkeypatch, only_prepared, part):
    monkeypatch.chdir(tmp_path)
    mark, found = tmp_path / "mark", Counter()
    for number in range(part * INPUTS // 10, (part + 1) * INPUTS // 10):
        place = f"input {number} of seed {SEED}"
        files = Fuzzer([SEED, number], mark).write(tmp_path)
        before = sorted(tmp_path.rglob("*"))
        command = [*files, *([] if files[0] == "check" else ["--out", tmp_path / "run"])]
        signal.signal(signal.SIGALRM, lambda *_, place=place: pytest.fail(f"{place} hangs"))
        signal.alarm(LIMIT)
        try:
            code, _, said = outrisk(capsys, *command)
        except Exception as error:
            raise AssertionError(f"{place}: {command[0]} ends with {error!r}") from error
        finally:
            signal.alarm(0)
        assert code in (0, 2, 130), place  # 130: made ready, and stopped as the fixture has it
        said = "".join(line for line in said.splitlines(keepends=True) if not line.startswith("note: "))
        if code != 0:
            assert said.startswith("outrisk: ") and said.count("\n") == 1, (place, said)
        assert sorted(tmp_path.rglob("*")) == before, f"{place} leaves something behind"
        assert not mark.exists(), place
        found[code] += 1
    assert found[2] and found[2] < sum(found.values())  # some are refused, some are not
