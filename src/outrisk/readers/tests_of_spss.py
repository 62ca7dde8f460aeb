"""Tests of hypotheses in an output of SPSS or PSPP as CSV or xlsx: T-TEST, ONEWAY, CROSSTABS, NPAR TESTS.

A table is taken for a test only where all that marks it is there; tables of other procedures have columns of the same
names. What a test is of stands in the table above it: cross table, ranks, or means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from outrisk.outputs.smooth.compared import Test
from outrisk.outputs.smooth.hypothesis_test import Statistic
from outrisk.readers.found_tests import SQUARES, FoundTest, Number
from outrisk.readers.printed_number import MOST_DECIMALS, read_printed
from outrisk.readers.source import Grid, Source
from outrisk.readers.spss_tables import titled_tables

_TWO_SIDED = re.compile(r"(?:asymp(?:\.|totic)\s+)?(?:sig(?:\.|nificance)?)\s*(?:\(2-(?:tailed|sided)\))?|two-sided p")
_EXACT = re.compile(r"exact sig(?:\.|nificance)?\s*\(2-(?:tailed|sided)\)")
_OF_HEAD = r"(?:\s?\(?[a-d]\)?)?"  # the mark of a footnote over a column
_ASYMPTOTIC = re.compile(rf"asymp(?:\.|totic) st(?:d|andard)\.? error{_OF_HEAD}")
_ROWS_OF_R = ("pearson correlation", "correlation coefficient", "n")
_RANKED: Mapping[str, Test] = {"spearman's rho": "spearman", "kendall's tau_b": "kendall"}
_FOOTNOTE = re.compile(r"[a-z]\. .*")
_MARK = r"\s?\(?[a-d](?:,[a-d])*\)?"  # of a footnote, behind a word
_KNOWN = frozenset(
    {
        *("pearson chi-square", "continuity correction", "fisher's exact test", "n of valid cases", "chi-square"),
        *("kruskal-wallis h", "mann-whitney u", "wilcoxon w", "z", "df", "n", "linear-by-linear association", "kappa"),
    }
)
_ASSUMED: Mapping[str, Test] = {"equal variances assumed": "t", "equal variances not assumed": "welch"}
_U = 0.51  # by which U of a table of ranks may be another than the printed one
_RANKS = "numbers and ranks of groups are no number of a test; give the records as a table (kind: frequencies)"
_DESCRIBED = "errors and limits of means, minimum and maximum are left out; give the latter by kind: quantiles"
_UNNAMED = "it does not say by which variable its groups are; they are taken for those of the output"
_OF_CROSSTABS = (
    "likelihood ratio and one-sided tests are no output; they are left out; the linear-by-linear association is "
    "a test of its own ('test: linear-by-linear')"
)
_OF_KAPPA = "its asymptotic error is read as the standard error, and T as z"
_OF_T = "Levene's test and the limits of the difference are no number of the output; they are left out"
_OF_PAIRS = "the sd of differences and the limits of their mean follow from what is read; they are left out"
_ONE_SAMPLE = "it compares no groups; the mean itself is kind: magnitudes"
_LAYERS = "layers of a cross table are not read; give the cross table of each, with 'where'"
_OF_PSPP = "PSPP's exact p is not right where several tables are as likely; give it by label, from another program"


@dataclass(frozen=True)
class _Table:
    """A table: its title and a line below that, what stands over each column in lower case and as it is, its rows and
    footnotes.
    """

    title: str
    caption: str
    heads: Sequence[str]
    called: Sequence[str]
    rows: Grid
    notes: Sequence[str]
    comma: bool

    def at(self, *heads: str | re.Pattern[str]) -> int | None:
        """The first column under one of these heads."""
        found = (at for head in heads for at, cell in enumerate(self.heads) if _fits(head, cell))
        return next(found, None)

    def read(self, text: str) -> Number | None:
        """A number, with a letter behind it that leads to a footnote; one with more digits than programs print has all
        of its digits, as in xlsx.
        """
        printed = read_printed(_without_mark(text), self.comma)
        if printed is None:
            return None
        digits = len(text.strip().replace(",", ".").partition(".")[2])
        exact = digits > MOST_DECIMALS and "e" not in text.casefold() and not printed.below
        return Number.exact(printed) if exact else Number.of(printed)

    def numbers(self, row: Sequence[str], places: Mapping[Statistic, int | None]) -> dict[Statistic, Number]:
        """Those of a row that there are."""
        read = {name: self.read(row[at]) for name, at in places.items() if at is not None}
        return {name: each for name, each in read.items() if each is not None}

    @property
    def words(self) -> set[str]:
        """What rows are called, and columns."""
        return {cell.casefold() for row in self.rows for cell in row[:2]} | set(self.heads)

    @property
    def crossed(self) -> list[str] | None:
        """The variables of a cross table, by its title; None where it is none."""
        title = re.sub(r"(?i)\s+crosstabulation$", "", self.title.strip())
        parts = [part.strip() for part in re.split(r" [×*] ", title)]
        return parts if len(parts) > 1 and all(parts) else None


def _fits(wanted: str | re.Pattern[str], text: str) -> bool:
    return bool(wanted.fullmatch(text)) if isinstance(wanted, re.Pattern) else wanted == text


def _without_mark(text: str) -> str:
    return re.sub(r"(?<=\d)\s?[a-d](?:,[a-d])*$", "", text.strip())


def tests_of_spss(source: Source) -> list[FoundTest]:
    """All tests of an output, in their order; none of another text."""
    if not source.delimited:
        return []
    cells = [cell.strip() for row in source.grid for cell in row]
    commas = sum(re.fullmatch(r"[+-]?\d*,\d+[a-d]?", cell) is not None for cell in cells)
    comma = commas > sum(re.fullmatch(r"[+-]?\d*\.\d+[a-d]?", cell) is not None for cell in cells)
    found, beside, before = list[FoundTest](), list[FoundTest](), list[_Table]()
    pearson: int | None = None  # where the test of the table before stands, if it is a Pearson's
    for title, grid in _titled(source.grid):
        table = _table(title, grid, comma)
        if table is None:
            continue
        new = list(_of_table(table, before[::-1]))
        beside += list(_beside(table, before[::-1]))
        if pearson is not None and "cramer's v" in table.words:
            found[pearson] = _with_v(found[pearson], table)
        pearson = len(found) if new and new[0].may_be == ("chi-square",) else None
        found += new
        before.append(table)
    return found + beside


def _titled(grid: Grid) -> Iterator[tuple[str, Grid]]:
    """The tables with their titles, each in lines of its own above the columns; in xlsx without the word 'Table'."""
    known = titled_tables(grid)
    if len(known) == 1 and not known[0][0]:
        alone = [bool(row[0]) and not any(row[1:]) and not _FOOTNOTE.fullmatch(row[0]) for row in grid]
        starts = [at for at, yes in enumerate(alone) if yes and not (at and alone[at - 1])]
        marked = [[f"Table: {row[0]}", *row[1:]] if at in starts else row for at, row in enumerate(grid)]
        known = titled_tables(marked)
    yield from known


def _table(title: str, grid: Grid, comma: bool) -> _Table | None:
    """A table with what stands over its columns: of some lines the lowest that says something."""
    caption = grid[0][0] if grid and not any(grid[0][1:]) else ""
    rows = [row for row in grid[bool(caption) :] if not _FOOTNOTE.fullmatch(row[0]) or any(row[1:])]
    start = next((at for at, row in enumerate(rows) if at and row[0] and _has_number(row[1:], comma)), None)
    if start is None:
        return None
    heads = [""] * len(rows[0])
    for row in rows[:start]:
        heads = [" ".join(cell.split()) or above for cell, above in zip(row, heads, strict=True)]
    notes = [row[0] for row in grid if _FOOTNOTE.fullmatch(row[0])]
    return _Table(title, caption, [head.casefold() for head in heads], heads, rows[start:], notes, comma)


def _has_number(cells: Iterable[str], comma: bool) -> bool:
    return any(read_printed(_without_mark(cell), comma) is not None for cell in cells)


def _of_table(table: _Table, before: Sequence[_Table]) -> Iterator[FoundTest]:
    """The tests of one table; `before`: those above it, the nearest first."""
    words, above = table.words, before[0] if before else None
    if {"t", "df"} <= set(table.heads):
        if words & set(_ASSUMED):
            yield from _of_two_samples(table, above)
        elif "mean difference" in table.heads:
            yield FoundTest((), {}, refused=f"'{table.title or 'One-Sample Test'}' is not read: {_ONE_SAMPLE}")
        elif "std. deviation" in table.heads:
            yield from _of_pairs(table, before[:2])
    elif {"between groups", "within groups"} <= words and "f" in table.heads:
        yield from _of_variance(table, before[:2])
    elif "pearson chi-square" in map(_unmarked, words) and "value" in table.heads:
        yield from _of_crosstabs(table, above)
    elif any(_TWO_SIDED.fullmatch(each) or _EXACT.fullmatch(each) for each in map(_unmarked, words)):
        for name, said in _by_variable(table):
            found = _of_changes(name, said, table) if " & " in name else _of_ranks(name, said, table, above)
            if found:
                yield found


def _of_two_samples(table: _Table, above: _Table | None) -> Iterator[FoundTest]:
    """Both t tests of each variable; the groups stand in the table above."""
    places: dict[Statistic, int | None] = {
        "statistic": table.at("t"),
        "df": table.at("df"),
        "p": table.at("sig. (2-tailed)", "two-sided p"),
        "difference": table.at("mean difference"),
        "standard error": table.at("std. error difference"),
    }
    described, by = _described(above), _grouped_by(above)
    notes = (_OF_T,) if by else (_OF_T, _UNNAMED)
    name = ""
    for row in table.rows:
        name = row[0] or name
        if (test := _ASSUMED.get(row[1].casefold())) is None:
            continue
        of = described.get(name, {})
        groups = tuple(of) if len(of) == 2 else ()
        one = any(each.get("count", "") == "1" for each in of.values())
        if one:
            yield FoundTest((), {}, refused=f"the t test of {name[:80]} has a group of one record; leave it out")
            continue
        numbers = table.numbers(row, places)
        yield FoundTest((test,), numbers, False, groups, variable=name, by=by, notes=notes, described=of)


def _grouped_by(table: _Table | None) -> str:
    """The variable of the groups in a table that has them in rows; PSPP does not say it of t tests."""
    called = table.called[1] if table and len(table.called) > 1 else ""
    return called if called.casefold() not in ("", "group", "n", "mean rank") else ""


def _described(table: _Table | None) -> dict[str, dict[str, dict[str, str]]]:
    """Of each variable or pair in a table of means, of each of its groups texts of count, mean and sd."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    if table is None or not {"n", "mean", "std. deviation"} <= set(table.heads):
        return found
    places = {
        each: table.heads.index(head) for each, head in (("count", "n"), ("mean", "mean"), ("sd", "std. deviation"))
    }
    name, aside = table.caption, places["count"] > 1  # whether variables stand beside their groups
    for row in table.rows:
        group = row[aside]
        name = row[0] or name if aside else name
        texts = {each: _without_mark(row[at]) for each, at in places.items()}
        if table.comma:
            texts = {each: text.replace(".", "").replace(",", ".") for each, text in texts.items()}
        if group.casefold() != "total" and all(read_printed(text) is not None for text in texts.values()):
            found.setdefault(name, {})[group] = texts
    return found


