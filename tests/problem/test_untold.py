"""Coefficients that were not published are where records have them, given all others."""

from pathlib import Path

import numpy as np
import pytest
import statsmodels.formula.api as smf
from pydantic import TypeAdapter

from outrisk.codebook import Codebook, Variable
from outrisk.config import OutputEntry
from outrisk.errors import OutputError
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata
from outrisk.outputs import release
from outrisk.outputs.given import released_as_given
from outrisk.problem.sampling import sampling_errors
from outrisk.problem.untold import begun, told_by

CODEBOOK = Codebook(
    (
        Variable("age", "integer", tuple(range(20, 80, 2))),
        Variable("area", "categorical", ("n", "s", "w")),
        Variable("ill", "integer", (0, 1)),
        Variable("visits", "integer", tuple(range(12))),
        Variable("stays", "integer", tuple(range(40))),
    )
)
MODELS = [
    {"kind": "logit", "formula": "ill ~ age + C(area)", "event": 1, "exponentiate": True},
    {"kind": "logit", "formula": "ill ~ age + C(area)", "event": 1, "where": "age >= 30"},
    {"kind": "probit", "formula": "ill ~ age + C(area)", "event": 1},
    {"kind": "poisson", "formula": "visits ~ age + C(area)", "exponentiate": True},
    {"kind": "ols", "formula": "visits ~ age + C(area)"},
    {"kind": "mnlogit", "formula": "area ~ age + ill"},
]
WITH_SHAPE = [  # and what all names of the parameters that are not published have in common
    ({"kind": "ologit", "formula": "area ~ age + ill", "exponentiate": True}, "|"),
    ({"kind": "ologit", "formula": "area ~ age + ill"}, "s|w"),
    ({"kind": "oprobit", "formula": "area ~ age + ill"}, "|"),
    ({"kind": "negbin", "formula": "stays ~ age + C(area)"}, "alpha"),
    ({"kind": "negbin", "formula": "stays ~ age + C(area)", "exponentiate": True}, "Intercept"),
]
RELEASE = {"release": ["coefficients", "confidence_limits", "p_values"], "decimals": 3}


def records(n=4_000, seed=1):
    rng = np.random.default_rng(seed)
    age, area = rng.integers(0, 30, n), rng.integers(0, 3, n)
    ill = rng.random(n) < 1 / (1 + np.exp(4.2 - 0.05 * (20.0 + 2 * age) + 0.4 * area))
    visits = rng.poisson(np.exp(0.02 * age - 0.3 + 0.4 * ill)).clip(max=11)
    stays = rng.poisson(visits * rng.gamma(0.7, 1.4, n)).clip(max=39)
    return Microdata(CODEBOOK, np.column_stack([age, area, ill, visits, stays]).astype(np.uint16))


def built(entry):
    (output,) = TypeAdapter(OutputEntry).validate_python(entry).build(CODEBOOK, 1)
    return output


def without(output, data, word):
    """What was published, but for numbers with a word in their label."""
    numbers = zip(output.labels, output.refit(data).tolist(), output.decimals.tolist(), strict=True)
    told = {label: "withheld" if word in label else round(value, digits) for label, value, digits in numbers}
    return released_as_given([output], told, Path())[0]


@pytest.mark.parametrize(
    ("entry", "word"),
    [*((entry, "Intercept") for entry in MODELS), *WITH_SHAPE],
    ids=lambda each: each["kind"] if isinstance(each, dict) else each,
)
def test_they_are_where_records_have_them(entry, word):
    data = records()
    output = built(entry | {"decimals": 8})
    full, cut = release(output, data), without(output, data, word)
    (exact,), (part,) = full.parts, cut.parts
    _, places = begun(part, cut.low, cut.high)
    assert [cut.output.labels[at] for at in places] == [label for label in output.labels if word in label]
    told = told_by(part, cut.low, cut.high, data.codes)
    assert told.model.parameters == pytest.approx(exact.model.parameters, abs=1e-5)
    assert told_by(exact, full.low, full.high, data.codes) is exact
    errors = [sampling_errors(each, data.codes) for each in (full, cut)]
    assert errors[1] == pytest.approx(errors[0], rel=1e-3)


