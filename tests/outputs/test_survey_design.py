"""Estimates by the design of a survey, against R's package survey 4.1-1 (`survey/make_survey.R` made the numbers)."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from kinds import NO_INFORMATION
from pydantic import TypeAdapter, ValidationError

from outrisk.config import OutputEntry
from outrisk.errors import OutputError
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata, from_frame, infer_codebook
from outrisk.outputs import release
from outrisk.outputs.conditions.rules import read_rules
from outrisk.problem.influence import records_of_model

HERE = Path(__file__).parent / "survey"
RECORDS = pd.read_csv(HERE / "survey_records.csv")
BY_R = pd.read_csv(HERE / "survey_by_r.csv").groupby("name", sort=False)["number"].apply(np.array)
CODEBOOK = infer_codebook(RECORDS)[0]
DATA = from_frame(RECORDS, CODEBOOK)
FULL = {"weights": "weight", "strata": "stratum", "psu": "psu", "program": "r"}
DESIGNS = {
    "full": FULL,
    "strata": {key: value for key, value in FULL.items() if key != "psu"},
    "plain": {"weights": "weight", "program": "r"},
}
REGRESSION = ["coefficients", "standard_errors", "confidence_limits", "p_values"]
FORMULAS = {
    "ols": "pressure ~ age + C(sex) + C(region)",
    "logit": "smoker ~ age + C(sex)",
    "poisson": "visits ~ age + C(sex)",
}
MEAN = {"kind": "magnitudes", "value": "pressure", "statistics": ["mean", "standard error", "limits"]}
SHARE = {"kind": "proportions", "event": "smoker", "statistics": ["proportion", "standard error", "limits"]}
YOUNG = {"subpop": "sex == 'f' and age < 40"}


def built(codebook=CODEBOOK, **entry):
    (output,) = TypeAdapter(OutputEntry).validate_python(entry).build(codebook, 1)
    return output


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("kind", FORMULAS)
def test_regressions_are_those_of_svyglm(kind, name):
    output = built(kind=kind, formula=FORMULAS[kind], release=REGRESSION, design=DESIGNS[name])
    assert output.refit(DATA) == pytest.approx(BY_R[f"{kind} {name}"], rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("name", DESIGNS)
def test_means_and_proportions_are_those_of_svymean_svyby_and_svyciprop(name):
    design = DESIGNS[name]
    for entry, key in (
        (MEAN, "mean"),
        (MEAN | {"distribution": "t"}, "mean t"),
        (MEAN | {"by": "region"}, "by"),
        (SHARE | {"by": "region"}, "ciprop"),
    ):
        assert built(**entry, design=design).refit(DATA) == pytest.approx(BY_R[f"{key} {name}"], rel=1e-7)
    levels = built(kind="proportions", event="region", statistics=["proportion", "standard error"], design=FULL)
    assert levels.refit(DATA) == pytest.approx(BY_R["levels full"], rel=1e-7)


@pytest.mark.parametrize("name", DESIGNS)
def test_the_whole_design_counts_to_a_subpopulation(name):
    design = DESIGNS[name] | YOUNG
    mean = built(**MEAN, design=design, distribution="t")
    assert mean.refit(DATA) == pytest.approx(BY_R[f"subpop mean {name}"], rel=1e-7)
    linear = built(kind="ols", formula="pressure ~ age", release=REGRESSION, design=design)
    assert linear.refit(DATA) == pytest.approx(BY_R[f"subpop ols {name}"], rel=1e-7)
    by_stata = built(kind="logit", formula="smoker ~ age", release=REGRESSION, design=design | {"program": "stata"})
    if name != "plain":  # R was given the degrees of freedom of the whole design, which are Stata's
        assert by_stata.refit(DATA)[:8] == pytest.approx(BY_R[f"subpop logit t {name}"][:8], rel=1e-7)
    dropped = built(**MEAN, design=DESIGNS[name], distribution="t", where=YOUNG["subpop"])
    assert dropped.refit(DATA)[0] == mean.refit(DATA)[0]
    assert dropped.refit(DATA)[1] != pytest.approx(mean.refit(DATA)[1], rel=1e-4)


def test_degrees_of_freedom_are_those_of_each_program():
    """Of strata with the subpopulation in Stata, of PSUs with it in R, and less the coefficients in svyglm."""
    design = FULL | {"subpop": "stratum < 3 and not (stratum == 1 and psu == 2)"}
    found = {program: built(**MEAN, design=design | {"program": program}).over for program in ("stata", "r")}
    df = {}
    for program, over in found.items():
        _, drawn = over.records(DATA, "", over.design.subpop, ["pressure"])
        df[program] = drawn.df
    assert df == {"stata": 10 - 2, "r": 9 - 2}


@pytest.mark.parametrize("how", ["certainty", "adjust", "average"])
def test_a_lonely_psu_is_handled_as_in_r(how):
    one = RECORDS[~((RECORDS["stratum"] == 3) & (RECORDS["psu"] > 1))]
    alone = from_frame(one.reset_index(drop=True), CODEBOOK)
    found = built(**MEAN, design=FULL | {"lonely": how}, distribution="t").refit(alone)
    assert found == pytest.approx(BY_R[f"lonely {how}"], rel=1e-7)
    with pytest.raises(OutputError, match="stratum 3 of 'stratum' has one PSU"):
        built(**MEAN, design=FULL).refit(alone)


def test_the_mean_of_other_strata_is_that_of_strata_with_the_estimate_as_in_r():
    one = RECORDS[~((RECORDS["stratum"] == 3) & (RECORDS["psu"] > 1))]
    design = FULL | {"lonely": "average"}
    parts = MEAN | {"statistics": MEAN["statistics"][:2]}
    three = built(**parts, design=design | {"subpop": "stratum != 2"})
    found = three.refit(from_frame(one.reset_index(drop=True), CODEBOOK))
    assert found == pytest.approx(BY_R["lonely average of three strata"], rel=1e-7)
    two = from_frame(one[(one["stratum"] == 3) | (one["region"] == "east")].reset_index(drop=True), CODEBOOK)
    by = built(**parts, design=design, by="region").refit(two)
    assert by == pytest.approx(BY_R["lonely average by"], rel=1e-7, nan_ok=True) and np.isnan(by[[3, 5]]).all()
    linear = {"kind": "ols", "formula": "pressure ~ 1", "release": REGRESSION[:2], "design": design}
    alone = from_frame(one[one["stratum"] == 3].reset_index(drop=True), CODEBOOK)
    assert np.isnan(built(**linear).refit(alone)[1])


def test_weights_of_groups_and_numbers_of_the_design_are_counted():
    output = built(kind="magnitudes", value="age", by="region", design=FULL,
                   statistics=["mean", "n", "population", "psus", "strata"])  # fmt: skip
    found = dict(zip(output.labels, output.refit(DATA), strict=True))
    by = RECORDS.groupby("region")
    assert found["region=east: n"] == by.size()["east"]
    assert found["region=east: population"] == by["weight"].sum()["east"]
    assert (found["number of PSUs"], found["number of strata"]) == (20, 4)


@pytest.mark.parametrize("event", ["everybody", "nobody"])
def test_a_share_of_all_or_none_has_no_limits_on_the_log_odds(event):
    data = from_frame(RECORDS.assign(smoker=int(event == "everybody")), CODEBOOK)
    share, error, low, high = built(**SHARE, design=FULL).refit(data)
    assert (share, error) == (float(event == "everybody"), 0.0) and np.isnan([low, high]).all()


def test_records_without_a_value_are_out_of_the_design_in_stata_alone():
    gaps = RECORDS.assign(pressure=RECORDS["pressure"].where(~((RECORDS["stratum"] == 2) & (RECORDS["psu"] == 1))))
    codebook = infer_codebook(gaps)[0]
    data = from_frame(gaps, codebook)
    parts = MEAN | {"statistics": ["mean", "standard error", "psus"]}
    numbers = {p: built(codebook, **parts, design=FULL | {"program": p}).refit(data) for p in ("stata", "r")}
    assert numbers["stata"][0] == numbers["r"][0] and (numbers["stata"][2], numbers["r"][2]) == (19, 20)
    dropped = from_frame(gaps.dropna().reset_index(drop=True), codebook)
    assert numbers["stata"][1] == pytest.approx(built(codebook, **parts, design=FULL).refit(dropped)[1])


@pytest.mark.parametrize(
    "entry",
    [
        MEAN | {"by": "region", "design": FULL},
        MEAN | {"by": "region", "design": FULL | YOUNG},
        MEAN | {"design": {"weights": "weight"}},
        SHARE | {"by": "sex", "per": 100, "design": FULL | {"program": "stata"}},
        {"kind": "ols", "formula": FORMULAS["ols"], "release": REGRESSION, "design": FULL},
        {"kind": "poisson", "formula": FORMULAS["poisson"], "release": REGRESSION, "design": FULL},
        {"kind": "logit", "formula": FORMULAS["logit"], "release": REGRESSION, "design": {"weights": "weight"}},
    ],
)
def test_totals_give_the_numbers_and_their_derivatives(entry):
    output = built(**entry)
    expected = output.refit(DATA)
    found = []
    for part in output.parts(expected):
        seen = records_of_model(part.model, DATA.codes)
        totals, information = seen.summed(np.ones(len(DATA)))
        found.append(part.map.numbers(totals, information))
        change = 1e-5 * np.random.default_rng(1).normal(size=len(DATA))
        low, high = (seen.totals(1.0 + sign * change) for sign in (-1.0, 1.0))
        if information.size:
            continue
        by_hand = part.map.numbers(high, NO_INFORMATION) - part.map.numbers(low, NO_INFORMATION)
        slopes = part.map.jacobian(totals, NO_INFORMATION) @ (high - low)
        # scores are those at the published numbers: to first order where they are about 0
        assert slopes == pytest.approx(by_hand, rel=1e-3, abs=1e-7 * np.abs(expected).max())
        assert np.linalg.eigvalsh(part.map.precision(totals, NO_INFORMATION)).min() > 0.0
    assert np.concatenate(found) == pytest.approx(expected, rel=1e-5)


def test_a_search_has_the_printed_numbers():
    nested = RECORDS.assign(psu="p" + RECORDS["stratum"].astype(str) + RECORDS["psu"].astype(str))
    codebook = infer_codebook(nested)[0]
    data = from_frame(nested, codebook)
    rules = read_rules(
        codebook,
        [f"psu in [{', '.join(repr(f'p{h}{i}') for i in range(1, 6))}] implies stratum == {h}" for h in range(1, 5)],
    )
    design = FULL | {"program": "stata"}
    outputs = [
        built(codebook, **SHARE, by="sex", design=design),
        built(codebook, kind="logit", formula="smoker ~ age", release=REGRESSION[:2], decimals=3, design=design),
    ]
    released = tuple(release(output, data) for output in outputs)
    problem = Problem(codebook, len(data), released, tuple(rule.mask for rule in rules))
    *_, last = evolve(problem, replace(preset("fast"), generations=100), np.random.default_rng(1))
    beside = [each.recompute(Microdata(codebook, last.codes)) for each in released]
    assert all(each.near.all() for each in beside)


@pytest.mark.parametrize(
    ("entry", "sought"),
    [
        (MEAN | {"design": FULL}, [True] * 4),
        (MEAN | {"design": DESIGNS["strata"]}, [True, False, False, False]),
        (MEAN | {"design": FULL, "statistics": ["mean", "n", "psus"]}, [True, True, False]),
        (
            {"kind": "ols", "formula": "pressure ~ 1", "release": REGRESSION[:2], "design": FULL | YOUNG},
            [True, False],
        ),
    ],
)
def test_what_no_totals_tell_is_not_searched_for(entry, sought):
    output = built(**entry)
    assert output.sought.tolist() == sought
    released = release(output, DATA)
    assert {*released.searched.labels} == {each for each, is_ in zip(output.labels, sought, strict=True) if is_}
    other = from_frame(RECORDS.assign(pressure=RECORDS["pressure"].to_numpy()[::-1]), CODEBOOK)
    for row, is_sought in zip(released.recompute(other).rows("matched"), sought, strict=True):
        assert is_sought is False or row.reason != "not_sought"


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (MEAN | {"design": {"weights": "region"}}, "'region' is not a numeric variable of values above 0"),
        (MEAN | {"design": {"psu": "village"}}, "psu: no variable 'village'"),
        (MEAN | {"design": FULL | {"subpop": "age > 200"}}, "design: subpop: 'age > 200' holds for no value"),
        (MEAN | {"design": FULL, "decimals": {"sd": 1}}, "decimals: 'sd' is not released"),
        (MEAN | {"design": FULL, "statistics": ["mean", "n"], "decimals": {"n": 1}}, "'n' is not released, or a whole"),
        (MEAN | {"design": FULL, "weight": "weight"}, "weight does not go with design"),
        (MEAN | {"design": FULL, "protection": {"threshold": 5}}, "protection does not go with design"),
        (MEAN | {"design": FULL, "statistics": ["mean", "sd"]}, "'sd' is not known with a design"),
        (MEAN | {"design": FULL, "statistics": ["limits"]}, "add 'mean'"),
        (MEAN | {"statistics": ["mean", "population"]}, "'population' is known with a design only"),
        (SHARE | {"design": FULL, "interval": "exact"}, "exact limits are not known with a design"),
        (SHARE | {"design": FULL, "divisor": "n"}, "divisor does not go with design"),
        ({"kind": "ols", "formula": "pressure ~ age", "design": FULL, "cluster": "psu"}, "'cluster' does not go"),
        ({"kind": "ols", "formula": "pressure ~ age", "design": FULL, "weight": "weight"}, "weight does not go"),
        ({"kind": "probit", "formula": "smoker ~ age", "design": FULL}, "design goes with ols, logit and poisson"),
        ({"kind": "ols", "formula": "pressure ~ age | sex", "design": FULL}, "'design' does not go with absorb"),
        (
            {"kind": "ols", "formula": "pressure ~ age", "design": FULL, "release": ["coefficients", "residual_sd"]},
            "'residual_sd' is not printed of a survey's regression",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(entry, says):
    with pytest.raises(OutputError, match=says):
        built(**entry)


@pytest.mark.parametrize("design", [{}, {"strata": "psu", "psu": "psu"}, {"psu": "psu", "fpc": "age"}])
def test_a_design_says_something_and_nothing_twice(design):
    with pytest.raises(ValidationError):
        built(**MEAN, design=design)


def test_numbers_that_no_survey_has_are_refused():
    from outrisk.outputs import released_as_given

    output = built(**MEAN | {"statistics": ["mean", "standard error", "n"]}, design=FULL)
    for values, says in (
        ([500, 1, 10], "a mean of pressure"),
        ([120, -1, 10], "a standard error"),
        ([120, 1, 2.5], "more digits"),
        ([120, 1, -4], "a number of these"),
    ):
        with pytest.raises(OutputError, match=says):
            released_as_given([output], values, Path())
