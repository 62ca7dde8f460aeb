"""Printed Cox models of statsmodels and Stata, and what of those of R is refused; what R wrote: test_written_by_..."""

import numpy as np
import pytest
from fair import PRINTED, codebook, data, frame, study
from statsmodels.duration.hazard_regression import PHReg

from outrisk.errors import OutputError

STATA = """
Cox regression with {ties} method for ties

No. of subjects = {n:,}                                Number of obs = {n:,}
No. of failures = {events:,}
Time at risk    = 57,419
                                                        LR chi2(2)    = 1600.00
Log likelihood = {value:.3f}                             Prob > chi2   = 0.0000

------------------------------------------------------------------------------
          _t | {what}   Std. err.      z    P>|z|     [95% conf. interval]
-------------+----------------------------------------------------------------
{rows}
------------------------------------------------------------------------------
"""


def fitted(ties):
    records = frame()
    design = records[["educ", "age"]].astype(float)
    return PHReg(records["yrs_married"], design, status=records["affair"], ties=ties).fit()


def stata_log(ties, ratios):
    fit, rows = fitted(ties.casefold()), []
    for at, name in enumerate(["educ", "age"]):
        b, error, (low, high) = fit.params[at], fit.bse[at], fit.conf_int()[at]
        shown = [np.exp(b), np.exp(b) * error, np.exp(low), np.exp(high)] if ratios else [b, error, low, high]
        cells = [f"{number:.7f}" for number in shown]
        middle = f"{b / error:.2f} {fit.pvalues[at]:.3f}"
        rows.append(f"{name:>12} | {cells[0]}   {cells[1]}   {middle}   {cells[2]}   {cells[3]}")
    facts = {"n": len(frame()), "events": int(frame()["affair"].sum()), "value": fit.llf}
    return STATA.format(ties=ties, what="Haz. ratio" if ratios else "Coefficient", rows="\n".join(rows), **facts)


def read(text, **entry):
    (released,) = study({"kind": "cox", **entry, "values": text}).given(codebook()).values()
    return released


@pytest.mark.parametrize("ties", ["Breslow", "Efron"])
@pytest.mark.parametrize("ratios", [False, True])
def test_a_log_of_stata(ties, ratios):
    found = read(stata_log(ties, ratios), response="yrs_married", status="affair")
    assert found.output.ties == ties.casefold() and found.output.release.exponentiate == ratios
    assert found.output.formula == "yrs_married ~ 1 + educ + age"
    parts = ("coefficients", "standard_errors", "confidence_limits", "p_values", "n", "events", "log_likelihood")
    assert found.output.release.parts == parts and len(found.low) == 13
    assert found.recompute(data()).matched.all()


@pytest.mark.parametrize("how", ["text", "html"])
def test_a_summary_of_statsmodels(how):
    summary = fitted("efron").summary()
    text = summary.as_text() if how == "text" else summary.as_html()
    found = read(f"{text}\n", status="affair")
    assert found.output.release.parts == ("coefficients", "standard_errors", "p_values", "events")
    assert found.output.ties == "efron" and found.recompute(data()).matched.all() and len(found.low) == 7


def test_variables_in_the_equation_of_spss():
    fit, records = fitted("breslow"), frame()
    rows = [
        f",{name},{b:.3f},{error:.3f},{(b / error) ** 2:.3f},1,{p:.3f},{np.exp(b):.3f}"
        for name, b, error, p in zip(["educ", "age"], fit.params, fit.bse, fit.pvalues, strict=True)
    ]
    text = "\n".join([",,B,SE,Wald,df,Sig.,Exp(B)", *rows, ""])
    found = read(text, response="yrs_married", status="affair")
    assert found.output.ties == "breslow" and found.output.release.parts[:2] == ("coefficients", "standard_errors")
    assert found.recompute(data()).matched.all() and len(records) == len(data())


def test_the_event_may_be_a_level():
    text = (PRINTED / "coxph_breslow.txt").read_text(encoding="utf-8")
    found = read(text)
    assert (found.output.event, found.output.strata, found.output.ties) == ("1", ("religion",), "breslow")


@pytest.mark.parametrize(
    ("was", "becomes", "words"),
    [
        ('"breslow"', '"exact"', "ties are taken exactly"),
        ("Surv(yrs_married, affair == 1)", "Surv(start, yrs_married, affair)", "is not Surv of a time and a status"),
        ("educ  0.057200", "rate  0.057200", "rate"),
        ("data = data", "data = data, weights = children", "it is weighted"),
    ],
)
def test_what_r_prints_and_is_not_known(was, becomes, words):
    text = (PRINTED / "coxph_breslow.txt").read_text(encoding="utf-8")
    assert was in text
    with pytest.raises(OutputError, match=words):
        read(text.replace(was, becomes))


def test_all_strata_of_a_call_count():
    text = (PRINTED / "coxph_breslow.txt").read_text(encoding="utf-8")
    call = "educ + age + \n    strata(religion)"
    assert call in text
    found = read(text.replace(call, "strata(religion) + educ + \n    age + strata(occ)"))
    assert found.output.strata == ("religion", "occ") and found.output.formula == "yrs_married ~ 1 + educ + age"


def test_strata_of_other_programs_count_or_are_asked_for():
    log = stata_log("Breslow", True).replace("Cox regression with Breslow", "Stratified Cox regr. -- Breslow")
    given = {"response": "yrs_married", "status": "affair"}
    with pytest.raises(OutputError, match="give the output its 'strata'"):
        read(log, **given)
    found = read(log + "                                                 Stratified by religion\n", **given)
    assert found.output.strata == ("religion",) and found.output.ties == "breslow"
    records = frame()
    model = PHReg(records["yrs_married"], records[["age"]], status=records["affair"], strata=records["religion"])
    text = model.fit().summary().as_text() + "\n"
    with pytest.raises(OutputError, match="give the output its 'strata'"):
        read(text, status="affair")
    assert read(text, status="affair", strata="religion").recompute(data()).matched.all()


def test_robust_errors_are_left_out():
    text = (PRINTED / "coxph_breslow.txt").read_text(encoding="utf-8")
    text = text.replace("se(coef)       z", "se(coef) robust se       z")
    text = text.replace("0.010320   5.543", "0.010320 0.0120   5.543").replace("0.005881 -36", "0.005881 0.0060 -36")
    assert read(text).output.release.parts == ("coefficients", "n", "events")

    lines = stata_log("Efron", False).splitlines()
    at = next(number for number, line in enumerate(lines) if "std. err." in line.casefold())
    robust = "\n".join([*lines[:at], "             |               Robust", *lines[at:]])
    parts = read(robust, response="yrs_married", status="affair").output.release.parts
    assert not {"standard_errors", "confidence_limits", "p_values"} & set(parts)


def test_other_ties_of_stata_are_refused():
    with pytest.raises(OutputError, match="exact partial"):
        read(
            stata_log("Efron", False).replace("Efron", "exact partial likelihood"),
            response="yrs_married",
            status="affair",
        )


def test_values_by_label():
    labels = ["educ", "age", "educ: standard error", "age: standard error", "number of events"]
    fit = fitted("efron")
    numbers = [*np.round(fit.params, 3), *np.round(fit.bse, 3), int(frame()["affair"].sum())]
    entry = {"formula": "Surv(yrs_married, affair) ~ educ + age", "decimals": 3}
    entry["release"] = ["coefficients", "standard_errors", "events"]
    found = read(dict(zip(labels, [float(number) for number in numbers], strict=True)), **entry)
    assert found.recompute(data()).matched.all() and len(found.low) == 5
