import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import NO_INFORMATION, by_differences, random_records
from slow import block_totals
from statsmodels.duration.hazard_regression import PHReg

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.evolve.problem import Problem
from outrisk.microdata import Microdata
from outrisk.outputs.base import release, released
from outrisk.outputs.regression.cox_entry import CoxEntry
from outrisk.outputs.regression.surv import read_surv
from outrisk.problem.influence import records_of_model
from outrisk.problem.sampling import sampling_errors
from outrisk.problem.untold import told_by

CODEBOOK = Codebook(
    (
        Variable("months", "integer", (0, 1, 2, 5, 8), missing=True),
        Variable("died", "integer", (0, 1), missing=True),
        Variable("arm", "categorical", ("a", "b"), missing=True),
        Variable("stage", "categorical", ("early", "middle", "late")),
        Variable("age", "integer", (40, 55, 62, 70)),
    )
)
EVERYTHING = ("coefficients", "standard_errors", "confidence_limits", "p_values", "n", "events", "log_likelihood")


def cox(formula="months ~ age + C(stage)", **given):
    given = {"status": "died", "release": EVERYTHING, "decimals": 6} | given
    given = {name: value for name, value in given.items() if value is not None}
    return CoxEntry(kind="cox", formula=formula, **given).build(CODEBOOK, 1)[0]


def records(seed, n=120):
    """Patients whose hazard rises with age and stage."""
    rng = np.random.default_rng(seed)
    stage, age, arm = rng.integers(3, size=n), rng.integers(4, size=n), rng.integers(3, size=n)
    died = rng.integers(2, size=n)
    time = np.minimum(rng.exponential(2.5 * np.exp(-0.4 * stage - 0.2 * age), n), 4).astype(int)
    missing = rng.random((2, n)) < 0.05
    return Microdata(
        CODEBOOK,
        np.stack([np.where(missing[0], 5, time), np.where(missing[1], 2, died), arm, stage, age], 1).astype(np.uint16),
    )


def at_own_numbers(output, data, digits=6):
    """The part at what the data have, rounded; and its totals."""
    part = output.parts(np.round(output.refit(data), digits))[0]
    return part, block_totals(part.model, data.codes)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("options", [{}, {"strata": "arm"}, {"where": "age > 40"}, {"exponentiate": True}])
