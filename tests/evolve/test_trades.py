"""Trades: what each changes is worked out once, and holds whichever of the others are made."""

from dataclasses import replace

import numpy as np
from blocks import FAMILIES, random_codebook, random_model, random_problem
from hypothesis import given, settings
from hypothesis import strategies as st

from outrisk.codebook import Codebook, Variable
from outrisk.evolve.candidate import draw_candidate
from outrisk.evolve.compiled import trades
from outrisk.evolve.compiled.plan import build_plan
from outrisk.evolve.compiled.sums import bends_of, information_of
from outrisk.evolve.linear_map import linearise
from outrisk.evolve.problem import Problem
from outrisk.evolve.start import uniform
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, logit_from_terms, release
from outrisk.problem.blocks import breaks_rule
from outrisk.problem.released import TallyPart

SEEDS = st.integers(0, 10_000)


def drawn(problem, codes, totals, rng, most=200):
    linear = linearise(problem, codes, totals, "tightening")
    residual, _ = linear.slopes(totals)
    return linear, residual, trades.draw(problem.plan, codes, *linear.arrays, len(residual), most, False, rng)


def changes_of(found, m, residual):
    """Of trade m: the change of all residuals, and of the totals that it moves."""
    change, at = np.zeros(len(residual)), found.change_ptr[m]
    for first, length in found.segments[found.segment_ptr[m] : found.segment_ptr[m + 1]]:
        change[first : first + length] += found.changes[at : at + length]
        at += length
    assert at == found.change_ptr[m + 1]
    where = slice(found.total_ptr[m], found.total_ptr[m + 1])
    return change, dict(zip(found.totals[where], found.shares[where], strict=True))


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.booleans())
def test_a_trade_changes_what_it_says_and_keeps_rules(seed, rules):
    problem, _ = random_problem(seed, rules=rules)
    rng = np.random.default_rng(seed)
    candidate = draw_candidate(problem, uniform(problem), rng)
    codes, totals = candidate.codes, candidate.totals
    linear, residual, found = drawn(problem, codes, totals, rng)
    taking_part = found.records[found.records >= 0]
    assert len(np.unique(taking_part)) == len(taking_part)
    tallied = np.concatenate([np.full(sum(b.size for b in p.blocks), isinstance(p, TallyPart)) for p in problem.parts])
    for m in range(len(found.variable)):
        alone = np.arange(len(found.variable)) == m
        after, moved = codes.copy(), totals.copy()
        count = trades.make(problem.plan, found, alone, after, moved)
        j, records = found.variable[m], found.records[m][found.records[m] >= 0]
        assert count == len(records) and (np.delete(after, j, 1) == np.delete(codes, j, 1)).all()
        assert set(np.flatnonzero((after != codes).any(axis=1))) == set(records)
        if len(records) > 1:
            np.testing.assert_array_equal(np.sort(after[:, j]), np.sort(codes[:, j]))
        assert not breaks_rule(problem.rules, after).any()
        np.testing.assert_allclose(moved, problem.totals(after), rtol=1e-9, atol=1e-7)
        change, shares = changes_of(found, m, residual)
        expected = linear.slopes(moved)[0] - residual
        np.testing.assert_allclose(change, expected, rtol=1e-4, atol=1e-5 * (1 + np.abs(expected).max()))
        difference = np.where(tallied & (linear.weight > 0), moved - totals, 0.0)
        said = np.zeros(len(totals))
        said[list(shares)] = list(shares.values())
        np.testing.assert_allclose(said, difference, atol=1e-7)


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.sampled_from([0.0, 1e-9]))
def test_annealing_without_heat_never_raises_the_fitness(seed, heat):
    problem, codes = random_problem(seed)
    rng = np.random.default_rng(seed)
    totals = problem.totals(codes)
    linear, residual, found = drawn(problem, codes, totals, rng)
    before, moved = linear.fitness(totals), totals.copy()
    made = trades.anneal(found, residual, moved, linear.low, linear.high, linear.weight, heat, heat, 5, rng)
    trades.make(problem.plan, found, made, codes, totals)
    np.testing.assert_allclose(totals, problem.totals(codes), rtol=1e-9, atol=1e-7)
    assert linear.fitness(totals) <= before * (1 + 1e-4) + 1e-6
    tallied = linear.weight > 0
    np.testing.assert_allclose(moved[tallied], totals[tallied], atol=1e-7)


def beside_tables(n=3000):
    """A logit beside two tables, and the records that they were published of."""
    rng = np.random.default_rng(4)
    names = {"a": 3, "b": 3, "c": 4, "y": 2}
    codebook = Codebook(tuple(Variable(k, "categorical", tuple(map(str, range(s)))) for k, s in names.items()))
    codes = np.stack([rng.integers(0, size, n) for size in names.values()], axis=1).astype(np.uint16)
    codes[:, 3] = rng.random(n) < 0.2 + 0.1 * codes[:, 0] + 0.1 * codes[:, 2]
    data = Microdata(codebook, codes)
    outputs = [
        logit_from_terms(codebook, "logit", "y", ["a", "b", "c"], {}),
        Frequencies(codebook, "a by y", ("a", "y")),
        Frequencies(codebook, "b by c", ("b", "c")),
    ]
    return Problem(codebook, n, tuple(release(output, data) for output in outputs)), codes


def test_trades_meet_a_regression_and_leave_the_tables_beside_it_as_they_are():
    problem, codes = beside_tables()
    rng = np.random.default_rng(1)
    codes[:, [0, 3]] = rng.permutation(codes[:, [0, 3]])
    totals = problem.totals(codes)
    tables = [linearise(problem, codes, totals, "chi2").numbers(totals)[-18:]]
    errors, twofold = [], 0
    for _ in range(8):
        linear, residual, found = drawn(problem, codes, totals, rng, 3000)
        errors.append(np.abs(linear.distances(totals) / problem.tolerance).max())
        twofold += (found.records[:, 2] >= 0).sum()
        ranges = totals.copy(), linear.low, linear.high, linear.weight
        made = trades.anneal(found, residual, *ranges, 0.1, 0.001, 30, rng)
        trades.make(problem.plan, found, made, codes, totals)
        tables.append(linear.numbers(totals)[-18:])
    for table in tables:
        np.testing.assert_array_equal(table, tables[0])
    assert twofold > 0
    assert errors[0] > 1000 and errors[-1] < errors[0] / 20


def test_bends_are_the_change_of_the_information_with_the_coefficients():
    for family in (each for each in FAMILIES if each not in ("none", "ols")):
        for seed in range(4):
            rng = np.random.default_rng(seed)
            codebook = random_codebook(rng)
            codes = np.stack([rng.integers(0, size, 30) for size in codebook.sizes], axis=1).astype(np.uint16)
            model = random_model(rng, codebook.sizes, family)
            plan = build_plan(codebook, [model], [1])
            bends = bends_of(plan, plan.blocks[0], codes, 1)
            rows, columns = np.tril_indices(model.n_score)
            step = 1e-4
            for k in range(model.n_score):
                ends = []
                for sign in (1, -1):
                    b = model.parameters
                    b[k] += sign * step
                    coefficients, shape = np.split(b, [model.coefficients.size])
                    moved = replace(model, coefficients=coefficients.reshape(model.coefficients.shape), shape=shape)
                    there = build_plan(codebook, [moved], [1])
                    ends.append(information_of(there, there.blocks[0], codes)[rows, columns])
                slope = (ends[0] - ends[1]) / (2 * step)
                np.testing.assert_allclose(bends[:, k], slope, rtol=1e-4, atol=1e-4 * (1 + np.abs(slope).max()))
