"""Rates against statsmodels, by hand, and what their limits give away; values that cannot be; what the look finds."""

import numpy as np
import pytest
import statsmodels.api as sm
from kinds import assert_reproduced
from statsmodels.stats.rates import confint_poisson
from tables import CODEBOOK, draw

from outrisk.assess.look import Appetite, look
from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.evolve.problem import Problem
from outrisk.microdata import Microdata
from outrisk.outputs import Rates, release, released, released_as_given
from outrisk.outputs.tables.person_time import Limits
from outrisk.outputs.tables.protection import Protection
from outrisk.prove.few_people import few_people

BOOK = Codebook(
    (
        Variable("sex", "categorical", ("m", "f")),
        Variable("age", "integer", (0, 1, 2, 3)),
        Variable("years", "numeric", tuple(each / 2 for each in range(21))),
        Variable("died", "integer", (0, 1)),
        Variable("sales", "integer", tuple(range(0, 1001, 10))),
    )
)
EVERY = ("numerator", "denominator", "rate", "limits")


def cohort(n, seed):
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 4, n)
    codes = [rng.integers(0, 2, n), age, rng.integers(0, 21, n), rng.random(n) < 0.02 + 0.04 * age]
    return Microdata(BOOK, np.stack([*codes, rng.integers(0, 101, n)], axis=1).astype(np.uint16))


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_exact_limits_are_those_of_statsmodels(level):
    for events in (0, 1, 2, 7, 100, 5000):
        expected = confint_poisson(events, 1, method="exact-c", alpha=1 - level)
        low = 0.0 if events == 0 else expected[0]
        np.testing.assert_allclose(Limits("exact", level).of(events), [low, expected[1]], rtol=1e-9)


def test_log_limits_are_those_of_a_poisson_regression():
    data = cohort(400, 2)
    frame = data.frame()
    fit = sm.GLM(frame.died, np.ones(len(frame)), family=sm.families.Poisson(), offset=np.log(frame.years + 1e-9)).fit()
    output = Rates(BOOK, "t", "died", "years", (), ("rate", "limits"), interval="log")
    expected = np.exp([fit.params.iloc[0], *fit.conf_int().iloc[0]])
    np.testing.assert_allclose(output.refit(data)[:3], expected, rtol=1e-5)


def test_byar_limits_by_hand_and_near_the_exact_ones():
    cube = lambda root: root**3  # noqa: E731
    z = 1.959964
    by_hand = 10 * cube(1 - 1 / 90 - z / (3 * 10**0.5)), 11 * cube(1 - 1 / 99 + z / (3 * 11**0.5))
    np.testing.assert_allclose(Limits("byar", 0.95).of(10), by_hand, rtol=1e-6)
    for events in (5, 20, 300):
        np.testing.assert_allclose(Limits("byar", 0.95).of(events), Limits("exact", 0.95).of(events), rtol=0.02)


def test_a_ratio_of_sums_by_pandas():
    data = cohort(300, 1)
    output = Rates(BOOK, "t", "sales", "years", ("sex",), ("rate",), 2.0, places=6)
    sums = data.frame().groupby("sex", observed=False)[["sales", "years"]].sum()
    np.testing.assert_allclose(output.refit(data), 2.0 * sums.sales / sums.years, rtol=1e-12)


@pytest.mark.parametrize("interval", ["exact", "byar", "log"])
def test_limits_give_the_events_away(interval):
    data = cohort(2_000, 3)
    output = Rates(BOOK, "t", "died", "years", ("age",), ("rate", "limits"), 1000.0, interval)
    low, high = output.publish(output.refit(data))
    frame = data.frame()
    events, years = (frame.groupby("age")[name].sum().to_numpy() for name in ("died", "years"))
    at = output.labels.index("age=0: numerator")
    assert (low[at : at + 4] <= events).all() and (events <= high[at : at + 4]).all()
    assert (high[at : at + 4] - low[at : at + 4] <= 1).all()
    assert (low[at + 4 :] <= years).all() and (years <= high[at + 4 :]).all()
    assert (high[at + 4 :] / low[at + 4 :] < 1.02).all()


