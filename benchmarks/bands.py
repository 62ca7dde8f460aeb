"""What it matters that a value follows from another: python benchmarks/bands.py [--people N] [--seeds S]

People of the census excerpt of 2019 (acs7.csv, below --data). Released: tenure by age band, by age band and ethnic
group, and a logit of it by age and sex with standard errors. Keys: age, sex, ethnic group. Then: tenure by area, by
state (in which areas lie), by state, sex and ethnic group, and the logit. Keys: area, sex, ethnic group. Target:
tenure. Each study once with the band or the state as a column that nothing is known of, once derived from the age, or
told by rules. Printed: how many people's tenure is proved to somebody with a register of the keys, marginal risks
(95 %) of two halves, seconds by the clock.
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
    "SEX": {"kind": "categorical", "levels": ["1", "2"]},
    "ETHGROUP": {"kind": "categorical", "levels": ["1", "2", "3", "4", "5", "6", "7"]},
    "TENURE": {"kind": "categorical", "levels": ["0", "1"]},
}
LOGIT = {
    "kind": "logit", "formula": "TENURE ~ AGE + C(SEX)", "event": "1", "release": ["coefficients", "standard_errors"]
}  # fmt: skip
STUDY = {
    "codebook": "codebook.yaml",
    "target": "TENURE",
    "key_sizes": [2, 3],
    "privacy": {"metrics": []},
    "study": {"runs": 5, "folds": [2]},
}


def study(
    name: str,
    people: pd.DataFrame,
    further: dict[str, object],
    tables: list[list[str]],
    keys: list[str],
    seed: int,
    derive: dict[str, str] | None = None,
    rules: list[str] | None = None,
) -> None:
    """A study of some people, with further variables, carried out and told in a line."""
    outputs = [*({"kind": "frequencies", "by": by} for by in tables), LOGIT]
    data = {"path": "people.csv", "derive": derive or {}}
    content = {"name": "study", **STUDY, "data": data, "outputs": outputs, "keys": keys, "rules": rules or []}
    with tempfile.TemporaryDirectory() as place:
        folder, started = Path(place), time.perf_counter()
        path = folder / "study.yaml"
        (folder / "codebook.yaml").write_text(yaml.safe_dump({"variables": CODEBOOK | further}, sort_keys=False))
        people.to_csv(folder / "people.csv", index=False)
        path.write_text(yaml.safe_dump(content | {"evolve": {"preset": "fast", "seed": seed}}))
        proof = prove_study(path, Asked(1.0, tell=lambda _: None))
        assert run(["assess", str(path), "--out", str(folder / "out"), "--quiet", "--force"]) == 0
        decision = json.loads((folder / "out" / "decision.json").read_text())
        register = json.loads((folder / "out" / "register.json").read_text())["sentence"]
    (limit,) = [each for each in decision["limits"] if (each["measure"], each["over"]) == ("attribution", "all keys")]
    print(
        f"  {name:9} {len(proof.certain):3} proved; attribution {limit['original']:.3f} in the data, "
        f"{limit['holdout']:.3f} not, {limit['difference']:+.3f} ({limit['low']:+.3f} to {limit['high']:+.3f}); "
        f"register {register.partition('marginal risk of ')[2].rstrip('.')}; "
        f"not reproduced: {len(decision['not_reproduced'])}; {time.perf_counter() - started:.0f} s",
        flush=True,
    )


def bands(everybody: pd.DataFrame, number: int, seed: int) -> None:
    people = everybody.sample(number, random_state=seed)
    band = {"BAND": {"kind": "integer", "min": 0, "max": 10}}
    given = (band, [["BAND", "TENURE"], ["BAND", "ETHGROUP", "TENURE"]], ["AGE", "SEX", "ETHGROUP"], seed)
    print(f"{number:,} people with age bands, seed {seed}", flush=True)
    study("a column", people.assign(BAND=people["AGE"] // 10), *given)
    study("derived", people, *given, derive={"BAND": "AGE // 10"})


def areas(everybody: pd.DataFrame, number: int, seed: int) -> None:
    people = everybody.sample(number, random_state=seed)
    people = people.assign(STATE="S" + people["AREA"].str[:2])
    levels = {name: sorted(set(people[name])) for name in ("AREA", "STATE")}
    further = {name: {"kind": "categorical", "levels": of} for name, of in levels.items()}
    tables = [["AREA", "TENURE"], ["STATE", "TENURE"], ["STATE", "SEX", "ETHGROUP", "TENURE"]]
    given = (people, further, tables, ["AREA", "SEX", "ETHGROUP"], seed)
    print(f"{number:,} people of {len(levels['AREA'])} areas in {len(levels['STATE'])} states, seed {seed}", flush=True)
    study("a column", *given)
    study("by rules", *given, rules=[f"AREA == '{area}' implies STATE == 'S{area[:2]}'" for area in levels["AREA"]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=3_000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    given = parser.parse_args()
    logging.getLogger("outrisk").setLevel(logging.ERROR)
    everybody = pd.read_csv(given.data / "census" / "acs_us" / "acs7.csv")
    everybody = everybody[everybody["YEAR"] == 2019]
    for seed in range(1, given.seeds + 1):
        bands(everybody, given.people, seed)
        areas(everybody, given.people, seed)


if __name__ == "__main__":
    main()
