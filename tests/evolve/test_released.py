"""Published numbers: when a recomputed one is matched."""

import numpy as np
from blocks import Named

from outrisk.problem.released import Released


def test_matched_means_within_half_a_last_digit_of_the_value_or_range():
    low = np.array([1.0, 1.0, 3.0, 1.0, 0.0, -np.inf, 60.0])
    high = np.array([1.0, 1.0, 3.0, 9.0, np.inf, np.inf, np.inf])
    one = Released(Named(None, "o", list("abcdefg"), np.array([4, 4, 0, 0, 0, 1, 0])), low, high, ())
    near = one.is_matched(np.array([1.00005, 1.0000501, 3.4, 9.4, np.nan, 7.0, 70.0]))
    assert near.tolist() == [True, False, True, True, True, True, True]
    far = one.is_matched(np.array([np.nan, 0.99995, 2.4, 0.4, 5.0, np.nan, 50.0]))
    assert far.tolist() == [False, True, False, False, True, True, False]
    assert one.known.tolist() == [True, True, True, True, False, False, True]
    np.testing.assert_array_equal(np.isnan(one.values), [False, False, False, True, True, True, True])
