"""Regressions with instrumental variables by two-stage least squares, against R's AER and sandwich, and statsmodels."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from pydantic import TypeAdapter
from statsmodels.sandbox.regression.gmm import IV2SLS

from outrisk.config import OutputEntry
from outrisk.errors import OutputError
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata, from_frame, infer_codebook
from outrisk.outputs import Instrumental, InstrumentalEntry, Release, release
from outrisk.outputs.regression.instrumental import split_instruments
from outrisk.outputs.regression.sandwich import Covariance
from outrisk.problem.influence import records_of_model

PARTS = ("coefficients", "standard_errors", "p_values", "n", "r2", "r2_adjusted", "residual_sd", "f")
TESTS = ("first_stage_f", "wu_hausman", "sargan")


def made(n=500, seed=1):
    rng = np.random.default_rng(seed)
    z, c, g = rng.integers(0, 10, n), rng.choice(list("abc"), n), rng.integers(0, 12, n)
    u, x1 = rng.normal(size=n), rng.integers(20, 60, n)
    x2 = np.round(8 + 0.5 * z + 1.0 * (c == "b") + 0.05 * x1 + 2 * u + rng.normal(size=n)).astype(int)
    x3 = np.round(3 + 0.3 * z - 1.0 * (c == "c") + u + rng.normal(size=n)).astype(int)
    y = np.round(10 + 1.5 * x2 - 0.8 * x3 + 0.2 * x1 - 4 * u + 3 * rng.normal(size=n)).astype(int)
    w = rng.integers(1, 5, n)
    return pd.DataFrame({"y": y, "x1": x1, "x2": x2, "x3": x3, "z": z, "c": c, "g": [f"g{k:02d}" for k in g], "w": w})


def output_of(frame, formula, endogenous, instruments, parts=PARTS, **options):
    codebook = infer_codebook(frame)[0]
    return Instrumental(codebook, "iv", formula, tuple(endogenous.split()), instruments, Release(parts, 6), **options)


def fitted(frame, *terms, **options):
    output = output_of(frame, *terms, **options)
    return dict(zip(output.labels, output.refit(from_frame(frame, output.codebook)), strict=True))


OF_R = {  # R 4.2.2, AER 1.2-10, sandwich 3.0-2, of made(), options(digits = 12)
    ("y ~ x1 + x2 + x3", "x2 x3", "z + C(c)", ""): {
        "x2": 1.254428780663, "x3": -0.616340998439, "x2: standard error": 0.3495939793518,
        "x3: p-value": 2.44545872595e-01, "R2": 0.187054651497, "adjusted R2": 0.18213764334,
        "residual s": 4.79694865387, "F": 96.0552275989, "first-stage F of x2": 76.313486750788,
        "first-stage F of x3": 84.569760218638, "Wu-Hausman F": 81.268074388644, "Sargan chi2": 0.237514370669,
    },
    ("y ~ C(c) + x2", "x2", "z + x1", ""): {
        "C(c)[T.b]": -0.127478944368, "x2: standard error": 0.174318122747, "R2": -0.434213883462, "F": 25.7756398641,
        "first-stage F of x2": 127.0132881522, "Wu-Hausman F": 155.0582808148, "Sargan chi2": 86.8402774403,
    },
    ("y ~ x1 + x2", "x2", "z + C(c)", "w"): {
        "x2": 1.021506760815, "x2: standard error": 0.1488259746348, "R2": 0.122206161148, "residual s": 7.7977898692,
        "F": 133.224035078, "first-stage F of x2": 69.430114579163, "Wu-Hausman F": 110.628463303650,
        "Sargan chi2": 0.784056145961,
    },
    ("y ~ 0 + x1 + x2", "x2", "z + C(c)", ""): {
        "x1": 0.261882565597, "x2: standard error": 0.0873633711977, "R2": 0.962431040945,
        "adjusted R2": 0.962280161591, "first-stage F of x2": 273.8123692765, "Wu-Hausman F": 541.9273184825,
    },
}  # fmt: skip
ROBUST_OF_R = {  # errors of Intercept, x1 and x2 in made(): y ~ x1 + x2 | x1 + z, and weighted y ~ x1 + x2 | x1 + z + c
    ("HC0", ""): [(1.82215251467, 0.0198857697955, 0.153850193385), (2.18875240984, 0.0230615834882, 0.177365132673)],
    ("HC1", ""): [(1.82764369492, 0.0199456969121, 0.154313831382), (2.19534836375, 0.0231310811349, 0.177899634535)],
    ("CR0", "g"): [(2.09383005178, 0.0184678798368, 0.177236232464), (2.5389547265, 0.0198047808559, 0.216449089665)],
    ("CR1S", "g"): [(2.19133001631, 0.0193278434367, 0.185489302652), (2.6571820848, 0.0207269977422, 0.226528120934)],
}


@pytest.mark.parametrize("case", OF_R, ids=lambda case: case[0])
def test_ivreg_of_r(case):
    formula, endogenous, instruments, weight = case
    unknown = ("sargan", "f") if "0 +" in formula else ()
    parts = tuple(part for part in (*PARTS, *TESTS) if part not in unknown)
    found = fitted(made(), formula, endogenous, instruments, parts=parts, weight=weight)
    assert {name: found[name] for name in OF_R[case]} == pytest.approx(OF_R[case], rel=1e-9)


@pytest.mark.parametrize("case", ROBUST_OF_R)
def test_robust_errors_of_r(case):
    estimator, cluster = case
    parts, covariance = ("coefficients", "standard_errors"), Covariance(estimator, cluster)
    plain = fitted(made(), "y ~ x1 + x2", "x2", "z", parts=parts, covariance=covariance)
    weighted = fitted(made(), "y ~ x1 + x2", "x2", "z + C(c)", parts=parts, covariance=covariance, weight="w")
    for found, of_r in zip((plain, weighted), ROBUST_OF_R[case], strict=True):
        errors = [found[f"{name}: standard error"] for name in ("Intercept", "x1", "x2")]
        assert errors == pytest.approx(of_r, rel=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_statsmodels_on_random_data(seed):
    n = [7, 12, 40, 300][seed % 4]
    frame = made(n, seed)
    exogenous, dummies = sm.add_constant(frame[["x1"]]), pd.get_dummies(frame["c"], drop_first=True)
    columns = [exogenous, frame[["z"]]] + ([dummies] if seed % 3 else [])
    fit = IV2SLS(frame["y"], exogenous.join(frame["x2"]).astype(float), pd.concat(columns, axis=1).astype(float)).fit()
    found = fitted(frame, "y ~ x1 + x2", "x2", "z + C(c)" if seed % 3 else "z", program="statsmodels")
    for name, own in (("Intercept", "const"), ("x1", "x1"), ("x2", "x2")):
        of_fit = [fit.params[own], fit.bse[own], fit.pvalues[own]]
        own = [found[name], found[f"{name}: standard error"], found[f"{name}: p-value"]]
        assert own == pytest.approx(of_fit, rel=1e-7)
    whole = [found[name] for name in ("R2", "adjusted R2", "F", "residual s")]
    assert whole == pytest.approx([fit.rsquared, fit.rsquared_adj, fit.fvalue, np.sqrt(fit.scale)], rel=1e-7)


def test_programs_that_divide_by_n_have_z():
    plain, large = (
        fitted(
            made(), "y ~ x1 + x2", "x2", "z", parts=("coefficients", "standard_errors", "wald", "f"), program=program
        )
        for program in ("ivreg", "ivregress")
    )
    ratio = np.sqrt(497 / 500)
    assert large["x2: standard error"] == pytest.approx(plain["x2: standard error"] * ratio)
    assert large["Wald chi2"] == pytest.approx(2 * plain["F"] / ratio**2)
    small = fitted(made(), "y ~ x1 + x2", "x2", "z", program="ivregress", small=True)
    assert small["x2: standard error"] == pytest.approx(plain["x2: standard error"])


def test_robust_is_what_the_program_takes():
    for program, small, of_records, of_clusters in (
        ("ivregress", False, "HC0", "CR0"), ("ivregress", True, "HC1", "CR1S"), ("ivreg", False, "HC1", "CR1S"),
    ):  # fmt: skip
        how = {"parts": ("coefficients", "standard_errors"), "program": program, "small": small}
        for cluster, meant in (("", of_records), ("g", of_clusters)):
            output = output_of(made(), "y ~ x2", "x2", "z", covariance=Covariance("robust", cluster), **how)
            assert output.covariance_meant.estimator == meant


ASKED = [
    ("y ~ x1 + x2 + x3", "x2 x3", "z + C(c)", {}),
    ("y ~ x1 + x2", "x2", "z", {"program": "ivregress"}),
    ("y ~ C(c) + x2", "x2", "z + x1", {"weight": "w"}),
    ("y ~ x1 + x2 + x3", "x2 x3", "z + C(c)", {"covariance": Covariance("robust"), "weight": "w"}),
    ("y ~ x2", "x2", "z + x1", {"covariance": Covariance("", "g")}),
    ("y ~ 0 + x1 + x2", "x2", "z", {"where": "x1 >= 30"}),
]


@pytest.mark.parametrize("case", ASKED, ids=str)
def test_totals_have_the_numbers_of_the_refit_and_derivatives_those_of_differences(case):
    formula, endogenous, instruments, how = case
    parts = [*PARTS, "confidence_limits", "wald", *([] if "covariance" in how else TESTS)]
    if instruments == "z":
        parts.remove("sargan")
    if "0 +" in formula:
        parts = [part for part in parts if part not in ("f", "wald")]
    output = output_of(made(), formula, endogenous, instruments, parts=tuple(parts), **how)
    data = from_frame(made(), output.codebook)
    exact = output.refit(data)
    (part,) = output.parts(exact)
    seen, none = records_of_model(part.model, data.codes), np.zeros((0, 0))
    totals = seen.totals(np.ones(len(data)))
    assert part.map.numbers(totals, none) == pytest.approx(exact, rel=1e-8)
    rng = np.random.default_rng(2)
    change = seen.totals(np.bincount(rng.integers(0, len(data), 3_000), minlength=len(data)) / 6.0) - totals
    ahead, behind = (part.map.numbers(totals + step * change, none) for step in (1e-4, -1e-4))
    slopes = part.map.jacobian(totals, none) @ change
    assert slopes == pytest.approx((ahead - behind) / 2e-4, rel=1e-4, abs=1e-8)
    assert (np.linalg.eigvalsh(part.map.precision(totals, none)) > 0.0).all()


@pytest.mark.parametrize("same", [{"z": 3}, {"x2": 9}, {"y": 0}, {"z": 3, "x2": 9, "x1": 30, "y": 0}], ids=str)
@pytest.mark.parametrize("covariance", [Covariance(), Covariance("robust"), Covariance("", "g")], ids=str)
def test_a_search_has_a_map_of_data_that_have_no_such_fit(same, covariance):
    parts = (*PARTS, "confidence_limits", "wald", *(() if covariance.estimator or covariance.cluster else TESTS[:2]))
    output = output_of(made(), "y ~ x1 + x2", "x2", "z", parts=parts, covariance=covariance)
    (part,) = output.parts(output.refit(from_frame(made(), output.codebook)))
    few = {name: made()[name][made()[name] >= value].min() for name, value in same.items()}
    for frame in (made().assign(**few), made().assign(**few)[:2]):
        seen = records_of_model(part.model, from_frame(frame, output.codebook).codes)
        totals = seen.totals(np.ones(len(frame)))
        with np.errstate(all="ignore"):
            assert len(part.map.numbers(totals, None)) == len(output.labels)
            assert np.isfinite(part.map.jacobian(totals, None)).all()
            assert np.isfinite(part.map.precision(totals, None)).all()


# of 48 states in 1995: packs a person, price and sales tax at prices of 1983 (Stock and Watson; AER's CigarettesSW)
CIGARETTES = {
    "packs": """
    101.0854 111.043 71.95417 56.85931 82.58292 79.47219 124.4666 93.07455 97.47462 92.4016 74.84978 83.26508
    134.2583 88.75344 172.6478 105.1761 76.62064 77.47355 102.4698 81.38825 82.9453 122.4503 105.5825 87.15957
    121.5381 79.80697 87.27071 156.3367 80.37137 64.66887 93.52612 70.81732 111.3801 108.6801 92.15575
    95.64309 92.5998 108.0827 97.21923 122.3201 73.07931 49.2722 105.3869 122.3348 65.53092 92.46635 115.5688
    112.2381
    """,
    "price": """
    103.9182 115.1854 130.3199 138.1264 109.8097 143.2287 108.6614 123.174 102.7382 125.2559 117.8724 130.2337
    101.4001 114.9672 95.78719 110.1019 142.4574 122.0694 129.4164 158.0378 144.5857 103.1694 111.0429
    102.5044 98.42127 126.1474 119.5374 109.3449 133.2593 115.5815 135.5638 145.5761 108.8525 111.6371
    124.8688 115.5926 147.283 100.2748 110.2612 109.624 130.054 118.7508 109.3578 115.2485 156.8959 132.1399
    109.2632 104.03
    """,
    "tax": """
    0.9216975 5.485019 6.205707 9.036307 0 8.107283 0 6.972116 0.9392491 5.964565 5.612972 7.371718 4.828576
    5.474629 5.421917 4.23469 6.783683 5.812828 7.325461 8.945541 9.458883 0.9110344 7.264491 0 3.785434
    7.140423 5.692259 0 7.542978 5.503883 8.868656 5.59908 5.183453 5.316054 0 6.542977 9.635335 4.77499
    4.240815 8.120297 7.36155 5.654801 5.207514 5.488025 10.26422 6.292378 6.184711 0
    """,
}


def test_prints_of_stata_that_were_published():
    """Of Stock and Watson's example, `ivregress 2sls lpackpc (lravgprs = rtaxso), vce(robust)` and `ivreg ..., r`."""
    frame = pd.DataFrame({name: text.split() for name, text in CIGARETTES.items()}).astype(float)
    frame[["packs", "price"]] = np.log(frame[["packs", "price"]])
    parts = ("coefficients", "standard_errors", "n", "r2", "residual_sd", "wald", "f")
    how = {"parts": parts, "program": "ivregress", "covariance": Covariance("robust")}
    large = fitted(frame, "packs ~ price", "price", "tax", **how)
    printed = {"price": "-1.083587", "Wald chi2": "12.05", "R2": "0.4011", "residual s": "0.18635"}
    assert {name: f"{large[name]:.{len(text.partition('.')[2])}f}" for name, text in printed.items()} == printed
    small = fitted(frame, "packs ~ price", "price", "tax", small=True, **how)
    assert small["price: standard error"] == pytest.approx(0.3189186, abs=5e-7)


