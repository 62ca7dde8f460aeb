"""Tests of hypotheses in an output of SPSS or PSPP as CSV or xlsx: T-TEST, ONEWAY, the statistics of CROSSTABS, NPAR
TESTS.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from outrisk.errors import OutputError
from outrisk.outputs.smooth.compared import Test
from outrisk.outputs.smooth.hypothesis_test import Statistic
from outrisk.readers.found_tests import SQUARES, FoundTest, Number, or_refused
from outrisk.readers.printed_number import MOST_DECIMALS, read_printed
from outrisk.readers.source import Grid, Source
from outrisk.readers.spss_tables import titled_tables

_TWO_SIDED = re.compile(r"(?i)(?:asymp(?:\.|totic)\s+)?sig(?:\.|nificance)?\s*(?:\(2-(?:tailed|sided)\))?|two-sided p")
_EXACT = re.compile(r"(?i)exact sig(?:\.|nificance)?\s*\(2-(?:tailed|sided)\)")
_CROSSED = re.compile(r"(\S+) (?:×|\*|x|by) (\S+?)(?: crosstabulation)?", re.I)
_ASSUMED: Mapping[str, Test] = {"equal variances assumed": "t", "equal variances not assumed": "welch"}
_RANKS = "numbers and ranks of groups are no number of a test; give the records as a table (kind: frequencies)"
_DESCRIBED = "errors and limits of means, minimum and maximum are left out; give the latter by kind: quantiles"
_ONE_SAMPLE = "it compares no groups; the mean itself is kind: magnitudes"


@dataclass(frozen=True)
class _Table:
    """A table: its title, what stands over each column, and its rows below that. exact: numbers have all their digits,
    as in xlsx.
    """

    title: str
    heads: Sequence[str]
    rows: Grid
    comma: bool
    exact: bool

    def at(self, *heads: str | re.Pattern[str]) -> int | None:
        """The first column under one of these heads."""
        wanted = (
            at
            for head in heads
            for at, cell in enumerate(self.heads)
            if (head.fullmatch(cell) if isinstance(head, re.Pattern) else head == cell.casefold())
        )
        return next(wanted, None)

    def number(self, row: Sequence[str], at: int | None) -> Number | None:
        """The number of a row there; None where there is none."""
        return self.read(row[at]) if at is not None else None

    def read(self, text: str) -> Number | None:
        """A number, which a letter may lead from to a footnote."""
        found = read_printed(re.sub(r"(?<=\d)[a-z]$", "", text), self.comma)
        if found is None:
            return None
        return Number.exact(found) if self.exact and not found.below else Number.of(found)

    def numbers(self, row: Sequence[str], places: Mapping[Statistic, int | None]) -> dict[Statistic, Number]:
        """Those that there are."""
        read = {name: self.number(row, at) for name, at in places.items()}
        return {name: each for name, each in read.items() if each is not None}


def tests_of_spss(source: Source) -> list[FoundTest]:
    """All tests of an output, in their order; none of another text."""
    if not source.delimited:
        return []
    found, before = list[FoundTest](), list[_Table]()
    for title, grid in _titled(source.grid):
        table = _table(title, grid, source.comma)
        if table is None:
            continue
        found = _with_v(found, table)
        found += _of_table(table, before[::-1])
        before.append(table)
    return found


def _titled(grid: Grid) -> Iterator[tuple[str, Grid]]:
    """The tables with their titles: above each a line of its own, in xlsx without the word 'Table'."""
    known = titled_tables(grid)
    if len(known) > 1 or any(title for title, _ in known):
        yield from known
        return
    starts = [at for at in range(len(grid) - 1) if _alone(grid[at]) and not grid[at + 1][0] and any(grid[at + 1])]
    for begin, end in pairwise([*starts, len(grid)]):
        yield grid[begin][0], grid[begin + 1 : end]


def _alone(row: Sequence[str]) -> bool:
    return bool(row[0]) and not any(row[1:])


def _table(title: str, grid: Grid, comma: bool) -> _Table | None:
    """A table with what stands over its columns: of some lines the lowest that says something."""
    if not grid:
        return None
    start = next((at for at, row in enumerate(grid) if at and row[0] and any(map(read_printed, row[1:]))), None)
    if start is None:
        return None
    heads = [""] * len(grid[0])
    for row in grid[:start]:
        heads = [" ".join(cell.split()) or above for cell, above in zip(row, heads, strict=True)]
    numbers = [read_printed(cell, comma) for row in grid[start:] for cell in row]
    exact = any(each is not None and each.decimals > MOST_DECIMALS for each in numbers)
    return _Table(title, heads, grid[start:], comma, exact)


def _of_table(table: _Table, before: Sequence[_Table]) -> Iterator[FoundTest]:
    """The tests of one table; `before`: those above it, the nearest first."""
    words = {cell.casefold() for row in [table.heads, *(row[:2] for row in table.rows)] for cell in row}
    if table.at("t") is not None and table.at("df") is not None:
        if words & set(_ASSUMED):
            yield from _of_two_samples(table, before)
        elif table.at("mean difference") is not None:
            yield FoundTest((), {}, refused=f"'{table.title or 'One-Sample Test'}' is not read: {_ONE_SAMPLE}")
        elif table.at("std. deviation") is not None:
            yield from _of_pairs(table, before)
    elif {"between groups", "within groups"} <= words:
        yield from _of_variance(table, before)
    elif "pearson chi-square" in words:
        yield from _of_crosstabs(table, before)
    elif any(_TWO_SIDED.fullmatch(each) or _EXACT.fullmatch(each) for each in words):
        for name, said in _by_variable(table):
            if " & " in name:
                yield or_refused(_of_changes, name, said, table)
            elif {"z", "df"} & set(said):
                yield or_refused(_of_ranks, name, said, table, before)


def _of_two_samples(table: _Table, before: Sequence[_Table]) -> Iterator[FoundTest]:
    """Both t tests of each variable; the groups stand in the table above."""
    places: dict[Statistic, int | None] = {
        "statistic": table.at("t"),
        "df": table.at("df"),
        "p": table.at("sig. (2-tailed)", "two-sided p"),
        "difference": table.at("mean difference"),
        "standard error": table.at("std. error difference"),
    }
    described, by = _described(before), _grouped_by(before)
    name = ""
    for row in table.rows:
        name = row[0] or name
        if (test := _ASSUMED.get(row[1].casefold())) is None:
            continue
        of = described.get(name, {})
        groups = tuple(of) if len(of) == 2 else ()
        notes = ("Levene's test and the limits of the difference are no number of the output; they are left out",)
        numbers = table.numbers(row, places)
        yield FoundTest((test,), numbers, False, groups, variable=name, by=by, notes=notes, described=of)


def _grouped_by(before: Sequence[_Table]) -> str:
    """The variable of the groups in the nearest table that has them in rows; PSPP does not say it."""
    heads = next((each.heads for each in before if each.at("n") is not None), ["", ""])
    return heads[1] if heads[1].casefold() not in ("", "group", "n") else ""


def _described(before: Sequence[_Table]) -> dict[str, dict[str, dict[str, str]]]:
    """Of each variable or pair in the nearest table of means, of each of its rows texts of count, mean and sd."""
    table = next((each for each in before if each.at("n") is not None and each.at("std. deviation") is not None), None)
    found: dict[str, dict[str, dict[str, str]]] = {}
    if table is None:
        return found
    places = {each: table.at(head) for each, head in (("count", "n"), ("mean", "mean"), ("sd", "std. deviation"))}
    name = ""
    for row in table.rows:
        name = row[0] or name
        texts = {each: row[at] for each, at in places.items() if at is not None}
        if table.comma:
            texts = {each: text.replace(".", "").replace(",", ".") for each, text in texts.items()}
        if row[1].casefold() != "total" and all(texts.values()):
            found.setdefault(name, {})[row[1]] = texts
    return found


def _of_pairs(table: _Table, before: Sequence[_Table]) -> Iterator[FoundTest]:
    """A t test of each pair."""
    places: dict[Statistic, int | None] = {
        "statistic": table.at("t"),
        "df": table.at("df"),
        "p": table.at("sig. (2-tailed)", "two-sided p"),
        "difference": table.at("mean"),
        "standard error": table.at("s.e. mean", "std. error mean"),
    }
    described = _described(before)
    for row in table.rows:
        name = next((cell for cell in row[1::-1] if " - " in cell), "")
        pair = tuple(part.strip() for part in name.split(" - "))
        if len(pair) != 2:
            continue
        notes = ("the sd of differences and the limits of their mean follow from what is read; they are left out",)
        of = described.get(row[0], {})
        yield FoundTest(("paired t",), table.numbers(row, places), pair=pair, notes=notes, described=of)


def _of_variance(table: _Table, before: Sequence[_Table]) -> Iterator[FoundTest]:
    """A one-way analysis of variance of each variable, with the groups above, where they are described."""
    name, between = "", list[str]()
    described = _described(before)
    for row in table.rows:
        name, word = row[0] or name, row[1].casefold()
        if word == "between groups":
            between = row
        elif word == "within groups" and between:
            numbers = table.numbers(
                between, {"statistic": table.at("f"), "df": table.at("df"), "p": table.at(_TWO_SIDED)}
            )
            numbers |= table.numbers(row, {"df within": table.at("df")})
            of = described.get(name, {})
            notes = (SQUARES, *([_DESCRIBED] if of else []))
            yield FoundTest(("anova",), numbers, variable=name, notes=notes, described=of)


def _of_crosstabs(table: _Table, before: Sequence[_Table]) -> Iterator[FoundTest]:
    """Pearson's test, with the correction and without, and Fisher's, below a cross table."""
    crossed = next((found for each in before if (found := _CROSSED.fullmatch(each.title.strip()))), None)
    variable, by = (crossed[1], crossed[2]) if crossed else ("", "")
    places: dict[Statistic, int | None] = {
        "statistic": table.at("value"),
        "df": table.at("df"),
        "p": table.at(_TWO_SIDED),
    }
    rows = {re.sub(r"(?<=[a-z])[\s,]*\(?[a-z]\)?$", "", row[0]).casefold(): row for row in table.rows}
    rows |= {row[0].casefold(): row for row in table.rows}
    n = table.numbers(rows.get("n of valid cases", [""] * len(table.heads)), {"n": table.at("value")})
    notes = ("likelihood ratio, linear-by-linear association and one-sided tests are no output; they are left out",)
    for word, continuity in (("pearson chi-square", False), ("continuity correction", True)):
        if word in rows:
            numbers = table.numbers(rows[word], places) | n
            yield FoundTest(("chi-square",), numbers, continuity, variable=variable, by=by, notes=notes)
    if "fisher's exact test" in rows:
        numbers = table.numbers(rows["fisher's exact test"], {"p": table.at(_EXACT, _TWO_SIDED)}) | n
        if "p" in numbers:
            yield FoundTest(("fisher",), numbers, variable=variable, by=by, notes=notes)


def _with_v(found: list[FoundTest], table: _Table) -> list[FoundTest]:
    """The tests with Cramer's V of the table below them."""
    at = max((at for at, each in enumerate(found) if each.may_be == ("chi-square",)), default=None)
    row = next((row for row in table.rows if "cramer's v" in [cell.casefold() for cell in row[:2]]), None)
    value = table.number(row, table.at("value")) if row else None
    if at is None or value is None:
        return found
    first = at - 1 if at and found[at].continuity and found[at - 1].may_be == ("chi-square",) else at
    with_v = replace(found[first], numbers={**found[first].numbers, "cramers v": value})
    return [*found[:first], with_v, *found[first + 1 :]]


