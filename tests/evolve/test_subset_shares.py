"""Percentages of subsets: sizes of their groups of which all tables agree."""

from dataclasses import replace

import numpy as np
import pytest
from problems import people, published

from outrisk.evolve import subset_shares
from outrisk.evolve.local_search import _Search
from outrisk.evolve.loop import evolve
from outrisk.evolve.settings import preset
from outrisk.evolve.state import state_of
from outrisk.evolve.subset_shares import agreed_in_subsets, shares_of_subsets
from outrisk.microdata import Microdata
from outrisk.problem.blocks import Mask, breaks_rule, joint_over

SHARES = {"kind": "frequencies", "by": ["status", "ill"], "show": "row_percentages"}
WOMEN, MEN = ({**SHARES, "name": each, "where": f"sex == '{each}'"} for each in "fm")
OLD = {**SHARES, "name": "old", "where": "age >= 33"}
BY_SEX = {"kind": "frequencies", "by": ["sex", "ill"]}
BY_AGE = {"kind": "histogram", "value": "age", "breaks": [0, 20, 40, 60], "by": ["ill"]}
ONE_WAY = {"kind": "univariate", "variables": ["status", "sex", "ill"]}
MEANS = {"kind": "magnitudes", "value": "age", "by": ["ill"], "statistics": ["mean", "sd"], "decimals": 1}


def could_be(printed, size):
    """Numbers of people of whom one decimal of a percentage prints so in a group of this size."""
    return {count for count in range(size + 1) if abs(100 * count / size - printed) < 0.05 + 1e-9}


def together(numbers):
    """What one number of each set can add up to."""
    sums = {0}
    for each in numbers:
        sums = {one + other for one in sums for other in each}
    return sums


def sizes_of(problem, again=False):
    rng = np.random.default_rng(1)
    codes = np.stack([rng.integers(0, size, problem.n_records) for size in problem.codebook.sizes], axis=1)
    return agreed_in_subsets(problem, codes.astype(np.uint16), rng, again)[0]


@pytest.mark.parametrize("n", [300, 5_000])
@pytest.mark.parametrize(
    "entries",
    [
        (WOMEN, BY_SEX),
        (WOMEN, {**BY_SEX, "by": ["area", "ill", "sex"]}),
        (WOMEN, MEN, ONE_WAY),
        (OLD, BY_AGE),
        (WOMEN, OLD, BY_SEX, BY_AGE),
        (WOMEN, {**SHARES, "by": ["status"], "show": "proportions", "name": "status", "where": "sex == 'f'"}, BY_SEX),
        ({**WOMEN, "margins": True}, BY_SEX),
        ({**WOMEN, "protection": {"threshold": 10}}, BY_SEX),
        (OLD, BY_AGE, MEANS),
    ],
)
def test_percentages_of_subsets_beside_tables_are_reproduced(n, entries):
    problem = published(people(n, seed=3), *entries)
    for seed in (1, 2):
        *_, last = evolve(problem, preset("fast"), np.random.default_rng(seed))
        assert last.stop == "matched"


@pytest.mark.parametrize("n", [300, 5_000])
def test_all_tables_can_be_true_with_the_sizes_found(n):
    """Looked at by listing what counts the printed percentages can be of."""
    data = people(n, seed=4)
    problem = published(data, WOMEN, MEN, ONE_WAY)
    women, men = (found.astype(int) for found in sizes_of(problem))
    status, sex, ill = (np.bincount(data.codes[:, j]) for j in (1, 3, 4))
    assert women.sum() == sex[0] and men.sum() == sex[1]
    np.testing.assert_array_equal(women + men, status)
    who = []
    for part, sizes in zip(problem.released[:2], (women, men), strict=True):
        percentages = 0.5 * (part.low + part.high).reshape(-1, 2)
        for (healthy, unwell), size in zip(percentages, sizes, strict=True):
            who.append({count for count in could_be(unwell, size) if size - count in could_be(healthy, size)})
    assert ill[1] in together(who)


def test_a_subset_has_no_more_people_than_tables_leave_it():
    data = people(2_000, seed=5)
    (found,) = sizes_of(published(data, OLD, BY_AGE))
    old = data.codes[:, 2]
    assert (old >= 40).sum() <= found.sum() <= (old >= 20).sum()


def test_of_groups_with_percentages_none_is_empty_and_one_without_is():
    data = people(200, seed=6)
    data.codes[data.codes[:, 1] == 3, 3] = 1  # no widow is a woman
    problem = published(data, WOMEN, BY_SEX)
    (found,) = sizes_of(problem)
    assert (found[:3] >= 1).all() and found[3] == 0


