"""What estimates from surveys tell for certain of one person or few."""

import numpy as np
import pandas as pd
import pytest

from outrisk.appetite import Appetite
from outrisk.assess.look import look
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
