"""Means and proportions of a survey as programs print them, as entries of a study: R's svymean, svyby and svyciprop,
Stata's svy: mean and svy: proportion, and tables in files by the heads of their columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from outrisk.codebook import Codebook, format_value
from outrisk.errors import OutputError
from outrisk.outputs.base import Entry
from outrisk.outputs.smooth.proportions import ProportionsEntry
from outrisk.outputs.tables.errors_of_means import ERROR
from outrisk.outputs.tables.magnitudes import MagnitudesEntry
from outrisk.outputs.tables.person_time import ENDS
from outrisk.outputs.tables.survey_means import SurveyMeans
from outrisk.readers.printed_number import decimals_of, is_undefined, read_printed
from outrisk.readers.remarks import remark
from outrisk.readers.source import Source
from outrisk.readers.survey_designs import design_in, with_design
from outrisk.readers.term_names import levels_of

SurveyEntry = MagnitudesEntry | ProportionsEntry
_HEADS = {
    ERROR: r"se(?:[._\d].*)?|std\.? ?err(?:or)?\.?|standard error|linearized",
    ENDS[0]: r"ci_l|2\.5 ?%|lower(?: limit)?|low|ll|conf\.low",
    ENDS[1]: r"ci_u|97\.5 ?%|upper(?: limit)?|high|ul|conf\.high",
    "n": r"n|obs|unweighted(?: n| count)?|number of obs(?:ervations)?",
    "population": r"population(?: size)?|weighted(?: n| count)?|sum of weights",
}
_MAIN = r"mean|proportion|prop|estimate|%|percent"
_COUNTS = ("n", "population", "psus", "strata")
_ONE = re.compile(r"""(?:I\(|as\.numeric\()*\s*([A-Za-z_.][\w.]*)\s*(?:==\s*(["']?)(.+?)\2\s*)?\)*""")
_LINE = re.compile(r"^\s*(\S.*?)?\s*\|\s*(.*)$")


@dataclass
class _Printed:
    """Texts of rows, by their levels (of `by`, then of what is counted) and statistic; and of the whole. own_digits:
    each number shows its own, as R's printCoefmat has it.
    """

    rows: dict[tuple[str, ...], dict[str, str]] = field(default_factory=dict)
    single: dict[str, str] = field(default_factory=dict)
    own_digits: bool = False


def entries_of_survey(source: Source, entry: SurveyEntry, codebook: Codebook, place: str) -> list[Entry]:
    """The entry, which has a design, with the numbers of a print; OutputError where it is none of its variables."""
    design = with_design(design_in(source.text, place), entry.design, codebook, place)
    if design and "program" not in design.model_fields_set and not source.delimited:
        design = design.model_copy(update={"program": "r"})  # Stata's logs say what they are
    entry = entry.model_copy(update={"values": None, "design": design})
    (built,) = _built(entry, codebook)
    found = _read(source, built, place)
    statistics = _statistics(found, built, entry, place)
    changes: dict[str, Any] = {"statistics": statistics}
    if "decimals" not in entry.model_fields_set:
        changes["decimals"] = _digits(found, statistics)
    made = entry.model_copy(update=changes)
    made = type(entry).model_validate(made.model_dump(exclude_unset=True) | changes)
    return [made.model_copy(update={"values": _values(found, _built(made, codebook)[0], place)})]


def _built(entry: SurveyEntry, codebook: Codebook) -> list[SurveyMeans]:
    return [each for each in entry.build(codebook, 1) if isinstance(each, SurveyMeans)]


def _read(source: Source, built: SurveyMeans, place: str) -> _Printed:
    if re.search(r"^\s*Survey: (?:Mean|Proportion) estimation", source.text, re.M):
        return _of_stata(source.text, built, place)
    if re.search(r"^\s*Survey:|svytable|design-based", source.text, re.I | re.M):
        raise OutputError(f"{place}: of Stata's svy, mean and proportion are read, and regressions by their own kinds")
    lines = [line for line in source.text.splitlines() if line.strip() and not re.match(r"[>+] ", line)]
    grid = source.grid if source.delimited else [line.split() for line in lines]
    if source.delimited:
        return _of_grid(grid, built, place)
    return _of_r(grid, built, place)


def _statistic(head: str, built: SurveyMeans) -> str:
    """What a column is of; '' for another."""
    text = " ".join(head.casefold().split())
    if text == built.value.casefold() or re.fullmatch(_MAIN, text):
        return built.main
    return next((name for name, pattern in _HEADS.items() if re.fullmatch(pattern, text)), "")


def _of_grid(grid: Sequence[Sequence[str]], built: SurveyMeans, place: str) -> _Printed:
    """A table whose heads say what its columns are; a column without is one of row names."""
    head = list(grid[0])
    names = [*built.by, *([built.value] if len(built.counted) > 1 else [])]
    absent = [name for name in names if name not in head]
    if absent:
        raise OutputError(f"{place}: the table has no column '{absent[0]}'; add it, or correct 'by'")
    axes = [head.index(name) for name in names]
    statistics = ["" if at in axes else _statistic(cell, built) for at, cell in enumerate(head)]
    others = [cell for at, cell in enumerate(head) if cell and not statistics[at] and at not in axes and at > 0]
    if others:
        remark(place, f"columns that are none of its statistics are left out: {', '.join(others)}")
    if built.value in (head[at] for at, each in enumerate(statistics) if each == built.main):
        _of_one(built, built.value, place)
    found = _Printed()
    for row in grid[1:]:
        texts = {each: row[at] for at, each in enumerate(statistics) if each and at < len(row)}
        _put(found, _levels([row[at] for at in axes], names, built, place), texts, place)
    return found


def _of_r(grid: list[list[str]], built: SurveyMeans, place: str) -> _Printed:
    """A print of svymean, svyby or svyciprop: the heads of columns, of row names none."""
    head = grid[0]
    if head in (["mean", "SE"], ["mean", "SE", "DEff"]):
        return _of_svymean(grid[1:], built, place)
    if all(cell.endswith("%") for cell in head):
        if len(head) != 2 or built.by:
            raise OutputError(f"{place}: limits alone, or of an output with 'by'; print the estimates with vartype")
        if len(grid) != 2 or len(grid[1]) < 4:
            raise OutputError(f"{place}: a print of svyciprop has one row, with a name, an estimate and two limits")
        *name, main, low, high = grid[1]
        _of_one(built, " ".join(name), place)
        _level(head, built, place)
        return _Printed({(): {built.main: main, ENDS[0]: low, ENDS[1]: high}}, own_digits=True)
    if "2.5" in head:
        raise OutputError(f"{place}: limits alone; print svyby with vartype = c('se', 'ci')")
    return _of_grid([["", *head], *grid[1:]], built, place)


def _of_svymean(rows: Sequence[Sequence[str]], built: SurveyMeans, place: str) -> _Printed:
    if built.by:
        raise OutputError(f"{place}: it has no groups, the output says by: {', '.join(built.by)}; print svyby")
    found = _Printed()
    labels = {f"{built.value}{format_value(value)}": (format_value(value),) for value in built.counted}
    for name, mean, error in (row[:3] for row in rows if len(row) in (3, 4)):
        key = () if name == built.value else labels.get(name)
        if name == built.value:
            _of_one(built, name, place)
        if key is None:
            remark(place, f"the row '{name}' is none of the output's and is left out")
            continue
        _put(found, key if len(built.counted) > 1 else (), {built.main: mean, ERROR: error}, place)
    return found


def _of_one(built: SurveyMeans, name: str, place: str) -> None:
    """OutputError where a name, such as 'smoker', whose ones are counted, or 'I(smoker == 1)', is of another variable
    than the output, or of another value.
    """
    if not built.counted and name == built.value:
        return
    said = _ONE.fullmatch(name.strip())
    counted = format_value(built.counted[0]) if len(built.counted) == 1 else ""
    level = (said[3] or "1") if said else ""
    of = {format_value(each) for each in levels_of(built.codebook[built.value], level)} if level else set()
    if not said or said[1] != built.value or counted not in of:
        raise OutputError(
            f"{place}: '{name}' is not {built.value}{f'={counted}' if counted else ''}, which the output is of; "
            f"correct 'event' or 'event_value', or print svyciprop(~I({built.value} == {counted or '...'}), design)"
        )


def _level(heads: Sequence[str], built: SurveyMeans, place: str) -> None:
    low, high = (float(each.rstrip("%")) for each in heads)
    if abs((high - low) / 100.0 - built.level) > 1e-6:
        raise OutputError(f"{place}: 'level' is {built.level:g} in the study and {(high - low) / 100:g} in the print")


def _of_stata(text: str, built: SurveyMeans, place: str) -> _Printed:
    """A log of svy: mean or svy: proportion, from its last head on."""
    text = text[[each.start() for each in re.finditer(r"^\s*Survey: ", text, re.M)][-1] :]
    found = _Printed()
    for name, pattern in (("psus", "Number of PSUs"), ("strata", "Number of strata")):
        said = re.search(rf"{pattern}\s*=\s*([\d,]+)", text)
        if said:
            found.single[name] = said[1].replace(",", "")
    if not built.by:
        for name, pattern in (
            ("n", "(?:Subpop. no. obs|Number of obs)"),
            ("population", "(?:Subpop. size|Population size)"),
        ):
            told = re.findall(rf"{pattern}\s*=\s*([\d,.]+)", text)
            if told:
                found.single[name] = told[-1].replace(",", "")
    percent = re.search(r"\[(\d+(?:\.\d+)?)% conf", text, re.I)
    if percent and abs(float(percent[1]) / 100.0 - built.level) > 1e-6:
        raise OutputError(
            f"{place}: 'level' is {built.level:g} in the study and {float(percent[1]) / 100:g} in the log; correct one"
        )
    for names, cells in _stata_rows(text):
        if len(cells) not in (2, 4):
            continue
        texts = dict(zip((built.main, ERROR, *ENDS), cells, strict=False))
        over = [*built.by, *([built.value] if len(built.counted) > 1 else [])]
        key = _stata_key(names, built, over, place)
        if key is not None:
            _put(found, key, texts, place)
    return found


def _stata_rows(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """Rows with numbers, each with the heading above it and its own name."""
    heading = ""
    for line in text.splitlines():
        said = _LINE.match(line)
        if not said or "conf. interval" in line.casefold() or "Linearized" in line:
            continue
        name, cells = (said[1] or "").strip(), said[2].split()
        if name and not cells:
            heading = name
        elif name and all(read_printed(cell) or is_undefined(cell) for cell in cells):
            yield [heading, name], cells


def _stata_key(names: list[str], built: SurveyMeans, over: Sequence[str], place: str) -> tuple[str, ...] | None:
    """The levels of a row: 'c.pressure@region' above 'east', 'region' above 'east', or 'pressure' alone."""
    heading, name = names
    if not over:
        same = name == built.value or (built.counted and heading in ("", built.value))
        if built.counted and same and name not in (built.value, format_value(built.counted[0])):
            return None  # of the value that is not counted
        return () if same else None
    levels = re.split(r"[#\s]+", name)
    if len(levels) != len(over):
        raise OutputError(f"{place}: '{name}' has {len(levels)} levels, the output is by {', '.join(over)}")
    headed = [each.removeprefix("c.") for each in re.split(r"[@#]", heading) if each]
    others = [each for each in headed if each != built.value]
    order = next((each for each in (headed, others) if sorted(each) == sorted(over)), list(over))
    if others and sorted(order) != sorted(others) and order != headed:
        raise OutputError(
            f"{place}: its rows are of '{heading}', the output is of {built.value} by {', '.join(over)}; correct one"
        )
    if built.counted and len(built.counted) == 1 and re.match(rf"{re.escape(built.value)}@", heading):
        raise OutputError(f"{place}: proportions of '{built.value}' over others are read from a table by columns")
    given = dict(zip(order, levels, strict=True))
    return _levels([given[each] for each in over], over, built, place)


def _levels(cells: Sequence[str], names: Sequence[str], built: SurveyMeans, place: str) -> tuple[str, ...]:
    """Labels of levels as the codebook has them."""
    found = []
    for cell, name in zip(cells, names, strict=True):
        levels = levels_of(built.codebook[name], cell)
        if len(levels) != 1:
            more = built.codebook[name].if_merged
            raise OutputError(f"{place}: '{cell}' is no level of '{name}'; correct it, or the codebook{more}")
        found.append(format_value(next(iter(levels))))
    return tuple(found)


def _put(found: _Printed, key: tuple[str, ...], texts: dict[str, str], place: str) -> None:
    if key in found.rows:
        raise OutputError(f"{place}: {', '.join(key) or 'the row of all'} stands in it twice; keep one")
    found.rows[key] = texts


def _statistics(found: _Printed, built: SurveyMeans, entry: SurveyEntry, place: str) -> tuple[str, ...]:
    """The statistics of the print, or those of them that the entry says."""
    if not any(built.main in row for row in found.rows.values()):
        raise OutputError(f"{place}: no {built.main} of {built.value} is known in it; columns are called {built.main}, "
                          "se, ci_l, ci_u, n, population, and those of 'by' by their names")  # fmt: skip
    texts = {each for row in found.rows.values() for each in row} | set(found.single)
    there = [each for each in (built.main, ERROR) if each in texts]
    there += ["limits"] if set(ENDS) <= texts else []
    there += [each for each in _COUNTS if each in texts]
    if "statistics" not in entry.model_fields_set:
        return tuple(there)
    absent = [each for each in entry.statistics if each not in there]
    if absent:
        raise OutputError(f"{place}: the print has no {absent[0]}; it has {', '.join(there)}")
    return tuple(entry.statistics)


def _digits(found: _Printed, statistics: Sequence[str]) -> dict[str, int]:
    """The most decimals of each statistic: a trailing 0 may not be printed."""
    digits = {}
    for each in statistics:
        names = ENDS if each == "limits" else (each,)
        texts = [row[name] for row in found.rows.values() for name in names if name in row]
        if each not in _COUNTS:
            digits[each] = min(decimals_of([read_printed(text) for text in texts if not is_undefined(text)]), 12)
    return digits


def _values(found: _Printed, built: SurveyMeans, place: str) -> dict[str, str]:
    """Texts by the output's own labels."""
    values = dict[str, str]()
    for (group, value), name in zip(built.rows, built.row_names, strict=True):
        key = tuple(format_value(each) for each in built.groups[group])
        key += (format_value(value),) if len(built.counted) > 1 else ()
        if key not in found.rows:
            remark(place, f"{name} is not in it: taken as withheld")
        for statistic in built.shown:
            text = found.rows.get(key, {}).get(statistic, "")
            of = "" if built.counted else f" of {built.value}"
            known = bool(text) and not is_undefined(text)
            if known and found.own_digits:
                text = _to_its_digits(text)
            values[f"{name}: {statistic}{of}"] = text if known else "withheld"
    for statistic in built.of_groups:
        for at, name in enumerate(built.group_names):
            key = tuple(format_value(each) for each in built.groups[at])
            row = next((texts for levels, texts in found.rows.items() if levels[: len(key)] == key), {})
            values[f"{name}: {statistic}"] = row.get(statistic) or found.single.get(statistic, "withheld")
    for label, statistic in zip(built.labels[-len(built.of_design) :], built.of_design, strict=False):
        values[label] = found.single.get(statistic, "withheld")
    return values


def _to_its_digits(text: str) -> str:
    """From where to where a number lies that is printed to so many digits."""
    printed = read_printed(text)
    if printed is None:
        return text
    half = 0.5 * 10.0 ** -decimals_of([printed])
    return f"{printed.value - half:.12g} to {printed.value + half:.12g}"
