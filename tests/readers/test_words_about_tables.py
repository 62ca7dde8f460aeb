"""Of whom, of what response and at which level a table is, where its caption and notes alone say so (by hand)."""

import numpy as np
import pytest
import statsmodels.formula.api as smf
from fair import codebook, data, frame, study

from outrisk.errors import OutputError
from outrisk.readers.level_of_limits import level_said
from outrisk.readers.remarks import kept
from outrisk.readers.web_tables import read_page

LINEAR = {"kind": "ols", "formula": "affairs ~ age + educ"}
LOGIT = {"kind": "logit", "formula": "affair ~ age + educ", "release": ["coefficients", "confidence_limits"]}
TERMS = {"age": "age", "educ": "educ", "Intercept": "Constant"}
NOTE = "Standard errors in parentheses."


def given(entry, path):
    with kept() as notes:
        (released,) = study({**entry, "values": str(path)}).given(codebook()).values()
    return released, released.recompute(data()), notes


def page(tmp_path, rows, caption="Table 2", notes=()):
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    below = "".join(f"<p>{note}</p>" for note in notes)
    (tmp_path / "paper.html").write_text(f"<p>{caption}</p><table>{lines}</table>{below}")
    return tmp_path / "paper.html"


def models(*fits):
    rows = []
    for term, name in TERMS.items():
        rows += [
            [name, *(f"{fit.params[term]:.3f}" for fit in fits)],
            ["", *(f"({fit.bse[term]:.3f})" for fit in fits)],
        ]
    return rows


@pytest.mark.parametrize(
    ("caption", "note", "speaks"),
    [
        ("Table 2. Affairs among students", "", "'among students', 'student', a level of 'occ'"),
        ("Table 2. Childless only", "", "'Childless only'"),
        ("Table 2", "Analysis restricted to the young.", "'restricted to'"),
        ("Table 2. Determinants of marriage", "", "'marriage'"),
        ("Table 2. Affairs, age and educ", "", ""),
    ],
)
def test_words_that_speak_of_some_people_have_a_line(tmp_path, caption, note, speaks):
    rows = [["", "(1)"], *models(smf.ols(LINEAR["formula"], frame()).fit())]
    path = page(tmp_path, rows, caption, [NOTE, note])
    _, beside, notes = given(LINEAR, path)
    assert beside.matched.all() and bool(speaks) == any("the words about the table speak of" in each for each in notes)
    assert not speaks or any(speaks in each for each in notes), notes
    assert not any("speak of" in each for each in given({**LINEAR, "where": "age > 0"}, path)[2])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("Sample: affair = 1.", "the words about the table say 'affair = 1"),
        ("The dependent variable is children.", "say the dependent variable children, the output says 'affairs'"),
        ("Dependent variable: marriage", "say the dependent variable marriage"),
    ],
)
@pytest.mark.parametrize("below", [True, False])
def test_words_of_a_level_or_another_response_are_refused(tmp_path, words, message, below):
    rows = [["", "(1)"], *models(smf.ols(LINEAR["formula"], frame()).fit())]
    path = page(tmp_path, rows, "Table 2" if below else f"Table 2. {words}", [NOTE, words] if below else [NOTE])
    if below and not words.startswith("Sample"):
        words = f"Note. {words}"
    with pytest.raises(OutputError, match=message):
        given(LINEAR, path if not below else page(tmp_path, rows, "Table 2", [NOTE, f"Note. {words}"]))


