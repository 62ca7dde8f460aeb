"""Shape and concentration: definitions by scipy, pandas and brute force, totals, slopes, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata, from_frame
from outrisk.outputs import Shape, ShapeEntry, release, released, released_as_given
from outrisk.outputs.smooth.shape_of_totals import Bins
from outrisk.problem.released import ModelPart

EVERY = ("count", "skewness", "kurtosis", "cv", "gini", "hhi", "cr1", "cr4")
CODEBOOK = Codebook(
    (
        Variable("sector", "categorical", ("a", "b", "c", "d")),
        Variable("pay", "integer", tuple(range(0, 2001)), missing=True),
        Variable("change", "integer", tuple(range(-5, 6))),
    )
)


def firms(n, seed=1, sectors="abc"):
    rng = np.random.default_rng(seed)
    pay = np.minimum(np.round(rng.lognormal(5, 0.8, n)), 2000)
    pay[rng.random(n) < 0.05] = np.nan
    return pd.DataFrame({"sector": rng.choice(list(sectors), n), "pay": pay, "change": rng.integers(-5, 6, n)})


def brute_gini(x):
    return np.abs(x[:, None] - x[None, :]).sum() / (2 * len(x) ** 2 * x.mean())


def output(**given):
    (found,) = ShapeEntry(kind="shape", **{"value": "pay", **given}).build(CODEBOOK, 1)
    return found


@pytest.mark.parametrize("n", [12, 300])
def test_definitions_are_those_of_scipy_pandas_and_brute_force(n):
    frame = firms(n)
    data = from_frame(frame, CODEBOOK)
    groups = [*frame.dropna().groupby("sector")["pay"]] if n > 100 else []
    for sector, x in [("", frame["pay"].dropna()), *groups]:
        where = f"sector == '{sector}'" if sector else ""
        v = x.to_numpy()
        plain = output(statistics=list(EVERY), where=where).refit(data)
        share = v / v.sum()
        expected = [len(v), stats.skew(v), stats.kurtosis(v, fisher=False), stats.variation(v, ddof=1), brute_gini(v)]
        expected += [(share**2).sum(), share.max(), np.sort(share)[-4:].sum()]
        np.testing.assert_allclose(plain, expected, rtol=1e-10)
        adjusted = output(statistics=["skewness", "kurtosis", "gini"], moments="adjusted", divisor="n - 1", where=where)
        expected = [x.skew(), x.kurt(), brute_gini(v) * len(v) / (len(v) - 1)]
        np.testing.assert_allclose(adjusted.refit(data), expected, rtol=1e-10)
        m2 = v.var(ddof=1)  # e1071's type 3: moments over the sample variance
        third = [((v - v.mean()) ** 3).mean() / m2**1.5, ((v - v.mean()) ** 4).mean() / m2**2 - 3]
        np.testing.assert_allclose(output(moments="sample", where=where).refit(data), third, rtol=1e-10)


def test_scales():
    data = from_frame(firms(200), CODEBOOK)
    plain = output(statistics=["cv", "gini", "hhi", "cr4", "skewness"])
    scaled = output(statistics=["cv", "gini", "hhi", "cr4", "skewness"], percent=True, points=True)
    np.testing.assert_allclose(scaled.refit(data), plain.refit(data) * [100, 100, 10_000, 100, 1])
    assert scaled.decimals.tolist() == [1, 1, 0, 1, 3] and plain.decimals.tolist() == [3] * 5
    assert output(statistics=["hhi", "count", "gini"], decimals={"gini": 1}).decimals.tolist() == [0, 3, 1]


def test_what_is_not_defined_is_nan():
    frame = pd.DataFrame({"sector": list("abbccc"), "pay": [7, 0, 0, 5, 5, 5], "change": 0})
    data = from_frame(frame, CODEBOOK)
    found = output(by="sector", statistics=EVERY[1:]).refit(data).reshape(4, -1)
    nan = np.nan
    np.testing.assert_array_equal(found[0], [nan, nan, nan, 0.0, 1.0, 1.0, 1.0])  # one record
    assert np.isnan(found[1]).all() and np.isnan(found[3]).all()  # a total of 0; nobody
    np.testing.assert_allclose(found[2], [nan, nan, 0.0, 0.0, 1 / 3, 1 / 3, 1.0], atol=1e-15)
    adjusted = output(by="sector", moments="adjusted", statistics=["skewness", "kurtosis"])
    apart = frame.assign(pay=[7, 0, 1, 5, 6, 9])
    skewness, kurtosis = adjusted.refit(from_frame(apart, CODEBOOK)).reshape(4, 2).T
    assert np.isfinite(skewness).tolist() == [False, False, True, False] and np.isnan(kurtosis).all()


@pytest.mark.parametrize("settings", [{}, {"moments": "sample", "divisor": "n - 1"}, {"moments": "adjusted"}])
def test_totals_give_the_numbers_and_their_slopes(settings):
    """Of a support of many values bins are wide, and a Gini coefficient follows to within some thousandths."""
    data = from_frame(firms(400), CODEBOOK)
    shape = output(by="sector", statistics=EVERY, **settings)
    problem = Problem(CODEBOOK, len(data), (release(shape, data),))
    totals, exact = problem.totals(data.codes), shape.refit(data)
    for part, where, which, _ in problem.slices:
        if not isinstance(part, ModelPart) or np.isnan(exact[which]).any():
            continue
        now = part.map.numbers(totals[where], np.zeros((0, 0)))
        close = np.where(np.isin(shape.shown, ["gini", "cr1", "cr4"]), 3e-3, 1e-9)
        assert (np.abs(now - exact[which]) <= close * np.maximum(np.abs(exact[which]), 0.2)).all()
        jacobian = part.map.jacobian(totals[where], np.zeros((0, 0)))
        counts = totals[where][part.map.power + 1 :][: len(part.map.bins.first)]
        fullest = int(np.argmax(counts))  # where values are spread in their bin; the largest stay
        row = part.model.extra[0].rows[int(np.argmax(part.map.bins.of == fullest)) + 1]
        ends = [part.map.numbers(totals[where] + sign * 1e-4 * row, None) for sign in (1, -1)]
        np.testing.assert_allclose(jacobian @ row, (ends[0] - ends[1]) / 2e-4, rtol=2e-3, atol=1e-7)


def test_bins_of_single_values_are_exact():
    codebook = Codebook((Variable("pay", "integer", (0, 1, 2, 5, 9, 30)),))
    codes = np.random.default_rng(1).integers(0, 6, (50, 1)).astype(np.uint16)
    shape = Shape(codebook, "s", "pay", (), ("gini", "cr1", "cr4"))
    problem = Problem(codebook, 50, (release(shape, Microdata(codebook, codes)),))
    np.testing.assert_allclose(
        problem.parts[0].map.numbers(problem.totals(codes), None), shape.refit(Microdata(codebook, codes)), rtol=1e-12
    )
    bins = Bins.over(np.arange(1000.0), 10)
    assert len(bins.first) == 10 and np.bincount(bins.of).min() == 100


@pytest.mark.parametrize("n", [40, 400])
def test_a_search_reproduces_them(n):
    data = from_frame(firms(n), CODEBOOK)
    outputs = [output(by="sector", statistics=["count", "gini", "cv"]), output(statistics=["skewness", "hhi", "cr4"])]
    problem = Problem(CODEBOOK, n, tuple(release(each, data) for each in outputs))
    for generation in evolve(problem, preset("fast"), np.random.default_rng(1)):
        if generation.number > 150:
            break
    best = Microdata(CODEBOOK, problem.whole(generation.best.codes))
    matched = np.concatenate([each.is_matched(each.refit(best)) for each in problem.released])
    assert matched.mean() >= 0.9


def test_protection_and_subsets():
    data = from_frame(firms(60, sectors="aaaaab"), CODEBOOK)
    guarded = output(by="sector", statistics=["gini"], protection={"threshold": 15})
    low, high = guarded.publish(guarded.refit(data))
    assert guarded.labels[-1] == "sector=d: records"
    assert np.isfinite(low[0]) and np.isinf(low[1:4]).all() and low[5] == 1 and high[5] == 14
    counted = output(by="sector", statistics=["count", "gini"], protection={"round_to": 5})
    low, high = counted.publish(counted.refit(data))
    assert high[0] - low[0] == 4
    top = output(statistics=["cr1"], protection={"top_code": 100})
    assert top.refit(data)[0] < output(statistics=["cr1"]).refit(data)[0]
    given = dict.fromkeys(guarded.labels[:4], 0.3) | {"sector=b: gini of pay": "withheld"}
    (found,) = released_as_given([guarded], given, None)
    assert found.high[5] == 14 and found.low[4] == 15


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"statistics": ["theil"]}, "'theil' is not known; known are count, skewness"),
        ({"statistics": ["count"]}, "must name one or more different ones besides the count"),
        ({"value": "sector"}, "'sector' is categorical; give a numeric variable"),
        (
            {"value": "change", "statistics": ["gini"]},
            "'gini' is one of values from 0, and change may be -5; say which",
        ),
        ({"weight": "pay"}, "weight: programs weigh shape and concentration in several ways"),
        ({"protection": {"round_to": 5}}, "round_to is of counts, and there are none"),
        ({"statistics": ["cv"], "decimals": {"gini": 2}}, "decimals for 'gini', which is not released"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(entry, message):
    with pytest.raises(OutputError, match="output ") as error:
        output(**entry)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_values_below_0_may_be_left_out_and_have_moments():
    data = from_frame(firms(80), CODEBOOK)
    found = output(value="change", statistics=["gini", "hhi"], where="change >= 0").refit(data)
    assert np.isfinite(found).all()
    assert np.isfinite(output(value="change", statistics=["skewness", "cv"]).refit(data)).all()
    assert output(statistics=["Gini", "HHI", "CR4"]).statistics == ("gini", "hhi", "cr4")


@pytest.mark.parametrize(
    ("statistics", "values", "message"),
    [
        (["gini"], [1.2], "all: gini of pay is 1.2; it lies from 0 to 1 - 1 / n"),
        (["count", "hhi"], [4, 0.2], "all: hhi of pay is 0.2; a share of n records is at least that of equal ones"),
        (["count", "gini"], [2, 0.6], "all: gini of pay is 0.6; it lies from 0 to 1 - 1 / n"),
        (["kurtosis"], [0.4], "a kurtosis is no less than that; correct it, 'moments' or 'excess'"),
        (["cr1", "cr4"], [0.5, 0.4], "all: cr1 of pay is larger than its cr4"),
        (["hhi", "cr1"], [0.5, 0.3], "all: hhi of pay is larger than its cr1"),
        (["hhi", "cr1"], [0.2, 0.6], "all: hhi of pay is too small beside its cr1"),
        (["count", "cv"], [3.5, 0.6], "a count is a whole number"),
    ],
)
def test_numbers_that_no_data_have_are_refused(statistics, values, message):
    with pytest.raises(OutputError) as error:
        released(output(statistics=statistics), np.array(values))
    assert message in str(error.value)


def test_real_numbers_pass_the_checks():
    for seed in range(30):
        frame = firms(int(np.random.default_rng(seed).integers(4, 40)), seed)
        data = from_frame(frame, CODEBOOK)
        for settings in ({}, {"moments": "sample"}, {"moments": "adjusted", "divisor": "n - 1", "percent": True}):
            release(output(by="sector", statistics=[*EVERY, "cr2"], decimals=2, **settings), data)