@pytest.mark.parametrize("n", [60, 300, 3_000])
@pytest.mark.parametrize("statistics", [EVERY, ("rate", "limits")])
def test_rates_are_reproduced(n, statistics):
    original = cohort(n, n)
    outputs = [
        Rates(BOOK, "by age", "died", "years", ("age",), statistics, 1000.0),
        Rates(BOOK, "by sex", "died == 1", "years", ("sex",), statistics, 1000.0),
    ]
    problem = Problem(BOOK, n, tuple(release(each, original) for each in outputs))
    assert_reproduced(problem, seed=4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"numerator": "sex"}, "write which level counts, as in sex == 'f'"),
        ({"numerator": "nobody == 1"}, "numerator: 'nobody == 1' names"),
        ({"numerator": "died == 5"}, "numerator: 'died == 5' holds for no value"),
        ({"numerator": ""}, "numerator: name a numeric variable"),
        ({"denominator": "sex"}, "denominator: 'sex' is categorical"),
        ({"statistics": ("limits",)}, "limits alone"),
        (
            {"numerator": "years", "denominator": "sales", "statistics": ("rate", "limits")},
            "numerator of whole numbers",
        ),
        ({"protection": Protection(round_to=5)}, "withheld (threshold)"),
        ({"places": {"count": 2}}, "decimals for 'count'"),
    ],
)
def test_what_no_rate_can_be_is_said_in_one_line(changes, message):
    given = {"numerator": "died", "denominator": "years"} | changes
    with pytest.raises(OutputError) as error:
        Rates(BOOK, "t", **given)
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([5, 400.0, 12.5, 4.06, 29.17], ""),
        ([6, 400.0, 12.5, 4.06, 29.17], "rate times denominator"),
        ([5, 400.0, 12.5, 5.2, 30.03], "no number of events has these exact limits"),
        ([-5, 400.0, 12.5, 4.06, 29.17], "lies from 0"),
        ([5.5, 400.0, 13.75, 4.06, 29.17], "more digits"),
        ([5, 400.0, "withheld", 4.06, 29.17], "has no threshold"),
    ],
)
def test_values_that_cannot_be_rates_are_refused(values, message):
    output = Rates(BOOK, "t", "died", "years", (), EVERY, 1000.0)
    if not message:
        (found,) = released_as_given([output], values, None)
        assert (found.low == values).all()
        return
    with pytest.raises(OutputError, match=message):
        released_as_given([output], values, None)


def test_limits_that_contradict_printed_events_are_refused():
    output = Rates(BOOK, "t", "died", "years", (), ("numerator", "rate", "limits"), 1000.0)
    released(output, np.array([5, 12.5, 4.06, 29.17, 400.0]))
    with pytest.raises(OutputError, match="no number of events"):
        released(output, np.array([7, 12.5, 4.06, 29.17, 560.0]))


def test_withheld_cells_of_few_events_tell_no_more_than_the_rule():
    data = cohort(400, 5)
    events = data.frame().groupby("age").died.sum().to_numpy()
    threshold = int(np.sort(events)[1])
    output = Rates(BOOK, "t", "died", "years", ("age",), EVERY, protection=Protection(threshold=threshold))
    low, high = output.publish(output.refit(data))
    few = int(np.argmin(events))
    assert 0 < events[few] < threshold
    found = dict(zip(output.labels, zip(low, high, strict=True), strict=True))
    assert found[f"age={few}: numerator"] == (1, threshold - 1)
    assert found[f"age={few}: rate"] == (-np.inf, np.inf)


def test_the_look_names_cells_of_few_events_and_of_none():
    data = cohort(300, 1)
    codes = data.codes.copy()
    codes[codes[:, 1] == 0, 3] = 0
    codes[np.flatnonzero(codes[:, 1] == 1), 3] = [1, 1, *[0] * (int((codes[:, 1] == 1).sum()) - 2)]
    data = Microdata(BOOK, codes)
    output = Rates(BOOK, "t", "died", "years", ("age",), ("rate", "limits"), 1000.0)
    found = {each.rule: each for each in look([output], data, Appetite(), "died")}
    assert found["same answer"].certain and found["same answer"].people == int((codes[:, 1] == 0).sum())
    assert "age=1: 2" in found["small cells"].places and "limits may give it away" in found["small cells"].what
    wide = Rates(BOOK, "t", "died", "years", ("age",), ("rate",), 1.0)  # one event would not show
    assert "same answer" not in {each.rule for each in look([wide], data, Appetite(), "died")}


