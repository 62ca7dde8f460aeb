"""The lock of a run directory: one holder at a time, here and as Windows has it (by a stand-in for its `msvcrt`)."""

import errno
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from outrisk.errors import ConfigError
from outrisk.records import lock


class Windows:
    """`msvcrt.locking`: a byte of a file for one descriptor at a time, until it is closed; the others are refused."""

    LK_NBLCK = 2

    def __init__(self):
        self.held = {}  # (file, byte) -> descriptor

    def locking(self, descriptor, mode, number):
        assert (mode, number) == (self.LK_NBLCK, 1)
        place = os.fstat(descriptor).st_ino, os.lseek(descriptor, 0, os.SEEK_CUR)
        holder = self.held.get(place)
        if holder not in (None, descriptor) and self._open(holder, place[0]):
            raise OSError(errno.EACCES, "Permission denied")
        self.held[place] = descriptor

    def _open(self, descriptor, file):
        try:
            return os.fstat(descriptor).st_ino == file
        except OSError:
            return False


@pytest.fixture(params=["here", "windows"])
def system(request, monkeypatch):
    if request.param == "windows":
        monkeypatch.setattr(lock, "fcntl", None)
        monkeypatch.setattr(lock, "msvcrt", Windows(), raising=False)
        unlink = Path.unlink

        def refuse_open(path, missing_ok=False):  # Windows removes nothing that is open
            for descriptor in Path("/proc/self/fd").iterdir():
                if os.path.realpath(descriptor) == str(path.resolve()):
                    raise PermissionError(errno.EACCES, "in use", str(path))
            unlink(path, missing_ok)

        monkeypatch.setattr(Path, "unlink", refuse_open)
    return SimpleNamespace(name=request.param)


def test_one_holder_at_a_time(tmp_path, system):
    first, second = (lock.Lock(tmp_path / "lock", tmp_path) for _ in range(2))
    first.take()
    with pytest.raises(ConfigError, match=f"is being written by process {os.getpid()} on .*; wait for its end"):
        second.take()
    assert (tmp_path / "lock").read_text().count("\n") == 1  # what says who holds it can be read
    first.release()
    assert not (tmp_path / "lock").exists()
    second.take()
    second.release()
    assert not (tmp_path / "lock").exists()


def test_the_lock_of_a_process_that_has_died_is_free(tmp_path, system):
    dead, heir = (lock.Lock(tmp_path / "lock", tmp_path) for _ in range(2))
    dead.take()
    dead._file.close()  # as the system does
    heir.take()
    assert (tmp_path / "lock").read_text() == f"process {os.getpid()} on {lock.platform.node()}\n"
    heir.release()


def test_a_file_system_without_locks_does_not_stop_a_study(tmp_path, monkeypatch):
    def none(*_):
        raise OSError(errno.EINVAL, "no locks here")

    monkeypatch.setattr(lock, "fcntl", None)
    monkeypatch.setattr(lock, "msvcrt", SimpleNamespace(LK_NBLCK=2, locking=none), raising=False)
    one = lock.Lock(tmp_path / "lock", tmp_path)
    one.take()
    one.release()
