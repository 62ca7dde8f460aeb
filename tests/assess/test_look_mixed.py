"""What the direct look finds of linear mixed models, on records made to show it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from outrisk.appetite import Appetite
from outrisk.assess.look import look
from outrisk.config import study_of
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


def firms(sizes, seed=3):
    """Firms far from each other."""
    rng = np.random.default_rng(seed)
    firm = np.repeat(np.arange(len(sizes)), sizes)
    pay = 50 + 8 * rng.normal(size=len(sizes))[firm] + 4 * rng.normal(size=len(firm))
    return pd.DataFrame({"firm": [f"f{at:02d}" for at in firm], "pay": np.round(pay).astype(int)}), firm


def fitted(data, formula, inside):
    """The mean of fitted values of some records, from the coefficients alone."""
    codebook = infer_codebook(data)[0]
    (output,) = MixedEntry(kind="mixed", formula=formula).build(codebook, 1)
    records = from_frame(data, codebook)
    design = output.linear.sample(records)[0].design
    assert output.ratio(records) > 0.1
    return (design @ output.refit(records)[: design.shape[1]])[inside].mean()


def test_a_region_of_one_firm_of_one_record_is_told_for_certain():
    data, firm = firms([20] * 8 + [1])
    data["region"] = np.where(firm == 8, "west", np.where(firm % 2, "north", "south"))
    said = found(data, formula="pay ~ C(region) + (1 | firm)")["same answer"]
    assert (said.certain, said.people, said.about) == (True, 1, "pay") and "region=west" in said.places
    assert fitted(data, "pay ~ C(region) + (1 | firm)", firm == 8) == pytest.approx(data["pay"][160])


def test_one_record_with_a_column_of_its_own_in_a_group_with_one_and_in_one_without():
    data, firm = firms([20] * 8)
    data["boss"], data["first"] = (np.arange(160) == 0).astype(int), (firm == 0).astype(int)
    assert found(data, formula="pay ~ boss + first + (1 | firm)")["same answer"].certain
    assert fitted(data, "pay ~ boss + first + (1 | firm)", [0]) == pytest.approx(data["pay"][0])
    assert "same answer" not in found(data, formula="pay ~ boss + (1 | firm)")
    assert "same answer" not in found(data, formula="pay ~ boss + first + (1 | firm)", keep=["boss"])
    assert fitted(data, "pay ~ boss + (1 | firm)", [0]) != pytest.approx(data["pay"][0], abs=0.01)


def test_visits_of_an_arm_of_one_patient_are_told_for_certain():
    data, patient = firms([4] * 30)
    data["arm"] = np.where(patient == 0, "c", np.where(patient % 2, "a", "b"))
    data["visit"] = np.tile(np.arange(4), 30)
    crossed = "pay ~ C(arm) * C(visit) + (1 | firm)"
    said = found(data, formula=crossed)["same answer"]
    assert said.certain and said.people == 4
    assert fitted(data, crossed, [2]) == pytest.approx(data["pay"][2])
    assert "same answer" not in found(data, formula="pay ~ C(arm) + (1 | firm)")
    data.loc[patient == 0, "pay"] = data["pay"].max()
    said = found(data, formula="pay ~ C(arm) + (1 | firm)")["same answer"]
    assert said.certain and said.people == 4 and fitted(data, "pay ~ C(arm) + (1 | firm)", [0]) == pytest.approx(81)


def test_coarse_digits_leave_it_open():
    data, firm = firms([20] * 8 + [1])
    data["region"] = np.where(firm == 8, "west", np.where(firm % 2, "north", "south"))
    said = found(data, formula="pay ~ C(region) + (1 | firm)", decimals={"coefficients": 0})["same answer"]
    assert not said.certain and said.people == 1


def test_a_variance_of_two_groups_tells_their_means():
    data, _ = firms([1, 30])
    assert (
        "2 levels of firm, 1 column"
        in found(data, formula="pay ~ (1 | firm)", release=["coefficients", "sigma_u", "residual_sd"])[
            "degrees of freedom"
        ].what
    )
    assert "degrees of freedom" not in found(data, formula="pay ~ (1 | firm)")
    assert "degrees of freedom" not in found(
        firms([30] * 3)[0], formula="pay ~ (1 | firm)", release=["coefficients", "rho"]
    )


def test_records_without_a_group_are_not_those_of_the_linear_regression():
    rng = np.random.default_rng(4)
    data = pd.DataFrame({"firm": np.tile(list("abcd"), 25), "pay": rng.permutation(100), "west": 0})
    data.loc[[50, 98, 99], "west"] = 1  # of whom two say no firm
    data.loc[[98, 99], "firm"] = None
    said = found(data, formula="pay ~ west + (1 | firm)", release=["coefficients", "sigma_u"])
    assert said["leverage"].certain and said["leverage"].who.tolist() == [50]


@pytest.mark.parametrize("entry", [
    {"kind": "mixed", "formula": "pay ~ age + (1 | firm)"},
    {"kind": "ols", "formula": "pay ~ age", "absorb": ["firm"], "singletons": "keep"},
    {"kind": "ols", "formula": "pay ~ age", "absorb": ["firm"], "singletons": "drop"},
])  # fmt: skip
@pytest.mark.parametrize("ill", [0, 1])
def test_its_number_of_records_tells_a_condition_of_everybody(entry, ill):
    data = frame([20] * 8).assign(ill="no")
    codebook = infer_codebook(pd.concat([data, data.head(1).assign(ill="yes")]))[0]
    data.loc[: ill - 1, "ill"] = "yes"
    document = {"name": "a", "data": {"path": "a.csv"}, "keys": ["age"], "target": "ill"}
    model = entry | {"release": ["coefficients", "n"], "where": "ill == 'no'"}
    study = study_of(document | {"outputs": [{"kind": "frequencies", "by": ["firm"]}, model]}, Path(__file__))
    said = look(study.outputs(codebook), from_frame(data, codebook), Appetite(), "ill")
    assert [each.people for each in said if each.certain] == ([] if ill else [160])
