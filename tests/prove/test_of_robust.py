"""What robust standard errors, and confidence limits, add to proofs: true of the data, and more than nothing."""

import numpy as np
import pytest
from test_enumeration import BOOK, enumerated

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, Regression, release
from outrisk.outputs.regression.release import Release
from outrisk.outputs.regression.sandwich import Covariance
from outrisk.prove.certain_claims import certain_values
from outrisk.prove.programme import programme
from outrisk.prove.verified import Verifier

WIDE = Codebook(
    (
        Variable("area", "integer", (1, 2, 3, 4)),
        Variable("age", "integer", tuple(range(20, 60, 3))),
        Variable("w", "integer", (1, 2, 5)),
        Variable("ill", "integer", (0, 1)),
        Variable("pay", "integer", (0, 1, 2, 4)),
        Variable("job", "integer", (1, 2, 3)),
    )
)
MODELS = [
    ("logit", "ill ~ age + C(area)", "ill"),
    ("probit", "ill ~ age", "ill"),
    ("ols", "pay ~ age + C(area)", "pay"),
    ("poisson", "pay ~ age", "pay"),
    ("mnlogit", "job ~ age", "job"),
]
COVARIANCES = [Covariance(), *(Covariance(each) for each in ("HC0", "HC1", "CR1")), Covariance("HC1", "", "normal")]
PARTS = ("coefficients", "standard_errors", "confidence_limits")


def counts_of(of, data):
    """How many records of each column of a programme there are."""
    codes = data.codes.astype(np.int64)
    index = np.flatnonzero((of.codes >= 0).all(axis=0))
    kinds = {tuple(row): at for at, row in enumerate(of.codes[:, index].tolist())}
    found = np.zeros(of.matrix.shape[1])
    for row in codes[:, index].tolist():
        found[kinds[tuple(row)]] += 1
    return found


def released_of(model, covariance, parts, digits, n, seed, weight=""):
    kind, formula, target = model
    rng = np.random.default_rng([seed, n])
    codes = np.stack([rng.integers(0, size, n) for size in WIDE.sizes], axis=1).astype(np.uint16)
    data = Microdata(WIDE, codes)
    output = Regression(WIDE, kind, kind, formula, Release((*parts, "n"), digits), covariance=covariance, weight=weight)
    return data, target, release(output, data)


@pytest.mark.parametrize("model", MODELS, ids=[kind for kind, _, _ in MODELS])
@pytest.mark.parametrize("covariance", COVARIANCES, ids=[each.notes or "model" for each in COVARIANCES])
def test_the_data_satisfy_the_constraints(model, covariance):
    """Of ten data sets, with weights and without, printed coarsely and finely, with errors or with limits alone."""
    added = 0
    for seed in range(10):
        n, digits = (25, 40)[seed % 2], 1 + seed % 5
        parts = PARTS if seed % 3 else ("coefficients", "confidence_limits")
        try:
            data, target, one = released_of(model, covariance, parts, digits, n, seed, "w" if seed > 5 else "")
        except OutputError:
            continue
        known = {name: data.codes[:, WIDE.index(name)].astype(np.int64) for name in ("area", "age", "w")}
        of = programme(WIDE, [one], n, known, [target])
        sums = of.matrix @ counts_of(of, data)
        slack = 1e-9 * (1.0 + np.abs(sums))
        assert (sums >= of.low - slack).all() and (sums <= of.high + slack).all(), seed
        added += one.name not in of.left_out
    assert added >= (4 if model[0] != "probit" else 0)


@pytest.mark.parametrize("estimator", ["HC0", "HC1"])
@pytest.mark.parametrize("model", [MODELS[0], MODELS[2]], ids=["logit", "ols"])
def test_a_robust_standard_error_rules_data_sets_out(model, estimator):
    """Other responses, of the same scores: exchanged between people of the same design, and not of the same."""
    data, target, one = released_of(model, Covariance(estimator), ("coefficients", "standard_errors"), 5, 40, 3)
    known = {name: data.codes[:, WIDE.index(name)].astype(np.int64) for name in ("area", "age")}
    alone = programme(WIDE, [one], 40, known, [target])
    assert not alone.left_out
    least = release(Regression(WIDE, model[0], model[0], model[1], Release(("coefficients", "n"), 5)), data)
    without = programme(WIDE, [least], 40, known, [target])
    assert alone.matrix.shape[0] >= without.matrix.shape[0] + len(one.output.coefficients)
    own = alone.number >= len(one.output.coefficients)
    other = data.codes.copy()
    column = WIDE.index(target)
    other[:, column] = np.random.default_rng(0).permutation(other[:, column])
    sums = alone.matrix @ counts_of(alone, Microdata(WIDE, other))
    assert ((sums < alone.low) | (sums > alone.high))[own].any()


