"""Closing in: what swaps change is told to first order, tables stay, and all numbers come nearer together."""

from copy import deepcopy
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from problems import drawn
from pydantic import TypeAdapter

from outrisk.config import OutputEntry
from outrisk.datasets import sars_codebook, sars_like
from outrisk.evolve import acceptance, by_size
from outrisk.evolve import closing as module
from outrisk.evolve.acceptance import Nearest, Settled, Standing
from outrisk.evolve.around import equations_at
from outrisk.evolve.by_refit import by_refit
from outrisk.evolve.candidate import Candidate
from outrisk.evolve.closing import EACH, Closing
from outrisk.evolve.linear_map import linearise
from outrisk.evolve.local_search import _Search
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.schedule import Schedule
from outrisk.evolve.settings import preset
from outrisk.evolve.tuning import TUNING
from outrisk.microdata import Microdata, from_frame
from outrisk.outputs import release

ERRORS = {"release": ["coefficients", "standard_errors"]}
ENTRIES = [
    {"kind": "logit", "formula": "TENURE ~ AGE + C(SEX) + C(LTILL)", "event": 1, "decimals": 3, **ERRORS},
    {"kind": "ols", "formula": "AGE ~ C(SEX) + C(MSTATUS)", "decimals": 2, **ERRORS},
    {"kind": "frequencies", "by": ["MSTATUS", "TENURE"]},
    {"kind": "magnitudes", "value": "AGE", "by": ["TENURE"], "statistics": ["mean", "sd"], "decimals": 1},
]


@pytest.fixture(scope="module")
def problem():
    data = from_frame(sars_like(1_500, 1991), sars_codebook())
    adapter = TypeAdapter(OutputEntry)
    outputs = [adapter.validate_python(entry).build(data.codebook, at)[0] for at, entry in enumerate(ENTRIES)]
    return Problem(data.codebook, 1_500, tuple(release(output, data) for output in outputs))


@pytest.fixture(autouse=True)
def of_many_people(monkeypatch):
    """As if 1,500 people were many: fewer are closed in on by the size of changes."""
    monkeypatch.setattr(by_size, "PEOPLE", (0, 0))


@pytest.fixture
def begun(problem):
    return drawn(problem)


def missing(problem, codes, errors):
    candidate = Candidate(codes, problem.totals(codes))
    return equations_at(linearise(problem, codes, candidate.totals, "tightening"), candidate, errors).missing


@pytest.mark.parametrize("resized", [False, True])
def test_rows_say_what_records_change(problem, begun, resized):
    """Ten records become others: the numbers, worked out again from all records, move by what the rows add up to; and
    where classes are resized, so do sums of squares, of which a larger class may hold more for the same sd.
    """
    candidate, linear, rng = begun
    errors = problem.sampling_errors(candidate.codes)
    equations = equations_at(linear, candidate, errors, resized)
    after = candidate.codes.copy()
    after[:10] = after[rng.integers(10, 1_500, 10)]
    said = (equations.rows(after[:10]) - equations.rows(candidate.codes[:10])).sum(axis=0)
    moved = equations.missing - missing(problem, after, errors)
    models = len(said) - len(equations.totals)
    assert models == 20 and np.abs(said / equations.error)[:models].max() > 0.02
    assert np.abs((said - moved) / equations.error)[:models].max() < 0.01
    totals = (problem.totals(after) - candidate.totals)[equations.totals]
    assert np.allclose(said[models:], totals) != resized and not equations.drift[:models].any()
    if resized:
        assert np.abs((said - moved) / equations.error)[models:].max() < 0.001


def test_a_mean_misses_what_it_is_off_by_as_a_refit_has_it(problem, begun):
    """Not what it is outside some range around the published one: so much more could pass for 1 % of its error."""
    candidate, linear, _ = begun
    candidate.codes[:20] = candidate.codes[20:40]
    candidate.totals = problem.totals(candidate.codes)
    linear = linearise(problem, candidate.codes, candidate.totals, "tightening")
    equations = equations_at(linear, candidate, problem.sampling_errors(candidate.codes))
    off, tolerance = linear.distances(candidate.totals), problem.tolerance
    where = problem.slices[-1][2]  # of the means and standard deviations
    means = np.flatnonzero((equations.number >= where.start) & ((equations.number - where.start) % 2 == 0))
    number = equations.number[means]
    assert len(means) == 2 and (np.abs(off[number]) > 0.5 * tolerance[number]).any()
    assert np.allclose(equations.missing[means] / equations.half[means], -off[number] / tolerance[number])


