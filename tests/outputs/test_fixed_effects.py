"""Regressions with fixed effects: against dummies by statsmodels, other programs' errors, and totals of groups."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.datasets as datasets
import statsmodels.formula.api as smf
from kinds import NO_INFORMATION
from pydantic import TypeAdapter

from outrisk.config import OutputEntry
from outrisk.errors import OutputError
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata, from_frame, infer_codebook
from outrisk.outputs import release
from outrisk.outputs.regression.absorbed_fit import Grouped, fit_within
from outrisk.outputs.regression.fixed_effects import split_absorbed
from outrisk.outputs.regression.programs import PROGRAMS
from outrisk.outputs.regression.sandwich import OF_THE_MODEL, Covariance
from outrisk.problem.influence import records_of_model

ALL = ["coefficients", "standard_errors", "confidence_limits", "p_values", "n", "r2", "residual_sd"]
ALL += ["r2_within", "r2_adjusted", "rmse", "f", "levels"]
CLUSTERED = Covariance("CR1S", "c", "t")


def frame(n=240, regions=9, seed=1):
    rng = np.random.default_rng(seed)
    region, year = rng.integers(0, regions, n), rng.integers(0, 4, n)
    x, z = rng.integers(0, 12, n), rng.integers(0, 3, n)
    y = np.round(2 + 0.3 * x - z + 0.7 * region + 0.4 * year + rng.normal(size=n) * 3)
    found = pd.DataFrame({"region": region, "year": year, "x": x, "z": z, "y": y})
    found["area"] = region // 3
    for name, letter in {"region": "r", "year": "t", "z": "z", "area": "a"}.items():
        found[name] = letter + found[name].astype(str)
    return found


def outputs(data, *entries):
    adapter, codebook = TypeAdapter(OutputEntry), infer_codebook(data)[0]
    built = [each for at, one in enumerate(entries, 1) for each in adapter.validate_python(one).build(codebook, at)]
    return built, from_frame(data, codebook)


def built(data, **given):
    (found,), records = outputs(data, {"kind": "ols", "formula": "y ~ x + z", "release": ALL, **given})
    return found, records


def numbers_of(output, records):
    return dict(zip(output.labels, output.refit(records), strict=True))


@pytest.mark.parametrize("absorb", [["region"], ["region", "year"], ["year", "region", "w"]])
@pytest.mark.parametrize("clustered", ["", "HC1", "area"])
def test_it_is_the_regression_with_dummies(absorb, clustered):
    data = frame().assign(w=lambda each: "w" + (each["x"] % 5).astype(str))
    data["x"] += np.arange(len(data)) % 7
    how = {"covariance": "HC1"} if clustered == "HC1" else {"cluster": clustered} if clustered else {}
    output, records = built(data, absorb=absorb, program="plm", **how)
    found = numbers_of(output, records)
    dummies = smf.ols("y ~ x + C(z) + " + " + ".join(f"C({name})" for name in absorb), data).fit()
    errors = dummies
    if clustered == "HC1":
        errors = dummies.get_robustcov_results("HC1", use_t=True)
    elif clustered:
        errors = dummies.get_robustcov_results("cluster", groups=pd.factorize(data[clustered])[0], use_t=True)
    at = dummies.model.exog_names.index("x")
    assert found["x"] == pytest.approx(dummies.params["x"], rel=1e-9)
    assert found["x: standard error"] == pytest.approx(np.asarray(errors.bse)[at], rel=1e-9)
    assert found["x: p-value"] == pytest.approx(np.asarray(errors.pvalues)[at], rel=1e-7)
    assert found["R2"] == pytest.approx(dummies.rsquared, rel=1e-9)
    assert found["residual s"] == pytest.approx(np.sqrt(dummies.mse_resid), rel=1e-9)
    bare = smf.ols("y ~ " + " + ".join(f"C({name})" for name in absorb), data).fit()
    assert found["within R2"] == pytest.approx(1 - dummies.ssr / bare.ssr, rel=1e-9)


def test_many_levels_that_hang_together_by_few_records():
    """A chain of firms, each joined to the next by one worker: where projections in turn converge slowly."""
    rng = np.random.default_rng(3)
    workers, firms = np.repeat(np.arange(300), 2), np.repeat(np.arange(301), 2)[1:-1]
    x = rng.normal(size=600)
    y = x + rng.normal(size=600) + 0.1 * firms
    more = np.arange(0, 600, 3)  # seen once more in the same firm
    workers, firms, x = (np.concatenate([each, each[more]]) for each in (workers, firms, x))
    x, y = x + rng.normal(size=len(x)), np.concatenate([y, y[more]]) + rng.normal(size=len(x))
    found = fit_within(Grouped(y, x[:, None], [workers, firms]), "fixest", OF_THE_MODEL)
    design = np.column_stack([x, pd.get_dummies(workers).to_numpy(float), pd.get_dummies(firms).to_numpy(float)[:, 1:]])
    exact = np.linalg.lstsq(design, y, rcond=None)[0][0]
    assert found.coefficients[0] == pytest.approx(exact, rel=1e-9)
    assert found.df == len(y) - 1 - 300 - 301 + 1


@pytest.mark.parametrize(
    ("absorb", "cluster", "expected"),
    [  # pyfixest 0.60's feols on the records below, ssc() by default
        (["region"], "region", (0.02172214, 0.07308112)),
        (["region"], "year", (0.02654804, 0.04351605)),
        (["region"], "big", (0.02980161, 0.07777086)),
        (["region", "year"], "region", (0.02127566, 0.07666069)),
        (["region", "year"], "year", (0.02761062, 0.04508081)),
        (["region", "year"], "big", (0.02965546, 0.07666725)),
    ],
)
def test_fixest_counts_what_is_not_nested(absorb, cluster, expected):
    rng, n = np.random.default_rng(1), 400
    codes = {"region": rng.integers(0, 12, n), "year": rng.integers(0, 5, n)}
    codes["big"] = codes["region"] // 3
    x, z = rng.integers(0, 30, n), rng.integers(0, 8, n)
    y = np.round(2 + 0.3 * x - 0.5 * z + codes["region"] * 0.2 + codes["year"] * 0.4 + rng.normal(size=n) * 3)
    records = Grouped(y, np.column_stack([x, z]).astype(float), [codes[name] for name in absorb], codes[cluster])
    assert fit_within(records, "fixest", CLUSTERED).standard_errors == pytest.approx(expected, abs=6e-9)


@pytest.mark.parametrize("program", ["areg", "xtreg", "reghdfe"])
def test_stata_prints_of_ten_firms(program):
    """Grunfeld's ten firms: `xtreg invest mvalue kstock, fe` of Stata's manual, and with vce(cluster firm)."""
    data = datasets.grunfeld.load_pandas().data
    data = data[data["firm"] != "American Steel"]
    firm = pd.factorize(data["firm"])[0].astype(np.int64)
    records = Grouped(data["invest"].to_numpy(), data[["value", "capital"]].to_numpy(), [firm])
    plain = fit_within(records, program, OF_THE_MODEL)
    assert plain.coefficients == pytest.approx([-58.74393, 0.1101238, 0.3100653], rel=1e-6)
    assert plain.standard_errors == pytest.approx([12.45369, 0.0118567, 0.0173545], rel=1e-5)
    assert [plain.sigma_u, plain.residual_sd, plain.rho] == pytest.approx([85.732501, 52.767964, 0.72525012], rel=1e-7)
    assert (round(plain.f, 2), plain.df, round(plain.r2_within, 4)) == (309.01, 188.0, 0.7668)
    clustered = fit_within(replace(records, clusters=firm), program, CLUSTERED)
    ratio = np.sqrt((200 - 3) / (200 - 12)) if program == "areg" else 1.0  # which counts the firms
    assert clustered.standard_errors / ratio == pytest.approx([27.60286, 0.0151945, 0.0527518], rel=1e-5)


def test_reghdfe_counts_a_redundant_level_for_each_part_that_hangs_together():
    apart = [np.array([0, 0, 1, 1, 2, 2, 3, 3] * 5), np.array([0, 1, 0, 1, 2, 3, 2, 3] * 5)]
    rng = np.random.default_rng(1)
    records = Grouped(rng.normal(size=40), rng.normal(size=(40, 1)), apart)
    assert fit_within(records, "reghdfe", OF_THE_MODEL).df == 40 - 1 - 4 - 4 + 2
    assert fit_within(records, "fixest", OF_THE_MODEL).df == 40 - 1 - 4 - 4 + 1


def test_singletons_are_dropped_again_and_again():
    more = {"region": ["r7", "r8", "r8"], "year": ["t9", "t9", "t0"], "x": [1, 1, 2], "z": "z1", "area": "a0"}
    data = pd.concat([frame(60, 3), pd.DataFrame(more | {"y": [3.0, 3.0, 1.0]})]).reset_index(drop=True)
    kept, records = built(data, absorb=["region", "year"])
    dropped, _ = built(data, absorb=["region", "year"], singletons="drop")
    assert numbers_of(kept, records)["number of records"] == 63
    assert numbers_of(dropped, records)["number of records"] == 60  # r7; then t9 has one; then r8
    assert numbers_of(kept, records)["x"] == pytest.approx(numbers_of(dropped, records)["x"], rel=1e-9)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    "more",
    [{}, {"absorb": ["region", "year"]}, {"cluster": "region"}, {"cluster": "region", "absorb": ["region", "year"]},
     {"where": "x > 2"}, {"formula": "y ~ x * z"}, {"formula": "y ~ x + I(x**2)", "distribution": "normal"}],
)  # fmt: skip
def test_totals_of_groups_give_the_numbers_and_their_derivatives(program, more):
    given = {"absorb": ["region"], "program": program, "singletons": "keep", **more}
    if program in ("areg", "xtreg") and len(given["absorb"]) > 1:
        return
    parts = [*ALL, *(("sigma_u", "rho") if len(given["absorb"]) == 1 else ())]
    data = frame()
    data.loc[:3, "region"] = None
    data.loc[4, "region"] = "r9"  # a level of one record
    output, records = built(data, release=parts, **given)
    expected = output.refit(records)
    (part,) = output.parts(expected)
    seen = records_of_model(part.model, records.codes)
    totals = seen.totals(np.ones(len(records)))
    assert part.map.numbers(totals, NO_INFORMATION) == pytest.approx(expected, rel=1e-9)
    change = 1e-5 * np.random.default_rng(1).normal(size=len(records))
    low, high = (seen.totals(1.0 + sign * change) for sign in (-1.0, 1.0))
    by_hand = part.map.numbers(high, NO_INFORMATION) - part.map.numbers(low, NO_INFORMATION)
    assert part.map.jacobian(totals, NO_INFORMATION) @ (high - low) == pytest.approx(by_hand, rel=1e-5, abs=1e-11)
    assert np.linalg.eigvalsh(part.map.precision(totals, NO_INFORMATION)).min() > 0.0


@pytest.mark.parametrize("how", [{}, {"cluster": "region"}])
def test_a_search_has_the_printed_numbers(how):
    data = frame(300)
    release_of = ["coefficients", "standard_errors", "n", "r2_within", "levels"]
    built, records = outputs(
        data.drop(columns="area"),
        {"kind": "ols", "formula": "y ~ x + z | region", "release": release_of, "decimals": 3, **how},
        {"kind": "frequencies", "by": ["region"]},
        {"kind": "magnitudes", "value": "y", "by": ["z"], "statistics": ["mean", "count"]},
    )
    released = tuple(release(output, records) for output in built)
    problem = Problem(records.codebook, len(records), released)
    *_, last = evolve(problem, replace(preset("fast"), generations=300), np.random.default_rng(1))
    beside = [each.recompute(Microdata(records.codebook, last.codes)) for each in released]
    assert all(each.near.all() for each in beside) and beside[0].matched.mean() > 0.7


def test_errors_that_no_total_tells_are_not_searched_for():
    data = frame(300)
    output, records = built(data, absorb=["region"], cluster="year", release=["coefficients", "standard_errors", "f"])
    searched = release(output, records).searched
    assert list(searched.labels) == output.labels[:3]
    other = release(output, records).recompute(from_frame(data.assign(y=data["y"].to_numpy()[::-1]), records.codebook))
    reasons = [row.reason for row in other.rows("matched")]
    assert "not_sought" not in reasons[:3] and set(reasons[3:]) == {"not_sought"}


@pytest.mark.parametrize(
    ("formula", "split"),
    [
        ("y ~ x | region + year", ("y ~ x", ("region", "year"))),
        ("y ~ x | `my region`", ("y ~ x", ("my region",))),
        ("y ~ C(x, contr.treatment(base='a|b'))", ("y ~ C(x, contr.treatment(base='a|b'))", ())),
        ("y ~ I((x > 2) | (x < 1))", ("y ~ I((x > 2) | (x < 1))", ())),
    ],
)
def test_what_stands_behind_a_bar_is_absorbed(formula, split):
    assert split_absorbed(formula) == split


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"absorb": "county"}, "absorb: no variable 'county'"),
        ({"absorb": "y"}, "absorb: 'y' is the response"),
        ({"absorb": "z"}, "the term z does not vary within 'z'"),
        ({"absorb": ["region", "region"]}, "each once"),
        ({"absorb": ["region", "year"], "program": "areg"}, "areg absorbs one variable"),
        ({"absorb": ["region", "year"], "release": ["coefficients", "rho"]}, "sigma_u and rho are of one"),
        ({"formula": "y ~ x | region", "absorb": "year"}, "keep one"),
        ({"formula": "y ~ 0 + x", "absorb": "year"}, "without a constant"),
        ({"formula": "y ~ 1", "absorb": "year"}, "no term beside"),
        ({"absorb": "region", "weight": "x"}, "'weight' does not go with absorb"),
        ({"absorb": "region", "exponentiate": True}, "exponentiate"),
        ({"absorb": "region", "release": ["coefficients", "log_likelihood"]}, "'log_likelihood' is not a part"),
        ({"release": ["coefficients", "levels"]}, "'levels' is not a part of ols"),
        ({"program": "areg"}, "'program' goes with absorb"),
        ({"kind": "logit", "absorb": "region", "release": ["coefficients"]}, "absorb goes with ols, not logit"),
        ({"absorb": "region", "keep": "w"}, "keep: 'w' is no term"),
    ],
)
def test_what_contradicts_itself_is_refused(given, says):
    with pytest.raises(OutputError, match=says):
        built(frame(), **given)


@pytest.mark.parametrize(
    ("formula", "more", "says"),
    [
        ("y ~ x + area", {}, r"'area\[T.a1\]' does not vary within region, whose fixed effects take it up; drop it"),
        ("y ~ x + twice", {}, "its 2 terms are collinear within region; drop one"),
        ("y ~ x", {"program": "xtreg", "cluster": "year"}, "groups of 'region' are not each within one 'year'"),
    ],
)
def test_what_records_do_not_tell_is_said(formula, more, says):
    data = frame().assign(twice=lambda each: 2 * each["x"] + each["region"].str[1:].astype(int))
    output, records = built(data, formula=formula, absorb=["region"], **more)
    with pytest.raises(OutputError, match=says):
        output.refit(records)


def test_groups_that_all_have_one_record():
    data = frame(12).assign(region=[f"r{at}" for at in range(12)])
    output, records = built(data, absorb=["region"], singletons="drop")
    with pytest.raises(OutputError, match="every group of region has one record"):
        output.refit(records)


def test_a_response_that_all_of_a_group_have_leaves_what_is_undefined_undefined():
    data = frame()
    data["y"] = data.groupby("region")["y"].transform("first") / 3
    output, records = built(data, absorb=["region"])
    found = numbers_of(output, records)
    assert found["x"] == 0.0 and found["root of the mean squared residual"] == 0.0 and found["R2"] == 1.0
    assert np.isnan([found["within R2"], found["F"], found["x: p-value"]]).all()


@pytest.mark.parametrize("more", [{"covariance": "CR1S", "cluster": "a"}, {"covariance": "HC1"}])
def test_errors_that_are_not_defined_are_nan(more):
    """One cluster, or as many parameters as records."""
    data = pd.DataFrame({"region": list("rrss"), "a": ["a"] * 4, "x": [1, 3, 2, 5], "y": [1, 2, 4, 3]})
    data = data.iloc[:3] if "HC1" in more.values() else data
    output, records = built(data, formula="y ~ x", absorb=["region"], **more)
    found = numbers_of(output, records)
    assert np.isnan([found["x: standard error"], found["F"]]).all() and np.isfinite(found["x"])
