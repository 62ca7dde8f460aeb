"""Tables against pandas', numpy's and statsmodels' own; protection by hand; input that cannot be."""

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from statsmodels.stats.weightstats import DescrStatsW
from tables import CODEBOOK, draw

from outrisk.errors import OutputError
from outrisk.outputs import (
    Frequencies,
    Histogram,
    HistogramEntry,
    Magnitudes,
    MagnitudesEntry,
    Mode,
    Quantiles,
    QuantilesEntry,
    UnivariateEntry,
    release,
    released,
)
from outrisk.outputs.tables.protection import UNPROTECTED, Protection

DATA = draw(300, 5)
FRAME = DATA.frame()


@pytest.mark.parametrize(
    ("show", "normalize", "scale"),
    [
        ("counts", False, 1),
        ("proportions", "all", 1),
        ("row_percentages", "index", 100),
        ("column_percentages", "columns", 100),
    ],
)
@pytest.mark.parametrize("margins", [False, True])
def test_shares_and_margins_agree_with_crosstab(show, normalize, scale, margins):
    table = scale * pd.crosstab(
        FRAME.age, FRAME.ill, dropna=False, margins=margins, margins_name="Total", normalize=normalize
    )
    levels = [*CODEBOOK["age"].values, *["Total"] * margins], ["no", "yes", *["Total"] * margins]
    output = Frequencies(CODEBOOK, "t", ("age", "ill"), show=show, margins=margins)
    expected = {
        f"age={age}, ill={ill}": table.loc[age, ill]
        for age in levels[0]
        for ill in levels[1]
        if age in table.index and ill in table.columns
    }
    found = dict(zip(output.labels, output.refit(DATA), strict=True))
    assert {label for label in expected if label not in found} <= {"age=Total, ill=Total"}
    for label, value in found.items():
        np.testing.assert_allclose(value, expected[label], rtol=1e-12)


def test_magnitudes_agree_with_describe_and_with_weights_with_descrstatsw():
    output = Magnitudes(CODEBOOK, "t", "pay", ("ill",), ("count", "mean", "sd", "sum"))
    described = FRAME.groupby("ill", observed=False).pay.describe()
    found = output.refit(DATA).reshape(2, 4)
    np.testing.assert_allclose(found[:, :3], described[["count", "mean", "std"]])
    np.testing.assert_allclose(found[:, 3], FRAME.groupby("ill", observed=False).pay.sum())
    assert output.labels[:3] == ["ill=no: count", "ill=no: mean of pay", "ill=no: sd of pay"]
    weighted = Magnitudes(CODEBOOK, "t", "pay", ("ill",), ("mean", "sd", "sum", "count"), weight="w").refit(DATA)
    for row, level in zip(weighted.reshape(2, 4), ("no", "yes"), strict=True):
        part = FRAME[FRAME.ill == level].dropna(subset=["pay", "w"])
        statistics = DescrStatsW(part.pay, weights=part.w, ddof=1)
        np.testing.assert_allclose(
            row, [statistics.mean, statistics.std, statistics.sum, statistics.sum_weights], rtol=1e-10
        )


def test_quantiles_and_histograms_agree_with_numpy():
    pay = FRAME.pay.dropna()
    output = Quantiles(CODEBOOK, "t", "pay", probabilities=(0.0, 0.3, 0.5, 1.0))
    np.testing.assert_allclose(output.refit(DATA), np.quantile(pay, [0.0, 0.3, 0.5, 1.0]))
    assert output.labels == ["all: min of pay", "all: quantile 0.3 of pay", "all: median of pay", "all: max of pay"]
    breaks = (0.5, 2.0, 2.5)
    for show, density in (("counts", False), ("density", True)):
        found = Histogram(CODEBOOK, "t", "pay", breaks, show=show).refit(DATA)
        np.testing.assert_allclose(found, np.histogram(pay, breaks, density=density)[0])
    right = Histogram(CODEBOOK, "t", "pay", breaks, closed="right")
    np.testing.assert_allclose(right.refit(DATA), [(pay <= 2).sum(), (pay == 2.5).sum()])
    assert right.labels == ["pay 0.5 to 2", "pay 2 to 2.5"]


def test_the_mode_is_pandas_first():
    found = Mode(CODEBOOK, "t", "job", ("ill",)).refit(DATA)
    first = FRAME.groupby("ill", observed=False).job.agg(lambda jobs: jobs.mode().iloc[0])
    assert [CODEBOOK["job"].values[int(number) - 1] for number in found] == first.tolist()


def test_one_way_distributions_of_all_variables():
    tables = UnivariateEntry(kind="univariate").build(CODEBOOK, 1)
    assert [table.by for table in tables] == [(name,) for name in CODEBOOK.names]
    named = UnivariateEntry(kind="univariate", variables=("ill",), show="proportions").build(CODEBOOK, 1)
    np.testing.assert_allclose(named[0].refit(DATA), FRAME.ill.value_counts(normalize=True)[["no", "yes"]])