def _by_variable(table: _Table) -> Iterator[tuple[str, dict[str, str]]]:
    """Test statistics of each variable, by their name: SPSS has variables in columns, PSPP some in rows."""
    if any(_TWO_SIDED.fullmatch(head) or _EXACT.fullmatch(head) for head in table.heads[1:]):
        for row in table.rows:
            yield row[0], dict(zip(map(str.casefold, table.heads[1:]), row[1:], strict=True))
        return
    for at, name in enumerate(table.heads[1:], start=1):
        yield name, {row[0].casefold(): row[at] for row in table.rows}


def _said(said: Mapping[str, str], table: _Table, *names: str | re.Pattern[str]) -> Number | None:
    """A number by one of its names."""
    for name in names:
        for key, text in said.items():
            key = re.sub(r"(?<=\w)\s?\(?[a-c]\)?$", "", key) if key not in ("z", "df") else key
            if name.fullmatch(key) if isinstance(name, re.Pattern) else name == key:
                return table.read(text)
    return None


def _of_ranks(name: str, said: Mapping[str, str], table: _Table, before: Sequence[_Table]) -> FoundTest:
    """Mann and Whitney's, Kruskal and Wallis's or Wilcoxon's test of one variable, with its ranks above."""
    by, p, df = _grouped_by(before), _said(said, table, _TWO_SIDED), _said(said, table, "df")
    if p is None:
        raise OutputError(f"a test of {name[:80]} of SPSS has no two-sided p; give its table of test statistics whole")
    if df is not None:
        statistic = _said(said, table, "chi-square", "kruskal-wallis h")
        given: dict[Statistic, Number | None] = {"statistic": statistic, "df": df, "p": p}
        numbers = {key: each for key, each in given.items() if each is not None}
        return FoundTest(("kruskal-wallis",), numbers, variable=name, by=by, notes=(_RANKS,))
    z = _said(said, table, "z")
    if z is None:
        raise OutputError(f"a test of {name[:80]} of SPSS has no Z; give its table of test statistics whole")
    pair = tuple(part.strip() for part in name.split(" - "))
    ranks = next((each for each in before if each.at("sum of ranks") is not None), None)
    rows = _rows_of(ranks, name) if ranks else []
    if len(pair) == 2:
        above = next((row for row in rows if row[1].casefold().startswith("positive ranks")), None)
        below = next((row for row in rows if row[1].casefold().startswith("negative ranks")), None)
        found = FoundTest(("signed-rank",), {"z": z, "p": p}, False, pair=pair, notes=(_RANKS,))
        return _with_ranks(found, ranks, above, below, 0.0)
    first, second, *_ = [*rows, None, None]
    found = FoundTest(("rank-sum",), {"z": z, "p": p}, False, variable=name, by=by, notes=(_RANKS,))
    size = ranks.number(first, ranks.at("n")) if ranks and first else None
    return _with_ranks(found, ranks, first, second, 0.0 if size is None else size.low * (size.low + 1.0) / 2.0)


