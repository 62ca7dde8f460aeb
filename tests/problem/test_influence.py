"""Quadratic forms as sums of squares."""

import numpy as np
import pytest

from outrisk.problem.influence import _squares

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
