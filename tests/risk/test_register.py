"""Scores of guesses with chances: hand-solved tables, and predictors that learn what there is to learn."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from outrisk.risk.register.predictors import predictors
from outrisk.risk.register.rightly import (
    Attacked,
    at_false_rate,
    compare,
    crossed,
    dealt,
    measured,
    reliability,
    right,
    unique_rows,
)

CHANCES = np.array([[0.95, 0.05], [0.6, 0.4], [0.5, 0.5], [0.1, 0.9]])
TRUTH = np.array([0, 1, 1, 1])


def test_right_counts_ties_by_half():
    assert right(CHANCES, TRUTH) == pytest.approx((1 + 0 + 0.5 + 1) / 4)


def test_confident_people_and_how_many_of_them_rightly():
    assert measured("confident", CHANCES, TRUTH) == 0.5
    assert measured("confident_right", CHANCES, TRUTH) == 1.0
    assert measured("confident_right", CHANCES, np.array([1, 1, 1, 1])) == 0.5
    assert np.isnan(measured("confident_right", CHANCES[1:3], TRUTH[1:3]))


def test_true_claims_at_few_false_ones():
    """False claims by chance: .6, .5, .1, .05; true ones .95, .9, .5, .4."""
    assert at_false_rate(CHANCES, TRUTH, 0.0) == 0.5
    assert at_false_rate(CHANCES, TRUTH, 0.25) == 0.5  # 0.5 is a true and a false claim at once: both or neither
    assert at_false_rate(CHANCES, TRUTH, 0.5) == 1.0
    assert at_false_rate(CHANCES, TRUTH, 1.0) == 1.0


def test_true_positive_rate_by_its_definition():
    """A slow twin: every threshold tried."""
    rng = np.random.default_rng(3)
    chances = rng.dirichlet([1, 1, 1], 200).round(2)
    truth = np.array([rng.choice(3, p=each / each.sum()) for each in chances])
    true = np.eye(3, dtype=bool)[truth]
    for rate in (0.001, 0.01, 0.1):
        best = max(
            (chances[true] > at).mean() for at in [-1, *np.unique(chances)] if (chances[~true] > at).mean() <= rate
        )
        assert at_false_rate(chances, truth, rate) == pytest.approx(best)


def test_a_reliability_diagram_counts_everybody_once():
    bins = reliability(CHANCES, TRUTH)
    assert [(each.low, each.people) for each in bins] == [(0.5, 1), (0.6, 1), (0.9, 1), (0.95, 1)]
    assert bins[0].right == 0.5 and bins[1].right == 0.0


def test_both_sides_subtract_and_lack_nothing():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 400)
    sure = np.eye(2)[truth] * 0.9 + 0.05
    blind = np.tile([0.6, 0.4], (300, 1))
    none = np.zeros(400, bool)
    sides = {
        "original": Attacked(
            {"reconstruction": sure, "other": np.full((400, 2), 0.5)}, truth, none, 0, dealt(400, 20, 1)
        ),
        "holdout": Attacked({"other": blind}, rng.integers(0, 2, 300), ~none[:300], 0, dealt(300, 20, 1)),
    }
    found = {(row.measure, row.unique): row for row in compare(sides)}
    row = found["right", False]
    assert row.original.value == 1.0
    assert row.difference.value == row.original.value - row.holdout.value
    assert row.difference.low < row.difference.value < row.difference.high
    assert found["right", True].original.code == "nobody_unique"
    assert found["confident_right", False].holdout.code == "nobody_confident"
    assert np.isnan(found["confident_right", False].difference.value)


def test_predictors_learn_the_population():
    kinds = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    chances = np.array([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.1, 0.9]])
    found = predictors(np.tile(kinds, (50, 1)), np.tile(chances, (50, 1)), kinds[::-1], [2, 2], 1)
    assert len(found) == 4
    for guess in found.values():
        assert (guess.argmax(axis=1) == [1, 1, 0, 0]).all() and np.allclose(guess.sum(axis=1), 1.0)


def test_predictors_learn_in_one_thread(monkeypatch):
    """A limit holds for the thread that sets it, and for libraries that are loaded by then."""
    seen = []

    class Model:
        classes_ = np.arange(2)

        def fit(self, *_, **__):
            seen.append(max(library["num_threads"] for library in threadpool_info()))

        def predict_proba(self, asked):
            return np.full((len(asked), 2), 0.5)

    monkeypatch.setattr("outrisk.risk.register.predictors._models", lambda *_: [("model", Model(), None, np.zeros(2))])
    keys = np.array([[0], [1]])
    with ThreadPoolExecutor(1) as thread:
        thread.submit(predictors, keys, np.eye(2), keys, [2], 1).result()
    assert seen == [1]


def test_a_target_of_one_value_is_predicted():
    found = predictors(np.zeros((3, 1), int), np.tile([0.0, 1.0], (3, 1)), np.zeros((2, 1), int), [1], 1)
    assert [guess.tolist() for guess in found.values()] == [[[0.0, 1.0], [0.0, 1.0]]]


def test_unique_rows():
    assert unique_rows(np.array([[0, 1], [0, 1], [1, 1]])).tolist() == [False, False, True]


def test_groups_are_of_one_size_at_random():
    group = dealt(103, 20, 3)
    counts = np.bincount(group, minlength=20)
    assert counts.max() - counts.min() == 1
    assert not np.array_equal(group, dealt(103, 20, 4)) and not dealt(103, 0, 3).any()


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_limits_are_as_wide_as_those_of_a_mean(share):
    """Of everybody and of the people unique on their keys, who are guessed better: the binomial standard error."""
    rng, n, ratios = np.random.default_rng(2), 600, {False: [], True: []}
    for draw in range(60):
        unique = rng.random(n) < share / 2
        rightly = rng.random(n) < np.where(unique, 1.0 if share == 1 else 0.95, 0.6)
        chances = np.where(rightly[:, None], [0.8, 0.2], [0.2, 0.8])
        side = Attacked({"one": chances}, np.zeros(n, np.int64), unique, 0, dealt(n, 20, draw))
        for row in compare({"original": side}):
            if row.measure == "right" and (p := row.original.value) < 1:
                exact = p * (1 - p) / (unique.sum() if row.unique else n)
                ratios[row.unique].append(row.original.standard_error**2 / exact)
    for found in ratios.values():
        assert not found or 0.85 < np.mean(found) < 1.2


def test_people_who_are_all_guessed_alike_leave_an_interval():
    """As wide as with one more who is guessed rightly and one who is not; wider where records are of few people."""
    n, all_right = 48, np.tile([0.8, 0.2], (48, 1))

    def side(together=None):
        group = dealt(n, 12, 3, together)
        return Attacked({"one": all_right}, np.zeros(n, np.int64), np.ones(n, bool), 0, group, together)

    def found(sides):
        return next(row for row in compare(sides) if row.measure == "right" and not row.unique)

    one = found({"original": side(), "holdout": side()})
    assert one.difference.value == 0.0 and one.original.standard_error == pytest.approx(1 / 50)
    assert one.difference.standard_error == pytest.approx(np.sqrt(2) / 50)
    joined = crossed(one, one)
    assert joined.value == 0.0 and joined.standard_error == pytest.approx(np.sqrt(2) / 50)
    assert found({"original": side(np.arange(n) // 4)}).original.standard_error == pytest.approx(1 / 14)
