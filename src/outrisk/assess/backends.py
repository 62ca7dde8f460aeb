"""Where runs are carried out: in processes forked from this one or begun anew, on threads, on a dask cluster.

The results are the same bytes wherever they are computed. Forked processes and threads have the compiled code and the
data of this one, and tell of every generation; other processes and clusters, to which joblib sends each run as a plain
job of data, tell of runs that have ended.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from threading import Event
from typing import Any

import joblib
from threadpoolctl import threadpool_limits

from outrisk.assess import efforts
from outrisk.assess.contributions.subset_runs import SubsetJob
from outrisk.assess.kept import packed, unpacked
from outrisk.assess.run import Job, RunResult, Watcher, perform
from outrisk.errors import ConfigError
from outrisk.evolve.compiled.kept_code import kept
from outrisk.evolve.loop import has_compiled
from outrisk.records.provenance import code_digest, peak_memory_mb, versions
from outrisk.risk.attribution.nearest_compiled import nearest
from outrisk.side_by_side.forked import Forked, Here, can_fork, forked_if_possible

BACKENDS = ("fork", "threads", "loky", "dask")
_ANSWER = 10.0  # seconds that a scheduler has to answer
_LOOK = 0.1  # seconds between looks whether the runs are halted


@dataclass(frozen=True)
class Planned:
    """What forked processes may be asked for: runs, and evolutions of subsets of outputs, by their positions here."""

    jobs: Sequence[Job]
    subsets: Sequence[SubsetJob]

    def place(self, asked: Job | SubsetJob) -> int:
        """The position by which one of them is asked for."""
        return self._places[asked]

    @cached_property
    def _places(self) -> dict[Job | SubsetJob, int]:
        return dict(zip(self.jobs, count(), strict=False)) | dict(zip(self.subsets, count(), strict=False))


@dataclass
class Backend:
    """A backend, ready to carry out runs. client: of dask's scheduler. processes: once they are forked."""

    name: str = "threads"
    client: Any = None
    processes: Forked | None = None

    @property
    def forked(self) -> Forked | None:
        """Forked processes that can be asked for work; None: threads are to do it."""
        return None if self.processes is None or self.processes.closed else self.processes

    def fork(self, planned: Planned, processes: int) -> None:
        """Fork processes, if this is what they are wanted for; threads do what is not worth them, or has code that is
        not compiled yet, which each of them would compile for itself.
        """
        if self.name == "fork" and all(_is_compiled(job) for job in planned.jobs):
            self.processes = forked_if_possible(planned, processes)

    @property
    def memory(self) -> float | None:
        """Most MB so far of this process, with forked ones; None where the system does not tell."""
        own = peak_memory_mb()
        return own if own is None or self.processes is None else round(max(own, self.processes.memory), 1)

    def end_forked(self) -> None:
        """End forked processes: what is left to do is done here."""
        if self.processes is not None:
            self.processes.close()

    def close(self) -> None:
        """Let go of processes, or of the cluster."""
        self.end_forked()
        if self.client is not None:
            self.client.close()


THREADS = Backend()


def _is_compiled(job: Job) -> bool:
    """Whether what a run needs is compiled and kept."""
    return has_compiled(job.problem, job.settings) and kept(nearest)