def test_a_record_with_a_missing_value_is_left_out():
    frame = made().astype({"z": float})
    frame.loc[frame.index % 10 == 0, "z"] = np.nan
    left = frame[frame["z"].notna()].reset_index(drop=True)
    assert fitted(frame, "y ~ x1 + x2", "x2", "z") == pytest.approx(fitted(left, "y ~ x1 + x2", "x2", "z"))


@pytest.mark.parametrize(
    ("formula", "endogenous", "instruments", "options", "says"),
    [
        ("y ~ x1 + x2 + x3", "x2 x3", "z", {}, "1 columns beside those of the formula for 2 endogenous"),
        ("y ~ x1 + x2", "x2", "x1", {}, "0 columns beside"),
        ("y ~ x1 + x2", "x2", "z + x2", {}, "'x2' is endogenous, and tells nothing of itself"),
        ("y ~ x1 + x2", "", "z", {}, "say with 'endogenous'"),
        ("y ~ x1 + x2", "x2", "", {}, "say with 'instruments'"),
        ("y ~ x1 + x2", "x4", "z", {}, "'x4' is no term"),
        ("y ~ x1 + x2", "x2", "0 + z", {}, "leaves the constant out"),
        ("y ~ x1 + x2", "x2", "z | x1", {}, "terms without ~ or |"),
        ("y ~ x1 + x2", "x2", "z", {"parts": ("coefficients", "sargan")}, "more instruments than endogenous"),
        ("y ~ x1 + x2", "x2", "z", {"parts": ("coefficients", "aic")}, "'aic' is not a part of iv"),
        ("y ~ x1 + x2", "x2", "z", {"parts": ("coefficients", "wu_hausman", "standard_errors"),
                                    "covariance": Covariance("HC0")}, "wu_hausman is known of errors by the model"),
        ("y ~ x1 + x2", "x2", "z", {"parts": ("coefficients",), "covariance": Covariance("HC0")}, "none is released"),
        ("y ~ 0 + x1 + x2", "x2", "z", {}, "without a constant programs differ"),
        ("y ~ x1 + x2", "x2", "z", {"weight": "w", "program": "ivregress"}, "units that are not known"),
        ("y ~ x1 + x2", "x2", "z", {"program": "ivreg2"}, "the F that ivreg2 prints is one of small samples"),
        ("y ~ x1 + x2", "x2", "z", {"small": True}, "divides by n - K always"),
        ("y ~ x1 + x2", "x2", "z", {"program": "sas"}, "'sas' is not one of"),
    ],
)  # fmt: skip
def test_what_is_refused(formula, endogenous, instruments, options, says):
    with pytest.raises(OutputError, match=re.escape(says)):
        output_of(made(), formula, endogenous, instruments, **options)


