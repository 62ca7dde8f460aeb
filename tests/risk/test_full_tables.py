"""Limits where a release follows its people: against a slow twin, a risk known by calculation, and its coverage."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.risk.by_person.crossed import Pairing, contrasts, person_contrasts, simultaneous
from outrisk.risk.by_person.full_tables import FullTables
from outrisk.risk.by_person.record_scores import MEASURES
from outrisk.risk.coding.classes import code_microdata, cross

BOOK = Codebook(tuple(Variable(name, "categorical", ("0", "1", "2")) for name in ("a", "b", "t")))
SETS = [("a",), ("a", "b")]
PAIRS = np.repeat(np.arange(20), 2)


def draw(n, rng, levels=3, together=None):
    """Keys of so many levels; a target of two, each for half of the people, that has nothing to do with them."""
    codes = np.column_stack([rng.integers(0, levels, (n, 2)), rng.integers(0, 2, n)])
    return Microdata(BOOK, codes.astype(np.uint16), together=together)


def of_tables(mine, theirs):
    """Everybody's contrasts by the full tables of both, one side below the other, at every key set."""
    each = [np.vstack(person_contrasts(Pairing(mine, theirs, [mine], [theirs]), [keys], "t")) for keys in SETS]
    return np.stack([*each, np.mean(each, axis=0)])


@pytest.mark.parametrize("paired", [False, True])
def test_the_least_variance_is_twice_what_people_dealt_anew_have(paired):
    rng = np.random.default_rng(1)
    mine, theirs = draw(40, rng), draw(60, rng)
    everybody = np.vstack([mine.codes, theirs.codes])
    patterns, at = np.unique(everybody, axis=0, return_inverse=True)
    members = np.array([np.bincount(part, minlength=len(patterns)) for part in np.split(at.reshape(-1), [40])])
    number = np.concatenate([PAIRS, 20 + np.arange(60)]) if paired else None
    group = csr_array((np.ones(100), (number, at.reshape(-1)))) if paired else None
    tables = FullTables(members.astype(float), at.reshape(-1), 20, group, len(SETS), 1.0)
    coding = code_microdata({"people": Microdata(BOOK, patterns)}, BOOK.names)
    release = of_tables(mine, theirs)[:, np.unique(at.reshape(-1), return_index=True)[1]] * np.float32(0.5)
    found = [tables.least(cross(coding, keys, "t"), "people", release[k], k) for k, keys in enumerate(SETS)]
    found.append(tables.of_mean(release[-1]))
    expected = []
    for dealt in tables._sides[1:].astype(int):
        sides = [Microdata(BOOK, np.repeat(patterns, side, axis=0)) for side in dealt]
        contrast = of_tables(*sides)
        apart = contrast - contrast.mean(axis=1, keepdims=True)
        if paired:  # sums over those who go together: by pattern, as the order of a side is lost
            by_pattern = np.array(
                [apart[:, (np.vstack([s.codes for s in sides]) == p).all(axis=1)][:, 0] for p in patterns]
            )
            sums = np.zeros((len(SETS) + 1, 80, 4))
            np.add.at(sums, (slice(None), number), by_pattern[at.reshape(-1)].swapaxes(0, 1))
            apart = sums
        expected.append((apart**2).sum(axis=1) / 100 * (1 / 40 + 1 / 60))
    share = np.where(np.ptp(of_tables(mine, theirs), axis=1) > 0, 0.5, 1.0)
    np.testing.assert_allclose(found, 2 * share * np.mean(expected, axis=0), rtol=1e-4)


def test_sides_that_chance_to_be_alike_are_no_risk_of_nothing():
    """Both sides have one table; a single yes or no of 2 n people has 2 (2 p (1 - p))^2 / n^2."""
    codes = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 1]] * 50, dtype=np.uint16)
    side = Microdata(BOOK, codes)
    found = contrasts(Pairing(side, side, [side], [side]), [("a",)], "t", permutations=9)
    m = MEASURES.index("attribution")
    assert found.difference[m, 0] == 0
    assert found.standard_error[m, 0] == pytest.approx(np.sqrt(2) * 0.5 / 200, rel=0.5)
    assert found.standard_error[m, 0] > 0.6 * np.sqrt(2) * 0.5 / 200


def test_limits_cover_a_risk_known_by_calculation():
    """Of n people and a key of L levels, the full table puts everybody's own answer into their cell: the risk is
    (1 - (1 - 1/L)^n) L / 2n of the cell less 1 / 2n of everybody. Without the least variance 0.74 are covered.
    """
    n, levels, rounds = 50, 2, 200
    risk = (1 - (1 - 1 / levels) ** n) * levels / (2 * n) - 1 / (2 * n)
    m, covered, at_once, mean = MEASURES.index("attribution"), 0, 0, 0.0
    for seed in range(rounds):
        rng = np.random.default_rng([1, seed])
        mine, theirs = draw(n, rng, levels), draw(n, rng, levels)
        found = contrasts(Pairing(mine, theirs, [mine], [theirs]), [("a",)], "t", permutations=99)
        low, high = found.interval()
        limits = simultaneous(found, ("attribution", "existence"))
        covered += bool(low[m, 0] <= risk <= high[m, 0])
        at_once += bool(limits.low[0, 0] <= risk <= limits.high[0, 0])
        mean += found.difference[m, 0] / rounds
    assert mean == pytest.approx(risk, abs=0.0025)
    assert covered >= 0.9 * rounds and at_once >= 0.93 * rounds
