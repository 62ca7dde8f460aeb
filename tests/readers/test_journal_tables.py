"""Models side by side in documents: real output of programs, tables as journals print them, and what is not plain."""

import random

import numpy as np
import pytest
import statsmodels.formula.api as smf
from fair import PRINTED, codebook, data, frame, study
from word_files import cell as word_cell
from word_files import table, write

from outrisk.errors import OutputError, OutRiskError
from outrisk.readers.journal_rows import Rows

A = {"kind": "logit", "formula": "affair ~ age + C(religion)"}
B = {"kind": "logit", "formula": "affair ~ age + C(religion) + C(occ)"}
COUNTS = {"kind": "frequencies", "by": ["occ", "affair"]}
OWN = {"release": ["coefficients", "p_values", "n"]}  # without limits, which are of R's profiles
WALD = {"release": ["coefficients", "confidence_limits"]}
LEVELS = ("1", "2", "3", "4")


def given(entry, values):
    (released,) = study({**entry, "values": str(values)}).given(codebook()).values()
    return released, released.recompute(data())


@pytest.mark.parametrize(
    ("entry", "values", "n"),
    [
        (A, "summary_col.html#1", 11),
        (B, "summary_col.html#2", 21),
        (A, "summary_col.tex#1#1", 11),
        (B, "summary_col.tex#1#2", 21),
        (A, "stargazer_python.html#1", 12),
        (B, "stargazer_python.html#2", 22),
        (A, "stargazer_python.tex#1#1", 12),
        (B, "stargazer_python.tex#1#2", 22),
        (A | OWN, "tab_model.html#1", 11),
        (B | OWN, "tab_model.html#1#2", 21),
        ({"kind": "ols", "formula": "affairs ~ age + C(religion)"}, "tab_model_ols.html", 27),
        (A, "flextable.docx#Table 2", 15),
        (A, "xtable.tex", 15),
        (COUNTS, "flextable.docx#1", 12),
        (COUNTS, "flextable.html", 12),
        (COUNTS, "pandoc.docx#Table 1", 12),
        (COUNTS, "pandoc.rtf#Table 1", 12),
        (COUNTS, "pandoc.tex#Table 1", 12),
        (COUNTS, "kable.tex", 12),
    ],
)
def test_what_programs_write_is_met_by_a_refit(entry, values, n):
    released, beside = given(entry, values)
    assert beside.matched.all() and len(released.labels) == n


@pytest.mark.parametrize(
    "file", ["summary_col.html#1", "summary_col.tex#1#1", "stargazer_python.html#1", "stargazer_python.tex#1#1"]
)
@pytest.mark.parametrize("seed", range(3))
def test_a_changed_number_shows(tmp_path, file, seed):
    """Whichever number of the model is changed by a unit of its last digit, one number does not match."""
    import re

    name, sign, which = file.partition("#")
    text = (PRINTED / name).read_text()
    numbers = [found for found in re.finditer(r"\d\.\d{3,4}", text) if "." in found[0]]
    rng = random.Random(seed)
    wrong = []
    for _ in range(4):
        found = rng.choice(numbers)
        digits = len(found[0]) - 2
        new = f"{float(found[0]) + 3 * 10.0**-digits:.{digits}f}"
        (tmp_path / name).write_text(text[: found.start()] + new + text[found.end() :])
        _, beside = given(A, f"{tmp_path / name}{sign}{which}")
        wrong.append(int((~beside.matched).sum()))
    assert set(wrong) <= {0, 1}  # 0: a number of the other model


def fitted(formula="affair ~ age + C(religion)"):
    return smf.logit(formula, frame()).fit(disp=0)


def odds(sign="–", brackets="()", ref="Ref."):
    """A table as journals print it: odds ratios with limits in a cell, levels below their variable."""
    fit = fitted()
    both = np.exp(fit.conf_int())
    left, right = brackets

    def cell(name):
        return f"{np.exp(fit.params[name]):.2f} {left}{both.loc[name, 0]:.2f}{sign}{both.loc[name, 1]:.2f}{right}"

    levels = [(level, ref if level == "1" else cell(f"C(religion)[T.{level}]")) for level in LEVELS]
    return [["", "Model 1"], ["age", cell("age")], ["religion", ""], *map(list, levels)]


CAPTION = "Table 2. Odds ratios (95% CI) of an affair"