def test_what_records_do_not_tell():
    frame = made().assign(z2=lambda each: 2 * each["z"], flat=lambda each: np.arange(len(each)) % 2)
    with pytest.raises(OutputError, match="instruments, exogenous terms among them, are collinear"):
        fitted(frame, "y ~ x1 + x2", "x2", "z + z2")
    same = frame.assign(x3=frame["x2"])
    with pytest.raises(OutputError, match="its 4 columns are collinear"):
        fitted(same, "y ~ x1 + x2 + x3", "x2 x3", "z + C(c)")
    balanced = pd.concat([frame.assign(flat=0), frame.assign(flat=1)]).reset_index(drop=True)
    with pytest.raises(OutputError, match="rank condition"):
        fitted(balanced, "y ~ x1 + x2", "x2", "flat")


def test_as_many_records_as_columns():
    found = fitted(made(3, 5), "y ~ x1 + x2", "x2", "z", parts=("coefficients", "standard_errors", "residual_sd", "n"))
    assert found["number of records"] == 3 and np.isnan(found["x2: standard error"])


@pytest.mark.parametrize(
    ("formula", "taken"),
    [
        ("y ~ x1 + x2 | x1 + z1 + C(z2)", ("y ~ x1 + x2", ("x2",), "z1 + C(z2)")),
        ("y ~ x1 + log(x2) | z1 + x1", ("y ~ x1 + log(x2)", ("log(x2)",), "z1")),
        ("y ~ x1 | x2 + x3 | z1 + z2", ("y ~ x1 + x2 + x3", ("x2", "x3"), "z1 + z2")),
        ("y ~ 1 + x1 + [x2 ~ z1 + z2]", ("y ~ 1 + x1 + x2", ("x2",), "z1 + z2")),
        ("y ~ [x2 ~ z1] + x1", ("y ~ x2 + x1", ("x2",), "z1")),
        ("y ~ x1 + x2", ("y ~ x1 + x2", (), "")),
    ],
)
def test_formulas_with_instruments_in_them(formula, taken):
    assert tuple(split_instruments(formula, "here")) == taken


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("y ~ x1 + x1:w + x2 | x1:w + z1 + z2", "x1:w is exogenous and has an endogenous variable in it"),
        ("y ~ x1 + x2 | . - x2 + z1", "write the instruments out, without a dot"),
        ("y ~ x1 + x2 | z1 + z2 | z3 | z4", "has 3 bars; write"),
        ("y ~ x1 | x1 + z1", "has no endogenous term"),
    ],
)
def test_formulas_that_are_refused(formula, says):
    with pytest.raises(OutputError, match=re.escape(says)):
        split_instruments(formula, "here")


