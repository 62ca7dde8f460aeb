"""What records add to totals and numbers, as the slow twin has it; quadratic forms as sums of squares."""

import numpy as np
import pytest
from evolve.blocks import FAMILIES, random_codebook, random_model
from evolve.slow import block_totals

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


@pytest.mark.parametrize("family", FAMILIES)
def test_records_add_up_to_the_totals_and_change_numbers_by_what_each_adds(family):
    robust = clustered = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        codebook = random_codebook(rng)
        codes = np.stack([rng.integers(0, size, 25) for size in codebook.sizes], axis=1).astype(np.uint16)
        model = random_model(rng, codebook.sizes, family)
        seen, totals = records_of_model(model, codes), block_totals(model, codes)
        np.testing.assert_allclose(seen.totals(np.ones(25)), totals, rtol=1e-8, atol=1e-7)
        times = rng.integers(0, 3, 25)
        np.testing.assert_allclose(
            seen.totals(times.astype(float)), block_totals(model, np.repeat(codes, times, axis=0)), rtol=1e-8, atol=1e-7
        )
        np.testing.assert_allclose(seen.scores.sum(axis=0), totals[: model.n_score], rtol=1e-8, atol=1e-7)
        jacobian = rng.normal(0, 1, (3, model.size))
        each = np.stack([jacobian @ block_totals(model, row[None]) for row in codes])
        np.testing.assert_allclose(seen.through(jacobian, exact=True), each, rtol=1e-7, atol=1e-6)
        np.testing.assert_allclose(seen.through(jacobian), each, rtol=1e-4, atol=1e-4 * (1 + np.abs(each).max()))
        robust += model.robust
        clustered += model.clusters is not None
    assert family == "none" or (robust and clustered)
