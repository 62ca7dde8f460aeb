"""Layouts that public listings of SAS have: panels of wide tables, names broken over lines, levels a blank apart."""

import re

import pytest
import statsmodels.formula.api as smf
from as_sas import corr, crossed, genmod, glm, logistic, one_way, p_value, page, phreg, procedure, reg
from as_stata import given, people
from test_sas_listings import matched

from outrisk.codebook import Codebook, Variable
from outrisk.config import study_of
from outrisk.errors import OutputError
from outrisk.readers.remarks import kept
from outrisk.readers.sas_parameters import rows_of

PEOPLE = people(400)
OF_AGE = {"kind": "ols", "formula": "wage ~ age"}
OF_BOTH = {"kind": "ols", "formula": "wage ~ age + wave"}
COUNTS = procedure("GENMOD") + genmod(PEOPLE, "wave", ["age"], ["area"])
OF_COUNTS = {"kind": "poisson", "formula": "wave ~ age + C(area)"}


def test_levels_of_a_product_may_stand_a_blank_apart(tmp_path):
    fit = smf.ols("wage ~ C(area, Treatment('west')) * C(wave, Treatment(2))", PEOPLE).fit()
    b, e, p = fit.params, fit.bse, fit.pvalues
    names = [each for each in b.index if ":" not in each]
    rows = {"Intercept": names[0], "area      north": names[1], "area      south": names[2], "area      west": "",
            "wave      1": names[3], "wave      2": "", "area*wave north 1": f"{names[1]}:{names[3]}",
            "area*wave north 2": "", "area*wave south 1": f"{names[2]}:{names[3]}", "area*wave south 2": "",
            "area*wave west 1": "", "area*wave west 2": ""}  # fmt: skip
    lines = ["                                         Standard",
             "Parameter             Estimate              Error    t Value    Pr > |t|"]  # fmt: skip
    for stub, name in rows.items():
        some = f"{0:>14.8f} B{'.':>17}{'.':>11}{'.':>12}"
        if name:
            some = f"{b[name]:>14.8f} B{e[name]:>17.8f}{b[name] / e[name]:>11.2f}{p_value(p[name]):>12}"
        lines.append(f"{stub:<18}{some}")
    text = procedure("GLM") + "Dependent Variable: wage\n\n" + "\n".join(lines) + "\n"
    assert len(matched(text, {"kind": "ols", "formula": "wage ~ C(area) * C(wave)"}, tmp_path).labels) == 3 * 6


def test_columns_of_a_wide_table_in_a_second_panel_are_of_its_rows(tmp_path):
    text = reg(PEOPLE, "wage", ["age", "wave"], limits=True)
    at = text.index("Parameter Estimates")
    rows = [line for line in text[at:].splitlines() if re.search(r"\d$", line)]
    wide = max(len(line) - 28 for line in rows)
    panel = "\n".join([*(f"{line[:15]:<15}{line[wide:]}" for line in rows)])
    cut = text[:at] + "\n".join(line[:wide] for line in text[at:].splitlines())
    more = "\n\n  Parameter Estimates\n\nVariable     DF       95% Confidence Limits\n\n" + panel + "\n"
    entry = OF_BOTH | {"release": ["coefficients", "confidence_limits"]}
    assert len(matched(procedure("REG") + cut + more, entry, tmp_path).labels) == 3 * 3
    with pytest.raises(OutputError, match="2 tables of coefficients"):
        given(procedure("REG") + cut + more.replace("wave", "wove"), entry, tmp_path, PEOPLE, "out.lst")


@pytest.mark.parametrize("label", ["MODEL2", "with_wave", "MODEL1"])
def test_two_models_of_one_response_are_two_regressions(label, tmp_path):
    one, two = reg(PEOPLE, "wage", ["age"]), reg(PEOPLE, "wage", ["age", "wave"])
    text = procedure("REG") + one + procedure("REG") + two.replace("MODEL1", label)
    assert len(matched(text, OF_AGE, tmp_path).labels) == 2 * 3 + 3
    assert len(matched(text, OF_BOTH, tmp_path).labels) == 3 * 3 + 3


def test_a_regression_of_others_by_the_same_formula_is_told_apart_by_number(tmp_path):
    north = PEOPLE[PEOPLE["area"] == "north"]
    text = procedure("REG") + reg(PEOPLE, "wage", ["age"]) + reg(north, "wage", ["age"]).replace("MODEL1", "MODEL2")
    with pytest.raises(OutputError, match="2 that may be the output's"):
        given(text, OF_AGE, tmp_path, PEOPLE, "out.lst")
    matched(text, OF_AGE, tmp_path, suffix="#1")


