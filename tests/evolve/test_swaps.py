"""Batches of swaps leave tables and rules alone; tables that are off are mended, and little else is touched."""

from unittest.mock import patch

import numpy as np
import pytest
from problems import people, published
from pydantic import TypeAdapter

from outrisk.config import OutputEntry
from outrisk.datasets import sars_codebook, sars_like
from outrisk.evolve.around import equations_at
from outrisk.evolve.candidate import Candidate
from outrisk.evolve.linear_map import linearise
from outrisk.evolve.mending import FIRST, GENTLY, MOST, mend
from outrisk.evolve.problem import Problem
from outrisk.evolve.swaps import (
    _changes,
    _neighbours,
    _partly,
    _transfers,
    aimed,
    bound_by,
    coarse,
    draw_swaps,
    drawn_alike,
    within,
)
from outrisk.evolve.tallied import equations_of
from outrisk.microdata import Microdata, from_frame
from outrisk.outputs import release
from outrisk.problem.blocks import Mask, breaks_rule, joint_over
from outrisk.problem.released import TallyPart

TABLES = [
    {"kind": "logit", "formula": "TENURE ~ AGE + C(SEX)", "event": 1},
    {"kind": "frequencies", "by": ["MSTATUS", "TENURE"]},
    {"kind": "frequencies", "by": ["SEX", "LTILL"], "protection": {"round_to": 5}},
    {"kind": "frequencies", "by": ["ETHGROUP"]},
]
NUMBERS = [
    {"kind": "frequencies", "by": ["MSTATUS", "TENURE"]},
    {"kind": "frequencies", "by": ["SEX", "LTILL"], "show": "row_percentages"},
    {"kind": "magnitudes", "value": "AGE", "by": ["TENURE"], "statistics": ["mean", "sd", "count"]},
    {"kind": "magnitudes", "value": "AGE", "by": ["SEX"], "statistics": ["sum"]},
    {"kind": "quantiles", "value": "AGE", "by": ["SEX"], "quantiles": [0.25, 0.5]},
]


CODES = sars_codebook()
CHILDREN = Mask(  # nobody under some age is married
    joint_over([CODES.index("AGE"), CODES.index("MSTATUS")], CODES.sizes),
    np.arange(CODES.sizes[CODES.index("AGE")] * CODES.sizes[CODES.index("MSTATUS")]) != 1,
)


def made(entries, n=800, rules=()):
    data = from_frame(sars_like(n, 1991), sars_codebook())
    adapter = TypeAdapter(OutputEntry)
    outputs = [adapter.validate_python(entry).build(data.codebook, at)[0] for at, entry in enumerate(entries)]
    return Problem(data.codebook, n, tuple(release(output, data) for output in outputs), rules), data


def named(problem, *names):
    return [problem.codebook.names.index(name) for name in names]


def test_what_records_add_sums_up_to_the_totals():
    problem, data = made(TABLES)
    totals = problem.totals(data.codes)
    some = np.random.default_rng(1).random(len(totals)) < 0.5
    some[problem.slices[0][1]] = False  # those of the logit, which is no tally
    _, total, value = problem.added(data.codes, some)
    assert np.bincount(total, value, len(totals)) == pytest.approx(np.where(some, totals, 0.0))


@pytest.mark.parametrize("draw", [draw_swaps, drawn_alike])
@pytest.mark.parametrize("seed", range(5))
def test_any_of_the_swaps_leave_kept_totals_and_rules_alone(draw, seed):
    problem, data = made(TABLES, rules=(CHILDREN,) if seed else ())
    rng = np.random.default_rng(seed)
    totals = problem.totals(data.codes)
    linear = linearise(problem, data.codes, totals, "tightening")
    kept = np.zeros(len(totals), np.bool_)
    for at in (1, 3):
        kept[problem.slices[at][1]] = True
    kept[problem.slices[2][1].start] = True  # one cell of a table whose others are free
    who = rng.permutation(len(data.codes))
    found = draw(problem, data.codes, who, kept, linear.ranges if draw is drawn_alike else ~kept, rng)
    assert found.count > 50 and len(np.unique(found.record)) == len(found.record)
    made_too = rng.random(found.count) < 0.5
    codes = data.codes.copy()
    which = made_too[found.of]
    codes[found.record[which]] = found.after[which]
    assert (codes != data.codes).any() and np.array_equal(problem.totals(codes)[kept], totals[kept])
    assert not breaks_rule(problem.rules, codes).any()