def test_a_formula_with_instruments_reads_as_one_beside_them():
    codebook = infer_codebook(made())[0]
    (inside,) = InstrumentalEntry(kind="iv", formula="y ~ x1 + x2 | x1 + z").build(codebook, 1)
    (beside,) = InstrumentalEntry(kind="iv", formula="y ~ x1 + x2", endogenous="x2", instruments="z").build(codebook, 1)
    assert inside == beside
    with pytest.raises(OutputError, match="keep one"):
        InstrumentalEntry(kind="iv", formula="y ~ x1 + x2 | x1 + z", endogenous="x2").build(codebook, 1)


@pytest.mark.parametrize("how", [{}, {"covariance": "robust", "program": "ivregress"}, {"keep": "x2"}], ids=str)
def test_a_search_has_the_printed_numbers(how):
    frame = made(300).drop(columns=["g", "w", "x3"])
    codebook = infer_codebook(frame)[0]
    data = from_frame(frame, codebook)
    parts = ["coefficients", "standard_errors", "n", "r2"]
    entry = {"kind": "iv", "formula": "y ~ x1 + x2", "endogenous": "x2", "instruments": "z + c", "release": parts}
    table = {"kind": "frequencies", "by": ["c", "z"]}
    adapter = TypeAdapter(OutputEntry)
    built = [adapter.validate_python(each).build(codebook, 1)[0] for each in (entry | {"decimals": 3} | how, table)]
    released = tuple(release(output, data) for output in built)
    problem = Problem(codebook, len(data), released)
    *_, last = evolve(problem, replace(preset("fast"), generations=300), np.random.default_rng(1))
    beside = [each.recompute(Microdata(codebook, last.codes)) for each in released]
    assert all(each.near.all() for each in beside)


def test_robust_errors_beside_coefficients_that_are_not_printed_are_not_searched_for():
    output = output_of(made(), "y ~ x1 + x2", "x2", "z", covariance=Covariance("robust"), keep=("x2",))
    data = from_frame(made(), output.codebook)
    searched = release(output, data).searched
    assert "x2" in searched.labels and "x2: standard error" not in searched.labels and "R2" in searched.labels