@pytest.mark.parametrize("sign", ["–", " to ", ", ", "; ", " - "])
@pytest.mark.parametrize("ref", ["Ref.", "1 (ref)", "1.00 (reference)", "—"])
def test_odds_ratios_with_limits_in_a_cell(tmp_path, sign, ref):
    path = write(tmp_path / "a.docx", CAPTION, table(*odds(sign, ref=ref)))
    released, beside = given(A | WALD, path)
    assert beside.matched.all() and len(released.labels) == 15 and "age: exp(b)" in released.labels


def test_names_in_other_letters(tmp_path):
    """`Age` and `Religion` as heads of rows, and in front of levels."""
    rows = [[row[0].capitalize(), *row[1:]] for row in odds()]
    released, beside = given(A | WALD, write(tmp_path / "a.docx", CAPTION, table(*rows)))
    assert beside.matched.all() and len(released.labels) == 15
    rows = [[row[0].capitalize(), *row[1:]] for row in stacked()]
    assert rows[5][0] == "Religion2"
    released, beside = given(A, write(tmp_path / "b.docx", "Table 1. Logit coefficients", table(*rows), NOTE))
    assert beside.matched.all() and "age: standard error" in released.labels


def test_columns_of_odds_ratios_and_p(tmp_path):
    fit = fitted()
    rows = [[*row, ""] for row in odds()]
    rows[0] = ["Variable", "OR (95% CI)", "p"]
    rows[1][2] = f"{fit.pvalues['age']:.3f}" if fit.pvalues["age"] >= 0.001 else "<0.001"
    for row in rows[4:]:
        p = fit.pvalues[f"C(religion)[T.{row[0]}]"]
        row[2] = f"{p:.3f}" if p >= 0.001 else "<0.001"
    path = write(tmp_path / "a.docx", "Table 2", table(*rows))
    released, beside = given(A | {"release": ["coefficients", "confidence_limits", "p_values"]}, path)
    assert beside.matched.all() and len(released.labels) == 20


def stacked(statistic="bse", model="Model 1"):
    fit = fitted()
    rows = [["", model]]
    names = {
        "Constant": "Intercept",
        "age": "age",
        **{f"religion{level}": f"C(religion)[T.{level}]" for level in LEVELS[1:]},
    }
    for shown, name in names.items():
        rows += [
            [shown, f"{fit.params[name]:.3f}***".replace("-", "\N{MINUS SIGN}")],
            ["", f"({getattr(fit, statistic)[name]:.3f})"],
        ]
    return [*rows, ["Observations", "6,366"], ["Log likelihood", f"{fit.llf:.3f}"]]


NOTE = "Standard errors in parentheses. * p<0.05, ** p<0.01, *** p<0.001"


def test_estimates_with_standard_errors_below(tmp_path):
    path = write(tmp_path / "a.docx", "Table 1. Logit coefficients", table(*stacked()), NOTE)
    released, beside = given(A, path)
    assert beside.matched.all() and {"age: standard error", "number of records"} <= set(released.labels)
    in_a_cell = [stacked()[0], *(row for row in stacked() if row[0])]
    for row, below in zip(in_a_cell[1:6], stacked()[2::2], strict=False):
        row[1] = f"{row[1]}\n{below[1]}"
    path = write(tmp_path / "b.docx", "Table 1. Logit coefficients", table(*in_a_cell), NOTE)
    again, beside = given(A, path)
    assert beside.matched.all() and again.labels == released.labels


def test_statistics_are_no_standard_errors(tmp_path):
    for note in ("z statistics in parentheses", "t-values in brackets"):
        path = write(tmp_path / "a.docx", "Table 1. Logit coefficients", table(*stacked("tvalues")), note)
        released, beside = given(A, path)
        assert beside.matched.all() and not any("standard error" in label for label in released.labels)
    path = write(tmp_path / "a.docx", "Table 1", table(*stacked("pvalues")), "p-values in parentheses")
    released, beside = given(A, path)
    assert beside.matched.all() and "age: p-value" in released.labels


