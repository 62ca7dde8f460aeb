"""Totals against their definition, running totals against totals afresh, and what climbing keeps."""

from dataclasses import replace

import numpy as np
import pytest
from blocks import FAMILIES, random_codebook, random_model, random_problem
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from slow import block_totals, level, model_contribution, score_information_likelihood

from outrisk.evolve.breeding import mate, mutate
from outrisk.evolve.candidate import Candidate, draw_candidate
from outrisk.evolve.compiled import climb as kernels
from outrisk.evolve.compiled.layout import FAMILIES as NUMBER
from outrisk.evolve.compiled.layout import PROFILE, WHOLE
from outrisk.evolve.compiled.plan import build_plan, marks_of
from outrisk.evolve.compiled.record import derivatives
from outrisk.evolve.compiled.sums import information_of
from outrisk.evolve.linear_map import linearise
from outrisk.evolve.start import uniform
from outrisk.problem.blocks import Tally, breaks_rule, joint_over
from outrisk.problem.influence import derivatives as of_many
from outrisk.problem.released import ModelPart

SEEDS = st.integers(0, 10_000)
SHAPES = {"ologit": (-0.5, 0.7), "oprobit": (-0.5, 0.7), "negbin": (0.5,)}
TABLED = st.sampled_from([0, 12])  # whether models have tables of what each kind of record adds
close = {"rtol": 1e-9, "atol": 1e-7}


@njit
def one_derivative(family, y, eta, residual, curvature):
    return derivatives(family, y, eta, residual, curvature, len(eta), True)


def climb(problem, codes, totals, linear, visits, exchange, rng):
    ranges = (*linear.arrays, *linear.slopes(totals))
    return kernels.climb(problem.plan, codes, totals, *ranges, visits, exchange, 0.0, rng)


@settings(max_examples=80, deadline=None)
@given(SEEDS)
def test_totals_equal_their_definition(seed):
    problem, codes = random_problem(seed)
    expected = [block_totals(block, codes) for part in problem.parts for block in part.blocks]
    np.testing.assert_allclose(problem.totals(codes), np.concatenate(expected), **close)


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_totals_of_many_batches_follow_mutation_and_mating(seed):
    problem, codes = random_problem(seed)
    expected = [block_totals(block, codes) for part in problem.parts for block in part.blocks]
    many, other = np.tile(codes, (15, 1)), np.tile(codes[::-1], (15, 1))
    totals, other_totals = problem.totals(many), problem.totals(other)
    np.testing.assert_allclose(totals, 15 * np.concatenate(expected), **close)
    rng = np.random.default_rng(seed)
    one, two = Candidate(many, totals), Candidate(other, other_totals)
    mutate(problem, one, 0.6, rng)
    mate(problem, one, two, 0.7, rng)
    np.testing.assert_allclose(totals, problem.totals(many), **close)
    np.testing.assert_allclose(other_totals, problem.totals(other), **close)


@pytest.mark.parametrize("copies", [1, 1000])  # few records are summed one by one, many by the levels of terms
@pytest.mark.parametrize("family", FAMILIES[1:])
def test_information_equals_its_definition(family, copies):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        codebook = random_codebook(rng)
        codes = np.stack([rng.integers(0, size, 30) for size in codebook.sizes], axis=1).astype(np.uint16)
        model = random_model(rng, codebook.sizes, family)
        plan = build_plan(codebook, [model], [1])
        full = replace(model, information=True)
        lower = block_totals(full, codes)[model.n_score :][: full.n_information]
        found = information_of(plan, plan.blocks[0], np.tile(codes, (copies, 1)))
        np.testing.assert_allclose(found[np.tril_indices(model.n_score)], copies * lower, **close)
        np.testing.assert_allclose(found, found.T, **close)


