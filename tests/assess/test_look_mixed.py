"""What the direct look finds of linear mixed models, on records made to show it."""

import numpy as np
import pandas as pd
import pytest

from outrisk.appetite import Appetite
from outrisk.assess.look import look
from outrisk.microdata import from_frame, infer_codebook
from outrisk.outputs import MixedEntry


def found(frame, **entry):
    codebook = infer_codebook(frame)[0]
    given = {"kind": "mixed", "formula": "pay ~ age + (1 | firm)", "release": ["coefficients", "n", "levels"]}
    outputs = MixedEntry(**(given | entry)).build(codebook, 1)
    return {each.rule: each for each in look(outputs, from_frame(frame, codebook), Appetite())}


def frame(sizes, seed=1, apart=1.0):
    rng = np.random.default_rng(seed)
    firm = np.repeat([f"f{at:02d}" for at in range(len(sizes))], sizes)
    age = rng.integers(20, 60, len(firm))
    own = apart * np.repeat(np.arange(len(sizes)), sizes)
    pay = np.round(10 + 0.5 * age + own + 3.0 * rng.normal(size=len(firm)), 1)
    return pd.DataFrame({"firm": firm, "age": age, "pay": pay})


def test_large_groups_show_nothing():
    assert found(frame([40] * 8)) == {}


def test_groups_of_one_record_are_counted_and_told_by_the_numbers_of_records_and_groups():
    said = found(frame([1] * 8 + [2] * 3, apart=9.0))
    assert said["groups of one record"].people == 8 and not said["groups of one record"].certain
    assert "tell that there are 8 or more" in said["groups of one record"].what  # 2 * 11 - 14
    assert "1.3 records in the mean" in said["few records in a group"].what


def test_few_residual_degrees_of_freedom():
    assert "8 residual degrees of freedom" in found(frame([3] * 4))["degrees of freedom"].what  # 12 - 2 - 2 variances


@pytest.mark.parametrize("apart", [1.0, 0.0])
def test_a_coefficient_of_few(apart):
    data = frame([40] * 8, apart=apart, seed=2)
    data["trained"] = (np.arange(len(data)) % 80 == 3).astype(int)
    said = found(data, formula="pay ~ age + trained + (1 | firm)")
    assert said["few people behind a coefficient"].people == 4


def test_without_variance_between_groups_it_tells_what_a_linear_regression_tells():
    rng = np.random.default_rng(4)
    data = pd.DataFrame({"firm": np.tile(list("abcd"), 25), "region": np.repeat(["n", "s"], 50)})
    data["pay"] = np.where(data["region"] == "n", rng.permutation(100), 0)
    data.loc[99, ["region", "pay"]] = ["w", 77]  # alone in the west
    said = found(data, formula="pay ~ C(region) + (1 | firm)", release=["coefficients", "sigma_u"])
    assert said["leverage"].certain and said["leverage"].people == 1
    assert "saturated model" in said
    apart = data.assign(pay=data["pay"] + data["firm"].map({"a": 0, "b": 80, "c": 160, "d": 240}))
    said = found(apart, formula="pay ~ C(region) + (1 | firm)", release=["coefficients", "sigma_u"])
    assert not said["leverage"].certain and "saturated model" not in said


def test_a_fit_that_leaves_nothing():
    data = frame([6] * 5)
    data["pay"] = data["age"] * 2 + data["firm"].str[1:].astype(int)
    assert found(data)["exact fit"].people == 30