REFUSED = {
    "brackets of nothing": (["Table 1", table(*stacked())], "it does not say: standard errors, t, z or p"),
    "brackets of two things": (
        ["Table 1", table(*stacked()), "Standard errors or t statistics in parentheses"],
        "may be standard errors or statistic",
    ),
    "ratios below 0": (["Table 1. Odds ratios", table(*stacked()), NOTE], "it speaks of ratios, and not all"),
    "another scale": (
        ["Table 1. Standardized coefficients", table(*stacked()), NOTE],
        "estimates are of another scale",
    ),
    "of hazards": (
        ["Table 1. Hazard ratios (95% CI)", table(*odds())],
        "the table is of a cox, the output says kind: logit",
    ),
    "open scale": (
        ["Table 1. Estimates (95% CI)", table(*odds())],
        "whether its estimates are exp\\(b\\) it does not say",
    ),
    "stars alone": (
        ["Table 1. Logit", table(*[*stacked()[:3], ["religion2", "***"], *stacked()[5:]]), NOTE],
        "stars without a number",
    ),
    "signs alone": (
        ["Table 1. Logit", table(*[*stacked()[:3], ["religion2", "+++"], *stacked()[5:]]), NOTE],
        "no number",
    ),
    "below each other": (
        ["Table 1. Logit", table(*stacked(), *stacked()[1:]), NOTE],
        "stands below numbers of the model",
    ),
    "two lines of numbers": (
        ["Table 1. Logit", table(*[*stacked()[:3], ["age", "1\n200"], *stacked()[5:]]), NOTE],
        "'1 ↵ 200'",
    ),
}


def headed(*lines):
    """The table with other lines above its estimates."""
    return table(*(["", line] for line in lines), *stacked()[1:])


