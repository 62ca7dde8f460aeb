"""Tables of models as journals print them (by hand, numbers of statsmodels): each number is read as what it is, or the
table is refused.
"""

import itertools

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from fair import codebook, data, frame, study
from word_files import cell, paragraph, run, table, write

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutRiskError
from outrisk.readers import remarks

SMALL = {"kind": "logit", "formula": "affair ~ age + C(religion)"}
LARGE = {"kind": "logit", "formula": "affair ~ age + C(religion) + educ"}
LINEAR = {"kind": "ols", "formula": "affairs ~ age + C(religion)"}
LIMITS = {"release": ["coefficients", "confidence_limits"]}
ALL = {"release": ["coefficients", "confidence_limits", "p_values"]}
ROWS = {"age": "age", **{f"religion {level}": f"C(religion)[T.{level}]" for level in "234"}, "educ": "educ"}
RAISED = '<w:vertAlign w:val="superscript"/>'
CAPTION = "Table 2. Odds ratios (95% CI) of an affair"
NOTE = "Standard errors in parentheses. * p<0.05, ** p<0.01"


def fit(entry):
    return getattr(smf, entry["kind"])(entry["formula"], frame()).fit(**({} if entry["kind"] == "ols" else {"disp": 0}))


def given(entry, path):
    (released,) = study({**entry, "values": str(path)}).given(codebook()).values()
    return released, released.recompute(data())


def odds(model, name, sign="–"):
    """'1.06 (1.05–1.06)'; '' of what the model has not."""
    if name not in model.params:
        return ""
    low, high = np.exp(model.conf_int().loc[name])
    return f"{np.exp(model.params[name]):.2f} ({low:.2f}{sign}{high:.2f})"


def in_levels(*models, sign="–", reference="Ref.", **names):
    """Rows of odds ratios, levels below their variable."""
    rows = [[names.get("age", "Age"), *(odds(each, "age", sign) for each in models)]]
    rows.append([names.get("religion", "Religion"), *("" for _ in models)])
    rows.append(["1", *(reference for _ in models)])
    return rows + [[level, *(odds(each, ROWS[f"religion {level}"], sign) for each in models)] for level in "234"]


def with_p(model, **more):
    p = ["", "", *(model.pvalues[f"C(religion)[T.{level}]"] for level in "234")]
    shown = [model.pvalues["age"], *p]
    said = [each if each == "" else "<0.001" if each < 0.001 else f"{each:.3f}" for each in shown]
    return [[*row, each] for row, each in zip(in_levels(model, **more), said, strict=True)]


@pytest.mark.parametrize(
    "head",
    [
        ["OR (95% CI)", "P value"],
        ["Adjusted OR (95% CI)a", "P Value"],
        ["aOR* [95% CI]", "Sig."],
        ["OR (95% Confidence Interval)", "p‡"],
        ["Odds Ratio (95% CI)†", "P>|z|"],
        ["OR (95% CI)", "Pr(>|z|)"],
    ],
)
def test_heads_say_the_same_in_other_words(tmp_path, head):
    path = write(tmp_path / "a.docx", "Table 2", table(["Variable", *head], *with_p(fit(SMALL))))
    released, beside = given(SMALL | ALL, path)
    assert beside.matched.all() and len(released.labels) == 20


@pytest.mark.parametrize("sign", ["\u2010", "\u2011", "\u2012", "\u200b–", "–\u2060"])
def test_hyphens_and_characters_without_width(tmp_path, sign):
    rows = in_levels(fit(SMALL), sign=sign, religion="Reli\u00adgion")
    released, beside = given(SMALL | LIMITS, write(tmp_path / "a.docx", CAPTION, table(["", "Model 1"], *rows)))
    assert beside.matched.all() and len(released.labels) == 15


@pytest.mark.parametrize(
    "reference", ["[Reference]", "Reference category", "Baseline", "1.00 (NA)", "1.00 [Reference]"]
)
@pytest.mark.parametrize("head", ["OR (95% CI)", "Model 1"])
def test_what_a_reference_level_says(tmp_path, reference, head):
    rows = in_levels(fit(SMALL), reference=reference)
    released, beside = given(SMALL | LIMITS, write(tmp_path / "a.docx", CAPTION, table(["", head], *rows)))
    assert beside.matched.all() and len(released.labels) == 15


