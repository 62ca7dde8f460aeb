"""CSV however it is written: the separator, the decimal mark and the encoding are found out, or said."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from itertools import islice
from pathlib import Path
from typing import IO, Any

import pandas as pd

from outrisk.errors import DataError
from outrisk.tabular.table import Table, Written

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_SAMPLE = 200  # records that a separator is judged by
_CHUNK = 1 << 20  # bytes read at a time
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_NOT_IN_1252 = b"\x81\x8d\x8f\x90\x9d"
_SAYS_SEPARATOR = re.compile(r"sep=([,;\t|])\r?\n")  # a first line for Excel
_COMMA = re.compile(r"[+-]?\d*,\d+")
_POINTS_AND_COMMA = re.compile(r"[+-]?\d{1,3}(\.\d{3})+,\d+")
_GROUPED = re.compile(r"[+-]?\d{1,3}(\.\d{3})+")
_WHOLE = re.compile(r"[+-]?\d+")


def read_delimited(path: Path, written: Written) -> Table:
    """All cells as text, decimal commas as points; the notes say what was found out."""
    try:
        given = written.checked()
    except ValueError as error:
        raise DataError(f"{path}: {error}") from None
    encoding, notes = (given.encoding, []) if given.encoding else _encoding(path)
    with _opened(path, encoding) as file:
        sample = "".join(islice(file, _SAMPLE))
    first = _SAYS_SEPARATOR.match(sample)
    above = 1 if first else 0  # lines above the header
    sep = given.sep or (first[1] if first else _separator(sample))
    if sep != "," and not given.sep:
        notes.append(f"cells are separated by {SEPARATORS[sep]}")
    _check_widths(path, encoding, sep, above)
    # the header as a record: pandas would quietly rename a repeated column
    how: dict[str, Any] = {"sep": sep, "encoding": encoding, "skiprows": above}
    cells = pd.read_csv(path, dtype=str, keep_default_na=False, header=None, **how)
    header = [str(name).removeprefix("\ufeff").strip() for name in cells.iloc[0]]
    frame = cells.iloc[1:].reset_index(drop=True)
    frame.columns = pd.Index(header)
    comma = ""
    if given.decimal == "," or (not given.decimal and sep != ","):
        frame, comma, said = _with_points(frame, given.decimal)
        notes += said
    found = Written("" if sep == "," else sep, comma, "" if encoding.startswith("utf-") else encoding)
    return Table(frame, tuple(notes), written=found)


def _opened(path: Path, encoding: str) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding=encoding, newline="")
    return path.open(encoding=encoding, newline="")


def _encoding(path: Path) -> tuple[str, list[str]]:
    """Of a file: UTF-8 (or UTF-16, by its mark) where it is that, else Windows-1252, of which Latin-1 is a part."""
    odd = False
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        chunk = file.read(_CHUNK)
        for mark, encoding in _MARKS:
            if chunk.startswith(mark):
                return encoding, []
        decoder, valid = codecs.getincrementaldecoder("utf-8")(), True
        while chunk:
            if b"\0" in chunk:
                raise DataError(f"{path}: cannot be read as CSV: it holds bytes of no text")
            odd = odd or any(byte in chunk for byte in _NOT_IN_1252)
            following = file.read(_CHUNK)
            if valid:
                try:
                    decoder.decode(chunk, final=not following)
                except UnicodeDecodeError:
                    valid = False
            chunk = following
    if valid:
        return "utf-8", []
    encoding, name = ("latin-1", "Latin-1") if odd else ("cp1252", "Windows-1252")
    return encoding, [f"it is not in UTF-8 and is read as {name}; if letters look wrong, say its encoding"]


def _separator(sample: str) -> str:
    """The one by which the first records have the header's number of cells, the most if several do."""

    def cells(sep: str) -> tuple[bool, int]:
        try:
            rows = [row for row in csv.reader(io.StringIO(sample), delimiter=sep, strict=True) if row]
        except csv.Error:  # the sample may end within a quoted cell
            rows = [row for row in csv.reader(io.StringIO(sample), delimiter=sep) if row][:-1]
        width = len(rows[0]) if rows else 0
        return width > 1 and all(len(row) == width for row in rows), width

    return max(SEPARATORS, key=cells)


def _check_widths(path: Path, encoding: str, sep: str, above: int) -> None:
    """DataError where a record has not the header's cells: pandas would quietly fill one that is too short."""
    with _opened(path, encoding) as file:
        width = 0
        _ = list(islice(file, above))
        for number, row in enumerate(csv.reader(file, strict=True, delimiter=sep)):
            width = width or len(row)
            if row and len(row) != width:
                raise DataError(
                    f"{path}: record {number:,} has {len(row)} cells and the header {width}; give it as many "
                    f"(cells are separated by {SEPARATORS.get(sep, repr(sep))}; another is said by 'sep' in the "
                    "study's 'data', `outrisk init --sep` or `outrisk measure --sep`)"
                )


def _with_points(frame: pd.DataFrame, decimal: str) -> tuple[pd.DataFrame, str, list[str]]:
    """Decimal commas as points, in columns of nothing but numbers and marks without a digit."""
    commas, both = {}, []
    for at, name in enumerate(frame.columns):
        column = frame.iloc[:, at]
        values = pd.unique(column)
        some = [text.strip() for text in values if text.strip()]
        if any(_COMMA.fullmatch(text.strip()) for text in values) and all(_may_be_number(text) for text in values):
            commas[at] = column.map({text: _pointed(text) for text in values})
        elif some and all(map(_GROUPED.fullmatch, some)):
            both.append(str(name))
    if not commas:
        return frame, decimal, []
    columns: list[Any] = [commas.get(at, frame.iloc[:, at]) for at in range(frame.shape[1])]
    changed = pd.concat(columns, axis=1)
    changed.columns = frame.columns
    notes = [] if decimal else [f"numbers have a decimal comma ({len(commas)} of {frame.shape[1]} columns)"]
    if both:
        more = f" (and in {len(both) - 1} more)" if len(both) > 1 else ""
        notes.append(f"in column {both[0]!r}{more} points may group thousands; they are read as decimal points")
    return changed, ",", notes


def _may_be_number(text: str) -> bool:
    text = text.strip()
    return any(form.fullmatch(text) for form in (_COMMA, _WHOLE, _POINTS_AND_COMMA)) or not any(map(str.isdigit, text))


def _pointed(text: str) -> str:
    stripped = text.strip()
    if _POINTS_AND_COMMA.fullmatch(stripped):
        stripped = stripped.replace(".", "")
    elif not _COMMA.fullmatch(stripped):
        return text
    return stripped.replace(",", ".")
