"""Printed regressions of another response, model, scale or subset than the study's, and what is beside coefficients."""

import math

import numpy as np
import pytest
from fair import PRINTED, given

from outrisk.assess.look.unlike_data import ROUNDING
from outrisk.errors import OutputError
from outrisk.readers.remarks import kept

FORMULA = "affair ~ age + C(religion) + C(occ)"
LOGIT = {"kind": "logit", "formula": FORMULA}
LINEAR = {"kind": "ols", "formula": "affairs ~ C(religion) + age"}
COX = {"kind": "cox", "formula": "Surv(yrs_married, affair) ~ C(religion) + occ + educ"}


def swapped(name, *pairs):
    text = (PRINTED / name).read_text(encoding="utf-8")
    for was, becomes in pairs:
        assert was in text, was
        text = text.replace(was, becomes)
    return text


def columns(name, keep, add=None):
    """Columns of a CSV file, and further ones of a function of the row."""
    head, *rows = [line.split(",") for line in (PRINTED / name).read_text().splitlines()]
    at = [head.index(f'"{each}"') for each in keep]
    lines = [[row[place] for place in at] + (add(row) if add else []) for row in rows]
    more = ['"2.5 %"', '"97.5 %"'] if add else []
    return "\n".join(",".join(row) for row in [[head[place] for place in at] + more, *lines])


def raw(name, *pairs):
    """A table as esttab writes it, before another program saved it."""
    lines = swapped(name, *pairs).splitlines()
    return "\n".join(line.replace('"=""', '="').replace('"""', '"') for line in lines)


def read(entry, text):
    with kept() as notes:
        released, beside = given(entry | {"values": text})
    off = np.abs(beside.differences) * 10.0**released.decimals  # R's summary rounds twice
    assert beside.failure == "" and (beside.matched | (off <= ROUNDING)).all()
    return released, notes


def test_odds_ratios_without_a_statistic_are_told_by_p_or_limits_or_asked_for():
    by_p = columns("tidy_exponentiated.csv", ["term", "estimate", "std.error", "p.value"])
    assert read(LOGIT, by_p)[0].output.release.exponentiate
    by_p = columns("tidy.csv", ["term", "estimate", "std.error", "p.value"])
    assert not read(LOGIT, by_p)[0].output.release.exponentiate

    def limits(row):
        b, error = math.log(float(row[1])), 1.959963984540054 * float(row[2])
        return [repr(math.exp(b - error)), repr(math.exp(b + error))]

    released, _ = read(LOGIT, columns("tidy_exponentiated.csv", ["term", "estimate", "std.error"], limits))
    assert released.output.release.exponentiate and "confidence_limits" in released.output.release.parts
    alone = columns("tidy_exponentiated.csv", ["term", "estimate", "std.error"])
    with pytest.raises(OutputError, match=r"whether its estimates are exp\(b\) it does not say"):
        read(LOGIT, alone)
    assert read(LOGIT | {"exponentiate": True}, alone)[0].output.release.exponentiate


def test_esttab_of_odds_ratios_without_its_note_is_asked_for():
    def ratio(line):
        name, _, number = line.partition(",")
        value = number.strip('"=').rstrip("*")
        try:
            b = float(value)
        except ValueError:
            return line
        return f'{name},"=""{math.exp(b):.3f}"""' if b and "." in value else line

    lines = (PRINTED / "esttab_base4_se.csv").read_text().splitlines()
    end = next(at for at, line in enumerate(lines) if '=""N"""' in line)
    body = [ratio(line) for line in lines[:end]]
    body = [line for line in body if "(0." not in line and "(.)" not in line]
    with pytest.raises(OutputError, match=r"whether its estimates are exp\(b\) it does not say"):
        read(LOGIT, "\n".join([*body, *lines[end : end + 1]]))
    released, _ = read(LOGIT | {"exponentiate": True}, "\n".join([*body, *lines[end : end + 1]]))
    assert released.output.release.exponentiate


