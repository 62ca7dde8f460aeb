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
    assert not any(each.certain for each in found(output("wage ~ age + chief"), frame))


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
    frame.loc[3, "wage"] += 1
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
            assert not any(each.certain for each in found(output("wage ~ age + area", tau), frame))