def _rows_of(table: _Table, name: str) -> list[list[str]]:
    """The rows of a variable, whose name stands in the first."""
    found, here = list[list[str]](), ""
    for row in table.rows:
        here = row[0] or here
        if here.casefold() == name.casefold():
            found.append(row)
    return found


def _with_ranks(
    found: FoundTest, table: _Table | None, first: list[str] | None, second: list[str] | None, least: float
) -> FoundTest:
    """The test with U or V, the sum of the first ranks less the least that it may be, and the sign of z by that."""
    sums = [table.number(row, table.at("sum of ranks")) if table and row else None for row in (first, second)]
    sizes = [table.number(row, table.at("n")) if table and row else None for row in (first, second)]
    if table is None or first is None or second is None or None in sums or None in sizes:
        why = "SPSS prints Z of the smaller sum of ranks; give its table of ranks too"
        return replace(found, doubtful={"z": why})
    (one, other), (n, m) = [[each for each in many if each is not None] for many in (sums, sizes)]
    half = 0.5 * 10.0**-one.decimals if one.decimals < 1 and one.low != round(one.low) else 0.0
    of_pairs = found.may_be == ("signed-rank",)
    middle = (one.low + other.low) / 2.0 if of_pairs else least + n.low * m.low / 2.0
    z = found.numbers["z"]
    turned = (z.low > 0.0) != (one.low > middle) and z.low != 0.0
    numbers: dict[Statistic, Number] = {
        "statistic": Number(one.low - least - half, one.high - least + half, 1),
        "z": z.negative if turned else z,
        "p": found.numbers["p"],
    }
    if of_pairs:
        return replace(found, numbers=numbers)
    groups = (first[1], second[1])
    return replace(found, numbers=numbers, groups=groups, sizes=(int(n.low), int(m.low)))


def _of_changes(name: str, said: Mapping[str, str], table: _Table) -> FoundTest:
    """McNemar's of a pair: exact of few who changed, else corrected for continuity."""
    pair = tuple(part.strip() for part in name.split(" & "))
    given: dict[Statistic, Number | None] = {"p": _said(said, table, _EXACT), "n": _said(said, table, "n")}
    test: Test = "exact mcnemar"
    if given["p"] is None:
        test = "mcnemar"
        given |= {"statistic": _said(said, table, "chi-square"), "p": _said(said, table, _TWO_SIDED)}
    numbers = {key: each for key, each in given.items() if each is not None}
    if "p" not in numbers or (test == "mcnemar" and "statistic" not in numbers):
        raise OutputError(f"a test of {name[:80]} of SPSS has no p; give its table of test statistics whole")
    return FoundTest((test,), numbers, True if test == "mcnemar" else None, pair=pair)
