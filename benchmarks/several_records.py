"""What it matters whose records are whose: python benchmarks/several_records.py [--people N] [--seeds S]

People of the census excerpt of 2019 (acs7.csv, below --data), each with one to six yearly records that differ in the
year alone, as those of a panel do. Released: tenure by sex, ethnic group and age band, and a logit of it by age and sex
with standard errors. Keys: age, sex, ethnic group; target: tenure. Each study once with records taken for people, once
with `person` named. Printed: marginal risks (95 %) of two halves, and cells that the direct look finds small.
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from outrisk.api.looking import look_at_study
from outrisk.cli.commands import run

ROOT = Path(__file__).resolve().parents[1]
CODEBOOK = {
    "AGE": {"kind": "integer", "min": 0, "max": 100},
    "BAND": {"kind": "integer", "min": 0, "max": 20},
    "SEX": {"kind": "categorical", "levels": ["1", "2"]},
    "ETHGROUP": {"kind": "categorical", "levels": ["1", "2", "3", "4", "5", "6", "7"]},
    "TENURE": {"kind": "categorical", "levels": ["0", "1"]},
}
STUDY = {
    "codebook": "codebook.yaml",
    "outputs": [
        {"kind": "frequencies", "by": ["BAND", "SEX", "ETHGROUP", "TENURE"]},
        {"kind": "logit", "formula": "TENURE ~ AGE + C(SEX)", "event": "1",
         "release": ["coefficients", "standard_errors"]},
    ],
    "keys": ["AGE", "SEX", "ETHGROUP"],
    "target": "TENURE",
    "key_sizes": [3],
    "privacy": {"metrics": []},
    "attacks": {"classifiers": []},
    "study": {"runs": 5, "folds": [2]},
}  # fmt: skip
WAYS = {"records": {}, "person": {"person": "PERSON"}}


def study(folder: Path, name: str, data: dict[str, object], seed: int) -> None:
    whose = {"path": "records.csv", "derive": {"BAND": "AGE // 5"}, **data}
    path, started = folder / "study.yaml", time.perf_counter()
    path.write_text(yaml.safe_dump({"name": "study", **STUDY, "data": whose, "evolve": {"seed": seed}}))
    small = sum(each.cells for each in look_at_study(path)[1] if each.rule == "small cells")
    assert run(["assess", str(path), "--out", str(folder / "out"), "--quiet", "--force"]) == 0
    decision = json.loads((folder / "out" / "decision.json").read_text())
    (limit,) = [each for each in decision["limits"] if (each["measure"], each["over"]) == ("attribution", "all keys")]
    register = json.loads((folder / "out" / "register.json").read_text())["sentence"].partition("marginal risk of ")[2]
    print(
        f"  {name:8} attribution {limit['original']:.3f} in the data, {limit['holdout']:.3f} not, "
        f"{limit['difference']:+.3f} ({limit['low']:+.3f} to {limit['high']:+.3f}); register {register.rstrip('.')}; "
        f"{small} small cells; {time.perf_counter() - started:.0f} s",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=1_000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    given = parser.parse_args()
    logging.getLogger("outrisk").setLevel(logging.ERROR)
    everybody = pd.read_csv(given.data / "census" / "acs_us" / "acs7.csv")
    for seed in range(1, given.seeds + 1):
        people = everybody[everybody["YEAR"] == 2019].sample(given.people, random_state=seed).assign(
            PERSON=range(given.people)
        )  # fmt: skip
        times = np.random.default_rng(seed).integers(1, 7, given.people)
        records = people.loc[people.index.repeat(times)]
        print(f"{given.people:,} people with {len(records):,} records, seed {seed}", flush=True)
        for name, data in WAYS.items():
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place)
                (folder / "codebook.yaml").write_text(yaml.safe_dump({"variables": CODEBOOK}, sort_keys=False))
                records.to_csv(folder / "records.csv", index=False)
                study(folder, name, data, seed)


if __name__ == "__main__":
    main()
