"""What is compiled ahead is what a search calls: nothing is compiled twice, or for nothing."""

import numpy as np
from blocks import random_problem

from outrisk.evolve import ahead, moves
from outrisk.evolve.candidate import Candidate
from outrisk.evolve.linear_map import linearise


def test_a_search_asks_for_no_other_types_than_those_compiled_ahead():
    ahead._sums()
    ahead._visits()
    ahead._batches()
    before = {entry.py_func: set(entry.signatures) for entry in ahead._ENTRIES}
    assert all(before.values())
    for seed in range(10):
        problem, codes = random_problem(seed)
        candidate, rng = Candidate(codes, problem.totals(codes)), np.random.default_rng(seed)
        linear = linearise(problem, codes, candidate.totals, "tightening")
        assert linear.profiles.dtype == np.float64
        moves.descend_with_swaps(candidate, linear, 20, 1.0, rng)
        moves.anneal(candidate, linear, 1.0, rng)
    assert before == {entry.py_func: set(entry.signatures) for entry in ahead._ENTRIES}


def test_what_is_kept_on_disk_is_seen():
    ahead._sums()
    assert ahead._kept(ahead.sums.add_all)
    assert not ahead._kept(_NotKept)


class _NotKept:
    py_func = test_what_is_kept_on_disk_is_seen
    stats = ahead.sums.add_all.stats
