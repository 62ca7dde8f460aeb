"""The disclosure suite against R synthpop 1.9-0: seconds, ratio to R, peak memory. python benchmarks/disclosure.py
[--sd2011 FOLDER] [--rounds 9]

Keys sex, age, region and placesize, one synthetic table of as many records as the original. By default the records are
drawn here, each variable by itself with as many values as in SD2011 (which makes more classes and cells than the real
data have, hence more work); with --sd2011 they are drawn with replacement from A_orig.csv and A_syn_s1_1.csv in FOLDER,
as R's were. Columns of text as pandas reads them from CSV. R's seconds are those noted for synthpop's own functions on
one core of another machine of the same kind. Every row is a new process with the data in memory; its seconds are those
of the quickest round (other work on the machine can only slow a round down). "times R" is by processor seconds, of all
threads together: on a machine with other work the clock says more about that work. The peak is that of the whole
process, imports and data included.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from outrisk.records.provenance import peak_memory_mb
from outrisk.risk import disclosure, multi_disclosure

KEYS = ["sex", "age", "region", "placesize"]
TARGETS = ["depress", "income", "ls", "marital", "workab"]
CASES = {  # name, records -> R's seconds and peak in MiB (None: not measured), what must be reached
    ("one target", 5_000): (0.21, 268, "10 times as fast"),
    ("one target", 50_000): (1.05, 379, "20 times"),
    ("one target", 500_000): (8.0, 548, "20 times"),
    ("one target", 5_000_000): (None, None, "under 30 s"),
    ("ungrouped income", 50_000): (17.0, 3174, "100 times, under 200 MB"),
    ("five targets", 5_000): (0.93, None, ""),
    ("five targets", 50_000): (4.6, None, "under 0.2 s"),
    ("five targets", 500_000): (32.5, None, ""),
    ("one target and a holdout", 50_000): (None, None, ""),
}


def drawn(n, seed):
    """Records with the numbers of values that SD2011 has, missing values included."""
    rng = np.random.default_rng(seed)

    def text(name, shares):
        return pd.Series(rng.choice([f"{name} {i}" for i in range(len(shares))], n, p=shares), dtype="str")

    few = {"sex": 2, "region": 16, "placesize": 6, "ls": 7, "marital": 6, "workab": 2}
    shares = {name: 1 / np.arange(1, size + 1) for name, size in few.items()}
    frame = pd.DataFrame({name: text(name, share / share.sum()) for name, share in shares.items()})
    depress = rng.binomial(21, 0.2, n).astype(float)
    income = 50.0 * rng.binomial(320, 0.1, n) + rng.choice(10, n)
    income[rng.random(n) < 0.14] = -8
    for values, missing in ((depress, 0.018), (income, 0.137)):
        values[rng.random(n) < missing] = np.nan
    return frame.assign(age=rng.integers(16, 95, n), depress=depress, income=income)


def tables(n, folder):
    """Original, synthetic and holdout of n records."""
    if folder is None:
        return [drawn(n, seed) for seed in (1, 2, 3)]
    frames = [pd.read_csv(folder / name) for name in ("A_orig.csv", "A_syn_s1_1.csv", "A_orig.csv")]
    if n == len(frames[0]):
        return frames
    return [
        frame.iloc[np.random.default_rng(seed).integers(0, len(frame), n)].reset_index(drop=True)
        for seed, frame in enumerate(frames, start=1)
    ]


def call(name, original, synthetic, holdout):
    """The measures of one case."""
    if name == "five targets":
        return multi_disclosure(
            original, synthetic, keys=KEYS, targets=TARGETS, ngroups_target={"income": 20}, keep_values={"income": -8}
        )
    if name == "ungrouped income":
        return disclosure(original, synthetic, keys=KEYS, target="income")
    return disclosure(original, synthetic, holdout if "holdout" in name else None, keys=KEYS, target="depress")


def measure(name, n, folder, rounds):
    """Seconds and processor seconds of the quickest round, and peak memory (MB), of a case in this process."""
    frames = tables(n, folder)
    frames = frames if "holdout" in name else [*frames[:2], None]
    seconds = []
    for _ in range(rounds):
        started, used = time.perf_counter(), time.process_time()
        call(name, *frames)
        seconds.append((time.perf_counter() - started, time.process_time() - used))
    return *map(min, zip(*seconds, strict=True)), peak_memory_mb()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sd2011", type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--case", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case:
        name, n = given.case
        print(json.dumps(measure(name, int(n), given.sd2011, given.rounds)))
        return
    print("case                       records   seconds  processor  times R  peak MB    R s  R MiB  must be")
    for (name, n), (r_seconds, r_peak, goal) in CASES.items():
        rounds = given.rounds if n < 5_000_000 else 2
        command = [sys.executable, __file__, "--case", name, str(n), "--rounds", str(rounds)]
        command += ["--sd2011", str(given.sd2011)] if given.sd2011 else []
        seconds, used, peak = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        ratio = f"{r_seconds / used:.0f}" if r_seconds else ""
        r_side = f"{r_seconds or '':>6} {r_peak or '':>6}"
        print(
            f"{name:24s} {n:9,d} {seconds:9.4f} {used:10.4f}  {ratio:>7}  {peak:7.0f} {r_side}  {goal}",
            flush=True,
        )


if __name__ == "__main__":
    main()