def test_limits_of_the_profile_likelihood_are_no_limits_of_an_output(tmp_path):
    entry = OF_COUNTS | {"release": ["coefficients", "confidence_limits"]}
    matched(COUNTS, entry, tmp_path)
    other = COUNTS.replace("     Wald 95% Confidence  ", "Likelihood Ratio 95% Confidence")
    assert other != COUNTS
    with pytest.raises(OutputError, match="limit"):
        given(other, entry, tmp_path, PEOPLE, "out.lst")
    with kept() as notes:
        matched(other, OF_COUNTS, tmp_path)
    assert any("limits of the profile likelihood" in str(note) for note in notes)


def test_sums_by_estimate_above_the_coefficients_are_left_out(tmp_path):
    text = procedure("GLM") + glm(PEOPLE, "wage", ["age"], ["area"])
    head = text[text.index("                                         Standard") : text.index("Intercept")]
    more = head + f"{'north v. west':<18}{-44.2:>14.8f}  {50.2843:>17.8f}{-0.88:>11.2f}{'0.3796':>12}\n\n"
    both = text.replace(head, more + head)
    assert both != text
    matched(both, {"kind": "ols", "formula": "wage ~ age + C(area)"}, tmp_path)


def test_a_level_b_is_no_mark_of_an_estimate():
    table = ["Analysis of Maximum Likelihood Estimates", "", "                      Standard          Wald",
             "Parameter    DF    Estimate     Error    Chi-Square    Pr > ChiSq", "",
             "Intercept     1      0.5000    0.2500        4.0000        0.0455",
             "arm1    B     1      0.3000    0.1500        4.0000        0.0455"]  # fmt: skip
    rows, _, _ = rows_of(table, [0], False, "the table")
    assert [(row.effect, row.level) for row in rows] == [("Intercept", ""), ("arm1", "B")]


def test_odds_ratios_of_one_unit_tell_the_coding(tmp_path):
    text, _ = logistic(PEOPLE, "ill", ["age"], {"area": "north"}, 1)
    text = text[: text.index("Class Level")] + text[text.index("Model Convergence") :]
    at = text.index("Odds Ratio Estimates")
    ratios = re.sub(r"(?m)^(\s+(?:age|area \w+ vs \w+))(\s+)(?=[\d.]+\s)", r"\1       1.0000\2", text[at:])
    title = "Odds Ratio Estimates and Profile-Likelihood Confidence Intervals"
    ratios = ratios.replace("Odds Ratio Estimates", title).replace(
        "Effect            Estimate", "Effect  Unit  Estimate"
    )
    entry = {"kind": "logit", "formula": "ill ~ age + C(area)"}
    matched(procedure("LOGISTIC") + text[:at] + ratios, entry, tmp_path)
    tens = ratios.replace("1.0000", "10.000")
    with pytest.raises(OutputError, match="does not say how 'area' is coded"):
        given(procedure("LOGISTIC") + text[:at] + tens, entry, tmp_path, PEOPLE, "out.lst")


def test_names_over_columns_of_correlations_may_be_broken(tmp_path):
    text = procedure("CORR") + corr(PEOPLE, ["wage", "age"], label="Test 2")
    head = f"{'':<20}{'wage':>14}{'age':>14}"
    broken = text.replace(head, f"{'':<20}{'wa':>14}{'a':>14}\n{'':<20}{'ge':>14}{'ge':>14}")
    assert broken != text
    for some in (text, broken, broken[broken.index("Pearson") - 20 :]):
        released = matched(some, {"kind": "correlations", "variables": ["wage", "age"]}, tmp_path)
        assert list(released.labels) == ["correlation(wage, age)", "p(wage, age)", "n"]


def test_a_panel_of_one_column_with_a_label_that_ends_in_a_number(tmp_path):
    text = corr(PEOPLE, ["wage", "age"], label="Test 1")
    rows = text[text.index("Pearson") :].splitlines()
    panels = [[line[: 20 + 14 * at] if at == 1 else line[:20] + line[34:] for line in rows[3:]] for at in (1, 2)]
    some = "\n".join(["", *rows[:3], *panels[0], *panels[1]]) + "\n"
    released = matched(procedure("CORR") + some, {"kind": "correlations", "variables": ["wage", "age"]}, tmp_path)
    assert list(released.labels) == ["correlation(wage, age)", "p(wage, age)", "n"]


def test_a_name_that_is_broken_over_lines_is_no_other_variable(tmp_path):
    text = procedure("FREQ") + one_way(PEOPLE, "ill")
    entry = {"kind": "frequencies", "by": ["ill"]}
    matched(text, entry, tmp_path)
    start = re.search(r"(?m)^ +(?=Cumulative)", text)
    for above in ("is_", "ever_\nis_"):
        lines = above.split("\n")
        pieces = "".join(f"{each}\n" for each in lines[:-1]) + f"{lines[-1]:<{len(start[0])}}"
        broken = text[: start.start()] + pieces + text[start.end() :]
        with pytest.raises(OutputError, match=f"no tables of counts by ill.*{''.join(lines)}ill"):
            given(broken, entry, tmp_path, PEOPLE, "out.lst")


