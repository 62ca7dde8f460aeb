"""Tests of hypotheses in a listing of SAS: what PROC FREQ prints below its tables, TTEST, NPAR1WAY."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from outrisk.errors import OutputError
from outrisk.outputs.smooth.hypothesis_test import Statistic
from outrisk.readers.found_tests import FoundTest, Number, or_refused
from outrisk.readers.printed_number import read_printed
from outrisk.readers.sas_columns import is_number
from outrisk.readers.sas_listing import Step, is_listing, steps_of
from outrisk.readers.source import Source

_TABLE = re.compile(r"^\s*(?:Summary )?Statistics for (?:Table (\d+ )?of )(\S+) by (\S+)\s*$")
_CROSSED = re.compile(r"^\s*Table (?:\d+ )?of (\S+) by (\S+)\s*$")
_CONTROL = re.compile(r"^\s*Controlling for ")
_ROW = re.compile(r"^\s*([A-Z][A-Za-z' .-]*?)\s{2,}(?:(\d+)\s+)?(-?[\d.]+(?:E[+-]?\d+)?)(?:\s+(<?[\d.]+))?\s*$")
_SIZE = re.compile(r"^\s*(?:Effective )?Sample Size\s*=\s*(\d+)\s*$")
_VARIABLE = re.compile(r"^\s*Variable:\s+(\S+)(?:\s+.*)?$")
_PAIR = re.compile(r"^\s*Difference:\s+(\S+)\s+-\s+(\S+)(?:\s+.*)?$")
_GROUPS = re.compile(r"^\s*(\S+)\s+N\s+Mean\s+Std Dev\s+Std Err\b")
_METHOD = re.compile(
    r"^\s*(?:\S+\s+)?(Pooled|Satterthwaite)\s+(Equal|Unequal)\s+([\d.]+)\s+(-?[\d.]+)\s+(<?[\d.]+)\s*$"
)
_RANKS = re.compile(r"^\s*Wilcoxon Scores \(Rank Sums\) for Variable (\S+)\s*$")
_OF_CROSSTABS = (
    "likelihood ratio, phi and the contingency coefficient are no output; they are left out; the Mantel-Haenszel "
    "chi-square is a test of its own ('test: linear-by-linear')"
)
_OF_T = "limits, Minimum, Maximum and the test of equal variances are no number of the output; they are left out"
_OF_RANKS = "sums of ranks, p on one side and the t approximation are no number of the output; they are left out"
_WEIGHTED = "it is weighted by {}, which no test of an output is"


def tests_of_sas(source: Source) -> list[FoundTest]:
    """All tests of a listing, in their order; none of another text."""
    if not is_listing(source):
        return []
    found = list[FoundTest]()
    for step in steps_of(source.text):
        weight = re.search(r"^\s*Weight:\s*(\S+)", step.text, re.M)
        weighted = step.weight or (weight[1] if weight else "")
        for each in _of_step(step):
            refused = each.refused or (_WEIGHTED.format(weighted) if weighted else "")
            found.append(replace(each, whom=step.whom, layer=step.groups, refused=refused))
    return found


def _of_step(step: Step) -> Iterator[FoundTest]:
    lines = step.lines
    if step.procedure in ("FREQ", ""):
        yield from _of_tables(lines)
    if step.procedure in ("TTEST", ""):
        yield from _of_t(lines)
    if step.procedure in ("NPAR1WAY", ""):
        for at, line in enumerate(lines):
            if said := _RANKS.match(line):
                below = lines[at + 1 : at + 80]
                end = next((k for k, each in enumerate(below) if _RANKS.match(each)), len(below))
                yield from _of_ranks(said[1], below[:end])


def _of_tables(lines: Sequence[str]) -> Iterator[FoundTest]:
    """The tests below a cross table."""
    pair, layered = ("", ""), False
    starts = [at for at, line in enumerate(lines) if re.match(r"^\s*Statistic\s+DF\s+Value\s+Prob\s*$", line)]
    for start, end in pairwise([*starts, len(lines)]):
        for line in lines[max(0, start - 400) : start]:
            if said := _TABLE.match(line):
                pair, layered = (said[2], said[3]), bool(said[1])
            elif crossed := _CROSSED.match(line):
                pair, layered = (crossed[1], crossed[2]), False
            elif _CONTROL.match(line):
                layered = True
        if layered:
            yield FoundTest((), {}, refused="tests of layers of a table are not read; give each layer with its 'where'")
            continue
        yield from _of_statistics(lines[start:end], pair)


def _of_statistics(lines: Sequence[str], pair: tuple[str, str]) -> Iterator[FoundTest]:
    rows = {found[1]: found for line in lines[:60] if (found := _ROW.match(line))}
    size = next((found[1] for line in lines[:90] if (found := _SIZE.match(line))), "")
    n: dict[Statistic, Number] = {"n": _number(size)} if size else {}
    variable, by = pair
    for name, continuity in (("Chi-Square", False), ("Continuity Adj. Chi-Square", True)):
        row = rows.get(name)
        if row is None or not (row[2] and row[4]):
            continue
        numbers: dict[Statistic, Number] = {"statistic": _number(row[3]), "df": _number(row[2]), "p": _number(row[4])}
        v = rows.get("Cramer's V")
        if v is not None and not continuity:
            signed = _number(v[3])  # with the sign of phi, where both variables have two levels
            numbers["cramers v"] = signed.negative if signed.low < 0 else signed
        yield FoundTest(("chi-square",), {**numbers, **n}, continuity, variable=variable, by=by, notes=(_OF_CROSSTABS,))
    exact = next(
        (each for line in lines if (each := re.match(r"^\s*(?:Two-sided )?Pr <= P\s+(<?[\d.E-]+)\s*$", line))), None
    )
    if exact is not None and any("Fisher's Exact Test" in line for line in lines):
        yield FoundTest(("fisher",), {"p": _number(exact[1]), **n}, variable=variable, by=by, notes=(_OF_CROSSTABS,))
    trend = rows.get("Mantel-Haenszel Chi-Square")
    if trend is not None and trend[2] and trend[4]:
        of: dict[Statistic, Number] = {"statistic": _number(trend[3]), "df": _number(trend[2]), "p": _number(trend[4])}
        yield FoundTest(
            ("linear-by-linear",), {**of, **n}, variable=variable, by=by, notes=(_OF_CROSSTABS,), aside=True
        )


def _of_t(lines: Sequence[str]) -> Iterator[FoundTest]:
    """Both t tests of each variable, or that of a pair."""
    starts = [at for at, line in enumerate(lines) if _VARIABLE.match(line) or _PAIR.match(line)]
    for start, end in pairwise([*starts, len(lines)]):
        page = lines[start:end]
        if pair := _PAIR.match(page[0]):
            yield or_refused(_of_pair, (pair[1], pair[2]), page)
        elif said := _VARIABLE.match(page[0]):
            yield from _of_groups(said[1], page)


def _of_groups(variable: str, page: Sequence[str]) -> Iterator[FoundTest]:
    head = next((at for at, line in enumerate(page) if _GROUPS.match(line)), None)
    tests = [found for line in page if (found := _METHOD.match(line))]
    one_sided = any(re.search(r"t Value\s+Pr [<>] t\s*$", line) for line in page)
    if not tests or one_sided:
        if any("t Value" in line for line in page):
            why = "is on one side" if one_sided else "compares no groups"
            yield FoundTest((), {}, refused=f"the t test of {variable} {why}; the mean itself is kind: magnitudes")
        return
    by, described, difference, error = "", dict[str, dict[str, str]](), "", ""
    for line in page[head : head + 12] if head is not None else ():
        if said := _GROUPS.match(line):
            by = said[1]
        elif found := re.match(r"^\s*Diff \(1-2\)\s+(?:Pooled\s+)?(-?[\d.]+)\s+(-?[\d.]+)\s+(-?[\d.]+)\s*$", line):
            difference, error = found[1], found[3]
            break
        elif row := re.match(r"^\s*(\S.*?)\s{2,}(\d+)((?:\s+-?[\d.]+){5})\s*$", line):
            mean, sd = row[3].split()[:2]
            described[row[1]] = {"count": row[2], "mean": mean, "sd": sd}
    groups = tuple(described) if len(described) == 2 else ()
    for found in tests:
        equal = found[1] == "Pooled"
        numbers: dict[Statistic, Number] = {
            "statistic": _number(found[4]),
            "df": _number(found[3]),
            "p": _number(found[5]),
        }
        if difference:
            numbers["difference"] = _number(difference)
            numbers |= {"standard error": _number(error)} if equal else {}
        yield FoundTest(
            ("t",) if equal else ("welch",), numbers, False, groups, variable=variable, by=by, notes=(_OF_T,),
            described=described if groups else {}, sizes=tuple(int(described[each]["count"]) for each in groups),
        )  # fmt: skip


def _of_pair(pair: tuple[str, str], page: Sequence[str]) -> FoundTest:
    """PAIRED: the mean of differences with its error, and Student's t."""
    at = next((at for at, line in enumerate(page) if re.match(r"^\s*DF\s+t Value\s+Pr > \|t\|\s*$", line)), None)
    row = next((line.split() for line in page[at + 1 : at + 4] if line.strip()), []) if at is not None else []
    head = next((k for k, line in enumerate(page) if re.match(r"^\s*N\s+Mean\s+Std Dev\s+Std Err\b", line)), None)
    moments = next((line.split() for line in page[head + 1 : head + 4] if line.strip()), []) if head is not None else []
    if len(row) != 3 or len(moments) < 4:
        raise OutputError(
            f"the t test of {pair[0]} - {pair[1]} is cut off, or is on one side; give it as SAS prints it"
        )
    numbers: dict[Statistic, Number] = {
        "statistic": _number(row[1]),
        "df": _number(row[0]),
        "p": _number(row[2]),
        "difference": _number(moments[1]),
        "standard error": _number(moments[3]),
    }
    return FoundTest(("paired t",), numbers, pair=pair, notes=(_OF_T,))