def test_a_cross_table_of_a_level_by_its_caption_is_refused(tmp_path):
    rows = [["occ", "0", "1"], *([name, "10", "20"] for name in codebook()["occ"].labels)]
    entry = {"kind": "frequencies", "by": ["occ", "affair"]}
    with pytest.raises(OutputError, match="the words about the table say 'religion = 1'"):
        given(entry, page(tmp_path, rows, "Table 1. People with religion = 1"))


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("Confidence level 90%", 0.9),
        ("Note. Confidence level: 90 %.", 0.9),
        ("90% intervals in parentheses", 0.9),
        ("90 percent confidence intervals in parentheses.", 0.9),
        ("Confidence intervals at the 99 per cent level.", 0.99),
        ("Confidence intervals, alpha = 0.10.", 0.9),
        ("OR (99.9% CI)", 0.999),
        ("95%CI", 0.95),
        ("90% of people answered. Limits", None),
        ("* p < 0.05", None),
    ],
)
def test_the_level_that_words_say(text, level):
    assert level_said(text) == level


@pytest.mark.parametrize("head", ["one", "two"])
@pytest.mark.parametrize("note", ["Confidence level 90%", "90 percent confidence intervals.", ""])
def test_limits_at_another_level_are_not_taken_for_those_at_95(tmp_path, head, note):
    fit = smf.logit(LOGIT["formula"], frame()).fit(disp=0)
    limits = np.exp(fit.conf_int(0.1 if note else 0.05))
    rows = [["", "OR (CI)"] if head == "one" else ["", "OR", "CI"]]
    for term in ("age", "educ"):
        ends = f"{limits.loc[term, 0]:.3f}-{limits.loc[term, 1]:.3f}"
        b = f"{np.exp(fit.params[term]):.3f}"
        rows.append([term, f"{b} ({ends})"] if head == "one" else [term, b, ends])
    _, beside, notes = given(LOGIT, page(tmp_path, rows, "Table 2", [note] if note else []))
    assert beside.matched.all()
    assert any("limits are those at 90 %" in each for each in notes) == bool(note)
    assert any("does not say the level of its limits" in each for each in notes) == (not note)


@pytest.mark.parametrize("head", ["Difference", "Diff.", "(1) - (2)", "Difference (1)-(2)"])
def test_a_column_of_differences_is_no_model(tmp_path, head):
    fits = [smf.ols(LINEAR["formula"], each).fit() for each in (frame(), frame()[frame()["affair"] == 1])]
    rows = [[*row, "0.1" if row[0] else "(0.2)"] for row in models(*fits)]
    path = page(tmp_path, [["", "All", "Some", head], *rows], notes=[NOTE])
    _, beside, notes = given(LINEAR, f"{path}#1#1")
    assert beside.matched.all() and any(f"passed over: {head}" in each for each in notes)
    with pytest.raises(OutputError, match="no model 3; it has 2"):
        given(LINEAR, f"{path}#1#3")


@pytest.mark.parametrize("head", ["b ± SE", "(1)"])
def test_estimates_and_errors_around_a_sign(tmp_path, head):
    fit = smf.ols(LINEAR["formula"], frame()).fit()
    rows = [["", head], *([name, f"{fit.params[term]:.3f} ± {fit.bse[term]:.3f}"] for term, name in TERMS.items())]
    note = [] if "SE" in head else ["Estimates ± standard errors"]
    released, beside, _ = given(LINEAR, page(tmp_path, rows, notes=note))
    assert beside.matched.all() and any("standard error" in each for each in released.labels)
    rows[0][1] = "(1)"
    for said, message in (("b ± SD", "it does not say"), ("b ± 95% CI", "which are not two numbers")):
        with pytest.raises(OutputError, match=message):
            given(LINEAR, page(tmp_path, rows, "Table 2. Standard errors", notes=[f"Note. {said}"]))


@pytest.mark.parametrize("name", ["SE", "s.e.", "Std. error"])
def test_rows_of_standard_errors_without_brackets_say_so(tmp_path, name):
    fit = smf.ols(LINEAR["formula"], frame()).fit()
    rows = [["", "(1)"]]
    for term, label in TERMS.items():
        rows += [[label, f"{fit.params[term]:.3f}"], [name, f"{fit.bse[term]:.3f}"]]
    released, beside, _ = given(LINEAR, page(tmp_path, rows))
    assert beside.matched.all() and len(released.labels) == 6


