"""Forecasts of studies beside what they took: python benchmarks/forecast.py [STUDY ...] [--workers N]

Each study, ready-made (configs/) or made here of what is beside the checkout, is made ready, its forecast made, as
`outrisk assess` shows it before the first run, and then carried out: seconds by the clock of the forecast itself, of
the runs (and evolutions of some of the outputs), and of what follows them; memory.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from threading import Event

import pandas as pd
import yaml
from everyday import ADULT, ADULTS, CENSUS, EVERYDAY, LARGE, OF_PAGE, PAGE, PAPER, SHORT_NAMES, adults
from studies import TEN_OUTPUTS, ten_outputs

from outrisk.api.studies import prepare_study, write_study

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
READY = ("fair", "fair-tables", "fair-summaries", "fair-regressions", "heart", "acs-weighted")
HEAD = (
    "| study | runs | forecast took, s | likely, s | at most, s | took, s | took / likely | generations: least, "
    "median, most | memory: forecast, peak, MB | after the runs, s |"
)


def census(folder: Path, n: int, entries: list, runs: int) -> Path:
    """A study of so many people of 2019, as many of 2018 being the holdout."""
    frame = pd.read_csv(DATA / CENSUS)
    frame["ETHGROUP"] = frame["ETHGROUP"].replace({5: 4, 6: 5, 7: 6})
    for name, year in (("people", 2019), ("others", 2018)):
        frame[frame["YEAR"] == year].drop(columns="YEAR").sample(n, random_state=1).to_csv(
            folder / f"{name}.csv", index=False
        )
    given = {"holdout": {"path": "others.csv"}, "target": "TENURE", "study": {"runs": runs, "folds": [1]}}
    return _study(folder, entries, given | {"keys": ["AGE", "AREA", "ETHGROUP", "LTILL", "MSTATUS", "SEX"]})


def adult(folder: Path, n: int, runs: dict[int, int]) -> Path:
    """A study of many people, resampled, without a holdout: whole and halves."""
    keys = [name for name in ADULTS if name != "income"]
    adults(DATA, n, ADULTS).to_csv(folder / "people.csv", index=False)
    given = {"target": "income", "keys": keys, "key_sizes": [3], "study": {"runs": runs, "folds": [1, 2]}}
    return _study(folder, LARGE, given)


def page(folder: Path, n: int) -> Path:
    """A study of a page of statistics, whole and halves: of people of whom several numbers lie near an end of what is
    printed of them, and contradict what others print in the middle.
    """
    frame = pd.read_csv(DATA / ADULT).rename(columns=SHORT_NAMES)[OF_PAGE]
    frame.sample(n, replace=n > len(frame), random_state=5).to_csv(folder / "people.csv", index=False)
    keys = ["age", "sex", "race", "education", "marital"]
    given = {"target": "income", "keys": keys, "key_sizes": [3, 4], "study": {"runs": 3, "folds": [1, 2]}}
    return _study(folder, PAGE, given)


def _study(folder: Path, entries: list, given: dict) -> Path:
    document = {"name": "made", "data": {"path": "people.csv"}, "outputs": entries} | given
    path = folder / "made.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


MADE = {
    "paper 300": partial(census, n=300, entries=PAPER, runs=6),
    "census 8,000": partial(census, n=8_000, entries=EVERYDAY, runs=4),
    "adult 100,000": partial(adult, n=100_000, runs={1: 1, 2: 2}),
    "adult 200,000": partial(adult, n=200_000, runs={1: 3, 2: 3}),
    "page 8,000": partial(page, n=8_000),
    "page 200,000": partial(page, n=200_000),
    TEN_OUTPUTS: ten_outputs,
}


def row(name: str, workers: int) -> str:
    """A row under HEAD."""
    halt = Event()
    with tempfile.TemporaryDirectory() as folder:
        path = MADE[name](Path(folder)) if name in MADE else ROOT / "configs" / f"{name}.yaml"
        run = prepare_study(path, Path(folder) / "run", False, workers, None, trust=True)
        with run:
            run.fork()
            clock = time.perf_counter()
            found = run.foretell(halt, lambda _: None)
            foretold = time.perf_counter() - clock
            assert found is not None
            clock = time.perf_counter()
            run.carry_out(halt, lambda *_: None, lambda *_: None)
            subsets = found.subsets if run.wanted_subsets else 0.0
            if subsets:
                run.contribute(halt, lambda *_: None)
            took = time.perf_counter() - clock
            clock = time.perf_counter()
            write_study(run)
            after = time.perf_counter() - clock
        peak = run.manifest.peak_memory_mb
    generations = [result.generations for result in run.done.values()]
    likely = found.likely + subsets
    return (
        f"| {name} | {len(run.jobs)} | {foretold:.1f} | {likely:.0f} | {found.most + subsets:.0f} | {took:.0f} | "
        f"{took / likely:.2f} | {min(generations)}, {statistics.median(generations):g}, {max(generations)} | "
        f"{found.memory:,.0f}, {peak:,.0f} | {after:.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", nargs="*", default=[*READY, *MADE])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--row", action="store_true", help="one study, here: its row alone")
    given = parser.parse_args()
    if given.row:
        print(row(given.studies[0], given.workers))
        return
    print(HEAD + "\n" + "| --- " * 10 + "|", flush=True)
    for name in given.studies:  # each in a process of its own, for its memory
        command = [sys.executable, "-W", "ignore", __file__, name, "--row", "--workers", str(given.workers)]
        print(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip(), flush=True)


if __name__ == "__main__":
    main()