def _of_ranks(variable: str, page: Sequence[str]) -> Iterator[FoundTest]:
    """Wilcoxon's test of two groups by the normal distribution, and Kruskal and Wallis's of two or more."""
    by = next((found[1] for line in page[:3] if (found := re.match(r"^\s*Classified by Variable (\S+)\s*$", line))), "")
    rows = list[tuple[str, int, tuple[float, float, float]]]()
    for line in page[:60]:
        found = re.match(r"^\s*(\S.*?)\s{2,}(\d+)((?:\s+-?[\d.]+(?:E[+-]?\d+)?){4})\s*$", line)
        if found and all(map(is_number, found[3].split())):
            ranks, expected, deviation, _ = (float(each) for each in found[3].split())
            rows.append((found[1], int(found[2]), (ranks, expected, deviation)))
        elif rows and line.strip():
            break
    n: dict[Statistic, Number] = {"n": _number(str(sum(size for _, size, _ in rows)))}
    z = _said(page, r"Z")
    two = len(rows) == 2 and any("Two-Sample Test" in line for line in page)
    if two:
        yield replace(or_refused(_of_two, variable, by, rows, page, z, n), may_be=("rank-sum",))
    kruskal = next((at for at, line in enumerate(page) if re.match(r"^\s*Kruskal-Wallis Test\s*$", line)), None)
    below = page[kruskal : kruskal + 10] if kruskal is not None else []
    texts = [_said(below, each) for each in ("Chi-Square", "DF", r"Pr > Chi-?Sq(?:uare)?")]
    if len(rows) >= 2 and all(texts):
        of: dict[Statistic, Number] = {
            "statistic": _number(texts[0]),
            "df": _number(texts[1]),
            "p": _number(texts[2]),
        }
        yield FoundTest(("kruskal-wallis",), {**of, **n}, variable=variable, by=by, notes=(_OF_RANKS,), aside=two)
    elif not two:
        why = "it is cut off, or not laid out as SAS prints it"
        yield FoundTest((), {}, refused=f"the test of ranks of {variable}: {why}")