CURVES = {"kind": "survival", "time": "AGE", "event": "LTILL", "event_value": 1, "by": "SEX", "times": [10, 40, 70]}
BARS = {"kind": "histogram", "value": "AGE", "breaks": [0, 30, 60, 100], "by": ["TENURE"]}


@pytest.mark.parametrize("entry", [CURVES | {"statistics": ["at risk", "events", "survival"]}, BARS])
def test_values_that_share_a_cell_take_the_place_of_each_other(entry):
    """Ages between published times, or in one bar; and of two who exchange ages one may have had the event and the
    other not, which no swap between records alike in what tables count would do.
    """
    problem, data = made([entry])
    problem, rng = problem.searched, np.random.default_rng(1)
    totals, counted = problem.totals(data.codes), problem.slices[0][1]
    kept = np.zeros(len(totals), np.bool_)
    kept[counted] = True
    assert coarse(problem, kept)[named(problem, "AGE", "SEX", "MSTATUS")].tolist() == [True, False, False]
    age, other = named(problem, "AGE", "TENURE" if entry is BARS else "LTILL")
    alone = unlike = 0
    for _ in range(40):
        found = draw_swaps(problem, data.codes, rng.permutation(len(data)), kept, ~kept, rng)
        codes = data.codes.copy()
        codes[found.record] = found.after
        assert np.array_equal(problem.totals(codes)[kept], totals[kept])
        moved = found.after[:, age] != data.codes[found.record, age]
        first, width = np.unique(found.of, return_index=True)[1], np.bincount(found.of)
        one, two = first[width == 1], first[width == 2]
        alone += moved[one].sum()
        before = data.codes[found.record, other]
        unlike += (moved[two] & (before[two] != before[two + 1]) & (found.after[two, other] == before[two])).sum()
    assert alone > 500 and unlike > 50


def test_tables_bind_their_variables_to_each_other_alone():
    problem, _ = made(TABLES)
    kept = np.zeros(len(problem.totals(np.zeros((1, 7), np.uint16))), np.bool_)
    kept[problem.slices[1][1]] = True
    bound, counted = bound_by(problem, kept)
    m, t, s = named(problem, "MSTATUS", "TENURE", "SEX")
    assert bound[m, t] and not bound[m, s] and counted[m] and not counted[s]


def test_tables_that_are_off_are_mended_and_little_else():
    """Six people have moved house and status; most of the others stay as they are."""
    problem, data = made(TABLES, 2_000)
    rng = np.random.default_rng(1)
    codes = data.codes.copy()
    m, t = named(problem, "MSTATUS", "TENURE")
    codes[:6, [m, t]] = codes[rng.integers(6, 2_000, 6)][:, [m, t]]
    codes[6:12, m] = 0
    before = codes.copy()
    candidate = Candidate(codes, problem.totals(codes))
    linear = linearise(problem, codes, candidate.totals, "tightening")
    counts = problem.counts

    def off():
        totals = counts.totals(candidate.codes)
        ranges = linearise(counts, candidate.codes, totals, "precision")
        return int(((totals < ranges.low) | (totals > ranges.high)).sum())

    assert off() > 3
    equations = equations_at(linear, candidate, problem.sampling_errors(codes))
    for already in range(GENTLY + 1, MOST):
        mend(candidate, linear, equations, np.ones(len(equations.number)), already, rng)
    assert off() == 0
    assert (candidate.codes != before).any(axis=1).sum() < 200
    assert np.array_equal(candidate.totals, problem.totals(candidate.codes))


