"""Rules of a study that its records break: found, named, and used by nothing."""

import numpy as np
import pandas as pd
import pytest

import outrisk
from outrisk.config import read_study
from outrisk.load import load_study_data, public_rules

TRUE, UNTRUE = "ill == 0 or age > 2", "age >= 3 or ill == 0 and area == 'n'"
TABLES = [{"by": ["age", "ill"]}, {"by": ["area", "ill"]}]


@pytest.fixture
def people():
    rng = np.random.default_rng(1)
    age, area = rng.integers(0, 10, 600), rng.choice(["n", "s"], 600)
    return pd.DataFrame({"age": age, "area": area, "ill": ((age > 2) & (rng.random(600) < 0.5)).astype(int)})


def outputs():
    return [outrisk.Frequencies(**table) for table in TABLES]


def test_the_direct_look_names_them(people):
    asked = {"keys": ["age", "area"], "target": "ill"}
    found = outrisk.check(people, outputs(), **asked, rules=[TRUE, UNTRUE])
    (row,) = found.findings[found.findings["rule"] == "rules not true"].itertuples()
    broken = int(((people["age"] < 3) & (people["area"] == "s")).sum())
    assert row.places == f"{UNTRUE} (broken by {broken} records)" and not row.certain
    assert row.what.startswith("1 rule of the study is not true of its records, and not used")
    assert "(rules not true): risks may read lower than they are" in found.sentence
    none = outrisk.check(people, outputs(), **asked, rules=[TRUE])
    assert "rules not true" not in set(none.findings["rule"])


def test_search_verdict_and_proofs_leave_them_out(people):
    asked = {"keys": ["age", "area"], "target": "ill", "rules": [TRUE, UNTRUE]}
    result = outrisk.assess(people, outputs(), **asked, evolve={"seed": 1}, runs=1, folds=[1, 2])
    assert result.released["matched"].all()
    assert "(rules not true): risks may read lower than they are" in result.sentence
    untrue = outrisk.prove(people, outputs(), **asked)
    true = outrisk.prove(people, outputs(), **(asked | {"rules": [TRUE]}))
    assert untrue.sentence == true.sentence and untrue.cells.equals(true.cells)


def test_taught_data_keep_all_rules(people, tmp_path):
    people.to_csv(tmp_path / "d.csv", index=False)
    (tmp_path / "s.yaml").write_text(
        "name: s\ndata: {path: d.csv}\nkeys: [age]\ntarget: ill\n"
        f'outputs: [{{kind: frequencies, by: ill}}]\nrules: ["{TRUE}", "{UNTRUE}"]\n'
    )
    study = read_study(tmp_path / "s.yaml")
    original = load_study_data(study).original
    assert [rule.text for rule in public_rules(study, original)] == [TRUE]
    assert [rule.text for rule in public_rules(study, original, taught=True)] == [TRUE, UNTRUE]