@pytest.mark.parametrize("family", [family for family in FAMILIES[1:] if family not in SHAPES])
@pytest.mark.parametrize("eta", [-35.0, -3.0, 0.0, 0.4, 6.0, 35.0])
def test_derivatives_are_those_of_the_log_likelihood(family, eta):
    for y in (0.0, 1.0):
        residual, curvature = np.zeros(1), np.zeros((1, 1))
        value = one_derivative(NUMBER[family], y, np.array([eta]), residual, curvature)
        assert np.isfinite([value, residual[0], curvature[0, 0]]).all() and curvature[0, 0] >= 0
        if abs(eta) > 30:
            continue
        step = 1e-5
        ends = [score_information_likelihood(family, [eta + sign * step], y)[2] for sign in (-1, 1)]
        slope = (ends[1] - ends[0]) / (2 * step) * (-0.5 if family == "ols" else 1.0)
        assert residual[0] == pytest.approx(slope, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("family", SHAPES)
@pytest.mark.parametrize("eta", [-35.0, -3.0, 0.0, 0.4, 6.0, 35.0])
def test_derivatives_in_a_shape_are_those_of_the_log_likelihood(family, eta):
    shape = SHAPES[family]
    at, size = np.array([eta, *shape]), 1 + len(shape)
    for y in (0.0, 1.0, 2.0):
        residual, curvature = np.full(size, np.nan), np.full((size, size), np.nan)
        value = one_derivative(NUMBER[family], y, at, residual, curvature)
        found = (residual[None], np.tril(curvature)[None], np.array([value]))
        assert all(np.isfinite(each).all() for each in found)
        first, second, logs = of_many(family, np.array([y]), at[None])
        second = np.tril(second[0])[None]
        far = {"rtol": 1e-2, "atol": 1e-2} if family == "oprobit" and abs(eta) > 30 else {"rtol": 1e-8, "atol": 1e-9}
        for one, other in zip(found, (first, second, logs), strict=True):
            np.testing.assert_allclose(one, other, **far)
        if abs(eta) < 30:
            slow = score_information_likelihood(family, at, y)
            for one, other in zip(found, (slow[0], np.tril(slow[1]), slow[2]), strict=True):
                np.testing.assert_allclose(one[0], other, rtol=1e-6, atol=1e-7)


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.sampled_from(["chi2", "mse", "precision", "tightening"]), st.booleans(), TABLED)
def test_running_totals_follow_every_edit(seed, fitness, exchange, kinds):
    problem, codes = random_problem(seed)
    problem = replace(problem, kinds_a_record=kinds)
    rng = np.random.default_rng(seed + 1)
    other = np.ascontiguousarray(codes[::-1])
    totals, other_totals = problem.totals(codes), problem.totals(other)
    linear = linearise(problem, codes, totals, fitness)
    one, two = Candidate(codes, totals), Candidate(other, other_totals)
    for _ in range(3):
        mutate(problem, one, 0.1, rng)
        mate(problem, one, two, 0.3, rng)
        climb(problem, codes, totals, linear, 200, exchange, rng)
    np.testing.assert_allclose(totals, problem.totals(codes), **close)
    np.testing.assert_allclose(other_totals, problem.totals(other), **close)
    assert (codes < np.array(problem.codebook.sizes)).all()


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.sampled_from(["chi2", "precision", "tightening"]), st.booleans(), TABLED)
def test_climbing_never_raises_the_fitness(seed, fitness, exchange, kinds):
    problem, codes = random_problem(seed)
    problem = replace(problem, kinds_a_record=kinds)
    rng = np.random.default_rng(seed)
    totals = problem.totals(codes)
    linear = linearise(problem, codes, totals, fitness)
    for _ in range(20):
        before, old = codes.copy(), linear.fitness(totals)
        changed, looked = climb(problem, codes, totals, linear, 3, exchange, rng)
        assert linear.fitness(problem.totals(codes)) <= old + 1e-7 * (1 + old)
        assert (codes != before).sum() <= changed <= 6 and looked >= 0


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_profiles_of_all_records_sum_to_what_their_totals_give(seed):
    problem, codes = random_problem(seed)
    problem = replace(problem, kinds_a_record=10_000)
    totals = problem.totals(codes)
    linear = linearise(problem, codes, totals, "precision")
    forms, profiles, code = iter(linear.forms), linear.profiles, problem.plan.code
    for at, part in zip(problem.plan.blocks, problem.parts, strict=True):
        if not isinstance(part, ModelPart):
            continue
        form = next(forms)
        whole, start = code[at + WHOLE], code[at + PROFILE]
        assert whole >= 0
        joint = joint_over(code[whole + 1 : whole + 1 + 2 * code[whole] : 2].tolist(), problem.codebook.sizes)
        kinds = start + np.array([level(joint, row) for row in codes]) * part.n_numbers
        each = profiles[kinds[:, None] + np.arange(part.n_numbers)]
        gap = np.abs(each.sum(axis=0) - block_totals(part.model, codes) @ form)
        near = 1e-6 if part.model.shape.size else 1e-9  # a shape's second derivatives are differences there
        assert (gap <= 1e-6 + near * np.abs(each).sum(axis=0)).all()


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_the_gradient_is_that_of_the_fitness(seed):
    problem, codes = random_problem(seed)
    totals = problem.totals(codes)
    linear = linearise(problem, codes, totals, "precision")
    _, gradient = linear.slopes(totals)
    rng = np.random.default_rng(seed)
    step = rng.normal(0, 1e-4, len(totals)) * (linear.weight == 0)  # the totals of models
    ends = [linear.fitness(totals + sign * step) for sign in (-1, 1)]
    assert (ends[1] - ends[0]) / 2 == pytest.approx(2 * gradient @ step, rel=1e-5, abs=1e-7)


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.booleans())
def test_no_edit_ever_breaks_a_rule(seed, exchange):
    problem, _ = random_problem(seed, rules=True)
    rng = np.random.default_rng(seed)
    candidate = draw_candidate(problem, uniform(problem), rng)
    codes, totals = candidate.codes, candidate.totals
    linear = linearise(problem, codes, totals, "precision")
    for _ in range(5):
        mutate(problem, Candidate(codes, totals), 0.2, rng)
        climb(problem, codes, totals, linear, 200, exchange, rng)
        assert not breaks_rule(problem.rules, codes).any()


