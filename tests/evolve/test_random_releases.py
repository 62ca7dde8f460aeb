"""Releases of small data drawn at random, of everyday outputs side by side: each is evolved."""

import numpy as np
import pytest
from pydantic import TypeAdapter

from outrisk.codebook import Codebook, Variable
from outrisk.config import OutputEntry
from outrisk.errors import OutRiskError
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata
from outrisk.outputs import release

GROUPS = ("area", "status", "sex", "ill")
CODEBOOK = Codebook(
    (
        Variable("area", "categorical", tuple("abcdef")),
        Variable("status", "categorical", ("single", "married", "divorced", "widowed")),
        Variable("age", "integer", tuple(range(60))),
        Variable("income", "integer", tuple(range(0, 100_001, 50))),
        Variable("visits", "integer", tuple(range(6))),
        Variable("sex", "categorical", ("f", "m")),
        Variable("ill", "categorical", ("0", "1")),
    )
)
ERRORS = ["coefficients", "standard_errors"]


def people(n, rng):
    area, status = rng.choice(6, n, p=np.arange(1, 7) / 21), rng.choice(4, n, p=[0.45, 0.3, 0.2, 0.05])
    age, sex, visits = rng.integers(0, 60, n), rng.integers(0, 2, n), np.minimum(rng.poisson(1.2, n), 5)
    ill = rng.random(n) < 1 / (1 + np.exp(1.5 - age / 30))
    income = np.minimum(rng.lognormal(6.0, 0.8, n), 2_000)  # in steps of 50
    return Microdata(CODEBOOK, np.stack([area, status, age, income, visits, sex, ill], axis=1).astype(np.uint16))


def table(rng):
    by = [str(name) for name in rng.permutation(GROUPS)[: rng.integers(1, 4)]]
    shows = ["counts", "proportions", "row_percentages", "column_percentages"][: 4 if len(by) > 1 else 2]
    found = {"kind": "frequencies", "by": by, "show": str(rng.choice(shows)), "margins": bool(rng.random() < 0.5)}
    if rng.random() < 0.4:
        found["protection"] = {"threshold": int(rng.choice([3, 5, 10]))}
    elif rng.random() < 0.2 and found["show"] == "counts":
        found["protection"] = {"round_to": 5}
    return found


def summary(rng):
    by, value = (
        [str(name) for name in rng.permutation(GROUPS)[: rng.integers(0, 3)]],
        str(rng.choice(["age", "income"])),
    )
    return [
        {"kind": "magnitudes", "value": value, "by": by, "statistics": ["mean", "sd"], "decimals": 1},
        {"kind": "quantiles", "value": value, "by": by, "quantiles": [0.25, 0.5, 0.75]},
        {"kind": "histogram", "value": "age", "by": by, "breaks": [0, 20, 40, 60], "show": "proportions"},
        {"kind": "univariate", "variables": ["area", "sex", "visits"]},
        {"kind": "correlations", "variables": ["age", "visits", "ill"]},
        {"kind": "survival", "time": "age", "event": "ill", "event_value": "1", "by": "sex", "times": [10, 30, 50]},
        {"kind": "rates", "numerator": "ill == '1'", "denominator": "age", "by": by, **rates(rng)},
    ][rng.integers(7)]


def rates(rng):
    shown = [["rate"], ["rate", "limits"], ["numerator", "denominator", "rate"], ["denominator", "limits"]]
    guarded = {"protection": {"threshold": int(rng.choice([3, 5]))}} if rng.random() < 0.4 else {}
    return {"statistics": shown[rng.integers(4)], "per": float(rng.choice([1, 1000])), **guarded}


def regression(rng):
    after = " + ".join(["age", "C(sex)", "C(status)"][: rng.integers(1, 4)])
    shown = {"release": [ERRORS, [*ERRORS, "p_values"], ["coefficients", "confidence_limits"]][rng.integers(3)]}
    shown["decimals"] = int(rng.integers(1, 5))
    return [
        {"kind": "logit", "formula": f"ill ~ {after}", "event": "1", **shown},
        {"kind": "probit", "formula": f"ill ~ {after}", "event": "1", **shown},
        {"kind": "ols", "formula": f"age ~ visits + {after.replace('age', 'C(ill)')}", **shown},
        {"kind": "poisson", "formula": f"visits ~ {after}", **shown},
        {"kind": "ologit", "formula": f"status ~ {after.replace('C(status)', 'C(area)')}", **shown},
        {"kind": "oprobit", "formula": f"visits ~ {after}", **shown},
        {"kind": "negbin", "formula": "age ~ visits", **shown},
    ][rng.integers(7)]


def drawn(seed):
    """Records, and one to four outputs of them that tell anything, some on a subset."""
    rng = np.random.default_rng(seed)
    data, adapter = people(int(rng.choice([7, 20, 60, 150, 400])), rng), TypeAdapter(OutputEntry)
    found = []
    for at in range(rng.integers(1, 5)):
        entry = [table, summary, regression][rng.integers(3)](rng)
        if rng.random() < 0.15:
            entry["where"] = "sex == 'f'"
        try:
            (output,) = adapter.validate_python(entry).build(CODEBOOK, at + 1)
            released = release(output, data)
        except (OutRiskError, ValueError):  # a fit that does not exist, say
            continue
        if np.isfinite(released.low).any():
            found.append(released)
    return data, found


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("seed", range(40))
def test_a_release_drawn_at_random_is_evolved(seed):
    data, found = drawn(seed)
    if not found:
        pytest.skip("no output can be released of these data")
    problem = Problem(CODEBOOK, len(data), tuple(found))
    last = list(evolve(problem, preset("fast", generations=12), np.random.default_rng(seed)))[-1]
    assert last.codes.shape == data.codes.shape
    assert (last.codes < CODEBOOK.sizes).all()
    refits = [each.recompute(Microdata(CODEBOOK, last.codes)) for each in found]
    if last.stop == "matched":
        assert all(refit.matched.all() for refit in refits)
    if last.near:
        assert all(refit.near.all() for refit in refits)
    assert last.errors.numbers == int(problem.known.sum())
