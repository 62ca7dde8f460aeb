"""Forked processes: what they are asked for, what they tell, and how they end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest

from outrisk.assess.backends import Backend
from outrisk.errors import ConfigError, RiskError
from outrisk.records.lock import Lock
from outrisk.records.provenance import resident_mb
from outrisk.side_by_side.forked import Forked, can_fork

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")


@pytest.fixture
def forked():
    made = Forked({"a": 1, "b": 2}, 2)
    yield made
    made.close()


def looked_up(here, name):
    here.tell(name.upper())
    return here.shared[name]


def process_of(here):
    time.sleep(0.2)
    return os.getpid()


def failing(here, kind):
    if kind == "unknown":
        raise type("Unheard", (Exception,), {})("of here alone")
    if kind == "unsendable":
        return lambda: None
    raise RiskError("no such key")


def ended(here):
    os.kill(os.getpid(), signal.SIGKILL)


def waiting(here):
    until = time.monotonic() + 30
    while not here.halt.is_set() and time.monotonic() < until:
        time.sleep(0.01)
    return "halted" if here.halt.is_set() else "late"


def sleeping(here, seconds):
    time.sleep(seconds)
    return seconds


def takes_memory(here, megabytes):
    return len(b"1" * (megabytes << 20))


def test_results_and_what_is_told_come_with_their_place(forked):
    told = []
    many = [("b",), ("a",), ("b",), ("a",), ("a",)]
    found = dict(forked.carry_out(looked_up, many, Event(), lambda at, what: told.append((at, what))))
    assert found == {0: 2, 1: 1, 2: 2, 3: 1, 4: 1}
    assert sorted(told) == [(0, "B"), (1, "A"), (2, "B"), (3, "A"), (4, "A")]


def test_it_is_done_side_by_side_elsewhere_and_again(forked):
    for _ in range(2):
        found = {pid for _, pid in forked.carry_out(process_of, [()] * 4, Event())}
        assert len(found) == 2 and os.getpid() not in found


def test_the_first_begins_before_it_is_asked_for(forked):
    pending = forked.carry_out(process_of, [()] * 2, Event())
    time.sleep(0.5)
    clock = time.perf_counter()
    assert len(list(pending)) == 2 and time.perf_counter() - clock < 0.15


@pytest.mark.parametrize(
    ("kind", "error", "said"),
    [
        ("known", RiskError, "no such key"),
        ("unknown", RuntimeError, "Unheard: of here alone"),
        ("unsendable", Exception, "pickle"),
    ],
)
def test_an_error_there_is_one_here(forked, kind, error, said):
    with pytest.raises(error, match=said):
        list(forked.carry_out(failing, [(kind,)], Event()))


def test_a_process_that_is_gone_is_told_in_one_line(forked):
    with pytest.raises(ConfigError, match=r"ended from outside.*fewer --workers") as found:
        list(forked.carry_out(ended, [()], Event()))
    assert "\n" not in str(found.value)


def test_what_is_halted_ends_and_nothing_more_begins(forked):
    halt = Event()
    pending = forked.carry_out(waiting, [()] * 5, halt)
    halt.set()
    clock = time.perf_counter()
    assert [found for _, found in pending] == ["halted"] * 2
    assert time.perf_counter() - clock < 5
    assert [pid for _, pid in forked.carry_out(process_of, [()], Event())]  # and they serve again


def test_what_nobody_asks_for_any_more_ends(forked):
    pending, processes = forked.carry_out(sleeping, [(0,), (60,)], Event()), list(forked._processes)
    assert next(pending) == (0, 0) and not forked.closed
    pending.close()
    assert forked.closed and not any(process.is_alive() for process in processes)
    assert Backend("fork", None, forked).forked is None  # so that threads go on
    with pytest.raises(RuntimeError, match="closed"):
        forked.carry_out(sleeping, [(0,)], Event())


@pytest.mark.parametrize("freed", [0, 300])
def test_memory_is_what_they_take_beside_what_is_common(freed):
    """Also where it is of what this process has freed and not given back: there it has to be copied."""
    parts = [bytes(1 << 16) for _ in range(16 * freed)]
    del parts
    forked = Forked(None, 2)
    now = resident_mb()
    list(forked.carry_out(takes_memory, [(100,)], Event()))
    assert 95 < forked.memory - now < 150
    forked.close()


def test_processes_are_not_forked_where_there_are_other_threads(monkeypatch):
    monkeypatch.setattr("outrisk.side_by_side.forked.active_count", lambda: 1)
    assert can_fork()
    monkeypatch.setattr("outrisk.side_by_side.forked.active_count", lambda: 2)
    assert not can_fork()
    monkeypatch.setattr("outrisk.side_by_side.forked.active_count", lambda: 1)
    monkeypatch.setattr("outrisk.side_by_side.forked.sys", SimpleNamespace(platform="darwin"))
    assert not can_fork()


DIES = """
import os, signal, sys, time
from pathlib import Path
from threading import Event
from outrisk.assess.backends import Backend
from outrisk.side_by_side.forked import Forked
from outrisk.records.lock import Lock
from outrisk.records.provenance import resident_mb

def told(here):
    while True:
        here.tell(os.getpid())
        time.sleep(0.01)

lock = Lock(Path(sys.argv[1]), Path("it"))
lock.take()
forked = Forked(None, 2)
seen = set()

def heard(at, pid):
    seen.add(pid)
    if len(seen) == 2:
        print(*seen, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

list(forked.carry_out(told, [()] * 2, Event(), heard))
"""


def test_they_end_and_hold_no_lock_when_the_one_that_forked_them_is_killed(tmp_path):
    script = tmp_path / "dies.py"
    script.write_text(DIES)
    died = subprocess.run([sys.executable, script, tmp_path / "lock"], capture_output=True, text=True, timeout=60)
    assert died.returncode == -signal.SIGKILL
    pids = list(map(int, died.stdout.split()))
    assert len(pids) == 2
    lock = Lock(tmp_path / "lock", tmp_path)
    lock.take()  # at once
    lock.release()
    until = time.monotonic() + 10
    while any(map(alive, pids)) and time.monotonic() < until:
        time.sleep(0.02)
    assert not any(map(alive, pids))


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