def _of_pairs(table: _Table, before: Sequence[_Table]) -> Iterator[FoundTest]:
    """A t test of each pair; statistics of its variables stand above, perhaps above their correlations."""
    places: dict[Statistic, int | None] = {
        "statistic": table.at("t"),
        "df": table.at("df"),
        "p": table.at("sig. (2-tailed)", "two-sided p"),
        "difference": table.at("mean"),
        "standard error": table.at("s.e. mean", "std. error mean"),
    }
    described = next((found for each in before if (found := _described(each))), {})
    for row in table.rows:
        name = next((cell for cell in row[1::-1] if " - " in cell), "")
        pair = tuple(part.strip() for part in name.split(" - "))
        if len(pair) == 2:
            numbers, of = table.numbers(row, places), described.get(row[0], {})
            yield FoundTest(("paired t",), numbers, pair=pair, notes=(_OF_PAIRS,), described=of)


def _of_variance(table: _Table, before: Sequence[_Table]) -> Iterator[FoundTest]:
    """A one-way analysis of variance of each variable, with the groups, where they are described above (a test of their
    variances may stand between).
    """
    above = next((each for each in before if {"n", "std. error", "minimum"} <= set(each.heads)), None)
    described, by = _described(above), _grouped_by(above)
    name, between = table.caption, list[str]()
    for row in table.rows:
        words = [cell.casefold() for cell in row[:2]]
        name = row[0] if row[0] and "groups" not in words[0] and words[0] != "total" else name
        if "between groups" in words:
            between = row
        elif "within groups" in words and between:
            numbers = table.numbers(
                between, {"statistic": table.at("f"), "df": table.at("df"), "p": table.at(_TWO_SIDED)}
            )
            numbers |= table.numbers(row, {"df within": table.at("df")})
            of = described.get(name, {})
            notes = (SQUARES, *([_DESCRIBED] if of else []), *([] if by else [_UNNAMED]))
            yield FoundTest(("anova",), numbers, variable=name, by=by, notes=notes, described=of)


