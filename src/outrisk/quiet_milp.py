"""Integer programmes by HiGHS, which writes lines of its own to the terminal though it is asked not to."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any

from scipy.optimize import OptimizeResult
from scipy.optimize import milp as _milp

INFEASIBLE = 2  # of `milp`'s statuses: nothing fits


def milp(*arguments: Any, **settings: Any) -> OptimizeResult:
    """As `scipy.optimize.milp`, without what it prints by C on standard output: in the main thread, as it would
    silence that in the middle of its own lines from another; not on Windows, whose C library is another one.
    """
    if sys.platform == "win32" or current_thread() is not main_thread():
        return _milp(*arguments, **settings)
    with _silence():
        return _milp(*arguments, **settings)


@contextmanager
def _silence() -> Iterator[None]:
    """The process's standard output, to nowhere; left alone where there is none."""
    try:
        kept = os.dup(1)
    except OSError:
        yield
        return
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
        yield
    finally:
        ctypes.CDLL(None).fflush(None)  # what C keeps until it has much
        os.dup2(kept, 1)
        os.close(kept)
