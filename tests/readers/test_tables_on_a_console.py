"""Tables whose columns stand below each other: of R 4.2.2, knitr and pandas as they print them; esttab, screenreg and
stargazer as text by hand, as published ones are laid out.
"""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from fair import frame, given
from statsmodels.iolib.summary2 import summary_col

from outrisk.errors import OutputError
from outrisk.readers.aligned_text import aligned

COUNTS = {"kind": "frequencies", "by": ["occ", "religion"]}
THREE = {"kind": "frequencies", "by": ["occ", "affair", "religion"]}
BY_AFFAIR = {"kind": "frequencies", "by": ["occ", "affair"]}
MEANS = {"kind": "magnitudes", "value": "educ", "by": ["occ"]}
LINEAR = {"kind": "ols", "formula": "affairs ~ C(religion) + age"}
AGE = {"kind": "ols", "formula": "affairs ~ age"}
LOGIT = {"kind": "logit", "formula": "affair ~ age + C(religion) + C(occ)"}
WALD = {"release": ["coefficients", "confidence_limits"]}
NAMES = {"C(religion)[T.2]": "2", "C(religion)[T.3]": "3", "C(religion)[T.4]": "4", "age": "age", "Intercept": "_cons"}


def read(entry, values, n):
    released, beside = given(entry | {"values": values})
    assert beside.failure == "" and beside.matched.all() and len(released.labels) == n
    return released


@pytest.mark.parametrize(
    ("name", "entry", "n"),
    [
        ("ftable.txt", THREE, 48),
        ("ftable_two.txt", COUNTS, 24),
        ("ftable_rows.txt", THREE, 48),
        ("aggregate.txt", MEANS, 6),
        ("cbind_ratios.txt", LOGIT | WALD, 30),
        ("cbind_90.txt", LINEAR, 15),
        ("kable_tidy.md", LOGIT, 30),
        ("kable_tidy.txt", LOGIT, 30),
        ("kable_counts.txt", COUNTS, 24),
    ],
)
def test_tables_as_r_prints_them(name, entry, n):
    read(entry, name, n)


def made():
    data = frame()
    by = data.groupby("occ").educ
    fit = smf.ols(LINEAR["formula"], data).fit()
    return {
        "crosstab": (COUNTS, pd.crosstab(data.occ, data.religion), 24),
        "margins": (COUNTS, pd.crosstab(data.occ, data.religion, margins=True), 35),
        "three": (THREE, pd.crosstab([data.occ, data.affair], data.religion), 48),
        "counts": ({"kind": "frequencies", "by": ["occ"]}, data.occ.value_counts(), 6),
        "numbered": (BY_AFFAIR, data.groupby(["occ", "affair"]).size().reset_index(name="count"), 12),
        "means": (MEANS, by.mean(), 6),
        "several": (MEANS, by.agg(["mean", "std", "count"]), 18),
        "coefficients": (LINEAR, pd.DataFrame({"coef": fit.params, "se": fit.bse, "p": fit.pvalues}), 15),
    }


@pytest.mark.parametrize("name", list(made()))
def test_tables_as_pandas_prints_them(name):
    entry, table, n = made()[name]
    read(entry, str(table), n)


@pytest.mark.parametrize(
    "text",
    [
        "a b\n",
        "one two\n1 2 3\n4 5 6\n",
        "        x    y\na     1.0\nb     2.0  3.0\n",
        "name    x    y\na     1.0  2.0\nb     2.0  3.0\n",
        "Call:\nlm(y ~ x)\n\nCoefficients:\n(Intercept)  x\n 1.0  2.0\n",
    ],
)
def test_what_is_not_in_columns_is_none(text):
    assert aligned(text) is None


def fits():
    return [smf.ols(each["formula"], frame()).fit() for each in (LINEAR, AGE)]


def star(p):
    return "***" if p < 0.001 else "**" if p < 0.01 else "*" if p < 0.05 else ""


def esttab(*models, said="Standard errors in parentheses"):
    rule = "-" * (12 + 16 * len(models))
    head = ["".join(f"{cell:>13}   " for cell in row) for row in ([f"({n + 1})" for n in range(len(models))],)]
    lines = ["", rule, " " * 12 + head[0], " " * 12 + "".join(f"{'affairs':>13}   " for _ in models), rule]
    for term, name in NAMES.items():
        label = f"{name}.religion" if name.isdecimal() else name
        b = [f"{m.params[term]:>13.3f}{star(m.pvalues[term]):<3}" if term in m.params else " " * 16 for m in models]
        se = [f"{f'({m.bse[term]:.3f})':>13}   " if term in m.params else " " * 16 for m in models]
        lines += [f"{label:<12}{''.join(b)}", " " * 12 + "".join(se), ""]
    lines += [rule, f"{'N':<12}" + "".join(f"{int(m.nobs):>13}   " for m in models), rule, said]
    return "\n".join([*lines, "* p<0.05, ** p<0.01, *** p<0.001", ""])


