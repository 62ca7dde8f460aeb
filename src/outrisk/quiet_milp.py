"""Integer programmes by HiGHS, which writes lines of its own to the terminal though it is asked not to."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from scipy.optimize import OptimizeResult
from scipy.optimize import milp as _milp


class _Silence:
    """The process's standard output, to nowhere while anybody is inside; HiGHS may run in several threads."""

    def __init__(self) -> None:
        self.lock, self.inside, self.kept = Lock(), 0, -1

    @contextmanager
    def __call__(self) -> Iterator[None]:
        self._enter()
        try:
            yield
        finally:
            self._leave()

    def _enter(self) -> None:
        with self.lock:
            self.inside += 1
            if self.inside == 1:
                try:
                    self.kept = os.dup(1)
                    nowhere = os.open(os.devnull, os.O_WRONLY)
                except OSError:  # there is no standard output
                    return
                os.dup2(nowhere, 1)
                os.close(nowhere)

    def _leave(self) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0 and self.kept >= 0:
                ctypes.CDLL(None).fflush(None)  # what C keeps until it has much
                os.dup2(self.kept, 1)
                os.close(self.kept)
                self.kept = -1


_SILENCE = _Silence()


def milp(*arguments: Any, **settings: Any) -> OptimizeResult:
    """As `scipy.optimize.milp`, without a line on standard output (of what is printed by C)."""
    if sys.platform == "win32":  # whose C library is not that of the process
        return _milp(*arguments, **settings)
    with _SILENCE():
        return _milp(*arguments, **settings)
