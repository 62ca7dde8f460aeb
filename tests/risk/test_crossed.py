"""Crossed marginal risk: against a slow twin, a case solved by hand, and the level of its permutation test."""

import time
from itertools import combinations

import numpy as np
import pytest

from outrisk.appetite import MEASURES as IN_A_STUDY
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.risk.by_person.crossed import Pairing, contrasts, joined, person_contrasts, simultaneous
from outrisk.risk.by_person.full_tables import FullTables
from outrisk.risk.by_person.record_scores import MEASURES

KEYS = ("a", "b", "c")
CODEBOOK = Codebook(tuple(Variable(name, "categorical", ("0", "1", "2")) for name in (*KEYS, "t")))
SETS = [keys for size in (1, 2, 3) for keys in combinations(KEYS, size)]


def draw(n, rng, strength=0.6):
    codes = rng.integers(0, 3, (n, 4)).astype(np.uint16)
    codes[:, 3] = np.where(rng.random(n) < strength, codes[:, 0], codes[:, 3])
    return Microdata(CODEBOOK, codes)


def table(rows):
    return Microdata(CODEBOOK, np.array(rows, dtype=np.uint16))


def twin(person, synthetic, keys, target="t"):
    """The four scores of one person, from their definitions."""
    same = synthetic
    for key in keys:
        same = same[same[key] == person[key]]
    share_of_value = (synthetic[target] == person[target]).mean()
    if same.empty:
        return 0.0, 0.0, 0.0, 0.0
    share = (same[target] == person[target]).mean()
    return share - share_of_value, share_of_value, share, float(share == 1)


def slow(pairing, sets):
    """own, other by measure and key set, person by person."""
    sides = [pairing.original.frame(), pairing.holdout.frame()]
    releases = [[run.frame() for run in runs] for runs in (pairing.of_original, pairing.of_holdout) if runs]
    means = {}
    for r, runs in enumerate(releases):
        for s, people in enumerate(sides):
            means[r, s] = np.array(
                [
                    np.mean([[twin(p, run, keys) for _, p in people.iterrows()] for run in runs], axis=(0, 1))
                    for keys in sets
                ]
            ).T
    if len(releases) == 1:
        return means[0, 0], means[0, 1]
    return (means[0, 0] + means[1, 1]) / 2, (means[0, 1] + means[1, 0]) / 2


@pytest.mark.parametrize("crossed", [True, False])
def test_scores_are_those_of_the_definitions_person_by_person(crossed):
    rng = np.random.default_rng(1)
    runs = [draw(23, rng), draw(23, rng)]
    pairing = Pairing(draw(30, rng), draw(25, rng), runs, [draw(25, rng), draw(25, rng)] if crossed else ())
    found = contrasts(pairing, SETS, "t", permutations=20)
    own, other = slow(pairing, SETS)
    np.testing.assert_allclose(found.own[:, :-1], own, atol=1e-9)
    np.testing.assert_allclose(found.other[:, :-1], other, atol=1e-9)
    np.testing.assert_allclose(found.own[:, -1], own.mean(axis=1), atol=1e-9)
    at = {name: MEASURES.index(name) for name in MEASURES}
    parts = found.own[at["attribution"]] + found.own[at["existence"]]
    np.testing.assert_allclose(parts, found.own[at["dcap"]])


def test_a_case_solved_by_hand():
    """Two people a side; the original's data repeat it, the holdout's hold nobody's keys."""
    original, holdout = table([[0, 0, 0, 0], [1, 0, 0, 1]]), table([[0, 0, 0, 1], [2, 0, 0, 1]])
    found = contrasts(Pairing(original, holdout, [original]), [("a",)], "t", permutations=9)
    score = dict(zip(MEASURES, found.own[:, 0], strict=True))
    assert score == {"attribution": 0.5, "existence": 0.5, "dcap": 1.0, "right": 1.0}
    score = dict(zip(MEASURES, found.other[:, 0], strict=True))
    assert score == {"attribution": -0.25, "existence": 0.25, "dcap": 0.0, "right": 0.0}
    crossed = contrasts(Pairing(original, holdout, [original], [table([[1, 1, 1, 0]])]), [("b",)], "t", permutations=9)
    # by b the original's data say 0 or 1 with 1/2 each to all four; those of the holdout say nothing to anybody
    assert dict(zip(MEASURES, crossed.difference[:, 0], strict=True)) == {
        "attribution": 0.0,
        "existence": 0.0,
        "dcap": 0.0,
        "right": 0.0,
    }