@pytest.mark.parametrize("mark", ["*", "†", " ‡", "¹", cell(paragraph(run("Religion") + run("a", RAISED)))])
def test_marks_of_footnotes_at_names_go(tmp_path, mark):
    rows = in_levels(fit(SMALL), religion=mark if "<w:" in mark else f"Religion{mark}")
    _, beside = given(SMALL | LIMITS, write(tmp_path / "a.docx", CAPTION, table(["", "Model 1"], *rows)))
    assert beside.matched.all()


@pytest.mark.parametrize("beside_it", [[], ["P value"]])
def test_of_models_below_one_head_the_first_is_not_just_taken(tmp_path, beside_it):
    """`OR (95% CI)` over `Model 1` and `Model 2` heads both."""
    rows = [[*row, *("0.01" for _ in beside_it)] for row in in_levels(fit(SMALL), fit(LARGE))]
    head = [cell("", 1, "restart"), cell("OR (95% CI)", 2), *beside_it]
    below = [cell("", 1, "continue"), "Model 1", "Model 2", *("" for _ in beside_it)]
    path = write(tmp_path / "a.docx", "Table 2", table(head, below, *rows))
    with pytest.raises(OutRiskError, match=r"it has 2 models: 1 'OR \(95% CI\) Model 1', 2 'OR \(95% CI\) Model 2'"):
        given(SMALL | LIMITS, path)
    assert given(SMALL | LIMITS, f"{path}#1#1")[1].matched.all()


def test_a_column_that_looks_like_a_model_and_does_not_say_so_is_asked_about(tmp_path):
    rows = in_levels(fit(SMALL), fit(LARGE))
    path = write(tmp_path / "a.docx", "Table 2", table(["", "Crude OR (95% CI)", "Fully specified"], *rows))
    with pytest.raises(OutRiskError, match="the column 'Fully specified' has estimates with limits"):
        given(SMALL | LIMITS, path)


def columns(heads, second, entries=(LINEAR, LINEAR | {"formula": LINEAR["formula"] + " + educ"})):
    """A pair of columns a model, named in two lines."""
    models = [fit(entry) for entry in entries]
    rows = [[cell(""), cell("Model 1", 2), cell("Model 2", 2)], ["", *heads, *heads]]
    for shown, name in {**ROWS, "Constant": "Intercept"}.items():
        texts = [(f"{m.params[name]:.3f}", second(m, name)) if name in m.params else ("", "") for m in models]
        rows.append([shown, *(text for pair in texts for text in pair)])
    return table(*rows)


@pytest.mark.parametrize("heads", [("Coef.", "(SE)"), ("β", "SE"), ("Est.", "s.e."), ("Estimate", "Std. Error")])
def test_standard_errors_are_no_model(tmp_path, heads):
    path = write(tmp_path / "a.docx", "Table 1", columns(heads, lambda m, name: f"{m.bse[name]:.3f}"), NOTE)
    released, beside = given(LINEAR, f"{path}#1#1")
    assert beside.matched.all()
    released, beside = given(LINEAR | {"formula": LINEAR["formula"] + " + educ"}, f"{path}#1#2")
    assert beside.matched.all() and "educ" in released.labels


def test_statistics_are_no_model(tmp_path):
    path = write(tmp_path / "a.docx", "Table 1", columns(("β", "t"), lambda m, name: f"{m.tvalues[name]:.2f}"), NOTE)
    with remarks.kept() as said:
        _, beside = given(LINEAR | {"formula": LINEAR["formula"] + " + educ"}, f"{path}#1#2")
    assert beside.matched.all() and any("passed over: t" in each for each in said)


@pytest.mark.parametrize("where", ["head", "note"])
def test_standard_errors_in_columns_may_be_robust(tmp_path, where):
    model = smf.ols(LINEAR["formula"], frame()).fit(cov_type="HC1")
    rows = [
        [shown, f"{model.params[name]:.3f}", f"{model.bse[name]:.3f}"]
        for shown, name in {**ROWS, "Constant": "Intercept"}.items()
        if name in model.params
    ]
    head = ["", "B", "Robust SE" if where == "head" else "SE"]
    notes = [] if where == "head" else ["Robust standard errors."]
    path = write(tmp_path / "a.docx", "Table 1", table(head, *rows), *notes)
    assert not any("standard error" in label for label in given(LINEAR, path)[0].labels)
    released, beside = given(LINEAR | {"covariance": "HC1"}, path)
    assert beside.matched.all() and "age: standard error" in released.labels


