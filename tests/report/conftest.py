"""Run directories that `outrisk assess` wrote, from three small studies, made once."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from outrisk.cli.commands import run

CODEBOOK = {
    "variables": {
        "age": {"kind": "integer", "min": 0, "max": 4},
        "area": {"kind": "categorical", "levels": ["n", "s", "w"]},
        "sex": {"kind": "integer", "min": 1, "max": 2},
        "ill": {"kind": "categorical", "levels": ["no", "yes"]},
    }
}
TABLE = {"kind": "frequencies", "name": "everybody", "by": ["age", "area", "ill"]}
LOGIT = {"kind": "logit", "name": "model", "formula": "ill ~ age + area", "decimals": 3}
STUDY = {
    "name": "small",
    "data": {"path": "small.csv"},
    "codebook": "small.codebook.yaml",
    "outputs": [TABLE, TABLE | {"name": "without some", "where": "age >= 1 or sex == 1"}, LOGIT],
    "keys": ["age", "area", "sex"],
    "target": "ill",
    "key_sizes": [2, 3],
    "evolve": {"generations": 40, "seed": 3},
    "privacy": {"metrics": ["NNAA", "DCR"]},
}
ODD = {
    "name": "odd",
    "outputs": [
        {"kind": "frequencies", "name": "<script>alert(1)</script> {{ 7 * 7 }} [[risk]]", "by": ["t&t", "age"]}
    ],
    "target": "t&t",
    "keys": ["age", "area"],
    "key_sizes": [1, 2],
}
STUDIES = {
    "halves": STUDY | {"study": {"runs": 2, "folds": [1, 2]}},
    "holdout": STUDY | {"holdout": {"path": "more.csv"}, "study": {"runs": 1, "folds": [1]}},
    "odd": STUDY | ODD | {"study": {"runs": 1, "folds": [1]}},
}


def records(n: int, seed: int) -> pd.DataFrame:
    """People whose illness depends on their age."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 5, n)
    ill = np.where(rng.random(n) < 0.1 + 0.15 * age, "yes", "no")
    return pd.DataFrame({"age": age, "area": rng.choice(["n", "s", "w"], n), "sex": rng.integers(1, 3, n), "ill": ill})


@pytest.fixture(scope="session")
def assessed(tmp_path_factory) -> dict[str, Path]:
    """`halves`: whole data and halves, two runs each; `holdout`: people of their own; `odd`: names that need care."""
    folder = tmp_path_factory.mktemp("studies")
    made = {}
    for name, study in STUDIES.items():
        codebook, data, more = CODEBOOK, records(160, 5), records(140, 6)
        if name == "odd":
            codebook = {"variables": dict(CODEBOOK["variables"])}
            codebook["variables"]["t&t"] = {**codebook["variables"].pop("ill"), "levels": ['<i>&"', "NA"]}
            data = data.rename(columns={"ill": "t&t"}).replace({"t&t": {"no": '<i>&"', "yes": "NA"}})
        place = folder / name
        place.mkdir()
        data.to_csv(place / "small.csv", index=False)
        more.to_csv(place / "more.csv", index=False)
        (place / "small.codebook.yaml").write_text(yaml.safe_dump(codebook))
        (place / "small.yaml").write_text(yaml.safe_dump(study))
        made[name] = place / "run"
        assert run(["assess", str(place / "small.yaml"), "--out", str(made[name]), "--quiet", "--workers", "1"]) == 0
    return made
