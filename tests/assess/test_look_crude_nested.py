"""Crude odds ratios of nested subsets, of an outcome that may be missing, against all tables with the same print."""

from itertools import product

import numpy as np
import pytest
from scipy.special import logit

from outrisk.appetite import Appetite
from outrisk.assess.look import look
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import REGISTRY

BOOK = Codebook(
    (
        Variable("area", "categorical", ("a", "b")),
        Variable("sex", "categorical", ("f", "m")),
        Variable("ill", "integer", (0, 1), missing=True),
    )
)


def built(decimals, counted):
    """A crude logit of all and of area a, with its n; and, if counted, records by sex, of each."""
    model = {"kind": "logit", "formula": "ill ~ C(sex)", "release": ["coefficients", "n"], "decimals": decimals}
    entries = [model, *[{"kind": "frequencies", "by": ["sex"]}] * counted]
    entries = [each | more for each in entries for more in ({}, {"where": "area == 'a'"})]
    return [one for at, each in enumerate(entries, 1) for one in REGISTRY[each["kind"]](**each).build(BOOK, at)]


def tables_of(n):
    """All tables (b, 2, 2) of n people by sex and ill."""
    found = [(a, b, c, n - a - b - c) for a, b, c in product(range(n + 1), repeat=3) if a + b + c <= n]
    return np.array(found).reshape(-1, 2, 2)


def prints_as(tables, own, decimals):
    """Which tables (b, 2, 2) have the coefficients of another to the digits, which are finite."""
    with np.errstate(all="ignore"):
        of = [logit(each[:, :, 1] / each.sum(axis=2)) for each in (tables, own[None])]
        numbers, true = (np.stack([each[:, 0], each[:, 1] - each[:, 0]], axis=1) for each in of)
    return (np.abs(numbers - np.round(true, decimals)) <= 0.5 * 10.0**-decimals + 1e-6).all(axis=1)


def check(seed):
    """How many people are told for certain; AssertionError for one that another table with the same print breaks."""
    rng = np.random.default_rng(seed)
    own, left = rng.integers(1, 6, (2, 2)), np.zeros((2, 3), int)
    for _ in range(int(rng.integers(1, 4))):
        left[rng.integers(2), rng.choice(3, p=(0.45, 0.45, 0.1))] += 1
    gone = rng.integers(0, 3, 2) * int(rng.integers(2))  # of area a, by sex
    cells = [((0, sex, ill), own[sex, ill]) for sex in range(2) for ill in range(2)]
    cells += [((0, sex, 2), gone[sex]) for sex in range(2)]
    cells += [((1, sex, ill), left[sex, ill]) for sex in range(2) for ill in range(3)]
    codes = np.array([row for row, number in cells for _ in range(number)], dtype=np.uint16)
    decimals, counted = int(rng.integers(1, 5)), bool(rng.integers(2))
    found = look(built(decimals, counted), Microdata(BOOK, codes), Appetite(), "ill")
    who = {int(row) for each in found if each.certain and each.about == "ill" for row in each.who}
    if not who:
        return 0
    both = own + left[:, :2]
    first = tables_of(int(own.sum()))
    first = first[prints_as(first, own, decimals)]
    more = tables_of(int(left[:, :2].sum()))
    kept = [more[prints_as(one + more, both, decimals)] for one in first]
    every = np.unique(np.concatenate(kept), axis=0)
    every = every[(every.sum(axis=2) <= left.sum(axis=1)).all(axis=1)]  # of each sex no more than there are
    for row in who:
        area, sex, ill = codes[row].tolist()
        assert area == 1 and ill < 2, "who is left, and whose outcome is known"
        assert left[sex, 2] == 0 and (every[:, sex, 1 - ill] == 0).all(), (seed, row)
    return len(who)


def test_who_is_told_has_the_outcome_in_all_tables_with_the_same_print():
    assert sum(check(seed) > 0 for seed in range(40)) > 5


@pytest.mark.parametrize("counted", [False, True])
def test_one_person_more_is_told_though_outcomes_may_be_missing(counted):
    cells = [((0, 0, 0), 31), ((0, 0, 1), 22), ((0, 1, 0), 17), ((0, 1, 1), 29), ((1, 1, 1), 1)]
    codes = np.array([row for row, number in cells for _ in range(number)], dtype=np.uint16)
    found = look(built(3, counted), Microdata(BOOK, codes), Appetite(), "ill")
    assert [each.who.tolist() for each in found if each.certain and each.about == "ill"] == [[len(codes) - 1]]
    found = look(built(1, False), Microdata(BOOK, codes), Appetite(), "ill")
    assert not [each for each in found if each.certain and each.about == "ill"]