def test_people_who_are_all_alike_are_not_taken_to_be_known_to_the_last_digit(problem, begun):
    """Their mean has no sampling error of its own; it gets the least that another one of the table has."""
    codes = begun[0].codes.copy()
    age, tenure = (problem.codebook.index(name) for name in ("AGE", "TENURE"))
    some = codes[:, tenure] == 0
    codes[some, age] = 40
    candidate = Candidate(codes, problem.totals(codes))
    errors = problem.sampling_errors(codes)
    linear = linearise(problem, codes, candidate.totals, "tightening")
    found, means = equations_at(linear, candidate, errors), len(errors) - 4
    error = dict(zip(found.number.tolist(), found.error.tolist(), strict=True))
    assert not errors[means] > 1e-9 * errors[means + 2] > 0.0
    assert error[means] == pytest.approx(error[means + 2])


def test_a_round_keeps_tables_of_counts_and_brings_all_else_nearer(problem, begun):
    candidate, linear, rng = begun
    closing = Closing()
    equations = closing.look(linear, candidate, True)
    kept, far = candidate.totals[equations.kept].copy(), closing.merit(equations)
    for _ in range(5):
        closing.round(candidate.codes, equations, linear, rng)
        candidate.totals = problem.totals(candidate.codes)
        linear = linearise(problem, candidate.codes, candidate.totals, "tightening")
        equations = closing.look(linear, candidate, False)
    assert equations.kept.any() and np.array_equal(candidate.totals[equations.kept], kept)
    assert closing.merit(equations) < 0.5 * far


def test_swaps_of_either_kind_are_drawn_among_so_many_records(problem, begun, monkeypatch):
    candidate, linear, rng = begun
    closing = Closing()
    equations = closing.look(linear, candidate, True)
    equations = replace(equations, missing=np.zeros(len(equations.missing)))
    monkeypatch.setattr(module, "SEEN", 100)
    edits = closing._drawn(candidate.codes, equations, linear, equations.missing, rng)
    assert 20 < len(np.unique(edits.record)) <= 200


def test_a_number_printed_coarsely_comes_back_towards_its_digits(problem, begun):
    """Of 80 sampling errors, of which it is two outside: in the rounds it goes some way, as all other numbers near."""
    candidate, _, rng = begun
    closing, coarse, beyond = Closing(), 12, []
    for _ in range(8):
        linear = linearise(problem, candidate.codes, candidate.totals, "tightening")
        found = closing.look(linear, candidate, False)
        half, missing = found.half.copy(), found.missing.copy()
        further = missing[coarse] - beyond[0][0] if beyond else 0.0
        half[coarse], missing[coarse] = 40.0 * found.error[coarse], 42.0 * found.error[coarse] + further
        beyond.append((found.missing[coarse], missing[coarse] / found.error[coarse] - 40.0))
        closing.round(candidate.codes, replace(found, half=half, missing=missing), linear, rng)
        candidate.totals = problem.totals(candidate.codes)
    others = np.arange(len(found.half)) != coarse
    assert beyond[0][1] == pytest.approx(2.0)
    assert 0.0 < beyond[-1][1] < 1.5
    assert (np.abs(found.off / found.error)[others] < 0.1).all()


def test_a_number_that_stays_far_is_asked_to_come_less_far_inside_its_digits(problem, begun):
    """Truly it may be near an end of these; others are asked what they were."""
    candidate, linear, _ = begun
    closing, coarse = Closing(), 12
    found = closing.look(linear, candidate, False)
    half, missing = found.half.copy(), np.zeros(len(found.half))
    half[coarse], missing[coarse] = 4.0 * found.error[coarse], 5.0 * found.error[coarse]
    found = replace(found, half=half, missing=missing)
    asked = []
    for _ in range(30):
        asked.append(closing._missing(found)[coarse] / found.error[coarse])
        others = closing._missing(found)[np.arange(len(half)) != coarse]
        assert not others.any()
        closing.tighten(found)
    assert asked[0] == pytest.approx(2.0)
    assert (np.diff(asked) < 0.0).all() and 1.0 < asked[-1] < 1.1


