"""The columns and rows of a paper's table one, as programs and people write it: groups, variables, levels, statistics.

Which is which shows by names, levels and words: `age, mean (SD)`, `Age (mean (SD))`, a line `Mean (SD)` below the
variable, `sex = F (%)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from outrisk.codebook import MISSING, Codebook
from outrisk.errors import OutputError
from outrisk.outputs.tables.counted import TOTAL
from outrisk.outputs.tables.errors_of_means import ERROR
from outrisk.outputs.tables.person_time import ENDS
from outrisk.readers.cells_of_models import plain, whole
from outrisk.readers.source import Grid
from outrisk.readers.term_names import levels_of

_OVERALL = ("overall", "total", "all", "whole", "everyone", "all patients", "all participants", "all people")
_OTHERS = {  # columns beside the groups, by their head
    "p": "p",
    "p-value": "p",
    "p value": "p",
    "p.value": "p",
    "pvalue": "p",
    "test": "test",
    "missing": "missing",
    "n-miss": "missing",
    "level": "level",
    "levels": "level",
}
_SIZE = r"(?<![^\W\d_])n\s*=\s*(?P<n>\d[\d,. ]*)"
_WITH_SIZE = re.compile(rf"(?P<name>.*?)[\s,;:]*[(\[]?\s*{_SIZE}\s*[)\]]?(?:\s*\(\d[\d.,]*\s*%\))?", re.I)
_MARK = re.compile(r"(?<=[^\s\d])\^?\d\^?$|[¹²³⁴-⁹*†‡]+$")
_UNITS = re.compile(
    r"(?i)[\s,;:]+[(\[]?(?:n|no\.|number|mean|median)?\s*[(\[]?(?:%|sd|iqr)\s*[)\]]*$"
)  # `Cases, n (%)`
_BULLET = re.compile(r"^(?:[-–•·]\s+|&nbsp;|\s|\N{NO-BREAK SPACE})+")
_NUMBER_OF = re.compile(
    r"(?i)(?:unweighted\s+)?(?:(?:n|number|no\.|count)(?:\s+(?:of\s+)?(?:patients|participants|people|persons|subjects|individuals|"
    r"records|observations|cases))?|patients|participants|people|persons|subjects|individuals|records|observations)"
    r"(?:,?\s*\(?(?:n|%|n \(%\))\)?)?"
)
_WHOLE = re.compile(r"(\d+|\d{1,3}(?:[., ]\d{3})+)\s*(?:\(.*\))?")
_NONE = "NaN"  # a cell that says that there is no such number
_BOTH = ("true", "false")  # how a number of 0 or 1 may be written
_NAMELESS = ("na", "nan", "<na>")  # how R and pandas write a level that is missing
_MISSING = (
    *("unknown", "missing", "n-miss", "n miss", "none", "not known", "n missing", "missing n", "number missing"),
    *("not available", "not reported", "not recorded", "n/a", *_NAMELESS),
)
PERCENT = ("count or share", "share")  # `religion (%)`: of a number alone, or of that behind a count
_STATISTICS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = tuple(  # words -> what cells have, the first found
    (re.compile(words), names)
    for words, names in (
        (
            r"\b(?:geometric|harmonic|trimmed|adjusted|weighted|least.?squares|ls|marginal|predicted|fitted|estimated|"
            r"imputed)\b.*\bmean|\bmean (?:difference|change)|\b(?:difference|change)\w* (?:in|of) means?\b",
            ("other mean",),
        ),
        (
            r"\bmeans?\b.*(?:\d ?[x×]? ?\bs\.?e|\b(?:robust|bootstrap\w*|cluster\w*|jackknife|bca|percentile)\b)",
            ("mean",),
        ),
        (r"\bmeans?\b.*(?:\bc\.?i\b|confidence)", ("mean", *ENDS)),
        (r"^(?!.*\b(?:sd|s\.d\.|standard dev)).*\bmeans?\b.*(?:\bsem?\b|\bs\.e\.|\berr(?:ors?)?\b)", ("mean", ERROR)),
        (r"\bmeans?\b.*(?:\bsd\b|\bstd|±|standard dev|s\.d\.)", ("mean", "sd")),
        (r"\b(?:means?|average)\b", ("mean",)),
        (r"\bmedian\b.*(?:iqr|q1|quartile|25|i\.q\.r)", ("median", "quantile 0.25", "quantile 0.75")),
        (r"\bmedian\b.*(?:range|\bmin)", ("median", "min", "max")),
        (r"\bmedian\b", ("median",)),
        (r"\biqr\b|\bq1\b|\bp25\b|25 ?%|quartile", ("quantile 0.25", "quantile 0.75")),
        (r"^\(?range\b|\bmin.*\bmax", ("min", "max")),
        (r"\bn\s*/\s*n\b", ("count", "of", "share")),
        (r"%\s*[\[(]\s*(?:n|no\.?|number|count)\b", ("share", "count")),
        (r"\b(?:n|no|numbers?|counts?|freq\w*)\b.*%", ("count", "share")),
        (r"%", PERCENT),
        (r"^\(?(?:n|no\.|number|count)\)?$", ("count",)),
    )
)
_LINE = re.compile(
    r"(?i)[(\[]?(?:mean|average|median|min|range|iqr|q1|p25|25|interquartile)"
)  # how one of a statistic begins
_ENDS = re.compile(r"\s*[,;:]\s*|\s+[-–—]\s+|\s*(?=[(\[])|\s+(?==)")
_MOST_HEADERS = 8


@dataclass(frozen=True)
class _Columns:
    """Which columns are what: groups by their column (a level, or TOTAL), how many are in them where the head says so,
    and the columns of p, test, numbers of missing values, levels. twice: a group that two columns are of, '' for none.
    """

    groups: Mapping[int, str]
    sizes: Mapping[str, str]
    others: Mapping[str, int]
    twice: str = ""


@dataclass(frozen=True)
class Row:
    """A row: its variable, its level ('' of a number, MISSING of missing values), what its cells have (() where that is
    not told), its cells by group, and how it is called.
    """

    variable: str
    level: str
    statistics: tuple[str, ...]
    cells: Mapping[str, str]
    called: str


@dataclass(frozen=True)
class TableOne:
    """A table one as it is printed. groups: the levels that its columns are of, TOTAL for all; sizes: how many people
    are in them, where it says so; beside: p, test and number of missing values of each variable; with_tests: there is a
    column of tests; below: lines without numbers that are of no variable, such as footnotes; notes: what was left out.
    """

    groups: tuple[str, ...]
    sizes: Mapping[str, str]
    rows: tuple[Row, ...]
    beside: Mapping[str, Mapping[str, str]]
    with_tests: bool
    below: tuple[str, ...]
    notes: tuple[str, ...] = ()


def read_table_one(grid: Grid, by: str, rows: Mapping[str, str], codebook: Codebook, place: str) -> TableOne:
    """A table by its columns and rows; OutputError for what it cannot be.

    `by`: the variable of the groups, '' for none. `rows`: variables of rows that are called otherwise.
    """
    grid = whole([[_clean(cell) or _none(cell) for cell in _with_its_level(row)] for row in grid])
    head, columns = _head(grid, by, codebook, place)
    labels = range(min([*columns.groups, *(at for name, at in columns.others.items() if name in ("missing", "level"))]))
    if not labels:
        raise OutputError(f"{place}: no column stands before the groups; rows begin with what they are of")
    reader = _Rows(by, rows, codebook, place)
    found, sizes = list[Row](), dict(columns.sizes)
    reader.notes += _left_out(grid, head, columns, labels)
    for row in (each for each in grid[head + 1 :] if each != grid[head]):  # which a page break repeats
        filled = any(row[at] not in ("", _NONE) for at in columns.groups)
        row = [cell if cell != _NONE or (filled and at in columns.groups) else "" for at, cell in enumerate(row)]
        cells = {group: row[at] for at, group in columns.groups.items()}
        texts = [row[at] for at in labels]
        level = row[columns.others["level"]] if "level" in columns.others else next(filter(None, texts[1:]), "")
        if reader.is_of_sizes(texts[0], cells):
            for group, size in ((group, _size(cell)) for group, cell in cells.items() if cell):
                if sizes.setdefault(group, size) != size and _digits(sizes[group]) != _digits(size):
                    raise OutputError(f"{place}: N of {group} is {sizes[group]} in its head and {size} below; keep one")
        else:
            found += reader.read(texts[0], level, cells, {name: row[at] for name, at in columns.others.items()})
    reader.refuse_unknown()
    if not any(any(row.cells.values()) for row in found):
        raise OutputError(f"{place}: no row of it has numbers of a variable of the codebook")
    with_tests, below = "test" in columns.others, tuple(reader.below)
    groups, notes = tuple(columns.groups.values()), tuple(reader.notes)
    return TableOne(groups, sizes, tuple(found), reader.beside, with_tests, below, notes)


def _left_out(grid: Grid, head: int, columns: _Columns, labels: range) -> list[str]:
    """Notes of columns, and of lines above the head, that have numbers and are not read."""
    read = {*columns.groups, *columns.others.values(), *labels}
    found = [
        f"the column {grid[head][at]!r} is of no group and is left out"
        for at in range(len(grid[head]))
        if at not in read and any(re.search(r"\d", row[at]) for row in grid[head + 1 :])
    ]
    for row in grid[:head]:
        if any(re.match(r"<?\s*\d", row[at]) for at in columns.groups):
            found.append(f"the line {' '.join(row).strip()[:60]!r} above the columns is left out")
    return found


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def _with_its_level(row: Sequence[str]) -> Sequence[str]:
    """A row whose level is missing and so written NA, below others of its variable, as one of missing values."""
    if row and not row[0].strip() and len(row) > 1 and row[1].strip().casefold() in _NAMELESS:
        return [row[0], "Missing", *row[2:]]
    if row and row[0].strip().casefold() in _NAMELESS and any(re.match(r"\s*\d", cell) for cell in row[1:]):
        return ["Missing", *row[1:]]
    return row


def _clean(cell: str) -> str:
    cell = re.sub(r"(?<=\d)[\u2009\u202f’](?=\d{3}(?!\d))", "\N{NO-BREAK SPACE}", cell)
    return plain(_BULLET.sub("", cell.replace("&nbsp;", " ").replace("\u2009", " ")))


def _none(cell: str) -> str:
    return _NONE if cell.strip().casefold() in _NAMELESS else ""


def _size(cell: str) -> str:
    found = _WITH_SIZE.fullmatch(cell)
    whole = _WHOLE.fullmatch(cell)
    return found["n"].strip() if found else whole[1].strip() if whole else cell


def _head(grid: Grid, by: str, codebook: Codebook, place: str) -> tuple[int, _Columns]:
    """The last line of the head, and its columns."""
    best: tuple[int, _Columns] | None = None
    for at, row in enumerate(grid[:_MOST_HEADERS]):
        columns = _columns(row, by, codebook)
        if columns is not None and (best is None or len(columns.groups) > len(best[1].groups)):
            best = at, columns
    if best is None:
        of = f"the levels of '{by}' ({', '.join(codebook[by].labels[:20])})" if by else "all people (Overall, N = 300)"
        way_out = "call them so, or give the levels in the codebook the labels that they have" if by else ""
        way_out = way_out or "say with 'by' whose levels"
        raise OutputError(f"{place}: no line of it has columns of {of}; {way_out}")
    if twice := best[1].twice:
        called = f"'{twice}'" if twice != TOTAL else "all people"
        raise OutputError(
            f"{place}: two columns are of {called}; keep one, or give each set of columns as a table of its own"
        )
    missing = best[1].others.get("missing")
    texts = [] if missing is None or not by or not codebook[by].missing else [row[missing] for row in grid[best[0] :]]
    if any(re.search(r"\d\s*[(\[±]", text) for text in texts):  # of people in no group
        others = {name: each for name, each in best[1].others.items() if name != "missing"}
        best = best[0], _Columns(best[1].groups, best[1].sizes, others)
    return best


def _columns(row: Sequence[str], by: str, codebook: Codebook) -> _Columns | None:
    groups, sizes, others, twice = dict[int, str](), dict[str, str](), dict[str, int](), ""
    for at, cell in enumerate(row):
        text = _MARK.sub("", cell).strip()
        sized = _WITH_SIZE.fullmatch(cell) or _WITH_SIZE.fullmatch(text)
        names = [sized["name"].strip(), _MARK.sub("", sized["name"]).strip()] if sized else [cell, text]
        names += [_UNITS.sub("", name).strip() for name in names]
        group = next(filter(None, (_group(name, by, codebook, sized is not None) for name in names)), "")
        other = _OTHERS.get(text.casefold(), "")
        if other and (not at or group in ("", *groups.values())):
            others.setdefault(other, at)
        elif at and group in groups.values():
            twice = twice or group
        elif at and group:
            groups[at] = group
            if sized:
                sizes[group] = sized["n"].strip()
    levels = [each for each in groups.values() if each != TOTAL]
    if not groups or (by and len(levels) < 2 and not set(levels) & set(sizes)):
        return None
    return _Columns(groups, sizes, others, twice)


def _group(name: str, by: str, codebook: Codebook, sized: bool) -> str:
    """The level of a column's head, TOTAL of all people, '' of something else."""
    if name.casefold() in _OVERALL or (sized and not name and not by):
        return TOTAL
    if not by or not name:
        return ""
    for text in (name, re.sub(rf"(?i)^({re.escape(by)}|{re.escape(codebook[by].label or by)})\s*[:=]\s*", "", name)):
        found = levels_of(codebook[by], text)
        if len(found) == 1:
            return found[0]
    return ""