@pytest.mark.parametrize(
    "heads",
    [
        (["", "OR", "Lower 95% CI", "Upper 95% CI", "P value"],),
        (["", "OR", "95% LCL", "95% UCL", "p"],),
        (["", "OR", cell("95% CI", 2), "P value"],),
        (["", "OR", cell("95% CI", 2), "P value"], ["", "", "Lower", "Upper", ""]),
        (["", cell("Model 1", 4)], ["", "aOR", "CI low", "CI high", "Sig."]),
    ],
)
def test_limits_in_two_columns(tmp_path, heads):
    model, rows = fit(SMALL), []
    for shown, name in list(ROWS.items())[:4]:
        low, high = np.exp(model.conf_int().loc[name])
        p = model.pvalues[name]
        rows.append([shown, *(f"{each:.2f}" for each in (np.exp(model.params[name]), low, high))])
        rows[-1].append("<0.001" if p < 0.001 else f"{p:.3f}")
    released, beside = given(SMALL | ALL, write(tmp_path / "a.docx", "Table 2", table(*heads, *rows)))
    assert beside.matched.all() and len(released.labels) == 20
    if "95% LCL" in heads[0]:
        text = [[each.replace("95%", "90%") for each in heads[0]]]
        released, _ = given(SMALL | ALL, write(tmp_path / "b.docx", "Table 2", table(*text, *rows)))
        assert "age: lower 90 %" in released.labels


@pytest.mark.parametrize("head", ["b (SE)", "β (SE)", "Coefficient (Std. Err.)"])
def test_errors_in_the_cell_of_an_estimate_beside_p(tmp_path, head):
    model, rows = fit(SMALL), []
    for shown, name in {**ROWS, "Constant": "Intercept"}.items():
        if name in model.params:
            p = model.pvalues[name]
            rows.append([shown, f"{model.params[name]:.3f} ({model.bse[name]:.3f})"])
            rows[-1].append("<0.001" if p < 0.001 else f"{p:.3f}")
    released, beside = given(SMALL, write(tmp_path / "a.docx", "Table 1. Logit", table(["", head, "P value"], *rows)))
    assert beside.matched.all() and len(released.labels) == 15


def side(*entries, top=(), below=()):
    """A column a model, standard errors below estimates."""
    models = [fit(entry) for entry in entries]
    rows = [["", *(f"({at})" for at, _ in enumerate(entries, 1))], *top]
    for shown, name in {**ROWS, "Constant": "Intercept"}.items():
        if not any(name in m.params for m in models):
            continue
        rows.append([shown, *(f"{m.params[name]:.3f}**" if name in m.params else "—" for m in models)])
        rows.append(["", *(f"({m.bse[name]:.3f})" if name in m.params else "" for m in models)])
    return table(*rows, *below)


def test_economists_rows_of_a_model(tmp_path):
    """The number of people above the terms, a dash for what a model has not, fixed effects and means below."""
    more = [["Region FE", "Yes", "No"], ["Mean of dep. var.", "0.32", "0.32"], ["Sample size", "6,366", "6,366"]]
    made = side(SMALL, LARGE, below=more)
    note = "Standard errors are reported in parentheses. * p<0.05"
    released, beside = given(SMALL, f"{write(tmp_path / 'a.docx', 'Table 1. Logit', made, note)}#1#1")
    assert beside.matched.all() and {"number of records", "age: standard error"} <= {*released.labels}
    top = [["No. of participants", "6,366", "6,366"]]
    path = write(tmp_path / "b.docx", "Table 1. Logit", side(SMALL, LARGE, top=top), note)
    released, beside = given(LARGE, f"{path}#1#2")
    assert beside.matched.all() and "number of records" in released.labels