def _of_crosstabs(table: _Table, above: _Table | None) -> Iterator[FoundTest]:
    """Pearson's test, with the correction and without, and Fisher's, below a cross table."""
    crossed = (above.crossed if above else None) or ["", ""]
    rows = {_unmarked(row[0]): row for row in table.rows}
    if len(crossed) > 2 or "pearson chi-square" not in rows:
        yield FoundTest((), {}, refused=_LAYERS)
        return
    places: dict[Statistic, int | None] = {
        "statistic": table.at("value"),
        "df": table.at("df"),
        "p": table.at(_TWO_SIDED),
    }
    n = table.numbers(rows.get("n of valid cases", [""] * len(table.heads)), {"n": table.at("value")})
    variable, by = crossed
    for word, continuity in (("pearson chi-square", False), ("continuity correction", True)):
        if word in rows:
            numbers = table.numbers(rows[word], places) | n
            yield FoundTest(("chi-square",), numbers, continuity, variable=variable, by=by, notes=(_OF_CROSSTABS,))
    if "fisher's exact test" not in rows:
        return
    if "exact sig. (2-tailed)" in table.heads:  # which SPSS calls 2-sided
        yield FoundTest((), {}, refused=_OF_PSPP)
        return
    exact = table.numbers(rows["fisher's exact test"], {"p": table.at(_EXACT, _TWO_SIDED)}) | n
    if "p" in exact:
        yield FoundTest(("fisher",), exact, variable=variable, by=by, notes=(_OF_CROSSTABS,))


