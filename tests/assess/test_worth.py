"""The risk of weighted sums of releases, person by person: against the crossed statistic, and written out in NumPy."""

import numpy as np
import pytest

from outrisk.assess.contributions.combinations import Combination
from outrisk.assess.contributions.worth import Place, estimate, run_variance, worth_of
from outrisk.codebook import codebook_from_dict
from outrisk.microdata import Microdata
from outrisk.risk.by_person.crossed import Pairing, contrasts
from outrisk.risk.by_person.record_scores import MEASURES

CODEBOOK = codebook_from_dict(
    {"variables": {name: {"kind": "integer", "min": 0, "max": 2} for name in ("a", "b", "c", "t")}}
)
SETS = (("a",), ("a", "b"), ("a", "b", "c"))
PLACES = [
    Place("attribution", "mean", SETS),
    Place("existence", "one", SETS[2:]),
    Place("attribution", "one", SETS[2:]),
]
GAP = Combination("gap", None, {(0,): 1.0, (1,): -1.0})


def drawn(n, seed):
    return Microdata(CODEBOOK, np.random.default_rng(seed).integers(0, 3, (n, 4)).astype(np.uint8))


def pairing(seed, runs=2, crossed=True):
    """Synthetic data of which half are people of the release: there is something to be found."""

    def near(data, at):
        return Microdata(CODEBOOK, np.vstack([data.codes[::2], drawn(30, seed + at).codes]))

    original, holdout = drawn(80, 1), drawn(70, 2)
    theirs = [near(holdout, 100 + at) for at in range(runs)] if crossed else ()
    return Pairing(original, holdout, [near(original, at) for at in range(runs)], theirs)


def worth(seed, met=True, **more):
    return worth_of([pairing(seed, **more)], PLACES, "t", 1.0, met)


@pytest.mark.parametrize("crossed", [True, False])
def test_the_worth_of_a_release_is_its_crossed_marginal_risk(crossed):
    pair, own = pairing(10, crossed=crossed), worth(10, crossed=crossed)
    found = estimate(Combination("together", None, {(0,): 1.0}), {(0,): own}, np.zeros(3))
    whole, last = contrasts(pair, SETS, "t", permutations=0), contrasts(pair, SETS[2:], "t", permutations=0)
    attribution, existence = (MEASURES.index(name) for name in ("attribution", "existence"))
    expected = [whole.difference[attribution, -1], last.difference[existence, -1], last.difference[attribution, -1]]
    assert abs(expected[2]) > 0.1
    np.testing.assert_allclose(found.value, expected, atol=1e-6)
    np.testing.assert_allclose(own.by_run.mean(axis=0), expected, atol=1e-6)


def test_releases_are_compared_person_by_person():
    worths = {(0,): worth(10), (1,): worth(50)}
    between = run_variance(list(worths.values()))
    squares = [((each.by_run - each.by_run.mean(axis=0)) ** 2).sum(axis=0) for each in worths.values()]
    np.testing.assert_allclose(between, (squares[0] + squares[1]) / 2)
    found = estimate(GAP, worths, between)
    sides = [worths[0,].people[0][side] - worths[1,].people[0][side] for side in (0, 1)]
    value = sides[0].mean(axis=0) - sides[1].mean(axis=0)
    np.testing.assert_allclose(found.value, value, atol=1e-6)
    sampling = sum(side.astype(float).var(axis=0, ddof=1) / len(side) for side in sides)
    wider = 1 + 0.4 * np.clip((np.abs(value) / np.sqrt(sampling) - 2) / 6, 0, 1)
    expected = np.sqrt(sampling * wider**2 + between * (1 / 2 + 1 / 2))
    np.testing.assert_allclose(found.standard_error, expected, rtol=1e-4)
    np.testing.assert_allclose(found.high - found.value, 1.959963984540054 * expected, rtol=1e-4)


def test_the_same_release_twice_adds_nothing_at_all():
    found = estimate(GAP, {(0,): worth(10), (1,): worth(10)}, np.zeros(3))
    assert not found.value.any() and not found.standard_error.any()


def test_what_was_not_met_is_said():
    worths = {(0,): worth(10), (1,): worth(9, met=False)}
    assert not estimate(GAP, worths, np.zeros(3)).met
    assert estimate(Combination("one", None, {(0,): 1.0}), worths, np.zeros(3)).met
