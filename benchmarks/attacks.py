"""Attribution measures and attacks at size: seconds (elapsed, of processor) and peak memory. python
benchmarks/attacks.py [--quick | --cmc cmc.csv]

Every line is a new process; kernels are compiled before, on a few records; best of up to three times. SARS-like:
records drawn from `outrisk.datasets.sars_like`, six keys. Sparse, the worst case: six keys of 100 equally likely
levels, so that nearly every record's keys are its own and nobody has a match.

With --cmc, instead: accuracy of every classifier trained on and scored on the original, mean and standard deviation
over key sets, on Contraceptive Method Choice (UCI data set 30; a CSV with the column names below), as in rows
"Original" of Hittmeir, Mayer and Ekelhart (2020).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from outrisk.datasets import sars_like
from outrisk.records.provenance import peak_memory_mb
from outrisk.risk import (
    CLASSIFIERS,
    attack,
    cap,
    code_frames,
    cross,
    differential_attribution,
    key_sets,
    mean_weap,
    targeted_attribution,
)

KEYS, TARGET = ["AGE", "AREAP", "ETHGROUP", "LTILL", "MSTATUS", "SEX"], "TENURE"
SIDES = ("synthetic", "original", "holdout")
CMC = {
    "contraceptive_method": (
        "wife_age wife_education husband_education children wife_religion wife_working husband_occupation",
        (3, 6),
    ),
    "husband_education": ("wife_age wife_education children wife_religion wife_working", (2, 4)),
}


def sars(n):
    frame = sars_like(3 * n, seed=1)
    return {side: frame[i * n : (i + 1) * n] for i, side in enumerate(SIDES)}


def sparse(n):
    rng = np.random.default_rng(1)
    return {
        side: pd.DataFrame({key: rng.integers(0, 100, n) for key in KEYS} | {TARGET: rng.integers(0, 3, n)})
        for side in SIDES
    }


def sets_42(tables):
    """TCAP, WEAP and DCAP of all 42 key sets of sizes 3 to 6 on original and holdout, coding included."""
    coding = code_frames(tables, [*KEYS, TARGET])
    with threadpool_limits(1):  # as in studies and in `cap`
        for keys in key_sets(KEYS, [3, 4, 5, 6]):
            equivalence = cross(coding, keys, TARGET)
            mean_weap(equivalence)
            for side in ("original", "holdout"):
                targeted_attribution(equivalence, side)
                differential_attribution(equivalence, side)


def whole_42(tables):
    """`cap`: all of the family, GCAP and intervals too, of the 42 key sets."""
    cap(tables["original"], tables["synthetic"], tables["holdout"], keys=KEYS, target=TARGET, key_sizes=[3, 4, 5, 6])


def gcap(tables):
    """`cap` of the six keys: GCAP with all else."""
    cap(tables["original"], tables["synthetic"], keys=KEYS, target=TARGET)


def one_attack(name):
    def run(tables):
        attack(tables["original"], tables["synthetic"], tables["holdout"], keys=KEYS, target=TARGET, classifiers=[name])

    return run


TASKS = {
    "42 key sets": (sets_42, ("sars", "sparse")),
    "cap, 42 sets": (whole_42, ("sars", "sparse")),
    "GCAP": (gcap, ("sars", "sparse")),
    "fr_nn": (one_attack("fr_nn"), ("sars", "sparse")),
    **{name: (one_attack(name), ("sars",)) for name in CLASSIFIERS if name not in ("fr_nn", "ensemble")},
    "ensemble": (one_attack("ensemble"), ("sars",)),
}


def measure(task, data, n):
    make = {"sars": sars, "sparse": sparse}[data]
    run, tables = TASKS[task][0], make(n)
    run(make(50))
    times = []
    while len(times) < 3 and sum(elapsed for elapsed, _ in times) < 5:
        started = time.perf_counter(), time.process_time()
        run(tables)
        times.append((time.perf_counter() - started[0], time.process_time() - started[1]))
    peak = peak_memory_mb()
    elapsed, used = map(min, zip(*times, strict=True))
    print(f"{task:20s} {data:7s} {n:7,d} {elapsed:7.2f} s {used:7.2f} s CPU {peak:6.0f} MB")


def cmc(path):
    data = pd.read_csv(path, dtype=str)
    for target, (keys, sizes) in CMC.items():
        for size in sizes:
            found = pd.concat(
                attack(data, data, keys=chosen, target=target).frame.set_index("classifier")["accuracy_original"]
                for chosen in key_sets(keys.split(), [size])
            )
            over_sets = 100 * found.groupby(level=0, sort=False).agg(["mean", lambda values: values.std(ddof=0)])
            print(
                f"{target}, {size} keys: "
                + ", ".join(f"{name} {mean:.1f} ± {sd:.1f}" for name, mean, sd in over_sets.itertuples())
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="5,000 records instead of 50,000")
    parser.add_argument("--cmc", help="published accuracies instead: path of the CSV")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.cmc:
        cmc(arguments.cmc)
        return
    if arguments.one:
        task, data, n = arguments.one
        measure(task, data, int(n))
        return
    n = "5000" if arguments.quick else "50000"
    for task, (_, kinds) in TASKS.items():
        for data in kinds:
            subprocess.run([sys.executable, __file__, "--one", task, data, n], check=True)


if __name__ == "__main__":
    main()