def known(protection, counts):
    counts = np.array(counts, float)
    return [
        *map(tuple, np.transpose(protection.known(protection.printed(counts, protection.hides(counts), "t"))).tolist())
    ]


@pytest.mark.parametrize(
    ("protection", "counts", "ranges"),
    [
        ({}, [0, 7], [(0, 0), (7, 7)]),
        ({"threshold": 10}, [0, 1, 9, 10], [(0, 0), (1, 9), (1, 9), (10, 10)]),
        ({"threshold": 10, "withhold_zeros": True}, [0, 9, 10], [(0, 9), (0, 9), (10, 10)]),
        ({"threshold": 10, "known_threshold": False}, [0, 1, 10], [(0, 0), (1, np.inf), (10, 10)]),
        ({"round_to": 5}, [0, 2, 3, 7, 8], [(0, 2), (0, 2), (3, 7), (3, 7), (8, 12)]),
        ({"round_to": 10}, [4, 5, 14, 15], [(0, 4), (5, 14), (5, 14), (15, 24)]),
        ({"round_to": 5, "threshold": 10}, [0, 2, 11, 13], [(0, 0), (1, 9), (10, 12), (13, 17)]),
        ({"top_code": 20}, [19, 20, 400], [(19, 19), (20, np.inf), (20, np.inf)]),
    ],
)
def test_what_a_reader_knows_of_protected_counts(protection, counts, ranges):
    assert known(Protection(**protection), counts) == ranges


def test_random_rounding_is_right_on_average_repeats_and_widens_the_range():
    protection, counts = Protection(round_to=5, random=True, seed=3), np.full(20_000, 12.0)
    hidden = np.zeros(len(counts), bool)
    printed = protection.printed(counts, hidden, "t")
    assert set(printed) == {10.0, 15.0}
    assert printed.mean() == pytest.approx(12.0, abs=0.1)
    assert (printed == protection.printed(counts, hidden, "t")).all()
    assert (printed != protection.printed(counts, hidden, "another table")).any()
    assert (printed != protection.model_copy(update={"seed": 4}).printed(counts, hidden, "t")).any()
    assert known(protection, [10, 0]) == [(6, 14), (0, 4)]  # multiples stay; +-(base - 1)


def test_a_withheld_cell_withholds_all_its_numbers():
    protection = Protection(threshold=40)
    output = Magnitudes(CODEBOOK, "t", "pay", ("job",), ("mean", "sum", "sd", "count"), protection=protection)
    values = output.refit(DATA).reshape(-1, 4)
    low, high = (part.reshape(-1, 4) for part in output.publish(values.ravel()))
    few = values[:, 3] < 40
    assert few.any() and not few.all()
    assert np.isneginf(low[few, :3]).all() and np.isposinf(high[few, :3]).all()
    assert (low[few, 3] == 1).all() and (high[few, 3] == 39).all()
    np.testing.assert_array_equal(low[~few], np.round(values[~few], 2))
    # Percentages are withheld by the numbers of records behind them, which are not printed.
    shares = Frequencies(CODEBOOK, "t", ("job",), show="proportions", protection=protection)
    low, high = shares.publish(shares.refit(DATA))
    counts = Frequencies(CODEBOOK, "t", ("job",)).refit(DATA)
    assert (np.isneginf(low[:4]) == ((counts < 40) & (counts > 0))).all()
    assert (low[4:] == np.where(counts < 40, 1, 40)).all() and (high[4:] == np.where(counts < 40, 39, np.inf)).all()
    assert shares.labels[4:] == [f"{label}: records" for label in shares.labels[:4]]


def test_top_coded_values():
    output = Magnitudes(CODEBOOK, "t", "pay", (), ("mean",), protection=Protection(top_code=2.0))
    assert output.refit(DATA) == pytest.approx([FRAME.pay.dropna().clip(upper=2.0).mean()])
    assert output.notes == "mean of pay; values above 2 as 2"


