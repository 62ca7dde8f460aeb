"""Derived columns as rules: what an expression gives at every combination of others, held against the records."""

import logging

import numpy as np
import pandas as pd
import pytest

from outrisk.codebook import Codebook, Variable
from outrisk.microdata import from_frame
from outrisk.outputs.conditions.derived import derived_in
from outrisk.problem.blocks import breaks_rule

CODEBOOK = Codebook(
    (
        Variable("age", "integer", tuple(range(20, 50)), missing=True),
        Variable("band", "integer", (2, 3, 4), missing=True),
        Variable("sex", "categorical", ("f", "m")),
        Variable("mother", "categorical", ("0", "1")),
        Variable("income", "numeric", (0.0, 0.5, 1.0)),
        Variable("doubled", "numeric", (0.0, 1.0)),
    )
)
DERIVE = {"band": "age // 10", "mother": "(sex == 'f') and (age >= 30)", "doubled": "2 * income"}


def test_every_record_that_is_derived_so_and_no_other():
    found = derived_in(CODEBOOK, DERIVE)
    rng = np.random.default_rng(1)
    age = rng.choice([np.nan, *range(20, 50)], 300)
    frame = pd.DataFrame({"age": age, "sex": rng.choice(["f", "m"], 300), "income": rng.choice([0.0, 0.5], 300)})
    frame["band"], frame["doubled"] = frame["age"] // 10, 2 * frame["income"]
    frame["mother"] = ((frame["sex"] == "f") & (frame["age"] >= 30)).astype(int)
    data = from_frame(frame, CODEBOOK)
    assert set(found) == set(DERIVE)
    assert not breaks_rule([each.mask for each in found.values()], data.codes).any()
    assert [each.broken(data) for each in found.values()] == [0, 0, 0]
    for name, other in (("band", [2, 3, 4]), ("mother", [0, 1]), ("doubled", [0.0, 1.0])):
        wrong = frame.assign(**{name: rng.choice(other, 300)})
        broken = breaks_rule([found[name].mask], from_frame(wrong, CODEBOOK).codes)
        same = (wrong[name] == frame[name]) | (wrong[name].isna() & frame[name].isna())
        assert (broken == ~same.to_numpy()).all() and found[name].broken(
            from_frame(wrong, CODEBOOK)
        ) == broken.sum() > 50
    top = found["doubled"].mask.include.reshape(3, 2)  # 2 is no value of the codebook: no record has that income
    assert top.tolist() == [[True, False], [False, True], [False, False]]


@pytest.mark.parametrize(
    "derive",
    [
        {"age": "age + 1"},  # of itself
        {"band": "year - 1990"},  # of what is in no codebook
        {"band": "2"},
        {"mother": "sex * 2"},  # no number
        {"gone": "age // 10"},
    ],
)
def test_what_follows_from_nothing_known_is_no_rule(derive):
    assert not any(derived_in(CODEBOOK, derive).values())


def study(tmp_path, outputs, **changes):
    import yaml

    from outrisk.config import read_study

    frame = pd.DataFrame({"age": [20.0, 31, 32, 33, 41, 47] * 10, "ill": [0, 1, 1, 1, 0, 1] * 10})
    frame.to_csv(tmp_path / "people.csv", index=False)
    variables = {
        "age": {"kind": "integer", "min": 20, "max": 49},
        "band": {"kind": "integer", "min": 2, "max": 4},
        "ill": {"kind": "categorical", "levels": ["0", "1"]},
    }
    (tmp_path / "codebook.yaml").write_text(yaml.safe_dump({"variables": variables}))
    content = {
        "name": "study",
        "data": {"path": "people.csv", "derive": {"band": "age // 10"}},
        "codebook": "codebook.yaml",
        "outputs": outputs,
        "keys": ["age"],
        "target": "ill",
    }
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(content | changes))
    return read_study(tmp_path / "study.yaml")


def test_rules_of_a_study_and_records_that_have_other_values(tmp_path, caplog):
    from outrisk.load import load_study_data, public_rules

    asked = study(tmp_path, [{"kind": "frequencies", "by": ["band", "ill"]}], rules=["age < 30 implies ill == '0'"])
    data = load_study_data(asked).original
    assert [rule.place for rule in public_rules(asked, data, None)] == ["[rules 1]", "[data] derive band"]
    other = data.take(np.arange(60))
    other.codes[0, 1] = 2
    with caplog.at_level(logging.WARNING, "outrisk"):
        assert [rule.place for rule in public_rules(asked, data, other)] == ["[rules 1]"]
    assert caplog.messages == [
        "band: does not follow from other variables by the values of the codebook; taken as a variable of its own"
    ]


