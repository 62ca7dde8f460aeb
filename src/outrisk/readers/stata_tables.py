"""Tables that Stata's descriptive commands print: summarize, tabstat, tabulate with summarize(), mean and ci means."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from outrisk.readers.stata_rows import (
    LINE,
    MOST,
    RULE,
    Levels,
    Rows,
    StataTable,
    are_numbers,
    table_of,
    until_blank,
)
from outrisk.readers.stata_session import Command, sections_of
from outrisk.readers.stata_tabstat import is_tabstat, of_tabstat
from outrisk.readers.stata_twoway import Crossed, crossed_in

_HEAD = re.compile(r"^\s*Variable \|\s*(Obs\s.*\S)\s*$")
_OF_SUMMARIZE = re.compile(r"Obs\s+Mean\s+Std\. [Dd]ev\.\s+Min\s+Max")
_OF_CI = re.compile(r"Obs\s+Mean\s+Std\. [Ee]rr\.\s+\[(\d+(?:\.\d+)?)% [Cc]onf\. [Ii]nterval\]")
_OF_MEAN = re.compile(r"^\s*(?:Over)?\s*\|\s+Mean\s+Std\. [Ee]rr\.\s+\[(\d+(?:\.\d+)?)% [Cc]onf\. [Ii]nterval\]\s*$")
_PERCENTILE = re.compile(r"^\s*(\d\d?)%\s+(\S+)(?:\s+(\S+))?(?:\s+([A-Z][\w. ]*?)\s+(\S+))?\s*$")
_MEDIAN = re.compile(r"^\s*50%\s+(\S+)\s+Mean\s+(\S+)\s*$")
_SPREAD = re.compile(r"^\s*Largest\s+Std\. [Dd]ev\.\s+(\S+)\s*$")
_MOMENTS = {"mean": "mean", "std. dev.": "sd", "freq.": "count", "obs.": "count"}
_OF_TABULATE = 8


def described_in(commands: Sequence[Command]) -> list[StataTable]:
    """The tables of statistics of a session, in their order: one for each variable."""
    return [table for command in commands for table in _of_command(command)]


def _of_command(command: Command) -> Iterator[StataTable]:
    merged = dict[tuple[str, tuple[str, ...]], StataTable]()
    for prefix, lines in sections_of(command.lines):
        names, levels = tuple(prefix), tuple(prefix.values())
        for table in _tables(command, lines):
            if not names:
                yield table
                continue
            cells = {each: {(*levels, *key): text for key, text in of.items()} for each, of in table.cells.items()}
            key = table.value, (*names, *table.by)
            before = merged.get(key)
            both = {each: {**(before.cells.get(each, {}) if before else {}), **of} for each, of in cells.items()}
            why = (before.refused if before else "") or table.refused
            fields = {**vars(table), "by": key[1], "cells": both, "refused": why}
            fields["labels"] = (*[""] * len(names), *table.labels)
            merged[key] = StataTable(**fields)
    yield from merged.values()


def _tables(command: Command, lines: Sequence[str]) -> Iterator[StataTable]:
    at = 0
    while at < len(lines):
        head = _HEAD.match(lines[at])
        if head:
            yield from _of_variables(command, head[1], lines[max(0, at - 2) : at], lines[at + 1 : at + MOST])
        elif re.match(r"^\s*Percentiles\s+Smallest\s*$", lines[at]):
            yield _of_detail(command, lines[max(0, at - 4) : at], lines[at + 1 : at + 12])
        elif re.match(r"^\s*Mean estimation\b", lines[at]):
            yield from _of_mean(command, lines[at : at + MOST])
        elif is_tabstat(lines, at):
            yield from of_tabstat(command, lines, at)
        elif (one := _of_one_way(command, lines, at)) is not None:
            yield one
        at += 1
    for table in crossed_in(lines):
        if table.summaries[0]:
            yield _of_two_way(command, table)


def _of_variables(command: Command, head: str, above: Sequence[str], below: Sequence[str]) -> Iterator[StataTable]:
    """summarize or ci means: a variable a row."""
    limits = _OF_CI.fullmatch(head)
    names: Sequence[str] = ("count", "mean", "standard error", "lower limit", "upper limit")
    if not limits:
        names = ("count", "mean", "sd", "min", "max")
    known = bool(limits) or _OF_SUMMARIZE.fullmatch(head) is not None
    said = [line.strip() for line in above if line.strip() and not LINE.match(line)]
    rows, heading = Rows(), ""
    for left, cells in until_blank(below):
        heading = left if not cells else heading
        value = f"{heading}={left}" if heading and cells else left
        if not cells or (cells == ["0"] and not heading):  # a level's variable, or one without values
            continue
        if not known:
            rows.refuse(value, f"its columns are {' '.join(head.split())}, as of weighted records")
        elif limits and any(re.search(r"(?i)poisson|exact", each) for each in said):
            rows.refuse(value, f"its limits are '{said[-1]}'")
        elif len(cells) != 5 or not are_numbers(cells):
            rows.refuse(value, f"its row has {' '.join(cells)[:60]!r}, and not 5 numbers")
        else:
            rows.put(value, (), dict(zip(names, cells, strict=True)))
    level = float(limits[1]) / 100.0 if limits else None
    yield from (table_of(command, value, (), rows, level=level) for value in rows.found)


def _of_detail(command: Command, above: Sequence[str], below: Sequence[str]) -> StataTable:
    """summarize, detail: percentiles, moments, and the four least and greatest values."""
    title = next((line.strip() for line in reversed(above) if line.strip() and not LINE.match(line)), "")
    title = title if not title.startswith(("->", ".")) else ""
    texts, weights = dict[str, str](), ""
    called = {"Obs": "count", "Variance": "variance", "Skewness": "skewness", "Kurtosis": "kurtosis"}
    ends = list[str]()
    for line in below:
        if found := _MEDIAN.match(line):
            texts |= {"median": found[1], "mean": found[2]}
        elif found := _SPREAD.match(line):
            texts["sd"] = found[1]
        elif found := _PERCENTILE.match(line):
            texts[f"p{found[1]}"] = found[2]
            ends += [found[3]] if found[3] else []
            weights = found[5] if (found[4] or "").casefold().startswith("sum of wgt") else weights
            texts |= {called[found[4]]: found[5]} if found[4] in called else {}
    wanted = {"median", "mean", "sd", "count", "variance", "skewness", "kurtosis"}
    refused = ""
    if not wanted <= set(texts) or not are_numbers([*texts.values(), *ends]):
        refused = "it is cut off, or not laid out as Stata prints it"
    elif weights.replace(",", "") != texts["count"].replace(",", ""):
        refused = f"it is weighted: {texts['count']} records, {weights or 'no'} sum of weights"
    if not refused and len(ends) == 8:
        texts |= {"min": ends[0], "max": ends[-1]}
    elif not refused:
        refused = "some of its four least and greatest values are not there"
    left = ("the four least and the four greatest values, which are those of single records",) if len(ends) > 2 else ()
    return StataTable(
        command, title, (), {each: {(): text} for each, text in texts.items()}, refused=refused, left=left
    )


def _of_one_way(command: Command, lines: Sequence[str], at: int) -> StataTable | None:
    """tabulate of one variable with summarize(): mean, sd and records of each of its levels."""
    title = re.match(r"^(.*)\|\s+Summary of (.+?)\s*$", lines[at])
    if not title:
        return None
    at += 1
    head = next(
        (k for k in range(at, min(at + 6, len(lines))) if k + 1 < len(lines) and RULE.match(lines[k + 1])), None
    )
    rows, value = Rows(), title[2]
    if head is None:
        rows.refuse(value, "it is cut off")
        return table_of(command, value, ("",), rows)
    stub = " ".join(line.partition("|")[0].strip() for line in lines[at - 1 : head + 1]).split()
    said = re.split(r"\s{2,}", lines[head].partition("|")[2].strip())
    names = [_MOMENTS.get(each.casefold(), "") for each in said]
    for left, cells in until_blank(lines[head + 2 : head + MOST]):
        if len(cells) != len(names) or not all(names) or not are_numbers(cells):
            rows.refuse(value, f"its row has {' '.join(cells)[:60]!r} below {' '.join(said)[:60]!r}")
            break
        rows.put(value, (left,), dict(zip(names, cells, strict=True)))
    if not any(("Total",) in each for each in rows.found.get(value, {}).values()):
        rows.refuse(value, "it is cut off before its total")
    return table_of(command, value, (" ".join(stub),), rows, digits=_OF_TABULATE)


def _of_two_way(command: Command, table: Crossed) -> StataTable:
    """tabulate of two variables with summarize()."""
    cells: dict[str, dict[Levels, str]] = {}
    value, names = table.summaries
    for (levels, number), text in table.cells.items():
        if number < len(names):
            cells.setdefault(names[number], {})[levels] = text
    refused = table.refused or ("" if table.deep == len(names) else "its rows are not those that its title says")
    return StataTable(command, value, (table.row, table.column), cells, digits=_OF_TABULATE, refused=refused)


def _of_mean(command: Command, lines: Sequence[str]) -> Iterator[StataTable]:
    """mean: of variables, or of groups of `over`, whose limits go by all records and are left out."""
    number = re.search(r"Number of obs\s*=\s*([\d,]+)", "\n".join(lines[:3]))
    at = next((k for k, line in enumerate(lines[:60]) if _OF_MEAN.match(line)), None)
    if at is None or at + 1 >= len(lines):
        yield StataTable(command, "", (), {}, refused="it is not laid out as Stata prints it, or its errors are others")
        return
    head = _OF_MEAN.match(lines[at])
    said = lines[at - 1].partition("|")[2].strip()
    above = " ".join(lines[:at])
    imputed = any("Multiple-imputation" in line for line in command.lines)
    said = "combined over imputations" if imputed else said
    why = f"its errors are '{said}'" if said else "its errors are by clusters" if "adjusted for" in above else ""
    rows, heading = Rows(), ""
    over: Levels = ()
    for left, cells in until_blank(lines[at + 1 :]):
        if not cells:
            heading = left
            continue
        bare = heading.removeprefix("c.")
        value, _, groups = bare.partition("@") if heading else (left, "", "")
        over = tuple(groups.split("#")) if groups else ("",) if heading else ()
        levels = (left,) if len(over) == 1 else tuple(each.strip() for each in left.split("#")) if over else ()
        if why or len(cells) != 4 or not are_numbers(cells) or len(levels) != len(over):
            rows.refuse(value, why or f"its row {left!r} has {' '.join(cells)[:60]!r}")
            continue
        texts = dict(zip(("mean", "standard error", "lower limit", "upper limit"), cells, strict=True))
        rows.put(value, levels, texts if not over else {each: texts[each] for each in ("mean", "standard error")})
        if not over and number:
            rows.put(value, (), {"count": number[1]})
    end = next((line for line in lines[at + 2 :] if "|" not in line and not RULE.match(line)), "")
    for value in rows.found if not LINE.match(end) else ():
        rows.refuse(value, "it is cut off")
    together = tuple(rows.found)
    left_out = ("limits of groups, which mean takes by the number of all records",) if over else ()
    if over == ("",):
        option = re.search(r"\bover\((\w+)\)", command.options)
        over = (option[1] if option else _in_legend(lines[:at]),)
    level = float(head[1]) / 100.0 if head and not over else None
    yield from (
        table_of(command, each, over, rows, level=level, together=together, left=left_out) for each in rows.found
    )


def _in_legend(lines: Sequence[str]) -> str:
    """The variable of the groups of an older `mean, over()`, by its legend: 'north: area = north'."""
    found = {each[1] for line in lines if (each := re.match(r"^\s*\S.*?: (\w+) = \S", line))}
    return found.pop() if len(found) == 1 else ""