def test_digits_of_each_statistic():
    entry = MagnitudesEntry(kind="magnitudes", value="pay", statistics=("sum", "mean", "count"), decimals={"sum": 0})
    assert entry.build(CODEBOOK, 1)[0].decimals.tolist() == [0, 2, 0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Frequencies(CODEBOOK, "t", ("ill",), show="column_percentages"), "need two variables"),
        (
            lambda: Frequencies(CODEBOOK, "t", ("ill",), show="proportions", protection=Protection(round_to=5)),
            "round_to and top_code are of counts",
        ),
        (lambda: Frequencies(CODEBOOK, "t", ("ill",), weight="job"), "weight: 'job' is not a numeric variable"),
        (lambda: Frequencies(CODEBOOK, "t", ("ill",), weight="wage"), "no variable 'wage'"),
        (lambda: Magnitudes(CODEBOOK, "t", "job"), "value: 'job' is categorical"),
        (lambda: Magnitudes(CODEBOOK, "t", "age", ("age",)), "'age' is both in by: and"),
        (lambda: Magnitudes(CODEBOOK, "t", "age", statistics=()), "statistics: .* one or more different"),
        (lambda: Magnitudes(CODEBOOK, "t", "age", where="age > 7"), "holds for no value"),
        (lambda: Magnitudes(CODEBOOK, "t", "age", protection=Protection(round_to=5)), "there are none among"),
        (lambda: Quantiles(CODEBOOK, "t", "age", probabilities=(0.5, 1.5)), "from 0 to 1"),
        (lambda: Mode(CODEBOOK, "t", "job", protection=Protection(top_code=2)), "a threshold only"),
        (lambda: Histogram(CODEBOOK, "t", "age", (3, 3)), "two or more rising numbers"),
        (lambda: Histogram(CODEBOOK, "t", "age", (float("nan"), 2.0, 4.0)), "two or more rising numbers"),
        (lambda: Histogram(CODEBOOK, "t", "age", (30, 40)), "no value of 'age' lies within"),
    ],
)
def test_tables_that_cannot_be_made(make, message):
    with pytest.raises(OutputError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value) and str(caught.value).startswith("output 't': ")


@pytest.mark.parametrize(
    ("entry", "fields", "message"),
    [
        (MagnitudesEntry, {"kind": "magnitudes", "value": "age", "protection": {"withhold_zeros": True}}, "threshold"),
        (MagnitudesEntry, {"kind": "magnitudes", "value": "age", "protection": {"random": True}}, "round_to"),
        (MagnitudesEntry, {"kind": "magnitudes", "value": "age", "protection": {"seed": 3}}, "random: true"),
        (QuantilesEntry, {"kind": "quantiles", "value": "age", "weight": "w"}, "Extra inputs"),
        (QuantilesEntry, {"kind": "quantiles", "value": "age", "quantiles": ["mid"]}, "min, median, max"),
        (HistogramEntry, {"kind": "histogram", "value": "age"}, "breaks"),
    ],
)
def test_entries_that_cannot_be_read(entry, fields, message):
    with pytest.raises(ValidationError, match=message):
        entry(**fields)


ILL = Frequencies(CODEBOOK, "t", ("ill",), margins=True)
ROWS = Frequencies(CODEBOOK, "t", ("ill", "job"), show="row_percentages")
PAY = Magnitudes(CODEBOOK, "t", "pay", (), ("mean", "sd", "sum", "count"))


@pytest.mark.parametrize(
    ("output", "values", "message"),
    [
        (ILL, [3, 4], "2 values given for 3"),
        (ILL, [-1, 4, 3], "ill=no is -1; a count lies from 0"),
        (ILL, [2.5, 4, 7], "ill=no is 2.5; a count is a whole number"),
        (ILL, [3, 4, 8], "the cells of 'ill=Total' add up to 7 and should to 8"),
        (ROWS, [101, 0, 0, 0, 25, 25, 25, 25], "ill=no, job=b is 101; a percentage lies from 0 to 100"),
        (ROWS, [50, 25, 25, 0, 25, 25, 25, 20], "the 4 shares from 'ill=yes, job=b' on add up to 95 and should to 100"),
        (PAY, [20, 1, 60, 3], "mean of pay is 20; the mean of pay lies from 0.495 to 9.005"),
        (PAY, [2, -1, 6, 3], "sd of pay is -1; the sd of pay lies from 0"),
        (PAY, [2, 1, 7, 3], "mean times count in 'all: sum of pay' add up to 6 and should to 7"),
        (Quantiles(CODEBOOK, "t", "pay", (), (0.0, 0.5)), [2, 1], "a higher quantile is no smaller"),
        (Quantiles(CODEBOOK, "t", "pay"), [9.5], "is 9.5; a quantile of pay lies from"),
        (Mode(CODEBOOK, "t", "pay"), [3], "is 3, which is not a value of 'pay'"),
        (Histogram(CODEBOOK, "t", "pay", (0, 2, 10), show="density"), [0.4, 0.05], "add up to 1.2 and should to 1"),
    ],
)
def test_released_values_that_cannot_be(output, values, message):
    with pytest.raises(OutputError, match=message) as caught:
        released(output, np.array(values, float))
    assert "\n" not in str(caught.value)


def test_undefined_and_protected_values_pass():
    empty = ROWS.refit(DATA)
    empty[:4] = np.nan
    low, high = ROWS.publish(empty)
    released(ROWS, low, high)
    assert release(PAY, DATA).known.all()
    assert UNPROTECTED.notes(of_counts=True) == ""
