"""Sampling errors against bootstraps of independent fits; influence against the compiled totals."""

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter

from outrisk.config import OutputEntry
from outrisk.evolve.problem import Problem
from outrisk.microdata import from_frame, infer_codebook
from outrisk.outputs import release
from outrisk.problem.influence import records_of_model, records_of_tally
from outrisk.problem.refit import NEAR, Refit
from outrisk.problem.released import ModelPart
from outrisk.problem.sampling import sampling_errors

N = 600
ERRORS = ["coefficients", "standard_errors"]
MODELS = [
    {"kind": "logit", "formula": "ill ~ age + C(town)", "event": 1, "release": [*ERRORS, "log_likelihood"]},
    {"kind": "probit", "formula": "ill ~ age + C(town)", "event": 1, "release": ERRORS, "where": "age >= 3"},
    {"kind": "poisson", "formula": "visits ~ age + ill", "release": ERRORS},
    {"kind": "ols", "formula": "age ~ C(town) + visits", "release": [*ERRORS, "r2", "residual_sd"]},
    {"kind": "mnlogit", "formula": "town ~ age + ill", "release": ERRORS},
    {"kind": "ologit", "formula": "town ~ age + ill", "release": [*ERRORS, "log_likelihood"]},
    {"kind": "oprobit", "formula": "town ~ age + ill", "release": ERRORS, "covariance": "robust"},
    {"kind": "negbin", "formula": "visits ~ town", "release": [*ERRORS, "log_likelihood"]},
]
KINDS = [
    *(entry | {"decimals": 6} for entry in MODELS),
    {"kind": "frequencies", "by": ["town", "ill"]},
    {"kind": "magnitudes", "value": "age", "by": ["town"], "statistics": ["mean", "sd", "count"], "decimals": 6},
    {"kind": "correlations", "variables": ["age", "visits"], "decimals": 6},
]
named = pytest.mark.parametrize("entry", KINDS, ids=lambda entry: entry["kind"])


def people(n, seed):
    rng = np.random.default_rng(seed)
    town, age = rng.integers(1, 4, n), rng.integers(0, 12, n)
    ill = (rng.random(n) < 1 / (1 + np.exp(1.0 - 0.15 * age + 0.3 * (town == 2)))).astype(int)
    visits = rng.poisson(np.exp(0.1 * age - 0.3 + 0.4 * ill)).clip(max=9)
    return pd.DataFrame({"town": town, "age": age, "ill": ill, "visits": visits})


def built(entry):
    frame = people(N, 1)
    codebook, _ = infer_codebook(pd.concat([frame, people(5_000, 2)]))
    (output,) = TypeAdapter(OutputEntry).validate_python(entry).build(codebook, 1)
    return codebook, frame, output


@named
def test_sampling_errors_are_the_spread_of_bootstrapped_refits(entry):
    codebook, frame, output = built(entry)
    data = from_frame(frame, codebook)
    found = sampling_errors(release(output, data), data.codes)
    rng = np.random.default_rng(3)
    again = []
    for _ in range(60):  # of as many records as a Poisson number says: the total is not fixed
        drawn = frame.iloc[rng.integers(0, N, rng.poisson(N))].reset_index(drop=True)
        again.append(output.refit(from_frame(drawn, codebook)))
    ratio = found / np.nanstd(again, axis=0)
    assert np.isfinite(found).all()
    assert 0.8 < np.median(ratio) < 1.2, ratio  # 60 refits tell a spread to 9 %
    assert (ratio > 0.6).all() and (ratio < 1.5).all(), dict(zip(output.labels, ratio, strict=True))


@named
def test_influence_adds_up_to_the_compiled_totals(entry):
    codebook, frame, output = built(entry)
    data = from_frame(frame, codebook)
    problem = Problem(codebook, N, (release(output, data),))
    codes = data.codes.copy()
    codes[:, 0] = np.roll(codes[:, 0], 7)  # other records than the released ones
    expected, once = problem.totals(codes), np.ones(N)
    for part, where, _, _ in problem.slices:
        if isinstance(part, ModelPart):
            seen = records_of_model(part.model, codes)
            found = seen.totals(once)
            each = seen.through(np.eye(len(found)))
            np.testing.assert_allclose(each.sum(axis=0), found, rtol=1e-9, atol=1e-7)
            single = seen.single().through(np.eye(len(found)))
            assert single.dtype == np.float32
            np.testing.assert_allclose(single, each, rtol=1e-5, atol=1e-5 * np.abs(each).max())
        else:
            found = np.concatenate([records_of_tally(block, codes).totals(once) for block in part.blocks])
        np.testing.assert_allclose(found, expected[where], rtol=1e-9, atol=1e-7)


def test_by_hand():
    """The root of a count; sd/sqrt(n) of a mean."""
    entry = {"kind": "magnitudes", "value": "age", "by": ["town"], "statistics": ["mean", "count"], "decimals": 6}
    codebook, frame, output = built(entry)
    data = from_frame(frame, codebook)
    found = sampling_errors(release(output, data), data.codes).reshape(-1, 2)
    groups = frame.groupby("town")["age"]
    np.testing.assert_allclose(found[:, 1], np.sqrt(groups.count()))
    np.testing.assert_allclose(found[:, 0], groups.std(ddof=0) / np.sqrt(groups.count()), rtol=1e-3)


def test_a_quantile_has_none_and_is_near_at_its_digits_alone():
    codebook, frame, output = built({"kind": "quantiles", "value": "age", "by": ["town"], "quantiles": [0.5]})
    data = from_frame(frame, codebook)
    released = release(output, data)
    assert np.isnan(sampling_errors(released, data.codes)).all()
    refit = Refit(released, data.codes, released.values + np.array([0.0, 1.0, 0.0]))
    assert refit.near.tolist() == refit.matched.tolist() == [True, False, True]
    assert [row.reason for row in refit.rows("stalled")] == ["", "stood_still", ""]


def test_near_is_one_percent_of_the_sampling_error():
    codebook, frame, output = built({"kind": "logit", "formula": "ill ~ age", "event": 1, "decimals": 6})
    data = from_frame(frame, codebook)
    released = release(output, data)
    error = sampling_errors(released, data.codes)
    for share, near in ((0.99, True), (1.01, False)):
        refit = Refit(released, data.codes, released.values + share * NEAR * error)
        assert not refit.matched.any() and (refit.near == near).all()
        assert {row.reason for row in refit.rows("stalled")} == {"coarse"}
        assert {row.reason for row in refit.rows("budget")} == {"coarse" if near else "out_of_time"}
    far = Refit(released, data.codes, released.values + 2.0 * error / np.sqrt(N))  # as two records move it
    assert {row.reason for row in far.rows("stalled")} == {"stood_still"}
    lost = Refit(released, data.codes, np.full(2, np.nan), "no variation")
    assert [(row.reason, row.detail, row.near) for row in lost.rows()] == [("no_refit", "no variation", False)] * 2