@pytest.mark.parametrize(
    ("note", "second", "label"),
    [
        ("Standard errors in parentheses, t-statistics in brackets.", "tvalues", ""),
        ("Standard errors in parentheses and p-values in square brackets.", "pvalues", "age: p-value"),
    ],
)
def test_parentheses_and_brackets_may_have_two_things(tmp_path, note, second, label):
    model, rows = fit(SMALL), [["", "Model 1"]]
    for shown, name in {**ROWS, "Constant": "Intercept"}.items():
        if name in model.params:
            rows += [[shown, f"{model.params[name]:.3f}"], ["", f"({model.bse[name]:.3f})"]]
            rows.append(["", f"[{getattr(model, second)[name]:.3f}]"])
    released, beside = given(SMALL, write(tmp_path / "a.docx", "Table 1. Logit", table(*rows), note))
    assert beside.matched.all() and "age: standard error" in released.labels and (not label or label in released.labels)


def test_errors_by_bootstrap_are_not_those_of_the_model(tmp_path):
    made = side(SMALL)
    path = write(tmp_path / "a.docx", "Table 1. Logit", made, "Bootstrapped standard errors in parentheses.")
    assert not any("standard error" in label for label in given(SMALL, path)[0].labels)


def test_a_note_within_a_table_of_latex(tmp_path):
    model = fit(SMALL)
    lines = [r"\begin{tabular}{lc}", r" & (1) \\ \hline"]
    for shown, name in {**ROWS, "Constant": "Intercept"}.items():
        if name in model.params:
            lines += [rf"{shown} & {model.params[name]:.3f} \\", rf" & ({model.bse[name]:.3f}) \\"]
    lines += [r"\hline", r"\multicolumn{2}{l}{\footnotesize Standard errors in parentheses}\\", r"\end{tabular}"]
    (tmp_path / "a.tex").write_text("\n".join(lines))
    released, beside = given(SMALL, tmp_path / "a.tex")
    assert beside.matched.all() and "age: standard error" in released.labels


@pytest.mark.parametrize("level", ["F", "N"])
@pytest.mark.parametrize("first", [True, False])
def test_levels_with_the_name_of_a_statistic(tmp_path, level, first):
    """F of sex, and N for no, are levels where their cell is no number alone."""
    other = {"F": "M", "N": "Y"}[level]
    small = Codebook((Variable("affair", "categorical", ("0", "1")), Variable("x", "categorical", (level, other))))
    rows = [[level, "1.50 (1.10–2.00)"], [other, "Ref."]]
    path = write(tmp_path / "a.docx", CAPTION, table(["", "Model 1"], ["x", ""], *(rows if first else rows[::-1])))
    entry = {"kind": "logit", "formula": f"affair ~ C(x, Treatment(reference='{other}'))", **LIMITS}
    (released,) = study({**entry, "values": str(path)}).given(small).values()
    assert list(released.values[1::2]) == [1.5, 1.1, 2.0]


@pytest.mark.parametrize(("number", "message"), [("(0.50)", "in brackets"), ("5.0%", "a percentage")])
def test_an_estimate_that_may_be_another_number_is_refused(tmp_path, number, message):
    rows = [["age", number, "0.1"], ["religion 2", "0.2", "0.1"], ["religion 3", "0.2", "0.1"]]
    rows += [["religion 4", "0.2", "0.1"], ["Constant", "0.2", "0.1"]]
    path = write(tmp_path / "a.docx", "Table 1", table(["", "Estimate", "SE"], *rows))
    with pytest.raises(OutRiskError, match=f"the value of age is '.*', {message}"):
        given(LINEAR, path)


@pytest.mark.parametrize("said", ["(×100)", "multiplied by 100"])
def test_estimates_of_another_size_are_refused(tmp_path, said):
    made = columns(("Estimate", "SE"), lambda m, name: f"{m.bse[name]:.3f}")
    path = write(tmp_path / "a.docx", f"Table 1. Coefficients {said}", made)
    with pytest.raises(OutRiskError, match="of another scale"):
        given(LINEAR, f"{path}#1#1")


def test_a_model_of_some_people_by_its_head_asks_for_them(tmp_path):
    rows = in_levels(fit(SMALL))
    path = write(tmp_path / "a.docx", CAPTION, table(["", "Teacher_nurse"], *rows))
    with pytest.raises(OutRiskError, match="'Teacher_nurse', a level of 'occ'; give the output its 'where'"):
        given(SMALL | LIMITS, path)


