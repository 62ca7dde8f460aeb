"""Records that recur: ranks and match rates by hand, and a null that finds nothing."""

import math

import numpy as np
import pytest

from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.risk.recurrence.recurring import recurring

BOOK = Codebook((Variable("a", "integer", tuple(range(8))), Variable("b", "integer", tuple(range(8)))))


def table(*rows):
    return Microdata(BOOK, np.array(rows, np.uint16))


def test_by_hand():
    """(1, 1) recurs in all three, (2, 2) in two, the others in one; the data hold the first two."""
    runs = [table((1, 1), (2, 2), (3, 3)), table((1, 1), (2, 2), (4, 4)), table((1, 1), (5, 5), (5, 5))]
    found = recurring(runs, table((1, 1), (2, 2), (6, 6)), table((1, 1), (7, 7), (7, 7)), ["a", "b"], 1)
    assert [row.top for row in found] == [1, 2, 3]
    assert [row.recurs for row in found] == pytest.approx([1, 2 / 3, 1 / 3])
    assert [row.original for row in found] == pytest.approx([1, 1, 2 / 3])
    assert [row.holdout for row in found] == pytest.approx([1, 1 / 2, 1 / 3])
    assert found[2].difference == pytest.approx(1 / 3)
    assert found[2].area_original == pytest.approx((1 + 1 + 2 / 3) / 3)
    assert found[2].low < found[2].difference < found[2].high and math.isnan(found[0].low)


def test_runs_that_know_nothing_match_original_and_holdout_alike():
    rng = np.random.default_rng(2)
    draws = [Microdata(BOOK, rng.integers(0, 8, (60, 2)).astype(np.uint16)) for _ in range(12)]
    last = recurring(draws[:10], draws[10], draws[11], ["a", "b"], 1)[-1]
    assert last.low < 0 < last.high
    assert abs(last.area_original - last.area_null) < 0.2


def test_a_smaller_holdout_is_met_by_as_few_of_the_data_and_none_is_undefined():
    runs = [table((1, 1), (2, 2)), table((1, 1), (3, 3))]
    data = table(*[(1, 1)] * 5, *[(2, 2)] * 5)
    row = recurring(runs, data, table((4, 4)), ["a", "b"], 1)[-1]
    assert row.original <= 1 / 3 + 1e-9  # one person drawn can match one of the three records
    assert math.isnan(recurring(runs, data, None, ["a"], 1)[-1].holdout)
