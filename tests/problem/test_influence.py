"""Quadratic forms as sums of squares."""

import numpy as np
import pytest

from outrisk.problem.blocks import Model, Term, joint_over
from outrisk.problem.influence import _squares, records_of_model

RNG = np.random.default_rng(3)


def _rank(*signs, size=12):
    vectors = RNG.standard_normal((len(signs), size)) * 10.0 ** RNG.uniform(-4, 2, size)
    return np.einsum("r,ri,rj->ij", np.array(signs, float), vectors, vectors)


FORMS = {
    "none": np.zeros((12, 12)),
    "rank one": _rank(1),
    "less than nothing": _rank(-1),
    "rank two": _rank(1, -1),
    "full": _rank(*([1, -1] * 6)),
    "nothing on the diagonal": np.ones((12, 12)) - np.eye(12),
    "one pair": np.fliplr(np.diag(np.eye(12)[0])) + np.fliplr(np.diag(np.eye(12)[11])),
}


@pytest.mark.parametrize("names", [[name] for name in FORMS] + [list(FORMS)], ids=[*FORMS, "all at once"])
def test_sums_of_squares_are_the_forms(names):
    forms = np.array([FORMS[name] for name in names])
    back = np.zeros_like(forms)
    for numbers, values, vectors in _squares(forms):
        np.add.at(back, numbers, np.einsum("r,ri,rj->rij", values, vectors, vectors))
    np.testing.assert_allclose(back, forms, atol=1e-8 * np.abs(forms).max())


@pytest.mark.parametrize("tiny", [5e-324, 1e-310, 1e-160])
def test_a_number_that_next_to_nothing_bears_on_is_left_out(tiny):
    """A p-value of z = 38 changes so little that squares of it are 0, and eigenvectors of that do not converge."""
    rng = np.random.default_rng(1)
    joint = joint_over((0,), [9])
    term = Term(joint, np.arange(3), rng.standard_normal((9, 3)))
    model = Model("logit", np.zeros((1, 3)), joint, rng.integers(0, 2, 9).astype(float), (term,), information=True)
    seen = records_of_model(model, np.arange(9, dtype=np.uint16)[:, None])
    jacobian = rng.standard_normal((2, model.size))
    jacobian[1] *= tiny
    assert (np.abs(seen.through(jacobian)[:, 1]) < 1e-150).all()
    np.testing.assert_allclose(seen.through(jacobian), seen.through(jacobian, exact=True), atol=1e-12)