REFUSED |= {
    "of a probit by its head": (["Table 1", headed("Probit"), NOTE], "of a probit or oprobit, the output says kind"),
    "of ols by its caption": (["Table 1. Linear probability models", headed("(1)"), NOTE], "of an ols or iv or mixed"),
    "of another response": (["Table 1", headed("(1)", "occ"), NOTE], "response 'occ', the output says 'affair'"),
    "of weighted records": (["Table 1. Weighted logit", headed("(1)"), NOTE], "give the output its 'weight'"),
    "marginal effects": (["Table 1. Logit (AME)", headed("(1)"), NOTE], "of another scale"),
    "brackets are said twice": (
        ["Table 1. Logit (standard errors)", headed("Model 1"), "Notes: Numbers in parentheses are t-statistics"],
        "may be standard errors or statistic",
    ),
    "p in brackets beside others": (
        ["Table 1", headed("Model 1"), "p in parentheses; standard errors in parentheses in Table 3"],
        "may be standard errors or p values",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_plain_is_refused_in_a_line(tmp_path, name):
    blocks, message = REFUSED[name]
    with pytest.raises(OutRiskError, match=message) as error:
        given(A, write(tmp_path / "a.docx", *blocks))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("heads", [["OR", ""], [word_cell("Odds ratios", 2)]])
def test_ratios_above_a_column_to_the_left_are_asked_about(tmp_path, heads):
    """Whether a head stands over both columns a table of cells does not say."""
    rows = [[name, cell, cell] for name, cell in odds()[1:]]
    path = write(tmp_path / "a.docx", "Table 1 (95% CI)", table(["", *heads], *rows))
    assert given(A | WALD, f"{path}#1#1")[1].matched.all()
    with pytest.raises(OutputError, match="give the output exponentiate: true, or false"):
        given(A | WALD, f"{path}#1#2")
    assert given(A | WALD | {"exponentiate": True}, f"{path}#1#2")[1].matched.all()


def test_of_several_models_one_is_said(tmp_path):
    rows = [[*row, row[1] if at else "Model 2"] for at, row in enumerate(stacked())]
    path = write(
        tmp_path / "a.docx", "Table 1. Logit", table(*rows), NOTE, "Text.", "Table 2. Logit", table(*rows), NOTE
    )
    with pytest.raises(OutputError, match=r"2 models: 1 'Model 1', 2 'Model 2'; .* as in 'a.docx#2#1'"):
        given(A, f"{path}#2")
    with pytest.raises(OutputError, match="no model 3; it has 2"):
        given(A, f"{path}#2#3")
    _, beside = given(A, f"{path}#Table 2#2")
    assert beside.matched.all()


def test_a_page_with_two_tables_of_models_asks_which(tmp_path):
    text = (PRINTED / "summary_col.html").read_text()
    (tmp_path / "a.html").write_text(f"<h2>Table 1</h2>{text}<h2>Table 2</h2>{text}")
    with pytest.raises(OutputError, match="2 tables of models, say which table, and which model of it"):
        given(A, tmp_path / "a.html#1")
    assert given(A, tmp_path / "a.html#Table 2#1")[1].matched.all()
    assert given(A, tmp_path / "a.html#2#1")[1].matched.all()


ESTTAB = r"""{\rtf1\ansi\deff0 {\fonttbl{\f0\fnil Times New Roman;}}
{\pard\keepn\ql Table 1: Logit\par}
{ROWS}
{\pard\ql\fs20 Standard errors in parentheses\par}
{\pard\ql\fs20 {\super *} {\i p} < 0.05, {\super **} {\i p} < 0.01, {\super ***} {\i p} < 0.001\par}
}
"""  # as esttab writes it (by hand)


def rich(rows):
    made = "\n".join(
        r"{\trowd\trgaph108\trleft-108\cellx1500\cellx3000"
        + "".join(rf"\pard\intbl\ql {{{cell}}}\cell" for cell in row)
        + r"\row}"
        for row in rows
    )
    return ESTTAB.replace("{ROWS}", made)


def of_esttab():
    rows = [["", "(1)"], ["", "affair"], *stacked()[1:-1]]
    return [
        [one.replace("Constant", "_cons").replace("***", r"\sym{***}"), two.replace("Observations", "N")]
        for one, two in rows
    ]


def test_rtf_by_esttab(tmp_path):
    rows = [["", "(1)"], ["", "affair"], *stacked()[1:11], [r"{\i N}", "6,366"]]
    rows = [[a, b.replace("***", r"{\super ***}").replace("\N{MINUS SIGN}", "-")] for a, b in rows]
    (tmp_path / "a.rtf").write_text(rich(rows))
    released, beside = given(A, tmp_path / "a.rtf")
    assert beside.matched.all() and {"age: standard error", "number of records"} <= set(released.labels)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (r"12{\super a}", "12"),
        (r"{\deleted 9}12", "12"),
        (r"{\v 9}12", "12"),
        (r"\u8722?0.5", "\N{MINUS SIGN}0.5"),
        (r"\'960.5", "–0.5"),
        (r"{\*\bookmarkstart x}12", "12"),
        (r"1{\footnote 7}2", "12"),
        (r"12\line 345", "12 ↵ 345"),
        (r"1\~234", "1\N{NO-BREAK SPACE}234"),
        (r"{\strike 9}12", "(struck out: 9)12"),
        (r"\_1", "-1"),
        (r"{\u8722}12", "\N{MINUS SIGN}12"),
        (r"{\xe 9}12", "12"),
        (r"{\pntext 1.\tab}12", "12"),
        ("\x960.5", "–0.5"),
        (r"\ansicpg99999 \'960.5", "\ufffd0.5"),
    ],
)
def test_what_a_cell_of_rtf_says(tmp_path, text, want):
    from outrisk.readers.source import one_table, read_source_of_values

    (tmp_path / "a.rtf").write_text(rich([["a", text], ["b", "2"]]), encoding="latin-1")
    assert one_table(read_source_of_values(tmp_path / "a.rtf"), "", "here").grid == [["a", want], ["b", "2"]]


def test_merged_cells_of_rtf(tmp_path):
    from outrisk.readers.source import one_table, read_source_of_values

    wide = r"\trowd\cellx1000\cellx3000\intbl a\cell\intbl both\cell\row" + "\n"
    plain = r"\trowd\cellx1000\cellx2000\cellx3000\intbl b\cell\intbl 1\cell\intbl 2\cell\row" + "\n"
    down = r"\trowd\clvmgf\cellx1000\cellx2000\cellx3000\intbl c\cell\intbl 3\cell\intbl 4\cell\row" + "\n"
    under = r"\trowd\clvmrg\cellx1000\cellx2000\cellx3000\intbl\cell\intbl 5\cell\intbl 6\cell\row" + "\n"
    (tmp_path / "a.rtf").write_text("{\\rtf1 " + wide + plain + down + under + "}")
    found = one_table(read_source_of_values(tmp_path / "a.rtf"), "", "here").grid
    assert found == [["a", "both", ""], ["b", "1", "2"], ["c", "3", "4"], ["c", "5", "6"]]


