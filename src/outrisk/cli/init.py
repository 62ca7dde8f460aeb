"""`outrisk init`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from outrisk.api import acro_folders, starter
from outrisk.errors import ConfigError


def start_study(
    data: Path,
    out: Path | None,
    force: bool,
    sep: str,
    decimal: str,
    encoding: str,
    tables: Sequence[str],
    missing: Sequence[str],
    **wishes: Any,
) -> int:
    """Write a commented study and codebook for a data file, and say what was found and what to do with them."""
    started, study, codebook = starter.start_study(
        data,
        out,
        force,
        (sep, decimal, encoding),
        _ask if sys.stdin.isatty() and sys.stdout.isatty() else None,
        tables=[[name.strip() for name in table.split(",")] for table in tables],
        missing=_codes(missing),
        **wishes,
    )
    for line in started.told:
        sys.stdout.write(f"{line}\n")
    then = f"outrisk assess {study}" if started.target else f"name the target in {study}"
    sys.stdout.write(f"Wrote {study} and {codebook}; correct what is marked CHECK, then: {then}\n")
    return 0


def start_acro_study(
    folder: Path,
    data: Path | None,
    out: Path | None,
    force: bool,
    written: Sequence[str],
    keys: Sequence[str],
    target: str,
) -> int:
    """Write a study of an ACRO folder, and say what it covers."""
    covered, files = acro_folders.start_acro_study(folder, data, out, force, written, keys, target)
    console = Console(highlight=False)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in ("Output", "Coverage", "What, and why"):
        table.add_column(name, overflow="fold")
    for each in covered:
        why = "; ".join([*each.blanks, *each.notes, *([each.agreement] if each.agreement else [])])
        table.add_row(escape(each.result.key), each.state, escape(why))
    console.print(table)
    console.print(escape(acro_folders.covered_in_short(covered)))
    then = f"outrisk check {files[0]}, then outrisk assess {files[0]}"
    sys.stdout.write(f"Wrote {', '.join(map(str, files))}. Next: {then}\n")
    return 0


def _codes(given: Sequence[str]) -> dict[str, list[str]]:
    """Codes by column: `-9` is one of every column, `score=-9` of one."""
    found: dict[str, list[str]] = {}
    for text in given:
        column, equals, code = text.rpartition("=")
        if equals and not column:
            raise ConfigError(f"--missing {text!r}: write a code, or COLUMN=CODE")
        if code or equals:
            found.setdefault(column, []).extend([code] if code not in ("", "none") else [])
    return found


def _ask(question: str, answers: Sequence[str], safe: str) -> str:
    """A person's answer; Enter is the safe one."""
    while True:
        given = str(typer.prompt(f"{question} [{'/'.join(answers)}]", default=safe)).strip().lower()
        met = [answer for answer in answers if given and answer.startswith(given)]
        if len(met) == 1:
            return met[0]
