"""What it matters whose records are whose: python benchmarks/several_records.py [--people N] [--seeds S]

People of the census excerpt of 2019 (acs7.csv, below --data). First each with one to six records that are equal, as
those of a panel nearly are. Released: tenure by sex, ethnic group and age band, and a logit of it by age and sex with
standard errors; keys: age, sex, ethnic group. Then households of one to five people with the same area, ethnic group
and tenure, three in five as many. Released: tenure by area and ethnic group, and the
logit; keys: age, ethnic group, area. Target: tenure. Each study once with records taken for people, once with `person`
or `household` named. Printed: marginal risks (95 %) of two halves, and cells that the direct look finds small.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from bands import CODEBOOK, LOGIT, ROOT, assessed, written

from outrisk.api.looking import look_at_study

VARIABLES = {"AGE": CODEBOOK["AGE"], "BAND": {"kind": "integer", "min": 0, "max": 20}, **CODEBOOK}


def both_ways(records: pd.DataFrame, word: str, table: list[str], keys: list[str], seed: int) -> None:
    """A study that takes records for people, and one that says whose they are."""
    content = {"outputs": [{"kind": "frequencies", "by": table}, LOGIT], "keys": keys, "key_sizes": [len(keys)]}
    areas = {"AREA": {"kind": "categorical", "levels": sorted(set(records["AREA"]))}} if "AREA" in keys else {}
    for name, whose in (("records", {}), (f"{word} named", {word: "WHOSE"})):
        with tempfile.TemporaryDirectory() as place:
            started = time.perf_counter()
            data = {"derive": {"BAND": "AGE // 5"}, **whose}
            path = written(Path(place), records, VARIABLES | areas, content | {"data": data}, seed)
            small = sum(each.cells for each in look_at_study(path)[1] if each.rule == "small cells")
            said, _ = assessed(path)
        print(f"  {name:18} {said}; {small} small cells; {time.perf_counter() - started:.0f} s", flush=True)


def panel(everybody: pd.DataFrame, people: int, seed: int) -> pd.DataFrame:
    """People with one to six equal records."""
    some = everybody.sample(people, random_state=seed).assign(WHOSE=range(people))
    return some.loc[some.index.repeat(np.random.default_rng(seed).integers(1, 7, people))]


def households(everybody: pd.DataFrame, number: int, seed: int) -> pd.DataFrame:
    """One to five people of an area, an ethnic group and a tenure, drawn with replacement."""
    shared = ["AREA", "ETHGROUP", "TENURE"]
    alike = dict(list(everybody.groupby(shared)))
    sizes = np.random.default_rng(seed).integers(1, 6, number)
    kinds = everybody.sample(number, random_state=seed)[shared].itertuples(index=False, name=None)
    drawn = [
        alike[kind].sample(size, replace=True, random_state=seed * number + at).assign(WHOSE=at)
        for at, (kind, size) in enumerate(zip(kinds, sizes, strict=True))
    ]
    return pd.concat(drawn)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=1_000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    given = parser.parse_args()
    logging.getLogger("outrisk").setLevel(logging.ERROR)
    everybody = pd.read_csv(given.data / "census" / "acs_us" / "acs7.csv")
    everybody = everybody[everybody["YEAR"] == 2019]
    for seed in range(1, given.seeds + 1):
        records = panel(everybody, given.people, seed)
        print(f"{given.people:,} people with {len(records):,} records, seed {seed}", flush=True)
        table, keys = ["BAND", "SEX", "ETHGROUP", "TENURE"], ["AGE", "SEX", "ETHGROUP"]
        both_ways(records, "person", table, keys, seed)
        number = given.people * 3 // 5
        records = households(everybody, number, seed)
        print(f"{number:,} households of {len(records):,} people, seed {seed}", flush=True)
        both_ways(records, "household", ["AREA", "ETHGROUP", "TENURE"], ["AGE", "ETHGROUP", "AREA"], seed)


if __name__ == "__main__":
    main()