def test_it_is_what_statsmodels_fits(ties, options):
    output, data = cox(ties=ties, **options), records(1, 200)
    frame = data.frame()
    frame = frame[frame["age"] > 40] if "where" in options else frame
    frame = frame[["months", "died", "stage", "age", *(["arm"] if "strata" in options else [])]].dropna()
    design = np.stack([frame["age"], frame["stage"] == "middle", frame["stage"] == "late"], axis=1).astype(float)
    strata = frame["arm"].astype(str).to_numpy() if "strata" in options else None
    fit = PHReg(frame["months"].to_numpy(float), design, frame["died"].to_numpy(float), strata=strata, ties=ties).fit()
    limits = fit.conf_int().T.ravel()
    shown = np.exp if "exponentiate" in options else np.asarray
    expected = [*shown(fit.params), *fit.bse, *shown(limits), *fit.pvalues, len(frame), frame["died"].sum(), fit.llf]
    np.testing.assert_allclose(output.refit(data), np.array(expected, dtype=float), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("strata", [(), ("arm",)])
def test_numbers_follow_from_totals(ties, strata):
    output, data = cox(ties=ties, strata=strata), records(2)
    part, totals = at_own_numbers(output, data)
    np.testing.assert_allclose(part.map.numbers(totals, NO_INFORMATION), output.refit(data), rtol=2e-6, atol=1e-6)
    tenth, totals = at_own_numbers(output, data, 2)  # to first order
    np.testing.assert_allclose(tenth.map.numbers(totals, NO_INFORMATION), output.refit(data), rtol=2e-2, atol=2e-3)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("strata", [(), ("arm",)])
def test_derivatives_are_those_of_differences(ties, strata):
    output, data = cox(ties=ties, strata=strata), records(3, 300)
    part, totals = at_own_numbers(output, data)
    found = part.map.jacobian(totals, NO_INFORMATION)
    expected = by_differences(lambda here: part.map.numbers(here, NO_INFORMATION), totals, 1e-5)
    size = np.abs(expected).max(axis=1, keepdims=True)
    np.testing.assert_allclose(found / size, expected / size, atol=2e-4 if ties == "breslow" else 3e-2)
    k, cells = len(output.columns), part.model.clock.cells
    steady = np.ones(len(totals), dtype=bool)
    steady[k : k + cells] = ties == "breslow"  # numbers of events are whole where ties are Efron's
    np.testing.assert_allclose((found / size)[:, steady], (expected / size)[:, steady], atol=2e-4)


@given(st.integers(0, 10_000), st.sampled_from(["efron", "breslow"]), st.booleans())
@settings(max_examples=25, deadline=None)
def test_totals_and_influence_in_any_way(seed, ties, stratified):
    output = cox("months ~ age * C(stage)", ties=ties, strata=("arm",) if stratified else (), where="age > 40")
    data = random_records(CODEBOOK, seed)
    rng = np.random.default_rng(seed)
    numbers = np.concatenate([rng.normal(0.0, 0.1, 5), np.ones(5), -np.ones(5), np.ones(10), [50, 20, -100]])
    out = released(output, np.round(numbers, 3))
    expected = block_totals(out.parts[0].model, data.codes)
    compiled = Problem(CODEBOOK, len(data), (out,)).totals(data.codes)
    np.testing.assert_allclose(compiled, expected, rtol=1e-10, atol=1e-10)
    seen = records_of_model(out.parts[0].model, data.codes)
    np.testing.assert_allclose(seen.totals(np.ones(len(data))), expected, rtol=1e-10, atol=1e-10)
    slopes = rng.normal(size=(3, len(expected)))
    np.testing.assert_allclose(seen.through(slopes).sum(axis=0), slopes @ expected, rtol=1e-8, atol=1e-8)
    assert seen.through(slopes[:0]).shape == (len(data), 0)
    single = seen.single().through(slopes)
    np.testing.assert_allclose(single, seen.through(slopes), rtol=1e-3, atol=1e-3)


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_a_fit_is_finite_or_refused(seed):
    (found,) = cox().refits([random_records(CODEBOOK, seed)])
    assert str(found).startswith("output 'cox 1': ") if isinstance(found, OutputError) else np.isfinite(found).all()


def test_ties_of_three_by_hand():
    """Three of four die at 1, the first of them with x = 1: Efron's and Breslow's likelihoods, at their maxima."""
    codebook = Codebook(
        (
            Variable("t", "integer", (1, 2)),
            Variable("d", "integer", (0, 1)),
            Variable("x", "integer", (0, 1)),
        )
    )
    data = Microdata(codebook, np.array([[0, 1, 1], [0, 1, 0], [0, 1, 0], [1, 0, 0]], dtype=np.uint16))
    grid = np.linspace(-3.0, 4.0, 700_001)
    risk, gone = np.exp(grid) + 3.0, np.exp(grid) + 2.0
    by_hand = {
        "breslow": grid - 3.0 * np.log(risk),
        "efron": grid - sum(np.log(risk - share * gone) for share in (0.0, 1 / 3, 2 / 3)),
    }
    for ties, value in by_hand.items():
        entry = CoxEntry(kind="cox", formula="Surv(t, d) ~ x", ties=ties, release=["coefficients", "log_likelihood"])
        found = entry.build(codebook, 1)[0].refit(data)
        np.testing.assert_allclose(found, [grid[value.argmax()], value.max()], atol=1e-5)


def test_without_a_status_nobody_is_censored():
    data = records(5)
    everybody = cox("months ~ age", status="", release=["coefficients", "standard_errors", "events"])
    kept = data.frame().dropna(subset=["months", "age"])
    fit = PHReg(kept["months"].to_numpy(float), kept[["age"]].to_numpy(float), ties="efron").fit()
    np.testing.assert_allclose(everybody.refit(data), [*fit.params, *fit.bse, len(kept)], rtol=1e-6)
    assert "nobody censored" in everybody.notes and "event died = 1; ties as Efron's" in cox().notes
    part, totals = at_own_numbers(everybody, data)
    np.testing.assert_allclose(part.map.numbers(totals, NO_INFORMATION), everybody.refit(data), atol=1e-6)


def test_it_goes_to_another_process_and_back():
    data = records(10)
    out = release(cox(strata="arm"), data)
    back = pickle.loads(pickle.dumps(out.searched))
    totals = block_totals(out.parts[0].model, data.codes)
    part = back.parts[1].at(np.zeros(3))
    again = block_totals(part.model, data.codes)
    assert back.labels == out.searched.labels and len(totals) == len(again)
    np.testing.assert_allclose(part.fitted.score(again, NO_INFORMATION)[0].shape, (3,))


def test_of_one_and_two_two_is_the_event():
    codebook = Codebook(tuple(replace(v, values=(1, 2)) if v.name == "died" else v for v in CODEBOOK.variables))
    data = records(9)
    entry = CoxEntry(kind="cox", formula="Surv(months, died) ~ age", decimals=6)
    output = entry.build(codebook, 1)[0]
    np.testing.assert_allclose(
        output.refit(Microdata(codebook, data.codes)), entry.build(CODEBOOK, 1)[0].refit(data), rtol=1e-9
    )
    assert "event died = 2" in output.notes


def test_r_notation_is_read():
    output = cox("Surv(months, died) ~ age + C(stage)", release=["coefficients"])
    assert output.formula == "months ~ age + C(stage)" and output.status == "died"
    assert output.labels == ["age", "C(stage)[T.middle]", "C(stage)[T.late]"]
    by_terms = CoxEntry(kind="cox", response="months", terms=["age", "stage"], status="died").build(CODEBOOK, 1)[0]
    assert by_terms.labels == ["age", "stage_middle", "stage_late"]
    np.testing.assert_allclose(by_terms.refit(records(4)), output.refit(records(4)))


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("Surv(t, d) ~ x", ("t", "d", "", (), "x")),
        ("survival::Surv( time = t, event = d ) ~ x + z", ("t", "d", "", (), "x + z")),
        ("Surv(t, d == 1) ~ x", ("t", "d", "1", (), "x")),
        ("Surv(t, d == 'not well') ~ x", ("t", "d", "not well", (), "x")),
        ('Surv(`follow up`, `has died` == "yes") ~ x', ("`follow up`", "has died", "yes", (), "x")),
        ("Surv(t, d) ~ strata(a) + x", ("t", "d", "", ("a",), "x")),
        ("Surv(t, d) ~ x + strata(a, `b c`) + z + strata(e)", ("t", "d", "", ("a", "b c", "e"), "x + z")),
        ("Surv(t, d) ~ x * C(z) + strata(a)", ("t", "d", "", ("a",), "x * C(z)")),
        ("Surv(start, stop, d) ~ x", None),
        ("t ~ x", None),
    ],
)
def test_formulas_of_the_package_survival(formula, expected):
    assert read_surv(formula) == expected


