"""Standard errors and limits of means: against scipy, and what they tell of numbers of records against all numbers."""

from dataclasses import replace

import numpy as np
import pytest
from kinds import random_records
from scipy import stats

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, Magnitudes, release, released_as_given
from outrisk.outputs.tables.errors_of_means import ERROR, ErrorsOfMeans
from outrisk.outputs.tables.person_time import ENDS
from outrisk.outputs.tables.protection import Protection
from outrisk.prove.cell_bounds import audit

AGES = tuple(range(18, 90))
CODEBOOK = Codebook((Variable("arm", "categorical", ("a", "b", "c")), Variable("age", "integer", AGES, missing=True)))
ALL = ("mean", "sd", "standard error", "limits", "count")


def table(statistics=ALL, **more):
    return Magnitudes(CODEBOOK, "t", "age", ("arm",), statistics, **more)


@pytest.mark.parametrize("distribution", ["t", "normal"])
@pytest.mark.parametrize("seed", range(6))
def test_the_numbers_are_those_of_scipy(seed, distribution):
    data = random_records(CODEBOOK, seed, 40)
    output = table(level=0.9, distribution=distribution)
    numbers = output.refit(data).reshape(3, -1)
    frame = data.frame()
    for group, found in zip(("a", "b", "c"), numbers, strict=True):
        values = frame.loc[frame.arm == group, "age"].dropna().to_numpy(float)
        n = len(values)
        assert found[-1] == n
        if n < 2:
            assert np.isnan(found[1:5]).all()
            continue
        error = stats.sem(values)
        law = stats.norm if distribution == "normal" else stats.t(n - 1)
        ends = values.mean() + error * law.ppf([0.05, 0.95])
        np.testing.assert_allclose(found[:5], [values.mean(), values.std(ddof=1), error, *ends], atol=1e-9)


@pytest.mark.parametrize("statistics", [("sd", ERROR), ("sd", "limits"), (ERROR, "limits"), ("sd", ERROR, "limits")])
@pytest.mark.parametrize("distribution", ["t", "normal"])
def test_records_told_are_those_of_all_numbers_of_records(statistics, distribution):
    """Every n up to 400 is tried: some sd is to print all that is printed."""
    errors, rng = ErrorsOfMeans(0.95, distribution), np.random.default_rng(len(statistics))
    every = np.arange(2, 401).astype(float)
    for _ in range(60):
        n, sd, mean, digits = int(rng.integers(2, 60)), rng.uniform(0.5, 15), rng.uniform(20, 60), rng.integers(0, 3)
        of = errors.of(np.array([mean]), np.array([sd]), np.array([float(n)])) | {"sd": np.array([sd])}
        half = 0.5 * 10.0**-digits
        shown = [name for each in statistics for name in (ENDS if each == "limits" else (each,))]
        ranges = {each: tuple(np.round(of[each], digits) + one * half for one in (-1, 1)) for each in shown}
        least, most = errors.records(ranges)
        unit = {"sd": np.ones(len(every)), ERROR: np.sqrt(every), "limits": np.sqrt(every) / errors.quantile(every)}
        ends = {each: ranges[each] for each in statistics if each != "limits"}
        if "limits" in statistics:
            (a, b), (c, d) = ranges[ENDS[0]], ranges[ENDS[1]]
            ends["limits"] = (c - b) / 2, (d - a) / 2
        low = np.max([np.maximum(ends[each][0], 0) * unit[each] for each in ends], axis=0)
        high = np.min([ends[each][1] * unit[each] for each in ends], axis=0)
        fits = every[low <= high * (1 + 1e-9)]
        assert least[0] <= n <= most[0]
        assert least[0] == fits[0] or (least[0] == 0 and fits[0] == 2)
        assert most[0] == fits[-1] or (fits[-1] == 400 and most[0] > 400)