@pytest.mark.parametrize(
    ("entry", "text", "message"),
    [
        (LINEAR, swapped("lm.txt", ("affairs ~", "children ~")), "is of the response 'children', the output"),
        (LINEAR, swapped("lm.txt", ("affairs ~", "log(affairs) ~")), "is of the response 'log.affairs.'"),
        (
            LOGIT,
            swapped("r_summary.txt", ("affair ~", "affair == 0 ~")),
            "is of the response 'affair == 0', the output",
        ),
        (
            LOGIT,
            swapped("stata_base4.log", ("affair |", "religion |")),
            "is of the response 'religion', the output says",
        ),
        (
            LOGIT,
            swapped("statsmodels.txt", ("Variable:                 affair", "Variable:                   educ")),
            "'educ'",
        ),
        (
            LINEAR,
            swapped("lm.txt", (" + age,", " + age + offset(log(educ)),")),
            r"has an offset, offset\(log\(educ\)\)",
        ),
        (
            LINEAR,
            swapped("lm.txt", ("data = data", "data = data, subset = age > 30")),
            "is of a subset, age > 30, the output",
        ),
        (LINEAR, swapped("lm.txt", ("data = data", "data = data[1:9, ]")), "is of a subset"),
        (
            LINEAR,
            swapped("lm.txt", ("\nlm(", "\nrlm(")),
            r"is a fit by R's rlm\(\), which is not known; known are lm, glm",
        ),
        (LINEAR | {"weight": "educ"}, swapped("lm.txt"), "the table is not weighted, the output says weight: educ"),
        (
            COX,
            swapped("coxph.txt", ("Surv(yrs_married, affair)", "Surv(rep(1, 2600L), affair)")),
            "is not Surv of a time",
        ),
        (COX, swapped("coxph.txt", ("Surv(yrs_married, affair)", "Surv(educ, affair)")), "is of the response 'educ'"),
        (
            COX,
            swapped("coxph.txt", ("Surv(yrs_married, affair)", "Surv(yrs_married, educ)")),
            "the status of the table is",
        ),
        (
            COX | {"ties": "breslow"},
            swapped("coxph.txt"),
            "the ties of the table is 'efron', the output says ties: bres",
        ),
        (COX | {"strata": "marriage"}, swapped("coxph.txt"), "the table is not stratified, the output has 'strata'"),
    ],
)
def test_a_print_of_another_model_is_refused(entry, text, message):
    with pytest.raises(OutputError, match=message):
        given(entry | {"values": text})


@pytest.mark.parametrize(
    "title",
    [
        "Instrumental variables LIML regression",
        "Mixed-effects logistic regression",
        "Conditional (fixed-effects) logistic regression",
        "Complementary log-log regression",
        "Penalized logistic regression",
        "Censored quantile regression",
        "Tobit regression",
    ],
)
def test_a_log_of_stata_with_another_title_is_refused(title):
    text = swapped("stata_base4.log", ("Logistic regression", title))
    with pytest.raises(
        OutputError, match=r"its title is '.*', of a model that is not known; known are those of regress"
    ):
        given(LOGIT | {"values": text})


@pytest.mark.parametrize("title", ["Median regression", ".25 Quantile regression"])
def test_a_log_of_a_quantile_regression_is_none_of_a_logit(title):
    text = swapped("stata_base4.log", ("Logistic regression", title))
    with pytest.raises(OutputError, match=r"the table is of a quantreg, the output says kind: logit; correct it"):
        given(LOGIT | {"values": text})


@pytest.mark.parametrize(
    ("family", "link", "message"),
    [
        ("V(u) = u*(1-u)                 [Bernoulli]", "g(u) = ln(u/(1-u))             [Logit]", ""),
        (
            "V(u) = u*(1-u)                 [Bernoulli]",
            "g(u) = ln(u)                   [Log]",
            "family bernoulli by the",
        ),
        ("V(u) = u*(1-u)                 [Bernoulli]", "g(u) = invnorm(u)              [Probit]", "is of a probit"),
    ],
)
def test_a_glm_of_stata_is_told_by_its_family_and_link(family, link, message):
    lines = f"Variance function: {family}\nLink function    : {link}\n"
    text = swapped("stata_base4.log", ("Logistic regression    ", "Generalized linear models    "))
    text = text.replace("Log likelihood = -3818", f"{lines}Log likelihood = -3818")
    if not message:
        read(LOGIT, text)
        return
    with pytest.raises(OutputError, match=message):
        given(LOGIT | {"values": text})


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("GEE", "its model is GEE, which is not known"),
        ("QuantReg", "the table is of a quantreg"),
        ("RLM", "its model is RLM, which is not known"),
    ],
)
def test_other_models_of_statsmodels_are_refused(model, message):
    text = swapped(
        "statsmodels.txt", ("Model:                          Logit", f"Model:                          {model}")
    )
    with pytest.raises(OutputError, match=message):
        given(LOGIT | {"values": text})


