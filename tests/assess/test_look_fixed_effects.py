"""What the direct look finds of regressions with fixed effects, on records made to show it."""

import numpy as np
import pandas as pd
import pytest

from outrisk.appetite import Appetite
from outrisk.assess.look import look
from outrisk.microdata import from_frame, infer_codebook
from outrisk.outputs import REGISTRY, RegressionEntry

GIVEN = {"kind": "ols", "formula": "pay ~ age", "absorb": ["firm"], "release": ["coefficients", "n", "levels"]}


def found(frame, beside=(), **entry):
    codebook = infer_codebook(frame)[0]
    outputs = RegressionEntry(**(GIVEN | entry)).build(codebook, 1)
    outputs += [one for at, each in enumerate(beside, 2) for one in REGISTRY[each["kind"]](**each).build(codebook, at)]
    return {each.rule: each for each in look(outputs, from_frame(frame, codebook), Appetite())}


def frame(sizes, seed=1, noise=3.0):
    rng = np.random.default_rng(seed)
    firm = np.repeat([f"f{at:02d}" for at in range(len(sizes))], sizes)
    age = rng.integers(20, 60, len(firm))
    pay = np.round(10 + 0.5 * age + np.repeat(np.arange(len(sizes)), sizes) + noise * rng.normal(size=len(firm)), 1)
    return pd.DataFrame({"firm": firm, "age": age, "pay": pay})


def test_large_groups_show_nothing():
    assert found(frame([40] * 8)) == {}


def test_groups_of_one_record_are_counted_and_told_by_the_numbers_of_records_and_levels():
    said = found(frame([1] * 8 + [2] * 3))
    assert said["groups of one record"].people == 8 and not said["groups of one record"].certain
    assert "tell that there are 8 or more" in said["groups of one record"].what  # 2 * 11 - 14
    assert "1.3 records in the mean" in said["few records in a group"].what
    assert "2 residual degrees of freedom" in said["degrees of freedom"].what  # 14 - 11 - 1


def test_groups_of_one_record_that_are_dropped_are_not_there():
    said = found(frame([1] * 4 + [30] * 4), singletons="drop")
    assert "groups of one record" not in said


def test_a_term_that_varies_in_one_small_group_rests_on_its_people():
    data = frame([40] * 6 + [4])
    data["trained"] = ((data["firm"] == "f06") & (np.arange(len(data)) % 2 == 0)).astype(int)
    said = found(data, formula="pay ~ age + trained")
    assert said["few people behind a coefficient"].people == 4


def test_a_pair_that_decides_a_coefficient_alone():
    data = frame([40] * 6 + [2])
    data["trained"] = (np.arange(len(data)) == len(data) - 1).astype(int)
    said = found(data, formula="pay ~ age + trained")
    assert said["leverage"].people == 2


@pytest.mark.parametrize(("decimals", "certain"), [(6, True), (1, False)])
def test_a_fit_that_leaves_nothing(decimals, certain):
    said = found(frame([30] * 5, noise=0.0), release=["coefficients", "residual_sd"], decimals=decimals)
    assert said["exact fit"].certain == certain and said["exact fit"].people == 150


def test_a_response_that_all_of_a_group_have_is_an_exact_fit():
    data = frame([30] * 5)
    data["pay"] = data.groupby("firm")["pay"].transform("first")
    said = found(data, release=["coefficients", "residual_sd"], decimals=6)
    assert said["exact fit"].certain and said["exact fit"].people == 150
    assert not found(data, release=["coefficients"], decimals=6)["exact fit"].certain


@pytest.mark.parametrize(
    "other",
    [
        GIVEN | {"program": "areg", "name": "all"},
        {"kind": "magnitudes", "value": "pay", "statistics": ["count", "mean", "sd"], "name": "all"},
    ],
)
def test_who_is_left_out_as_a_singleton_beside_an_output_that_has_them(other):
    data = frame([40] * 6 + [1])
    said = found(data, [other], program="areg", singletons="drop")
    told = said["difference of outputs"]
    assert (told.people, told.who.tolist(), told.certain) == (1, [240], False) and told.output == "all minus ols 1"
    assert "difference of outputs" not in found(data, [other], program="areg", singletons="keep")
    assert "difference of outputs" not in found(frame([40] * 6), [other], singletons="drop")


def test_who_is_alone_once_others_are_left_out():
    rng = np.random.default_rng(1)
    year = [2000, 2001, *rng.integers(2001, 2004, 60)]
    data = pd.DataFrame({"firm": ["a", "a", *"bcd" * 20], "year": year, "age": rng.integers(20, 60, 62)})
    data["pay"] = rng.integers(0, 50, 62)
    codebook = infer_codebook(data)[0]
    (output,) = RegressionEntry(**(GIVEN | {"absorb": ["firm", "year"]})).build(codebook, 1)
    told = [each for each in look([output], from_frame(data, codebook), Appetite()) if "of one" in each.rule]
    assert [each.who.tolist() for each in told] == [[0], [1]]
    numbers = output.refit(from_frame(data.assign(pay=[0, 49, *data["pay"][2:]]), codebook))
    assert np.allclose(numbers[0], output.refit(from_frame(data, codebook))[0])  # neither bears on the coefficient
