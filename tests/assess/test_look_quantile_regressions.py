"""What a quantile regression tells for certain: held against releases of data in which the person has another value."""

import numpy as np
import pandas as pd
import pytest

from outrisk.appetite import Appetite
from outrisk.assess.look import look
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import from_frame
from outrisk.outputs import QuantileRegression, Release

WAGES = tuple(range(0, 401))
BOOK = Codebook(
    (
        Variable("wage", "integer", WAGES),
        Variable("age", "integer", tuple(range(20, 70))),
        Variable("score", "integer", tuple(range(5000))),
        Variable("area", "categorical", ("a", "b", "c", "d")),
        Variable("chief", "categorical", ("no", "yes")),
    )
)
DECIMALS = 3


def people(n=120, seed=1, alone=True):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "wage": rng.integers(50, 300, n),
            "age": rng.integers(20, 70, n),
            "score": rng.integers(0, 5000, n),
            "area": rng.choice(["a", "b", "c", "d"], n),
            "chief": "no",
        }
    )
    if alone:
        frame.loc[7, "chief"] = "yes"
    return frame


def output(formula, tau=0.5, parts=("coefficients",), decimals=DECIMALS, **more):
    return QuantileRegression(BOOK, "fit", formula, tau, Release(parts, decimals), **more)


def found(fit, frame, rule=None):
    told = look([fit], from_frame(frame, BOOK), Appetite())
    return [each for each in told if rule is None or each.rule == rule]


def printed(fit, frame):
    return fit.publish(fit.refit(from_frame(frame, BOOK)))[0]


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("value", [0, 133, 400])
def test_the_plane_passes_through_a_record_that_a_column_tells_apart(tau, value):
    frame, fit = people(), output("wage ~ age + chief", tau)
    frame.loc[7, "wage"] = value
    (told,) = found(fit, frame, "same answer")
    assert told.certain and told.about == "wage" and told.who.tolist() == [7]
    b = printed(fit, frame)
    constant, age, chief = (b[fit.coefficients.index(name)] for name in ("Intercept", "age", "chief[T.yes]"))
    assert constant + age * frame.loc[7, "age"] + chief == pytest.approx(value, abs=0.5)
    other = frame.assign(wage=frame["wage"].where(frame.index != 7, value + 1 if value < 400 else 399))
    assert (printed(fit, frame) != printed(fit, other)).any()


def test_digits_that_leave_other_values_tell_nothing_for_certain():
    told = found(output("wage ~ age + chief", decimals=0), people(), "same answer")
    assert [each.certain for each in told] in ([], [False])


def test_what_is_not_printed_tells_nothing():
    assert not found(output("wage ~ age + chief", keep=("age",)), people(), "same answer")


def test_one_of_two_is_not_told():
    frame = people()
    frame.loc[8, "chief"] = "yes"
    assert not any(each.certain for each in found(output("wage ~ age + chief", decimals=1), frame))
    sure = [each for each in found(output("wage ~ age + chief"), frame) if each.certain]
    assert [each.rule for each in sure] == ["on the plane"]  # at the terms of one alone it comes to whole dollars
    fit = output("wage ~ age + chief", decimals=9)
    data = from_frame(frame, BOOK)
    on = fit.plane(*fit.linear.sample(data)).on
    assert on[sure[0].who].all() and on[[7, 8]].sum() == 1


def test_a_saturated_fit_is_a_table_of_quantiles():
    frame = people(60, alone=False)
    frame["area"] = ["a"] * 40 + ["b"] * 15 + ["c"] * 4 + ["d"]
    told = {each.rule: each for each in found(output("wage ~ area"), frame)}
    assert told["small cells"].cells == 2 and not told["small cells"].certain
    assert told["same answer"].who.tolist() == [59]
    assert "saturated model" in told
    low = {each.rule: each for each in found(output("wage ~ area", 0.05), frame)}
    least = frame["wage"].groupby(frame["area"]).transform("min") == frame["wage"]
    few = frame["area"].isin(["b", "c"])  # of 40 people it is between the second and the third
    assert low["extreme values"].certain and low["extreme values"].who.tolist() == np.flatnonzero(least & few).tolist()
    b = printed(output("wage ~ area", 0.05), frame)
    assert b[0] + b[2] == frame.loc[frame["area"] == "c", "wage"].min()


def test_a_sum_of_deviations_of_0_tells_all():
    frame = people(alone=False)
    frame["wage"] = 2 * frame["age"] + 10
    parts = ("coefficients", "deviations")
    (told,) = found(output("wage ~ age", parts=parts), frame, "exact fit")
    assert told.certain and len(told.who) == len(frame)
    assert not found(output("wage ~ age", parts=("coefficients", "n")), frame, "exact fit")
    frame.loc[3, "wage"] += 200
    assert not found(output("wage ~ age", parts=parts), frame, "exact fit")
    assert not found(output("wage ~ age"), frame, "exact fit")


