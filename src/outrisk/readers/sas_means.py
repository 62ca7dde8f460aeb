"""Statistics that SAS's PROC MEANS, SUMMARY and UNIVARIATE print, by the levels of CLASS variables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from outrisk.readers.sas_columns import Column, columns_of, numbers_behind
from outrisk.readers.sas_listing import Step
from outrisk.readers.sas_univariate import of_univariate

Levels = tuple[str, ...]
_RULE = re.compile(r"^\s*-{9,}\s*$")
_ONE = re.compile(r"^\s*Analysis Variable : (\S+)(?:\s+(.*\S))?\s*$")
_STATISTICS = {
    "n": "count",
    "mean": "mean",
    "std dev": "sd",
    "std error": "standard error",
    "minimum": "min",
    "maximum": "max",
    "sum": "sum",
    "median": "median",
    "lower quartile": "p25",
    "upper quartile": "p75",
    "skewness": "skewness",
    "kurtosis": "kurtosis",
}
_LEFT = {
    "n miss": "numbers of records without a value",
    "variance": "variances, which follow from the sd,",
    "range": "ranges, which are differences of quantiles,",
    "quartile range": "quartile ranges, which are differences of quantiles,",
    "coeff of variation": "coefficients of variation in percent",
    "uss": "uncorrected sums of squares",
    "css": "corrected sums of squares",
    "t value": "tests of the mean against 0",
    "pr > |t|": "p-values of the mean against 0",
    "mode": "modes",
    "sum wgts": "sums of weights",
}
_PERCENTILE = re.compile(r"(\d{1,2})(?:st|nd|rd|th) pctl")
_LIMIT = re.compile(r"(lower|upper) (\d+(?:\.\d+)?)% cl for mean")
_MOST = 10_000


@dataclass
class MeansTable:
    """Statistics of one variable as called in the print, by CLASS variables; texts by statistic and levels."""

    step: Step
    value: str
    by: tuple[str, ...]
    cells: dict[str, dict[Levels, str]] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    level: float | None = None
    refused: str = ""

    @property
    def words(self) -> str:
        """What it is, in a few words."""
        groups = ", ".join(f"{name}={level}" for name, level in self.step.groups)
        by = f" by {', '.join(self.by)}" if self.by else ""
        return f"{self.value.partition('(')[0]}{by}" + (f" of {groups}" if groups else "")

    def refuse(self, why: str) -> None:
        """Refuse it; the first reason counts."""
        self.refused = self.refused or why


def tables_of_means(steps: Sequence[Step]) -> list[MeansTable]:
    """The tables of all steps, in their order."""
    found = list[MeansTable]()
    for step in steps:
        if step.procedure in ("MEANS", ""):
            found += _of_step(step)
        if step.procedure in ("UNIVARIATE", ""):
            for value, cells, left, refused in of_univariate(step.lines):
                found.append(MeansTable(step, value, (), cells, left, None, refused))
    return found


def _of_step(step: Step) -> list[MeansTable]:
    lines, found, at, one = step.lines, list[MeansTable](), 0, ""
    while at < len(lines):
        said = _ONE.match(lines[at])
        if said:
            one = f"{said[1]}({said[2]})" if said[2] else said[1]
        if _RULE.match(lines[at]):
            above = at
            while above and lines[above - 1].strip() and not _ONE.match(lines[above - 1]) and at - above < 6:
                above -= 1
            columns = columns_of(lines[above:at])
            first = _first(columns)
            if first is not None and any(each.words.casefold() in _STATISTICS for each in columns[first:]):
                end = next((k for k in range(at + 1, min(len(lines), at + _MOST)) if _RULE.match(lines[k])), None)
                at = _read(step, found, columns, first, lines, at, end, one)
                continue
        at += 1
    return [each for each in found if each.cells or each.refused]


def _first(columns: Sequence[Column]) -> int | None:
    """The first column of a statistic."""
    return next(
        (at for at, each in enumerate(columns) if _statistic(each.words) or each.words.casefold() in _LEFT), None
    )


def _statistic(words: str) -> str:
    """What a column has, by the words over it; '' for no statistic of an output."""
    plain = words.casefold()
    if found := _PERCENTILE.fullmatch(plain):
        return "median" if found[1] == "50" else f"p{int(found[1])}"
    if found := _LIMIT.fullmatch(plain):
        return f"{found[1]} limit"
    return _STATISTICS.get(plain, "")


def _read(
    step: Step,
    found: list[MeansTable],
    columns: Sequence[Column],
    first: int,
    lines: Sequence[str],
    at: int,
    end: int | None,
    one: str,
) -> int:
    """Read the rows between two rules; the line below them."""
    stubs, heads = [each.words for each in columns[:first]], [each.words for each in columns[first:]]
    obs = next((k for k, words in enumerate(stubs) if words.casefold() in ("n obs", "obs")), None)
    variable = next((k for k, words in enumerate(stubs) if words == "Variable"), None)
    classes = tuple(stubs[: obs if obs is not None else variable if variable is not None else len(stubs)])
    tables = _Tables(step, found, classes, heads)
    unknown = [words for words in heads if not _statistic(words) and words.casefold() not in _LEFT]
    levels = [""] * len(classes)
    for line in lines[at + 1 : end if end is not None else at + 1]:
        if not line.strip():
            continue
        split = numbers_behind(line, len(heads))
        start = columns[variable].start if variable is not None else len(line)
        if split is None or unknown:
            why = (
                f"its columns have '{unknown[0]}'"
                if unknown
                else f"its row {line.strip()[:60]!r} has other numbers than its head"
            )
            tables.refuse(one or _name(line[start:]), why)
            continue
        stub = split[0]
        left = stub[:start].strip() if variable is not None else stub.strip()
        value = one if variable is None else _name(stub[start:])
        if left and obs is not None:
            left = re.sub(r"\s*\d+$", "", left) if re.search(r"(?:^|\s)\d+$", left) else left
        said = [each for each in re.split(r"\s{2,}", left.strip()) if each] if left.strip() else []
        if len(said) > len(classes):
            tables.refuse(value, f"its row {line.strip()[:60]!r} has {len(said)} levels")
            continue
        if said:
            levels = [*levels[: len(classes) - len(said)], *said]
        tables.put(value, tuple(levels), split[1])
    if end is None:
        tables.refuse(one, "it is cut off before its last rule")
    return (end if end is not None else at) + 1


def _name(text: str) -> str:
    """A variable and its label behind it, in brackets."""
    parts = re.split(r"\s{2,}", text.strip(), maxsplit=1)
    return f"{parts[0]}({parts[1]})" if len(parts) > 1 else parts[0]


@dataclass
class _Tables:
    """The tables that rows belong to: those of one head, by their variables."""

    step: Step
    found: list[MeansTable]
    classes: tuple[str, ...]
    heads: Sequence[str]
    mine: dict[str, MeansTable] = field(default_factory=dict)

    def refuse(self, value: str, why: str) -> None:
        """Refuse the table of a variable, or of all where it is not known."""
        for each in [self._of(value, ())] if value else self.mine.values():
            each.refuse(why)

    def put(self, value: str, levels: Levels, texts: Sequence[str]) -> None:
        """Take the numbers of a row."""
        table = self._of(value, levels)
        for head, text in zip(self.heads, texts, strict=True):
            statistic = _statistic(head)
            if not statistic:
                what = _LEFT[head.casefold()]
                table.left += [what] if what not in table.left else []
                continue
            of = table.cells.setdefault(statistic, {})
            if levels in of and of[levels] != text:
                table.refuse(f"{', '.join((value, *levels))} stands in it twice")
            of[levels] = _exact(text)
            if found := _LIMIT.fullmatch(head.casefold()):
                table.level = float(found[2]) / 100.0

    def _of(self, value: str, levels: Levels) -> MeansTable:
        """The table of a variable: the one that is begun, unless it has these numbers already."""
        if value in self.mine:
            return self.mine[value]
        names = {_statistic(each) for each in self.heads} - {""}
        for each in reversed(self.found):
            if (each.value, each.by) == (value, self.classes):
                if not any(levels in each.cells.get(name, {}) for name in names):
                    self.mine[value] = each
                    return each
                break
        self.mine[value] = MeansTable(self.step, value, self.classes)
        self.found.append(self.mine[value])
        return self.mine[value]


def _exact(text: str) -> str:
    """A number; 0 alone, which SAS prints of nothing but 0, to the digits of others."""
    return "0.0000000" if text == "0" else text