def test_there_are_no_sizes_where_tables_contradict_each_other_or_it_would_take_long(monkeypatch):
    problem = published(people(500), WOMEN, BY_SEX)
    nobody = np.array([0.0, 0.0, 250.0, 250.0])
    assert len(sizes_of(problem)) == 1
    assert not sizes_of(published(people(500), BY_SEX, MEANS))
    by_sex = replace(problem.released[1], low=nobody, high=nobody)
    assert not sizes_of(replace(problem, released=(problem.released[0], by_sex)))
    monkeypatch.setattr(subset_shares, "_CELLS", (15, 16))  # four statuses, two sexes, two of ill
    assert not sizes_of(problem) and len(sizes_of(problem, again=True)) == 1
    monkeypatch.setattr(subset_shares, "CELLS", 15)
    assert not sizes_of(problem, again=True)


def test_a_search_goes_on_with_the_sizes_of_subsets_that_it_aims_at():
    problem, settings = published(people(3_000), WOMEN, SHARES, BY_SEX), preset("fast")
    search = _Search(problem, settings, np.random.default_rng(1))
    other = _Search(problem, settings, np.random.default_rng(2), state_of(search, 0))
    assert [len(each) for each in search.sizes] == [0, 4]
    np.testing.assert_array_equal(search.linear.low, other.linear.low)
    ((_, shares, _),) = shares_of_subsets(search.problem)
    np.testing.assert_array_equal(shares.aim, search.sizes[1])
    search._begin_anew(5)
    ((_, shares, _),) = shares_of_subsets(search.problem)
    np.testing.assert_array_equal(shares.aim, search.sizes[1])


def test_records_are_changed_to_counts_of_which_all_tables_agree():
    data = people(3_000, seed=7)
    problem = published(data, WOMEN, OLD, BY_SEX, BY_AGE, ONE_WAY)
    rng = np.random.default_rng(1)
    drawn = np.stack([rng.integers(0, size, 3_000) for size in problem.codebook.sizes], axis=1).astype(np.uint16)
    before = drawn.copy()
    sizes, codes = agreed_in_subsets(problem, drawn, rng)
    np.testing.assert_array_equal(drawn, before)
    found = [released.recompute(Microdata(problem.codebook, codes)) for released in problem.released]
    assert all(refit.matched.all() for refit in found)
    np.testing.assert_array_equal(np.bincount(codes[codes[:, 3] == 0, 1], minlength=4), sizes[0])
    np.testing.assert_array_equal(codes[:, 0], drawn[:, 0])  # the area is in no table


def test_records_change_in_as_few_variables_as_it_goes():
    """From kinds with too many to kinds with too few; by hand, of two variables with two levels."""
    levels = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    kind = np.repeat(np.arange(4), [5, 1, 4, 0])
    rng = np.random.default_rng(1)
    moves = list(subset_shares._changes(np.array([-3, 2, -1, 2]), levels, kind, rng))
    assert [(one, other, len(rows)) for one, other, rows in moves] == [(0, 1, 2), (2, 3, 1), (0, 3, 1)]
    rows = np.concatenate([rows for *_, rows in moves])
    assert len(np.unique(rows)) == 4
    assert all((kind[rows] == one).all() for one, _, rows in moves)


def test_many_variables_take_no_time_where_nothing_is_to_change_and_little_where_much_is():
    levels = np.indices((2,) * 14).reshape(14, -1).T
    kind = np.repeat(np.arange(len(levels)), 2)
    rng = np.random.default_rng(1)
    assert not list(subset_shares._changes(np.zeros(len(levels), np.int64), levels, kind, rng))
    more = np.zeros(len(levels), np.int64)
    more[rng.permutation(len(levels))[:400]] = np.repeat([1, -1], 200)
    moves = list(subset_shares._changes(more, levels, kind, rng))
    assert sum(len(rows) for *_, rows in moves) == 200


def test_numbers_of_records_are_made_whole_and_add_up_to_nothing():
    found = subset_shares._whole(np.array([-1.5, 0.25, 1.0, 0.25, 1e-9]))
    assert found.sum() == 0 and np.abs(found - [-1.5, 0.25, 1.0, 0.25, 0.0]).max() < 1.0


def test_no_record_breaks_a_rule_for_the_sake_of_counts():
    data = people(2_000, seed=8)
    data.codes[data.codes[:, 1] == 3, 2] %= 20
    data.codes[data.codes[:, 1] == 3, 2] += 40  # the widowed are old
    place = joint_over((1, 2), data.codebook.sizes)
    rule = Mask(place, np.array([[status != 3 or age >= 40 for age in range(60)] for status in range(4)]).ravel())
    problem = replace(published(data, OLD, BY_AGE, ONE_WAY), rules=(rule,))
    *_, last = evolve(problem, preset("fast"), np.random.default_rng(1))
    assert not breaks_rule(problem.rules, last.codes).any() and last.stop == "matched"
