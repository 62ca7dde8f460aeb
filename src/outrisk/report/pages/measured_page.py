"""What `outrisk measure` found, for the terminal and as one self-contained HTML file, from its plain document.

The document (see docs/run-files.md) holds sections of tables; both renderings take any number of them as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from outrisk.report import formats
from outrisk.report.compose import Head, Section, asset, compose
from outrisk.report.drawing import Drawing

_SHOWN = 24  # rows of a table on the terminal; files have them all
_SIGNED = ("difference", "low", "high")
_DECIMALS = 4  # what synthpop prints in percent with two
_CLOSER = ("method", "original_low", "original_high", "key_sets")  # columns for a closer look
_BLANK = ("baseline", "worst_case", "low", "high", "original_low", "original_high")  # empty where they do not apply
Cells = list[list[str]]


def render_measured(document: Mapping[str, Any]) -> str:
    """The report as HTML; same document, same text."""
    head = Head(
        title=f"Disclosure measures: {document['target']}",
        heading="What the synthetic data give away",
        kicker=f"OutRisk {document['outrisk']} · disclosure measures",
    )
    families = [_family(section) for section in document["sections"]]
    return compose(head, [SHORT, ASKED, *families, TERMS, INPUTS], document)


def _family(section: Mapping[str, Any]) -> Section[Mapping[str, Any]]:
    """A section of the document: its tables as they are."""

    def content(_: Mapping[str, Any]) -> dict[str, Any]:
        tables = [{**table, "cells": cells(table), "numeric": numeric(table)} for table in section["tables"]]
        return {**section, "tables": tables, "drawing": figure(section)}

    return Section(section["name"], section["title"], content, asset("measured/family.html"))


def show_measured(document: Mapping[str, Any], console: Console, details: bool = False) -> None:
    """Print what is to be told first, then every section's tables and notes: of several synthetic tables the means, of
    long tables the first rows.

    details: with the tables and columns that are for a closer look.
    """
    for sentence in document["in_short"]:
        console.print(f"[bold]{escape(sentence)}[/bold]", highlight=False)
    console.print()
    shown = [section for section in document["sections"] if details or not section["details"]]
    for section in shown:
        console.print(f"[bold]{escape(section['title'])}[/bold]", highlight=False)
        for table in (_means(table) for table in section["tables"] if details or not table["details"]):
            table = table if details else _plain(table)
            if table["rows"]:
                console.print(escape(table["caption"]), style="italic", highlight=False)
                console.print(_rich(table))
                if len(table["rows"]) > _SHOWN:
                    console.print(f"... {len(table['rows']) - _SHOWN:,} more rows in --json and --html")
            else:
                console.print(f"{escape(table['caption'])}: none", highlight=False)
            console.print()
        for note in section["notes"]:
            console.print(f"Note: {escape(note)}", highlight=False)
        if section["notes"]:
            console.print()
    if not details:
        console.print("More tables, and how intervals are made: --details, --html, --json", highlight=False)


def figure(section: Mapping[str, Any]) -> Drawing | None:
    """The section's figure; None where it has none."""
    if not section["figure"]:
        return None
    from outrisk.report.figures import measured_figures  # matplotlib takes a second to import: only here

    return measured_figures.FIGURES[section["figure"]](section["tables"][0], section["name"])


def numeric(table: Mapping[str, Any]) -> list[bool]:
    """Which columns hold numbers."""
    columns = list(zip(*table["rows"], strict=True)) or [()] * len(table["columns"])
    return [_is_numeric(column) for column in columns]


def cells(table: Mapping[str, Any]) -> Cells:
    """Every cell written for readers; an undefined number is said in words."""
    kinds = numeric(table)
    signed = [column in _SIGNED for column in table["columns"]]
    decimals = _DECIMALS
    return [
        [
            _cell(value, number and name not in _BLANK, decimals, sign)
            for value, number, sign, name in zip(row, kinds, signed, table["columns"], strict=True)
        ]
        for row in table["rows"]
    ]


def _plain(table: Mapping[str, Any]) -> dict[str, Any]:
    """A table for a first look: without the columns for a closer one, low and high as one interval, meanings last."""
    columns, rows = list(table["columns"]), [list(row) for row in table["rows"]]
    if "low" in columns and "high" in columns:
        low, high = columns.index("low"), columns.index("high")
        decimals = _DECIMALS
        for row in rows:
            ends = [formats.fixed(row[at], decimals, True) for at in (low, high) if row[at] is not None]
            row[low] = f"{ends[0]} to {ends[1]}" if len(ends) == 2 else "undefined" if row[low - 1] is not None else ""
        columns[low] = "95 % interval"
    last = [name for name in ("meaning", "note", "reason") if name in columns]
    order = [name for name in columns if name not in (*_CLOSER, "high", *last)] + last
    at = [columns.index(name) for name in order]
    return {**table, "columns": order, "rows": [[row[i] for i in at] for row in rows]}


def _is_numeric(column: Sequence[Any]) -> bool:
    present = [value for value in column if value is not None]
    return bool(present) and all(isinstance(value, int | float) for value in present)


def _cell(value: Any, number: bool, decimals: int, sign: bool) -> str:
    if value is None:
        return formats.UNDEFINED if number else ""
    if not isinstance(value, int | float):
        return str(value)
    return formats.fixed(value, 0 if isinstance(value, int) else decimals, sign)


def _rich(table: Mapping[str, Any]) -> Table:
    shown = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name, number in zip(table["columns"], numeric(table), strict=True):
        heading = name if " " in name else name.replace("_", " ")  # so that a narrow column breaks between words
        shown.add_column(escape(heading), justify="right" if number else "left", overflow="fold")
    for row in cells(table)[:_SHOWN]:
        shown.add_row(*(escape(text.replace("\N{MINUS SIGN}", "-")) for text in row))
    return shown


def _means(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """A table with several rows for each synthetic table is shown by its means alone, without what they lack."""
    means = [row for row in table["rows"] if row[0] == "mean"]
    if len(means) < 2 or table["columns"][0] != "synthesis":
        return table
    held = [any(row[i] is not None for row in means) for i in range(len(table["columns"]))]
    return {
        **table,
        "columns": [*compress(table["columns"], held)],
        "rows": [[*compress(row, held)] for row in means],
    }


def _document(document: Mapping[str, Any]) -> dict[str, Any]:
    return {"document": document}


SHORT = Section(
    "short", "In short", _document, "{% for sentence in document.in_short %}<p>{{ sentence }}</p>{% endfor %}"
)
ASKED = Section("measured", "Measured", _document, asset("measured/asked.html"))
TERMS = Section("reading", "How to read this", _document, asset("measured/terms.html"))
INPUTS = Section("provenance", "Provenance", _document, asset("measured/inputs.html"))
