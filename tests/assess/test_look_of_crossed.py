"""Tables behind proportions and associations are looked at as frequency tables are: subtracted, and both ways."""

import numpy as np
import pandas as pd
import pytest

import outrisk

CROSSES = {
    "frequencies": lambda **more: outrisk.Frequencies(["s", "ex", "ill"], **more),
    "association": lambda **more: outrisk.Association(
        "ill", "ex", over=["s"], show=["strata"], statistics=["n", "cases"], event_value="y", **more
    ),
    "proportions": lambda **more: outrisk.Proportions(
        "ill", ["s", "ex"], event_value="y", statistics=["events", "n"], **more
    ),
    "limits": lambda **more: outrisk.Proportions(
        "ill", ["s", "ex"], event_value="y", statistics=["proportion", "limits", "n"], per=100, **more
    ),
}


def people(*cells):
    rows = [row for s, ex, ill, n in cells for row in [(s, ex, ill)] * n]
    return pd.DataFrame(rows, columns=["s", "ex", "ill"])


def certain(frame, outputs, target="ill"):
    found = outrisk.check(frame, outputs, keys=["s", "ex"] if target == "ill" else ["s", "ill"], target=target).findings
    return found[found["certain"].astype(bool)]


SICK = people(
    *[("0", "x0", "y", 90), ("0", "x0", "n", 110), ("0", "x1", "y", 80), ("0", "x1", "n", 70)],
    *[("1", "x0", "y", 3), ("1", "x1", "y", 4)],
)


@pytest.mark.parametrize("larger", CROSSES)
@pytest.mark.parametrize("smaller", CROSSES)
def test_a_difference_is_certain_whatever_kind_prints_the_table(larger, smaller):
    outputs = [CROSSES[larger](name="a"), CROSSES[smaller](name="w", where="s == 0")]
    found = certain(SICK, outputs)
    row = found[(found["rule"] == "difference of outputs") & (found["about"] == "ill")]
    assert row["people"].tolist() == [7]


@pytest.mark.parametrize("kind", CROSSES)
def test_an_exposure_is_told_to_whoever_knows_the_event(kind):
    frame = people(
        *[("0", "x1", "y", 60), ("0", "x1", "n", 20), ("0", "x0", "n", 30)],
        *[("1", "x0", "y", 40), ("1", "x0", "n", 50), ("1", "x1", "y", 30), ("1", "x1", "n", 40)],
    )
    found = certain(frame, [CROSSES[kind](name="t")], target="ex")
    row = found[(found["rule"] == "same answer") & (found["about"] == "ex")]
    assert row["people"].tolist() == [60]


@pytest.mark.parametrize("kind", ["association", "proportions", "limits"])
@pytest.mark.parametrize("seed", range(12))
def test_no_more_is_certain_than_of_the_table_itself(kind, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 200))
    frame = pd.DataFrame({"s": rng.choice(["0", "1", "2"], n), "ex": rng.choice(["x0", "x1"], n)})
    frame["ill"] = np.where(rng.random(n) < np.where(frame["s"] == "0", 0.05, 0.4), "y", "n")
    told = {kind: certain(frame, [CROSSES[kind](name="t")]) for kind in ("frequencies", kind)}
    for about in ("s", "ex"):
        rows = {key: found[found["about"] == about]["people"].sum() for key, found in told.items()}
        assert rows[kind] <= rows["frequencies"]


def test_numbers_of_records_alone_say_nothing_of_the_event():
    frame = people(("0", "x0", "y", 20), ("0", "x1", "n", 40), ("1", "x0", "n", 1), ("1", "x1", "y", 30))
    alone = outrisk.Proportions("ill", ["s", "ex"], event_value="y", statistics=["n"])
    assert not (certain(frame, [alone])["about"] == "ill").any()


def test_all_who_have_the_event_are_said_to_have_it():
    frame = people(("0", "x0", "y", 30), ("0", "x1", "n", 40), ("0", "x1", "y", 10))
    made = outrisk.Association("ill", "ex", event_value="y", statistics=["n", "cases", "risk ratio"])
    words = " ".join(outrisk.check(frame, [made], keys=["s", "ex"], target="ill").findings["what"])
    assert "ill = y of 30 people is told for certain" in words
    assert "everybody has it" in words


@pytest.mark.parametrize("kind", CROSSES)
def test_what_where_says_is_not_told_by_the_table(kind):
    found = certain(SICK, [CROSSES[kind](name="t", where="ill == 'y'")])
    assert not (found["about"] == "ill").any()
