"""Tests of hypotheses that R prints: of class htest (t.test, wilcox.test, chisq.test, ...), summary(aov), anova(lm)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from outrisk.errors import OutputError
from outrisk.outputs.smooth.by_scipy import OF_TWO
from outrisk.outputs.smooth.compared import OF_CORRELATIONS, OF_PAIRS, OF_RANKS, OF_STUDENT, Test
from outrisk.outputs.smooth.hypothesis_test import Statistic
from outrisk.readers.correlations_of_r import of_correlation, of_trend
from outrisk.readers.digits_of_r import digits_of_limits, numbers_of_r, of_limits
from outrisk.readers.found_tests import (
    DRAWN_P,
    EXACT_P,
    SQUARES,
    FoundTest,
    Number,
    bare_name,
    levels_compared,
    or_refused,
)
from outrisk.readers.kappa_of_r import kappas_of_r
from outrisk.readers.printed_number import read_printed
from outrisk.readers.source import Source

_DATA = re.compile(r"\s*data:\s+(.*\S)\s*")
_PAIR = re.compile(
    r"((?:Kruskal-Wallis |McNemar's )chi-squared|X-squared|num df|denom df|df|[tWFVzST]|p-value)"
    r"\s*(=|<)\s*(\S+?)(?:,|$)"
)
_NAMES: dict[str, Statistic] = {
    "X-squared": "statistic",
    "Kruskal-Wallis chi-squared": "statistic",
    "t": "statistic",
    "W": "statistic",
    "V": "statistic",
    "S": "statistic",
    "z": "z",
    "McNemar's chi-squared": "statistic",
    "F": "statistic",
    "num df": "df",
    "denom df": "df within",
    "df": "df",
    "p-value": "p",
}
_ANOVA = re.compile(r"\s*Df\s+Sum Sq\s+Mean Sq\s+F value\s+Pr\(>F\)\s*")
SHARES = "proportions, and counts in the call, are no number of a test; give them as a table (kind: frequencies)"
MEANS = "means of the groups are left out; give them as a table of means (kind: magnitudes)"


@dataclass(frozen=True)
class Method:
    """A method by its title. why: why its tests are no output."""

    title: str
    test: Test | None
    continuity: bool | None = None
    why: str = ""


METHODS = (
    Method(r"Welch Two Sample t-test", "welch"),
    Method(r"Two Sample t-test", "t"),
    Method(r"Paired t-test", "paired t"),
    Method(r"One Sample t-test", None, why="it compares no groups; the mean itself is kind: magnitudes"),
    Method(r"Wilcoxon rank sum test with continuity correction", "rank-sum", True),
    Method(r"Wilcoxon rank sum (?:exact )?test", "rank-sum", False),
    Method(r"Wilcoxon signed rank test with continuity correction", "signed-rank", True),
    Method(r"Wilcoxon signed rank (?:exact )?test", "signed-rank", False),
    Method(r"McNemar's Chi-squared test with continuity correction", "mcnemar", True),
    Method(r"McNemar's Chi-squared test", "mcnemar", False),
    Method(r"Pearson's Chi-squared test with Yates' continuity correction", "chi-square", True),
    Method(r"\d+-sample test for equality of proportions with continuity correction", "chi-square", True),
    Method(r"\d+-sample test for equality of proportions without continuity correction", "chi-square", False),
    Method(r"1-sample proportions test.*", None, why="it compares no groups; the share itself is kind: frequencies"),
    Method(r"Pearson's Chi-squared test(?: with simulated p-value.*)?", "chi-square", False),
    Method(r"Chi-squared test for given probabilities.*", None, why="it compares no groups; it needs kind: custom"),
    Method(r"Fisher's Exact Test for Count Data(?: with simulated p-value.*| hybrid.*)?", "fisher"),
    Method(r"Kruskal-Wallis rank sum test", "kruskal-wallis"),
    Method(r"Chi-squared Test for Trend in Proportions", "trend"),
    Method(r"Pearson's product-moment correlation", "pearson"),
    Method(r"Spearman's rank correlation rho", "spearman"),
    Method(r"Kendall's rank correlation tau", "kendall"),
    Method(r"One-way analysis of means", "anova"),
    Method(
        r"One-way analysis of means \(not assuming equal variances\)",
        None,
        why="it is Welch's, and an 'anova' is of equal variances (var.equal = TRUE); it needs kind: custom",
    ),
)


def method_of(title: str) -> Method | None:
    """The method of a title; None where it is not known."""
    title = " ".join(title.split())
    return next((each for each in METHODS if re.fullmatch(each.title, title)), None)


def tests_of_r(source: Source) -> list[FoundTest]:
    """All tests of a text in which R prints some, in their order; none of another text."""
    lines = [re.sub(r"^(?:##|#>) ?", "", line) for line in source.lines]  # knitr's and reprex's marks
    starts = [at for at, line in enumerate(lines) if _DATA.fullmatch(line)]
    found: dict[int, FoundTest] = {}
    for at, end in zip(starts, [*starts, len(lines)][1:], strict=True):
        found[at] = or_refused(_of_page, lines, at, end)
    for at in (at for at, line in enumerate(lines) if _ANOVA.fullmatch(line)):
        found[at] = or_refused(_of_anova, lines, at)
    found |= kappas_of_r(lines)
    return [found[at] for at in sorted(found)]


def _title(lines: Sequence[str], at: int) -> str:
    """The method above the line of the data, which long titles are folded over."""
    above: list[str] = []
    for line in reversed(lines[:at]):
        if not line.strip():
            if above:
                break
            continue
        above.insert(0, line.strip())
    return " ".join(above)


def _of_page(lines: Sequence[str], at: int, end: int) -> FoundTest:
    """One test from its title on."""
    title, body = _title(lines, at), list(_body(lines[at + 1 : end]))
    method = method_of(title)
    if method is None or method.test is None:
        why = method.why if method else "it is no test that an output has; leave it out, or give it by kind: custom"
        raise OutputError(f"'{title[:80]}' is not read: {why}")
    scores = next((line for line in body if line.startswith("using scores:")), "")
    body = [line for line in body if line != scores]
    head = " ".join(body[: next((k for k, line in enumerate(body) if ":" in line), len(body))])
    printed = {_NAMES[name]: (sign, text) for name, sign, text in _PAIR.findall(head) if name in _NAMES}
    if "p" not in printed:
        raise OutputError(f"'{title[:80]}' has no line with its p-value; give the page as R prints it")
    numbers = numbers_of_r(printed, digits_of_limits(body))
    doubtful = _of_other_hypotheses(body)
    found = FoundTest((method.test,), numbers, method.continuity, doubtful=doubtful)
    if method.test == "trend":
        return of_trend(found, scores)
    if method.test in OF_CORRELATIONS:
        return _of_pair(of_correlation(found, body), found_data(lines[at]), title)
    return _with_groups(_without(found, title, body), lines[at], body, title)


def _body(lines: Sequence[str]) -> Iterator[str]:
    """Lines of a page, up to the title of the next (indented by a tab) or a prompt."""
    for line in lines:
        if line.startswith(("\t", ">")):
            return
        if line.strip():
            yield line.strip()


def _of_other_hypotheses(body: Sequence[str]) -> dict[Statistic, str]:
    """Why numbers are not those of no difference against any."""
    said = next((line for line in body if line.startswith("alternative hypothesis:")), "")
    found: dict[Statistic, str] = {}
    if re.search(r"\b(?:greater|less)(?: than\b|$)", said):
        found["p"] = "it is one-sided, and the output's p is two-sided; print it with alternative = 'two.sided'"
    of_odds = "odds ratio" in said
    value = re.search(r"(?:not equal to|greater than|less than) (\S+)$", said)
    if value and value[1] != ("1" if of_odds else "0"):
        why = f"it is against {value[1]}, and the output's against no difference; print it without mu and or"
        found |= dict.fromkeys(("p",) if of_odds else ("statistic", "p"), why)
    return found


def _without(found: FoundTest, title: str, body: Sequence[str]) -> FoundTest:
    """The test without what is no output's, and what is said of that."""
    numbers, doubtful, notes = dict(found.numbers), dict(found.doubtful), list[str]()
    unsaid: dict[Statistic, str] = {}
    if "simulated" in title or "hybrid" in title:
        doubtful["p"] = DRAWN_P
        if found.may_be == ("chi-square",):
            del numbers["p"], doubtful["p"]
            notes.append("a simulated p-value is that of no refit; it is left out")
    if "proportions" in title:
        notes.append(SHARES)
    if re.search(r"rank (?:sum )?exact test", title):
        del numbers["p"]
        doubtful.pop("p", None)
        notes.append(EXACT_P)
    elif title in ("Wilcoxon rank sum test", "Wilcoxon signed rank test"):
        unsaid["p"] = (
            "before R 4.0 this title is also that of the exact test; print it with exact = FALSE and say "
            "'continuity: false'"
        )
    told = of_limits(body, numbers) if found.may_be[0] in OF_STUDENT and not doubtful else {}
    numbers |= told
    if told:
        notes.append("limits of the difference are taken as the difference, their middle, and its standard error")
    elif any("percent confidence interval" in line for line in body):
        shift, test = dict.fromkeys(OF_RANKS, "of the shift"), found.may_be[0]
        of = {"fisher": "of the odds ratio", **shift}.get(test, "of the difference")
        notes.append(f"confidence limits {of} are no number of a test; they are left out")
    if any("odds ratio" in line and ":" not in line for line in body):
        notes.append("the odds ratio is estimated given the margins, which no output is; it is left out")
    return replace(found, numbers=numbers, doubtful=doubtful, unsaid=unsaid, notes=tuple(notes))