def test_several_planes_are_said():
    frame = pd.DataFrame(
        {"wage": [10, 20, 30, 40] * 20, "age": 30, "score": 1, "area": "a", "chief": ["no", "yes"] * 40}
    )
    frame["wage"] = np.where(frame["chief"] == "no", 100, frame["wage"] + np.arange(80))
    (told,) = found(output("wage ~ chief"), frame, "several planes fit")
    assert not told.certain and "chief[T.yes]" in told.places


def test_people_on_the_plane_are_a_finding_where_few_others_may_be():
    frame = people(400, alone=False)
    (told,) = found(output("wage ~ age + score", 0.31, decimals=6), frame, "on the plane")
    assert not told.certain and len(told.who) >= 3
    assert not found(output("wage ~ age + score", 0.31, decimals=1), frame, "on the plane")


def test_nothing_certain_is_said_of_random_people():
    for seed in range(8):
        frame = people(200, seed, alone=False)
        for tau in (0.25, 0.5):
            assert not any(each.certain for each in found(output("wage ~ age + area", tau, decimals=1), frame))


@pytest.mark.parametrize(("tau", "value", "alike"), [(0.01, 400, 12), (0.99, 0, 12), (0.5, 0, 0), (0.01, 0, 0)])
def test_a_quantile_at_an_end_of_the_values_is_that_of_all(tau, value, alike):
    frame = people()
    frame.loc[:11, "chief"], frame.loc[:11, "wage"] = "yes", value
    told = found(output("wage ~ chief", tau), frame, "same answer")
    assert [(each.certain, each.people, each.about) for each in told] == [(True, alike, "wage")] * bool(alike)


@pytest.mark.parametrize("seed", range(8))
def test_people_whom_the_plane_must_pass_through_are_told(seed):
    frame, fit = people(9, seed, alone=False), output("wage ~ age + score", (0.3, 0.5)[seed % 2], decimals=6)
    sure = [each for each in found(fit, frame, "on the plane") if each.certain]
    assert len(sure) == 1 and sure[0].people == 3 and sure[0].about == "wage"
    before = printed(fit, frame)
    for at in sure[0].who.tolist():  # whatever else they earn is printed otherwise
        for other in set(WAGES[::20]) - {frame["wage"][at]}:
            changed = frame.assign(wage=frame["wage"].where(frame.index != at, other))
            assert (printed(fit, changed) != before).any()
    coarse = found(output("wage ~ age + score", decimals=2), frame, "on the plane")
    assert not any(each.certain for each in coarse)  # +-0.005 x score leaves several values
    by_statsmodels = output("wage ~ age + score", (0.3, 0.5)[seed % 2], decimals=6, program="statsmodels")
    assert [each.certain for each in found(by_statsmodels, frame, "on the plane")] == [False]


@pytest.mark.parametrize(("off", "told"), [(1, 1), (200, 0)])
def test_a_small_sum_of_deviations_tells_all_nearly(off, told):
    frame = people(60, alone=False).assign(wage=lambda table: 20 + 2 * table["age"])
    frame.loc[0, "wage"] += off
    fit = output("wage ~ age", parts=("coefficients", "deviations"))
    near = found(fit, frame, "exact fit")
    assert [(each.certain, each.people) for each in near] == [(True, 60)] * told
    assert not told or "to within the share of the p % rule" in near[0].what


def test_sums_of_deviations_of_all_and_all_but_one_tell_the_one():
    told = 0
    for seed in range(12):
        frame = people(40, seed, alone=False)
        frame.loc[5, "chief"] = "yes"
        tau, parts = (0.2, 0.5)[seed % 2], ("coefficients", "deviations")
        both = [
            QuantileRegression(BOOK, name, "wage ~ age", tau, Release(parts, 5), where=where)
            for name, where in (("all", ""), ("without", "chief == 'no'"))
        ]
        sure = [
            each
            for each in look(both, from_frame(frame, BOOK), Appetite())
            if each.certain and each.rule == "difference of outputs"
        ]
        told += len(sure)
        assert all(each.who.tolist() == [5] and each.about == "wage" for each in sure)
        own = printed(both[0], frame)
        for other in set(WAGES[::40]) - {frame["wage"][5]} if sure else ():
            changed = frame.assign(wage=frame["wage"].where(frame.index != 5, other))
            assert (printed(both[0], changed) != own).any()
    assert told >= 2