def _of_two(
    variable: str,
    by: str,
    rows: Sequence[tuple[str, int, tuple[float, float, float]]],
    page: Sequence[str],
    z: str,
    n: dict[Statistic, Number],
) -> FoundTest:
    """U of the first group; z, of which the table of ranks says the group, the sign and the correction."""
    (first, size, (ranks, expected, deviation)), (second, other, _) = rows
    p = _said(page, r"Two-Sided Pr > \|Z\|")
    printed = read_printed(z)
    if printed is None or not p or deviation <= 0:
        raise OutputError(f"Wilcoxon's test of {variable} has no two-sided p; give it as SAS prints it")
    away = ranks - expected
    plain, corrected = abs(away) / deviation, max(abs(away) - 0.5, 0.0) / deviation
    slack = 1.5 * printed.half
    fits = [abs(abs(printed.value) - each) <= slack for each in (plain, corrected)]
    if not any(fits):
        raise OutputError(f"Z of Wilcoxon's test of {variable} is {z}, which its sums of ranks do not give")
    own = _number(z)
    own = own if (own.low >= 0) == (away >= 0) else own.negative
    u = ranks - size * (size + 1) / 2.0
    numbers: dict[Statistic, Number] = {"statistic": Number(u, u, 1), "z": own, "p": _number(p)}
    said = any("continuity correction" in line for line in page)
    continuity = None if all(fits) and not said else fits[1]
    return FoundTest(
        ("rank-sum",), {**numbers, **n}, continuity, (first, second), sizes=(size, other), variable=variable, by=by,
        notes=(_OF_RANKS,),
    )  # fmt: skip


def _said(page: Sequence[str], words: str) -> str:
    """The number behind words that begin a line."""
    found = next(
        (each for line in page if (each := re.match(rf"^\s*{words}\s+(<?-?[\d.]+(?:E[+-]?\d+)?)\s*$", line))), None
    )
    return found[1] if found else ""


def _number(text: str) -> Number:
    printed = read_printed(text)
    if printed is None:
        raise OutputError(f"{text[:40]!r} of a test of SAS is not a number")
    return Number.of(printed)
