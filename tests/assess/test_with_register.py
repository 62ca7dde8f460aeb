"""The intruder with a register in a study: files, report, settings, and what cannot reach the guesses."""

import json

import numpy as np
import pandas as pd
import pytest

import outrisk
from outrisk.errors import ConfigError
from outrisk.records import schema
from outrisk.records.files import read_rows

TABLE = {"kind": "frequencies", "by": ["age", "area", "sex", "ill"]}
QUICK = {"evolve": {"generations": 2}, "privacy": {"metrics": []}, "runs": 1, "quiet": True, "workers": 1}


def people(n: int = 240, seed: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 60, n)
    ill = np.where(rng.random(n) < 0.1 + 0.013 * age, "yes", "no")
    return pd.DataFrame({"age": age, "area": rng.choice(["n", "s", "w"], n), "sex": rng.integers(1, 3, n), "ill": ill})


def assess(frame: pd.DataFrame, outputs=(TABLE,), **more):
    return outrisk.assess(frame, list(outputs), **{"keys": ["age", "area", "sex"], "target": "ill", **QUICK, **more})


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    place = tmp_path_factory.mktemp("register") / "run"
    return assess(people(), folds=[1, 2], out=place), place


def test_the_files_say_who_is_guessed_rightly_on_both_sides(written):
    result, place = written
    rows = read_rows(place / "register.csv", schema.Guessed)
    lead = next(row for row in rows if (row.level, row.fold, row.people, row.measure) == (2, "", "all", "right"))
    assert lead.original > 0.9 > lead.holdout  # a table of all keys says it of nearly everybody
    assert lead.difference == pytest.approx(lead.original - lead.holdout)
    assert lead.low < lead.difference < lead.high
    document = json.loads((place / "register.json").read_text())
    assert f"{lead.original:.3f}" in document["sentence"] and document["level"] == 2
    assert document["keys"] == ["age", "area", "sex"] and "everybody" not in document["assumption"]
    bins = read_rows(place / "reliability.csv", schema.Reliability)
    assert sum(row.people for row in bins if (row.level, row.side) == (2, "holdout")) == 240
    table = result.register
    assert table[(table["level"] == 2) & (table["measure"] == "right")]["original"].max() <= 1.0
    page = (place / "details.html").read_text(encoding="utf-8")
    assert document["sentence"] in page and "Assumed: the intruder knows who is in the data" in page


def test_a_target_swapped_where_no_number_shows_it_changes_no_guess():
    """Two people of the same keys trade values: the release is the same, and so are the guesses (not the intervals)."""
    frame = people(120, 9)
    frame.loc[[0, 1], ["age", "area", "sex"]] = [7, "n", 1]
    frame.loc[[0, 1], "ill"] = ["no", "yes"]
    planted = frame.copy()
    planted.loc[[0, 1], "ill"] = ["yes", "no"]
    found = [assess(each, folds=[1]) for each in (frame, planted)]
    tables = [each.register[["people", "measure", "original"]] for each in found]
    assert tables[0].equals(tables[1])


def test_the_appetite_says_which_intruder_decides():
    """A table that the codebook's intruder learns little from, and one who knows everybody's keys much."""
    found = {
        who: assess(people(), folds=[1, 2], appetite={"intruder": who, "people": 1000, "margin": 0.06}).decision
        for who in ("codebook", "register")
    }
    for decision in found.values():
        assert len(decision.intruders) == 1 and "guessed with a register is right for" in decision.intruders[0]
    assert not [limit for limit in found["codebook"].limits if limit.measure == "register"]
    (limit,) = [limit for limit in found["register"].limits if limit.measure == "register"]
    assert limit.says == "above" and limit.keys == "age+area+sex"
    assert found["register"].verdict == "marginal risk found"


def test_a_partial_register_is_guessed_about_alone(tmp_path):
    assess(people(), folds=[2], register={"known_for": 0.5}, out=tmp_path / "run")
    rows = read_rows(tmp_path / "run" / "register.csv", schema.Guessed)
    assert {(row.n_original, row.n_holdout) for row in rows if row.fold and row.people == "all"} == {(60, 120)}
    document = json.loads((tmp_path / "run" / "register.json").read_text())
    assert document["known_for"] == 0.5 and "50 % of them (drawn at random)" in document["assumption"]


def test_without_a_register_nothing_is_guessed():
    assert assess(people(60), folds=[1], intruder=["codebook"]).register.empty


def test_outputs_that_are_no_equations_are_said_to_be_none(tmp_path):
    frame = people(80).assign(score=lambda each: each.age * 2)
    output = {"kind": "correlations", "variables": ["age", "score"]}
    assess(frame, [output], folds=[1], out=tmp_path / "run")
    document = json.loads((tmp_path / "run" / "register.json").read_text())
    assert document["sentence"].startswith("Not measured: no released number is an equation")
    assert document["folds"][0]["left_out"][0]["output"]
    assert document["sentence"] in (tmp_path / "run" / "details.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"register": {"keys": ["age", "ill"]}}, "ill"),
        ({"register": {"keys": ["height"]}}, "height"),
        ({"register": {"known_for": 0}}, "above 0 and at most 1"),
        ({"register": {"known_for": True}}, "above 0 and at most 1"),
        ({"register": {"key": ["age"]}}, r"\[register\] has unknown keys \['key'\]"),
        ({"intruder": ["register"]}, "names 'codebook'"),
        ({"intruder": ["burglar"]}, "intruder"),
        ({"intruder": ["codebook"], "appetite": {"intruder": "register"}}, "give both"),
        ({"intruder": ["codebook"], "register": {"keys": ["age"]}}, r"\[register\] goes with"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        assess(people(30), folds=[1], **settings)
