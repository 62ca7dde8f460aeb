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
    "privacy": {"metrics": []},
    "study": {"runs": 5, "folds": [2]},
}


def written(
    folder: Path, people: pd.DataFrame, variables: dict[str, object], content: dict[str, object], seed: int
) -> Path:
    """The files of a study of some people: the path of the study."""
    (folder / "codebook.yaml").write_text(yaml.safe_dump({"variables": variables}, sort_keys=False))
    people.to_csv(folder / "people.csv", index=False)
    path, data = folder / "study.yaml", {"path": "people.csv", **content.get("data", {})}
    path.write_text(yaml.safe_dump({"name": "study", **STUDY, **content, "data": data, "evolve": {"seed": seed}}))
    return path


def assessed(path: Path) -> tuple[str, int]:
    """Marginal risks of a study in words, and how many outputs were not reproduced."""
    folder = path.parent / "out"
    assert run(["assess", str(path), "--out", str(folder), "--quiet", "--force"]) == 0
    decision = json.loads((folder / "decision.json").read_text())
    register = json.loads((folder / "register.json").read_text())["sentence"].partition("marginal risk of ")[2]
    (limit,) = [each for each in decision["limits"] if (each["measure"], each["over"]) == ("attribution", "all keys")]
    said = (
        f"attribution {limit['original']:.3f} in the data, {limit['holdout']:.3f} not, {limit['difference']:+.3f} "
        f"({limit['low']:+.3f} to {limit['high']:+.3f}); register {register.rstrip('.')}"
    )
    return said, len(decision["not_reproduced"])


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
    content = {"outputs": outputs, "keys": keys, "key_sizes": [2, 3], "rules": rules or []}
    with tempfile.TemporaryDirectory() as place:
        started = time.perf_counter()
        path = written(Path(place), people, CODEBOOK | further, content | {"data": {"derive": derive or {}}}, seed)
        proof = prove_study(path, Asked(1.0, tell=lambda _: None))
        said, missed = assessed(path)
    seconds = time.perf_counter() - started
    print(f"  {name:9} {len(proof.certain):3} proved; {said}; not reproduced: {missed}; {seconds:.0f} s", flush=True)


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