GROUPS = [part for _, part in frame().groupby("affair")]
TABLE_ONE = {"kind": "table_one", "by": "affair"}
COUNTS = {"kind": "frequencies", "by": ["religion", "affair"]}


def below_groups(heads, rows):
    """Two columns below each group's head: of each row its name, and its two cells by group."""
    above = [cell("", 1, "restart"), *(cell(f"{at} (n = {len(part):,})", 2) for at, part in enumerate(GROUPS))]
    cells = [[name, *itertools.chain(*(texts(part) for part in GROUPS))] for name, texts in rows.items()]
    return table(above, [cell("", 1, "continue"), *heads, *heads], *cells)


@pytest.mark.parametrize("heads", [("n", "%"), ("%", "n"), ("No.", "Percent"), ("%", "N")])
@pytest.mark.parametrize("digits", [0, 1])
def test_counts_and_percentages_below_the_head_of_a_group(tmp_path, heads, digits):
    def texts(level):
        def of(part):
            n = int((part["religion"] == level).sum())
            pair = [f"{n:,}", f"{100 * n / len(part):.{digits}f}"]
            return pair if heads[0][0] in "nN" else pair[::-1]

        return of

    rows = {"religion": lambda part: ("", ""), **{str(level): texts(level) for level in (1, 2, 3, 4)}}
    path = write(tmp_path / "a.docx", "Table 1", below_groups(heads, rows))
    for released in study({**TABLE_ONE, "values": str(path)}).given(codebook()).values():
        assert released.recompute(data()).matched.all() and released.values[0] in (len(GROUPS[0]), 613)


@pytest.mark.parametrize("heads", [("Mean", "SD"), ("SD", "Mean")])
def test_means_and_sds_below_the_head_of_a_group(tmp_path, heads):
    def texts(name):
        def of(part):
            pair = [f"{part[name].mean():.2f}", f"{part[name].std():.2f}"]
            return pair if heads[0] == "Mean" else pair[::-1]

        return of

    rows = {name: texts(name) for name in ("age", "educ")}
    found = study({**TABLE_ONE, "values": str(write(tmp_path / "a.docx", "T", below_groups(heads, rows)))})
    outputs = list(found.given(codebook()).values())
    assert all(each.recompute(data()).matched.all() for each in outputs)
    assert "affair=0: sd of age" in [label for each in outputs for label in each.labels]


def crossed(share):
    """A cross table with what `share` makes of all counts in brackets behind them."""
    counts = pd.crosstab(frame()["religion"], frame()["affair"])
    behind = share(counts)
    rows = [
        [str(level), *(f"{counts.loc[level, at]:,} ({behind.loc[level, at]:.1f})" for at in (0, 1))]
        for level in counts.index
    ]
    return [[*row, f"{counts.loc[int(row[0])].sum():,}"] for row in rows]


@pytest.mark.parametrize(
    "share",
    [
        lambda counts: 100 * counts.div(counts.sum(axis=1), axis=0),
        lambda counts: 100 * counts / counts.sum(),
        lambda counts: 100 * counts / counts.to_numpy().sum(),
    ],
)
def test_percentages_behind_counts_of_a_cross_table(tmp_path, share):
    path = write(tmp_path / "a.docx", "Table 2", table(["religion", "0", "1", "Total"], *crossed(share)))
    found = study({**COUNTS, "values": str(path)}).given(codebook()).values()
    assert all(each.recompute(data()).matched.all() for each in found)


@pytest.mark.parametrize("share", [lambda counts: counts * 0.9, lambda counts: 100 * counts / 6000])
def test_other_numbers_behind_counts_are_refused(tmp_path, share):
    """Expected numbers, or percentages of other people."""
    path = write(tmp_path / "a.docx", "Table 2", table(["religion", "0", "1", "Total"], *crossed(share)))
    with pytest.raises(OutRiskError, match="which is not a number"):
        study({**COUNTS, "values": str(path)}).given(codebook())


def ratios(texts):
    """Rows of the model's odds ratios, in what cells `texts` makes of a name."""
    return [[shown, *texts(name)] for shown, name in ROWS.items() if name in fit(SMALL).params]


