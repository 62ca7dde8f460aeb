"""A linear model whose response has many values: its constant terms have no variable to be tabulated over."""

import numpy as np

from outrisk.codebook import Codebook, Variable, grid
from outrisk.evolve.problem import Problem
from outrisk.microdata import Microdata
from outrisk.outputs import Regression, Release, release
from outrisk.problem.blocks import joint_over, levels_over


def test_a_response_of_many_values_can_be_planned():
    rng = np.random.default_rng(1)
    book = Codebook((Variable("y", "numeric", grid(0.0, 60.0, 0.01)), Variable("x", "integer", tuple(range(7)))))
    codes = np.column_stack([rng.integers(0, 6001, 400), rng.integers(0, 7, 400)]).astype(np.uint16)
    data = Microdata(book, codes)
    parts = ("coefficients", "standard_errors", "n", "log_likelihood", "r2")
    model = Regression(book, "m", "ols", "y ~ x", Release(parts))
    problem = Problem(book, 400, (release(model, data),))
    assert problem.plan is not None


def test_levels_over_no_variable():
    sizes = (3, 4)
    nothing = joint_over((), sizes)
    np.testing.assert_array_equal(levels_over(nothing, nothing, sizes), [0])
    np.testing.assert_array_equal(levels_over(nothing, joint_over((1,), sizes), sizes), [0, 0, 0, 0])