@pytest.fixture
def unbounded(monkeypatch):
    """Errors as people and runs have them, whatever full tables have (tests/risk/test_full_tables.py)."""
    monkeypatch.setattr(FullTables, "_least", lambda self, table, release: np.zeros(4))


@pytest.mark.usefixtures("unbounded")
def test_the_sampling_error_is_that_of_leaving_out_each_record_in_turn():
    rng = np.random.default_rng(2)
    pairing = Pairing(draw(60, rng), draw(50, rng), [draw(60, rng)], [draw(50, rng)])
    found = contrasts(pairing, SETS, "t", permutations=9)

    def without(side, record):
        left = np.delete(getattr(pairing, side).codes, record, axis=0)
        parts = {"original": pairing.original, "holdout": pairing.holdout, side: Microdata(CODEBOOK, left)}
        return contrasts(Pairing(**parts, of_original=pairing.of_original, of_holdout=pairing.of_holdout), SETS, "t",
                         permutations=0).difference  # fmt: skip

    variance = 0.0
    for side in ("original", "holdout"):
        n = len(getattr(pairing, side))
        replicates = np.array([without(side, record) for record in range(n)])
        variance = variance + (n - 1) / n * ((replicates - replicates.mean(axis=0)) ** 2).sum(axis=0)
    reach = reach_of(people_contrasts(pairing))
    added = 2 * reach**2 * (1 / 60 / 59 + 1 / 50 / 49)
    error = np.sqrt(variance + added)
    wider = 1 + 0.4 * np.clip((np.abs(found.difference) / error - 2) / 6, 0, 1)
    assert wider.max() > 1
    np.testing.assert_allclose(found.standard_error, error * wider, rtol=1e-4)


def people_contrasts(pairing):
    """Everybody's contrast at every key set and as their mean, (people, measures, sets + 1), one key set at a time."""
    each = [np.vstack(person_contrasts(pairing, [keys], "t")) for keys in SETS]
    return np.stack([*each, np.mean(each, axis=0)], axis=2)


def reach_of(people):
    """How far off the two people are that are added to each side."""
    farthest = np.abs(people).max(axis=0)
    return np.where(farthest > 0, np.minimum(farthest, 0.5), 0.5)


@pytest.mark.usefixtures("unbounded")
def test_what_people_and_runs_share_is_counted_once():
    """Two-way clustering by hand: the variance of people, and that between runs, less that of people within runs."""
    rng = np.random.default_rng(9)
    runs = [draw(60, rng, 0.1) for _ in range(3)], [draw(50, rng, 0.9) for _ in range(2)]
    pairing = Pairing(draw(60, rng), draw(50, rng), *runs)
    found = contrasts(pairing, SETS, "t", permutations=0)
    alone = [
        [people_contrasts(Pairing(pairing.original, pairing.holdout, [run], [runs[1 - side][0]])) for run in runs[side]]
        for side in (0, 1)
    ]
    mean = people_contrasts(pairing)
    sampling = mean[:60].var(axis=0, ddof=1) / 60 + mean[60:].var(axis=0, ddof=1) / 50
    reach = reach_of(mean)
    sampling += 2 * reach**2 * (1 / 60 / 59 + 1 / 50 / 49)
    between, shared = 0.0, 0.0
    for of_release in alone:
        k = len(of_release)
        risks = [each[:60].mean(axis=0) - each[60:].mean(axis=0) for each in of_release]
        between += np.var(risks, axis=0, ddof=1) / k
        apart = np.array(of_release) - np.mean(of_release, axis=0)
        for part, n in ((apart[:, :60], 60), (apart[:, 60:], 50)):
            shared += part.var(axis=1, ddof=1).sum(axis=0) / (k - 1) / k / n
    wider = 1 + 0.4 * np.clip((np.abs(found.difference) / np.sqrt(sampling) - 2) / 6, 0, 1)
    expected = np.sqrt(sampling * wider**2 + np.maximum(between - shared, 0))
    np.testing.assert_allclose(found.standard_error, expected, rtol=1e-4)
    assert (between > shared).any() and (between < shared).any()


def test_permutation_deals_the_same_people_anew():
    """With three people a side there are 20 ways to deal them: every permuted difference is one of these."""
    rng = np.random.default_rng(3)
    pairing = Pairing(draw(3, rng), draw(3, rng), [draw(9, rng)], [draw(9, rng)])
    found = contrasts(pairing, [("a",)], "t", permutations=200)
    everybody = np.vstack([pairing.original.codes, pairing.holdout.codes])
    possible = []
    for chosen in combinations(range(6), 3):
        rest = [i for i in range(6) if i not in chosen]
        dealt = Pairing(table(everybody[list(chosen)]), table(everybody[rest]), pairing.of_original, pairing.of_holdout)
        possible.append(contrasts(dealt, [("a",)], "t", permutations=0).difference[2, 0])
    seen = set(np.round(found.permuted[:, 2, 0].astype(float), 5))
    assert seen <= set(np.round(possible, 5)) and len(seen) > 3


