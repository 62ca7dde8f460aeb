"""Progress of a study: a line on a terminal or in a notebook, else one a minute; a word when code is compiled."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from types import TracebackType
from typing import Any, ClassVar
from weakref import WeakSet

from numba.core import event
from rich.console import Console
from rich.markup import escape

COLUMNS = 60  # of the line of progress
EVERY = 60.0  # seconds between its lines where there is no terminal
_FEW = 3  # generations that tell how long all of them take


class _Compiling(event.Listener):  # type: ignore[misc]
    """Says, without a terminal too, that code is being compiled, the first time that it is: minutes may go by."""

    _told: ClassVar[WeakSet[Console]] = WeakSet()

    def __init__(self, console: Console) -> None:
        self._console = console

    def on_start(self, event: event.Event) -> None:
        if self._console not in self._told:
            self._told.add(self._console)
            self._console.print("compiling, once: what is compiled now is kept for all later runs", highlight=False)

    def on_end(self, event: event.Event) -> None:
        pass


class _Line:
    """One line of at most 60 columns: on a terminal it stands at the foot and changes, in a notebook where it stands;
    else there is one a minute, of what it is then (`at`) if that is given.
    """

    def __init__(self, console: Console, at: Callable[[], str] | None = None) -> None:
        self._console, self._text, self._at = console, "", at
        self._status = console.status("") if console.is_terminal and not console.quiet else None
        self._in_notebook = console.is_jupyter and not console.quiet
        self._shown_in: Any = None  # IPython's handle of what stands in the notebook
        self._ended = threading.Event()
        self._shown = 0.0

    def start(self) -> None:
        if self._status is not None:
            self._status.start()
        elif not self._console.quiet and not self._in_notebook:
            threading.Thread(target=self._every_minute, daemon=True).start()

    def stop(self) -> None:
        self._ended.set()
        if self._status is not None:
            self._status.stop()

    def show(self, text: str, at_once: bool = False) -> None:
        """Change the line; on a terminal a few times a second at most."""
        self._text, now = text[: COLUMNS - 2], time.monotonic()  # a turning mark and a space stand before it
        if (self._status is None and not self._in_notebook) or not (at_once or now - self._shown > 0.2):
            return
        self._shown = now
        if self._status is not None:
            self._status.update(escape(self._text))
        elif self._shown_in is not None:
            self._shown_in.update({"text/plain": self._text}, raw=True)
        else:
            display = import_module("IPython.display").display  # which runs the notebook
            self._shown_in = display({"text/plain": self._text}, raw=True, display_id=True)

    def _every_minute(self) -> None:
        while not self._ended.wait(EVERY):
            text = self._at()[: COLUMNS - 2] if self._at is not None else self._text
            if text:
                self._console.print(escape(text), highlight=False, soft_wrap=True)


@dataclass
class Outlook:
    """How long runs will take, from those that have ended and from the generations of those under way.

    total: runs in all; done: those that had ended before. side_by_side: how many go at a time. budget: generations that
    a run has at most. Times are seconds of any one clock. forecast: seconds left, and when that was said; it holds as
    long as nothing better is known.
    """

    total: int
    done: int
    side_by_side: int
    budget: int
    begun: dict[str, float] = field(default_factory=dict)  # runs under way, and when they were heard of first
    generations: dict[str, int] = field(default_factory=dict)
    took: list[float] = field(default_factory=list)  # runs that have ended
    shares: dict[str, float] = field(default_factory=dict)  # of numbers reproduced at their digits, by run
    forecast: tuple[float, float] | None = None

    def heard(self, name: str, generation: int, share: float, now: float) -> None:
        """Hear of a generation of a run."""
        self.begun.setdefault(name, now)
        self.generations[name], self.shares[name] = generation, share

    def finished(self, name: str, share: float, seconds: float) -> None:
        """Hear that a run has ended, which took so many seconds."""
        self.begun.pop(name, None)
        self.generations.pop(name, None)
        self.shares[name] = share
        self.done += 1
        self.took.append(seconds)

    def left(self, now: float) -> tuple[float, bool] | None:
        """Seconds left, and whether they are a bound: before a run has ended, what all generations would take. None as
        long as nothing is known.
        """
        waiting = self.total - self.done - len(self.begun)
        going = [max(now - since, 1e-3) for since in self.begun.values()]
        if self.took:
            mean = sum(self.took) / len(self.took)
            work = waiting * mean + sum(max(mean - elapsed, 0.1 * mean) for elapsed in going)
            return work / max(1, min(self.side_by_side, self.total - self.done)), False
        known = [
            (now - since, self.generations[name])
            for name, since in self.begun.items()
            if self.generations[name] >= _FEW and now > since
        ]
        if not known:
            return None if self.forecast is None else (max(sum(self.forecast) - now, 0.1 * self.forecast[0]), False)
        run = max(elapsed / generation for elapsed, generation in known) * self.budget
        work = waiting * run + sum(max(run - elapsed, 0.0) for elapsed in going)
        return work / max(1, min(self.side_by_side, self.total - self.done)), True

    @property
    def share(self) -> float | None:
        """Share of the numbers reproduced at their printed digits, mean over the runs heard of."""
        return sum(self.shares.values()) / len(self.shares) if self.shares else None

    def line(self, what: str, now: float) -> str:
        """All of it in 58 columns."""
        parts = [f"{what} {self.done} of {self.total}"]
        left = self.left(now)
        if left is not None and self.done < self.total:
            parts.append(f"{'at most ' if left[1] else ''}{in_words(left[0])} left")
        if self.share is None:
            return ", ".join(parts)
        share = f"{math.floor(100 * self.share)} %"
        whole = ", ".join([*parts, f"{share} of numbers at their digits"])
        return whole if len(whole) <= COLUMNS - 2 else ", ".join([*parts, f"{share} at digits"])


def in_words(seconds: float) -> str:
    """A time that is not known to the second."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Progress:
    """How far the evolutions are, `what` they are called: how many are done, time left, numbers reproduced."""

    def __init__(self, what: str, outlook: Outlook, console: Console) -> None:
        self._what, self._outlook, self._console = what, outlook, console
        self._line, self._lock = _Line(console, self._now), threading.Lock()
        self._compiling = _Compiling(console)

    def __enter__(self) -> Progress:
        event.register("numba:compile", self._compiling)
        self._line.start()
        self._tell(True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        event.unregister("numba:compile", self._compiling)
        self._line.stop()

    def say(self, text: str) -> None:
        """Say something once, above the line."""
        self._console.print(escape(text), highlight=False, soft_wrap=True)

    def expect(self, seconds: float) -> None:
        """Say what time is left as far as a forecast tells."""
        with self._lock:
            self._outlook.forecast = seconds, time.perf_counter()
            self._tell(True)

    def heard(self, name: str, generation: int, share: float) -> None:
        """Hear of a generation (from any thread) of the evolution of a name."""
        with self._lock:
            self._outlook.heard(name, generation, share, time.perf_counter())
            self._tell(False)

    def finished(self, name: str, share: float, seconds: float) -> None:
        """Hear that an evolution has ended, of which this share of numbers is reproduced, after so many seconds."""
        with self._lock:
            self._outlook.finished(name, share, seconds)
            self._tell(True)

    def _tell(self, ended: bool) -> None:
        self._line.show(self._outlook.line(self._what, time.perf_counter()), ended)

    def _now(self) -> str:
        with self._lock:
            return self._outlook.line(self._what, time.perf_counter())


class Stages:
    """What goes on after the last evolution."""

    def __init__(self, console: Console) -> None:
        self._line = _Line(console)

    def __enter__(self) -> Stages:
        self._line.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.stop()

    def say(self, what: str) -> None:
        """Say what begins."""
        self._line.show(what, at_once=True)


class MetricProgress:
    """How far the privacy metric at work is; nothing before the first is."""

    def __init__(self, console: Console) -> None:
        self._line, self._started = _Line(console), False

    def __enter__(self) -> MetricProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.stop()

    def heard(self, metric: str, done: float) -> None:
        """Hear how far a metric is, in [0, 1]."""
        if not self._started:
            self._started = True
            self._line.start()
        self._line.show(f"{metric}: {math.floor(100 * done)} %", at_once=done >= 1)