@pytest.mark.parametrize("seed", range(12))
def test_claims_with_robust_errors_are_those_of_an_enumeration(seed):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, size, 7) for size in BOOK.sizes], axis=1).astype(np.uint16)
    data, target = Microdata(BOOK, codes), "ill"
    clustered = seed % 2
    covariance = Covariance("CR1", "area" if seed % 4 == 1 else "pay") if clustered else Covariance("HC1")
    some = Release(("coefficients", "standard_errors", "p_values", "n"), int(rng.integers(1, 5)))
    outputs = [
        Regression(BOOK, "ols", "ols", "ill ~ sex", some, covariance=covariance),
        Frequencies(BOOK, "counts", ("area", target)),
    ]
    try:
        released = [release(output, data) for output in outputs]
    except OutputError:
        pytest.skip("no such fit")
    known = {name: data.codes[:, BOOK.index(name)].astype(np.int64) for name in ("area", "sex")}
    of = programme(BOOK, released, len(data), known, [target])
    claims = certain_values(of, target)
    assert of.kinds.shape == (2, 1)  # clusters are no variable of a proof
    assert bool(of.left_out) == bool(clustered) and not (clustered and claims.sharp)
    told, truth = claims.value >= 0, data.codes[:, BOOK.index(target)]
    assert (claims.value[told] == truth[told]).all()
    if covariance.cluster == "pay":  # no multisets of people with the same keys can be tried
        return
    only, _, number = enumerated(data, target, outputs, released)
    assert number > 0
    assert (claims.value[told] == only[told]).all()
    assert claims.value.tolist() == only.tolist() or clustered


@pytest.mark.parametrize("parts", [("coefficients", "standard_errors"), ("coefficients", "confidence_limits")])
@pytest.mark.parametrize("right", ["year * area", "year + I(year**2)"])
def test_columns_of_sizes_far_apart_refuse_no_data(parts, right):
    """A generalised inverse of their products takes the small ones for nothing: residuals would be in the billions."""
    book = Codebook((Variable("year", "integer", tuple(range(2000, 2021))), *WIDE.variables))
    for seed in range(3):
        rng = np.random.default_rng(seed)
        data = Microdata(book, np.stack([rng.integers(0, size, 60) for size in book.sizes], axis=1).astype(np.uint16))
        one = release(Regression(book, "ols", "ols", f"pay ~ {right}", Release((*parts, "n"), 5)), data)
        known = {name: data.codes[:, book.index(name)].astype(np.int64) for name in ("year", "area")}
        of = programme(book, [one], 60, known, ["pay"])
        sums = of.matrix @ counts_of(of, data)
        slack = 1e-9 * (1.0 + np.abs(sums))
        assert (sums >= of.low - slack).all() and (sums <= of.high + slack).all(), seed


def test_a_table_that_is_left_out_makes_claims_not_sharp():
    data = Microdata(WIDE, np.random.default_rng(1).integers(0, 2, (12, 6)).astype(np.uint16))
    tables = [Frequencies(WIDE, "narrow", ("area", "ill")), Frequencies(WIDE, "wide", ("area", "age", "w", "ill"))]
    known = {"area": data.codes[:, 0].astype(np.int64)}
    released = [release(table, data) for table in tables]
    of = programme(WIDE, released, 12, known, ["ill"], most_columns=25)
    assert of.left_out == {"wide": "its variables make too many kinds of records"}
    assert not certain_values(of, "ill").sharp
    assert certain_values(programme(WIDE, released[:1], 12, known, ["ill"]), "ill").sharp


def test_a_clustered_output_that_is_left_out_has_that_reason_alone():
    data = Microdata(WIDE, np.random.default_rng(1).integers(0, 3, (30, 6)).astype(np.uint16) % [3, 3, 3, 2, 3, 3])
    some, by_job = Release(("coefficients", "standard_errors"), 4), Covariance("CR1", "job")
    released = [
        release(Regression(WIDE, name, "ols", formula, some, covariance=by_job), data)
        for name, formula in (("narrow", "pay ~ area"), ("wide", "pay ~ area + age + w"))
    ]
    known = {"area": data.codes[:, 0].astype(np.int64)}
    of = programme(WIDE, released, 30, known, ["pay"], most_columns=100)
    assert of.left_out == {
        "narrow": "coefficients are used, standard errors by clusters are not",
        "wide": "its variables make too many kinds of records",
    }


def test_beyond_forty_people_robust_errors_are_named_as_left_out():
    data, target, one = released_of(MODELS[2], Covariance("HC1"), PARTS, 4, 41, 1)
    known = {name: data.codes[:, WIDE.index(name)].astype(np.int64) for name in ("area", "age")}
    of = programme(WIDE, [one], 41, known, [target])
    assert of.left_out == {"ols": "coefficients are used, robust standard errors are not"}


def test_an_output_of_a_variable_that_the_programme_leaves_open_refuses_nothing():
    """Computed again with the variable's first value it would refuse the data themselves."""
    rng = np.random.default_rng(5)
    codes = np.stack([rng.integers(0, size, 12) for size in WIDE.sizes], axis=1).astype(np.uint16)
    data = Microdata(WIDE, codes)
    wide = release(Regression(WIDE, "ols", "ols", "pay ~ age + w", Release(("coefficients",), 4)), data)
    narrow = release(Frequencies(WIDE, "counts", ("area", "ill")), data)
    known = {"area": data.codes[:, 0].astype(np.int64)}
    of = programme(WIDE, [narrow, wide], 12, known, ["ill"], most_columns=100)
    assert of.left_out == {"ols": "its variables make too many kinds of records"}
    verifier = Verifier(of)
    assert not verifier.active and not verifier.exact
    truth, claims = data.codes[:, WIDE.index("ill")], certain_values(of, "ill")
    assert not claims.sharp
    told = claims.value >= 0
    assert (claims.value[told] == truth[told]).all()
