"""Results of tests as scipy shows them: TtestResult(statistic=..., pvalue=..., df=...) and the like."""

from __future__ import annotations

import re
from typing import Any

from outrisk.errors import OutputError
from outrisk.outputs.smooth.compared import Test
from outrisk.outputs.smooth.hypothesis_test import Statistic
from outrisk.readers.found_tests import FoundTest, Number, levels_compared, or_refused
from outrisk.readers.printed_number import read_printed
from outrisk.readers.source import Source

_MAY_BE: dict[str, tuple[Test, ...]] = {
    "TtestResult": ("t", "welch", "paired t"),
    "Ttest_indResult": ("t", "welch"),
    "Chi2ContingencyResult": ("chi-square",),
    "MannwhitneyuResult": ("rank-sum",),
    "WilcoxonResult": ("signed-rank",),
    "KruskalResult": ("kruskal-wallis",),
    "F_onewayResult": ("anova",),
    "SignificanceResult": ("fisher", "spearman", "kendall"),
    "PearsonRResult": ("pearson",),
}
_NAMES: dict[str, Statistic] = {"statistic": "statistic", "pvalue": "p", "df": "df", "dof": "df"}
_RESULT = re.compile(rf"\b({'|'.join(_MAY_BE)})\(")
_FIELD = re.compile(r"\b(statistic|pvalue|df|dof)=(?:np\.\w+\()?([^,()]+)")


def tests_of_scipy(source: Source) -> list[FoundTest]:
    """All results of a text, in their order; none of another text."""
    starts = [*_RESULT.finditer(source.text)]
    ends = [*(each.start() for each in starts), len(source.text)][1:]
    above = [0, *(each.end() for each in starts)][:-1]
    return [
        or_refused(_of_result, start[1], source.text[start.end() : end], source.text[before : start.start()])
        for start, end, before in zip(starts, ends, above, strict=True)
    ]


def _of_result(called: str, text: str, above: str) -> FoundTest:
    """One result; `above`: the text before it, which may say the groups."""
    numbers: dict[Statistic, Number] = {}
    for name, value in _FIELD.findall(_first(text)):
        number = read_printed(value)
        if number is None:
            raise OutputError(f"{name} of {called} is {value.strip()[:40]!r}, which is not a number")
        numbers[_NAMES[name]] = Number.exact(number)
    if not {"statistic", "p"} <= set(numbers):
        raise OutputError(f"{called} has no statistic and pvalue; give it as scipy shows it")
    may_be, notes, changes = _MAY_BE[called], list[str](), dict[str, Any]()
    if above.strip():
        name, changes["groups"] = levels_compared(above.rstrip().splitlines()[-1])
        changes["by"] = name.rpartition(".")[2]
    df = numbers.get("df")
    if called == "TtestResult" and df is None:
        raise OutputError("TtestResult has no df; give it as scipy shows it")
    if called == "TtestResult" and df is not None and df.low != round(df.low):
        may_be = ("welch",)
    if called in ("SignificanceResult", "PearsonRResult"):
        numbers["r"] = numbers.pop("statistic")
    if called == "SignificanceResult":
        changes["also"] = "fisher_exact, or of a correlation (spearmanr, kendalltau)"
        changes["note_of"] = {"fisher": "the odds ratio is no number of a test; it is left out"}
    if called == "Chi2ContingencyResult":
        notes.append("expected frequencies are left out, and tell the totals of the table: give these as tables")
        if df is not None and df.low == 1.0:
            why = "chi2_contingency corrects a 2 x 2 table unless told otherwise, which its result does not say; say "
            changes["unsaid"] = dict.fromkeys(("statistic", "p"), f"{why}'continuity: true', or false")
    if called == "WilcoxonResult":
        changes["doubtful"] = {"statistic": "wilcoxon's is the smaller of two sums of ranks, which it does not say"}
        why = "wilcoxon's p may be exact (its default of few records); if it is by the normal distribution "
        changes["unsaid"] = {"p": f"{why}say 'continuity: true', or false"}
    if called == "MannwhitneyuResult":
        why = "mannwhitneyu's p may be exact, or corrected for continuity (its default of many records); if it is by "
        changes["unsaid"] = {"p": f"{why}the normal distribution say 'continuity: true', or false"}
    return FoundTest(may_be, numbers, notes=tuple(notes), **changes)


def _first(text: str) -> str:
    """The numbers of a result, to its closing bracket or a first array."""
    depth = 1
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0 or text.startswith(("expected_freq", "array"), at):
            return text[:at]
    raise OutputError("a result of scipy is cut off; give it to its closing bracket")
