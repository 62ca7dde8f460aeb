"""Progress of a study on a terminal; where there is none, silent but for a line when code is compiled."""

from __future__ import annotations

import threading
import time
from types import TracebackType

from numba.core import event
from rich import progress as bars
from rich.console import Console

from outrisk.evolve.loop import Generation


class _Compiling(event.Listener):  # type: ignore[misc]
    """Says, without a terminal too, that code is being compiled, the first time that it is: minutes may go by."""

    def __init__(self, console: Console) -> None:
        self._console, self._said = console, False

    def on_start(self, event: event.Event) -> None:
        if not self._said:
            self._said = True
            self._console.print("compiling, once: what is compiled now is kept for all later runs", highlight=False)

    def on_end(self, event: event.Event) -> None:
        pass


class Progress:
    """One bar over all evolutions, `what` they are called: how many are done, the error of the one heard of last,
    generations a second, time left.
    """

    def __init__(self, what: str, total: int, console: Console) -> None:
        self._bar = bars.Progress(
            bars.TextColumn("{task.description}"),
            bars.BarColumn(bar_width=24),
            bars.MofNCompleteColumn(),
            bars.TextColumn("{task.fields[state]}"),
            bars.TextColumn("left"),
            bars.TimeRemainingColumn(compact=True, elapsed_when_finished=True),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(what, total=total, state="")
        self._lock = threading.Lock()
        self._generations, self._started, self._shown = 0, time.perf_counter(), 0.0
        self._compiling = _Compiling(console)

    def __enter__(self) -> Progress:
        event.register("numba:compile", self._compiling)
        if not self._bar.disable:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        event.unregister("numba:compile", self._compiling)
        if not self._bar.disable:
            self._bar.stop()

    def heard(self, name: str, generation: Generation) -> None:
        """Hear of a generation (from any thread) of the evolution of a name."""
        with self._lock:
            self._generations += 1
            now = time.perf_counter()
            if now - self._shown < 0.1:
                return
            self._shown = now
            rate = self._generations / (now - self._started)
        state = f"{name}: error {generation.errors.mae:.2g}, {rate:,.0f} generations/s"
        self._bar.update(self._task, state=state)

    def finished(self) -> None:
        """Hear that an evolution has ended."""
        self._bar.advance(self._task)


class MetricProgress:
    """One bar for the privacy metric at work; silent where there is no terminal."""

    def __init__(self, console: Console) -> None:
        self._bar = bars.Progress(
            bars.TextColumn("{task.description}"),
            bars.BarColumn(bar_width=24),
            bars.TaskProgressColumn(),
            bars.TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task: bars.TaskID | None = None

    def __enter__(self) -> MetricProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def heard(self, metric: str, done: float) -> None:
        """Hear how far a metric is, in [0, 1]."""
        if self._bar.disable:
            return
        if self._task is None:
            self._bar.start()
            self._task = self._bar.add_task("", total=1.0)
        self._bar.update(self._task, description=metric, completed=done)