def test_of_many_numbers_one_that_is_near_counts_as_met_until_all_have_been(problem, begun):
    candidate, linear, _ = begun
    closing = Closing(brief=True)
    found = closing.look(linear, candidate, True)
    error, half = found.error, np.minimum(found.half, 1e-3 * found.error)
    small = replace(found, half=half, missing=0.006 * error)
    assert closing.merit(small) == 0.0 < closing.merit(replace(small, missing=0.008 * error))
    assert Closing().merit(small) > 0.0  # of few numbers it does not
    one = replace(small, missing=np.where(np.arange(len(error)) == 2, 0.02, 0.006) * error)
    closing.tighten(one)
    assert not closing.arrived and closing.merit(small) == 0.0
    closing.tighten(small)  # none is far: from now on all are brought as near as they can be
    closing.tighten(one)
    assert closing.arrived and closing.merit(small) > 0.0


def test_a_round_says_whether_it_gains_to_first_order(problem, begun, monkeypatch):
    """It does not where nothing can be changed, nor where what is changed brings numbers further off."""
    candidate, linear, rng = begun
    closing = Closing()
    equations, before = closing.look(linear, candidate, True), candidate.codes.copy()
    monkeypatch.setattr(Closing, "short", lambda *_: np.arange(1))
    assert not closing.round(candidate.codes, equations, linear, rng) and np.array_equal(candidate.codes, before)
    monkeypatch.undo()

    def all_made(rows, shares, asked, *_):
        return np.ones(len(rows), np.bool_), rows.sum(axis=0) - asked

    monkeypatch.setattr(module, "balanced", all_made)
    monkeypatch.setattr(module, "SWEEPS", 0)
    assert not closing.round(candidate.codes, equations, linear, rng) and not np.array_equal(candidate.codes, before)
    monkeypatch.undo()
    candidate.codes[:] = before
    assert closing.round(candidate.codes, equations, linear, rng)


def test_swaps_that_change_little_are_kept_until_their_records_change(problem, begun):
    candidate, linear, rng = begun
    closing = Closing()
    closing.round(candidate.codes, closing.look(linear, candidate, True), linear, rng)
    kept = closing.kept(candidate.codes)
    assert 20 < kept.count <= 1_500 // EACH and len(np.unique(kept.record)) == len(kept.record)
    codes = candidate.codes.copy()
    codes[kept.record[kept.of == 3]] += 1
    left = closing.kept(codes)
    assert left.count == kept.count - 1 and not np.isin(kept.record[kept.of == 3], left.record).any()
    assert np.array_equal(left.after, kept.after[kept.of != 3])


def test_the_nearest_data_set_has_fewest_numbers_beyond(problem, begun):
    candidate, linear, _ = begun
    errors = linear.errors(candidate.totals)
    missing_less = replace(errors, missed=errors.missed / 2)
    nearest, other = Nearest(), deepcopy(candidate)
    nearest.see(candidate, errors, 0)
    nearest.see(other, missing_less, 1)  # one is beyond, though it misses less
    assert nearest.errors is errors and nearest.waited == 1
    nearest.see(other, missing_less, 0)
    assert nearest.errors is missing_less and nearest.waited == 0
    nearest.see(other, errors, 0)
    assert nearest.errors is missing_less and nearest.waited == 1


def test_once_all_are_near_another_digit_is_waited_for_from_the_last_gain_that_was_worth_it(problem, begun):
    candidate, linear, _ = begun
    errors, nearest = linear.errors(candidate.totals), Nearest()
    for missed, far, waited in [
        (1.0, 2, 0),
        (0.999, 2, 0),  # while one is far, any gain is
        (1.2, 0, 0),
        (1.19, 0, 1),
        (1.15, 0, 2),
        (1.13, 0, 0),
        (1.12, 0, 1),
        (1.2, 0, 2),
    ]:
        nearest.see(candidate, replace(errors, missed=missed), far)
        assert nearest.waited == waited
    assert nearest.errors.missed == 1.12


