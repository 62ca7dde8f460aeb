"""Regressions without a table: weights meet every number as a weighted refit has them; any change may be made."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from problems import drawn, random_data
from pydantic import TypeAdapter

from outrisk.config import OutputEntry
from outrisk.evolve.by_size import closing_of
from outrisk.evolve.calibrated import Pool, alone
from outrisk.evolve.closing import Closing
from outrisk.evolve.compiled import cube
from outrisk.evolve.freely import Freely
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.evolve.start import from_released
from outrisk.evolve.swaps import changed_alone, changes_by
from outrisk.microdata import Microdata, from_frame, infer_codebook
from outrisk.outputs import Frequencies, release
from outrisk.problem.blocks import Joint, Mask

ERRORS = ["coefficients", "standard_errors"]
LOGIT = {"kind": "logit", "formula": "ill ~ age + years", "event": 1, "release": ERRORS, "decimals": 4}
OLS = {"kind": "ols", "formula": "age ~ C(town)", "release": ERRORS, "decimals": 4}


def people(n, seed=1):
    """Age and years go together, which the standard errors of the logit alone tell."""
    rng = np.random.default_rng(seed)
    town = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    age = np.clip(np.round(rng.normal(6 + town, 2.5, n)), 0, 15).astype(int)
    years = np.clip(age - rng.integers(0, 4, n), 0, 15)
    ill = (rng.random(n) < 1 / (1 + np.exp(2.0 - 0.5 * age + 0.3 * years))).astype(int)
    return pd.DataFrame({"town": town, "age": age, "years": years, "ill": ill})


@pytest.fixture(scope="module")
def regressions():
    frame = people(3_000)
    codebook, _ = infer_codebook(frame)
    entries = [TypeAdapter(OutputEntry).validate_python(entry) for entry in (LOGIT, OLS)]
    outputs = [each for at, entry in enumerate(entries, 1) for each in entry.build(codebook, at)]
    data = from_frame(frame, codebook)
    return Problem(codebook, len(data), tuple(release(output, data) for output in outputs))


def test_weights_meet_coefficients_and_standard_errors_at_their_digits(regressions):
    rng = np.random.default_rng(1)
    pool = Pool.of(regressions, from_released(regressions)(20_000, rng))
    weights = pool.calibrated()
    codes = pool.codes.astype(float)
    names = list(regressions.codebook.names)
    town, age, years, ill = (
        np.array(regressions.codebook[name].values, float)[pool.codes[:, names.index(name)]]
        for name in ("town", "age", "years", "ill")
    )
    assert len(codes) == 20_000 and weights.sum() == pytest.approx(3_000, abs=0.5)
    logit = sm.GLM(ill, np.column_stack([np.ones(len(age)), age, years]), sm.families.Binomial(), freq_weights=weights)
    logit = logit.fit(tol=1e-12)
    assert np.concatenate([logit.params, logit.bse]) == pytest.approx(regressions.released[0].values, abs=1e-4)
    ols = sm.WLS(age, np.column_stack([np.ones(len(age)), town == 1, town == 2]), weights).fit()
    errors = ols.bse * np.sqrt(ols.df_resid / (weights.sum() - 3))  # of as many people, not of as many rows
    assert np.concatenate([ols.params, errors]) == pytest.approx(regressions.released[1].values, abs=1.5e-4)


def test_the_pool_had_them_far_off(regressions):
    """What the weights had to find: age and years are independent in the pool."""
    codes = from_released(regressions)(20_000, np.random.default_rng(1))
    names = list(regressions.codebook.names)
    found = np.corrcoef(codes[:, names.index("age")], codes[:, names.index("years")])[0, 1]
    assert abs(found) < 0.1 < 0.8 < people(3_000)[["age", "years"]].corr().iloc[0, 1]


def test_it_is_for_regressions_without_a_table(regressions):
    table = Frequencies(regressions.codebook, "t", ("town",))
    data = from_frame(people(3_000), regressions.codebook)
    beside = Problem(regressions.codebook, 3_000, (*regressions.released, release(table, data)))
    assert alone(regressions) and isinstance(closing_of(regressions), Freely)
    assert not alone(beside) and type(closing_of(beside)) is Closing


def test_changes_are_of_one_value_and_break_no_rule():
    rng = np.random.default_rng(2)
    data = random_data(rng, 900)
    sizes = data.codebook.sizes
    rule = Mask(Joint((0,), (1,), sizes[0]), np.arange(sizes[0]) != 1)
    output = Frequencies(data.codebook, "t", (data.codebook.names[0],))
    problem = Problem(data.codebook, 900, (release(output, data),), (rule,))
    codes = data.codes.copy()
    codes[codes[:, 0] == 1, 0] = 0
    edits = changed_alone(problem, codes, rng.permutation(900), rng)
    assert edits.count > 100 and len(np.unique(edits.record)) == len(edits.record)
    assert ((edits.after != codes[edits.record]).sum(axis=1) == 1).all() and not (edits.after[:, 0] == 1).any()
    assert (edits.after < np.array(sizes)).all()


def begun(problem):
    """Closing in, before the first round, and what a round needs."""
    candidate, linear, rng = drawn(problem, "released")
    closing = Freely()
    return closing, candidate, linear, closing.look(linear, candidate, True), rng


def test_a_round_looks_at_changes_of_one_record_and_at_swaps_of_other_records(regressions):
    closing, candidate, linear, equations, rng = begun(regressions)
    edits = closing._drawn(candidate.codes, equations, linear, np.ones(len(equations.missing)), rng)
    assert len(np.unique(edits.record)) == len(edits.record) < len(candidate.codes)
    records = np.bincount(edits.of)
    assert (records == 1).sum() > (records == 2).sum() > 0.02 * len(candidate.codes)
    size = np.linalg.norm(changes_by(equations, candidate.codes, edits) / equations.half, axis=1)
    assert np.median(size[records == 2]) < np.median(size[records == 1])


def test_emphasis_grows_on_numbers_that_are_far_and_then_on_those_off_their_digits(regressions):
    closing, candidate, linear, equations, _ = begun(regressions)
    missing = -linear.distances(candidate.totals)
    assert np.array_equal(equations.missing, missing[equations.number])  # which of the published numbers each is
    closing.tighten(equations)
    far = np.abs(equations.missing) > np.maximum(0.01 * equations.error, equations.half)
    assert far.any() and closing.emphasis[equations.number] == pytest.approx(np.where(far, 1.1, 1.0))
    off = 1.5 * equations.half * (np.arange(len(equations.number)) == 3)
    near = replace(equations, missing=off, error=np.maximum(equations.error, 200.0 * equations.half))
    before = closing.merit(near)
    closing.tighten(near)  # none is far now: the one that is off its digits gains, all others are let go
    assert closing.emphasis[near.number[3]] > 1.1 and (np.delete(closing.emphasis, near.number[3]) < 1.1).all()
    assert closing.merit(near) > before > 0.0


def test_a_run_ends_near_once_nothing_is_gained_for_a_while(regressions):
    """By refit: every number at its digits or within 1 % of its sampling error."""
    *_, end = evolve(regressions, preset("fast"), np.random.default_rng(1))
    refits = [one.recompute(Microdata(regressions.codebook, end.codes)) for one in regressions.released]
    assert end.stop in ("matched", "near") and end.number < 100 and all(refit.near.all() for refit in refits)


def test_it_has_ended_after_forty_generations_without_a_nearer_data_set():
    """Once all numbers have been near; before, after five times as many."""
    closing = Freely()
    assert closing.alone and closing.last and not Closing().alone and not closing.ended(99, True)
    closing.rounds = 200
    assert closing.ended(40, True) and not closing.ended(39, True)
    assert closing.ended(200, False) and not closing.ended(199, False)


def test_the_third_round_without_gain_goes_on_until_all_numbers_have_been_near():
    rng, closing = np.random.default_rng(1), Freely(near=0.001, emphasis=np.full(3, 2.0))
    assert [closing.learn(gained, False, rng) for gained in (False, True, False, False)] == [0, 1, 0, 0]
    assert closing.emphasis is not None and closing.learn(False, False, rng)
    assert closing.emphasis is None and closing.near == 0.05 and closing.kicks == 1
    assert not any(closing.learn(False, True, rng) for _ in range(20))


def test_settling_follows_what_is_off_and_lowers_what_is_beyond_the_band():
    rng = np.random.default_rng(3)
    rows, taken = rng.normal(size=(200, 12)), rng.random(200) < 0.1
    band = rng.uniform(0.0, 0.5, 12)
    asked = taken @ rows + rng.normal(size=12) * 3.0
    off = taken @ rows - asked

    def beyond(off):
        return np.sum(np.maximum(np.abs(off) - band, 0.0) ** 2)

    before = beyond(off)
    cube.settle(rows, taken, off, band, before / 12, 100, rng)
    assert off == pytest.approx(taken @ rows - asked) and beyond(off) < before / 20