@pytest.mark.parametrize("seed", range(40))
def test_what_proofs_take_holds_of_the_data(seed):
    rng = np.random.default_rng(seed)
    data = random_records(CODEBOOK, seed, 30)
    some = [each for each in ("sd", "limits", "count", "sum") if rng.random() < 0.5]
    protection = Protection(threshold=3) if seed % 5 == 4 else Protection()
    statistics = ("mean", "standard error", *some)
    digits = tuple(int(rng.integers(0, 3)) * (each != "count") for each in statistics)
    output = table(statistics, digits=digits, protection=protection)
    one = release(output, data)
    taken = one.proving
    numbers = taken.output.refit(data)
    known = np.isfinite(numbers)
    half = 0.5 * 10.0 ** -taken.decimals.astype(float) * (1 + 1e-9) + 1e-9
    assert (numbers >= taken.low - half)[known].all() and (numbers <= taken.high + half)[known].all()
    assert len(taken.of) == len(taken.low) and (taken.of < len(one.low)).all()
    for counts in output.counts(one.low, one.high):
        frame = data.frame().dropna()
        cells = np.array([(frame.arm == each).sum() for each in ("a", "b", "c")])
        assert (cells >= counts.low.ravel()).all() and (cells <= counts.high.ravel()).all()


def test_an_sd_beside_its_error_tells_how_many_records_there_are():
    codes = np.stack([np.repeat([0, 1], [150, 4]), np.tile(np.arange(10, 40, 3), 16)[:154]], axis=1).astype(np.uint16)
    data = Microdata(CODEBOOK, codes)
    one = release(table(("mean", "sd", "standard error"), digits=(1, 2, 2)), data)
    (counts,) = one.output.counts(one.low, one.high)
    assert counts.low[1] == counts.high[1] == 4
    assert counts.low[0] <= 150 <= counts.high[0] < 160
    (told,) = one.implied
    assert told.high[1] == 4


@pytest.mark.parametrize("n", [12, 300])
def test_a_search_reproduces_them(n):
    rng = np.random.default_rng(n)
    codes = np.stack([rng.integers(0, 3, n), np.clip(rng.normal(30, 12, n).round(), 0, 71)], axis=1).astype(np.uint16)
    data = Microdata(CODEBOOK, codes)
    tables = [table(("mean", "limits"), digits=(1, 1)), table(("count",))]
    released = tuple(release(each, data) for each in tables)
    *_, last = evolve(Problem(CODEBOOK, n, released), preset("fast"), np.random.default_rng(1))
    for one in released:
        assert one.recompute(Microdata(CODEBOOK, last.codes)).matched.all()


@pytest.mark.parametrize(
    ("statistics", "values", "line"),
    [
        (("mean", "limits"), [30, 20, 45], "30, which is not in the middle of 20 and 45"),
        (
            ("mean", "sd", "standard error", "count"),
            [30, 10, 2, 100],
            "no number of records has these beside each other",
        ),
        (("mean", "standard error"), [30, 60], "standard error"),
        (("mean", "limits"), [30, 40, 20], "not in the middle of 40 and 20"),
    ],
)
def test_what_no_data_have_is_refused_in_a_line(statistics, values, line):
    output = Magnitudes(CODEBOOK, "t", "age", (), statistics)
    with pytest.raises(OutputError, match=line):
        released_as_given([output], [str(each) for each in values], None)


def test_a_withheld_count_follows_from_an_sd_beside_its_error():
    """Beside a table by the same cells whose small counts are withheld."""
    codes = np.stack([np.repeat([0, 1, 2], [40, 6, 30]), np.tile(np.arange(10, 48, 2), 4)], axis=1).astype(np.uint16)
    for missing, most in ((True, 9), (False, 6)):  # who lacks a value is in the one and not in the other
        arm, age = CODEBOOK.variables
        book = Codebook((arm, replace(age, missing=missing)))
        data = Microdata(book, codes)
        hidden = Frequencies(book, "f", ("arm",), protection=Protection(threshold=10))
        means = Magnitudes(book, "m", "age", ("arm",), ("mean", "sd", "standard error"), digits=(3, 3, 3))
        (row,) = audit(book, [release(hidden, data), release(means, data)], None).tables
        assert (row.table.labels, row.low.tolist(), row.high.tolist()) == (("arm=b",), [6], [most])
    rounded = table(("mean", "sd", "standard error", "count"), digits=(3, 3, 3, 0), protection=Protection(round_to=5))
    (told,) = release(rounded, data).implied
    assert told.low.tolist() == told.high.tolist() == [40, 6, 30]


def test_what_is_no_statistic_is_refused():
    with pytest.raises(OutputError, match="those of a mean; add 'mean'"):
        table(("sd", "limits"))
    with pytest.raises(OutputError, match=r"write design: \{weights: age\}, with its strata and psu, instead"):
        table(("mean", "limits"), weight="age")