@pytest.mark.slow
def test_levels_and_coverage_where_releases_tell_of_everybody_alike():
    """Nothing is released of anybody: the permutation level holds, and the limits cover 0 for all key sets at once."""
    false, covered, rounds = 0, 0, 60
    for seed in range(rounds):
        rng = np.random.default_rng([4, seed])
        pairing = Pairing(
            draw(150, rng), draw(150, rng), [draw(150, rng) for _ in range(2)], [draw(150, rng) for _ in range(2)]
        )
        found = simultaneous(contrasts(pairing, SETS, "t", permutations=199, seed=seed), ("attribution", "existence"))
        false += bool((found.chance <= 0.05).any())
        covered += bool(((found.low <= 0) & (found.high >= 0)).all())
    assert false <= 8  # 3 expected of 60; 9 or more in 0.3 % of cases
    assert covered >= 52


def test_what_is_released_of_the_people_themselves_is_found_and_crossing_finds_it_better():
    rng = np.random.default_rng(5)
    original, holdout = draw(90, rng), draw(90, rng)
    crossed, plain = (
        contrasts(Pairing(original, holdout, [original], of_holdout), SETS, "t", permutations=199)
        for of_holdout in ([holdout], ())
    )
    limits = simultaneous(crossed, ("attribution",))
    at = SETS.index(("a", "b", "c"))
    assert limits.low[0, at] > 0 and limits.chance[0, at] == 1 / 200
    assert limits.low[0, at] < crossed.interval()[0][0, at]
    in_errors = [found.difference[0, at] / found.null_error[0, at] for found in (crossed, plain)]
    assert in_errors[0] > 2 * in_errors[1] > 0


def test_pairs_of_folds_are_joined_as_independent():
    rng = np.random.default_rng(6)
    parts = [
        contrasts(Pairing(draw(40, rng), draw(40, rng), [draw(40, rng)]), SETS, "t", permutations=30) for _ in range(2)
    ]
    both = joined(parts)
    np.testing.assert_allclose(both.difference, (parts[0].difference + parts[1].difference) / 2)
    expected = np.sqrt(parts[0].standard_error ** 2 + parts[1].standard_error ** 2) / 2
    np.testing.assert_allclose(both.standard_error, expected)


def test_people_one_by_one_make_the_mean():
    rng = np.random.default_rng(8)
    pairing = Pairing(draw(40, rng), draw(30, rng), [draw(40, rng)] * 2, [draw(30, rng)])
    mine, theirs = person_contrasts(pairing, SETS, "t")
    assert mine.shape == (40, 4) and theirs.shape == (30, 4)
    whole = contrasts(pairing, SETS, "t", permutations=0).difference[:, -1]
    np.testing.assert_allclose(mine.mean(axis=0) - theirs.mean(axis=0), whole, atol=1e-6)


def test_nobody_told_rightly_is_not_a_risk_of_exactly_nothing():
    original, holdout = table([[0, 0, 0, 0]] * 20), table([[0, 0, 0, 0]] * 20)
    found = contrasts(Pairing(original, holdout, [table([[1, 1, 1, 1]] * 5)]), [("a",)], "t", permutations=9)
    low, high = found.interval()
    assert (found.difference == 0).all() and (low < 0).all() and (high > 0).all()


@pytest.mark.slow
def test_fifty_thousand_people_and_six_keys_take_seconds():
    rng = np.random.default_rng(7)
    names = [f"k{j}" for j in range(6)]
    codebook = Codebook(tuple(Variable(name, "categorical", tuple("01234567")) for name in (*names, "t")))

    def some(n):
        return Microdata(codebook, rng.integers(0, 8, (n, 7)).astype(np.uint16))

    sets = [keys for size in range(1, 7) for keys in combinations(names, size)]
    pairing = Pairing(some(25_000), some(25_000), [some(25_000)] * 3, [some(25_000)] * 3)
    began = time.process_time()
    contrasts(pairing, sets, "t")
    assert time.process_time() - began < 60


def test_a_study_file_knows_the_same_measures():
    assert IN_A_STUDY == MEASURES