STARGAZER = r"""
\begin{table}[!htbp] \centering
  \caption{Logit}
  \label{}
\begin{tabular}{@{\extracolsep{5pt}}lc}
\\[-1.8ex]\hline
\hline \\[-1.8ex]
 & \multicolumn{1}{c}{\textit{Dependent variable:}} \\
\cline{2-2}
\\[-1.8ex] & affair \\
\hline \\[-1.8ex]
ROWS
\hline \\[-1.8ex]
Observations & 6,366 \\
\hline
\hline \\[-1.8ex]
\textit{Note:}  & \multicolumn{1}{r}{$^{*}$p$<$0.1; $^{**}$p$<$0.05; $^{***}$p$<$0.01} \\
\end{tabular}
\end{table}
"""  # as R's stargazer writes it (by hand)


def test_latex_by_stargazer(tmp_path):
    made = "\n".join(
        f" {a} & {b} \\\\ ".replace("\N{MINUS SIGN}", "$-$").replace("***", "$^{***}$") for a, b in stacked()[1:11]
    )
    (tmp_path / "a.tex").write_text(STARGAZER.replace("ROWS", made))
    released, beside = given(A, tmp_path / "a.tex")
    assert beside.matched.all() and {"age: standard error", "number of records"} <= set(released.labels)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (r"12$^{a}$", "12"),
        (r"$-$0.5", "-0.5"),
        (r"12 % 13", "12"),
        (r"12\%", "12%"),
        (r"\phantom{1}2", "2"),
        (r"\num{0.5}", "0.5"),
        (r"\sout{12}", "12\ufffd"),
        (r"\textcolor{red}{12}", "12"),
        (r"0.1--0.2", "0.1–0.2"),
        (r"0{,}5", "0,5"),
        (r"\shortstack{0.1\\(0.2)}", "0.1 (0.2)"),
        (r"\mine{4}", "4\ufffd"),
        (r"a\_b", "a_b"),
        (r"a_b", "a_b"),
        (r"\iffalse 9 \fi 12", "12"),
        (r"12\footnotemark[1]", "12"),
        (r"$10^{3}$", "10³"),
        (r"\(-0.5\)", "-0.5"),
        (r"\(12^{a}\)", "12"),
    ],
)
def test_what_a_cell_of_latex_says(tmp_path, text, want):
    from outrisk.readers.source import one_table, read_source_of_values

    (tmp_path / "a.tex").write_text("\\begin{tabular}{ll}\nx & " + text + "\n \\\\\ny & 2 \\\\\n\\end{tabular}\n")
    assert one_table(read_source_of_values(tmp_path / "a.tex"), "", "here").grid == [["x", want], ["y", "2"]]


def test_cells_that_are_one_by_tabularray_are_refused(tmp_path):
    (tmp_path / "a.tex").write_text(r"\begin{tblr}{colspec={lll}} x & y & z \\ a & \SetCell[c=2]{c} 7 & \\ \end{tblr}")
    with pytest.raises(OutRiskError, match="does not show what is printed"):
        given(COUNTS, tmp_path / "a.tex")


LARGE = {
    "a.rtf": rich([["a", "12" + r"{\super a}" * 60_000 + r"{\strike 1}" * 60_000]]),
    "a.html": "<table><tr><td>a<td>12" + "<sup>a</sup>" * 50_000 + "</table>",
    "a.tex": "\\begin{tabular}{ll} a & " + "$^{a}$" * 20_000 + r"\begin{comment} " * 20_000 + "\\end{tabular}",
}


@pytest.mark.parametrize("name", LARGE)
def test_a_large_text_takes_no_time_without_end(tmp_path, name):
    from time import perf_counter

    from outrisk.readers.source import read_source_of_values

    (tmp_path / name).write_text(LARGE[name])
    begin = perf_counter()
    source = read_source_of_values(tmp_path / name)
    assert source.printed or source.pages
    assert perf_counter() - begin < 8  # which took minutes where each part was put to a copy of all before it


def test_several_rows_and_columns_of_latex(tmp_path):
    from outrisk.readers.source import one_table, read_source_of_values

    text = r"""\begin{tabular}{lll} & \multicolumn{2}{c}{both} \\ \multirow{2}{*}{a} & 1 & 2 \\ & 3 & 4 \\
    b & \multicolumn{2}{c}{7} \\ \end{tabular}"""
    (tmp_path / "a.tex").write_text(text)
    assert one_table(read_source_of_values(tmp_path / "a.tex"), "", "here").grid == [
        ["", "both", ""],
        ["a", "1", "2"],
        ["a", "3", "4"],
        ["b", "7 (one cell over 2 columns)", ""],
    ]


