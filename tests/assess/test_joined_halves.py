"""Intervals over crossed halves: people in one half's data and beside the other's are deleted from both at once."""

import numpy as np
import pytest

from outrisk.assess.with_register import FoldGuessed, guessed_rows
from outrisk.records.schema import RegisterFold
from outrisk.risk.register.rightly import Attacked, compare, dealt

N, GAIN, DRAWS = 60, 0.15, 150


def side(rightly, group):
    """People whose likeliest value is the true one (0) or not."""
    chances = np.where(rightly[:, None], [0.8, 0.2], [0.2, 0.8])
    return Attacked({"one": chances}, np.zeros(len(rightly), np.int64), np.ones(len(rightly), bool), 0, group)


def difference(rng, known_for):
    """The mean over both halves, each the original of one fold and the holdout of the other.

    Some people are easy to guess from either release; those in the data are guessed a little better. Of each half a
    share is in the register, drawn at random.
    """
    ease = rng.beta(0.5, 0.5, (2, N)) * (1 - GAIN)
    folds, seed = [], int(rng.integers(1 << 30))
    group = dealt(N, 20, seed)
    for own in (0, 1):
        listed = np.sort(rng.permutation(N)[: round(known_for * N)])
        sides = {
            "original": side(rng.random(len(listed)) < ease[own][listed] + GAIN, group[listed]),
            "holdout": side(rng.random(N) < ease[1 - own], group),
        }
        facts = RegisterFold(2, f"{own + 1}", len(listed), N)
        folds.append(FoldGuessed(facts, tuple(compare(sides)), f"{2 - own}"))
    return next(row for row in guessed_rows(folds) if not row.fold and (row.people, row.measure) == ("all", "right"))


@pytest.mark.parametrize("known_for", [1.0, 0.5])
def test_coverage_over_crossed_halves(known_for):
    rng = np.random.default_rng(5)
    rows = [difference(rng, known_for) for _ in range(DRAWS)]
    covered = np.mean([row.low <= GAIN <= row.high for row in rows])
    assert 0.91 < covered < 0.985
    assert abs(np.mean([row.difference for row in rows]) - GAIN) < 0.02
    half = np.mean([(row.high - row.low) / 2 for row in rows])
    spread = 1.96 * np.std([row.difference for row in rows])
    assert 0.9 < half / spread < 1.2
