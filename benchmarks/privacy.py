"""Seconds and peak memory of the privacy metrics on 10 mixed columns; each group of metrics in a process of its own.

    python benchmarks/privacy.py [--rows 20000 100000] [--groups NNAA ...] [--holdout]

The tables are drawn from one population: five numbers and five categories, of which nine are keys. Kernels are compiled
before the clock starts. Seconds are those of the whole call: reading the tables, the metrics, and the same metrics of a
resample of the original, or with --holdout of a holdout ('MIR, MIA' and 'all' always have one). Processor seconds are
of all threads together; they tell on a machine that is shared.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time

import numpy as np
import pandas as pd

GROUPS = {
    "NNAA": ["NNAA"],
    "HitR": ["HitR"],
    "ID": ["ID"],
    "distances": ["DCR", "NNDR", "NSND", "CVP", "DVP", "MDCR", "Auth"],
    "CAP": ["ZCAP", "GCAP"],
    "AIR, CRP, HiddR": ["AIR", "CRP", "HiddR"],
    "D-MLP": ["D-MLP"],
    "MIR, MIA": ["MIR", "MIA"],
    "all": None,
}
KEYS = ["age", "income", "bmi", "pressure", "score", "sex", "region", "education", "smoker"]


def people(rng: np.random.Generator, n: int) -> pd.DataFrame:
    z, w = rng.normal(size=(2, n))
    return pd.DataFrame(
        {
            "age": np.clip(np.round(45 + 15 * z + 5 * rng.normal(size=n)), 18, 90),
            "income": np.round(np.exp(10 + 0.6 * w + 0.3 * rng.normal(size=n)), 2),
            "bmi": np.round(26 + 4 * rng.normal(size=n), 1),
            "pressure": np.round(120 + 15 * z),
            "score": rng.normal(size=n),
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice(["north", "east", "south", "west", "centre"], n),
            "education": np.clip(np.round(1.2 * w + 2), 0, 4).astype(int).astype(str),
            "smoker": np.where(rng.random(n) < 0.2, "yes", "no"),
            "diagnosis": np.clip(np.round(z + 2), 0, 4).astype(int).astype(str),
        }
    )


def measure(group: str, n: int, holdout: bool) -> None:
    from outrisk.records.provenance import peak_memory_mb
    from outrisk.risk import privacy_metrics

    rng = np.random.default_rng(1)
    tables = [people(rng, n) for _ in range(3)]
    small = [table.head(200) for table in tables]

    def run(frames: list[pd.DataFrame]) -> pd.DataFrame:
        return privacy_metrics(
            frames[0], frames[1], frames[2] if holdout or group in ("MIR, MIA", "all") else None,
            keys=KEYS, target="diagnosis", metrics=GROUPS[group], links=range(len(frames[0])),
        )  # fmt: skip

    run(small)
    start, used = time.perf_counter(), time.process_time()
    found = run(tables)
    seconds, cpu = time.perf_counter() - start, time.process_time() - used
    bad = found[found["status"] != "ok"]
    print(json.dumps({
        "group": group, "rows": n, "seconds": seconds, "cpu": cpu,
        "each": dict(zip(found["metric"], found["seconds"].round(2), strict=True)),
        "peak_mb": peak_memory_mb(),
        "faults": bad[["metric", "note"]].values.tolist(),
    }))  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000])
    parser.add_argument("--groups", nargs="+", choices=list(GROUPS), default=list(GROUPS))
    parser.add_argument("--holdout", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        measure(options.one, options.rows[0], options.holdout)
        return
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    print("| metrics | rows | seconds | processor s | peak MB | each, s |\n| --- | --- | --- | --- | --- | --- |")
    for n in options.rows:
        for group in options.groups:
            command = [sys.executable, __file__, "--one", group, "--rows", str(n)]
            output = subprocess.run(
                command + ["--holdout"] * options.holdout, check=True, capture_output=True, text=True
            ).stdout
            found = json.loads(output.splitlines()[-1])
            each = ", ".join(f"{name} {seconds}" for name, seconds in found["each"].items())
            print(
                f"| {group} | {n:,} | {found['seconds']:.2f} | {found['cpu']:.2f} | {found['peak_mb']:.0f} | {each} |",
                flush=True,
            )
            if found["faults"]:
                print(f"faults: {found['faults']}", flush=True)


if __name__ == "__main__":
    main()
