"""The command line. It translates and computes nothing; each subcommand's work is in a module of its own."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

STOPPED = 130  # what a shell expects of a command that Ctrl-C ended


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Entry point of the `outrisk` command: 0 = done, 2 = the user's mistake, in one line on stderr, 130 = stopped."""
    gc.set_threshold(50_000, 20, 100)  # imports make many objects, of which none can go
    before = signal.signal(signal.SIGINT, _leave)
    try:
        from outrisk.cli.commands import run

        code = run(arguments)
    finally:
        signal.signal(signal.SIGINT, before)
    if code != STOPPED:  # a run that was cut short may still be computing in a thread
        atexit._run_exitfuncs()
    leave(code)


def leave(code: int) -> NoReturn:
    """End the process at once, its threads not waited for, its modules not taken down, which takes up to a second."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        sys.exit(code)  # Python says what could not be written
    os._exit(code)


def _leave(number: int, frame: FrameType | None) -> None:
    # Not KeyboardInterrupt: raised while a compiled module is imported, it turns into other errors. Nothing is open.
    sys.stderr.write("outrisk: stopped; nothing was written\n")
    leave(STOPPED)
