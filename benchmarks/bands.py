"""What it matters that an age band follows from the age: python benchmarks/bands.py [--people N] [--seeds S]

People of the census excerpt of 2019 (acs7.csv, below --data). Released: tenure by age band, by age band and ethnic
group, and a logit of it by age and sex with standard errors. Keys: age, sex, ethnic group; target: tenure. Each study
once with the band as a column that nothing is known of, once derived from the age. Printed: how many people's tenure is
proved to somebody with a register of the keys, marginal risks (95 %) of two halves, seconds by the clock.
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
import time
from pathlib import Path

import pandas as pd
import yaml

from outrisk.api.proving import Asked, prove_study
from outrisk.cli.commands import run

ROOT = Path(__file__).resolve().parents[1]
CODEBOOK = {
    "AGE": {"kind": "integer", "min": 0, "max": 100},
    "BAND": {"kind": "integer", "min": 0, "max": 10},
    "SEX": {"kind": "categorical", "levels": ["1", "2"]},
    "ETHGROUP": {"kind": "categorical", "levels": ["1", "2", "3", "4", "5", "6", "7"]},
    "TENURE": {"kind": "categorical", "levels": ["0", "1"]},
}
STUDY = {
    "codebook": "codebook.yaml",
    "outputs": [
        {"kind": "frequencies", "by": ["BAND", "TENURE"]},
        {"kind": "frequencies", "by": ["BAND", "ETHGROUP", "TENURE"]},
        {"kind": "logit", "formula": "TENURE ~ AGE + C(SEX)", "event": "1",
         "release": ["coefficients", "standard_errors"]},
    ],
    "keys": ["AGE", "SEX", "ETHGROUP"],
    "target": "TENURE",
    "key_sizes": [2, 3],
    "privacy": {"metrics": []},
    "study": {"runs": 5, "folds": [2]},
}  # fmt: skip
WAYS = {"a column": {}, "derived": {"derive": {"BAND": "AGE // 10"}}}


def study(folder: Path, name: str, data: dict[str, object], seed: int) -> None:
    content = {"name": "study", **STUDY, "data": data, "evolve": {"preset": "fast", "seed": seed}}
    path, started = folder / "study.yaml", time.perf_counter()
    path.write_text(yaml.safe_dump(content))
    proof = prove_study(path, Asked(1.0, tell=lambda _: None))
    assert run(["assess", str(path), "--out", str(folder / "out"), "--quiet", "--force"]) == 0
    decision = json.loads((folder / "out" / "decision.json").read_text())
    (limit,) = [each for each in decision["limits"] if (each["measure"], each["over"]) == ("attribution", "all keys")]
    register = json.loads((folder / "out" / "register.json").read_text())["sentence"].partition("marginal risk of ")[2]
    print(
        f"  {name:9} {len(proof.certain):3} proved; attribution {limit['original']:.3f} in the data, "
        f"{limit['holdout']:.3f} not, {limit['difference']:+.3f} ({limit['low']:+.3f} to {limit['high']:+.3f}); "
        f"register {register.rstrip('.')}; not reproduced: {len(decision['not_reproduced'])}; "
        f"{time.perf_counter() - started:.0f} s",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=3_000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    given = parser.parse_args()
    logging.getLogger("outrisk").setLevel(logging.ERROR)
    everybody = pd.read_csv(given.data / "census" / "acs_us" / "acs7.csv")
    for seed in range(1, given.seeds + 1):
        people = everybody[everybody["YEAR"] == 2019].sample(given.people, random_state=seed)
        print(f"{given.people:,} people, seed {seed}", flush=True)
        for name, data in WAYS.items():
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place)
                (folder / "codebook.yaml").write_text(yaml.safe_dump({"variables": CODEBOOK}, sort_keys=False))
                band = {} if data else {"BAND": people["AGE"] // 10}
                people.assign(**band).to_csv(folder / "people.csv", index=False)
                study(folder, name, {"path": "people.csv", **data}, seed)


if __name__ == "__main__":
    main()