def in_cells(name):
    ratio, _, limits = odds(fit(SMALL), name).partition(" ")
    return [ratio, limits.strip("()")]


@pytest.mark.parametrize(
    ("above", "message"),
    [("Teacher_nurse", "a level of 'occ'; give the output its 'where'"), ("marriage", "of the response 'marriage'")],
)
@pytest.mark.parametrize("wide", [2, 3])
def test_of_whom_a_model_is_stands_above_its_columns(tmp_path, above, message, wide):
    """It was passed over where each statistic has a column, so that a table of some people was taken for one of all."""
    heads = ["OR", "95% CI"] if wide == 2 else ["OR", "Lower", "Upper"]
    rows = ratios(lambda name: in_cells(name) if wide == 2 else [in_cells(name)[0], *in_cells(name)[1].split("–")])
    path = write(tmp_path / "a.docx", "Table 2", table([cell(""), cell(above, wide)], ["", *heads], *rows))
    with pytest.raises(OutRiskError, match=message):
        given(SMALL | LIMITS, path)


def test_of_whom_a_model_is_stands_in_the_head_of_its_estimates(tmp_path):
    path = write(tmp_path / "a.docx", "T", table(["", "Teacher_nurse OR (95% CI)"], *in_levels(fit(SMALL))))
    with pytest.raises(OutRiskError, match="'Teacher_nurse', a level of 'occ'"):
        given(SMALL | LIMITS, path)


@pytest.mark.parametrize("head", [["OR (CI)"], ["OR", "CI"]])
@pytest.mark.parametrize(
    "note", ["CI = 90% confidence interval", "CI: confidence interval (90%)", "Note. Confidence level 90%."]
)
def test_the_level_of_limits_may_stand_in_a_note(tmp_path, head, note):
    rows = ratios(lambda name: [odds(fit(SMALL), name)] if len(head) == 1 else in_cells(name))
    path = write(tmp_path / "a.docx", "Table 2. Odds ratios", table(["", *head], *rows), note)
    assert "age: lower 90 %" in given(SMALL | LIMITS, path)[0].labels


def test_errors_in_a_column_beside_ratios_are_not_taken_for_those_of_b(tmp_path):
    """Stata prints those of exp(b) there."""
    model = fit(SMALL)
    rows = ratios(lambda name: [odds(model, name).split()[0], f"{np.exp(model.params[name]) * model.bse[name]:.3f}"])
    rows = [[*row, "0.001"] for row in rows]
    path = write(tmp_path / "a.docx", "Table 2", table(["", "OR", "SE", "p"], *rows))
    assert not any("standard error" in label for label in given(SMALL, path)[0].labels)


@pytest.mark.parametrize("sign", ["; ", ", ", "–"])
@pytest.mark.parametrize("head", ["OR (95% CI)", "Model 1"])
def test_three_decimals_behind_a_comma_are_no_thousands_of_ratios(tmp_path, sign, head):
    rows = [[shown, f"1,{at}58 (1,{at}20{sign}1,{at}80)"] for at, shown in enumerate(list(ROWS)[:4])]
    path = write(tmp_path / "a.docx", CAPTION, table(["", head], *rows))
    released, _ = given(SMALL | LIMITS, path)
    assert np.nanmax(released.values) == 1.38


def test_commas_of_estimates_that_may_be_either_are_refused(tmp_path):
    rows = [[name, f"1,{at}58", f"2,{at}20"] for at, name in enumerate([*list(ROWS)[:4], "Constant"])]
    path = write(tmp_path / "a.docx", "Table 1", table(["", "B", "SE"], *rows))
    with pytest.raises(OutRiskError, match="'1,058' has a decimal comma or one of thousands"):
        given(LINEAR, path)


def test_limits_with_points_may_have_a_comma_without_a_blank_between_them(tmp_path):
    path = write(tmp_path / "a.docx", CAPTION, table(["", "Model 1"], *in_levels(fit(SMALL), sign=",")))
    released, beside = given(SMALL | LIMITS, path)
    assert beside.matched.all() and len(released.labels) == 15


