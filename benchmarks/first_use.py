"""What a first use costs: the demo study with an empty cache of compiled code, and again with what that left behind.

python benchmarks/first_use.py [--study configs/fair.yaml] [--limit TIMES]

Prints processor seconds and seconds by the clock of both runs, of compilation their difference, and the number and size
of the compiled functions kept; and, as machines differ in speed, compilation as a multiple of what numba takes for a
yardstick, one function compiled twelve times, just before. With --limit it exits with 1 where it is more times the
yardstick than that, in each of three tries: what else a machine does can only make it take more.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

COMMAND = "from outrisk.cli import main; main()"
TRIES = 3
COPIES = 12  # of the yardstick
STUDY = Path(__file__).parents[1] / "configs" / "fair.yaml"


def seconds_of_study(study, cache, out):
    """Processor seconds, children's included, and seconds by the clock of `outrisk assess`."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [
            sys.executable,
            "-c",
            COMMAND,
            "assess",
            study,
            "--out",
            out,
            "--force",
            "--quiet",
        ],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return processor, time.perf_counter() - started


def smoothed(values, order, weights):
    """What the yardstick compiles: loops over arrays, branches and a sort, as searches have them."""
    sums = np.zeros(len(weights))
    for step in range(len(order)):
        at = order[step] % len(weights)
        if values[step] > sums[at]:
            sums[at] += values[step] * weights[at]
        else:
            for other in range(at):
                sums[other] -= 0.5 * (sums[other] - values[step])
    ranks = np.argsort(sums)
    return sums[ranks], np.sum(sums * weights) / max(1.0, np.abs(sums).max())


def seconds_of_yardstick():
    """Processor seconds that compiling the yardstick takes, in this process, once numba is awake."""
    import numba

    arguments = (numba.float64[::1], numba.int64[::1], numba.float64[::1])
    numba.njit(arguments)(smoothed)
    started = time.process_time()
    for _ in range(COPIES):
        numba.njit(arguments)(smoothed)
    return time.process_time() - started


def compilation(study):
    """Compilation as a multiple of the yardstick; prints both runs."""
    measured = subprocess.run([sys.executable, __file__, "--yardstick"], capture_output=True, text=True, check=True)
    yardstick = float(measured.stdout)
    with tempfile.TemporaryDirectory() as folder:
        cache, out = Path(folder) / "cache", Path(folder) / "run"
        (cold, cold_clock), (warm, warm_clock) = (seconds_of_study(study, cache, out) for _ in range(2))
        kept = [path.stat().st_size for path in cache.rglob("*.nbc")]
    print(f"{'':12}{'processor s':>12}{'clock s':>9}")
    print(f"{'cold':12}{cold:12.1f}{cold_clock:9.1f}")
    print(f"{'warm':12}{warm:12.1f}{warm_clock:9.1f}")
    print(f"{'compilation':12}{cold - warm:12.1f}{cold_clock - warm_clock:9.1f}")
    print(f"{len(kept)} compiled functions kept, {sum(kept) / 1e6:.1f} MB", flush=True)
    times = (cold - warm) / yardstick
    print(f"{times:.1f} times the yardstick, which takes {yardstick:.1f} processor seconds", flush=True)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--study", type=Path, default=STUDY)
    parser.add_argument("--limit", type=float, help="most times the yardstick of compilation; above, exit with 1")
    parser.add_argument("--yardstick", action="store_true", help="the processor seconds of the yardstick alone")
    arguments = parser.parse_args()
    if arguments.yardstick:
        print(seconds_of_yardstick())
        return
    limit, least = math.inf if arguments.limit is None else arguments.limit, math.inf
    for _ in range(TRIES):
        least = min(least, compilation(arguments.study))
        if least <= limit:
            return
    sys.exit(f"compilation takes {least:.1f} times the yardstick, more than {limit:g}")


if __name__ == "__main__":
    main()