def test_counts_that_are_off_are_mended_record_by_record_and_numbers_suffer_little():
    """Six people have moved house and status: one generation puts all counts right by few changes, after which
    other numbers miss less than after changes that are taken as they come.
    """
    problem, data = made(TABLES, 2_000)
    codes = data.codes.copy()
    m, t = named(problem, "MSTATUS", "TENURE")
    codes[:6, [m, t]] = codes[np.random.default_rng(1).integers(6, 2_000, 6)][:, [m, t]]
    linear = linearise(problem, codes, problem.totals(codes), "tightening")
    errors = problem.sampling_errors(codes)
    equations = equations_at(linear, Candidate(codes, problem.totals(codes)), errors)

    def missed(weighed, seed):
        candidate = Candidate(codes.copy(), problem.totals(codes))
        with patch("outrisk.evolve.mending.WEIGHED", weighed):
            mend(candidate, linear, equations, equations.error, FIRST, np.random.default_rng(seed))
        out = (candidate.totals < linear.low) | (candidate.totals > linear.high)
        assert not (out & equations.counts).any()
        assert (candidate.codes != codes).any(axis=1).sum() <= 20
        assert np.array_equal(candidate.totals, problem.totals(candidate.codes))
        return float(((equations_at(linear, candidate, errors).missing / equations.error) ** 2).sum())

    assert np.mean([missed(300, seed) for seed in range(5)]) < np.mean([missed(1, seed) for seed in range(5)])


def test_a_count_is_mended_by_records_that_its_table_counts_nowhere():
    """Three people are of an age beside all breaks of a histogram: of 8,000, chance alone hardly ever looks at them."""
    data = people(8_000)
    data.codes[:, 2] = np.maximum(data.codes[:, 2], 1)
    bars = {"kind": "histogram", "value": "age", "breaks": [1, 20, 40, 60], "by": ["ill"]}
    problem, codes = published(data, bars), data.codes.copy()
    codes[:3, 2] = 0
    linear = linearise(problem, codes, problem.totals(codes), "tightening")
    candidate = Candidate(codes, problem.totals(codes))
    equations = equations_at(linear, candidate, problem.sampling_errors(codes))
    assert ((candidate.totals < linear.low) & equations.counts).any()
    mend(candidate, linear, equations, equations.error, FIRST, np.random.default_rng(1))
    assert not ((candidate.totals < linear.low) & equations.counts).any()


def test_equations_of_tallies_hold_where_the_numbers_do():
    """At the data's own totals nothing is missed beyond half a digit; and what moved records add to a row is what its
    number's equation misses afterwards.
    """
    problem, data = made(NUMBERS)
    rng = np.random.default_rng(1)
    codes = data.codes.copy()
    codes[:40] = codes[rng.integers(40, 800, 40)]
    totals, moved = problem.totals(data.codes), problem.totals(codes)
    seen = 0
    for part, where, which, _ in problem.slices:
        assert isinstance(part, TallyPart)
        asked = [
            equations_of(part, each[where], problem.low[which], problem.high[which], problem.tolerance[which])
            for each in (totals, moved)
        ]
        assert (np.abs(asked[0].missing) <= asked[0].half * (1 + 1e-9)).all()
        added = asked[0].rows @ (moved[where] - totals[where])
        if part.map.differentiable:
            assert np.allclose(asked[0].missing - added, asked[1].missing, rtol=1e-6, atol=1e-3)
        seen += len(added)
    assert seen == len(problem.tolerance)


@pytest.mark.parametrize("by", [-9, 9])
def test_a_median_that_is_off_misses_the_people_who_have_to_pass_it(by):
    """Of people made younger or older by nine years so many have to come to the published median, and no more."""
    problem, data = made([{"kind": "quantiles", "value": "AGE", "by": ["SEX"], "quantiles": [0.5]}])
    (part, where, which, _), age, sex = problem.slices[0], *named(problem, "AGE", "SEX")
    codes = data.codes.copy()
    codes[:, age] = np.clip(codes[:, age].astype(int) + by, 0, problem.codebook.sizes[age] - 1)
    said = problem.low[which], problem.high[which], problem.tolerance[which]
    asked = equations_of(part, problem.totals(codes)[where], *said, passed=True)
    assert (np.abs(asked.missing) > 10.0).all() and (asked.half == 0.5).all()
    for at, level in enumerate(np.unique(codes[:, sex])):
        median = problem.codebook.variables[age].values.index(problem.low[which][at])
        side = (codes[:, age] < median) if by < 0 else (codes[:, age] > median)
        some = np.flatnonzero((codes[:, sex] == level) & side)
        codes[some[: int(np.ceil(abs(asked.missing[at])))], age] = median
    again = equations_of(part, problem.totals(codes)[where], *said, passed=True)
    assert (np.abs(again.missing) <= again.half).all()
    assert problem.released[0].recompute(Microdata(problem.codebook, codes)).matched.all()


