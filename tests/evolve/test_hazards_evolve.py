"""Cox models are met by local search, beside a table and alone, at few people and at more."""

import numpy as np
import pytest

from outrisk.codebook import Codebook, Variable
from outrisk.evolve import calibrated
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.evolve.start import from_released
from outrisk.microdata import Microdata
from outrisk.outputs import CoxEntry, Frequencies, RegressionEntry, release

CODEBOOK = Codebook(
    (
        Variable("months", "integer", tuple(range(1, 37))),
        Variable("died", "integer", (0, 1)),
        Variable("arm", "categorical", ("a", "b")),
        Variable("age", "integer", tuple(range(40, 80))),
    )
)
RATIOS = {
    "formula": "Surv(months, died) ~ arm + age",
    "release": ["coefficients", "confidence_limits", "n", "events"],
    "exponentiate": True,
    "decimals": 2,
}
TABLE = Frequencies(CODEBOOK, "t", ("arm", "died"))


def patients(n, seed=1):
    rng = np.random.default_rng(seed)
    arm, age = rng.integers(2, size=n), rng.integers(40, size=n)
    until = rng.exponential(24 * np.exp(0.5 * arm - 0.03 * (age - 20)))
    left = rng.uniform(12, 60, n)
    months = np.clip(np.minimum(until, left), 0, 35).astype(int)
    codes = np.stack([months, (until <= left) & (until < 36), arm, age], axis=1)
    return Microdata(CODEBOOK, codes.astype(np.uint16))


def cox(**given):
    return CoxEntry(kind="cox", **{**RATIOS, **given}).build(CODEBOOK, 1)[0]


@pytest.mark.parametrize(
    ("n", "outputs"),
    [
        (60, [TABLE, cox()]),
        (400, [TABLE, cox(ties="breslow")]),
        (400, [cox(release=["coefficients", "standard_errors"], exponentiate=False, decimals=3)]),
        (3_000, [TABLE, cox(strata=["died"], status="", formula="months ~ arm + age"), cox()]),
        (3_000, [TABLE, cox(release=["coefficients", "standard_errors", "log_likelihood"], exponentiate=False)]),
    ],
)
def test_numbers_are_reproduced(n, outputs):
    data = patients(n)
    problem = Problem(CODEBOOK, n, tuple(release(output, data) for output in outputs))
    last = None
    for last in evolve(problem, preset("fast"), np.random.default_rng(1)):
        if last.near or last.number >= 200:
            break
    synthetic = Microdata(CODEBOOK, last.codes)
    refits = [each.recompute(synthetic) for each in problem.released]
    assert all(refit.near.all() for refit in refits)


def test_a_run_gives_the_same_bytes_again():
    data = patients(300, 2)
    problem = Problem(CODEBOOK, 300, (release(TABLE, data), release(cox(), data)))

    def ten():
        found = evolve(problem, preset("fast"), np.random.default_rng(3))
        return [generation.codes.copy() for _, generation in zip(range(10), found, strict=False)][-1]

    assert np.array_equal(ten(), ten())


def test_hazard_ratios_beside_odds_ratios_are_calibrated(monkeypatch):
    """A Cox model, whose scores are no sums over records, has no coefficients in other units."""
    monkeypatch.setattr(calibrated, "MET", 0.0)
    odds = {"formula": "died ~ arm + age", "event": 1, "exponentiate": True, "decimals": 1}
    (logit,) = RegressionEntry(kind="logit", **odds).build(CODEBOOK, 2)
    data = patients(1_500)
    for outputs, other in (([TABLE, cox()], False), ([TABLE, cox(), logit], True)):
        problem = Problem(CODEBOOK, 1_500, tuple(release(output, data) for output in outputs)).searched
        pool = calibrated.Pool.of(problem, from_released(problem)(1_500, np.random.default_rng(0)))
        assert pool.in_other_units == other
        assert np.isfinite(pool.calibrated()).all()