@pytest.mark.parametrize("name", ["Age (years)", "Age, years", "Age in years", "age (y)"])
def test_units_behind_names(tmp_path, name):
    path = write(tmp_path / "a.docx", CAPTION, table(["", "Model 1"], *in_levels(fit(SMALL), age=name)))
    assert given(SMALL | LIMITS, path)[1].matched.all()


@pytest.mark.parametrize("name", ["Age (per 10 years)", "Age (10 years)"])
def test_numbers_of_units_are_no_units(tmp_path, name):
    path = write(tmp_path / "a.docx", CAPTION, table(["", "Model 1"], *in_levels(fit(SMALL), age=name)))
    with pytest.raises(OutRiskError, match="no variable or level"):
        given(SMALL | LIMITS, path)


@pytest.mark.parametrize("heads", [("Median", "IQR"), ("Median (IQR)",)])
def test_the_width_between_quartiles_is_no_standard_deviation(tmp_path, heads):
    """A median with one number behind it was taken for a mean with its sd."""
    texts = [[f"{p.age.median():.1f}", f"{p.age.quantile(0.75) - p.age.quantile(0.25):.1f}"] for p in GROUPS]
    if len(heads) == 2:
        made = below_groups(heads, {"age": lambda part: texts[int(part is GROUPS[1])]})
    else:
        above = ["", *(f"{at} (n = {len(part):,})" for at, part in enumerate(GROUPS))]
        made = table(above, ["", *heads, *heads], ["age", *(f"{one} ({other})" for one, other in texts)])
    outputs = study({**TABLE_ONE, "values": str(write(tmp_path / "a.docx", "T", made))}).given(codebook()).values()
    assert all(each.recompute(data()).matched.all() for each in outputs)
    labels = [label for each in outputs for label in each.labels]
    assert "affair=0: median of age" in labels and not any("mean of" in label or "sd of" in label for label in labels)


@pytest.mark.parametrize("head", ["Total (N)", "Total, n", "Total N", "Row total"])
def test_heads_of_all_people_of_a_cross_table(tmp_path, head):
    counts = pd.crosstab(frame()["religion"], frame()["affair"])
    rows = [[str(level), *map(str, row), str(row.sum())] for level, row in counts.iterrows()]
    path = write(tmp_path / "a.docx", "T", table(["religion", "0", "1", head], *rows))
    outputs = study({**COUNTS, "values": str(path)}).given(codebook()).values()
    assert all(each.recompute(data()).matched.all() for each in outputs) and len(outputs) == 2


@pytest.mark.parametrize(
    ("name", "second", "label"),
    [("SE", "bse", "age: standard error"), ("p value", "pvalues", "age: p-value"), ("t", "tvalues", "")],
)
def test_rows_below_estimates_may_say_what_they_have(tmp_path, name, second, label):
    model, rows = fit(SMALL), []
    for shown, term in {**ROWS, "Constant": "Intercept"}.items():
        if term in model.params:
            rows += [[shown, f"{model.params[term]:.3f}"], [name, f"({getattr(model, second)[term]:.3f})"]]
    path = write(tmp_path / "a.docx", "Table 1. Logit", table(["", "Model 1"], *rows))
    released, beside = given(SMALL, path)
    assert beside.matched.all() and len(released.labels) == (10 if label else 5) and label in (*released.labels, "")


def test_robust_errors_in_rows_are_not_taken_for_plain_ones(tmp_path):
    rows = [row for name in [*list(ROWS)[:4], "Constant"] for row in ([name, "-0.100"], ["Robust SE", "(0.010)"])]
    path = write(tmp_path / "a.docx", "Table 1. Logit", table(["", "Model 1"], *rows))
    with pytest.raises(OutRiskError, match="'Robust SE' is no variable"):
        given(SMALL, path)


def test_a_head_that_is_repeated_with_another_column_is_refused_in_a_line(tmp_path):
    """It ended in a StopIteration."""
    first, *rows = ratios(lambda name: [*in_cells(name)[:1], *in_cells(name)[1].split("–"), "0.001"])
    heads = ["", "OR", "95% CI", "", ""]
    path = write(tmp_path / "a.docx", CAPTION, table(heads, first, [*heads[:4], "p"], *rows))
    with pytest.raises(OutRiskError, match="no table of coefficients is known"):
        given(SMALL | LIMITS, path)