def test_what_was_waited_while_numbers_were_far_does_not_end_a_run_once_they_are_near(problem, monkeypatch):
    search = _Search(problem, preset("fast"), np.random.default_rng(1))
    errors = search.linear.errors(search.candidate.totals)

    def settle(far, waited):
        search.settled = Settled(problem, problem)
        search.nearest = Nearest(search.candidate, errors, far, waited, errors.missed)
        search._settles(50, errors)
        return search.nearest.waited

    found = replace(by_refit(problem, search.candidate), far=0, beyond=np.zeros(len(problem.tolerance)))
    monkeypatch.setattr(acceptance, "by_refit", lambda *_: replace(found, errors=replace(errors, matched=0)))
    assert settle(2, 45) == 0
    assert settle(0, 17) == 17


def test_where_a_start_is_not_calibrated_it_closes_in_once_all_else_stands_still(problem):
    schedule = Schedule(problem, preset("fast", start="released"))
    assert schedule.phase == "approach" and not schedule.closes_now(1, 99)
    schedule.phase = "together"
    assert not schedule.closes_now(1, 19) and not schedule.closes_now(0, 99)  # it moves; none is far
    assert schedule.closes_now(1, 20) and schedule.phase == "closing"
    schedule.closed()
    assert schedule.phase == "together" and not schedule.closes_now(1, 99)  # once
    began = Schedule(problem, preset("fast"))
    began.closed()
    assert not began.closes_now(1, 99)


def test_numbers_are_held_while_one_is_far_let_go_now_and_then_and_given_up_in_the_end(problem):
    schedule = Schedule(problem, preset("fast"))
    schedule.closed()
    near, far = np.log(0.005) / np.log(3e-4), np.zeros(len(problem.tolerance))
    far[3] = 1.01

    def tightness_after(waits, reached=False):
        for waited in waits:
            schedule.advance(far, waited, reached)
        return schedule.tightness

    assert near <= tightness_after([0] * 50) < near + 0.03 and schedule.emphasis.argmax() == 3
    assert tightness_after([10]) == pytest.approx(near - 5 * 0.03)
    assert near <= tightness_after(range(11, 20)) < near + 0.03
    assert tightness_after([20]) == pytest.approx(near - 10 * 0.03)
    assert near <= tightness_after([25] * 11) < near + 0.03
    assert near <= tightness_after([10] * 11, reached=True) < near + 0.03
    assert tightness_after([80] * 20) == 1.0


def test_it_ends_once_all_are_near_where_gains_bring_no_nearer_data_set_for_long():
    """Two thirds of the time of a run would else go by for a digit now and then."""
    assert Closing(rounds=40).ended(40, True)
    assert not Closing(rounds=40).ended(40, False)
    assert not Closing(rounds=40).ended(39, True)
    assert not Closing(rounds=39).ended(40, True)


def test_swaps_are_short_while_far_and_of_any_length_nearer():
    rng, closing = np.random.default_rng(1), Closing()
    assert {closing.reach(rng) for _ in range(9)} == {0.5}
    closing.near = 0.01
    reaches = [closing.reach(rng) for _ in range(99)]
    assert 0.5 <= min(reaches) < 1.0 and 10.0 < max(reaches) <= 20.0


@pytest.mark.parametrize(("few", "times"), [(False, 30), (True, 8)])
def test_a_third_round_without_gain_goes_on_but_not_for_ever(few, times):
    rng, closing = np.random.default_rng(1), Closing(few=few)
    went_on = [closing.learn(False, False, rng) for _ in range(150)]
    assert [number for number, on in enumerate(went_on, 1) if on] == list(range(3, 3 * times + 3, 3))
    assert closing.ended(0, False) and not Closing().ended(99, True)


@pytest.mark.parametrize(("few", "rounds"), [(False, 60), (True, 100)])
def test_another_start_is_begun_where_gains_bring_no_nearer_data_set_for_long(few, rounds):
    """However small these are; not before it had its time since it began."""
    assert Closing(rounds=rounds, few=few).in_vain(rounds, 1)
    assert not Closing(rounds=rounds, few=few).in_vain(rounds - 1, 1)
    assert not Closing(rounds=rounds - 1, few=few).in_vain(rounds, 1)


