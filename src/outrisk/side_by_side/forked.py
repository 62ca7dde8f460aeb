"""Processes forked from this one: what was read, imported and compiled here is there, and nothing is copied before it
changes. Unlike threads they do not wait for each other's Python; unlike processes begun anew they begin at once.
"""

from __future__ import annotations

import gc
import math
import mmap
import multiprocessing
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from threading import active_count
from typing import Any, Protocol

from threadpoolctl import threadpool_limits

from outrisk.errors import ConfigError
from outrisk.records.provenance import peak_memory_mb, resident_mb
from outrisk.side_by_side.child import begin

_LOOK = 0.1  # seconds between looks whether the work is halted
_MEMORY = 1.0  # and between looks how much memory is a process's own: the system takes 10 ms to tell


class Stop(Protocol):
    """Says whether work is halted: a `threading.Event`, or what a process has of one."""

    def is_set(self) -> bool: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class Here:
    """What work is given in the process it is carried out in: what all work is about, whether it is halted, and whom
    to tell how far it is.
    """

    shared: Any
    halt: Stop
    tell: Callable[[Any], None]


Work = Callable[..., Any]  # a function of a module: of `Here`, and of arguments that are sent


class _Halted:
    """A flag that forked processes share."""

    def __init__(self) -> None:
        self._byte = mmap.mmap(-1, 1)

    def is_set(self) -> bool:
        return self._byte[0] != 0

    def set(self, halted: bool) -> None:
        self._byte[0] = halted


@dataclass(eq=False)
class _Asked:
    """Some work on many arguments: those that are not begun, by position, the first last; the links of processes that
    have nothing to do, and of the others, with the position of what they do.
    """

    work: Work
    left: list[tuple[int, tuple[Any, ...]]]
    free: list[Connection]
    busy: dict[Connection, int] = field(default_factory=dict)

    def begin(self) -> None:
        """Give every process something to do, as long as there is anything."""
        while self.left and self.free:
            at, arguments = self.left.pop()
            self.busy[link := self.free.pop()] = at
            _send(link, (self.work, arguments))

    def ended(self, link: Connection) -> int:
        """The position of what a process has done, which now has nothing to do."""
        self.free.append(link)
        return self.busy.pop(link)


def can_fork() -> bool:
    """Whether this process can be forked without danger: on Linux, where no other thread holds what is needed then."""
    return sys.platform == "linux" and active_count() == 1


def forked_if_possible(shared: object, processes: int) -> Forked | None:
    """So many processes, forked now; None where one is enough, or there can be no more, or no more memory."""
    if processes > 1:
        with suppress(OSError):
            return Forked(shared, processes)
    return None


def forked_if_safe(shared: object, processes: int) -> Forked | None:
    """The same, but None too where it might do harm."""
    return forked_if_possible(shared, processes) if can_fork() else None


class Forked:
    """So many processes, forked now; OSError where there can be no more. shared: what their work is about, as it is
    now. They end with `close`, or when this process does, however it ends.
    """

    def __init__(self, shared: object, processes: int) -> None:
        context = multiprocessing.get_context("fork")
        self.shared: Any = shared
        self._halted, self._links = _Halted(), list[Connection]()
        self._own: dict[Connection, float] = {}  # memory of each, in MB
        self.memory = 0.0  # most MB so far of this process and, beside what they have in common with it, of these
        self._processes = []
        gc.freeze()  # so that looking for garbage there changes none of what is common
        try:
            for _ in range(processes):
                here, there = context.Pipe()
                self._links.append(here)
                process = context.Process(target=_serve, args=(shared, there, os.getpid(), self._halted))
                process.daemon = True
                process.start()
                there.close()
                self._processes.append(process)
        except OSError:
            self.close()
            raise
        finally:
            gc.unfreeze()

    @property
    def closed(self) -> bool:
        """Whether they have ended."""
        return not self._links

    def carry_out(
        self, work: Work, many: Sequence[tuple[Any, ...]], halt: Stop, heard: Callable[[int, Any], None] | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Do some work on many arguments: each position with its result, as it ends. What work tells is heard here, in
        this thread, while results are asked for; the first of it begins now. Once `halt` is set, no more is begun.
        ConfigError if a process is gone.
        """
        if self.closed:
            raise RuntimeError("these processes are closed")
        self._halted.set(halt.is_set())
        asked = _Asked(work, list(enumerate(many))[::-1], list(self._links))
        if not halt.is_set():
            asked.begin()
        return self._collected(asked, halt, heard)

    def _collected(
        self, asked: _Asked, halt: Stop, heard: Callable[[int, Any], None] | None
    ) -> Iterator[tuple[int, Any]]:
        try:
            while asked.busy or asked.left:
                if halt.is_set():
                    self._halted.set(True)
                    asked.left.clear()
                asked.begin()
                for link in wait(list(asked.busy), timeout=_LOOK):
                    assert isinstance(link, Connection)
                    what, found, memory = _received(link)
                    if what == "told":
                        if heard is not None:
                            heard(asked.busy[link], found)
                        continue
                    self._own[link] = max(memory, self._own.get(link, 0.0))
                    self.memory = max(self.memory, resident_mb() + sum(self._own.values()))
                    at = asked.ended(link)
                    if what == "failed":
                        raise found
                    yield at, found
        finally:
            if asked.busy:  # with whatever it was, nobody asks for it any more
                self.close()

    def close(self) -> None:
        """End the processes, whatever they do."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join()
        for link in self._links:
            link.close()
        self._processes, self._links = [], []


def _send(link: Connection, message: object) -> None:
    try:
        link.send(message)
    except OSError:
        raise _gone() from None


def _received(link: Connection) -> Any:
    try:
        return link.recv()
    except (EOFError, OSError):
        raise _gone() from None


def _gone() -> ConfigError:
    return ConfigError(
        "a process that carried out a run has been ended from outside, as a system does that is short of memory: give "
        "fewer --workers, in Python workers= (1 forks none); of a study that is written the runs that have ended are "
        "kept, and the same command goes on"
    )


def _serve(shared: object, link: Connection, parent: int, halted: _Halted) -> None:
    """Carry out what comes over a link."""
    begin(parent)
    before, private, looked = peak_memory_mb() or 0.0, 0.0, -math.inf

    def answer(what: str, found: object) -> None:
        """More memory than at first, or what is written anew of that which was common, whichever is more."""
        nonlocal private, looked
        if what != "told" and time.monotonic() - looked > _MEMORY:
            private, looked = _private_mb(), time.monotonic()
        link.send((what, found, max((peak_memory_mb() or 0.0) - before, private)))

    here = Here(shared, halted, lambda found: answer("told", found))
    with suppress(EOFError, OSError), threadpool_limits(limits=1):  # linear algebra too: the work fills the cores
        while True:
            work, arguments = link.recv()
            try:
                answer("done", work(here, *arguments))
            except Exception as error:
                error.add_note("".join(traceback.format_exception(error)))
                _failed(answer, error)


def _private_mb() -> float:
    """MB of this process that no other has in common with it; 0 where the system does not tell."""
    with suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) * 1024 / 1e6
    return 0.0


def _failed(answer: Callable[[str, object], None], error: Exception) -> None:
    try:
        answer("failed", error)
    except (EOFError, OSError):
        raise
    except Exception:  # it cannot be sent
        answer("failed", RuntimeError(f"{type(error).__name__}: {error}"))