def test_a_rule_that_the_slow_twin_sees_broken_is_seen():
    problem, codes = random_problem(3, rules=True)
    rule = problem.rules[0]
    expected = [not rule.include[level(rule.joint, row)] for row in codes]
    assert any(expected) and breaks_rule(problem.rules, codes).tolist() == expected


def test_the_contribution_of_one_record_is_what_its_model_says():
    problem, codes = next(
        (problem, codes)
        for problem, codes in map(random_problem, range(50))
        if problem.parts[0].blocks[0].masks == () and hasattr(problem.parts[0].blocks[0], "family")
    )
    block = problem.parts[0].blocks[0]
    one = codes[:1]
    expected = model_contribution(block, one[0], block.response[level(block.place, one[0])])
    weight = block.weight.by_code[one[0][block.weight.variable]] if block.weight else 1.0
    np.testing.assert_allclose(problem.totals(one)[: block.size], weight * expected, **close)


def test_values_are_marked_at_which_a_count_begins_or_ends():
    """Of the values 0 to 9: those below 3, 3 itself, those from 5; in one group from 8."""
    sizes = [2, 10]
    joint = joint_over((0, 1), sizes)
    cell = np.array([[0, 0, 0, 1, -1, 2, 2, 2, 2, 2], [0, 0, 0, 1, -1, -1, -1, -1, 2, 2]], np.int32)
    tally = Tally(joint, 3, cell.ravel())
    assert marks_of(1, [tally], sizes) == [2, 3, 4, 5, 7, 8]
    assert marks_of(1, [replace(tally, value=np.ones(20)), Tally(joint, 20)], sizes) == []
