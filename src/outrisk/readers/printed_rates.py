"""Tables of rates as pages: Stata's strate and stptime, R's pois.exact of epitools and pyears of survival."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from outrisk.errors import OutputError
from outrisk.outputs.tables.person_time import Interval
from outrisk.readers.rates_columns import STATISTICS
from outrisk.readers.source import Grid, Source

_STRATE = re.compile(
    r"Estimated (?:failure )?rates\s*(?:\(per ([\d.,e+]+)\))?\s*and\s+lower/upper\s+bounds\s+of\s+([\d.]+)%\s+"
    r"(jackknife )?confidence\s+intervals"
)
_STPTIME = re.compile(r"\s*([^|]*?)\s*\|\s*(\S.*?)\s+Failures\s+Rate\s+\[([\d.]+)% conf\. interval\]\s*", re.I)
_COMMAND = re.compile(r"^\s*\. *(?:\w+ *: *)?(?:strate|stptime)\b[^\n]*,[^\n]*\bper\(\s*([\d.]+)\s*\)", re.M)
_RULE = re.compile(r"\s*-{2,}\+-{5,}\s*")
_BOX = re.compile(r"\s*[+|]-{5,}[+|]\s*")
_DASHES = re.compile(r"\s*-{3,}( +-{3,})+\s*")
_DELIMITED = re.compile(r"[,;|\t]|-{3}")
_OF_STPTIME = ("failures", "rate", "lower", "upper")


@dataclass(frozen=True)
class Page:
    """A table of rates with a header, and what is known of it beside: what its rates are per, whether denominators are
    divided by that, the level and kind of its limits, whether its numbers show all of their digits; its line in a
    log of Stata.
    """

    grid: Grid
    per: float | None = None
    divided: bool = False
    level: float | None = None
    interval: Interval | None = None
    own: bool = False
    notes: tuple[str, ...] = ()
    at: int | None = None


def printed_rates(source: Source, number: int | None, place: str) -> Page | None:
    """The table of rates that is printed on a page, the `number`-th (from 1) of several; None where there is none."""
    lines = source.lines
    pages = list(_pages(lines, place))
    if not pages and re.search(r"^Call:\s+pyears\(", source.text, re.M):
        raise OutputError(
            f"{place}: no table of pyears by one variable is known in it; give the data frame of pyears(..., "
            "data.frame = TRUE) as CSV"
        )
    if not pages and number is not None:
        raise OutputError(f"{place}: no table of rates that a program printed is known in it; leave '#{number}' out")
    if number is not None and not 1 <= number <= len(pages):
        raise OutputError(f"{place}: it has no table {number} of rates; it has {len(pages)}")
    if number is None and len(pages) > 1:
        raise OutputError(f"{place}: it has {len(pages)} tables of rates; say which, as in FILE#1")
    return pages[(number or 1) - 1] if pages else None


def _pages(lines: Sequence[str], place: str) -> Iterator[Page]:
    for at, line in enumerate(lines):
        following, next_ = lines[at + 1 :], "".join(lines[at + 1 : at + 2])
        if said := _STRATE.search(" ".join(lines[at : at + 2])):
            if said.start() < len(line):
                yield replace(_of_strate(said, following, _per_of_command(lines[:at]), place), at=at)
        elif said := _STPTIME.fullmatch(line):
            yield replace(_of_stptime(said, following, _per_of_command(lines[:at]), place), at=at)
        elif _DASHES.fullmatch(line) and at and _is_head(re.split(r"\s{2,}", lines[at - 1].strip())):
            yield Page([_sliced(each, line) for each in (lines[at - 1], *_until_blank(following))], own=True)
        elif _is_head(line.split()) and "rate" in line.split() and not _DELIMITED.search(line + next_):
            yield Page(_of_frame(line, _until_blank(following), place), own=True)


def _is_head(cells: Sequence[str]) -> bool:
    """Whether it is a header with columns of two statistics or more."""
    return len({STATISTICS[cell.casefold()] for cell in cells if cell.casefold() in STATISTICS}) > 1


def _until_blank(lines: Sequence[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        if not line.strip() or line.lstrip().startswith((">", "#")):
            break
        found.append(line)
    return found


def _per_of_command(above: Sequence[str]) -> float | None:
    """What the command last typed says that rates are per."""
    typed = [line for line in above if line.lstrip().startswith(". ")]
    said = _COMMAND.match(typed[-1]) if typed else None
    return float(said[1]) if said else None


def _of_strate(said: re.Match[str], lines: Sequence[str], typed: float | None, place: str) -> Page:
    """A table in a box; its Y are divided by per()."""
    box, ruled, whole = list[str](), 0, False
    for line in lines:
        if _BOX.fullmatch(line):
            ruled += 1
            whole = ruled > 2 and line.strip().startswith("+")
            if whole:
                break
        elif ruled:
            box.append(line.strip().strip("|"))
        elif _STRATE.search(line):
            break
    if len(box) < 2 or not whole:
        raise OutputError(f"{place}: below '{said[0][:40]}...' there is no whole table of strate; paste it to its end")
    grid = [_aligned(box[0], row, place) for row in box]
    grid[0][-5:] = [cell.removeprefix("_") for cell in grid[0][-5:]]
    if grid[0][-5:] != ["D", "Y", "Rate", "Lower", "Upper"]:
        raise OutputError(f"{place}: the table of strate has the columns {grid[0]}; known are D, Y, Rate, Lower, Upper")
    per = float(said[1].replace(",", "")) if said[1] else typed or 1.0
    page = Page(grid, per, True, float(said[2]) / 100, "log", own=True)
    if not said[3]:
        return page
    note = "jackknife limits are not known here; they are left out"
    return replace(page, grid=[row[:-2] for row in grid], notes=(note,))


def _of_stptime(said: re.Match[str], lines: Sequence[str], per: float | None, place: str) -> Page:
    """A table with a rule between its head and rows, and above its total."""
    grid = [[said[1], "person-time", *_OF_STPTIME]]
    for line in lines:
        left, bar, right = line.partition("|")
        if _RULE.fullmatch(line):
            continue
        if not bar:
            break
        cells = right.split()
        if len(cells) != 5:
            raise OutputError(
                f"{place}: {line.strip()[:60]!r} is no row of stptime, by() one variable and without at(); "
                "give a table with label and value"
            )
        grid.append([left.strip(), *cells])
    if len(grid) == 2 and said[1].casefold() in ("", "cohort"):
        grid = [row[1:] for row in grid]
    return Page(grid, per, False, float(said[3]) / 100, "log", own=True)


def _aligned(head: str, row: str, place: str) -> list[str]:
    """The cells of a row whose columns end where their heads do."""
    ends = [each.end() for each in re.finditer(r"\S+", head)]
    if any(at < len(row) and not row[at - 1].isspace() and not row[at].isspace() for at in ends[:-1]):
        raise OutputError(
            f"{place}: {row.strip()[:60]!r} does not stand in line with its head; paste it as it is printed"
        )
    starts = [0, *ends[:-1]]
    return [row[start:end].strip() for start, end in zip(starts, [*ends[:-1], len(row)], strict=True)]


def _of_frame(head: str, rows: Sequence[str], place: str) -> Grid:
    """A printed data frame or matrix of R, whose rows have names."""
    grid = [["", *head.split()]]
    for row in rows:
        cells = _aligned(head, row, place)
        name, _, first = cells[0].rpartition(" ")
        if grid[0][1].casefold() not in STATISTICS:  # a level, which may have blanks, after the number of the row
            name, _, first = cells[0].partition(" ")
        grid.append([name.strip(), first.strip(), *cells[1:]])
    return grid


def _sliced(line: str, rule: str) -> list[str]:
    """The cells of a line in columns as wide as the dashes of a rule."""
    return [line[each.start() : each.end()].strip() for each in re.finditer("-+", rule)]
