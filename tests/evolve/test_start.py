"""The start from released tables: the tree of strongest dependencies, and as many records as the tables say."""

import numpy as np
import pytest
from blocks import Affine, Named
from problems import random_data

from outrisk.codebook import Codebook, Variable
from outrisk.errors import EvolveError
from outrisk.evolve.candidate import draw_candidate
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.evolve.start import STARTS, from_released, links, uniform, univariate
from outrisk.evolve.told_counts import tables_of
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, release, released
from outrisk.problem.blocks import Mask, Model, Term, joint_over
from outrisk.problem.released import ModelPart, Released


@pytest.fixture(scope="module")
def chain():
    """a -> b -> c, d on its own; a and c depend on each other less than on b. All tables of two but those of d."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 4000)
    b = np.where(rng.random(4000) < 0.8, a, rng.integers(0, 3, 4000))
    c = np.where(rng.random(4000) < 0.7, b, rng.integers(0, 3, 4000))
    codebook = Codebook(tuple(Variable(name, "categorical", ("x", "y", "z")) for name in "abcd"))
    return Microdata(codebook, np.stack([a, b, c, rng.integers(0, 3, 4000)], axis=1).astype(np.uint16))


def table_of(codes, *variables):
    counts = np.zeros([3] * len(variables))
    np.add.at(counts, tuple(codes[:, j] for j in variables), 1)
    return counts


def problem_of(data, *by):
    outputs = [release(Frequencies(data.codebook, " ".join(names), names), data) for names in by]
    return Problem(data.codebook, len(data), tuple(outputs))


def test_records_start_as_the_strongest_tables_say(chain):
    problem = problem_of(chain, ("a", "c"), ("b", "a"), ("b", "c"))
    tree = {frozenset({each.variable, *each.given}) for each in links(tables_of(problem), problem.codebook.sizes)}
    assert tree == {frozenset({0}), frozenset({0, 1}), frozenset({1, 2}), frozenset({3})}
    codes = draw_candidate(problem, from_released(problem), np.random.default_rng(1)).codes
    for one, other in ((0, 1), (1, 2)):
        np.testing.assert_allclose(table_of(codes, one, other), table_of(chain.codes, one, other), atol=3)
    np.testing.assert_allclose(table_of(codes, 3), 4000 / 3, atol=1)
    given_b = table_of(codes, 1, 0)[..., None] * table_of(codes, 1, 2)[:, None, :] / table_of(codes, 1)[:, None, None]
    np.testing.assert_allclose(table_of(codes, 1, 0, 2), given_b, atol=60)  # independent given b: no order betrays it


def test_records_start_as_a_table_of_three_variables_says_beside_one_that_shares_one_of_them(chain):
    problem = problem_of(chain, ("c", "a", "b"), ("b", "d"))
    pairs = links(tables_of(problem), problem.codebook.sizes, pairs=True)
    assert {frozenset({each.variable, *each.given}) for each in pairs} >= {frozenset({0, 1}), frozenset({1, 2})}
    assert max(len(each.given) for each in pairs) == 1
    given = {each.variable: set(each.given) for each in links(tables_of(problem), problem.codebook.sizes)}
    assert sorted(len(some) for some in given.values()) == [0, 1, 1, 2]
    assert given[3] == {1}
    codes = draw_candidate(problem, from_released(problem), np.random.default_rng(1)).codes
    for variables in ((2, 0, 1), (1, 3)):
        np.testing.assert_array_equal(table_of(codes, *variables), table_of(chain.codes, *variables))


@pytest.mark.parametrize("withheld", [0.0, 400.0])
def test_variables_without_a_table_are_uniform_and_a_cell_of_which_nothing_is_known_takes_the_rest(withheld):
    data = random_data(np.random.default_rng(1), 5000)
    output = Frequencies(data.codebook, "t", ("area", "ill"))
    low = np.array([300.0, 500.0, 1000.0, 200.0, 0.0, 3000.0 - withheld])
    high = np.where(low == 0.0, np.inf, low)
    problem = Problem(data.codebook, 5000, (released(output, low, high),))
    codes = draw_candidate(problem, from_released(problem), np.random.default_rng(3)).codes
    np.testing.assert_allclose(np.bincount(codes[:, 1], minlength=5), 1000, atol=1)
    found = np.bincount(codes[:, 2].astype(int) * 2 + codes[:, 4], minlength=6)
    np.testing.assert_allclose(found, np.where(low == 0.0, withheld, low), atol=3)


def test_a_uniform_start_is_uniform_and_independent(chain):
    codes = uniform(problem_of(chain, ("a", "b")))(9000, np.random.default_rng(2))
    np.testing.assert_allclose(table_of(codes, 0, 1), 1000, atol=150)
    assert (table_of(codes, 0) != 3000).any()


@pytest.mark.parametrize("family", ["logit", "probit", "poisson", "mnlogit", "ologit", "oprobit", "negbin"])
@pytest.mark.parametrize("counted", [False, True])
def test_a_response_that_no_table_counts_is_drawn_from_its_model(family, counted):
    rng = np.random.default_rng(5)
    codebook = Codebook(tuple(Variable(f"v{j}", "integer", tuple(range(size))) for j, size in enumerate((4, 3, 9))))
    equations = 2 if family == "mnlogit" else 1
    terms = tuple(
        Term(joint, np.arange(at, at + 2), rng.normal(0, 0.5, (joint.size, 2)))
        for at, joint in ((0, joint_over([0], (4, 3, 9))), (2, joint_over([0, 1], (4, 3, 9))))
    )
    counts = family in ("poisson", "negbin")
    levels, excluded = np.arange(9), 8 if counts else 4
    shape = {"ologit": [-0.4, 0.9], "oprobit": [-0.4, 0.9], "negbin": [0.05]}.get(family, [])
    response = levels % 2 if family in ("logit", "probit") else levels % 3
    response = (levels if counts else response).astype(float)
    mask = Mask(joint_over([2], (4, 3, 9)), levels != excluded)
    offset = (joint_over([1], (4, 3, 9)), np.array([-0.4, 0.0, 0.3]))
    coefficients = rng.normal(0, 0.2, (equations, 4))
    place = joint_over([2], (4, 3, 9))
    model = Model(family, coefficients, place, response, terms, offset, masks=(mask,), shape=np.array(shape))
    part = ModelPart(model, Affine(np.eye(model.size)), model.size)
    nothing = np.zeros(model.size)
    outputs = [Released(Named(None, "m", [""] * model.size, nothing.astype(int)), nothing, nothing, (part,))]
    if counted:
        outputs.append(released(Frequencies(codebook, "t", ("v2",)), np.arange(9) * 500.0))
    problem = Problem(codebook, 18000, tuple(outputs))
    candidate = draw_candidate(problem, from_released(problem), rng)
    errors = np.sqrt(np.diag(problem.informations(candidate.codes)[0]))
    far = np.abs(candidate.totals[: model.size]) / errors
    assert (far.max() > 2) if counted else (far.max() < 0.7)
    np.testing.assert_allclose(np.bincount(candidate.codes[:, 0]), 4500, atol=1)
    assert counted == (candidate.codes[:, 2] == excluded).any()


def test_a_univariate_start_draws_each_variable_from_its_own_table_and_none_given_another(chain):
    problem = problem_of(chain, ("a",), ("b",), ("a", "b"))
    codes = draw_candidate(problem, STARTS["univariate"](problem), np.random.default_rng(1)).codes
    a, b = (table_of(chain.codes, j) for j in (0, 1))
    np.testing.assert_allclose(table_of(codes, 0, 1), np.outer(a, b) / 4000, atol=110)
    np.testing.assert_allclose(table_of(codes, 2), 4000 / 3, atol=150)  # no table: uniform


def test_a_level_without_records_is_never_drawn():
    data = random_data(np.random.default_rng(1), 10)
    problem = Problem(data.codebook, 9000, (released(Frequencies(data.codebook, "t", ("area",)), [0.0, 9000.0, 0.0]),))
    assert (univariate(problem)(9000, np.random.default_rng(0))[:, 2] == 1).all()


def test_a_start_is_one_function_and_one_line_from_outside_too(chain, monkeypatch):
    def first_levels(problem):
        return lambda n, rng: np.zeros((n, len(problem.codebook.sizes)), np.uint8)

    monkeypatch.setitem(STARTS, "first levels", first_levels)
    problem = problem_of(chain, ("a",))
    for name in ("fast", "paper"):
        settings = preset(name, start="first levels", generations=1)
        assert (next(evolve(problem, settings, np.random.default_rng(0))).codes == 0).all()
    with pytest.raises(EvolveError, match=r"\[evolve.start\] is 'none': it must be one of \[.*'first levels'"):
        preset("paper", start="none")
