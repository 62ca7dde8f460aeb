"""Saturated models, models that leave no rest, and means beside correlations: what is certain, by brute force."""

from itertools import product

import numpy as np
import pytest

from outrisk.appetite import Appetite
from outrisk.assess.look import look
from outrisk.assess.look.of_correlations import of_correlations
from outrisk.assess.look.told_by_models import told_by_models
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import Correlations, Magnitudes, Regression, Release

CODEBOOK = Codebook(
    (
        Variable("area", "categorical", ("n", "s", "w")),
        Variable("sex", "integer", (0, 1)),
        Variable("age", "integer", tuple(range(20))),
        Variable("ill", "integer", (0, 1)),
        Variable("score", "integer", (0, 1, 2)),
        Variable("income", "numeric", tuple(float(each) for each in range(0, 2001, 50))),
    )
)
APPETITE = Appetite()
RULES = ("same answer", "dominance", "leverage")


def people_of(n=600, seed=1):
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, size, n) for size in CODEBOOK.sizes], axis=1).astype(np.uint16)


def found_in(output, codes):
    found = look([output], Microdata(CODEBOOK, codes), Appetite(), "ill")
    return [each for each in found if each.rule in RULES]


def ols(formula, parts=("coefficients",), decimals=4, kind="ols", **options):
    release = Release(parts=parts, decimals=decimals)
    return Regression(CODEBOOK, "m", kind, formula, release, **options)


def test_a_linear_probability_model_of_cells_is_the_table_of_means():
    codes = people_of()
    cell = (codes[:, 0] == 1) & (codes[:, 1] == 1)
    codes[cell, 3] = 1
    (table,) = found_in(Magnitudes(CODEBOOK, "m", "ill", ("area", "sex")), codes)
    (found,) = found_in(ols("ill ~ C(area) * C(sex)"), codes)
    assert (found.certain, found.about, found.people) == (True, "ill", cell.sum())
    assert (found.rule, found.people, found.places) == (table.rule, table.people, table.places)
    assert found_in(ols("ill ~ C(area) + C(sex)"), codes) == []
    assert found_in(ols("ill ~ C(area) * C(sex)", keep=("area",)), codes) == []


def test_a_fitted_1_of_too_many_for_its_digits_is_not_certain():
    codes = np.concatenate([people_of(), np.tile(np.uint16([2, 0, 0, 1, 0, 0]), (3_000, 1))])
    codes[codes[:, 0] == 2, 3] = 1
    (fine,), (coarse,) = (found_in(ols("ill ~ C(area)", decimals=digits), codes) for digits in (5, 3))
    assert (fine.certain, coarse.certain) == (True, False)
    assert "may be told" in coarse.what


def test_a_model_that_leaves_no_rest():
    codes = people_of()
    codes[:, 5] = np.array([5, 12, 20])[codes[:, 0]] + codes[:, 2]
    both = ols("income ~ C(area) + age", ("coefficients", "r2", "residual_sd"))
    (found,) = found_in(both, codes)
    assert (found.certain, found.people, found.about) == (True, 600, "income")
    assert "R2 is printed as 1" in found.what and "standard deviation is printed as 0" in found.what
    (found,) = found_in(ols("income ~ C(area) + age", ("coefficients", "r2"), 2), codes)
    assert not found.certain, "an R2 of 0.996 is printed so"
    assert found_in(ols("income ~ C(area) + age"), codes) == []


def test_a_poisson_regression_of_cells_is_the_table_of_means():
    codes = people_of()
    codes[codes[:, 0] == 2, 4] = 2
    (found,) = found_in(ols("score ~ C(area)", kind="poisson"), codes)
    assert (found.certain, found.about, found.people) == (True, "score", (codes[:, 0] == 2).sum())


def test_a_subset_of_which_all_have_one_value_beside_a_correlation():
    codes = people_of()
    codes[codes[:, 0] == 2, 3] = 1
    output = Correlations(CODEBOOK, "r", ("ill", "age"), ("mean", "sd", "n"), where="area == 'w'")
    (found,) = found_in(output, codes)
    assert (found.certain, found.about, found.people) == (True, "ill", (codes[:, 0] == 2).sum())
    (found,) = found_in(Correlations(CODEBOOK, "r", ("ill", "age"), ("sd", "n"), where="area == 'w'"), codes)
    assert not found.certain, "one value, and nobody says which"
    assert found_in(Correlations(CODEBOOK, "r", ("ill", "age"), ("mean",), where="ill == 1"), codes) == []


