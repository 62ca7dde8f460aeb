"""What estimates from surveys tell for certain of one person or few."""

import numpy as np
import pandas as pd
import pytest

from outrisk.appetite import Appetite
from outrisk.assess.look import look
from outrisk.assess.look.known import Kind
from outrisk.assess.look.of_surveys import as_tables
from outrisk.assess.look.printed import Numbers
from outrisk.microdata import from_frame, infer_codebook
from outrisk.outputs import REGISTRY

DESIGN = {"weights": "w", "strata": "s", "psu": "p"}


def records(**more):
    rng = np.random.default_rng(4)
    n = 400
    s = rng.integers(1, 5, n)
    found = {"s": s, "p": 10 * s + rng.integers(0, 6, n), "w": 50.0 * s, "g": rng.choice(["a", "b"], n)}
    found |= {"y": rng.integers(10, 60, n), "ill": rng.choice(["no", "yes"], n), "age": rng.integers(20, 60, n)}
    data = pd.DataFrame(found)
    data["g"] = data["g"].astype(object)
    return data


def found_of(data, *entries, target="ill"):
    codebook = infer_codebook(data)[0]
    built = [one for at, each in enumerate(entries, 1) for one in REGISTRY[each["kind"]](**each).build(codebook, at)]
    return look(built, from_frame(data, codebook), Appetite(), target)


def rules(findings):
    return {(each.rule, each.certain): each for each in findings if each.about != "g"}


def test_a_group_of_one_gives_its_value_and_its_weight():
    data = records()
    data.loc[7, "g"] = "c"
    means = {"kind": "magnitudes", "value": "y", "by": "g", "statistics": ["mean", "n", "population"], "design": DESIGN}
    found = rules(found_of(data, means))
    assert found["small cells", False].people == 1
    assert found["same answer", True].people == 1 and found["same answer", True].about == "y"
    assert found["weight of one person", True].who.tolist() == [7]
    assert found["groups in one PSU", False].people == 1
    told = rules(found_of(data, means | {"statistics": ["mean", "population"]}))
    assert ("weight of one person", True) not in told and ("weight of one person", False) in told


@pytest.mark.parametrize("who", ["nobody", "everybody"])
def test_a_proportion_of_nobody_or_everybody_tells_the_answer(who):
    data = records()
    data.loc[data["g"] == "a", "ill"] = "no" if who == "nobody" else "yes"
    of = {"kind": "proportions", "event": "ill", "by": "g", "statistics": ["proportion", "limits"], "design": DESIGN}
    found = rules(found_of(data, of))
    assert found["same answer", True].people == int((data["g"] == "a").sum())
    assert found["same answer", True].about == "ill"


def test_a_subpopulation_is_subtracted_from_the_whole():
    data = records()
    data.loc[3, "age"] = 70
    mean = {"kind": "magnitudes", "value": "y", "by": "g", "statistics": ["mean", "n"], "design": DESIGN}
    young = mean | {"name": "young", "design": DESIGN | {"subpop": "age < 60"}}
    found = [each for each in found_of(data, mean, young) if each.rule == "difference of outputs"]
    assert found and all(each.who.tolist() == [3] for each in found)
    alone = mean | {"by": [], "name": "all"}
    of_all = found_of(data, alone, alone | {"name": "young", "design": DESIGN | {"subpop": "age < 60"}})
    assert any(each.rule == "difference of outputs" and each.who.tolist() == [3] for each in of_all)


def test_few_psus_leave_few_degrees_of_freedom():
    data = records()
    few = {"kind": "ols", "formula": "y ~ age", "release": ["coefficients", "standard_errors"]}
    few["design"] = DESIGN | {"subpop": "s == 1"}
    found = rules(found_of(data, few))
    assert "5 degrees of freedom of the design" in found["degrees of freedom", False].what
    assert ("degrees of freedom", False) not in rules(found_of(data, few | {"design": DESIGN}))


def test_where_a_value_may_be_missing_its_groups_are_those_who_have_one():
    data = records()
    data["y"] = data["y"].astype(float)
    data.loc[:9, "y"] = np.nan
    data.loc[11, "g"] = None
    means = {"kind": "magnitudes", "value": "y", "by": "g", "statistics": ["mean", "n"], "design": DESIGN}
    assert not [each for each in found_of(data, means) if each.rule == "small cells"]


def test_a_standard_error_of_0_tells_that_all_are_alike():
    """For certain of records in strata, that one more value would be seen by; of PSUs it may be chance."""
    data = records()
    data.loc[data["g"] == "a", "y"] = 33
    data.loc[data.index[5], "g"] = "b"
    for shown in ("standard error", "limits"):
        of = {"kind": "magnitudes", "value": "y", "by": "g", "statistics": ["mean", shown]}
        for design, certain in ((DESIGN, False), ({"weights": "w"}, True), ({"strata": "s"}, True)):
            for digits in (4, 0):
                found = found_of(data, of | {"design": design, "decimals": digits})
                (alike,) = (each for each in found if each.rule == "same answer")
                assert alike.certain == (certain and digits == 4) and alike.people == (data["g"] == "a").sum()


