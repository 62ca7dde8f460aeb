"""Work shared with a forked process: the results of all of it, whatever the other process does."""

import os
import signal
import subprocess
import sys
import time

import pytest

from outrisk.side_by_side import halved as module
from outrisk.side_by_side.halved import halved

HERE = os.getpid()


def slow(value):
    def work():
        time.sleep(0.2)
        return value, os.getpid()

    return work


def test_two_processes_share_it_and_the_order_stays():
    found = halved([slow(value) for value in range(6)])
    assert [value for value, _ in found] == list(range(6))
    if module.sys.platform == "linux" and os.cpu_count() > 1:
        assert len({process for _, process in found}) == 2


def test_what_cannot_be_sent_is_done_here():
    found = halved([lambda: lambda: os.getpid() for _ in range(4)])
    assert [each() for each in found] == [HERE] * 4


def test_what_fails_there_fails_here():
    def failing():
        time.sleep(0.1)
        raise LookupError("no such section")

    with pytest.raises(LookupError, match="no such section"):
        halved([failing, failing, failing])


def test_a_process_that_dies_or_never_answers_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(module, "_PATIENCE", 0.3)

    def dies():
        if os.getpid() != HERE:
            os._exit(1)
        time.sleep(0.1)
        return 1

    def hangs():
        time.sleep(0.1 if os.getpid() == HERE else 60)
        return 2

    assert halved([dies] * 4) == [1] * 4
    clock = time.perf_counter()
    assert halved([hangs] * 4) == [2] * 4
    assert time.perf_counter() - clock < 5


def test_without_a_second_process_it_is_done_here(monkeypatch):
    monkeypatch.setattr(module.os, "cpu_count", lambda: 1)
    assert halved([slow(1), slow(2)]) == [(1, HERE), (2, HERE)]
    assert halved([]) == []

    def none(*_):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(module.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "fork", none)
    assert halved([slow(1), slow(2)]) == [(1, HERE), (2, HERE)]


DIES = """
import os, signal, time
from outrisk.side_by_side.halved import halved

parent = os.getpid()

def work():
    if os.getpid() == parent:
        time.sleep(60)
    print(os.getpid(), flush=True)
    os.kill(parent, signal.SIGKILL)
    time.sleep(60)

halved([work] * 2)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")
def test_the_other_process_ends_with_the_one_that_forked_it(tmp_path):
    script = tmp_path / "dies.py"
    script.write_text(DIES)
    died = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=30)  # until both are gone
    assert died.returncode == -signal.SIGKILL and died.stdout.strip().isdigit()
