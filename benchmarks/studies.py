"""Whole studies as a user runs them: seconds (elapsed, of processor), peak memory, a refit of the written CSVs. python
benchmarks/studies.py [CONFIG ...] [ten-outputs]

Each study is a new process (start-up included; kernels compiled before). For a logit of
`sars-regression-only.yaml` every synthetic CSV is read back and refitted with statsmodels on dummies made here,
independently of OutRisk: the worst MAE and the coefficients right at 4 decimals. `ten-outputs` is a study made here of
the census excerpt `acs7.csv` beside the checkout, its year before the holdout: what each of ten outputs adds to the
other nine (eight tables, two logits; `contributions: {leave_one_out: true}`), three runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.api as sm
import yaml

CONFIGS = Path(__file__).resolve().parents[1] / "configs"
OUTRISK = Path(sys.executable).with_name("outrisk")
EXCERPT = Path(__file__).resolve().parents[2] / "shared" / "data" / "census" / "acs_us" / "acs7.csv"
TEN_OUTPUTS = "ten-outputs"
TABLES = [*([name, "TENURE"] for name in ("AREA", "AGE", "ETHGROUP", "LTILL", "MSTATUS", "SEX")), ["AGE", "SEX"],
          ["MSTATUS", "SEX"]]  # fmt: skip
CODED = ["AREAP", "ETHGROUP", "LTILL", "MSTATUS", "SEX"]


def command(*arguments):
    """Seconds and processor seconds of a command."""
    started = time.perf_counter()
    process = subprocess.Popen([OUTRISK, *map(str, arguments)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"outrisk {arguments} ended with status {status}")
    return time.perf_counter() - started, usage.ru_utime + usage.ru_stime


def ten_outputs(folder):
    """The study of ten outputs as a file, its codebook beside it."""
    if not EXCERPT.is_file():
        raise SystemExit(f"{TEN_OUTPUTS}: {EXCERPT} is not there")
    people = pd.read_csv(EXCERPT).drop(columns="YEAR").assign(AGE=lambda table: table["AGE"] // 10 * 10)
    names = people.columns.tolist()
    levels = {name: {"kind": "categorical", "levels": sorted(people[name].astype(str).unique())} for name in names}
    levels["AGE"] = {"kind": "integer", "values": sorted(people["AGE"].unique().tolist())}
    (folder / "acs.codebook.yaml").write_text(yaml.safe_dump({"variables": levels}), encoding="utf-8")
    chosen = {"path": str(EXCERPT), "derive": {"AGE": "AGE // 10 * 10"}, "columns": names}
    study = {
        "name": TEN_OUTPUTS,
        "data": chosen | {"where": "YEAR == 2019"},
        "holdout": chosen | {"where": "YEAR == 2018"},
        "codebook": "acs.codebook.yaml",
        "outputs": [
            *({"kind": "frequencies", "by": by} for by in TABLES),
            {"kind": "logit", "formula": "TENURE ~ AGE + C(SEX) + C(MSTATUS)", "event": 1},
            {"kind": "logit", "formula": "TENURE ~ AGE + C(ETHGROUP) + C(LTILL)", "event": 1},
        ],
        "keys": [name for name in names if name != "TENURE"],
        "target": "TENURE",
        "contributions": {"leave_one_out": True},
        "study": {"runs": 3, "folds": [1]},
    }
    file = folder / f"{TEN_OUTPUTS}.yaml"
    file.write_text(yaml.safe_dump(study), encoding="utf-8")
    return file


def refit_written(folder):
    """Worst MAE and fewest coefficients right over all synthetic CSVs of a SARS run, and their number."""
    published = pd.read_csv(folder / "matched.csv")
    worst, fewest, files = 0.0, np.inf, sorted((folder / "synthetic").glob("*.csv"))
    for file in files:
        level, fold, run = (part.split("-", 1)[1] for part in file.stem.split("_"))
        released = published[
            (published["level"] == int(level))
            & (published["fold"].astype(str) == fold)
            & (published["run"] == int(run))
        ].set_index("label")["released"]
        frame = pd.read_csv(file, dtype=str)
        design = pd.DataFrame({"const": 1.0, "AGE": frame["AGE"].astype(float)})
        for name in CODED:
            for code in sorted(frame[name].unique(), key=int)[1:]:
                design[f"{name}_{code}"] = (frame[name] == code).astype(float)
        fitted = sm.Logit((frame["TENURE"] == "1").astype(float), design).fit(disp=0).params
        worst = max(worst, float((fitted - released).abs().mean()))
        fewest = min(fewest, int((fitted.round(4) == released.reindex(fitted.index)).sum()))
    return worst, fewest, len(files)


def main():
    started = time.perf_counter()
    subprocess.run([OUTRISK, "--help"], check=True, stdout=subprocess.DEVNULL)
    print(f"outrisk --help         {time.perf_counter() - started:6.2f} s")
    configs = sys.argv[1:] or ["fair", "fair-tables", "sars-regression-only"]
    with tempfile.TemporaryDirectory() as folder:
        for name in configs:
            out = Path(folder) / "runs" / name
            file = ten_outputs(Path(folder)) if name == TEN_OUTPUTS else CONFIGS / f"{name}.yaml"
            seconds, used = command("assess", file, "--out", out, "--quiet")
            peak = json.loads((out / "manifest.json").read_text())["peak_memory_mb"]  # with that of forked processes
            runs = len(list((out / "synthetic").iterdir()))
            print(f"{name:22s} {seconds:6.2f} s, {used:6.1f} s of processor, {peak:5.0f} MB, {runs} runs", flush=True)
            if name == TEN_OUTPUTS:
                adds = pd.read_csv(out / "contributions.csv").query("what == 'adds'")
                print(f"{'':22s} {adds['output'].nunique()} outputs with what each adds to the others")
            if name == "sars-regression-only":
                worst, fewest, files = refit_written(out)
                print(
                    f"{'':22s} refit of {files} written CSVs: worst MAE {worst:.6f}, "
                    f"at least {fewest} of 23 right at 4 decimals"
                )


if __name__ == "__main__":
    main()