def test_a_subset_that_the_study_says_and_another_name_of_the_response_are_told():
    _, notes = read(LINEAR | {"where": "age > 0"}, swapped("lm.txt", ("data = data", "data = data, subset = age > 0")))
    assert any("the table is of a subset, age > 0; it is taken for the output's where" in note for note in notes)
    _, notes = read(LINEAR, swapped("lm.txt", ("affairs ~", "y ~")))
    assert any("its response is called 'y', which is no variable; it is taken for 'affairs'" in note for note in notes)


def test_sigma_and_r2_of_r_have_four_digits():
    released, _ = read(LINEAR, swapped("lm.txt"))
    places = {label: at for at, label in enumerate(released.labels)}
    at = places["residual s"]
    assert (released.low[at], released.high[at]) == pytest.approx((2.1795, 2.1805))
    at = places["R2"]
    assert (released.low[at], released.high[at]) == pytest.approx((0.021995, 0.022005))


def test_errors_of_a_glm_of_r_are_as_sure_as_its_stopping_rule():
    released, _ = read(LOGIT, swapped("tidy.csv"))
    at = released.labels.index("age: standard error")
    assert released.high[at] - released.low[at] == pytest.approx(6e-4 * 0.00407000846 + 1e-6, rel=1e-3)
    linear, _ = read({"kind": "ols", "formula": "affairs ~ C(religion) + age"}, swapped("lm.txt"))
    assert all(
        linear.low[at] == linear.high[at] for at, label in enumerate(linear.labels) if label.endswith("standard error")
    )


def test_esttab_as_stata_writes_it_and_what_stands_in_its_brackets():
    se = raw("esttab_base4_se.csv", ("6366", "6,366"))
    assert '="6,366"' in se and '="* p<0.05' in se
    released, _ = read(LOGIT, se)
    at = released.labels.index("number of records")
    assert released.low[at] == released.high[at] == 6366
    assert "standard_errors" in released.output.release.parts

    statistics = swapped("esttab_base1_z_two_models.csv")
    one = "\n".join(",".join(line.split(",")[:2]) if "p<" not in line else line for line in statistics.splitlines())
    released, _ = read(LOGIT, one)
    at = released.labels.index("age: standard error")
    assert released.low[at] <= 0.00407000846 <= released.high[at] and released.high[at] - released.low[at] < 2e-5
    _, notes = read(LOGIT, "\n".join(line for line in one.splitlines() if "in parentheses" not in line))
    assert any("what stands in brackets, as no note says what it is" in note for note in notes)


def test_limits_and_wide_errors_of_esttab_are_read():
    text = swapped("esttab_base4_se.csv")
    lines = text.splitlines()
    wide, limits = [], []
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        name, _, cell = line.partition(",")
        if name == '"="""""' and "(0." in cell:
            continue
        error = below.partition(",")[2] if "(0." in below else ""
        wide.append(f"{line},{error or chr(34) * 2}" if "p<" not in line and " in " not in line else line)
        limits.append(line.replace("Standard errors in parentheses", "95% confidence intervals in brackets"))
        if error:
            b, half = float(cell.strip('"=').rstrip("*")), 1.96 * float(error.strip('"=()'))
            limits.append(f'"=""""","=""[{b - half:.2f},{b + half:.2f}]"""')
    released, _ = read(LOGIT, "\n".join(wide))
    assert "standard_errors" in released.output.release.parts
    with kept():
        released, beside = given(LOGIT | {"values": "\n".join(limits)})
    assert "confidence_limits" in released.output.release.parts
    assert np.abs(beside.differences).max() < 0.02


