"""The command line. It translates and computes nothing; each subcommand's work is in a module of its own."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import NoReturn

STOPPED = 130  # what a shell expects of a command that Ctrl-C ended


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Entry point of the `outrisk` command: 0 = done, 2 = the user's mistake, in one line on stderr, 130 = stopped."""
    gc.set_threshold(50_000, 20, 100)  # imports make many objects, of which none can go
    before = signal.signal(signal.SIGINT, _leave)
    code = None

    def end() -> None:
        """The last thing that is done: to take down all modules would take up to a second."""
        if code is not None:
            with suppress(OSError):  # Python says what could not be written
                leave(code)

    atexit.register(end)
    try:
        from outrisk.cli.commands import run

        code = run(arguments)
    finally:
        signal.signal(signal.SIGINT, before)
    if code == STOPPED:
        leave(code)  # at once: a run that was cut short may still be computing in a thread
    sys.exit(code)


def leave(code: int) -> NoReturn:
    """End the process without waiting for its threads."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _leave(number: int, frame: FrameType | None) -> None:
    # Not KeyboardInterrupt: raised while a compiled module is imported, it turns into other errors. Nothing is open.
    sys.stderr.write("outrisk: stopped; nothing was written\n")
    leave(STOPPED)
