"""Values of who lacks a value of another variable: means of all beside those of complete cases, held against all data
with the same print.
"""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from outrisk.appetite import Appetite
from outrisk.assess.look import look
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import REGISTRY

PAYS, LEVELS, SHARE = 7, 2, 0.1
BOOK = Codebook(
    (
        Variable("educ", "integer", tuple(range(LEVELS)), missing=True),
        Variable("pay", "integer", tuple(range(PAYS)), missing=True),
    )
)
BESIDE = ("subset", "correlations", "regression", "counted regression")


def built(beside, spread, decimals):
    """Entries of pay of all, and of complete cases, built."""
    statistics = ["count", "mean", *["sd"] * spread]
    whole = {"kind": "magnitudes", "value": "pay", "statistics": statistics, "decimals": decimals}
    of_complete = whole | {"where": "educ.notna()"}
    model = {"kind": "ols", "formula": "pay ~ C(educ)", "release": ["coefficients", "n"], "decimals": decimals}
    correlations = {"kind": "correlations", "variables": ["educ", "pay"], "decimals": decimals}
    entries = {
        "subset": [of_complete],
        "correlations": [correlations | {"statistics": ["mean", *["sd"] * spread, "n"]}],
        "regression": [model],
        "counted regression": [model, whole | {"by": ["educ"], "statistics": ["count"]}],
    }[beside]
    entries = [whole, *entries]
    return [one for at, each in enumerate(entries, 1) for one in REGISTRY[each["kind"]](**each).build(BOOK, at)]


def close(number, true, decimals):
    return np.abs(number - np.round(true, decimals)) <= 0.5 * 10.0**-decimals * (1 + 1e-6) + 1e-12


def summaries(values, spread):
    """Means, and standard deviations, of sets of values (b, n)."""
    found = [values.mean(axis=1)]
    return [*found, values.std(axis=1, ddof=1)] if spread else found


def all_complete(beside, n, codes):
    """All sets of complete cases (b, n, 2), with levels as they are where these are counted, or do not count."""
    pays = np.array(list(combinations_with_replacement(range(PAYS), n)))
    if beside in ("subset", "correlations"):
        return np.stack([np.broadcast_to(codes[:, 0], pays.shape), pays], axis=2)
    return np.array(list(combinations_with_replacement(list(product(range(LEVELS), range(PAYS))), n)))


def fitting(beside, spread, decimals, codes, rest):
    """All values (b, n) of who lacks the other variable, in data with the same print."""
    sets = all_complete(beside, len(codes), codes)
    fits = np.ones(len(sets), bool)
    if beside in ("subset", "correlations"):
        own = summaries(codes[None, :, 1].astype(float), spread)
        for number, true in zip(summaries(sets[:, :, 1].astype(float), spread), own, strict=True):
            fits &= close(number, true[0], decimals)
    else:
        means = []
        for of in (sets, codes[None]):
            first, second = of[:, :, 0] == 0, of[:, :, 0] == 1
            with np.errstate(all="ignore"):
                both = [(of[:, :, 1] * inside).sum(axis=1) / inside.sum(axis=1) for inside in (first, second)]
            means.append([both[0], both[1] - both[0]])
        for number, true in zip(*means, strict=True):
            fits &= close(number, true[0], decimals)
        if beside == "counted regression":
            fits &= (sets[:, :, 0] == 0).sum(axis=1) == (codes[:, 0] == 0).sum()
    kept = sets[fits][:, :, 1].astype(float)
    sums = np.unique(np.stack([kept.sum(axis=1), (kept**2).sum(axis=1)], axis=1), axis=0)
    others = np.array(list(combinations_with_replacement(range(PAYS), len(rest))), dtype=float)
    whole = np.r_[codes[:, 1], rest].astype(float)
    n, own = len(whole), summaries(whole[None], spread)
    total = sums[:, None, 0] + others.sum(axis=1)
    squares = sums[:, None, 1] + (others**2).sum(axis=1)
    printed = [total / n, np.sqrt(np.maximum(squares - total**2 / n, 0.0) / (n - 1))]
    may_be = np.ones(total.shape, bool)
    for number, true in zip(printed, own, strict=False):
        may_be &= close(number, true[0], decimals)
    return others[may_be.any(axis=0)]


def check(seed):
    """How many claims of who is no complete case are made; AssertionError for one that other data break."""
    rng = np.random.default_rng(seed)
    beside, spread, decimals = BESIDE[rng.integers(4)], bool(rng.integers(2)), int(rng.integers(0, 4))
    levels = np.r_[0, 1, rng.integers(0, LEVELS, int(rng.integers(1, 3)))]
    codes = np.stack([levels, rng.integers(0, PAYS, len(levels))], axis=1)
    rest = np.sort(rng.integers(0, PAYS, int(rng.integers(1, 3))))
    rows = [*codes.tolist(), *((LEVELS, pay) for pay in rest), *[(LEVELS, PAYS)] * int(rng.integers(2))]
    data = Microdata(BOOK, np.array(rows, dtype=np.uint16))
    found = look(built(beside, spread, decimals), data, Appetite(), "pay", inside=True)
    found = [each for each in found if each.certain and each.rule == "difference of outputs" and each.about == "pay"]
    left = fitting(beside, spread, decimals, codes, rest) if found else None
    for each in found:
        told = each.who - len(codes)
        assert (told >= 0).all() and (told < len(rest)).all(), "of who is no complete case, and has a pay"
        share = SHARE if "within the share" in each.what else 0.0
        for at in told:
            some = left
            if "to who has another" in each.what:
                some = left[(left == rest[1 - at]).any(axis=1)]
                some = np.sort(np.array([np.delete(one, np.argmax(one == rest[1 - at])) for one in some]), axis=1)
                assert (np.abs(some - rest[at]) <= share * rest[at] + 1e-9).all(), each.what
                continue
            assert (np.abs(some[:, at] - rest[at]) <= share * rest[at] + 1e-9).all(), each.what
    return len(found)


def test_what_is_called_certain_is_so_in_all_data_with_the_same_print():
    assert sum(check(seed) > 0 for seed in range(60)) > 15


@pytest.mark.parametrize("beside", ["subset", "correlations", "counted regression"])
def test_the_pay_of_one_without_education_is_told(beside):
    rng = np.random.default_rng(1)
    codes = [*((at % 2, pay) for at, pay in enumerate(rng.integers(0, PAYS, 60))), (LEVELS, 5)]
    data = Microdata(BOOK, np.array(codes, dtype=np.uint16))
    found = [each for each in look(built(beside, False, 3), data, Appetite(), "pay") if each.about == "pay"]
    assert [(each.certain, each.who.tolist()) for each in found] == [(True, [60])]
    assert "educ Missing" in found[0].what
    assert not [each for each in look(built(beside, False, 0), data, Appetite(), "pay") if each.about == "pay"]
