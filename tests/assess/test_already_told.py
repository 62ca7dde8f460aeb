"""What new outputs tell beside what is already released: what is new comes first, and what is old is said to be."""

import numpy as np
import pandas as pd
import pytest

import outrisk

KEYS = ["age", "region", "sex"]
OLD = {"kind": "frequencies", "name": "by region", "by": ["region", "ill"]}
SECOND = {"kind": "frequencies", "name": "by sex", "by": ["sex", "ill"]}
HARMLESS = {"kind": "univariate", "name": "arms", "variables": ["arm"]}
SUBSET = {"kind": "frequencies", "name": "under 69", "by": ["sex", "ill"], "where": "age < 69"}


@pytest.fixture(scope="module")
def people():
    """300, of whom all 27 in the west are ill, and one is 69."""
    rng = np.random.default_rng(5)
    region = np.array(["n", "s", "e"])[rng.integers(0, 3, 300)]
    region[:27] = "w"
    age = rng.integers(60, 69, 300)
    age[100] = 69
    return pd.DataFrame(
        {
            "age": age,
            "region": region,
            "sex": rng.integers(1, 3, 300),
            "arm": rng.choice(["a", "b"], 300),
            "ill": np.where((region == "w") | (rng.random(300) < 0.4), "yes", "no"),
        }
    )


def check(people, outputs, released):
    return outrisk.check(people, outputs, keys=KEYS, target="ill", released=released)


def test_a_new_output_is_not_blamed_for_what_is_already_told(people):
    found = check(people, [HARMLESS], [OLD])
    assert found.sentence.startswith(
        "The new outputs say nothing outright, for certain, that is not said already; what is already released does"
    )
    row = found.findings.iloc[0]
    assert (row.certain, row.people, row.already, row.advice) == (True, 27, 27, "")
    assert row.what.endswith("What is already released says so of all of them by itself.")


def test_what_a_new_output_completes_comes_before_what_is_already_told(people):
    found = check(people, [SUBSET], [OLD, SECOND])
    first, second = found.findings.iloc[0], found.findings.iloc[1]
    assert (first.rule, first.certain, first.people, first.already) == ("difference of outputs", True, 1, 0)
    assert (second.certain, second.people, second.already) == (True, 27, 27)
    assert "under 69" in found.sentence and "age 69" in found.sentence
    assert "already released" not in found.sentence


def test_the_same_people_told_by_a_new_table_are_not_old(people):
    """It may be told to others than before: here to whoever knows region and sex."""
    found = check(people, [{"kind": "frequencies", "name": "finer", "by": ["region", "sex", "ill"]}], [OLD])
    certain = found.findings[found.findings.certain]
    assert list(certain.already > 0) == [False, True]
    assert certain.iloc[0].output == "finer"


def test_without_earlier_outputs_nothing_is_old(people):
    assert (check(people, [OLD, SECOND, SUBSET], []).findings.already == 0).all()


def test_a_rule_broken_by_what_is_already_released_is_old_too(people):
    found = check(people, [HARMLESS], [SECOND, SUBSET, {"kind": "frequencies", "name": "few", "by": ["age", "arm"]}])
    few = found.findings[found.findings.rule == "small cells"].iloc[0]
    assert few.output == "released: few" and not few.certain and few.already == few.people > 0 and not few.advice


@pytest.mark.parametrize(
    ("outputs", "released", "said"),
    [
        (
            [HARMLESS],
            [OLD],
            "Disclosive by what is already released: it tells ill of 27 people for certain (“released: by region”); "
            "the direct look finds nothing that the new outputs add to this.",
        ),
        (
            [SUBSET],
            [OLD, SECOND],
            "Disclosive: the new outputs, with what is already released, tell ill of 1 person for certain (“released: "
            "by sex minus under 69”); by itself what is already released tells ill of 27 people for certain "
            "(“released: by region”).",
        ),
        (
            [OLD],
            [HARMLESS],
            "Disclosive: the release tells ill of 27 people for certain (“by region”).",
        ),
    ],
)
def test_the_verdict_says_which(people, outputs, released, said):
    found = outrisk.assess(
        people, outputs, keys=KEYS, target="ill", released=released, runs=1, privacy=False, quiet=True, workers=1,
        intruder=["codebook"],
    )  # fmt: skip
    assert found.verdict == "disclosive"
    assert found.decision.sentence.startswith(said)
    changes = [line for line in found.decision.settle if "does not change what is already released" in line]
    assert bool(changes) == (outputs == [HARMLESS])