def test_a_mean_alone_leaves_its_count_free():
    """Twice as many people of the same mean miss nothing."""
    entries = [{"kind": "magnitudes", "value": "AGE", "by": ["SEX"], "statistics": ["mean"]}]
    problem, data = made(entries)
    (part, where, which, _) = problem.slices[0]
    totals = problem.totals(np.repeat(data.codes, 2, axis=0))[where]
    asked = equations_of(part, totals, problem.low[which], problem.high[which], problem.tolerance[which])
    assert (np.abs(asked.missing) <= 2 * asked.half).all() and len(asked.half) == 2


def test_two_records_have_one_swap_at_most():
    problem, data = made(TABLES)
    kept = np.zeros(len(problem.totals(data.codes)), np.bool_)
    found = draw_swaps(problem, data.codes[:2], np.arange(2), kept, ~kept, np.random.default_rng(1))
    assert found.count <= 1


def test_a_class_of_few_changes_as_often_as_one_of_many():
    """Of two classes of 30 and 970, fifty changes are of either in turn, or nearly."""
    codes = np.zeros((1_000, 2), np.uint16)
    codes[:30, 1] = 1
    some, new = _changes(
        codes, np.arange(1_000), 1, np.zeros(2, np.bool_), np.array([3, 2]), 50, np.random.default_rng(1)
    )
    assert some.shape == (50, 1) and len(np.unique(some)) == 50
    assert 15 <= (some < 30).sum() <= 30
    assert np.array_equal(new[:, 1], 1 - codes[some[:, 0], 1]) and not new[:, 0].any()


def test_a_number_goes_by_short_steps_as_often_as_by_long_ones():
    """Of changes by a step of any length as many are shorter than the root of the range as are longer."""
    codes, rng, steps = np.full((4_000, 1), 5_000, np.uint16), np.random.default_rng(1), []
    for _ in range(20):
        _, new = _changes(codes, np.arange(4_000), 0, np.ones(1, np.bool_), np.array([10_000]), 4_000, rng)
        steps.append(np.abs(new[:, 0].astype(int) - 5_000))
    short = np.array([(each < 100).mean() for each in steps])
    assert {round(float(share), 1) for share in short} == {0.0, 0.5}


def test_what_one_gives_another_takes_and_their_sum_stays():
    rng = np.random.default_rng(1)
    codes = np.stack([rng.integers(0, 3, 500), rng.integers(0, 1_000, 500)], axis=1).astype(np.uint16)
    tags = [rng.integers(0, 1 << 62, size) for size in (3, 1_000)]
    same, numeric = np.array([True, False]), np.array([False, True])
    two = _neighbours(codes, np.arange(500), same, numeric, tags, rng)
    pairs, new = _transfers(codes, *two, 1, 1_000, 100, rng)
    after = new.reshape(len(pairs), 2, 2)
    assert len(pairs) == 100 and len(np.unique(pairs)) == 200
    assert (codes[pairs][:, 0, 0] == codes[pairs][:, 1, 0]).all() and (after[:, :, 0] == codes[pairs][:, :, 0]).all()
    assert (after[:, :, 1].sum(axis=1) == codes[pairs][:, :, 1].sum(axis=1)).all()
    assert (after[:, :, 1] != codes[pairs][:, :, 1]).all() and after[:, :, 1].max() < 1_000


