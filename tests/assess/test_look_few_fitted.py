"""Few people with a column of their own in a regression: their fitted values sum to what they have."""

import numpy as np
import pytest

from outrisk.appetite import Appetite
from outrisk.assess.look import look
from outrisk.assess.look.told_by_models import told_by_models
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import Regression, Release

CODEBOOK = Codebook(
    (
        Variable("eth", "categorical", ("a", "b", "c")),
        Variable("age", "integer", tuple(range(18, 91))),
        Variable("visits", "integer", tuple(range(31))),
        Variable("income", "numeric", tuple(float(each) for each in range(0, 10_001, 50))),
    )
)


def people_of(few, n=200, seed=1):
    """Records of which so many are of the third group."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, size, n) for size in CODEBOOK.sizes], axis=1)
    codes[:, 0] = np.where(np.arange(n) < few, 2, rng.integers(0, 2, n))
    codes[:, 2] = rng.poisson(3, n)
    return codes.astype(np.uint16)


def found_in(kind, formula, codes, decimals=4, **options):
    release = Release(decimals=decimals, exponentiate=options.pop("exponentiate", False))
    output = Regression(CODEBOOK, "m", kind, formula, release, **options)
    found = look([output], Microdata(CODEBOOK, codes), Appetite(), "visits")
    return [(each.rule, each.certain, each.people, each.about) for each in found if each.rule in RULES]


RULES = ("same answer", "dominance")


@pytest.mark.parametrize("kind", ["poisson", "negbin"])
def test_one_person_with_a_level_of_counts(kind):
    codes = people_of(1)
    codes[0, 2] = 11
    codes[1:, 2] = np.random.default_rng(2).negative_binomial(2, 0.4, len(codes) - 1)
    codes[1:, 2] = np.minimum(codes[1:, 2], 30)
    told = [("same answer", True, 1, "visits")]
    assert found_in(kind, "visits ~ age + C(eth)", codes) == told
    assert found_in(kind, "visits ~ age + C(eth)", codes, exponentiate=True) == told
    assert found_in(kind, "visits ~ age + C(eth)", codes, decimals=1) == [("same answer", False, 1, "")]
    assert found_in(kind, "visits ~ age + C(eth)", codes, keep=("eth",)) == []
    codes[1, 0] = 2
    assert ("same answer", True, 1, "visits") not in found_in(kind, "visits ~ age + C(eth)", codes)


def test_two_people_have_each_other_s_value():
    codes = people_of(2)
    codes[:2, 3] = (19, 60)
    formula = "income ~ age + C(eth)"
    assert found_in("ols", formula, codes) == [("dominance", True, 1, "income")]
    codes[:2, 3] = (1, 6)
    assert found_in("ols", formula, codes, decimals=0) == [("dominance", False, 1, "")]
    assert found_in("ols", formula, codes, keep=("eth", "age")) == []
    assert found_in("ols", "income ~ age", codes) == []
    codes = people_of(12)
    codes[:12, 3] = [190, *[1] * 11]
    assert found_in("ols", formula, codes) == [], "of so many nobody knows all other values"


def printed(output, data):
    numbers = output.publish(output.refit(data))[0]
    sample, frame = output.sample(data)
    b, k = output.release.coefficients(numbers, len(output.coefficients)), sample.design.shape[1]
    return sample.design @ b[:k], np.abs(sample.design) @ np.full(k, 0.5 * 10.0 ** -output.decimals[0]), sample, frame


@pytest.mark.parametrize("kind", ["ols", "poisson", "negbin"])
@pytest.mark.parametrize("digits", [1, 2, 4])
def test_what_is_certain_follows_from_the_printed_coefficients(kind, digits):
    """From these, everybody's age and group, and the value of the second largest of a group, and nothing else."""
    rng, certain = np.random.default_rng(digits), 0
    y = "income" if kind == "ols" else "visits"
    output = Regression(CODEBOOK, "m", kind, f"{y} ~ age + C(eth)", Release(decimals=digits))
    for seed in range(25):
        codes = people_of(int(rng.integers(1, 5)), 40, seed)
        few = codes[:, 0] == 2
        codes[few, 2] = rng.choice([0, 1, 2, 20, 30], few.sum())
        codes[few, 3] = rng.choice([0, 0, 0, 1, 100, 200], few.sum())
        data = Microdata(CODEBOOK, codes)
        for each in told_by_models(output, data, Appetite(), y):
            if not (each.certain and each.rule in RULES) or "Fitted values of the group" not in each.what:
                continue
            certain += 1
            eta, half, sample, _ = printed(output, data)
            assert set(each.who) <= set(np.flatnonzero(few))
            link = np.exp if kind != "ols" else np.asarray
            low, high = (float(link(eta[few] + sign * half[few]).sum()) for sign in (-1, 1))
            own = np.sort(sample.response[few])[::-1]
            support = np.arange(31) if kind != "ols" else np.arange(0, 10_001, 50)
            if each.rule == "same answer" and few.sum() == 1:
                assert support[(low <= support) & (support <= high)].tolist() == own.tolist()
            elif each.rule == "same answer":
                step, most = support[1], support[-1]
                sums = np.arange(0, most * few.sum() + step, step)
                assert sums[(low <= sums) & (sums <= high)].tolist() == [own.sum()]
                assert own.sum() in (0, most * few.sum())
            else:
                assert abs(float(link(eta[few]).sum()) - own[1] - own[0]) <= 0.1 * own[0]
    assert certain > 1 or digits < 4
