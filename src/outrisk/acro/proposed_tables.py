"""Entries that tables of a session would be, by their commands and their cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from outrisk.acro.command import Command, read_command
from outrisk.acro.proposed import BLANK, Proposed, State
from outrisk.acro.session import Result, Session
from outrisk.readers.table_layout import STATISTICS

_SHOW = {"index": "row_percentages", "columns": "column_percentages", "all": "proportions"}


def of_table(session: Session, result: Result, prefix: str) -> Proposed:
    """A table of counts or statistics, or a survival table."""
    command, file = read_command(result.command), f"{prefix}{result.files[0]}"
    if "surv" in result.method.replace(" ", "_"):
        return _survival(result, command, file)
    by = [*command.rows, *command.columns] or list(result.independent)
    notes = list[str]()
    if not by or "?" in by:
        return Proposed(result, "needs input", blanks=(f"{BLANK} by: the variables of the table are not known",))
    base: dict[str, Any] = {"name": result.key, "by": by}
    if _zeros_for_withheld(session, result):
        why = f"{BLANK} suppressed cells read 0 as cells of nobody do; give the table with them empty"
        return Proposed(result, "needs input", ({**base, "values": file},), (why,))
    statistics = [STATISTICS.get(word.casefold(), word) for word in command.aggfunc]
    values = command.values or (result.dependent if result.dependent != ("unknown",) else ())
    if not command.values and not command.aggfunc:
        entry = {"kind": "frequencies", **base}
        if command.normalize:
            entry["show"] = _SHOW.get(command.normalize, "proportions")
        protection = _protection(session, result)
        entry |= {"protection": protection} if protection else {}
        return Proposed(result, "assessed", ({**entry, "values": file},), (), tuple(notes))
    if len(values) != 1 or not statistics:
        blank = "one variable a table" if values else "value: the variable of the cells is not known"
        return Proposed(result, "needs input", ({**base, "values": file},), (f"{BLANK} {blank}",))
    if result.mitigation == "round" and not set(statistics) <= {"sum", "count"}:
        why = f"{', '.join(statistics)} rounded to base {result.base}: only counts and sums are read rounded"
        return Proposed(result, "not covered", notes=(why,))
    entries = list[Mapping[str, Any]]()
    protection = _protection(session, result)
    base |= {"protection": protection} if protection else {}
    moments = [each for each in statistics if each in ("mean", "sd", "sum", "count")]
    if moments:
        entries.append({"kind": "magnitudes", **base, "value": values[0], "statistics": moments, "values": file})
    ranks = [each for each in statistics if each in ("median", "min", "max")]
    if ranks:
        name = {"name": f"{result.key} (quantiles)"} if moments else {}
        entries.append({"kind": "quantiles", **base, **name, "value": values[0], "quantiles": ranks, "values": file})
    if "mode" in statistics:
        name = {"name": f"{result.key} (mode)"} if entries else {}
        entries.append({"kind": "mode", **base, **name, "variable": values[0], "values": file})
    unknown = [each for each in statistics if each not in (*moments, *ranks, "mode")]
    blanks = tuple(f"{BLANK} the statistic '{each}' is not known here; it is left out" for each in unknown)
    state: State = "needs input" if not entries or blanks else "assessed"
    return Proposed(result, state, tuple(entries), blanks, tuple(notes))


def _zeros_for_withheld(session: Session, result: Result) -> bool:
    """Whether suppressed counts are written as 0, as acro does where zeros are not disclosive."""
    if result.mitigation != "suppress" or session.config.get("zeros_are_disclosive", True):
        return False
    texts = set(flagged_texts(session, result).values())
    return bool(texts & {"0", "0.0"}) and texts <= {"0", "0.0", "", "nan"}


def _protection(session: Session, result: Result) -> dict[str, Any]:
    """What is done to a table, by its cells and not by its label."""
    if result.mitigation == "round" and result.base:
        return {"round_to": result.base}
    texts = flagged_texts(session, result)
    if result.mitigation != "suppress" or not texts or any(text not in ("", "nan") for text in texts.values()):
        return {}
    found: dict[str, Any] = {"threshold": max(2, session.appetite.safe_threshold)}
    if session.config.get("zeros_are_disclosive", True):
        found["withhold_zeros"] = True
    if not result.below_threshold:
        found["known_threshold"] = False
    return found


def flagged_texts(session: Session, result: Result) -> dict[tuple[int, int], str]:
    """What stands in the flagged cells of a table, by row and column of its data cells."""
    grid = session.source(result).grid
    rows, columns = data_corner(grid, result)
    return {
        (row, column): grid[rows + row][columns + column]
        for row, column in sorted(result.flagged)
        if rows + row < len(grid) and columns + column < len(grid[0])
    }


def data_corner(grid: Sequence[Sequence[str]], result: Result) -> tuple[int, int]:
    """Row and column of the first data cell: behind header lines and the levels of the rows."""
    command = read_command(result.command)
    k = max(1, len(command.rows))
    header = 1
    for number, row in enumerate(grid[:6]):
        leading = next((at for at, cell in enumerate(row) if not cell), len(row))
        if number and leading == k and not any(row[k:]) and all(cell in command.rows for cell in row[:k]):
            header = number + 1
    return header, k


def _survival(result: Result, command: Command, file: str) -> Proposed:
    if len(command.rows) != 1 or len(command.columns) != 1:
        return Proposed(result, "needs input", blanks=(f"{BLANK} time and event: the command does not say them",))
    entry = {
        "kind": "survival",
        "name": result.key,
        "time": command.rows[0],
        "event": command.columns[0],
        "values": file,
    }
    return Proposed(result, "assessed", (entry,))
