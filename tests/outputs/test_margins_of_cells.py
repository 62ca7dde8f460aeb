"""Outputs that print what margins are: the same numbers, computed each in its own way."""

import numpy as np
import pytest

from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import Association, Frequencies, Magnitudes, Margins, Proportions, Regression, Release
from outrisk.outputs.regression.margins_of_cells import same_as
from outrisk.outputs.regression.sandwich import Covariance

CODEBOOK = Codebook(
    (
        Variable("arm", "categorical", ("a", "b", "c")),
        Variable("sex", "categorical", ("f", "m"), missing=True),
        Variable("age", "integer", (20, 30, 40), missing=True),
        Variable("ill", "integer", (0, 1), missing=True),
        Variable("state", "categorical", ("well", "ill")),
        Variable("pay", "integer", tuple(range(0, 60))),
        Variable("w", "integer", (1, 2, 5), missing=True),
        Variable("place", "integer", tuple(range(9)), missing=True),
    )
)
PARTS = ("coefficients", "standard_errors", "confidence_limits", "p_values", "n")


def records(seed=0, n=160):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, each.size, n) for each in CODEBOOK.variables], axis=1)
    return Microdata(CODEBOOK, codes.astype(np.uint16))


def margins(model, formula, parts=PARTS, **options):
    return Margins(CODEBOOK, "m", model, formula, release=Release(parts, 9), **options)


def by_label(output, data):
    """Its numbers, which no other output has the labels of."""
    numbers = dict(zip(output.labels, output.refit(data), strict=True))
    return {label: value for label, value in numbers.items() if not label.startswith("coefficient")}


def all_in(some, numbers):
    """Whether some numbers are all among others, without those undefined."""
    some = np.asarray(some)[np.isfinite(some)]
    return len(some) and all(np.isclose(list(numbers), each, rtol=1e-6, atol=1e-8).any() for each in some)


def printed(alike, data):
    percent = isinstance(alike, Frequencies)
    return alike.refit(data)[getattr(alike, "printed", slice(None))][percent :: 1 + percent] / (
        100.0 if percent else 1.0
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("model", "formula", "options", "kinds"),
    [
        ("logit", "ill ~ arm", {"predictions": ("arm",)}, [Proportions]),
        ("logit", "ill ~ arm", {"predictions": ("arm",), "at_means": True}, [Proportions]),
        ("probit", "state ~ arm * sex", {"predictions": ("arm:sex", "")}, [Proportions] * 2),
        ("probit", "state ~ arm + sex", {"predictions": ("arm", "")}, []),
        ("logit", "ill ~ arm + age", {"predictions": ("", "arm")}, [Proportions]),
        ("logit", "ill ~ arm + age - 1", {"predictions": ("",)}, [Proportions]),
        ("logit", "ill ~ age - 1", {"predictions": ("",)}, []),
        ("logit", "ill ~ arm + age", {"predictions": ("",), "at_means": True}, []),
        ("logit", "ill ~ arm", {"predictions": ("arm",), "weight": "w"}, [Magnitudes]),
        ("logit", "state ~ arm", {"predictions": ("arm",), "weight": "w"}, [Frequencies]),
        ("logit", "ill ~ sex", {"predictions": ("sex",), "covariance": Covariance("CR1", "place")}, [Proportions]),
        ("logit", "ill ~ arm", {"predictions": ("arm",), "covariance": Covariance("HC0")}, [Proportions]),
        ("ols", "ill ~ arm", {"predictions": ("arm",), "covariance": Covariance("HC0")}, [Proportions, Regression]),
        ("ols", "ill ~ arm + age", {"predictions": ("",)}, [Proportions]),
        ("ols", "pay ~ arm + sex", {"predictions": ("",), "at_means": True}, [Magnitudes]),
        ("ols", "pay ~ arm * sex", {"predictions": ("arm:sex", "")}, [Magnitudes, Magnitudes, Regression]),
        ("ols", "np.sqrt(pay) ~ arm", {"predictions": ("arm",)}, [Regression]),
        ("ols", "pay ~ age + arm * sex", {"dydx": ("age", "arm")}, [Regression]),
        ("ols", "pay ~ age + arm", {"dydx": ("age", "arm"), "covariance": Covariance("robust", "place")}, [Regression]),
        ("ols", "pay ~ np.log(age) + I(age ** 2)", {"dydx": ("age",)}, []),
        ("ols", "pay ~ age + arm", {"dydx": ("age", "arm"), "factors": "columns"}, [Regression]),
        ("ols", "pay ~ arm", {"predictions": ("arm", ""), "weight": "w"}, [Magnitudes] * 2),
        ("poisson", "pay ~ arm", {"predictions": ("arm", "")}, [Magnitudes] * 2),
        ("poisson", "pay ~ arm", {"predictions": ("", "arm"), "offset": "np.log(age)"}, [Magnitudes]),
        ("negbin", "pay ~ sex", {"predictions": ("sex", "")}, [Magnitudes] * 2),
        ("negbin", "pay ~ sex + age", {"predictions": ("",)}, []),
        ("logit", "ill ~ arm", {"dydx": ("arm",)}, [Association]),
        ("probit", "ill ~ sex", {"dydx": ("sex",), "factors": "columns"}, [Association]),
        ("logit", "ill ~ arm", {"dydx": ("arm",), "factors": "columns"}, []),
        ("ols", "ill ~ sex", {"dydx": ("sex",), "covariance": Covariance("HC0")}, [Regression]),
        ("logit", "ill ~ arm + sex", {"dydx": ("arm",)}, []),
    ],
)  # fmt: skip
def test_they_print_the_same_numbers(model, formula, options, kinds, seed):
    """None of theirs is missing among the margins', and of regressions no margin of its columns is missing either."""
    data = records(seed)
    for parts in (PARTS, ("coefficients", "confidence_limits"), ("coefficients", "n")):
        some = {**options, "covariance": options.get("covariance", Covariance()) if len(parts) > 2 else Covariance()}
        output = margins(model, formula, parts, **some)
        found = by_label(output, data)
        alike = list(same_as(output))
        assert [type(each) for each in alike] == kinds
        for each in alike:
            assert each.name == "m"
            assert all_in(printed(each, data), found.values()), (parts, each.labels)


def test_standard_errors_that_are_others_are_not_those_of_proportions():
    for estimator in ("HC1", "robust"):
        covariance = Covariance(estimator)
        for parts, shown in (PARTS[:2], ("proportion",)), (PARTS[:2] + PARTS[-1:], ("proportion", "standard error")):
            (found,) = same_as(margins("logit", "ill ~ arm", parts, predictions=("arm",), covariance=covariance))
            assert found.statistics == shown