def test_the_look_finds_withheld_events_that_a_total_gives_back():
    data = cohort(400, 5)
    events = data.frame().groupby("age").died.sum().to_numpy()
    threshold = int(np.sort(events)[1])  # one age alone is withheld
    rule = Protection(threshold=threshold)
    by_age = Rates(BOOK, "by age", "died", "years", ("age",), ("numerator", "rate"), 1000.0, protection=rule)
    total = Rates(BOOK, "total", "died == 1", "years", (), ("rate", "limits"), 1000.0)
    found = [each for each in look([by_age, total], data, Appetite(), "died") if "recoverable" in each.rule]
    assert 0 < events.min() < threshold and [each.cells for each in found] == [1]
    assert not [each for each in look([by_age], data, Appetite(), "died") if "recoverable" in each.rule]


def test_the_look_asks_who_makes_up_the_sums_of_a_ratio():
    codes = np.zeros((30, 5), np.uint16)
    codes[:, 2], codes[0, 4], codes[1:6, 4] = 4, 100, 1
    output = Rates(BOOK, "t", "sales", "years", (), ("numerator", "rate"))
    found = {each.rule: each for each in look([output], Microdata(BOOK, codes), Appetite(), "sales")}
    assert found["dominance"].people <= 2


def test_a_cell_without_time_has_no_rate():
    output = Rates(CODEBOOK, "t", "ill == 'yes'", "w", ("age",), ("rate",))
    data = draw(60, 2)
    frame = data.frame().dropna(subset=["w"])
    time = frame.groupby("age").w.sum()
    for label, value in zip(output.labels, output.refit(data), strict=True):
        age = int(label.split("=")[1].split(":")[0])
        assert np.isnan(value) == (age not in time.index or time[age] == 0)


@pytest.mark.parametrize(
    ("statistics", "interval", "values", "why"),
    [
        (("numerator", "rate"), "exact", [0, 2.0], "beside a numerator of 0"),
        (("denominator", "rate"), "exact", [0.0, 2.0], "beside a denominator of 0"),
        (("denominator", "rate"), "exact", [350.0, "undefined"], "is undefined, and other numbers"),
        (("rate", "limits"), "exact", [2.0, "undefined", "undefined"], "is undefined, and other numbers"),
        (("rate", "limits"), "log", [2.0, "undefined", "undefined"], "is undefined, and other numbers"),
        (("rate", "limits"), "exact", [2.0, 4.12, 0.8], "no number of events"),
    ],
)
def test_numbers_of_a_cell_that_contradict_each_other_are_refused(statistics, interval, values, why):
    output = Rates(BOOK, "t", "died", "years", (), statistics, 100.0, interval)
    with pytest.raises(OutputError, match=why):
        released_as_given([output], values, ".")


def test_a_withheld_rate_beside_limits_of_more_events_is_refused():
    output = Rates(BOOK, "t", "died", "years", (), ("rate", "limits"), 100.0, protection=Protection(threshold=5))
    with pytest.raises(OutputError, match="no number of events"):
        released_as_given([output], ["withheld", 0.8, 4.12], ".")


@pytest.mark.parametrize(
    ("interval", "rate", "told"), [("log", 0.0, (0, 0, 0, np.inf)), ("exact", "undefined", (0, np.inf, 0, 0))]
)
def test_limits_that_are_not_defined_tell_of_no_event_or_of_no_time(interval, rate, told):
    output = Rates(BOOK, "t", "died", "years", (), ("rate", "limits"), 100.0, interval)
    (found,) = released_as_given([output], [rate, "undefined", "undefined"], ".")
    assert (found.low[3], found.high[3], found.low[4], found.high[4]) == told


def test_weighted_numerators_are_rate_times_denominator_to_their_digits():
    book = Codebook((*BOOK.variables, Variable("w", "numeric", (0.333, 1.337))))
    data = Microdata(book, np.column_stack([cohort(40, 1).codes, np.arange(40) % 2]).astype(np.uint16))
    output = Rates(book, "t", "died", "years", (), EVERY[:3], weight="w", places={"numerator": 0, "rate": 4})
    release(output, data)


def test_a_search_for_every_data_set_takes_no_limits():
    output, data = Rates(BOOK, "t", "died", "age", (), ("rate", "limits"), 100.0), cohort(8, 1)
    assert few_people(BOOK, [release(output, data)], len(data)) is None
