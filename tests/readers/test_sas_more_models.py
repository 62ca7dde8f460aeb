"""Less usual regressions in listings of SAS: products of terms, several outcomes, dispersions, strata, pairs."""

# ruff: noqa: E501 - lines of listings are as wide as SAS prints them

import math

import numpy as np
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from as_sas import d4, genmod, p_value, phreg, procedure
from as_stata import given, people
from scipy import stats
from test_sas_listings import LOGIT, matched

from outrisk.errors import OutputError

PEOPLE = people(500)
HEAD = [
    "                                                      Standard          Wald",
    "            Parameter                 DF    Estimate       Error    Chi-Square    Pr > ChiSq",
    "",
]


def table(rows):
    """Rows (stub, b, error) of LOGISTIC."""
    out = ["                            Analysis of Maximum Likelihood Estimates", "", *HEAD]
    for stub, b, error in rows:
        z = b / error
        out.append(
            f"            {stub:<24}{1:>3d}{b:>12.4f}{d4(error):>12}{z * z:>14.4f}{p_value(2 * stats.norm.sf(abs(z))):>14}"
        )
    return "\n".join(out) + "\n\n"


def head(model, event):
    cut = LOGIT[: LOGIT.index("Model Convergence Status")]
    return procedure("LOGISTIC") + cut.replace("binary logit", model).replace(
        "Probability modeled is ill=1.", event
    ).replace(" 400\n", " 500\n")


def test_products_of_categories_and_numbers(tmp_path):
    fit = smf.logit("ill ~ C(area) * age", PEOPLE).fit(disp=0)
    names = {
        "Intercept": "Intercept", "C(area)[T.south]": "area       south", "C(area)[T.west]": "area       west",
        "age": "age", "C(area)[T.south]:age": "age*area   south", "C(area)[T.west]:age": "age*area   west",
    }  # fmt: skip
    rows = table([(stub, fit.params[name], fit.bse[name]) for name, stub in names.items()])
    entry = {"kind": "logit", "formula": "ill ~ age * C(area)"}
    matched(head("binary logit", "Probability modeled is ill=1.") + rows, entry, tmp_path, PEOPLE)
    effect = LOGIT[: LOGIT.index("Model Convergence Status")].replace(
        "north           0      0", "north          -1     -1"
    )
    assert effect != LOGIT
    with pytest.raises(OutputError, match="by effect coding"):
        given(procedure("LOGISTIC") + effect + rows, entry, tmp_path, PEOPLE)


def test_outcomes_of_a_generalized_logit(tmp_path):
    frame = PEOPLE.assign(wave=PEOPLE["area"].map({"north": 0, "south": 1, "west": 2}))
    fit = sm.MNLogit(2 - frame["wave"], sm.add_constant(frame[["age", "ill"]])).fit(disp=0)
    rows = []
    for name, shown in (("const", "Intercept"), ("age", "age"), ("ill", "ill")):
        for at, outcome in ((2, "north"), (1, "south")):
            rows.append((f"{shown:<12}{outcome}", fit.params.loc[name, at - 1], fit.bse.loc[name].iloc[at - 1]))
    text = head("generalized logit", "Logits modeled use area='west' as the reference category.")
    text = text.replace("Response Variable             ill", "Response Variable             area")
    text = text[: text.index("Class Level")] + table(rows).replace(
        "Parameter                 DF", "Parameter   area          DF"
    )
    released = matched(text, {"kind": "mnlogit", "formula": "area ~ age + ill"}, tmp_path, PEOPLE)
    assert any("area = north" in each for each in released.labels)


def test_a_dispersion_of_counts(tmp_path):
    rng = np.random.default_rng(8)
    frame = people(600).assign(age=lambda data: np.clip(rng.negative_binomial(2, 0.06, len(data)), 18, 65))
    text = procedure("GENMOD") + genmod(frame, "age", ["wave"], ["area"], family="Negative Binomial")
    with pytest.raises(OutputError, match=r"distribution gamma by the link log"):
        given(
            text.replace("Negative Binomial", "Gamma"),
            {"kind": "negbin", "formula": "age ~ wave + C(area)"},
            tmp_path,
            frame,
        )
    found = given(text, {"kind": "negbin", "formula": "age ~ wave + C(area)"}, tmp_path, frame)
    labels = found[0][0].labels
    assert any("alpha" in each for each in labels)