def test_another_start_is_begun_the_sooner_the_more_numbers_are_far():
    still = Standing(waited=TUNING.stuck)
    assert [Closing(rounds=rounds, standing=still).in_vain(0, 10) for rounds in (29, 30)] == [False, True]
    assert [Closing(rounds=rounds, standing=still).in_vain(0, 3) for rounds in (99, 100)] == [False, True]
    assert not Closing(rounds=29, standing=still).in_vain(0, 274)
    assert not Closing(rounds=30, standing=Standing(waited=TUNING.stuck - 1)).in_vain(99, 274)  # it still comes nearer
    assert not Closing(rounds=100, again=False).in_vain(100, 1_335)


@pytest.mark.parametrize("near", [False, True])
def test_a_search_in_vain_begins_anew_unless_all_have_been_near(problem, near):
    search = _Search(problem, preset("fast"), np.random.default_rng(3))
    *_, last = islice(search.run(1), 2)
    assert search.schedule.phase == "closing"
    search.closing.rounds, search.nearest.waited = 99, 99
    search.settled.candidate = deepcopy(search.candidate) if near else None
    search._close(last.number + 1)
    assert search.closing.rounds == (100 if near else 0)
    assert (search.standstill.since == last.number + 1) != near


def test_totals_are_those_of_the_records_after_each_generation_of_closing_in(problem):
    """A round changes records alone; a data set that goes on is added up, whether it gained or not."""
    search, moved = _Search(problem, preset("fast"), np.random.default_rng(3)), 0
    for _ in islice(search.run(0), 12):
        moved += search.schedule.phase == "closing"
        assert np.allclose(search.candidate.totals, problem.totals(search.candidate.codes))
    assert moved > 5


def test_another_start_is_judged_by_a_map_of_its_own(problem):
    search = _Search(problem, preset("fast"), np.random.default_rng(3))
    before = search.candidate.codes.copy()
    search._begin_anew(7)
    assert not np.array_equal(search.candidate.codes, before)
    assert np.array_equal(search.linear.origin, search.candidate.totals)


def test_a_release_of_regressions_tables_and_means_is_reproduced(problem):
    """By refit: every number at its digits or within 1 % of its sampling error."""
    *_, end = evolve(problem, preset("fast"), np.random.default_rng(2))
    refits = [one.recompute(Microdata(problem.codebook, end.codes)) for one in problem.released]
    assert end.stop in ("matched", "near") and all(refit.near.all() for refit in refits)


def test_a_rounded_count_that_is_off_is_mended():
    """In a table of which most cells print as 0, swaps cannot bring it back, however wide its range."""
    data = from_frame(sars_like(1_500, 1991), sars_codebook())
    rounded = {"kind": "frequencies", "by": ["AREAP", "MSTATUS"], "protection": {"round_to": 5}}
    entries = [*ENTRIES[:2], rounded]
    adapter = TypeAdapter(OutputEntry)
    outputs = [adapter.validate_python(entry).build(data.codebook, at)[0] for at, entry in enumerate(entries)]
    search = _Search(
        Problem(data.codebook, 1_500, tuple(release(output, data) for output in outputs)),
        preset("fast"),
        np.random.default_rng(4),
    )
    at = search.candidate
    at.codes[:25] = at.codes[0]  # one cell has some twenty too many
    at.totals = search.problem.totals(at.codes)
    search.linear = search._linearise()

    def out():
        linear, totals = search.linear, search.candidate.totals
        equations = equations_at(linear, search.candidate, search.problem.sampling_errors(search.candidate.codes))
        return int((((totals < linear.low) | (totals > linear.high)) & equations.counts & ~equations.kept).sum())

    assert out() > 0 and search.schedule.phase == "closing"
    for number in range(1, 8):
        search._close(number)
        search.linear = search._linearise()
    assert out() == 0


def test_a_run_ends_where_closing_in_does_with_all_near_unless_it_is_brief_or_of_few_people():
    assert Closing().last
    assert not Closing(brief=True).last
    assert not Closing(few=True).last