def _beside(table: _Table, before: Sequence[_Table]) -> Iterator[FoundTest]:
    """What stands beside the tests of a table, and is taken where the output says its test."""
    crossed = next((each.crossed for each in before[:2] if each.crossed), None) or []
    rows = {_unmarked(cell): row for row in table.rows for cell in row[:2] if cell}
    places: dict[Statistic, int | None]
    if "pearson chi-square" in rows and "linear-by-linear association" in rows and len(crossed) == 2:
        places = {"statistic": table.at("value"), "df": table.at("df"), "p": table.at(_TWO_SIDED)}
        numbers = table.numbers(rows["linear-by-linear association"], places)
        numbers |= table.numbers(rows.get("n of valid cases", [""] * len(table.heads)), {"n": places["statistic"]})
        yield FoundTest(("linear-by-linear",), numbers, variable=crossed[0], by=crossed[1], aside=True)
    if "kappa" in rows and "value" in table.heads and len(crossed) == 2:
        places = {
            "kappa": table.at("value"),
            "standard error": table.at(_ASYMPTOTIC),
            "z": table.at(re.compile(rf"approx(?:\.|imate) t{_OF_HEAD}")),
            "p": table.at(re.compile(r"approx(?:\.|imate) sig(?:\.|nificance)")),
        }
        numbers = table.numbers(rows["kappa"], places)
        numbers |= table.numbers(_n_of(table), {"n": _first_number(table, _n_of(table))})
        yield FoundTest(("kappa",), numbers, pair=tuple(crossed), notes=(_OF_KAPPA,), weights="none", aside=True)
    yield from _of_correlations(table)


def _n_of(table: _Table) -> list[str]:
    return next((row for row in table.rows if "n of valid cases" in map(_unmarked, row[:2])), [""] * len(table.heads))


def _first_number(table: _Table, row: Sequence[str]) -> int | None:
    return next((at for at, cell in enumerate(row) if cell and table.read(cell)), None)


