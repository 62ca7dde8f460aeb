"""Tests of hypotheses that R prints: of class htest (t.test, wilcox.test, chisq.test, ...), summary(aov), anova(lm)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scipy import stats

from outrisk.errors import OutputError
from outrisk.outputs.smooth.compared import Test
from outrisk.outputs.smooth.hypothesis_test import OF_TWO, Statistic
from outrisk.readers.found_tests import MOST, FoundTest, Number, bare_name, levels_compared, or_refused
from outrisk.readers.printed_number import Printed, read_printed
from outrisk.readers.source import Source

_DATA = re.compile(r"\s*data:\s+(.*\S)\s*")
_PAIR = re.compile(r"(X-squared|Kruskal-Wallis chi-squared|num df|denom df|df|[tWFVz]|p-value)\s*(=|<)\s*(\S+?)(?:,|$)")
_NAMES: dict[str, Statistic] = {
    "X-squared": "statistic",
    "Kruskal-Wallis chi-squared": "statistic",
    "t": "statistic",
    "W": "statistic",
    "F": "statistic",
    "num df": "df",
    "denom df": "df within",
    "df": "df",
    "p-value": "p",
}
_SURE = 5  # significant digits of a statistic that R prints, and of p one less; all its releases at the least
_PLACES = {"statistic": 4, "df": 3, "df within": 3}  # at which R 2 rounded, whatever the size
_QUANTILE = 1e-9  # relative, by which quantiles of t may differ between programs
_ANOVA = re.compile(r"\s*Df\s+Sum Sq\s+Mean Sq\s+F value\s+Pr\(>F\)\s*")
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
    Method(r"Paired t-test", None, why="paired tests need kind: custom"),
    Method(r"One Sample t-test", None, why="it compares no groups; the mean itself is kind: magnitudes"),
    Method(r"Wilcoxon rank sum test with continuity correction", "rank-sum", True),
    Method(r"Wilcoxon rank sum (?:exact )?test", "rank-sum", False),
    Method(r"Wilcoxon signed rank.*", None, why="tests of one sample or of pairs need kind: custom"),
    Method(r"Pearson's Chi-squared test with Yates' continuity correction", "chi-square", True),
    Method(r"Pearson's Chi-squared test(?: with simulated p-value.*)?", "chi-square", False),
    Method(r"Chi-squared test for given probabilities.*", None, why="it compares no groups; it needs kind: custom"),
    Method(r"Fisher's Exact Test for Count Data(?: with simulated p-value.*| hybrid.*)?", "fisher"),
    Method(r"Kruskal-Wallis rank sum test", "kruskal-wallis"),
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
    head = " ".join(body[: next((k for k, line in enumerate(body) if ":" in line), len(body))])
    printed = {_NAMES[name]: (sign, text) for name, sign, text in _PAIR.findall(head) if name in _NAMES}
    if "p" not in printed:
        raise OutputError(f"'{title[:80]}' has no line with its p-value; give the page as R prints it")
    numbers = _numbers(printed, _digits_of_limits(body))
    doubtful = _of_other_hypotheses(body)
    found = FoundTest((method.test,), numbers, method.continuity, doubtful=doubtful)
    return _with_groups(_without(found, title, body), lines[at], body, title)


def _body(lines: Sequence[str]) -> Iterator[str]:
    """Lines of a page, up to the title of the next (indented by a tab) or a prompt."""
    for line in lines:
        if line.startswith(("\t", ">")):
            return
        if line.strip():
            yield line.strip()


def _numbers(printed: dict[Statistic, tuple[str, str]], of_limits: int) -> dict[Statistic, Number]:
    """The numbers, each as wide as R's rule for its digits leaves it.

    R prints a statistic and its degrees of freedom to as many significant digits (five, unless its options say
    otherwise), p to one less but one at least, limits to two more, and cuts off trailing zeros. What one of them
    shows is therefore true of all, up to the usual five; R 2 rounded to decimals instead, so that small ones have no
    more than those.
    """
    found: dict[Statistic, Printed] = {}
    for name, (sign, text) in printed.items():
        number = read_printed(("<" if sign == "<" else "") + text)
        if number is None and not (text == "NA" and name == "df"):
            raise OutputError(f"{name} is {text[:40]!r}, which is not a number; give the page as R prints it")
        if number is not None:
            found[name] = number
    shown = [_significant(printed[name][1]) for name, each in found.items() if not each.below and name != "p"]
    if "p" in found and not found["p"].below and (of_p := _significant(printed["p"][1])) > 1:  # one may be the least
        shown.append(of_p + 1)
    sure = min(max([*shown, of_limits - 2]), _SURE)
    numbers: dict[Statistic, Number] = {}
    for name, each in found.items():
        decimals = each.decimals if each.below else _decimals(name, each, sure)
        numbers[name] = Number.of(replace(each, decimals=decimals), decimals)
    return numbers


def _decimals(name: Statistic, number: Printed, sure: int) -> int:
    """The decimals that a number is good to, where as many significant digits are sure of a statistic."""
    if not number.value:
        return max(number.decimals, _PLACES.get(name, number.decimals))
    size = math.floor(math.log10(abs(number.value)))
    least = number.decimals
    if name == "p" and number.value == 1.0:  # rounded up from below
        size, least = -1, max(1, least)
    if least == 0 and (name == "statistic" or size >= _SURE):  # whole ones, to which R 3 gave no more digits either
        digits = f"{abs(number.value):.0f}"
        least = len(digits.rstrip("0")) - len(digits)
    decimals = (max(1, sure - 1) if name == "p" else sure) - 1 - size
    return max(least, min(decimals, _PLACES.get(name, decimals)))


def _digits_of_limits(body: Sequence[str]) -> int:
    """How many significant digits both limits show at the least; 0 without limits."""
    at = next((at for at, line in enumerate(body[:-1]) if line.endswith("percent confidence interval:")), None)
    return 0 if at is None else min(map(_significant, body[at + 1].split()), default=0)


def _significant(text: str) -> int:
    """How many significant digits a text shows; 0 of a whole number, whose digits are all printed."""
    mantissa = text.casefold().partition("e")[0].lstrip("+-")
    return len(mantissa.replace(".", "").lstrip("0")) if "." in mantissa else 0


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
        doubtful["p"] = "it is drawn (simulate.p.value) or approximated (hybrid), which no refit gives back"
        if found.may_be == ("chi-square",):
            del numbers["p"], doubtful["p"]
            notes.append("a simulated p-value is that of no refit; it is left out")
    if "rank sum exact test" in title:
        del numbers["p"]
        doubtful.pop("p", None)
        notes.append("the exact p-value is not that of the normal distribution, which the output has; it is left out")
    elif title == "Wilcoxon rank sum test":
        unsaid["p"] = (
            "before R 4.0 this title is also that of the exact test; print it with exact = FALSE and say "
            "'continuity: false'"
        )
    told = _of_limits(body, numbers) if found.may_be[0] in ("t", "welch") and not doubtful else {}
    numbers |= told
    if told:
        notes.append("limits of the difference are taken as the difference, their middle, and its standard error")
    elif any("percent confidence interval" in line for line in body):
        of = {"fisher": "of the odds ratio", "rank-sum": "of the shift"}.get(found.may_be[0], "of the difference")
        notes.append(f"confidence limits {of} are no number of a test; they are left out")
    if any("odds ratio" in line and ":" not in line for line in body):
        notes.append("the odds ratio is estimated given the margins, which no output is; it is left out")
    return replace(found, numbers=numbers, doubtful=doubtful, unsaid=unsaid, notes=tuple(notes))


def _of_limits(body: Sequence[str], numbers: dict[Statistic, Number]) -> dict[Statistic, Number]:
    """The difference of two means and its standard error, as far as their printed limits tell; {} without both."""
    at = next((at for at, line in enumerate(body[:-1]) if line.endswith("percent confidence interval:")), None)
    level = read_printed(body[at].split()[0]) if at is not None else None
    ends = [read_printed(text) for text in body[at + 1].split()] if at is not None else []
    if level is None or not 0.0 < level.value < 100.0 or "df" not in numbers or len(ends) != 2:
        return {}
    lower, upper = ends
    if lower is None or upper is None or lower.value > upper.value:
        return {}
    half, df = max(lower.half, upper.half), numbers["df"]
    middle, width = (lower.value + upper.value) / 2.0, (upper.value - lower.value) / 2.0
    of_df = 0.5 * 10.0**-df.decimals
    quantiles = [stats.t.ppf(0.5 + level.value / 200.0, end) for end in (df.low - of_df, df.high + of_df)]
    digits = max(0, min(MOST, 1 + max(lower.decimals, upper.decimals)))
    if not all(quantile > 0.0 for quantile in quantiles):
        return {}
    return {
        "difference": Number(middle - half, middle + half, digits),
        "standard error": Number(
            max(width - half, 0.0) / quantiles[0] * (1.0 - _QUANTILE),
            (width + half) / quantiles[1] * (1.0 + _QUANTILE),
            digits,
        ),
    }


def _with_groups(found: FoundTest, data: str, body: Sequence[str], title: str) -> FoundTest:
    """The test with what says which variables it is of, and which group comes first."""
    of = _DATA.fullmatch(data)
    called = of[1] if of else ""
    sides = re.fullmatch(r"(.+?)\s+(by|and)\s+(.+)", called)
    changes: dict[str, Any] = {}
    if sides and (sides[2] == "by" or found.may_be[0] not in OF_TWO):
        changes = {"variable": bare_name(sides[1]), "by": bare_name(sides[3]), "order": "first level"}
    means = [name for line in body for name in re.findall(r"mean in group (.+?)(?=\s+mean in group|\s*$)", line)]
    notes = found.notes + ((MEANS,) if any(line.startswith("mean") for line in body) else ())
    name, groups = levels_compared(called)
    if len(means) == 2:
        groups = tuple(means)
    elif groups:
        changes["by"] = name
    return replace(found, groups=groups, notes=notes, **changes)


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
    note = "sums and means of squares are no number of a test; they are left out"
    term = rows[0][0]
    return FoundTest(
        ("anova",), numbers, variable=bare_name(response), by=bare_name(term), slope="(" not in term, notes=(note,)
    )
