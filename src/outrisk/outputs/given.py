"""Released values given in a study: a list, a mapping of labels to values, or a CSV file of terms and values."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from outrisk.codebook import format_value
from outrisk.errors import DataError, OutputError
from outrisk.outputs.base import Array, Output, released
from outrisk.problem.released import Released
from outrisk.tabular import read_table

WITHHELD = "withheld"  # stands for a number of which nothing was published
UNDEFINED = "undefined"  # stands for a number that there is none of, as the mean of no record
_MORE = "; what else is printed of it, 'release' or 'statistics' says"
_RANGE = re.compile(r"\s*(\S+)\s+to\s+(\S+)\s*")
_BELOW = re.compile(r"\s*<\s*(\S+)\s*")  # of a p-value
_P = re.compile(r"(.*\b)?p(-value)?")
_LEVEL = re.compile(r"\[[^\]]*\]|=[^,:]*")  # in labels of design columns and of cells
_SUFFIX = re.compile(r"_[^_:]*(?=:|$)")  # in labels of terms
LABEL_COLUMNS = ("label", "term")
_SPELT = {"std_err": "standard error", "standard_error": "standard error", "p_value": "p-value"}


def released_as_given(outputs: Sequence[Output], given: Any, folder: Path) -> list[Released]:
    """The outputs of one entry with the values of the study.

    A list has one value a published number, in the order of the labels; a mapping and a file go by label. Where an
    entry makes several outputs, a mapping has one of these for each name, and a file a column 'output'. A value is a
    number, 'LOW to HIGH', 'withheld' or 'undefined', of a p-value also '<HIGH'. OutputError or DataError in one line
    names what does not fit.
    """
    if isinstance(given, str):
        cells = read_file_of_values(folder / given, outputs)
    elif len(outputs) == 1:
        cells = {outputs[0].name: given}
    elif isinstance(given, Mapping):
        cells = dict(given)
    else:
        names = ", ".join(f"'{output.name}'" for output in outputs[:3])
        raise OutputError(
            f"values: a list for {len(outputs)} outputs; write a mapping with one list for each: {names} ..."
        )
    known = [output.name for output in outputs]
    unknown = next((name for name in cells if name not in known), None)
    if unknown is not None:
        raise OutputError(f"values: no output '{unknown}' here{_nearest(unknown, known)}")
    absent = next((name for name in known if name not in cells), None)
    if absent is not None:
        raise OutputError(f"output '{absent}': no values; add them under its name")
    return [_released(output, cells[output.name]) for output in outputs]


def _released(output: Output, cells: object) -> Released:
    sheet = output.sheet
    labels = output.labels if sheet is None else sheet.labels
    hidden: list[int] = np.flatnonzero(~output.printed).tolist()
    if isinstance(cells, Mapping):
        cells = {labels[at]: WITHHELD for at in hidden} | {format_value(label): cell for label, cell in cells.items()}
        cells = _by_label(output, labels, cells)
    elif isinstance(cells, list | tuple) and hidden and len(cells) == len(labels) - len(hidden):
        printed = iter(cells)
        cells = [WITHHELD if at in hidden else next(printed) for at in range(len(labels))]
    if not isinstance(cells, list | tuple):
        raise OutputError(
            f"output '{output.name}': values: {cells!r} is neither a list nor a mapping of labels to values"
        )
    if len(cells) != len(labels):
        shown = [label for at, label in enumerate(labels) if at not in hidden]
        raise OutputError(
            f"output '{output.name}': {len(cells)} values given for {len(shown)} published numbers, "
            f"which are {_some(shown)}; give one each, or a mapping of labels to values"
        )
    given = next((labels[at] for at in hidden if not _says(cells[at], WITHHELD)), None)
    if given is not None:
        raise OutputError(
            f"output '{output.name}': a value is given for {given}, which 'keep' leaves out; take it out of the "
            "values, or let 'keep' name its term"
        )
    ranges = [_cell(output, label, cell) for label, cell in zip(labels, cells, strict=True)]
    low, high = np.array(ranges, dtype=np.float64).reshape(-1, 2).T
    values = np.where(low == high, low, np.nan)
    _check_digits(output, values)
    if sheet is None:
        known = output.publish(values)
    else:
        withheld, undefined = (np.array([_says(cell, word) for cell in cells]) for word in (WITHHELD, UNDEFINED))
        fault = sheet.fault(values, withheld, undefined)
        if fault:
            raise OutputError(f"output '{output.name}': {fault}")
        known = sheet.known(values, withheld, undefined)
    for known_end, end in zip(known, (low, high), strict=True):
        known_end[: len(end)] = np.where(low < high, end, known_end[: len(end)])
    return released(output, *known)


def _check_digits(output: Output, values: Array) -> None:
    """No number has more digits than the output prints."""
    exact = [np.round(value, places) for value, places in zip(values, output.decimals, strict=False)]
    finer = ~np.isnan(values) & ~np.isclose(exact, values, rtol=1e-12, atol=1e-12)
    if finer.any():
        at = int(np.argmax(finer))
        raise OutputError(
            f"output '{output.name}': the value of {output.labels[at]} is {values[at]:.12g}, which has more digits "
            f"than the {int(output.decimals[at])} decimals released; round it, or give the output more 'decimals'"
        )


def _says(cell: object, *words: str) -> bool:
    return isinstance(cell, str) and cell.strip() in words


def _cell(output: Output, label: str, cell: object) -> tuple[float, float]:
    """From where to where a number lies; NaN for one that was withheld or is undefined."""
    if _says(cell, WITHHELD, UNDEFINED):
        return math.nan, math.nan
    between = _RANGE.fullmatch(cell) if isinstance(cell, str) else None
    below = _BELOW.fullmatch(cell) if isinstance(cell, str) and _P.fullmatch(label) else None
    ends = between.groups() if between else ("0", below[1]) if below else (cell, cell)
    low, high = (_number(text) for text in ends)
    if math.isnan(low) or math.isnan(high):
        raise OutputError(
            f"output '{output.name}': the value of {label} is {cell!r}, which is not a number; "
            f"write a number (with a point, no separators), a range as '1 to 9', '{WITHHELD}' or '{UNDEFINED}'"
            + ", or '<0.001'"
            * bool(_P.fullmatch(label))
        )
    if low > high:
        raise OutputError(f"output '{output.name}': the value of {label} is {cell!r}; put the lower end first")
    return low, high


def _number(value: object) -> float:
    """A finite number, or NaN."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or "_" in str(value):
        return math.nan
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return math.nan
    return number if math.isfinite(number) else math.nan