def test_an_error_of_0_of_strata_that_are_wholly_of_a_group_is_not_certain():
    """Each stratum may have its own value then."""
    data = records()
    data["g"] = np.where(data["s"] < 3, "a", "b").astype(object)
    data.loc[data["g"] == "a", "y"] = 33
    of = {"kind": "magnitudes", "value": "y", "by": "g", "statistics": ["mean", "standard error"], "decimals": 4}
    found = found_of(data, of | {"design": {"strata": "s"}})
    assert [each.certain for each in found if each.rule == "same answer"] == [False]
    other = data.assign(y=np.where(data["s"] == 1, 33, np.where(data["s"] == 2, 40, data["y"])))
    codebook = infer_codebook(other)[0]
    (output,) = REGISTRY["magnitudes"](**of, design={"strata": "s"}).build(codebook, 1)
    assert output.refit(from_frame(other, codebook))[1] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("who", ["nobody", "everybody"])
def test_a_share_of_one_value_of_several(who):
    data = records()
    data["area"] = np.random.default_rng(1).choice(["p", "q", "r"], len(data)).astype(object)
    data.loc[data["g"] == "a", "area"] = "q" if who == "nobody" else "p"
    data.loc[data.index[data["g"] == "b"][:3], "area"] = "p"
    data.loc[data.index[data["g"] == "b"][3:], "area"] = np.resize(["q", "r"], int((data["g"] == "b").sum()) - 3)
    share = {"kind": "proportions", "event": "area", "event_value": "p", "by": "g", "design": DESIGN, "per": 100}
    for digits, certain in ((2, True), (0, False)):
        found = found_of(data, share | {"decimals": digits})
        (alike,) = (each for each in found if each.rule == "same answer")
        assert alike.certain == certain and alike.people == int((data["g"] == "a").sum())
        assert alike.about == ("area" if certain and who == "everybody" else "")
        (few,) = (each for each in found if each.rule == "small cells")
        assert few.people == 3 and not few.certain
    with_limits = share | {"decimals": 0, "statistics": ["proportion", "limits"]}  # which there are of some alone
    assert [each.certain for each in found_of(data, with_limits) if each.rule == "same answer"] == [True]


def test_populations_and_psus_that_are_records_are_counts_of_these():
    data = records()
    codebook = infer_codebook(data)[0]
    sizes = data.groupby("g").size().tolist()
    for statistics, by, design, counts in (
        (["mean", "population"], "g", {"strata": "s", "psu": "p"}, sizes),
        (["mean", "population"], [], {"strata": "s", "psu": "p"}, [len(data)]),
        (["mean", "psus"], [], {"weights": "w"}, [len(data)]),
    ):
        entry = {"kind": "magnitudes", "value": "y", "by": by, "statistics": statistics, "design": design}
        built = REGISTRY["magnitudes"](**entry).build(codebook, 1)
        numbers = Numbers.of([*built, *as_tables(built)], from_frame(data, codebook))
        known = numbers.over(Kind(""), tuple(by))
        assert known.low.ravel().tolist() == known.high.ravel().tolist() == counts


def test_numbers_of_records_beside_means_are_not_withheld():
    data = records()
    for design in ({"strata": "s"}, DESIGN):
        for of in ({"kind": "magnitudes", "value": "y"}, {"kind": "proportions", "event": "ill"}):
            main = "mean" if of["kind"] == "magnitudes" else "proportion"
            found = found_of(data, of | {"by": "g", "statistics": [main, "n"], "design": design})
            assert not [each for each in found if "recoverable" in each.rule]


@pytest.mark.parametrize("how", [{"weight": "w"}, {"design": DESIGN}])
def test_a_saturated_regression_with_weights_is_a_table_of_means(how):
    data = records()
    data["ill"] = ((data["ill"] == "yes") & (data["g"] == "b")).astype(int)
    ols = {"kind": "ols", "formula": "ill ~ C(g)", "release": ["coefficients"]} | how
    for digits, certain in ((5, True), (1, False)):
        found = [each for each in found_of(data, ols | {"decimals": digits}) if each.rule == "same answer"]
        assert [each.certain for each in found] == [certain]
        assert found[0].people == int((data["g"] == "a").sum())


@pytest.mark.parametrize("of", ["mean", "proportion"])
def test_a_person_between_two_sums_of_weights_is_told(of):
    """Their weight is the difference, and their value what is left of sums, as far as digits go."""
    data = records()
    data.loc[3, "age"] = 70
    entry = {"kind": "magnitudes", "value": "y"} if of == "mean" else {"kind": "proportions", "event": "ill"}
    about = "y" if of == "mean" else "ill"
    for digits, certain in ((5, True), (0, False)):
        whole = entry | {"statistics": [of, "population"], "decimals": {of: digits}, "design": DESIGN, "name": "all"}
        if of == "proportion":
            whole["decimals"] = {of: digits + 1}
        young = whole | {"name": "young", "design": DESIGN | {"subpop": "age < 60"}}
        found = {each.about: each for each in found_of(data, whole, young) if each.certain}
        assert found["w"].who.tolist() == [3] and (about in found) == certain
        assert not certain or found[about].who.tolist() == [3]
    no_sums = [each | {"statistics": [of], "decimals": {of: 5}} for each in (whole, young)]
    assert not [each for each in found_of(data, *no_sums) if each.certain]