def test_limits_of_spss_are_read_and_what_is_passed_over_is_said():
    def more(line):
        cells = line.split(",")
        if line.startswith(",,B"):
            return f"{line},95% C.I.for EXP(B),\n,,,,,,,,Lower,Upper"
        if not cells[-1]:
            return f"{line},,"
        b, error = float(cells[2]), float(cells[3])
        return f"{line},{math.exp(b - 1.96 * error):.2f},{math.exp(b + 1.96 * error):.2f}"

    text = "\n".join(more(line) for line in swapped("spss.csv").splitlines())
    with kept() as notes:
        released, beside = given(LOGIT | {"values": text})
    assert "confidence_limits" in released.output.release.parts and np.abs(beside.differences[-20:]).max() < 0.02
    assert any("Exp(B), which may show more digits of B than B" in note for note in notes)


def test_robust_errors_of_a_tidied_cox_model_are_left_out_and_said():
    entry = {"kind": "cox", "formula": "Surv(yrs_married, affair) ~ C(religion) + occ + educ"}
    head, *rows = (PRINTED / "coxph_tidy.csv").read_text().splitlines()
    text = "\n".join([head.replace('"statistic"', '"robust.se","statistic"')])
    for row in rows:
        cells = row.split(",")
        error = 1.1 * float(cells[2])
        statistic = float(cells[1]) / error
        text += "\n" + ",".join([*cells[:3], repr(error), repr(statistic), "0.5", *cells[5:]])
    released, notes = read(entry, text)
    assert set(released.output.release.parts) == {"coefficients", "standard_errors"}
    assert any("'robust.se' and what is by it, p-values and limits: robust" in note for note in notes)


def test_columns_of_confint_are_limits_and_others_are_said():
    def limits(row):
        b, error = float(row[1]), 1.959963984540054 * float(row[2])
        return [repr(b - error), repr(b + error)]

    text = columns("tidy.csv", ["term", "estimate", "std.error", "statistic", "p.value"], limits)
    assert "confidence_limits" in read(LOGIT, text)[0].output.release.parts
    _, notes = read(LOGIT, text.replace('"statistic"', '"vif"'))
    assert any("the column 'vif'" in note for note in notes)


def test_pages_of_r_that_are_wrapped_or_have_commas_or_are_tibbles():
    text = swapped("r_summary.txt")
    commas = text.partition("Coefficients:")
    read(
        LOGIT,
        commas[0] + commas[1] + commas[2].replace(".", ",").replace("as,factor", "as.factor").replace("Std,", "Std."),
    )
    lines = text.splitlines()
    at = next(number for number, line in enumerate(lines) if "Estimate" in line)
    rows = lines[at + 1 : at + 11]
    names = [row[:21] for row in rows]
    first = [" " * 21 + "Estimate Std. Error", *(row[:41] for row in rows)]
    second = [" " * 21 + "z value Pr(>|z|)    ", *(name + row[41:] for name, row in zip(names, rows, strict=True))]
    assert "Estimate Std. Error z value" in lines[at]
    released, _ = read(LOGIT, "\n".join([*lines[:at], *first, *second, *lines[at + 11 :]]))
    assert {"coefficients", "standard_errors", "p_values"} <= set(released.output.release.parts)

    head = "# A tibble: 10 × 5\n   term  estimate std.error statistic  p.value\n   <chr> <dbl> <dbl> <dbl> <dbl>\n"
    body = [line.split(",") for line in (PRINTED / "tidy.csv").read_text().splitlines()[1:]]
    tibble = head + "\n".join(
        f"{number:2} {row[0].strip(chr(34))}  "
        + "  ".join(f"{float(cell):.3g}".replace("e-", "e- ") for cell in row[1:])
        for number, row in enumerate(body, 1)
    )
    read(LOGIT, tibble)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "====\n   Dependent variable:\n   affair\nage  0.050***\n (0.003)\n",
            "R's stargazer as text, of which one table alone is read",
        ),
        ("\\hline\nage & 0.05 \\\\\n\\hline\n", "LaTeX without its"),
        (
            "Parameter,DF,Estimate,Standard Error,Pr > ChiSq\nage,1,0.05,0.003,<.0001\n",
            "SAS as ODS writes it, which is not read",
        ),
        (
            "---------------------\n   (1)\n  affair\nage  0.05\n  (0.003)\nStandard errors in parentheses\n",
            "esttab as text",
        ),
    ],
)
def test_tables_of_other_programs_are_refused_with_what_to_give(text, message):
    with pytest.raises(OutputError, match=message):
        given(LOGIT | {"values": text})
