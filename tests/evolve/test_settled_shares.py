"""Counts behind released shares: those that they can be shares of, as other tables and all records have them."""

import numpy as np
import pytest
from problems import people, published

from outrisk.evolve.calibrated import Pool
from outrisk.evolve.linear_map import linearise
from outrisk.evolve.local_search import _Search
from outrisk.evolve.loop import evolve
from outrisk.evolve.settings import preset
from outrisk.evolve.settled_shares import (
    Drawn,
    _drawn,
    _whole,
    of_told_sizes,
    open_shares,
    settled,
    settled_to_agree,
    shares_of_all,
)
from outrisk.evolve.state import state_of
from outrisk.evolve.told_counts import tables_of
from outrisk.microdata import Microdata
from outrisk.problem.influence import members_of

ROWS = {"kind": "frequencies", "by": ["area", "status"], "show": "row_percentages"}
LOGIT = {"kind": "logit", "formula": "ill ~ age + C(status)", "event": "1", "release": ["coefficients"], "decimals": 3}


def counted(data, *variables):
    table = np.zeros([data.codebook.sizes[j] for j in variables])
    np.add.at(table, tuple(data.codes[:, j] for j in variables), 1)
    return table


def test_row_percentages_of_hundreds_of_people_tell_their_counts():
    data = people(700, seed=2)
    problem = published(data, ROWS)
    assert open_shares(problem)
    found = settled(problem, np.random.default_rng(1), certain=True)
    assert not open_shares(found)
    (table,) = tables_of(found)
    np.testing.assert_array_equal(table.counts, counted(data, 0, 1))
    np.testing.assert_array_equal(table.least, table.most)


@pytest.mark.parametrize("show", ["proportions", "column_percentages", "row_percentages"])
def test_counts_are_told_with_margins_too(show):
    data = people(700)
    problem = published(data, {**ROWS, "show": show, "margins": True})
    tables = tables_of(settled(problem, np.random.default_rng(1)))
    assert {table.variables for table in tables} > {(0, 1)}
    for table in tables:
        np.testing.assert_array_equal(table.over(table.variables, table.counts), counted(data, *table.variables))


def test_shares_of_the_same_groups_and_a_table_of_counts_agree():
    data = people(90)
    sexes = {"kind": "frequencies", "by": ["area", "sex"], "show": "row_percentages"}
    ages = {"kind": "frequencies", "by": ["status", "sex"]}
    alone = published(data, ROWS)
    several = {settled(alone, np.random.default_rng(seed)).low.tobytes() for seed in range(8)}
    assert len(several) > 1
    together = published(data, ROWS, sexes, ages)
    for seed in range(3):
        tables = tables_of(settled(together, np.random.default_rng(seed)))
        by_area = [table.over((0,), table.counts) for table in tables if 0 in table.variables]
        np.testing.assert_array_equal(*by_area)
        by_status = [table.over((1,), table.counts) for table in tables if 1 in table.variables]
        np.testing.assert_array_equal(*by_status)


SEVERAL = [
    {**ROWS, "margins": True},
    {"kind": "frequencies", "by": ["status", "sex"], "show": "column_percentages"},
    {"kind": "frequencies", "by": ["ill", "sex"], "show": "column_percentages", "margins": True},
]


def test_several_tables_of_shares_of_many_people_agree():
    """Of which each alone has counts that contradict the others; what agrees is in whole numbers, and prints so."""
    problem = published(people(6_000), *SEVERAL)
    assert not _whole(problem, _drawn(problem, np.random.default_rng(2)))[0]
    for seed in (2, 4):
        told, sizes = settled_to_agree(problem, np.random.default_rng(seed))
        area_status, status_sex, ill_sex = [
            table for table in tables_of(told) if len(table.variables) == 2 and (table.least == table.most).all()
        ]
        np.testing.assert_array_equal(
            area_status.over((1,), area_status.counts), status_sex.over((1,), status_sex.counts)
        )
        np.testing.assert_array_equal(status_sex.over((3,), status_sex.counts), ill_sex.over((3,), ill_sex.counts))
        rows = 100 * area_status.counts / area_status.counts.sum(axis=1, keepdims=True)
        printed = problem.released[0].values[: rows.size + rows.shape[1]].reshape(-1, rows.shape[1])
        np.testing.assert_allclose(rows, printed[:-1], atol=0.0500001)
        np.testing.assert_allclose(area_status.counts.sum(axis=0) / 60, printed[-1], atol=0.0500001)
        np.testing.assert_array_equal(sizes[0][: len(rows)], area_status.counts.sum(axis=1))
        start = next(evolve(problem, preset("fast"), np.random.default_rng(seed)))
        assert start.stop == "matched"


