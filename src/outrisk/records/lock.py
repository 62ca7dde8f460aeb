"""A lock on a folder, so that two processes do not write it at once; that of a process that has died is free."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from pathlib import Path
from typing import IO

from outrisk.errors import ConfigError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class Lock:
    """A lock file, held while it is open: the system itself lets go of it when the process ends, however it ends."""

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
                    f"{self.about} is being written by {holder}; wait for its end, or give another --out"
                ) from None
            if _is_same(file, self.path):
                self._file = file
            else:  # removed by the one who held it, before it was ours
                file.close()
        self._file.seek(0)
        self._file.truncate()
        self._file.write(f"process {os.getpid()} on {platform.node()}\n")
        self._file.flush()

    def release(self) -> None:
        """Let go of the lock, and remove its file."""
        if self._file is not None:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)
            self._file.close()
            self._file = None


def _hold(file: IO[str]) -> None:
    if fcntl is None:  # Windows refuses to remove or to replace what is open, which has to do
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:  # a file system without locks
        return


def _is_same(file: IO[str], path: Path) -> bool:
    try:
        return os.fstat(file.fileno()).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False