def test_two_people_of_a_correlation_have_the_value_of_each_other():
    codes = people_of(2)
    codes[:, 5] = (10, 40)
    found = found_in(Correlations(CODEBOOK, "r", ("income", "age"), ("mean", "n")), codes)
    assert ("dominance", True, 1, "income") in [(e.rule, e.certain, e.people, e.about) for e in found]


def consistent(output, codes, column):
    """All responses of the same records, (m, n), with which the output prints what it prints."""
    every = np.array(list(product(range(CODEBOOK.sizes[column]), repeat=len(codes))))
    if isinstance(output, Correlations):
        at = [output.numbers.index((each, (0,))) for each in output.statistics]
        parts = {"mean": every.mean(axis=1), "sd": every.std(axis=1, ddof=1)}
        numbers = np.column_stack([parts[each] for each in output.statistics])
        digits = output.decimals[at]
    else:
        design = output.sample(Microdata(CODEBOOK, codes))[0].design
        b = every @ np.linalg.pinv(design).T
        rest = ((every - b @ design.T) ** 2).sum(axis=1)
        with np.errstate(all="ignore"):
            r2 = 1.0 - rest / ((every - every.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
            s = np.sqrt(rest / (len(codes) - design.shape[1]))
        more = {"r2": r2, "residual_sd": s}
        numbers = np.column_stack([b, *[more[each] for each in output.release.parts[1:]]])
        digits = output.decimals
    own = numbers[(every == codes[:, column]).all(axis=1)][0]
    close = np.abs(numbers - np.round(own, 0 if digits.max() == 0 else int(digits.max())))
    return every[(close <= 0.5 * 10.0**-digits + 1e-9).all(axis=1)]


OUTPUTS = {
    "one category": lambda digits: (ols("score ~ C(area)", decimals=digits), 4),
    "cells": lambda digits: (ols("ill ~ C(area) * sex", decimals=digits), 3),
    "residual sd": lambda digits: (ols("score ~ sex + age", ("coefficients", "residual_sd"), digits), 4),
    "R2": lambda digits: (ols("score ~ sex + age", ("coefficients", "r2"), digits), 4),
    "correlation": lambda digits: (Correlations(CODEBOOK, "r", ("score", "age"), ("mean", "sd"), digits), 4),
    "mean": lambda digits: (Correlations(CODEBOOK, "r", ("score", "age"), ("mean",), digits), 4),
}


@pytest.mark.parametrize("digits", [0, 1, 2])
@pytest.mark.parametrize("what", OUTPUTS)
def test_what_is_certain_is_so_in_all_data_with_these_numbers(what, digits):
    rng, certain = np.random.default_rng(digits), 0
    output, column = OUTPUTS[what](digits)
    for seed in range(40):
        codes = people_of(int(rng.integers(4, 8)), seed)
        codes[:, 1:3] = codes[:, 1:3] % 2
        codes[:, column] = rng.choice(
            CODEBOOK.sizes[column], len(codes), p=rng.dirichlet([0.2] * CODEBOOK.sizes[column])
        )
        if what in ("residual sd", "R2") and rng.random() < 0.7:
            codes[:, column] = codes[:, 1] * (1 + codes[:, 2])
        if len(np.unique(codes[:, column])) < 2 and what in ("residual sd", "R2"):
            continue
        data = Microdata(CODEBOOK, codes)
        for each in [*told_by_models(output, data, APPETITE, ""), *of_correlations(output, data, APPETITE, "")]:
            if each.rule == "same answer" and each.certain and each.about == CODEBOOK.names[column]:
                certain += 1
                same = consistent(output, codes, column)
                assert (same[:, each.who] == codes[each.who, column]).all()
    assert certain > 3 or digits == 0 or (what == "R2" and digits == 1)