def test_strata_and_efron_ties_of_hazards(tmp_path):
    text = phreg(PEOPLE, "age", "ill", ["wage"], {}, ties="EFRON", strata="area")
    at = text.index("Summary of the Number")
    one = text[at : text.index("Model Fit")]
    rows = []
    for number, area in enumerate(("north", "south", "west"), 1):
        mine = PEOPLE[PEOPLE["area"] == area]
        events = int(mine["ill"].sum())
        rows.append(
            f"     {number}    {area:<8}{len(mine):8d}{events:12d}{len(mine) - events:12d}{100 * (1 - events / len(mine)):12.2f}"
        )
    total = one.strip().splitlines()[-1]
    stratified = "\n".join([one.splitlines()[0], "", "    Stratum    area       Total       Event    Censored    Censored", "",
                            *rows, f"    Total    {total.strip()}", "", ""])  # fmt: skip
    text = procedure("PHREG") + text.replace(one, stratified)
    entry = {"kind": "cox", "formula": "age ~ wage", "status": "ill"}
    released = matched(text, entry | {"strata": ["area"]}, tmp_path, PEOPLE)
    assert "number of events" in released.labels
    with pytest.raises(OutputError, match="the table is stratified by area"):
        given(text, entry | {"strata": ["wave"]}, tmp_path, PEOPLE)


def test_a_binomial_of_genmod_says_its_event(tmp_path):
    fit = smf.logit("ill ~ age", PEOPLE).fit(disp=0)
    text = genmod(PEOPLE, "wave", ["age"], ["area"])
    at = text.index("Intercept")
    rows = "".join(
        f"{name:<18}{1:>3d}{b:>10.4f}{e:>9.4f}{b - 1.959964 * e:>12.4f}{b + 1.959964 * e:>10.4f}{(b / e) ** 2:>13.2f}"
        f"{p_value(2 * stats.norm.sf(abs(b / e))):>14}\n"
        for name, b, e in zip(("Intercept", "age"), fit.params, fit.bse, strict=True)
    )
    full = next(line for line in text.splitlines() if "Full Log" in line)
    text = (
        text[:at]
        .replace("Poisson", "Binomial")
        .replace("Log\n", "Logit\n")
        .replace("Variable    wave", "Variable    ill")
    )
    text = (
        procedure("GENMOD") + text.replace(full, f"     Full Log Likelihood                    {fit.llf:15.4f}") + rows
    )
    entry = {"kind": "logit", "formula": "ill ~ age"}
    with pytest.raises(OutputError, match="does not say which level's probability is modelled"):
        given(text, entry, tmp_path, PEOPLE)
    said = "PROC GENMOD is modeling the probability that ill='{}'. One way to change this is to specify it.\n\n"
    matched(text.replace("Analysis Of", said.format(1) + "Analysis Of"), entry, tmp_path, PEOPLE)
    with pytest.raises(OutputError, match="models the probability of ill = 0, the output says event: 1"):
        given(text.replace("Analysis Of", said.format(0) + "Analysis Of"), entry | {"event": 1}, tmp_path, PEOPLE)


def test_a_pair_of_ttest_is_turned_by_its_names(tmp_path):
    frame = people(80).assign(wage=lambda data: data["age"] + 2.0 * data["wave"])
    for one, other in (("wage", "age"), ("age", "wage")):
        differences = frame[one] - frame[other]
        t = stats.ttest_1samp(differences, 0.0)
        n, sd = len(frame), differences.std()
        text = procedure("TTEST") + "\n".join([
            f"                       Difference:  {one} - {other}", "",
            "      N        Mean     Std Dev     Std Err     Minimum     Maximum", "",
            f"{n:7d}{differences.mean():12.4f}{sd:12.4f}{sd / math.sqrt(n):12.4f}{differences.min():12.4f}{differences.max():12.4f}", "",
            "    Mean       95% CL Mean        Std Dev      95% CL Std Dev", "", "  1.0000      0.9000   1.1000      0.5000      0.4000   0.6000",
            "", "     DF    t Value    Pr > |t|", "", f"{n - 1:7d}{t.statistic:11.2f}{p_value(t.pvalue):>12}", ""])  # fmt: skip
        entry = {"kind": "test", "variable": "wage", "paired": "age"}
        assert len(matched(text, entry, tmp_path, frame).labels) == 5
