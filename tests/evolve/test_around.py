"""Swaps around a number that is far: how records bear on it, and that it comes back."""

import numpy as np
import pandas as pd
import pytest
from blocks import random_problem
from hypothesis import given, settings
from hypothesis import strategies as st

from outrisk.evolve import moves
from outrisk.evolve.around import bearing
from outrisk.evolve.candidate import Candidate
from outrisk.evolve.linear_map import linearise
from outrisk.evolve.problem import Problem
from outrisk.microdata import from_frame, infer_codebook
from outrisk.outputs import Frequencies, Survival, release
from outrisk.problem.released import ModelPart


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_a_record_bears_on_a_number_by_what_it_adds_to_its_totals(seed):
    problem, codes = random_problem(seed)
    linear = linearise(problem, codes, problem.totals(codes), "tightening")
    alone = np.array([problem.totals(one[None, :]) for one in codes])
    jacobians = iter(linear.jacobians)
    for part, where, which, _ in problem.slices:
        if isinstance(part, ModelPart):
            expected = alone[:, where] @ next(jacobians).T
        else:
            bounds = part.map.bounds(linear.origin[where], problem.low[which], problem.high[which])
            carries = (bounds.number[:, None] == np.arange(part.n_numbers)) & (bounds.unit != 0.0)[:, None]
            expected = alone[:, where] @ carries
        for at in range(part.n_numbers):
            found = bearing(linear, codes, which.start + at)
            np.testing.assert_allclose(found, expected[:, at], rtol=1e-6, atol=1e-9 + 1e-7 * np.abs(expected).max())


def test_no_number_has_this_place():
    problem, codes = random_problem(1)
    with pytest.raises(IndexError, match="no number"):
        bearing(linearise(problem, codes, problem.totals(codes), "tightening"), codes, len(problem.tolerance))


def off_at_the_end(rng):
    """A survival curve beside its counts at risk, and its records, of which two of the last ten have each other's
    event.
    """
    time = np.concatenate([rng.integers(1, 60, 20_000), np.repeat(np.arange(60, 65), 2)])
    event = np.where(np.arange(len(time)) < 20_000, rng.integers(0, 2, len(time)), np.arange(len(time)) % 2)
    frame = pd.DataFrame({"time": time, "event": event, "sex": rng.integers(0, 2, len(time))})
    codebook, _ = infer_codebook(frame)
    data = from_frame(frame, codebook)
    outputs = Survival(codebook, "curve", "time", "event", places=4), Frequencies(codebook, "at risk", ("time",))
    problem = Problem(codebook, len(data), tuple(release(output, data) for output in outputs))
    codes = np.ascontiguousarray(data.codes).copy()
    one, other = len(time) - 7, len(time) - 4  # an event of time 61 for none of time 63
    assert event[one] == 1 and event[other] == 0
    codes[[one, other], 1] = codes[[other, one], 1]
    return problem, Candidate(codes, problem.totals(codes))


@pytest.mark.parametrize("seed", range(5))
def test_batches_around_a_number_bring_it_back(seed):
    problem, candidate = off_at_the_end(np.random.default_rng(seed))
    linear = linearise(problem, candidate.codes, candidate.totals, "tightening", None, 1.0)
    off = np.abs(linear.distances(candidate.totals)) / problem.tolerance
    far = np.where(off > 1.0, off, 0.0)
    before = linear.fitness(candidate.totals)
    moves.anneal_around(candidate, linear, far, 0.0, np.random.default_rng(seed))
    np.testing.assert_allclose(candidate.totals, problem.totals(candidate.codes))
    assert far.any() and linear.fitness(candidate.totals) < 0.1 * before