@pytest.mark.parametrize("n", [60, 2_000])
@pytest.mark.parametrize(
    "entry",
    [
        {"by": ["ill", "sex", "status"], "show": "row_percentages", "margins": True},
        {"by": ["status", "sex"], "show": "column_percentages", "margins": True},
        {"by": ["ill", "status"], "show": "proportions"},
        {"by": ["sex", "area"], "show": "row_percentages", "protection": {"threshold": 5}},
    ],
)
def test_the_sizes_that_groups_have_are_found_to_agree(entry, n):
    data = people(n)
    problem = published(data, {"kind": "frequencies", **entry}, {**ROWS, "margins": True})
    drawn = {}
    for at, (part, shares, which) in enumerate(shares_of_all(problem)):
        totals = np.concatenate([members_of([block], data.codes).sum(axis=0).A1 for block in part.blocks])
        sizes = np.bincount(shares.base[shares.member], totals[shares.member], len(shares.bases))
        half = problem.tolerance[which]
        drawn[at] = Drawn(sizes, shares.ranges(problem.low[which] - half, problem.high[which] + half, sizes))
    counts, apart = _whole(problem, drawn)
    assert len(counts) == 2 and apart < 1e-6


def test_histograms_of_shares_are_drawn_too():
    bins = {"kind": "histogram", "value": "age", "breaks": [0, 10, 20, 60], "show": "proportions"}
    problem = published(people(300), bins, {**bins, "breaks": [0, 5, 30, 60]})
    assert settled_to_agree(problem, np.random.default_rng(1))[1] == []
    *_, last = evolve(problem, preset("fast"), np.random.default_rng(1))
    assert last.stop == "matched"