def connect(name: str | None, address: str | None) -> Backend:
    """A backend of this name, by default forked processes where there is no danger in that; ConfigError where it is not
    installed, or no scheduler answers at the address, or its workers have another OutRisk than this one.
    """
    if name is None:
        name = "fork" if address is None and can_fork() else "threads"
    if name == "fork" and sys.platform != "linux":
        raise ConfigError("backend is 'fork', which is safe on Linux alone; give threads, or loky for processes")
    if name not in BACKENDS:
        raise ConfigError(f"backend is {name!r}: it must be one of {list(BACKENDS)}")
    if (address is None) == (name == "dask"):
        raise ConfigError("backend dask and address go together: the address of the scheduler, tcp://HOST:8786")
    if name != "dask":
        return Backend(name)
    try:
        from distributed import Client
    except ImportError:
        raise ConfigError("backend dask is not installed; pip install 'outrisk[dask]'") from None
    try:
        client = Client(address, timeout=_ANSWER, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:  # TimeoutError is an OSError
        raise ConfigError(f"address {address}: no dask scheduler answers there ({_short(error)})") from None
    try:
        _check_workers(client, str(address))
    except BaseException:
        client.close()
        raise
    return Backend(name, client)


def _check_workers(client: Any, address: str) -> None:
    """ConfigError where a worker cannot carry out runs, or would by other code."""
    try:
        found = client.run(_code)
    except Exception as error:  # whatever a worker says
        raise ConfigError(f"address {address}: a worker has no OutRisk that runs ({_short(error)})") from None
    if not found:
        raise ConfigError(f"address {address}: the scheduler has no workers; start some")
    own = _code()
    for worker, code in found.items():
        other = [f"{name} is {code.get(name)}, here {own[name]}" for name in own if code.get(name) != own[name]]
        if other:
            raise ConfigError(f"address {address}: worker {worker} has other code: {'; '.join(other[:2])}")


def _code() -> dict[str, str]:
    return versions() | {"code of outrisk": code_digest()[:12]}


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__


def outcomes(
    jobs: Sequence[Job], workers: int, halt: Event, watcher: Watcher | None, backend: Backend
) -> Iterator[RunResult]:
    """The results of all jobs, each as it ends; those that `halt` has cut short are left out."""
    if not jobs:
        return
    if backend.forked is not None:
        yield from _in_forked(backend.forked, jobs, halt, watcher)
        return
    if backend.name in ("threads", "fork"):
        with threadpool_limits(limits=1):  # linear algebra in one thread: the runs already fill the cores
            parallel = joblib.Parallel(n_jobs=workers, prefer="threads", return_as="generator_unordered")
            for result in parallel(joblib.delayed(_guarded)(job, halt, watcher) for job in jobs):
                if result is not None:
                    yield result
        return
    for at, result in _elsewhere(jobs, workers, halt, backend):
        yield unpacked(jobs[at], result)


def _in_forked(forked: Forked, jobs: Sequence[Job], halt: Event, watcher: Watcher | None) -> Iterator[RunResult]:
    """The results of jobs carried out in processes that know them."""

    def heard(at: int, generation: tuple[int, float]) -> None:
        if watcher is not None:
            watcher(jobs[at].fold, jobs[at].run, *generation)

    asked = [(forked.shared.place(job),) for job in jobs]
    for at, found in forked.carry_out(_performed, asked, halt, heard):
        result, taken = found
        efforts.add(jobs[at], taken)
        if result is not None:
            yield unpacked(jobs[at], result)


def _performed(here: Here, place: int) -> tuple[dict[str, Any] | None, efforts.Efforts]:
    """A run carried out in a forked process: its result, and what slow paths have taken."""
    job: Job = here.shared.jobs[place]
    watcher = lambda fold, run, *generation: here.tell(generation)  # noqa: E731
    result, taken = efforts.counted(job, lambda: perform(job, here.halt, watcher))
    return None if result is None else packed(result), taken


def _guarded(job: Job, halt: Event, watcher: Watcher | None) -> RunResult | None:
    return None if halt.is_set() else perform(job, halt, watcher)


def _elsewhere(
    jobs: Sequence[Job], workers: int, halt: Event, backend: Backend
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The results of jobs carried out in other processes. A thread waits for them, so that this one can see `halt`."""
    found: queue.Queue[tuple[int, dict[str, Any]] | BaseException | None] = queue.Queue()

    def wait() -> None:
        try:
            with _placed(backend):
                parallel = joblib.Parallel(n_jobs=workers, return_as="generator_unordered")
                for each in parallel(joblib.delayed(_carried)(at, job) for at, job in enumerate(jobs)):
                    found.put(each)
            found.put(None)
        except BaseException as error:
            found.put(error)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    ended = False
    try:
        while not ended and not (halt.is_set() and found.empty()):
            with suppress(queue.Empty):
                each = found.get(timeout=_LOOK)
                ended = each is None or isinstance(each, BaseException)
                if isinstance(each, BaseException):
                    raise each
                if each is not None:
                    yield each
    finally:
        if not ended:
            _abort(backend)


@contextmanager
def _placed(backend: Backend) -> Iterator[None]:
    """Where joblib carries out what it is given in this block."""
    if backend.name == "dask":
        with backend.client.as_current():
            placed = joblib.parallel_config(backend="dask")
        with placed:
            yield
        return
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"  # no module that lies in the current folder is run in place of an installed one
    try:
        with joblib.parallel_config(backend="loky"):
            yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


def _abort(backend: Backend) -> None:
    """End runs under way: their last checkpoints stay."""
    with suppress(Exception):
        if backend.name == "loky":
            from joblib.externals.loky import get_reusable_executor

            get_reusable_executor().shutdown(wait=False, kill_workers=True)
        backend.close()


def _carried(at: int, job: Job) -> tuple[int, dict[str, Any]]:
    """A job carried out in a process of its own: its number, and the result without the job, which need not travel."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits
    with threadpool_limits(limits=1):
        result = perform(job)
    assert result is not None
    return at, packed(result)


def run_all(
    jobs: Sequence[Job],
    workers: int,
    halt: Event,
    watcher: Watcher | None,
    finished: Callable[[RunResult], None],
    backend: Backend = THREADS,
) -> list[RunResult]:
    """Run all jobs, `workers` side by side; results in the order of the jobs.

    `finished` is called in this thread as each run ends. Runs that were halted are left out. Results do not depend on
    the number of workers, nor on the backend.
    """
    results: dict[Job, RunResult] = {}
    for result in outcomes(jobs, workers, halt, watcher, backend):
        results[result.job] = result
        finished(result)
    return [results[job] for job in jobs if job in results]
