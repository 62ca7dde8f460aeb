import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import NO_INFORMATION, even_records, numbers_of, random_records, refit_of, slopes_of, totals_of

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.smooth.correlations import Correlations, CorrelationsEntry

CODEBOOK = Codebook(
    (
        Variable("age", "integer", tuple(range(20, 90))),
        Variable("pay", "numeric", tuple(float(x) for x in range(0, 60_000, 50)), missing=True),
        Variable("rate", "numeric", (0.25, 0.5, 2.0), missing=True),
        Variable("sex", "categorical", ("f", "m")),
    )
)
ALL = ("correlation", "covariance", "mean", "sd", "p", "n")
THREE = Correlations(CODEBOOK, "c", ("age", "pay", "rate"), ALL, 4)


def test_three_records_by_hand():
    codes = [[0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 1, 0], [5, 9, 3, 0]]  # the last lacks its rate
    data = Microdata(CODEBOOK, np.array(codes, dtype=np.uint16))
    output = Correlations(CODEBOOK, "c", ("age", "pay", "rate"), ("correlation", "mean", "n"))
    assert output.labels == [
        *("correlation(age, pay)", "correlation(age, rate)", "correlation(pay, rate)"),
        *("mean(age)", "mean(pay)", "mean(rate)", "n"),
    ]
    half = 0.75**0.5
    np.testing.assert_allclose(output.refit(data), [1, half, half, 21, 50, 1.25 / 3, 3], atol=1e-12)
    assert output.decimals.tolist() == [3, 3, 3, 3, 3, 3, 0]
    assert "left out" in output.notes


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["", "age < 60", "sex == 'm' and age > 30"]))
def test_totals_and_pandas_agree(seed, where):
    data = random_records(CODEBOOK, seed)
    output = Correlations(CODEBOOK, "c", THREE.variables, ALL, 4, where)
    expected = refit_of(output, data)
    np.testing.assert_allclose(numbers_of(output, data), expected, rtol=1e-9, atol=1e-6)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_derivatives_agree_with_differences(seed):
    data = even_records(CODEBOOK, seed, 50)
    (part,) = THREE.parts(THREE.refit(data))
    totals = totals_of(part, data)
    found, expected, size = slopes_of(part, totals, 1e-4)
    np.testing.assert_allclose(found / size, expected / size, atol=1e-5)
    precision = part.map.precision(totals, NO_INFORMATION)
    assert np.isfinite(precision).all() and (np.linalg.eigvalsh(precision) > 0).all()


def test_the_precision_is_that_of_repeated_samples():
    rng = np.random.default_rng(5)
    codebook = Codebook(tuple(Variable(name, "integer", tuple(range(-40, 41))) for name in "ab"))
    output = Correlations(codebook, "c", ("a", "b"), ALL, 6)

    def sample():
        a, b = rng.multivariate_normal([0, 0], [[80, 40], [40, 60]], 400).round().clip(-40, 40).T
        return Microdata(codebook, (np.stack([a, b], axis=1) + 40).astype(np.uint16))

    refits = np.array([output.refit(sample()) for _ in range(300)])
    (part,) = output.parts(refits[0])
    found = np.diag(part.map.precision(totals_of(part, sample()), NO_INFORMATION))[:-2] ** -0.5
    np.testing.assert_allclose(found, refits.std(axis=0)[:-2], rtol=0.3)


@pytest.mark.parametrize("totals", [np.zeros(14), np.eye(14)[4], np.ones(14), -np.ones(14)])
def test_odd_totals_give_nan_and_finite_slopes(totals):
    (part,) = THREE.parts(np.zeros(len(THREE.labels)))
    assert part.model.size == 14
    assert part.map.numbers(totals, NO_INFORMATION).shape == (len(THREE.labels),)
    assert np.isfinite(part.map.jacobian(totals, NO_INFORMATION)).all()
    assert np.isfinite(part.map.precision(totals, NO_INFORMATION)).all()


def test_what_is_printed():
    low, high = THREE.publish(np.append(np.full(18, 0.12345), np.nan))
    assert low.tolist() == [*[0.1234] * 18, -np.inf]
    assert high[-1] == np.inf


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"variables": ("age",)}, "two or more different"),
        ({"variables": ("age", "age")}, "two or more different"),
        ({"variables": ("age", "wage")}, "no variable 'wage'"),
        ({"variables": ("age", "sex")}, "'sex' is categorical and a number is needed"),
        ({"variables": ("age", "pay"), "decimals": {"mean": 2}}, "decimals for 'mean'"),
        ({"variables": ("age", "pay"), "where": "age > 100"}, "holds for no value"),
    ],
)
def test_entries_that_cannot_be_used(entry, message):
    with pytest.raises(OutputError, match=message) as caught:
        CorrelationsEntry(kind="correlations", **entry).build(CODEBOOK, 1)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("statistics", "values", "message"),
    [
        (("correlation",), [0.2, 1.2, 0.1], r"correlation\(age, rate\) is 1.2; correlations lie in -1 to 1"),
        (("correlation",), [0.9, 0.9, -0.9], "no data have these correlations together"),
        (("mean",), [50, 2e5, 1], r"mean\(pay\) is 200000"),
        (("sd",), [-1, 1, 1], r"sd\(age\) is -1"),
        (("n",), [-3], "n is -3"),
        (("p",), [0.5, 0.5, 1.5], r"p\(pay, rate\) is 1.5; correlations lie in -1 to 1, p in 0 to 1"),
    ],
)
def test_released_values_that_no_data_can_have(statistics, values, message):
    output = Correlations(CODEBOOK, "c", THREE.variables, statistics)
    with pytest.raises(OutputError, match=message):
        output.check(np.array(values, float), np.array(values, float))


def test_values_at_the_edge_pass():
    output = Correlations(CODEBOOK, "c", ("age", "pay"), ALL, 2)
    values = np.array([1.0, 9.0, 3.0, 1.0, 20.0, 0.0, 3.0, 1.0, 1.0, 5.0])
    output.check(values, values)
    output.check(np.full(10, -np.inf), np.full(10, np.inf))


def test_r_prints_the_same_p():
    """cor.test(a, b)$p.value of R 4.2; of a variable that never varies there is none."""
    names = {"a": (0.1, 0.2, 0.5, 0.8, 1.1), "b": (0.2, 0.5, 0.8, 1.1, 2.5), "c": (1.0, 2.0)}
    codebook = Codebook(tuple(Variable(name, "numeric", values) for name, values in names.items()))
    codes = np.array([[0, 1, 4, 4, 3, 2, 4, 1, 0, 3], [0, 0, 1, 3, 3, 0, 1, 2, 0, 0], [1] * 10]).T
    output = Correlations(codebook, "c", ("a", "b", "c"), ("p",), 6)
    for found in (refit_of(output, data := Microdata(codebook, codes.astype(np.uint16))), numbers_of(output, data)):
        np.testing.assert_allclose(found, [0.1632184885, np.nan, np.nan], rtol=1e-9)
    assert output.labels == ["p(a, b)", "p(a, c)", "p(b, c)"]


def test_one_statistic_needs_no_list():
    (output,) = CorrelationsEntry(kind="correlations", variables=("age", "pay"), statistics="covariance").build(
        CODEBOOK, 3
    )
    assert output.name == "correlations 3"
    assert output.labels == ["covariance(age, age)", "covariance(age, pay)", "covariance(pay, pay)"]


def test_no_records_to_compute_it_on():
    data = Microdata(CODEBOOK, np.array([[3, 1200, 0, 0]], dtype=np.uint16))
    with pytest.raises(OutputError, match="no records to compute it on"):
        THREE.refit(data)
