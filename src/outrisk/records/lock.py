"""A lock on a folder, so that two processes do not write it at once; that of a process that has died is free."""

from __future__ import annotations

import errno
import os
import platform
from contextlib import suppress
from pathlib import Path
from typing import IO, ClassVar
from weakref import WeakSet

from outrisk.errors import ConfigError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
try:
    import msvcrt
except ImportError:  # elsewhere
    msvcrt = None  # type: ignore[assignment]

_BYTE = 1 << 30  # that Windows locks: beyond the text, which others can then read


class Lock:
    """A lock file, held while it is open: the system itself lets go of it when the process ends, however it ends."""

    held: ClassVar[WeakSet[Lock]] = WeakSet()  # by this process

    def __init__(self, path: Path, about: Path) -> None:
        self.path, self.about = path, about
        self._file: IO[str] | None = None

    def take(self) -> None:
        """Hold the lock; ConfigError where another process (or another study of this one) holds it."""
        while self._file is None:
            file = self.path.open("a+", encoding="utf-8")
            try:
                _hold(file)
            except BlockingIOError:
                file.seek(0)
                holder = file.read().strip() or "another process"
                file.close()
                raise ConfigError(
                    f"{self.about} is being written by {holder}; wait for its end, or name another directory"
                ) from None
            if _is_same(file, self.path):
                self._file = file
                self.held.add(self)
            else:  # removed by the one who held it, before it was ours
                file.close()
        self._file.seek(0)
        self._file.truncate()
        self._file.write(f"process {os.getpid()} on {platform.node()}\n")
        self._file.flush()

    def release(self) -> None:
        """Let go of the lock, and remove its file."""
        if self._file is None:
            return
        if fcntl is None:  # Windows removes nothing that is open, and so nothing that another process holds by now
            self._file.close()
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
        self._file.close()
        self._file = None
        self.held.discard(self)

    @classmethod
    def leave_to_parent(cls) -> None:
        """Keep no lock open in a process that was forked: each is free as soon as the one that took it ends."""
        for lock in cls.held:
            if lock._file is not None:
                lock._file.close()


def _hold(file: IO[str]) -> None:
    if fcntl is None:
        _hold_on_windows(file)
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:  # a file system without locks
        return


def _hold_on_windows(file: IO[str]) -> None:
    os.lseek(file.fileno(), _BYTE, os.SEEK_SET)
    try:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EDEADLK):
            raise BlockingIOError from None
    os.lseek(file.fileno(), 0, os.SEEK_SET)


def _is_same(file: IO[str], path: Path) -> bool:
    try:
        return os.fstat(file.fileno()).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False