def _of_correlations(table: _Table) -> Iterator[FoundTest]:
    """Each pair of a table of correlations, with its p and its number of records; stars mark small p."""
    test: Test = "pearson"
    blocks: dict[tuple[Test, str], dict[str, list[str]]] = {}
    name = ""
    for row in table.rows:
        label = next((cell.casefold() for cell in row[:3] if cell.casefold() in _ROWS_OF_R or _is_p(cell)), "")
        test = next((_RANKED[cell.casefold()] for cell in row[:1] if cell.casefold() in _RANKED), test)
        if label in _ROWS_OF_R[:2]:
            at = next(at for at, cell in enumerate(row) if cell.casefold() == label)
            name = row[at - 1] if at else ""
            blocks[test, name] = {"r": row}
        elif label and name:
            blocks.setdefault((test, name), {})["p" if _is_p(label) else "n"] = row
    for (of, own), rows in blocks.items():
        for at, paired in enumerate(table.called):
            if not paired or not {"r", "p"} <= set(rows) or (of, paired) not in blocks:
                continue
            if list(blocks).index((of, paired)) >= list(blocks).index((of, own)):
                continue
            read = {key: table.read(row[at].rstrip("*").strip()) for key, row in rows.items()}
            numbers: dict[Statistic, Number] = {key: each for key, each in read.items() if each is not None}  # type: ignore[misc]
            if {"r", "p"} <= set(numbers):
                yield FoundTest((of,), numbers, pair=(own, paired), aside=True)


def _is_p(cell: str) -> bool:
    return bool(_TWO_SIDED.fullmatch(cell.casefold()))


def _unmarked(text: str) -> str:
    """A word in lower case; of a known one without the mark of a footnote."""
    text = text.strip().casefold()
    return next((each for each in (text, re.sub(f"{_MARK}$", "", text)) if _is_known(each)), text)


def _is_known(text: str) -> bool:
    return text in _KNOWN or bool(_TWO_SIDED.fullmatch(text) or _EXACT.fullmatch(text))


def _with_v(found: FoundTest, table: _Table) -> FoundTest:
    """Pearson's test with Cramer's V of the table below it."""
    row = next(row for row in table.rows if "cramer's v" in [cell.casefold() for cell in row[:2]])
    return replace(found, numbers={**found.numbers, **table.numbers(row, {"cramers v": table.at("value")})})


def _by_variable(table: _Table) -> Iterator[tuple[str, dict[str, str]]]:
    """Test statistics of each variable, by their name: SPSS has variables in columns, PSPP some in rows."""
    if any(_TWO_SIDED.fullmatch(head) or _EXACT.fullmatch(head) for head in table.heads[1:]):
        for row in table.rows:
            yield row[0], dict(zip(table.heads[1:], row[1:], strict=True))
        return
    for at, name in enumerate(table.called[1:], start=1):
        if name:
            yield name, {_unmarked(row[0]): row[at] for row in table.rows}


def _said(said: Mapping[str, str], table: _Table, *names: str | re.Pattern[str]) -> Number | None:
    """A number by one of its names."""
    text = next((text for name in names for key, text in said.items() if _fits(name, key)), None)
    return None if text is None else table.read(text)