def _by_label(output: Output, labels: Sequence[str], cells: Mapping[str, object]) -> list[object]:
    unknown = next((label for label in cells if label not in labels), None)
    if unknown is not None:
        near = _nearest(unknown, labels)
        more = "" if output.table or "; known: " not in near else _MORE
        raise OutputError(f"output '{output.name}': it has no number called '{unknown}'{near}{more}")
    absent = [label for label in labels if label not in cells]
    if absent:
        raise OutputError(
            f"output '{output.name}': no value for {_some(absent)}; "
            f"give every number of it, '{WITHHELD}' where none was published"
        )
    return [cells[label] for label in labels]


def read_file_of_values(path: Path, outputs: Sequence[Output]) -> dict[str, Any]:
    """Values by output and label from a CSV file.

    A further column, as 'standard error' beside 'value', holds the numbers called 'TERM: standard error'; its empty
    cells are passed over.
    """
    frame = read_table(path)
    label = next((name for name in LABEL_COLUMNS if name in frame), "")
    needed = [label, "value", *(["output"] if len(outputs) > 1 else [])]
    if not set(needed) <= set(frame.columns):
        words = "output, label (or term) and value" if len(outputs) > 1 else "label (or term) and value"
        raise DataError(f"{path}: needs the columns {words}; it has {list(frame.columns)}")
    cells: dict[str, dict[str, Any]] = {}
    for number, record in enumerate(frame.to_dict("records"), start=1):
        row = {str(name): str(cell) for name, cell in record.items()}
        found = cells.setdefault(row.pop("output", outputs[0].name), {})
        term = row.pop(label)
        numbers = {term: row.pop("value")}
        numbers |= {f"{term}: {_SPELT.get(name, name)}": cell for name, cell in row.items() if cell.strip()}
        twice = next((each for each in numbers if each in found), None)
        if twice is not None:
            raise DataError(f"{path}: record {number}: '{twice}' stands there twice; keep one")
        found |= numbers
    return cells


def _some(labels: Sequence[str], most: int = 12) -> str:
    shown = "; ".join(f"'{label}'" for label in labels[:most])
    return shown if len(labels) <= most else f"{shown}; ... ({len(labels)} in all)"


def _nearest(name: str, known: Sequence[str]) -> str:
    """What may have been meant: the same cell in another order, or a name like it that is not of another level."""
    parts = sorted(name.split(", "))  # of a cell, perhaps in another order
    near = [label for label in known if sorted(label.split(", ")) == parts]
    near = near or [label for label in known if _plain(label) == _plain(name)]
    near = near or [label for label in known if name.startswith((f"{label} ", f"{label}:"))]
    near = near or [
        label for label in difflib.get_close_matches(name, known, 5) if not _same_but_level(name, label, known)
    ]
    return f"; did you mean '{near[0]}'?" if near else f"; known: {_some(known)}"


def _plain(label: str) -> str:
    return "".join(label.split()).casefold()


def _same_but_level(name: str, label: str, known: Sequence[str]) -> bool:
    """Whether two labels differ in levels alone: 'C(x)[T.1]' and 'C(x)[T.4]', 'x=1' and 'x=4', 'x_1' and 'x_4'."""
    if [*map(_plain, _LEVEL.findall(name))] != [*map(_plain, _LEVEL.findall(label))]:
        return True
    first, second = (_SUFFIX.sub("_", each) for each in (name, label))
    return first == second and sum(_SUFFIX.sub("_", each) == second for each in known) > 1