def test_a_sentence_above_a_cross_table_names_no_variables(tmp_path):
    text = procedure("FREQ") + crossed(PEOPLE, "area", "ill")
    text = re.sub(r"(?m)^ *Table of .*\n\n", "", text)
    entry = {"kind": "frequencies", "by": ["area", "ill"]}
    matched(text, entry, tmp_path)
    with pytest.raises(OutputError, match="no tables of counts by area, ill"):
        given(text.replace("area      ill", "of area ill"), entry, tmp_path, PEOPLE, "out.lst")


def test_rules_that_another_code_page_made_question_marks(tmp_path):
    text = re.sub(r"(?m)^-{9,}$", lambda found: "?" * len(found[0]), procedure("FREQ") + one_way(PEOPLE, "area"))
    assert "???" in text
    matched(text, {"kind": "frequencies", "by": ["area"]}, tmp_path)


def test_a_name_cut_off_at_20_letters_is_the_one_variable_that_begins_so(tmp_path):
    name = "months_since_last_visit"
    text, fit = logistic(PEOPLE.rename(columns={"age": name}), "ill", [name], {}, 1, ratios=False)
    (tmp_path / "out.lst").write_text(procedure("LOGISTIC") + text.replace(f"{name} ", f"{name[:20]} "))
    entry = {"kind": "logit", "formula": f"ill ~ {name}", "values": "out.lst"}
    document = {"name": "cut", "data": {"path": "p.csv"}, "outputs": [entry], "keys": [name], "target": "ill"}
    numbers = Variable(name, "numeric", tuple(range(18, 66)))
    ill = Variable("ill", "categorical", ("0", "1"))
    study = study_of(document, tmp_path / "study.yaml")
    (found,) = study.given(Codebook((ill, numbers))).values()
    assert found.values[1] == pytest.approx(fit.params[name], abs=1e-4)
    with pytest.raises(OutputError, match=name[:20]):
        study.given(Codebook((ill, numbers, Variable(f"{name[:20]}_x", "numeric", (0, 1)))))


@pytest.mark.parametrize("shown", ["row_percentages", "column_percentages", "proportions"])
def test_percentages_of_a_table_that_is_turned(shown, tmp_path):
    text = procedure("FREQ") + crossed(PEOPLE, "area", "wave")
    matched(text, {"kind": "frequencies", "by": ["wave", "area"], "show": shown}, tmp_path)


def test_class_levels_go_on_over_pages(tmp_path):
    text, _ = logistic(PEOPLE, "ill", ["age"], {"area": "north"}, 1, ratios=False)
    head = text[text.index("Class Level Information") : re.search(r"(?m)^ +area +north", text).start()]
    at = re.search(r"(?m)^ +south ", text).start()
    rest = text[at:].replace(" " * 4 + "  ", "area  ", 1)
    text = text[:at] + page(2) + procedure("LOGISTIC") + head.rjust(len(head) + 30) + rest
    matched(procedure("LOGISTIC") + text, {"kind": "logit", "formula": "ill ~ age + C(area)"}, tmp_path)


def test_hazards_without_their_status_or_their_strata(tmp_path):
    text = procedure("PHREG") + phreg(PEOPLE, "age", "ill", ["wave"], {})
    entry = {"kind": "cox", "formula": "age ~ wave", "status": "ill"}
    matched(text, entry, tmp_path)
    with pytest.raises(OutputError, match="no 'Censoring Variable'"):
        given(re.sub(r"(?m)^.*Censoring .*\n", "", text), entry, tmp_path, PEOPLE, "out.lst")
    cut = text[: text.index("Summary of the Number")] + text[text.index("Model Fit Statistics") :]
    with kept() as notes:
        matched(cut, entry, tmp_path)
    assert any("whether it is by STRATA" in str(note) for note in notes)


@pytest.mark.parametrize("condition", ["ill=0", "ill = '0'", "ill eq 0"])
def test_a_condition_of_pasted_statements_that_is_another_than_the_outputs(condition, tmp_path):
    text = f"proc freq data=x; where {condition}; tables area; run;\n" + procedure("FREQ")
    text += one_way(PEOPLE[PEOPLE["ill"] == 0], "area")
    entry = {"kind": "frequencies", "by": ["area"]}
    matched(text, entry | {"where": "ill == '0'"}, tmp_path)
    with pytest.raises(OutputError, match=r"the output's where is ill == '1'; correct one"):
        given(text, entry | {"where": "ill == '1'"}, tmp_path, PEOPLE, "out.lst")
