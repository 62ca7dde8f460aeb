"""Forecasts of studies beside what they took: python benchmarks/forecast.py [STUDY ...] [--workers N]

Each of the ready-made studies (configs/) is made ready, its forecast made, as `outrisk assess` shows it before the
first run, and then carried out: seconds by the clock of the runs, of the forecast itself, and of what follows the runs;
generations that runs have needed, by which `assess/forecast.py` has how many are typical; memory.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from threading import Event

from outrisk.api.studies import prepare_study, write_study

CONFIGS = Path(__file__).resolve().parents[1] / "configs"
STUDIES = ("fair", "fair-tables", "fair-summaries", "heart", "acs-weighted")
HEAD = (
    "| study | runs | forecast took, s | likely, s | at most, s | runs took, s | took / likely | generations: least, "
    "median, most | memory: forecast, peak, MB | after the runs, s |"
)


def row(name: str, workers: int) -> str:
    """A row under HEAD."""
    halt = Event()
    with tempfile.TemporaryDirectory() as folder:
        run = prepare_study(CONFIGS / f"{name}.yaml", Path(folder) / "run", False, workers, None, trust=True)
        with run:
            clock = time.perf_counter()
            found = run.foretell(halt)
            foretold = time.perf_counter() - clock
            assert found is not None
            clock = time.perf_counter()
            run.carry_out(halt, lambda *_: None, lambda *_: None)
            took = time.perf_counter() - clock
            clock = time.perf_counter()
            write_study(run)
            after = time.perf_counter() - clock
    generations = [result.generations for result in run.done.values()]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    return (
        f"| {name} | {len(run.jobs)} | {foretold:.1f} | {found.likely:.0f} | {found.most:.0f} | {took:.0f} | "
        f"{took / found.likely:.2f} | {min(generations)}, {statistics.median(generations):g}, {max(generations)} | "
        f"{found.memory:,.0f}, {peak:,.0f} | {after:.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", nargs="*", default=list(STUDIES))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--row", action="store_true", help="one study, here: its row alone")
    given = parser.parse_args()
    if given.row:
        print(row(given.studies[0], given.workers))
        return
    print(HEAD + "\n" + "| --- " * 10 + "|", flush=True)
    for name in given.studies:  # each in a process of its own, for its memory
        command = [sys.executable, "-W", "ignore", __file__, name, "--row", "--workers", str(given.workers)]
        print(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip(), flush=True)


if __name__ == "__main__":
    main()