def test_a_table_by_band_proves_what_it_says_of_ages(tmp_path):
    """Everybody from 30 to 39 is ill, and nobody from 20 to 29: 40 of 60 people, to whoever knows their ages."""
    from outrisk.api.proving import Asked, prove_study

    study(tmp_path, [{"kind": "frequencies", "by": ["band", "ill"]}])
    proof = prove_study(tmp_path / "study.yaml", Asked(1.0, None, None, 0))
    assert len(proof.certain) == 40 and "40 of 60 people" in proof.sentence
    assert sorted(proof.certain["value"].astype(str).value_counts().items()) == [("0", 10), ("1", 30)]
    study(tmp_path, [{"kind": "frequencies", "by": ["band", "ill"]}], keys=["band"])
    assert len(prove_study(tmp_path / "study.yaml", Asked(1.0, None, None, 0)).certain) == 40
    study(
        tmp_path, [{"kind": "frequencies", "by": ["age"]}], keys=["ill"], target="band"
    )  # all that is needed is a rule
    assert len(prove_study(tmp_path / "study.yaml", Asked(1.0, None, None, 0)).certain) == 0
    study(tmp_path, [{"kind": "frequencies", "by": ["age", "ill"]}], keys=["ill"], target="band")
    whole = prove_study(tmp_path / "study.yaml", Asked(1.0, None, None, 0))
    assert len(whole.certain) == 0  # of the ill and of the others there are people in two bands
    study(tmp_path, [{"kind": "frequencies", "by": ["age", "ill"]}], keys=["age"], target="band")
    assert len(prove_study(tmp_path / "study.yaml", Asked(1.0, None, None, 0)).certain) == 60
    study(tmp_path, [{"kind": "frequencies", "by": ["ill"]}], keys=["age"], target="band")  # no output has the age
    assert len(prove_study(tmp_path / "study.yaml", Asked(1.0, None, None, 0)).certain) == 60


@pytest.mark.parametrize("numbers", [False, True])
def test_categories_that_a_file_has_as_numbers(numbers):
    codebook = Codebook((Variable("status", "categorical", ("1", "2", "5")), Variable("single", "integer", (0, 1))))
    expression = "status == 1" if numbers else "status == '1'"
    data = from_frame(pd.DataFrame({"status": [1, 2, 5], "single": [1, 0, 0]}), codebook)
    (rule,) = derived_in(codebook, {"single": expression}).values()
    assert rule.broken(data) == 0 and rule.coded == ({"status"} if numbers else set())
    assert rule.mask.include.tolist() == [False, True, True, False, True, False]


def test_what_is_derived_from_derived_columns_is_read_as_it_was_derived():
    """Of text '1' == 1 is never true; that nobody is both would be a fact of the records, not what everybody knows."""
    levels = ("0", "1")
    codebook = Codebook(
        (
            Variable("age", "integer", (30, 50)),
            Variable("area", "categorical", ("1", "2")),
            *(Variable(name, "categorical", levels) for name in ("old", "north", "both")),
        )
    )
    derive = {"old": "age >= 40", "north": "area == '1'", "both": "(old == 1) and (north == 1) and (area == '1')"}
    found = derived_in(codebook, derive)
    assert found["both"].coded == {"old", "north"}
    frame = pd.DataFrame({"age": [30, 50, 50], "area": ["1", "2", "1"], "old": [0, 1, 1], "north": [1, 0, 1]})
    data = from_frame(frame.assign(both=[0, 0, 1]), codebook)
    assert [rule.broken(data) for rule in found.values()] == [0, 0, 0]
    assert found["both"].broken(from_frame(frame.assign(both=0), codebook)) == 1


def test_an_expression_that_may_mean_two_things_ties_nothing():
    codes = [Variable(name, "categorical", ("10", "2")) for name in ("one", "other")]
    codebook = Codebook((*codes, Variable("less", "integer", (0, 1))))
    assert derived_in(codebook, {"less": "one < other"}) == {"less": None}  # '10' < '2' as text
    (rule,) = derived_in(codebook, {"less": "isna(one)"}).values()  # alike in all readings
    assert rule is not None and rule.mask.include.tolist() == [True, False] * 2