def _of_ranks(name: str, said: Mapping[str, str], table: _Table, above: _Table | None) -> FoundTest | None:
    """Mann and Whitney's, Kruskal and Wallis's or Wilcoxon's test of one variable, whose ranks stand above; None of a
    test without such ranks.
    """
    p, z = _said(said, table, _TWO_SIDED), _said(said, table, "z")
    if above is None or "mean rank" not in above.heads or above.at("n") is None or p is None:
        named = {"mann-whitney u", "kruskal-wallis h"} & set(said)
        return (
            FoundTest((), {}, refused=f"the test of {name[:80]} needs its table of ranks above it") if named else None
        )
    rows, by = _rows_of(above, name), _grouped_by(above)
    footnote = next((note for note in table.notes if "Grouping Variable:" in note), "")
    if footnote and by and footnote.partition("Grouping Variable:")[2].strip() != by:
        return FoundTest((), {}, refused=f"the ranks above the test of {name[:80]} are not by its groups; give these")
    notes = (_RANKS,) if by else (_RANKS, _UNNAMED)
    df, statistic = _said(said, table, "df"), _said(said, table, "chi-square", "kruskal-wallis h")
    if df is not None and statistic is not None:
        groups = [row for row in rows if row[1].casefold() != "total"]
        if df.low != len(groups) - 1 or df.low < 1:
            return None
        numbers: dict[Statistic, Number] = {"statistic": statistic, "df": df, "p": p}
        return FoundTest(("kruskal-wallis",), numbers, variable=name, by=by, notes=notes)
    if z is None or len(rows) < 2 or above.at("sum of ranks") is None:
        return None
    pair = tuple(part.strip() for part in name.split(" - "))
    if len(pair) == 2:
        rises, falls = (
            next((row for row in rows if row[1].casefold().startswith(kind)), None) for kind in ("positive", "negative")
        )
        found = FoundTest(("signed-rank",), {"z": z, "p": p}, False, pair=pair, notes=(_RANKS,))
        return _with_ranks(found, above, rises, falls, None)
    found = FoundTest(("rank-sum",), {"z": z, "p": p}, False, variable=name, by=by, notes=notes)
    u = _said(said, table, "mann-whitney u")
    return None if u is None else _with_ranks(found, above, rows[0], rows[1], u)


def _rows_of(table: _Table, name: str) -> list[list[str]]:
    """The rows of a variable, whose name stands in the first, perhaps with the mark of a footnote."""
    found, here = list[list[str]](), ""
    for row in table.rows:
        here = row[0] or here
        if here == name or re.fullmatch(re.escape(here) + _MARK, name) or re.fullmatch(re.escape(name) + _MARK, here):
            found.append([_without_mark(cell) if at > 1 else cell for at, cell in enumerate(row)])
    return found


def _with_ranks(
    found: FoundTest, table: _Table, first: list[str] | None, second: list[str] | None, u: Number | None
) -> FoundTest | None:
    """The test with U, or V, of the first ranks, and the sign of z by that; None where ranks are not told."""
    places: dict[Statistic, int | None] = {"statistic": table.at("sum of ranks"), "n": table.at("n")}
    both = [table.numbers(row, places) for row in (first, second) if row]
    if len(both) < 2 or any(len(each) < 2 for each in both) or first is None or second is None:
        return None
    (one, n), (other, m) = ((each["statistic"], each["n"]) for each in both)
    least, middle = 0.0, (one.low + other.low) / 2.0
    if u is not None:
        least = n.low * (n.low + 1.0) / 2.0
        middle = least + n.low * m.low / 2.0
        if abs(min(one.low - least, n.low * m.low - one.low + least) - min(u.low, n.low * m.low - u.low)) > _U:
            return FoundTest((), {}, refused=f"the ranks above the test of {found.variable[:80]} do not give its U")
    z = found.numbers["z"]
    turned = (z.low > 0.0) != (one.low > middle) and z.low != 0.0
    half = 0.5 if one.decimals < 1 and one.low > 1e6 else 0.0  # PSPP rounds large sums
    numbers: dict[Statistic, Number] = {
        "statistic": Number(one.low - least - half, one.high - least + half, 1),
        "z": z.negative if turned else z,
        "p": found.numbers["p"],
    }
    if u is None:
        return replace(found, numbers=numbers)
    return replace(found, numbers=numbers, groups=(first[1], second[1]), sizes=(int(n.low), int(m.low)))


def _of_changes(name: str, said: Mapping[str, str], table: _Table) -> FoundTest | None:
    """McNemar's of a pair: exact of few who changed, else corrected for continuity."""
    pair = tuple(part.strip() for part in name.split(" & "))
    if "point probability" in table.heads:
        return FoundTest((), {}, refused=_OF_PSPP)
    given: dict[Statistic, Number | None] = {"p": _said(said, table, _EXACT), "n": _said(said, table, "n")}
    test: Test = "exact mcnemar"
    if given["p"] is None:
        test = "mcnemar"
        given |= {"statistic": _said(said, table, "chi-square"), "p": _said(said, table, _TWO_SIDED)}
    numbers = {key: each for key, each in given.items() if each is not None}
    if len(pair) != 2 or "p" not in numbers or (test == "mcnemar" and "statistic" not in numbers):
        return None
    return FoundTest((test,), numbers, True if test == "mcnemar" else None, pair=pair)
