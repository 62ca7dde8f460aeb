"""Work that two processes share: this one, and one forked from it for as long as that takes."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from outrisk.side_by_side.child import begin

Found = TypeVar("Found")
_MOST = 256  # works: each has a byte
_PATIENCE = 10.0  # seconds that the other process has for what it has begun, once nothing is left to begin


def halved(works: Sequence[Callable[[], Found]]) -> list[Found]:
    """The results of some works, in their order. Each is done by whichever of two processes is free, the last first
    (best the longest), where this can be forked (Linux, two cores); what the other does not give is done here.
    """
    found: dict[int, Found] = {}
    if sys.platform == "linux" and (os.cpu_count() or 1) > 1 and 1 < len(works) <= _MOST:
        with suppress(OSError):  # no more processes, or no more open files
            found = _shared(works)
    return [found[at] if at in found else work() for at, work in enumerate(works)]


def _shared(works: Sequence[Callable[[], Found]]) -> dict[int, Found]:
    """Results by position; those are left out that the other process has begun and does not give."""
    context = multiprocessing.get_context("fork")
    left, end = os.pipe()  # positions of what is not begun; whoever reads one has begun it
    os.write(end, bytes(reversed(range(len(works)))))
    os.close(end)
    here, there = context.Pipe(duplex=False)
    other = context.Process(target=_share, args=(works, left, there, here, os.getpid()), daemon=True)
    try:
        other.start()
        there.close()
        found = {at: works[at]() for at in _begun(left)}
        with suppress(EOFError):
            if here.poll(_PATIENCE):
                found |= here.recv()
    finally:
        os.close(left)
        here.close()
        if other.pid is not None:
            other.kill()
            other.join()
    return found


def _begun(left: int) -> Any:
    """Positions of works, each as it is begun, until none is left."""
    while position := os.read(left, 1):
        yield position[0]


def _share(works: Sequence[Callable[[], Any]], left: int, link: Any, other_end: Any, parent: int) -> None:
    begin(parent)
    other_end.close()
    found = {}
    for at in _begun(left):
        with suppress(Exception):
            found[at] = works[at]()
    with suppress(Exception):  # some of it cannot be sent
        link.send(found)