def test_conditions_hold_where_shares_print_as_released_and_nowhere_else():
    data = people(400)
    problem = published(data, SEVERAL[0])
    (part, shares, which), half = next(shares_of_all(problem)), 0.05
    rows = shares.conditions(problem.low[which] - half, problem.high[which] + half)
    rng, said = np.random.default_rng(1), set()
    for moved in [0, 0, *range(1, 40)]:
        codes = data.codes.copy()
        some = rng.integers(0, len(codes), moved // 8)
        codes[some, 1] = rng.integers(0, 4, len(some))
        totals = problem.totals(codes)
        fits = problem.released[0].is_matched(part.map.numbers(totals)).all()
        assert fits == (rows @ totals[: rows.shape[1]] <= 1e-9).all()
        said.add(bool(fits))
    assert said == {True, False}


def test_a_search_goes_on_with_the_sizes_that_it_aims_at():
    problem, settings = published(people(6_000), *SEVERAL), preset("fast", start="released")
    search = _Search(problem, settings, np.random.default_rng(1))
    other = _Search(problem, settings, np.random.default_rng(2), state_of(search, 0))
    assert len(search.sizes) == 3
    np.testing.assert_array_equal(search.linear.low, other.linear.low)
    part, where, which, _ = search.problem.slices[0]
    totals, ends = search.candidate.totals[where], (problem.low[which], problem.high[which])
    drifted = totals + np.arange(len(totals)) % 3 * 50.0
    for aimed, alike in ((part, True), (problem.slices[0][0], False)):
        same = aimed.map.bounds(totals, *ends).low == aimed.map.bounds(drifted, *ends).low
        assert same.all() == alike


def test_shares_of_a_subset_stay_shares():
    problem = published(people(300), {**ROWS, "where": "sex == 'f'"})
    assert not open_shares(problem)
    assert settled(problem, np.random.default_rng(1)) is problem


@pytest.mark.parametrize(("n", "entries"), [(90, [ROWS]), (700, [ROWS]), (700, [ROWS, LOGIT]), (3000, [ROWS, LOGIT])])
def test_percentages_of_groups_are_reproduced(n, entries):
    problem = published(people(n), *entries)
    for seed in (1, 2):
        last = list(evolve(problem, preset("fast"), np.random.default_rng(seed)))[-1]
        assert last.stop == "matched"


@pytest.mark.parametrize(("show", "n"), [("row_percentages", 600), ("counts", 600), ("counts", 90)])
def test_where_it_stands_still_another_choice_is_drawn_unless_two_brought_nothing_nearer(show, n):
    """Of shares, and of whatever few people have."""
    problem = published(people(n), {**ROWS, "show": show})
    search = _Search(problem, preset("fast", patience=20), np.random.default_rng(1))
    for waited, other in ((40, True), (41, False)):
        search.nearest.waited = waited
        assert search._may_choose_otherwise() == (other and (show, n) != ("counts", 600))
    before = search.candidate.codes.copy()
    search.standstill.over = True
    search._step(7)
    assert (search.candidate.codes != before).any()
    assert not search.standstill.over and search.standstill.since == 7


def test_withheld_shares_beside_a_regression_are_drawn_too():
    """Their counts have no end, and nothing is expected of them."""
    problem = published(people(250), {**ROWS, "protection": {"threshold": 5}}, LOGIT)
    *_, last = evolve(problem, preset("fast", generations=5), np.random.default_rng(1))
    assert last.errors.matched > 0


def test_what_equations_leave_open_of_a_count_is_finite_where_no_record_bears_on_one():
    data = people(250)
    withheld = {"threshold": 10, "known_threshold": False}  # one at least, of whom the pool has none
    problem = published(data, ROWS, LOGIT, {"kind": "frequencies", "by": ["area", "sex"], "protection": withheld})
    some = Microdata(data.codebook, data.codes[data.codes[:, 0] > 0])
    pool = Pool.of(problem, some.codes)
    mean, covariance = pool.said(np.ones(len(some)), problem.slices[0][0].blocks[0])
    np.testing.assert_array_equal(mean, counted(some, 0, 1).ravel())
    assert np.isfinite(covariance).all() and np.diag(covariance).min() > -1e-9


def test_shares_of_groups_that_a_table_counts_are_of_groups_of_these_sizes():
    """Whatever the records come to be: else a group that is one record too large takes its own cells out of range."""
    data, areas = people(3_000), {"kind": "univariate", "variables": ["area"]}
    problem = published(data, ROWS, areas, LOGIT)
    assert of_told_sizes(published(data, ROWS, LOGIT)).released[0].parts[0].map.aim is None
    found, own = of_told_sizes(problem), data.codes.copy()
    np.testing.assert_array_equal(found.released[0].parts[0].map.aim, counted(data, 0))
    with_totals = of_told_sizes(published(data, {**ROWS, "margins": True}, areas, LOGIT)).released[0].parts[0].map.aim
    np.testing.assert_array_equal(with_totals, [*counted(data, 0), 3_000])
    ranges = []
    for moved in (False, True):
        own[:8, 0] = 3 if moved else own[:8, 0]
        totals = found.totals(own)
        linear = linearise(found, own, totals, "tightening")
        ranges.append((linear.low[:48], linear.high[:48]))
    np.testing.assert_array_equal(*ranges)
    cells = counted(data, 0, 1).ravel()
    assert ((cells >= ranges[0][0]) & (cells <= ranges[0][1])).all()


@pytest.mark.parametrize(("by", "table"), [((), ["sex"]), (("sex",), ["sex", "age"])])
def test_no_table_tells_how_many_people_are_in_some_bars_of_a_histogram(by, table):
    """Those beyond its breaks are in none of its shares, and in the table."""
    data = people(3_000)
    bars = {"kind": "histogram", "value": "age", "by": by, "breaks": [0, 10, 20, 30, 40], "show": "proportions"}
    problem = published(data, bars, {"kind": "frequencies", "by": table}, LOGIT)
    found = of_told_sizes(problem)
    assert found.released[0].parts[0].map.aim is None
    totals = found.totals(data.codes)
    assert linearise(found, data.codes, totals, "precision").errors(totals).all_matched
