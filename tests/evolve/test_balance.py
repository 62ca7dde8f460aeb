"""Balancing: shares that meet totals, and the cube method that makes them whole."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from outrisk.evolve.balance import balanced, shares_to
from outrisk.evolve.compiled import cube


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def test_the_flight_keeps_every_total_and_leaves_few_shares_between(rng):
    rows, shares = rng.normal(size=(200, 6)), rng.random(200)
    rows[:, 5] = rows[:, 0] + rows[:, 1]  # one total follows from others
    now = shares.copy()
    cube.fly(rows, now, rng.permutation(200), rng)
    assert np.allclose(now @ rows, shares @ rows, atol=1e-9)
    between = (now > cube.WHOLE) & (now < 1.0 - cube.WHOLE)
    assert between.sum() <= 5 and now.min() >= -1e-9 and now.max() <= 1.0 + 1e-9


def test_the_flight_takes_each_item_with_its_chance(rng):
    rows, shares = rng.normal(size=(12, 2)), np.linspace(0.1, 0.9, 12)
    total = np.zeros(12)
    for _ in range(4_000):
        now = shares.copy()
        cube.fly(rows, now, np.arange(12), rng)
        total += now
    assert np.abs(total / 4_000 - shares).max() < 0.03  # four standard errors


def test_what_is_taken_is_nearer_than_independent_draws(rng):
    rows, shares = rng.normal(size=(400, 10)), np.full(400, 0.3)
    asked = shares @ rows
    taken, off = balanced(rows, shares, asked, np.arange(400), 10, rng)
    assert np.allclose(off, taken @ rows - asked)
    alone = [(rng.random(400) < 0.3) @ rows - asked for _ in range(50)]
    assert off @ off < 0.2 * min(each @ each for each in alone)


def cost(shares, rows, asked, share, slack):
    """Relative entropy to `share` of every item, and what the totals miss."""
    shares = np.clip(shares, 1e-12, 1.0 - 1e-12)
    entropy = shares * np.log(shares / share) + (1.0 - shares) * np.log((1.0 - shares) / (1.0 - share))
    missed = asked - shares @ rows
    return entropy.sum() + missed @ missed / (2.0 * slack)


def test_shares_are_the_nearest_ones_in_relative_entropy(rng):
    """A general solver, on the same function of the shares, finds the same."""
    rows, share, slack = rng.normal(size=(8, 2)), 0.2, 0.5
    asked = np.array([1.0, -0.5])
    found = minimize(
        cost,
        np.full(8, share),
        args=(rows, asked, share, slack),
        bounds=[(1e-9, 1.0 - 1e-9)] * 8,
        options={"ftol": 1e-14, "gtol": 1e-10},
    )
    assert np.allclose(shares_to(rows, asked, share, slack), found.x, atol=1e-4)


def test_shares_are_found_where_much_is_asked_of_rows_of_all_sizes():
    """Newton's method from no tilt at all loses its way here; a general solver of the dual problem does not."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(1_000, 60)) * np.exp(2.0 * rng.normal(size=1_000))[:, None]
    asked, share, slack = 50.0 * rng.normal(size=60), 0.005, 1e-3
    start = np.log(share / (1.0 - share))

    def dual(theta):
        tilt = start + rows @ theta
        value = np.logaddexp(0.0, tilt).sum() - theta @ asked + 0.5 * slack * theta @ theta
        return value, expit(tilt) @ rows - asked + slack * theta

    found = minimize(dual, np.zeros(60), jac=True, method="BFGS", options={"maxiter": 3_000, "gtol": 1e-6})
    problem = rows, asked, share, slack
    assert cost(shares_to(*problem), *problem) < cost(expit(start + rows @ found.x), *problem) + 0.01