@pytest.mark.parametrize("words", [("n|s",), ("s|w",), ("w|x",), ("n|s", "s|w"), ("n|s", "w|x"), ("s|w", "w|x")])
def test_thresholds_that_were_published_stay_beside_those_that_were_not(words):
    """Also where they are negative, and so below the 0 that nothing is told of begins with."""
    book = Codebook(
        (Variable("age", "integer", tuple(range(20, 80, 2))), Variable("step", "categorical", tuple("nswx")))
    )
    rng = np.random.default_rng(3)
    age = rng.integers(0, 30, 4_000)
    latent = 0.04 * age + rng.logistic(size=4_000) - 0.5
    step = np.searchsorted([-3.0, -2.0, -0.5], latent)
    data = Microdata(book, np.column_stack([age, step]).astype(np.uint16))
    (output,) = (
        TypeAdapter(OutputEntry)
        .validate_python({"kind": "ologit", "formula": "step ~ age", "decimals": 8})
        .build(book, 1)
    )
    full = release(output, data)
    exact = full.parts[0].model.parameters
    numbers = zip(output.labels, output.refit(data).tolist(), strict=True)
    told = {label: "withheld" if label in words else round(value, 8) for label, value in numbers}
    (cut,) = released_as_given([output], told, Path())
    part, places = begun(cut.parts[0], cut.low, cut.high)
    known = [at for at, label in enumerate(output.labels) if label not in words]
    assert part.model.parameters[known] == pytest.approx(exact[known], abs=1e-7)
    assert (np.diff(part.model.shape) > 0).all() and len(places) == len(words)
    assert told_by(cut.parts[0], cut.low, cut.high, data.codes).model.parameters == pytest.approx(exact, abs=1e-5)


def test_their_limits_say_where_they_are():
    data = records()
    output = built(MODELS[0] | RELEASE | {"decimals": 8})
    full, cut = release(output, data), without(output, data, "Intercept: exp(b)")
    (exact,), (part,) = full.parts, cut.parts
    first, places = begun(part, cut.low, cut.high)
    assert first.model.coefficients == pytest.approx(exact.model.coefficients, abs=1e-6) and not len(places)
    nobody = data.codes[:10].copy()
    nobody[:, 2] = 0  # is ill: records say nothing that limits do not say better
    told = told_by(part, cut.low, cut.high, nobody)
    assert told.model.coefficients == pytest.approx(exact.model.coefficients, abs=1e-6)


@pytest.mark.parametrize("word", ["Intercept: exp(b)", "Intercept"])
def test_a_response_that_stands_in_no_table_is_drawn_with_the_constant_that_limits_tell(word):
    data = records(3_000)
    tables = [release(built({"kind": "frequencies", "by": [name]}), data) for name in ("age", "area")]
    problem = Problem(CODEBOOK, len(data), (*tables, without(built(MODELS[0] | RELEASE), data, word)))
    last = list(evolve(problem, preset("fast"), np.random.default_rng(1)))[-1]
    assert last.stop in ("matched", "near")
    if "exp(b)" in word:
        assert last.codes[:, 2].mean() == pytest.approx(data.codes[:, 2].mean(), abs=0.03)


def problem_of(data, word="Intercept"):
    tables = [{"kind": "frequencies", "by": by} for by in (["area", "ill"], ["age"])]
    released = [release(built(table), data) for table in tables]
    return Problem(CODEBOOK, len(data), (*released, without(built(MODELS[0] | RELEASE), data, word)))


@pytest.mark.parametrize("n", [60, 4_000])
def test_odds_ratios_without_their_constant_are_reproduced(n):
    """By annealing of few, by local search of many; the constant comes out where a fit of the data has it."""
    data = records(n, seed=2)
    problem = problem_of(data)
    assert not problem.known[problem.released[2].output.labels.index("Intercept: exp(b)") + 36]
    last = list(evolve(problem, preset("fast"), np.random.default_rng(1)))[-1]
    assert last.stop in ("matched", "near")
    frames = [Microdata(CODEBOOK, codes).frame() for codes in (data.codes, last.codes)]
    fits = [smf.logit("ill ~ age + C(area)", frame.astype({"age": float, "ill": int})).fit(disp=0) for frame in frames]
    assert fits[1].params["Intercept"] == pytest.approx(fits[0].params["Intercept"], abs=0.3 * fits[0].bse["Intercept"])


def test_one_coefficient_at_least_is_known():
    data = records()
    with pytest.raises(OutputError, match="no coefficient is known; give the values of some"):
        without(built(MODELS[0]), data, "exp(b)")