@pytest.mark.parametrize("level", [95, 90])
@pytest.mark.parametrize("heads", [["OR", "Upper", "Lower"], ["OR", "{}% CI", ""]])
def test_the_upper_limit_may_stand_first(tmp_path, heads, level):
    fit = smf.logit(LOGIT["formula"], frame()).fit(disp=0)
    ends = np.exp(fit.conf_int(1 - level / 100))
    rows = [["", *(head.format(level) for head in heads)], *([["", "", "Upper", "Lower"]] if "" in heads else [])]
    for term in ("age", "educ"):
        rows.append([term, f"{np.exp(fit.params[term]):.3f}", f"{ends.loc[term, 1]:.3f}", f"{ends.loc[term, 0]:.3f}"])
    _, beside, _ = given(LOGIT, page(tmp_path, rows, notes=[] if "" in heads else [f"Confidence level {level}%"]))
    assert beside.matched.all()


@pytest.mark.parametrize(
    "heads",
    [["0 (n = 4,313)", "1 (n = 2,053)"], ["0 (n=4313)", "1 (n=2053)"], ["0, n (%)", "1, n (%)"], ["N", "0", "1"]],
)
@pytest.mark.parametrize("withheld", [False, True])
def test_heads_of_groups_with_their_numbers_of_people(tmp_path, heads, withheld):
    counts = frame().groupby(["occ", "affair"]).size().unstack()
    rows = [["occ", *heads]]
    for name, row in counts.iterrows():
        first = ["<10" if withheld and each < 10 else str(each) for each in row]
        rows.append([name, *([str(row.sum())] if "N" in heads else []), *first])
    entry = {"kind": "frequencies", "by": ["occ", "affair"]}
    path = page(tmp_path, rows)
    with kept() as notes:
        found = study({**entry, "values": str(path)}).given(codebook())
    assert all(each.recompute(data()).matched.all() for each in found.values())
    sized = "n =" in heads[0] or "n=" in heads[0]
    assert len(found) == (1 if heads[0].endswith("(%)") or (sized and not withheld) else 2)
    assert any("what heads say of their groups is left out" in each for each in notes) == (sized and not withheld)


def test_a_cell_reaches_into_no_other_group_of_rows():
    rows = "<tbody><tr><td rowspan='3'>a</td><td>1</td></tr><tr><td>2</td></tr></tbody>"
    (table,) = read_page(f"<table>{rows}<tbody><tr><td>b</td><td>3</td></tr></tbody></table>")
    assert table.grid == [["a", "1"], ["a", "2"], ["b", "3"]]


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("Significant at alpha = 0.01; 90% CI in brackets", 0.9),
        ("Significance at alpha = 0.01. Confidence intervals in brackets", None),
        ("alpha = 0.1; limits in brackets", 0.9),
        ("Cronbach's alpha = 0.82; confidence intervals in brackets", None),
        ("Limits were computed for 60% of people", None),
        ("Intervals in brackets; a gain of 10%", None),
        ("Confidence intervals by 12% steps. 99% CI", 0.99),
    ],
)
def test_other_numbers_are_no_level_of_limits(text, level):
    assert level_said(text) == level


@pytest.mark.parametrize("said", ["B ± 2 SE", "B ± 1.96 standard errors", "B ± margin of error"])
def test_what_is_no_standard_error_behind_plus_minus_is_refused(tmp_path, said):
    fit = smf.ols(LINEAR["formula"], frame()).fit()
    rows = [["", "(1)"], *([name, f"{fit.params[term]:.3f} ± {2 * fit.bse[term]:.3f}"] for term, name in TERMS.items())]
    with pytest.raises(OutputError, match=r"what stands behind ± is .* no standard error"):
        given(LINEAR, page(tmp_path, rows, notes=[f"{said}. {NOTE}"]))
