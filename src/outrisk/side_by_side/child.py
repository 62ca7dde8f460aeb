"""How a forked process begins: it leaves Ctrl-C and locks to the one it was forked from, and ends with that."""

from __future__ import annotations

import ctypes
import os
import signal

from outrisk.records.lock import Lock

_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)


def begin(parent: int) -> None:
    """To be called first in a process that was forked from `parent`; on Linux."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Lock.leave_to_parent()
    ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it had ended before
        os._exit(1)
