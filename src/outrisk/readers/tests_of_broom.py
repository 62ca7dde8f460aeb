"""Tests as rows of CSV, as R's broom gives them: tidy() and glance() of an htest, tidy() of an analysis of variance."""

from __future__ import annotations

from typing import Any

from scipy import stats

from outrisk.errors import OutputError
from outrisk.outputs.smooth.compared import OF_CORRELATIONS, OF_RANKS, OF_STUDENT, Test
from outrisk.outputs.smooth.hypothesis_test import Statistic
from outrisk.readers.correlations_of_r import EXACT, is_exact
from outrisk.readers.found_tests import DRAWN_P, EXACT_P, SQUARES, FoundTest, Number, bare_name, or_refused
from outrisk.readers.printed_number import MOST_DECIMALS, read_printed
from outrisk.readers.source import Source
from outrisk.readers.tests_of_r import MEANS, SHARES, method_of

_ROW: dict[str, Statistic] = {
    "statistic": "statistic",
    "p.value": "p",
    "parameter": "df",
    "num.df": "df",
    "den.df": "df within",
}


def tests_of_broom(source: Source) -> list[FoundTest]:
    """All tests of a CSV; none of another text."""
    if not source.delimited or len(source.grid) < 2:
        return []
    header, *rows = source.grid
    if {"p.value", "method"} <= set(header):
        return [or_refused(_of_row, dict(zip(header, row, strict=True)), source.comma) for row in rows]
    if {"term", "df", "sumsq", "meansq", "statistic", "p.value"} <= set(header):
        return [or_refused(_of_anova, [dict(zip(header, row, strict=True)) for row in rows], source.comma)]
    return []


def _numbers(row: dict[str, str], columns: dict[str, Statistic], comma: bool) -> dict[Statistic, Number]:
    """Numbers of a row; where one is at full precision they all are, and CSV has cut off their zeros alone."""
    printed = {column: read_printed(text, comma) for column, text in row.items()}
    exact = any(each is not None and each.decimals > MOST_DECIMALS for each in printed.values())
    found: dict[Statistic, Number] = {}
    for column, name in columns.items():
        number = printed.get(column)
        if number is None and row.get(column, "") not in ("", "NA"):
            raise OutputError(f"{column} is {row[column][:40]!r}, which is not a number")
        if number is not None:
            found[name] = Number.exact(number) if exact and not number.below else Number.of(number)
    return found


def _of_row(row: dict[str, str], comma: bool) -> FoundTest:
    """One row of tidy()."""
    title = row["method"].strip()
    method = method_of(title)
    if method is None or method.test is None:
        raise OutputError(f"'{title[:80]}' is not read: {method.why if method else 'it is no test that an output has'}")
    of_means = method.test in OF_STUDENT
    numbers = _numbers(row, _ROW | ({"estimate": "difference"} if of_means else {}), comma)
    if method.test == "anova" and "df within" not in numbers:
        raise OutputError("a row of oneway.test without num.df and den.df; give both")
    doubtful: dict[Statistic, str] = {}
    changes: dict[str, Any] = {}
    notes = []
    alternative = row.get("alternative", "") or "two.sided"
    if alternative not in ("two.sided", "NA"):
        doubtful["p"] = "it is one-sided, and the output's p is two-sided; take it with alternative = 'two.sided'"
    if row.get("estimate1"):
        notes.append(SHARES if "proportions" in title else MEANS)
    if method.test == "fisher":
        numbers.pop("statistic", None)
    if method.test in OF_CORRELATIONS:
        return _of_correlation(row, numbers, doubtful, method.test, comma)
    if method.test == "trend":
        raise OutputError("a row of prop.trend.test does not say its scores; give the page as R prints it")
    if "exact test" in title and method.test in OF_RANKS:
        numbers.pop("p")
        doubtful.pop("p", None)
        notes.append(EXACT_P)
    elif title in ("Wilcoxon rank sum test", "Wilcoxon signed rank test"):
        changes["unsaid"] = {"p": "before R 4.0 this title is also that of the exact test; say 'continuity: false'"}
    if "simulated" in title or "hybrid" in title:
        doubtful["p"] = DRAWN_P
    if row.get("conf.low", "NA") not in ("", "NA"):
        notes.append("confidence limits are no number of a test; they are left out")
    groups = (row.get("group1", ""), row.get("group2", ""))  # which rstatix adds
    return FoundTest(
        (method.test,),
        numbers,
        method.continuity,
        groups if all(groups) else (),
        doubtful=doubtful,
        notes=tuple(notes),
        **changes,
    )


def _of_correlation(
    row: dict[str, str], numbers: dict[Statistic, Number], doubtful: dict[Statistic, str], test: Test, comma: bool
) -> FoundTest:
    """A row of cor.test, which does not say the variables, nor whether its p is exact."""
    columns: dict[str, Statistic] = {"estimate": "r"}
    if test == "pearson" and not doubtful:
        columns |= {"conf.low": "lower limit", "conf.high": "upper limit"}
    numbers = {**numbers, **_numbers(row, columns, comma)}
    notes = list[str]()
    if test == "kendall" and "statistic" in numbers:
        z = numbers.pop("statistic")
        normal = float(2.0 * stats.norm.sf(abs(z.low)))
        if abs(normal - numbers["p"].low) <= 1e-5:
            numbers["z"] = z
        else:
            numbers.pop("p")
            notes.append(EXACT.format("the normal distribution"))
    elif test == "spearman" and is_exact(numbers["statistic"], numbers["r"], numbers["p"]):
        numbers.pop("p")
        notes.append(EXACT.format("Student's t"))
    return FoundTest((test,), numbers, doubtful=doubtful, notes=tuple(notes))


def _of_anova(rows: list[dict[str, str]], comma: bool) -> FoundTest:
    """tidy() of an aov or an anova: a row of the groups, then the residuals."""
    if len(rows) != 2 or rows[1]["term"] != "Residuals":
        names = ", ".join(row["term"] for row in rows if row["term"] != "Residuals")
        raise OutputError(f"an analysis of variance of {names[:80]} is not one-way; give one of a single factor")
    numbers = _numbers(rows[0], {"statistic": "statistic", "df": "df", "p.value": "p"}, comma)
    numbers |= _numbers(rows[1], {"df": "df within"}, comma)
    if len(numbers) < 4:
        raise OutputError("an analysis of variance without its statistic, df or p.value; give all")
    note = SQUARES
    term = rows[0]["term"]
    return FoundTest(("anova",), numbers, by=bare_name(term), slope="(" not in term, notes=(note,))
