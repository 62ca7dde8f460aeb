"""A pool drawn anew has what its weights asked for, in the cells of a table of counts, and nothing that cannot be."""

import numpy as np
import pandas as pd
import pytest
from problems import published

from outrisk.evolve import calibrated
from outrisk.evolve.asked import nearest
from outrisk.evolve.calibrated import Pool, pool_of
from outrisk.evolve.problem import Problem
from outrisk.evolve.redrawn import LEAST, drawn_anew
from outrisk.evolve.start import from_released
from outrisk.evolve.told_counts import tables_of
from outrisk.microdata import from_frame, infer_codebook
from outrisk.outputs import read_rules
from outrisk.problem.blocks import joint_over, level_in

TABLE = {"kind": "frequencies", "by": ["town", "job", "sex"]}
LOGIT = {
    "kind": "logit",
    "formula": "ill ~ age + years + C(town)",
    "event": 1,
    "release": ["coefficients", "standard_errors"],
}
OLS = {"kind": "ols", "formula": "years ~ age + C(job)", "release": ["coefficients", "standard_errors"]}
MEANS = {"kind": "magnitudes", "value": "age", "by": ["town", "job"], "statistics": ["mean", "sd"]}
LONGEST = {"kind": "quantiles", "value": "years", "by": ["sex"], "quantiles": [1.0]}


def people(n, seed=1):
    """Years that go with age, of which no table tells."""
    rng = np.random.default_rng(seed)
    town, job, sex = (
        rng.choice(4, n, p=[0.6, 0.3, 0.08, 0.02]),
        rng.choice(3, n, p=[0.7, 0.27, 0.03]),
        rng.integers(0, 2, n),
    )
    age = np.clip(np.rint(rng.normal(35 + 4 * town + 3 * job, 9)), 18, 69).astype(int)
    years = np.clip(np.rint((age - 18) * 0.6 + rng.normal(0, 2, n)), 0, 30).astype(int)
    ill = (rng.random(n) < 1 / (1 + np.exp(2.0 + 0.06 * age - 0.2 * years - 0.5 * (town == 2)))).astype(int)
    return pd.DataFrame({"town": town, "job": job, "sex": sex, "age": age, "years": years, "ill": ill})


def problem_of(frame, *entries):
    codebook, _ = infer_codebook(pd.concat([people(5_000, 7), frame]))
    return published(from_frame(frame, codebook), *entries)


@pytest.fixture(scope="module")
def problem():
    return problem_of(people(1_500), TABLE, LOGIT, OLS, MEANS, LONGEST)


@pytest.fixture(scope="module")
def drawn(problem):
    """A pool, weights of it, and what is drawn of these."""
    rng = np.random.default_rng(2)
    codes = from_released(problem)(9_000, rng)
    names = [variable.name for variable in problem.codebook.variables]
    weights = np.exp(0.1 * codes[:, names.index("years")].astype(float))
    weights[codes[:, names.index("age")] < 10] = 0.0
    weights *= problem.n_records / weights.sum()
    (table,) = (table for table in tables_of(problem) if len(table.variables) == 3)
    return codes, weights, table, drawn_anew(codes, weights, table, 9_000, problem.codebook.sizes, rng)


def test_each_cell_has_its_share_and_small_ones_enough(problem, drawn):
    _, _, table, new = drawn
    joint, counts = joint_over(table.variables, problem.codebook.sizes), table.counts.ravel()
    times = np.bincount(level_in(joint, new), minlength=len(counts))
    assert (times == np.where(counts > 0, np.maximum(LEAST, np.rint(9_000 * counts / 1_500)), 0)).all()
    assert (counts == 1).any() and (counts > 100).any()


def test_what_no_table_counts_is_drawn_together_by_weight(problem, drawn):
    codes, weights, table, new = drawn
    rest = [v for v in range(codes.shape[1]) if v not in table.variables]
    assert {*map(tuple, new[:, rest])} <= {*map(tuple, codes[weights > 0][:, rest])}
    names = [variable.name for variable in problem.codebook.variables]
    years = names.index("years")
    asked = weights @ codes[:, years] / weights.sum()
    assert abs(new[:, years].mean() - asked) < 0.1 * abs(codes[:, years].mean() - asked)


def test_the_new_pool_comes_nearer_than_the_first(problem, monkeypatch):
    """Where the first is weighed in vain: here it is said so, as these few numbers are met without."""
    draw, said = from_released(problem), []

    def in_vain(*given):
        weights, met = nearest(*given)
        said.append(met)
        return weights, met and len(said) > 1

    first = pool_of(problem, draw, 1_500, np.random.default_rng(1))
    monkeypatch.setattr(calibrated, "nearest", in_vain)
    second = pool_of(problem, draw, 1_500, np.random.default_rng(1))
    assert not first.anew and second.anew and second.linear[1]
    assert second.start.sum() == pytest.approx(1_500)

    def evenly(pool):
        weights, _ = pool.linear
        return weights.sum() ** 2 / (weights @ weights) / len(weights)

    assert evenly(second) > 0.95 > evenly(first)
    assert np.median(np.abs(second.missed_of_linear())) < 0.1
    said.clear()
    assert (pool_of(problem, draw, 1_500, np.random.default_rng(1)).codes == second.codes).all()


def test_nothing_is_drawn_that_breaks_a_rule_or_lies_beyond_a_published_largest_value(monkeypatch):
    frame = people(1_500)
    longest = frame.groupby("sex").years.max()
    free = problem_of(frame, TABLE, LOGIT, OLS, MEANS, LONGEST)
    names = [variable.name for variable in free.codebook.variables]
    rules = tuple(rule.mask for rule in read_rules(free.codebook, ("job != 2 or age >= 25",)))
    problem = Problem(free.codebook, free.n_records, free.released, rules)
    monkeypatch.setattr(calibrated, "nearest", lambda *given: (nearest(*given)[0], False))
    pool = pool_of(problem, from_released(problem), 1_500, np.random.default_rng(1))
    assert pool.anew
    values = {name: np.array(problem.codebook.variables[j].values)[pool.codes[:, j]] for j, name in enumerate(names)}
    assert ((values["job"] != 2) | (values["age"] >= 25)).all() and (values["job"] == 2).any()
    for sex, most in longest.items():
        assert values["years"][values["sex"] == sex].max() <= most


def test_equations_that_follow_from_others_are_left_out_of_steps(problem):
    twice = problem_of(
        people(1_500),
        TABLE,
        TABLE,
        LOGIT | {"release": ["coefficients", "standard_errors", "p_values", "confidence_limits"]},
    )
    pool = Pool.of(twice, from_released(twice)(6_000, np.random.default_rng(1)))
    asked = pool.asked(pool.start, True)
    spread = asked.spread(pool.start)
    told = asked.telling(pool.start, spread)
    rows = np.hstack([asked.dense, asked.thin.toarray()]) * np.sqrt(pool.start)[:, None]
    rows = rows[:, spread > 1e-9] / spread[spread > 1e-9]
    assert len(told) == np.linalg.matrix_rank(rows, tol=1e-3 * np.sqrt(rows.shape[1])) < 0.7 * rows.shape[1]
    some = asked.some(told)
    np.testing.assert_array_equal(some.missing, asked.missing[told])
    np.testing.assert_allclose(some.spread(pool.start), spread[told])
