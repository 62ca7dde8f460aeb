"""Regressions of few people without a table: large changes are chosen by what smaller ones cannot put right."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from problems import drawn
from pydantic import TypeAdapter

from outrisk.config import OutputEntry
from outrisk.evolve import by_size
from outrisk.evolve.by_size import BySize, closing_of
from outrisk.evolve.compiled.choices import choose
from outrisk.evolve.freely import Freely
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.evolve.swaps import Edits
from outrisk.evolve.tuning import TUNING
from outrisk.microdata import Microdata, from_frame, infer_codebook
from outrisk.outputs import release

ERRORS = ["coefficients", "standard_errors"]
LOGIT = {"kind": "logit", "formula": "ill ~ age + C(sex)", "event": 1, "release": ERRORS, "decimals": 3}
OLS = {"kind": "ols", "formula": "age ~ C(town) + C(sex)", "release": [*ERRORS, "r2"], "decimals": 3}


def regressions(n):
    rng = np.random.default_rng(1)
    town, sex = rng.choice(4, n, p=[0.5, 0.3, 0.1, 0.1]), rng.integers(0, 2, n)
    age = np.clip(np.round(rng.normal(40 + 5 * town, 15, n)), 16, 90).astype(int)
    ill = (rng.random(n) < 1 / (1 + np.exp(3.0 - 0.05 * age - 0.5 * sex))).astype(int)
    frame = pd.DataFrame({"town": town, "sex": sex, "age": age, "ill": ill})
    codebook, _ = infer_codebook(frame)
    entries = [TypeAdapter(OutputEntry).validate_python(entry) for entry in (LOGIT, OLS)]
    outputs = [each for at, entry in enumerate(entries, 1) for each in entry.build(codebook, at)]
    data = from_frame(frame, codebook)
    return Problem(codebook, n, tuple(release(output, data) for output in outputs))


@pytest.fixture(scope="module")
def few():
    return regressions(200)


def begun(problem):
    """A closing, and what a round needs, around a start."""
    candidate, linear, rng = drawn(problem)
    closing = closing_of(problem)
    return closing, candidate, linear, closing.look(linear, candidate, True), rng


def test_the_best_choice_of_all_is_met():
    """Of three changes of each of five records, or none, all 1,024 choices beside it."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows, first, missing = rng.normal(size=(15, 4)), np.arange(0, 18, 3), rng.normal(size=4) * 2.0
        every = [[3 * i + one for i, one in enumerate(each) if one < 3] for each in product(range(4), repeat=5)]
        left = [np.sum((missing - rows[some].sum(axis=0)) ** 2) for some in every]
        found = choose(rows, first, missing, 2.0, 0.02, 20_000, rng)
        assert len(np.unique(found // 3)) == len(found)
        assert np.sum((missing - rows[found].sum(axis=0)) ** 2) == pytest.approx(min(left))


def test_nothing_is_chosen_where_nothing_is_missed():
    rows = np.random.default_rng(1).normal(size=(6, 3))
    assert len(choose(rows, np.array([0, 2, 6]), np.zeros(3), 1.0, 0.01, 1_000, np.random.default_rng(2))) == 0


def test_it_is_for_few_people(few):
    numbers = int(few.known.sum())
    for people, kind in ((60 * numbers, BySize), (60 * numbers + 1, Freely)):
        assert type(closing_of(replace(few, n_records=people))) is kind
    assert type(closing_of(replace(few, n_records=4 * TUNING.anew + 1, released=4 * few.released))) is Freely


def test_what_smaller_changes_can_put_right_counts_for_little(few):
    closing, candidate, _, equations, rng = begun(few)
    assert closing.merit(equations) == np.inf  # nothing to measure it in yet
    closing.size = 1e-9
    closing._measure(equations, candidate.codes, rng)
    plain = np.sum((by_size._beyond(equations) / closing.unit) ** 2)
    assert closing.merit(equations) == pytest.approx(plain)  # no change is smaller
    merits = []
    for size in (3.0, 30.0, 300.0):
        closing.size = size
        closing._measure(equations, candidate.codes, rng)
        merits.append(closing.merit(equations))
        inverse = closing.root @ closing.root.T
        miss = by_size._beyond(equations) / closing.unit
        assert merits[-1] == pytest.approx(miss @ inverse @ miss) and np.linalg.eigvalsh(inverse)[-1] <= 1.0 + 1e-9
    assert plain > merits[0] > merits[1] > merits[2] > 0.0 and merits[2] < 0.01 * plain


def test_a_number_printed_coarsely_is_met_anywhere_within_its_digits(few):
    _, _, _, equations, _ = begun(few)
    q = len(equations.missing)
    half, missing = np.full(q, 0.5), np.linspace(-0.3, 0.3, q)
    coarse = replace(equations, half=half, error=np.full(q, 4.9), missing=missing)
    fine = replace(coarse, error=np.full(q, 5.1))
    assert not by_size._beyond(coarse).any() and np.array_equal(by_size._beyond(fine), missing)
    beyond = by_size._beyond(replace(coarse, missing=np.full(q, -0.6)))
    assert beyond == pytest.approx(np.full(q, -0.25))


def test_a_data_set_is_compared_where_a_number_has_come_or_gone(few):
    """A count that leaves its range is one equation more: all that it is off counts, in what it may be."""
    closing, candidate, _, equations, rng = begun(few)
    q, before = len(equations.number), closing.merit(equations)
    assert before == np.inf
    closing._measure(equations, candidate.codes, rng)
    whole = closing.merit(equations)
    met = equations.missing.copy()
    met[-1] = 0.0
    gone = replace(
        equations, number=equations.number[:-1], missing=met[:-1], half=equations.half[:-1], error=equations.error[:-1]
    )
    assert closing.merit(gone) == pytest.approx(closing.merit(replace(equations, missing=met)))
    unit = by_size._unit(equations)[0]
    more = np.append(equations.number, equations.number[0])
    new = [np.append(each, each[0]) for each in (equations.half, equations.error)]
    come = replace(equations, number=more, missing=np.append(equations.missing, 7.0 * unit), half=new[0], error=new[1])
    beyond = by_size._beyond(come)[q] / unit
    assert closing.merit(come) == pytest.approx(whole + beyond**2) and beyond > 1.0


def test_a_round_changes_one_value_of_some_records(few):
    closing, candidate, linear, equations, rng = begun(few)
    closing.some, before = 20.0, candidate.codes.copy()
    closing.round(candidate.codes, equations, linear, rng)
    changed = (candidate.codes != before).sum(axis=1)
    assert 0 < (changed > 0).sum() <= 20 and changed.max() == 1


def test_a_round_without_a_change_to_make_leaves_all_as_it_was(few, monkeypatch):
    closing, candidate, linear, equations, rng = begun(few)
    monkeypatch.setattr(by_size, "changed_alone", lambda problem, codes, who, rng: Edits.of_one(who[:0], codes[:0]))
    before = candidate.codes.copy()
    closing.round(candidate.codes, equations, linear, rng)
    assert np.array_equal(candidate.codes, before) and closing.merit(equations) > 0.0


def test_sizes_fall_and_begin_again(few):
    closing, candidate, _, equations, rng = begun(few)
    sizes = []
    for _ in range(25):
        closing._measure(equations, candidate.codes, rng)
        closing.idle = by_size.IDLE
        closing.tighten(equations)
        sizes.append(closing.size)
        assert closing.root is None and closing.idle == 0
    largest, least = by_size.SIZES
    again = sizes.index(largest)
    assert sizes[:again] == pytest.approx([largest * 0.8 ** (at + 1) for at in range(again)])
    assert least <= sizes[again - 1] < least / 0.8 and sizes[again + 1] == sizes[0]


def test_a_generation_has_several_rounds_until_no_number_is_far(monkeypatch):
    problem = regressions(1_000)
    rounds, of, original = [], [0], BySize.round
    monkeypatch.setattr(BySize, "round", lambda *given: of.append(0) or original(*given))
    for generation in evolve(problem, preset("fast"), np.random.default_rng(1)):
        rounds.append(len(of) - 1)
        of[:] = [0]
        if generation.number == 40:
            break
    assert generation.near
    assert max(rounds) == rounds[1] == by_size.TURNS[0]
    assert np.median(rounds) == 1


def test_a_round_looks_at_fewer_records_after_one_without_gain(few):
    closing, *_, rng = begun(few)
    assert not closing.learn(False, False, rng) and closing.some == 350.0 and closing.idle == 1
    assert closing.learn(True, False, rng) and closing.some == 455.0 and closing.idle == 0
    for _ in range(58):
        closing.learn(False, False, rng)
    assert closing.some == by_size.LEAST and closing.ended(60, False) and not closing.ended(59, False)


def test_more_numbers_are_near_than_with_all_changes_alike(monkeypatch):
    """By refit, of 17 numbers of 120 people, after 100 generations, five seeds."""
    problem = regressions(120)

    def near(seed):
        for generation in evolve(problem, preset("fast"), np.random.default_rng(seed)):
            if generation.number == 100:
                break
        synthetic = Microdata(problem.codebook, generation.codes)
        return sum(int(one.recompute(synthetic).near.sum()) for one in problem.released)

    by_sizes = [near(seed) for seed in range(1, 6)]
    monkeypatch.setattr(by_size, "PEOPLE", (0, 0))
    alike = [near(seed) for seed in range(1, 6)]
    assert np.mean(by_sizes) > np.mean(alike) + 2.0, (by_sizes, alike)  # 15.4 and 11.0
