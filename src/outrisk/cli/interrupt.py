"""Ctrl-C while a study is carried out: what is done is kept, and the command ends soon."""

from __future__ import annotations

import signal
from _thread import interrupt_main
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Timer
from types import FrameType

GRACE = 0.8  # seconds the runs have to notice that they are halted


@contextmanager
def halting(halt: Event, missed: Event) -> Iterator[None]:
    """In this block the first Ctrl-C sets `halt`; a second one, or `GRACE` seconds, ends the block.

    To be used inside `undisturbed`, so that no late signal goes astray; `missed`: an early one, which counts as one in
    this block.
    """
    timer = Timer(GRACE, interrupt_main)
    timer.daemon = True

    def stop(number: int, frame: FrameType | None) -> None:
        if halt.is_set():
            raise KeyboardInterrupt
        halt.set()
        timer.start()

    before = signal.signal(signal.SIGINT, stop)
    try:
        if missed.is_set():
            stop(signal.SIGINT, None)
        yield
    except KeyboardInterrupt:
        if not halt.is_set():
            raise
    finally:
        signal.signal(signal.SIGINT, before)
        timer.cancel()


@contextmanager
def undisturbed() -> Iterator[Event]:
    """In this block, which must be short, Ctrl-C does nothing but set the event."""
    missed = Event()
    before = signal.signal(signal.SIGINT, lambda number, frame: missed.set())
    try:
        yield missed
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def breakable() -> Iterator[None]:
    """In this block Ctrl-C raises KeyboardInterrupt."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
