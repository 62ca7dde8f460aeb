"""Numbers of a regression with a coefficient for each kind of record, in closed form, held against statsmodels."""

import numpy as np
import pytest

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs import REGISTRY, release
from outrisk.outputs.regression.saturated import saturated

CODEBOOK = Codebook(
    (
        Variable("area", "integer", (1, 2, 3), missing=True),
        Variable("sex", "integer", (0, 1)),
        Variable("ill", "integer", (0, 1), missing=True),
        Variable("visits", "integer", (0, 1, 2, 5)),
        Variable("ward", "categorical", ("a", "b", "c")),
    )
)
OF_ALL = ["coefficients", "standard_errors", "confidence_limits", "p_values", "n", "log_likelihood"]
RESPONSES = [
    ("logit", "ill"),
    ("probit", "ill"),
    ("poisson", "ill"),
    ("poisson", "visits"),
    ("ols", "ill"),
    ("ols", "visits"),
    ("mnlogit", "ward"),
]


def records(seed):
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, size, 150) for size in (4, 2, 3, 4, 3)]
    return Microdata(CODEBOOK, np.column_stack(codes).astype(np.uint16))


def regression(kind, formula, **more):
    fit = ["r2", "residual_sd"] if kind == "ols" else ["pseudo_r2"]
    return REGISTRY[kind](kind=kind, formula=formula, **{"release": OF_ALL + fit, "decimals": 6, **more}).build(
        CODEBOOK, 1
    )[0]


def counts_of(of, data):
    frame = data.frame()
    kept = frame.query(of.regression.where).index if of.regression.where else frame.index
    codes = data.codes[kept.to_numpy()][:, [CODEBOOK.index(name) for name in of.variables]]
    found = np.zeros([CODEBOOK[name].size for name in of.variables])
    np.add.at(found, tuple(codes.T.astype(int)), 1.0)
    return found


@pytest.mark.parametrize("covariance", ["", "HC0", "robust"])
@pytest.mark.parametrize("design", ["C(area)", "sex", "C(sex) * C(area)", "0 + C(area)", "C(area, contr.sum)"])
@pytest.mark.parametrize(("kind", "response"), RESPONSES)
def test_numbers_are_those_of_statsmodels(kind, response, design, covariance):
    more = {"covariance": covariance} if covariance else {}
    more |= {} if kind == "ols" else {"exponentiate": covariance == "HC0"}
    more |= {} if "sex" in design else {"where": "sex == 1"}
    output, compared = regression(kind, f"{response} ~ {design}", **more), 0
    of = saturated(output)
    for seed in range(3):
        data = records(seed)
        try:
            expected = release(output, data).low
        except OutputError:
            continue
        tables = np.stack([counts_of(of, data)] * 2)
        np.testing.assert_allclose(of.of_counts(tables), [expected] * 2, rtol=2e-6, atol=2e-6)
        compared += 1
    assert compared


@pytest.mark.parametrize(
    ("b", "error", "stands"),
    [(-18.5, 2062.0, True), (-0.7, 0.4, False), (-18.5, 0.4, False), (18.5, 2062.0, False), (-18.5, None, True)],
)
def test_of_an_outcome_that_a_group_has_not_iterations_leave_a_large_coefficient(b, error, stands):
    """As R prints it, with a warning at most."""
    parts = ["coefficients", *(["standard_errors"] if error else [])]
    printed = np.array([0.3, b, *([0.7, error] if error else [])])
    of = saturated(regression("logit", "ill ~ sex", release=parts, decimals=1), printed, printed)
    never = np.array([[[40.0, 54.0, 0.0], [4.0, 0.0, 0.0]], [[5.0, 0.0, 0.0], [4.0, 0.0, 0.0]]])  # sex, ill
    found = of.of_counts(never)
    assert bool(found[0, 1] == b) is stands and not np.isfinite(found[1, 1])


def test_outcomes_that_a_subset_leaves_out_make_it_none():
    assert saturated(regression("mnlogit", "ward ~ sex", where="ward != 'c'")) is None


@pytest.mark.parametrize("values", [(0.1, 0.1), (1.5, 3.0)])
def test_where_a_line_fits_all_its_likelihood_is_arithmetic(values):
    book = Codebook((Variable("x", "integer", (0, 1)), Variable("y", "numeric", tuple(sorted({*values, 7.0})))))
    at = [book["y"].code_of[value] for value in values]
    data = Microdata(book, np.array([(0, at[0])] * 9 + [(1, at[1])] * 6, dtype=np.uint16))
    output = REGISTRY["ols"](
        kind="ols", formula="y ~ x", release=["coefficients", "log_likelihood", "r2"], decimals=3
    ).build(book, 1)[0]
    numbers = release(output, data).low
    table = np.zeros((1, 2, len(book["y"].values)))
    table[0, 0, at[0]], table[0, 1, at[1]] = 9, 6
    np.testing.assert_allclose(saturated(output, numbers, numbers).of_counts(table)[0], numbers, atol=1e-3)


@pytest.mark.parametrize(
    ("kind", "formula", "more"),
    [
        ("logit", "ill ~ C(area) + sex", {}),  # six kinds, four coefficients
        ("logit", "ill ~ visits", {}),
        ("logit", "ill ~ sex", {"weight": "visits"}),
        ("logit", "ill ~ sex", {"cluster": "ward"}),
        ("negbin", "visits ~ sex", {"release": ["coefficients"]}),
    ],
)
def test_other_regressions_are_none(kind, formula, more):
    assert saturated(regression(kind, formula, **more)) is None


def test_what_a_mean_may_be_beside_that_of_the_reference():
    output = regression("logit", "ill ~ sex", keep=["sex"], exponentiate=True, decimals=2, release=["coefficients"])
    of = saturated(output, np.array([-np.inf, 2.0]), np.array([np.inf, 2.0]))
    low, high = of.means(1, {0: np.array([0.2, 0.5])})
    odds = np.array([0.25, 1.0])
    np.testing.assert_allclose(low / (1 - low), 1.995 * odds, rtol=1e-6)
    np.testing.assert_allclose(high / (1 - high), 2.005 * odds, rtol=1e-6)
    assert of.first.tolist() == [0, 1] and of.pairs(["sex", "ill"]).tolist() == [[0, 1], [3, 4]]
    assert of.pairs(["ill", "sex"]).tolist() == [[0, 2], [1, 3]]