@pytest.mark.parametrize("rules", [(), (CHILDREN,)], ids=["no rule", "a rule"])
def test_a_change_is_aimed_at_what_a_sum_misses(rules):
    """Each alone makes up for what a mean misses, or comes as near as the values go; tables stay as they are."""
    problem, data = made([*NUMBERS[:1], NUMBERS[2] | {"statistics": ["mean"], "by": ["MSTATUS"]}], rules=rules)
    codes, age = data.codes.copy(), problem.codebook.index("AGE")
    moved = np.random.default_rng(1).permutation(len(codes))[:200]
    codes[moved, age] = np.minimum(codes[moved, age] + 1, problem.codebook.sizes[age] - 1)
    candidate = Candidate(codes, problem.totals(codes))
    linear = linearise(problem, codes, candidate.totals, "tightening")
    equations = equations_at(linear, candidate, np.ones(len(problem.low)))
    edits = aimed(equations, codes, np.random.default_rng(2))
    assert 0 < edits.count <= 3 * int((equations.off != 0.0).sum()) and len(np.unique(edits.record)) == edits.count
    assert not breaks_rule(problem.rules, edits.after).any() if rules else True
    for record, after in zip(edits.record, edits.after, strict=True):
        changed = codes.copy()
        changed[record] = after
        totals = problem.totals(changed)
        assert (totals[equations.kept] == candidate.totals[equations.kept]).all()
        column = np.flatnonzero(totals[equations.totals] != candidate.totals[equations.totals])
        left = np.abs(equations.missing[column] - (totals - candidate.totals)[equations.totals[column]])
        end = after[age] in (0, problem.codebook.sizes[age] - 1)
        assert len(column) == 1 and (left <= 0.5 if not end else left < np.abs(equations.missing[column]))


@pytest.mark.parametrize("seed", range(5))
def test_whichever_swaps_are_made_counts_stay_within_their_room(seed):
    """All that make one cell rise, or fall, as far as they go; some cells have no room at all."""
    problem, data = made(TABLES)
    rng = np.random.default_rng(seed)
    totals = problem.totals(data.codes)
    room = np.full((2, len(totals)), np.inf)
    for at in (1, 3):
        where = problem.slices[at][1]
        room[:, where] = rng.integers(0, 4, (2, where.stop - where.start))
    none = np.zeros(len(totals), np.bool_)
    drawn = draw_swaps(problem, data.codes, rng.permutation(len(data.codes)), none, none, rng)
    found = within(problem, data.codes, drawn, room, rng)
    assert 20 < found.count < drawn.count
    effects = np.zeros((found.count, len(totals)))
    for swap in range(found.count):
        which = found.of == swap
        before, after = data.codes[found.record[which]], found.after[which]
        effects[swap] = problem.totals(after) - problem.totals(before)
    assert (np.maximum(effects, 0.0).sum(axis=0) <= room[1]).all()
    assert (np.maximum(-effects, 0.0).sum(axis=0) <= room[0]).all()


def test_where_cells_of_a_table_are_withheld_a_record_goes_from_one_to_another():
    """Sizes of classes change then, by changes that leave all cells that are kept as they are."""
    problem, data = made([{"kind": "frequencies", "by": ["MSTATUS", "SEX"]}])
    totals = problem.totals(data.codes)
    kept, all_kept = np.arange(len(totals)) >= 4, np.ones(len(totals), np.bool_)
    variables = [problem.codebook.names.index(name) for name in ("MSTATUS", "SEX")]
    assert _partly(problem, kept)[variables].all() and not _partly(problem, all_kept).any()
    rng, every = np.random.default_rng(1), np.arange(len(data.codes))
    found = draw_swaps(problem, data.codes, every, kept, np.zeros_like(kept), rng)
    after = data.codes.copy()
    after[found.record] = found.after
    changed = problem.totals(after) - totals
    assert not changed[kept].any() and np.bincount(found.of).min() == 1
    single = [swap for swap in range(found.count) if (found.of == swap).sum() == 1]
    moved = [found.record[found.of == swap][0] for swap in single]
    assert any((after[at, variables] != data.codes[at, variables]).any() for at in moved)