def test_what_surv_says_is_the_entry():
    output = cox("Surv(months, died == 1) ~ age + strata(arm)", status=None, release=["coefficients"])
    assert (output.formula, output.status, output.event, output.strata) == ("months ~ age", "died", "1", ("arm",))
    again = {"status": "died", "event": 1, "strata": ["arm"], "release": ["coefficients"]}
    assert cox("Surv(months, died == 1) ~ age + strata(arm)", **again) == output
    same = cox("Surv(months, died) ~ age + strata(arm)", strata="arm", release=["coefficients"])
    np.testing.assert_allclose(same.refit(records(8)), output.refit(records(8)))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"formula": "Surv(months, age, died) ~ C(stage)"}, "Surv has a time and a status"),
        ({"formula": "Surv(months, died) ~ age + strata(arm)", "strata": ["stage"]}, "strata: .* keep one"),
        ({"status": "", "event": 1}, "'event' is a level of 'status'"),
        ({"status": None}, "say with 'status'"),
        ({"status": "alive"}, "status: no variable 'alive'"),
        ({"strata": ["site"]}, "strata: no variable 'site'"),
        ({"formula": "stage ~ age"}, "is no numeric variable; it is the time"),
        ({"formula": "months ~ 1"}, "has no terms"),
        ({"formula": "months ~ 0 + C(stage)"}, r"leave out '0 \+'"),
        ({"formula": "months ~ age + died"}, "'died' is in the model twice"),
        ({"strata": ["arm", "arm"]}, "'arm' is in the model twice"),
        ({"formula": "months ~ age", "status": "stage"}, "say which counts with 'event'"),
        ({"release": ["coefficients", "r2"]}, "'r2' is not a part of cox"),
        ({"formula": "Surv(months, stage) ~ age"}, "keep one"),
        ({"ties": "exact"}, "ties"),
        ({"weight": "age"}, "weight"),
    ],
)
def test_what_cannot_be_is_refused(given, words):
    with pytest.raises((OutputError, ValueError), match=words):
        cox(**given)