def found_data(line: str) -> str:
    """What R says a test is of."""
    of = _DATA.fullmatch(line)
    return of[1] if of else ""


def _with_groups(found: FoundTest, data: str, body: Sequence[str], title: str) -> FoundTest:
    """The test with what says which variables it is of, and which group comes first."""
    called = found_data(data)
    if found.may_be[0] in OF_PAIRS:
        return _of_pair(found, called, title)
    sides = re.fullmatch(r"(.+?)\s+(by|and)\s+(.+)", called)
    changes: dict[str, Any] = {}
    if sides and (sides[2] == "by" or found.may_be[0] not in OF_TWO):
        changes = {"variable": bare_name(sides[1]), "by": bare_name(sides[3]), "order": "first level"}
    means = [name for line in body for name in re.findall(r"mean in group (.+?)(?=\s+mean in group|\s*$)", line)]
    name, groups = levels_compared(called)
    if len(means) == 2:
        groups = tuple(means)
    elif groups:
        changes["by"] = name
    described = _described(body, groups)
    undescribed = not described and any(line.startswith("mean") for line in body)
    notes = found.notes + ((MEANS,) if undescribed else ())
    return replace(found, groups=groups, notes=notes, described=described, **changes)


def _of_pair(found: FoundTest, called: str, title: str) -> FoundTest:
    """The test of pairs with what says which variables it is of."""
    call = re.fullmatch(r"(?:Pair|table|xtabs|cbind)\(\s*([^,()]+?)\s*,\s*([^,()]+?)\s*\)", called)
    sides = call.groups() if call else called.split(" and ")
    if found.may_be == ("mcnemar",):
        unsaid = found.numbers["statistic"].high == 0.0 if "statistic" in found.numbers else True  # nothing to correct
        pair = tuple(map(bare_name, sides)) if len(sides) == 2 else ()
        return replace(found, pair=pair, continuity=None if unsaid else found.continuity)
    if len(sides) != 2:
        way = "is of one sample, or of pairs in rows of their own; print it of two variables, paired = TRUE"
        raise OutputError(f"'{title[:80]}' of {called[:80]} {way}")
    return replace(found, pair=tuple(map(bare_name, sides)))


