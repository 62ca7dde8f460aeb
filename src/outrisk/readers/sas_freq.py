"""Tables of counts that SAS's PROC FREQ prints, of one variable, crossed, or as a list."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from outrisk.readers.printed_number import read_printed
from outrisk.readers.sas_listing import Step

Levels = tuple[str, ...]
TOTAL = "Total"
_LEGEND = re.compile(r"^(\s*)([A-Z][\w .%'-]*?)\s*\|(.*)$")
_RULE = re.compile(r"^\s*-{3,}(?:\+-{3,})+\+?\s*$")
_LINE = re.compile(r"^\s*-{5,}\s*$")
_WITH_LABEL = r"[A-Za-z_]\w*(?:\([^)]*\))?"
_OF_TWO = re.compile(rf"^\s*{_WITH_LABEL}(?:\s{{2,}}{_WITH_LABEL})?\s*$")  # a name, or both
_TITLE = re.compile(r"^\s*Table (?:(\d+) )?of (\S+) by (\S+)\s*$", re.I)
_CONTROL = re.compile(r"^\s*Controlling for (.+?)\s*$", re.I)
_HEAD = re.compile(r"^(\s*)(\S.*?)\s+Frequency(?:\s+(Percent))?(?:\s+Frequency)?(?:\s+Percent)?\s*$")
_MISSING = re.compile(r"^\s*(?:Effective Sample Size|Sample Size|Frequency Missing)\s*=\s*([\d.,E+]+)\s*$")
_SHOWS = {
    "frequency": "counts",
    "percent": "proportions",
    "tot pct": "proportions",
    "row pct": "row_percentages",
    "col pct": "column_percentages",
}
_ONE_WAY = {  # what the columns of a table of one variable are, by their heads
    ("Frequency",): ("counts",),
    ("Frequency", "Percent"): ("counts", "proportions"),
    ("Frequency", "Frequency"): ("counts", "cumulative"),
    ("Frequency", "Percent", "Frequency"): ("counts", "proportions", "cumulative"),
    ("Frequency", "Frequency", "Percent"): ("counts", "cumulative", "cumulative percent"),
    ("Frequency", "Percent", "Percent"): ("counts", "proportions", "cumulative percent"),
    ("Frequency", "Percent", "Frequency", "Percent"): ("counts", "proportions", "cumulative", "cumulative percent"),
}
_WEIGHTED = "its counts are not whole numbers, as of weights; give such a table by label and value, with 'weight'"
_MOST = 10_000
_NAME = 4  # lines that a name is broken over


@dataclass
class FreqTable:
    """A table of counts: its variables as printed, with a label in brackets where that stands; texts of cells by levels
    and by what they show. groups: of a layer of a table of three variables. missing: records left out, as printed.
    squeezed: its levels may have lost blanks where they are broken over lines.
    """

    step: Step
    by: tuple[str, ...]
    cells: dict[str, dict[Levels, str]] = field(default_factory=dict)
    groups: tuple[tuple[str, str], ...] = ()
    missing: str = ""
    refused: str = ""
    squeezed: bool = False
    layer: str = ""
    at: int = 0  # its line in the step

    @property
    def whole(self) -> bool:
        """Whether it is a cross table that is read up to its last total."""
        return any((TOTAL, TOTAL) in self.cells.get(show, {}) for show in ("counts", "proportions"))

    @property
    def words(self) -> str:
        """What it is, in a few words."""
        groups = ", ".join(f"{name}={level}" for name, level in (*self.step.groups, *self.groups))
        return " x ".join(each.partition("(")[0] for each in self.by) + (f" of {groups}" if groups else "")


def tables_of_counts(steps: Sequence[Step]) -> list[FreqTable]:
    """The tables of all steps, in their order."""
    return [table for step in steps if step.procedure in ("FREQ", "") for table in _of_step(step)]


def _of_step(step: Step) -> Iterator[FreqTable]:
    lines, at, found = step.lines, 0, list[FreqTable]()
    title: tuple[str, str, str] | None = None
    control: tuple[tuple[str, str], ...] = ()
    while at < len(lines):
        if said := _TITLE.match(lines[at]):
            title, control = (said[1] or "", said[2], said[3]), ()
        elif said := _CONTROL.match(lines[at]):
            control = tuple(
                (name, level) for name, _, level in (each.partition("=") for each in re.split(r"\s+(?=\w+=)", said[1]))
            )
        elif said := _MISSING.match(lines[at]):
            if found and "Missing" in lines[at]:
                for each in found if found[-1].layer else found[-1:]:
                    each.missing = each.missing or said[1]
        elif legend := _legend(lines, at):
            table = _crossed(step, title, control, at, found)
            at = _read_panel(table, lines, at, legend)
            continue
        elif head := _HEAD.match(lines[at]):
            one, at = _one_way(step, lines, at, head, found)
            found += [one] if one is not None and not any(each is one for each in found) else []
            continue
        at += 1
    for each in found:
        each.refused = each.refused or _wrong(each)
    yield from found


def _legend(lines: Sequence[str], at: int) -> list[str]:
    """What the lines of a cell show, where a legend of a cross table begins."""
    first = _LEGEND.match(lines[at])
    if not first or first[2].strip().casefold() not in ("frequency", "percent", "row pct", "col pct", "tot pct"):
        return []
    names = list[str]()
    for line in lines[at : at + 12]:
        found = _LEGEND.match(line)
        if not found:
            break
        names.append(found[2].strip())
    return names


def _crossed(
    step: Step,
    title: tuple[str, str, str] | None,
    control: tuple[tuple[str, str], ...],
    at: int,
    found: list[FreqTable],
) -> FreqTable:
    """The table that a panel is of: the last one, where that is not at its end, or a new one."""
    above = [line for line in step.lines[max(0, at - 8) : at] if line.strip()]
    by: tuple[str, ...] = (title[1], title[2]) if title else ()
    names = list[str]()
    for line in reversed([each for each in above[-2:] if not _TITLE.match(each) and not _CONTROL.match(each)]):
        if len(names) >= 2 or not _OF_TWO.match(line):
            break
        names = re.findall(_WITH_LABEL, line) + names
    if not by:
        by = (names[-2], names[-1]) if len(names) >= 2 else ("", "")
    elif len(names) >= 2 and [each.partition("(")[0].casefold() for each in names[-2:]] == [
        each.casefold() for each in by
    ]:
        by = (names[-2], names[-1])
    layer = title[0] if title else ""
    if found and found[-1].by == by and found[-1].groups == control and found[-1].layer == layer:
        last = found[-1]
        if not last.whole and not last.refused and len(by) == 2:
            return last
    found.append(FreqTable(step, by, groups=control, layer=layer, at=at))
    return found[-1]


def _read_panel(table: FreqTable, lines: Sequence[str], at: int, legend: Sequence[str]) -> int:
    """Read the cells of a panel; the line below it."""
    last = at + len(legend) - 1
    shows = [_SHOWS.get(each.casefold(), each) for each in legend]
    columns, end = _columns(lines, last)
    if not columns:
        table.refused = table.refused or "its columns are not laid out as SAS prints them"
        return last + 1
    table.squeezed |= end > last + 1
    whole = columns[-1] == TOTAL
    k = len(columns) - whole
    block, below = list[str](), end + 1
    for below in range(end + 1, min(len(lines), end + _MOST)):
        line = lines[below]
        if _RULE.match(line):
            _read_row(table, block, columns, k, shows)
            block = []
        elif "|" in line:
            block.append(line)
        elif re.match(r"^\s*Total\s+\S", line):
            _read_totals(table, lines[below : below + 1 + ("proportions" in shows)], columns, shows)
            below += 1 + ("proportions" in shows)
            break
        else:
            break
    if block:
        table.refused = table.refused or "it is cut off within a row"
    return below


def _columns(lines: Sequence[str], last: int) -> tuple[list[str], int]:
    """The levels of the columns, 'Total' the last where it stands there, and the line of the rule below them."""
    rule = next((at for at in range(last + 1, min(last + 6, len(lines))) if _RULE.match(lines[at])), None)
    if rule is None:
        return [], last
    bounds = [at for at, char in enumerate(lines[rule]) if char == "+"]
    rows = list(lines[last:rule])
    names = list[str]()
    for left, right in pairwise(bounds):
        names.append("".join(_fragment(row[left + 1 : right], right - left - 1) for row in rows).strip() or ".")
    if any(len(row) > left and row[left] != "|" for row in rows for left in bounds):
        return [], last
    beyond = " ".join(row[bounds[-1] + 1 :].strip() for row in rows).strip()
    if beyond not in ("", TOTAL):
        return [], last
    return ([*names, *([TOTAL] if beyond else [])], rule) if names else ([], last)


def _fragment(text: str, width: int) -> str:
    """A part of a level that is broken over lines: with the blank behind it, where it does not fill its line."""
    text = text.rstrip()
    return text.lstrip() + (" " if 0 < len(text) < width else "")


def _read_row(table: FreqTable, block: Sequence[str], columns: Sequence[str], k: int, shows: Sequence[str]) -> None:
    """The cells between two rules, a line for each thing that a cell shows."""
    parts = [line.split("|") for line in block]
    stubs = [each[0].strip() for each in parts if each[0].strip()]
    level = " ".join(stubs) or "."
    table.squeezed |= len(stubs) > 1
    more = any("".join(each[1:]).strip() for each in parts[len(shows) :])
    if len(block) < len(shows) or more or any(len(each) < k + 1 for each in parts):
        table.refused = table.refused or f"its row {level!r} is not laid out as SAS prints it"
        return
    for show, cells in zip(shows, parts, strict=False):
        texts = [each.strip() for each in cells[1 : k + 1]]
        of_row = "".join(cells[k + 1 :]).strip()
        with_total = [*texts, of_row] if len(columns) > k else texts
        for column, text in zip(columns, with_total, strict=True):
            if text == "" and column == TOTAL and show != "counts":
                continue
            if text not in ("", ".") and read_printed(text) is None:
                table.refused = table.refused or f"its row {level!r} has {text[:20]!r}"
            _put(table, show, (level, column), text)


def _read_totals(table: FreqTable, lines: Sequence[str], columns: Sequence[str], shows: Sequence[str]) -> None:
    """The row of totals, of counts and below these of percentages."""
    names = [each for each in shows if each in ("counts", "proportions")]
    for at, (show, line) in enumerate(zip(names, lines, strict=False)):
        texts = line.split()[1 if at == 0 else 0 :]
        if len(texts) != len(columns) or any(read_printed(each) is None for each in texts):
            table.refused = table.refused or f"its row of totals has {' '.join(texts)[:60]!r}"
            return
        for column, text in zip(columns, texts, strict=True):
            _put(table, show, (TOTAL, column), text)


def _put(table: FreqTable, show: str, levels: Levels, text: str) -> None:
    cells = table.cells.setdefault(show, {})
    if levels in cells and cells[levels] != text:
        table.refused = table.refused or f"{', '.join(levels)} stands in it twice, with two numbers"
    cells[levels] = text


def _one_way(
    step: Step, lines: Sequence[str], at: int, head: re.Match[str], found: Sequence[FreqTable]
) -> tuple[FreqTable | None, int]:
    """A table of one variable, or a list of the combinations of several; and the line below it."""
    names = _names_of(lines, at, head)
    rule = next((k for k in range(at + 1, min(at + 3, len(lines))) if lines[k].strip()), at)
    start = rule + 1 if _LINE.match(lines[rule]) else at + 1
    shows = _ONE_WAY[tuple(re.findall(r"Frequency|Percent", lines[at]))]
    numbers = len(shows)
    label = next((line.strip() for line in reversed(lines[max(0, at - 4) : max(0, at - 1)]) if line.strip()), "")
    label = "" if re.search(r"Cumulative|\d$|\|", label) or lines[max(0, at - 2)].strip() else label
    by = tuple(names) if len(names) > 1 else (f"{names[0]}({label})" if label else names[0],)
    goes_on = next((each for each in found[-1:] if each.by[:1] == by[:1] and len(each.by) == len(by)), None)
    table = goes_on or FreqTable(step, by, at=at)
    if goes_on and lines[at - 1 : at] and _first_of(lines, start, numbers) == "begins":
        table = FreqTable(step, by, at=at)
    before, end = len(table.cells.get("counts", {})), start
    for end in range(start, min(len(lines), start + _MOST)):
        line = lines[end]
        if _LINE.match(line):
            continue
        cells = line.split()
        some = cells[len(cells) - numbers :] if len(cells) >= numbers else []
        if not line.strip():
            break
        if not some or any(read_printed(each) is None and each != "." for each in some):
            table.refused = table.refused or f"its row {line.strip()[:60]!r} is not laid out as SAS prints it"
            break
        left = line.rstrip()
        for each in reversed(some):
            left = left[: left.rindex(each)].rstrip()
        levels = (left.strip() or ".",) if len(by) == 1 else tuple(re.split(r"\s{2,}", left.strip()))
        if len(levels) != len(by):
            table.refused = table.refused or f"its row {line.strip()[:60]!r} has {len(levels)} levels"
            break
        for show, text in zip(shows, some, strict=True):
            _put(table, show, levels, text)
    if len(table.cells.get("counts", {})) == before:
        return None, max(end, at + 1)
    return table, end


def _first_of(lines: Sequence[str], start: int, numbers: int) -> str:
    """Whether the first row below a head 'begins' a table: what is counted up to it is its own."""
    cells = next((line.split() for line in lines[start : start + 2] if line.strip()), [])
    some = cells[len(cells) - numbers :] if len(cells) > numbers else []
    return "begins" if numbers == 4 and some and some[0] == some[2] else "goes on"


def _names_of(lines: Sequence[str], at: int, head: re.Match[str]) -> list[str]:
    """The variables of a list, whose names may be broken over the lines above."""
    names = head[2].split()
    spans = [found.span() for found in re.finditer(r"\S+", lines[at][: head.end(2)])]
    for line in reversed(lines[max(0, at - _NAME) : at]):
        pieces = list(re.finditer(r"\S+", line.replace("Cumulative", " " * 10)))
        for k, (start, end) in enumerate(spans):
            over = next((each[0] for each in pieces if each.start() == start or abs(each.end() - end) <= 1), "")
            names[k] = over + names[k] if over.endswith("_") or "Cumulative" in line else names[k]
        if not pieces or len(pieces) > len(spans):
            break
    return names


def _wrong(table: FreqTable) -> str:
    """Why the cells of a table do not make up a table; '' where they do."""
    if not table.whole:
        crossed = any(TOTAL in each for each in table.cells.get("counts", {})) or _is_crossed(table)
        return "it is cut off before its totals" if crossed else _not_cumulative(table)
    counts = table.cells.get("counts") or table.cells["proportions"]
    rows, columns = (list(dict.fromkeys(each[at] for each in counts)) for at in (0, 1))
    gone = next(((row, column) for row in rows for column in columns if (row, column) not in counts), None)
    if gone:
        return f"it has no cell of {', '.join(gone)}"
    if "counts" not in table.cells:
        return ""
    numbers = {levels: _whole(text) for levels, text in counts.items()}
    if any(value is None for value in numbers.values()):
        odd = [text for levels, text in counts.items() if numbers[levels] is None and not _rounded(text)]
        return _WEIGHTED if odd else ""
    for row in rows:
        if sum(numbers[row, column] or 0 for column in columns if column != TOTAL) != numbers[row, TOTAL]:
            return f"the counts of {row} do not add up to its total"
    for column in columns:
        if sum(numbers[row, column] or 0 for row in rows if row != TOTAL) != numbers[TOTAL, column]:
            return f"the counts of {column} do not add up to its total"
    return _wrong_shares(table, {levels: number or 0 for levels, number in numbers.items()})


def _wrong_shares(table: FreqTable, numbers: Mapping[Levels, int]) -> str:
    """Why percentages of cells are not those of its counts, as where its legend is not that of its cells."""
    wholes = {"proportions": (True, True), "row_percentages": (False, True), "column_percentages": (True, False)}
    for show, (rows, columns) in wholes.items():
        for (row, column), text in table.cells.get(show, {}).items():
            whole = numbers[TOTAL if rows else row, TOTAL if columns else column]
            printed = read_printed(text)
            if printed is None or TOTAL in (row, column) or not whole:
                continue
            if abs(printed.value - 100.0 * numbers[row, column] / whole) > 1.2 * printed.half + 1e-9:
                return f"{row}, {column} has {text} % in {show.replace('_', ' ')}, which its counts do not give"
    return ""


def _is_crossed(table: FreqTable) -> bool:
    return any(show in table.cells for show in ("row_percentages", "column_percentages"))


def _not_cumulative(table: FreqTable) -> str:
    """Why what a table of one variable has counted up is not what its counts add up to."""
    counts, up = table.cells.get("counts", {}), table.cells.get("cumulative", {})
    total = 0
    for levels, text in counts.items():
        number = _whole(text)
        if number is None:
            return "" if _rounded(text) else _WEIGHTED
        total += number
        said = up.get(levels, "")
        if said not in ("", ".") and (known := _whole(said)) is not None and known != total:
            return f"what is counted up to {', '.join(levels)} is {said}, and its counts add up to {total}"
    return ""


def _whole(text: str) -> int | None:
    text = text.replace(",", "")
    return int(text) if re.fullmatch(r"\d+", text) else None


def _rounded(text: str) -> bool:
    """Whether a count is one of more digits than its column has: 1.551E7."""
    return re.fullmatch(r"\d(?:\.\d+)?E\+?\d+", text) is not None