@pytest.mark.parametrize(
    ("codes", "words"),
    [
        ([[0, 0, 0, 0, 0], [1, 0, 0, 1, 1], [2, 0, 0, 2, 2]], "none of these records has the event"),
        ([[0, 1, 0, 0, 0], [1, 1, 0, 1, 1], [2, 1, 0, 1, 2]], "stage = late has no records"),
        ([[0, 1, 0, 0, 0], [1, 1, 0, 1, 1], [2, 0, 0, 2, 2], [1, 0, 0, 2, 2]], "separated: there is no event in all 2"),
        ([[0, 2, 0, 0, 0]], "no records to fit it on"),
        ([[0, 1, 0, 0, 1], [1, 1, 0, 1, 1], [2, 0, 0, 2, 1]], "age is 55 in all of these records; drop it"),
    ],
)
def test_why_there_is_no_fit(codes, words):
    with pytest.raises(OutputError, match=words):
        cox().refit(Microdata(CODEBOOK, np.array(codes, dtype=np.uint16)))


def test_a_withheld_coefficient_is_where_records_have_it():
    """A paper prints the treatment's hazard ratio and says what it was adjusted for."""
    data = records(7, 2_000)
    output = cox("months ~ age + C(stage)", release=["coefficients", "standard_errors"], decimals=5)
    low, high = output.publish(output.refit(data))
    low[[1, 2]], high[[1, 2]] = -np.inf, np.inf
    hidden = released(output, low, high)
    part = told_by(hidden.parts[0], low, high, data.codes)
    np.testing.assert_allclose(part.model.coefficients[0], output.refit(data)[:3], atol=1e-4)
    assert np.isfinite(sampling_errors(hidden, data.codes)[[0, 3, 4, 5]]).all()
    with pytest.raises(OutputError, match="no coefficient is known"):
        released(output, np.full(6, -np.inf), np.full(6, np.inf))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"events": 121}, "number of events is 121 among 120 records"),
        ({"log_likelihood": 0.5}, "a partial one is at most 0"),
        ({"events": 0}, "it is a whole number from 1"),
    ],
)
def test_numbers_that_no_cox_model_has(change, words):
    output = cox(release=["coefficients", "n", "events", "log_likelihood"])
    said = {"n": 120, "events": 30, "log_likelihood": -99.0} | change
    with pytest.raises(OutputError, match=words):
        released(output, np.array([0.1, 0.2, 0.3, *said.values()]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        unknown = np.array([0.1, 0.2, 0.3, -np.inf, 20, -99.0])
        assert released(output, unknown, np.where(np.isinf(unknown), np.inf, unknown)).known.sum() == 5


def test_its_numbers_of_people_are_counts():
    data = records(6)
    output = cox(strata=("arm",), where="age > 40")
    low, high = output.publish(output.refit(data))
    apart = output.counts_first(low, high)
    assert apart.labels[:2] == ("number of records", "number of events") and apart.decimals[:3].tolist() == [0, 0, 6]
    tallies, model = apart.parts
    frame = output.sample(data)[1]
    totals = np.concatenate([block_totals(block, data.codes) for block in tallies.blocks])
    assert totals.tolist() == [len(frame), frame["died"].sum()] == apart.low[:2].tolist()
    numbers = model.map.numbers(block_totals(model.model, data.codes), NO_INFORMATION)
    np.testing.assert_allclose(numbers, apart.low[2:], atol=2e-6)
    np.testing.assert_allclose(apart.output.refit(data)[2:], apart.low[2:], atol=1e-6)
    np.testing.assert_allclose(apart.output.refit(data, apart.low), apart.output.refit(data), rtol=1e-6)
    assert sorted(apart.of) == list(range(len(low)))
    records_of, by_status = output.counts(low, high)
    assert records_of.low == len(frame) and by_status.by == ("died",)
    assert by_status.low.tolist() == by_status.high.tolist() == [len(frame) - totals[1], totals[1], 0]
    assert cox(release=["coefficients"]).counts_first(*[np.zeros(3)] * 2) is None