def screenreg(*models):
    wide = "=" * (13 + 15 * len(models))
    lines = ["", wide, " " * 13 + "".join(f"{f'Model {n + 1}':<15}" for n in range(len(models))), "-" * len(wide)]
    for term, name in NAMES.items():
        label = f"religion{name}" if name.isdecimal() else "(Intercept)" if name == "_cons" else name
        b = [f"{m.params[term]:>6.2f} {star(m.pvalues[term]):<8}" if term in m.params else " " * 15 for m in models]
        se = [f"{f'({m.bse[term]:.2f})':>7}{'':8}" if term in m.params else " " * 15 for m in models]
        lines += [f"{label:<13}{''.join(b)}".rstrip(), f"{'':13}{''.join(se)}".rstrip()]
    lines += ["-" * len(wide), f"{'R^2':<13}" + "".join(f"{m.rsquared:>6.2f}{'':9}" for m in models)]
    lines += [f"{'Num. obs.':<13}" + "".join(f"{int(m.nobs):<15}" for m in models), wide]
    return "\n".join([*lines, "*** p < 0.001; ** p < 0.01; * p < 0.05", ""])


def stargazer(*models):
    n, width = len(models), 20 * (len(models) + 1)
    lines = ["", "=" * width, " " * 20 + "Dependent variable:".center(20 * n), " " * 20 + "-" * 20 * n]
    lines += [" " * 20 + "affairs".center(20 * n), " " * 20 + "".join(f"({k + 1})".center(20) for k in range(n))]
    lines += ["-" * width]
    for term, name in NAMES.items():
        label = f"religion{name}" if name.isdecimal() else "Constant" if name == "_cons" else name
        b = [f"{m.params[term]:.3f}{star(m.pvalues[term])}" if term in m.params else "" for m in models]
        se = [f"({m.bse[term]:.3f})" if term in m.params else "" for m in models]
        lines += [f"{label:<20}" + "".join(each.center(20) for each in b)]
        lines += [" " * 20 + "".join(each.center(20) for each in se), " " * width]
    lines += ["-" * width, f"{'Observations':<20}" + "".join(f"{m.nobs:,.0f}".center(20) for m in models)]
    lines += ["=" * width, f"{'Note:':<20}" + "*p<0.1; **p<0.05; ***p<0.01".rjust(20 * n)]
    return "\n".join([*lines, ""])


def columns(*models):
    return str(summary_col([*models], stars=True, info_dict={"N": lambda fit: f"{int(fit.nobs)}"}))


@pytest.mark.parametrize(
    ("program", "n"), [(esttab, 11), (screenreg, 12), (stargazer, 11), (columns, 12)], ids=lambda each: str(each)[10:16]
)
def test_models_side_by_side_as_text(tmp_path, program, n):
    (tmp_path / "models.txt").write_text(program(*fits()))
    read(LINEAR, f"{tmp_path / 'models.txt'}#1", n)
    read(AGE, f"{tmp_path / 'models.txt'}#2", n - 6)
    read(LINEAR, program(fits()[0]), n)
    with pytest.raises(OutputError, match=r"it has 2 models: .* as in 'models.txt#1'"):
        given(LINEAR | {"values": str(tmp_path / "models.txt")})


def test_what_stands_in_brackets_of_a_text_is_what_it_says():
    fit = fits()[0]
    released = read(LINEAR, f". esttab\n{esttab(fit)}\n. exit\n", 11)
    assert any("standard error" in each for each in released.labels)
    read(LINEAR, esttab(fit, said="t statistics in parentheses"), 6)
    with pytest.raises(OutputError, match="it does not say: standard errors, t, z or p"):
        given(LINEAR | {"values": esttab(fit, said="")})
    with pytest.raises(OutputError, match="esttab as text, of which one table alone is read"):
        given(LINEAR | {"values": esttab(fit) + esttab(fit)})


@pytest.mark.parametrize("seed", range(6))
def test_a_changed_number_of_a_text_shows(seed):
    text = columns(*fits()[:1])
    rng = np.random.default_rng(seed)
    places = [at for at, char in enumerate(text[: text.index("R-squared")]) if char.isdecimal() and text[at - 2] == "."]
    at = int(rng.choice(places))
    changed = f"{text[:at]}{(int(text[at]) + 5) % 10}{text[at + 1 :]}"
    _, beside = given(LINEAR | {"values": changed})
    assert (~beside.matched).sum() == 1


def test_estimates_that_ods_writes_are_not_taken_for_those_of_reference_coding(tmp_path):
    fit = smf.logit("affair ~ age + C(children > 0, Sum)", frame()).fit(disp=0)
    rows = [["Parameter", "", "DF", "Estimate", "Standard<br>Error", "Wald<br>Chi-Square", "Pr &gt; ChiSq"]]
    for name, level, term in (("Intercept", "", 0), ("age", "", 2), ("affair", "1", 1)):
        rows.append(
            [
                name,
                level,
                "1",
                *(f"{each.iloc[term]:.4f}" for each in (fit.params, fit.bse, fit.tvalues**2, fit.pvalues)),
            ]
        )
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    (tmp_path / "ods.html").write_text(f"<table>{lines}</table>")
    with pytest.raises(OutputError, match=r"SAS as ODS writes it, .* how categories are coded"):
        given({"kind": "logit", "formula": "affair ~ age", "values": str(tmp_path / "ods.html")})