@pytest.mark.parametrize(
    ("cell", "want"),
    [
        ("12<sup>1</sup>", "12"),
        ("12<span><sup>1</sup></span>", "12"),
        ("12<br>345", "12 ↵ 345"),
        ("<del>9</del>12", "12"),
        ("<s>9</s>12", "(struck out: 9)12"),
        ("<span style='display:none'>9</span>12", "12"),
        ("12<span style='vertical-align: super'>1</span>", "12"),
        ("12<span class='high'>1</span>", "12"),
        ("<p>0.1</p><p>(0.2)</p>", "0.1 (0.2)"),
        ("R<sup>2</sup>", "R²"),
        ("<table><tr><td>7</td></tr></table>", ""),
        ("<script>9</script>12", "12"),
        ("12<svg><text>9</text></svg>", "12"),
        ("<span style='opacity:0'>9</span>12", "12"),
        ("<span style='opacity:0.8'>12</span>", "12"),
        ("<math><msup><mn>12</mn><mn>3</mn></msup></math>", "\ufffd123"),
        ("<math><mfrac><mn>1</mn><mn>2</mn></mfrac></math>", "\ufffd12"),
        ("<span class='katex-mathml'><math><mn>5</mn></math></span><span class='katex-html'>5</span>", "5"),
        ("<select><option>5<option>6</select>", "\ufffd56"),
    ],
)
def test_what_a_cell_of_a_page_says(cell, want):
    from outrisk.readers.source import Source

    rows = f"<tr><td>a</td><td>{cell}</td></tr><tr><td>b</td><td>2</td></tr>"
    page = f"<style>.high {{vertical-align: super}}</style><table>{rows}</table>"
    assert Source("a.html", page).tables[0] == [["a", want], ["b", "2"]]


def test_a_hidden_row_ends_where_the_next_begins():
    from outrisk.readers.source import Source

    page = "<table><tr><td>a<td>1<tr style='display:none'><td>b<td>2<tr><td rowspan=0>c<td>3<tr><td>4</table>"
    assert Source("a.html", page).tables[0] == [["a", "1"], ["c", "3"], ["c", "4"]]


def test_merged_cells_of_a_page_keep_their_columns():
    from outrisk.readers.source import Source

    page = "<table><tr><th rowspan=2 colspan=2>a</th><th>b</th></tr><tr><th>c</th></tr>"
    page += "<tr><td>x</td><td>y</td><td>1</td></tr></table>"
    assert Source("a.html", page).tables[0] == [["a", "", "b"], ["a", "", "c"], ["x", "y", "1"]]


@pytest.mark.parametrize("name", ["p", "p-value", "Sig."])
def test_p_beside_b_and_its_error_in_a_csv(tmp_path, name):
    fit = fitted()
    names = {"Constant": "Intercept", "age": "age", **{f"religion={at}": f"C(religion)[T.{at}]" for at in LEVELS[1:]}}
    lines = [f"{key},{fit.params[it]:.3f},{fit.bse[it]:.3f},{fit.pvalues[it]:.3f}" for key, it in names.items()]
    (tmp_path / "a.csv").write_text("\n".join([f"Term,B,SE,{name}", *lines]) + "\n")
    released, beside = given(A, tmp_path / "a.csv")
    assert beside.matched.all() and "age: p-value" in released.labels


def test_variables_that_begin_as_statistics_are_terms():
    """`children` was taken for a chi-square."""
    terms = ["children", "score", "score at entry", "wald_area", "dfl", "chinese", "adjusted rate", "iccu", "fair"]
    fits = [
        "Chi-squared",
        "chi2",
        "Score (logrank) test",
        "LR test",
        "Wald",
        "Df",
        "df resid",
        "F Statistic",
        "F-statistic",
    ]
    fits += ["Adj. R²", "Adjusted R2", "R-squared Adj.", "ICC (school)", "Akaike Inf. Crit.", "Residual Std. Error"]
    rows = Rows("here", 1, {"(": "standard_errors"})
    for name in (*terms, *fits):
        rows.take([name, "0.002 (0.029)"])
    assert [name for name, _ in rows.rows] == terms and rows.others == fits