def _described(body: Sequence[str], groups: Sequence[str]) -> dict[str, dict[str, str]]:
    """The mean of each group, where the estimates of a sample are these; they may be folded over lines."""
    at = next((at for at, line in enumerate(body) if line.startswith("sample estimates:")), len(body))
    texts = [text for line in body[at + 1 :] if not line.startswith("mean") for text in line.split()]
    if len(texts) != len(groups) or any(read_printed(text) is None for text in texts):
        return {}
    return {group: {"mean": text} for group, text in zip(groups, texts, strict=True)}


def _of_anova(lines: Sequence[str], at: int) -> FoundTest:
    """A one-way analysis of variance: a row of the groups, then the residuals."""
    rows: list[list[str]] = []
    for line in lines[at + 1 :]:
        cells = re.sub(r"\s*(?:\*{1,3}|(?<=\s)\.)\s*$", "", line).replace("< ", "<").split()
        if len(cells) < 4 or line.startswith("---"):
            break
        rows.append(cells)
        if cells[0] == "Residuals":
            break
    if not rows or rows[-1][0] != "Residuals" or len(rows[-1]) != 4 or any(len(row) != 6 for row in rows[:-1]):
        raise OutputError("a table of an analysis of variance is cut off; give it down to its Residuals")
    if len(rows) != 2:
        names = ", ".join(row[0] for row in rows[:-1])
        raise OutputError(f"an analysis of variance of {names} is not one-way; give one of a single factor")
    response = next((line.split(":")[1].strip() for line in lines[max(0, at - 3) : at] if "Response:" in line), "")
    texts: dict[Statistic, str] = {"df": rows[0][1], "statistic": rows[0][4], "p": rows[0][5], "df within": rows[1][1]}
    numbers: dict[Statistic, Number] = {}
    for name, text in texts.items():
        number = read_printed(text)
        if number is None:
            raise OutputError(f"{name} of an analysis of variance is {text[:40]!r}, which is not a number")
        numbers[name] = Number.of(number)
    note = SQUARES
    term = rows[0][0]
    return FoundTest(
        ("anova",), numbers, variable=bare_name(response), by=bare_name(term), slope="(" not in term, notes=(note,)
    )