class _Rows:
    """Reads rows one after the other: a level or a statistic is of the variable above it."""

    def __init__(self, by: str, called: Mapping[str, str], codebook: Codebook, place: str) -> None:
        self.by, self.codebook, self.place = by, codebook, place
        self.called = {_clean(label).casefold(): self._target(label, name) for label, name in called.items()}
        self.below, self.unknown = list[str](), dict[str, str]()  # the latter with why they are
        self.beside = dict[str, dict[str, str]]()
        self.notes = list[str]()
        self._variable, self._statistics = "", tuple[str, ...]()
        self._listing = False  # whether levels of the variable are listed below its name
        self._stray = ""  # the line above, which is of no variable
        self._left = ""  # the line above, which is to be left out

    def _target(self, label: str, name: str) -> tuple[str, str]:
        variable, _, level = (part.strip() for part in name.partition("="))
        if not name.strip():
            return "", ""  # to be left out
        found = levels_of(self.codebook[variable], level) if variable in self.codebook and level else []
        if variable not in self.codebook or (level and len(found) != 1):
            raise OutputError(
                f"{self.place}: rows: {label!r} is said to be {name!r}, which is no variable of the codebook, nor a "
                "level of one (sex = F)"
            )
        return variable, found[0] if level else ""

    def is_of_sizes(self, label: str, cells: Mapping[str, str]) -> bool:
        """Whether a row says how many people are in each group."""
        filled = [cell for cell in cells.values() if cell]
        return (
            bool(filled)
            and not self._variable
            and not (label and self._by_name(label))
            and (not label or bool(_NUMBER_OF.fullmatch(label)))
            and all(_WITH_SIZE.fullmatch(cell) or _WHOLE.fullmatch(cell) for cell in filled)
        )

    def read(self, label: str, level: str, cells: Mapping[str, str], beside: Mapping[str, str]) -> Iterable[Row]:
        """The row of a line, if it has numbers; none where it is of nothing that is known, which is kept in
        `unknown`.
        """
        filled = any(cells.values())
        if not (label or level or filled):
            return
        if not (label or level) and all(statistics_of(cell) and not re.search(r"\d", cell) for cell in cells.values()):
            self.below += dict.fromkeys(cells.values())  # a line of what the columns have
            return
        found = self._of(label, level, filled)
        if found and not found[0]:
            self._left, self._stray = label or level, ""
            if not filled:
                self._variable, self._listing = "", False
            return
        of_no_level = not self._variable or (found is not None and found[1] in ("", MISSING))
        if self._left and of_no_level and (found is None or not self._begins(label or level, found)):
            self.notes.append(f"{label or level!r} below {self._left!r} is left out with it")
            return
        if found is None and filled and self._listing and (label or level).casefold() in _OVERALL:
            self.notes.append(
                f"the row {label or level!r} below levels of {self._variable} is left out: it is their sum"
            )
            return
        if found is None:
            if filled:
                called = label or level
                if self._stray:
                    why = f"the row {called!r} stands below {self._stray!r}, which is no variable of the codebook"
                    self.unknown.setdefault(self._stray, why)
                    return
                no_level = f", no level of '{self._variable}' and no statistic" if self._variable else ""
                self.unknown.setdefault(called, f"the row {called!r} is no variable of the codebook{no_level}")
                return
            if self._variable and self._level(self._variable, label or level) is not None:
                self.notes.append(f"{label or level!r} of {self._variable} has no numbers")
                return
            self.below.append(label or level)
            self._variable, self._statistics, self._listing, self._stray = "", (), False, label or level
            return
        variable, of_level, statistics = found
        if variable != self._variable:
            self._variable, self._statistics, self._listing = variable, (), False
        self._listing |= not filled or bool(label and level)
        self._stray = self._left = ""
        if not of_level and not filled:
            self._statistics = statistics
        known = self.beside.setdefault(variable, {})
        for name, text in beside.items():
            if text and name != "level":
                several = name == "p" and known.get(name, text) != text
                known[name] = "several" if several else known.get(name, text)
        if filled:
            yield Row(variable, of_level, statistics or self._statistics, cells, f"{label} {level}".strip())

    def refuse_unknown(self) -> None:
        """OutputError where rows, or lines above rows, are of nothing that is known: all of them at once."""
        if not self.unknown:
            return
        what = next(iter(self.unknown.values()))
        if len(self.unknown) > 1:
            what = f"the rows {', '.join(map(repr, self.unknown))} are no variables of the codebook"
        rows = ", ".join(f"{name!r}: {self.codebook.names[0]}" for name in self.unknown)
        raise OutputError(
            f"{self.place}: {what}; say in 'rows' what {'each' if len(self.unknown) > 1 else 'it'} is of, as in "
            f"{{{rows}}}, or '' to leave it out"
        )

    def _of(self, label: str, level: str, filled: bool) -> tuple[str, str, tuple[str, ...]] | None:
        """The variable, the level and the statistics of a row."""
        if label and level:
            named = self._named(label)
            if named is None:
                return None
            variable, _, statistics = named
            of_level = self._level(variable, level)
            if of_level is None:
                beside = statistics_of(level)
                return (variable, "", beside) if beside else None
            return variable, of_level, statistics
        text = label or level
        if text.casefold() in self.called or (label and not self._variable):
            return self._named(text)
        if not self._variable:
            return None
        numeric = self.codebook[self._variable].numeric
        if not label or filled:
            of_level = self._level(self._variable, text)
            of_numbers = numeric and self._statistics and not {*self._statistics} & {"count", "share"}
            if of_level == MISSING or (of_level is not None and not of_numbers):
                return self._variable, of_level, ()
        named = self._named(text) if label else None
        if named is None and filled and numeric and _LINE.match(text) and (statistics := statistics_of(text)):
            return self._variable, "", statistics
        return named

    def _level(self, variable: str, text: str) -> str | None:
        words = self.codebook[variable].numeric and not re.search(r"\d", text)
        if levels := [] if words and text.casefold() not in _BOTH else levels_of(self.codebook[variable], text):
            if len(levels) > 1:
                raise OutputError(f"{self.place}: {text!r} may be {' or '.join(levels)} of '{variable}'")
            return levels[0]
        return MISSING if text.casefold() in _MISSING else None

    def _begins(self, text: str, found: tuple[str, str, tuple[str, ...]]) -> bool:
        """Whether a row says of which variable it is."""
        return self._named(text) == found

    def _named(self, label: str) -> tuple[str, str, tuple[str, ...]] | None:
        """The variable of a label, by its name or by a level that it alone has; below others that are listed, or below
        a line of no variable, a level must come with its statistics: `Student, n (%)`.
        """
        if found := self._by_name(label):
            return found
        found = self._by_level(label)
        return found if found and (found[2] or not (self._listing or self._stray or self._left)) else None

    def _by_level(self, label: str) -> tuple[str, str, tuple[str, ...]] | None:
        ends = [len(label), *(found.start() for found in reversed(list(_ENDS.finditer(label))))]
        return next(filter(None, (self._of_level(label[:end].strip(), label[end:]) for end in ends)), None)

    def _by_name(self, label: str) -> tuple[str, str, tuple[str, ...]] | None:
        """The variable of a label, a level that it names, and its statistics: `sex = F (%)`, `age, mean (SD)`."""
        ends = [len(label), *(found.start() for found in reversed(list(_ENDS.finditer(label))))]
        for end in ends:
            head, rest = label[:end].strip(), label[end:].strip(" ,;:-–—")
            if found := self.called.get(head.casefold()):
                return *found, statistics_of(rest)
            names = self._variables(head.casefold())
            if not head or len(names) != 1:
                continue
            (name,) = names
            said = rest.startswith("=")
            for stop in [len(rest), *(found.start() for found in reversed(list(_ENDS.finditer(rest))))]:
                text = rest[said:stop].strip()
                of_level = self._level(name, text) or self._level(name, re.sub(r"^[(\[](.*)[)\]]$", r"\1", text))
                if of_level and (said or of_level == MISSING or not self.codebook[name].numeric):
                    return name, of_level, statistics_of(rest[stop:])
            if said:
                return None
            return name, "", statistics_of(rest)
        return None

    def _variables(self, head: str) -> list[str]:
        """Variables of this name or label; where there is none, with blanks for underscores."""
        called = {name: (name.casefold(), self.codebook[name].label.casefold()) for name in self.codebook.names}
        found = [name for name, either in called.items() if head in either]
        return found or [name for name, (written, _) in called.items() if head == written.replace("_", " ")]

    def _of_level(self, head: str, rest: str) -> tuple[str, str, tuple[str, ...]] | None:
        """A level that one variable alone has, as in a row `Female, n (%)`."""
        found = [
            (variable.name, label)
            for variable in self.codebook.variables
            if not variable.numeric and variable.name != self.by
            for label, meaning in zip(variable.labels, variable.descriptions or variable.labels, strict=False)
            if head.casefold() in (label.casefold(), meaning.casefold()) and not head.isdigit()
        ]
        return (*found[0], statistics_of(rest)) if head and len(found) == 1 else None


def statistics_of(text: str) -> tuple[str, ...]:
    """What the cells of a row have, by the words that it is called; () where they do not say it."""
    text = text.strip(" ,;:").casefold()
    return next((names for words, names in _STATISTICS if words.search(text)), ())
