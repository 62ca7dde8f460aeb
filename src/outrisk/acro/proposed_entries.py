"""What each output of a session would be in a study: its entries, what is not known, why one is not covered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from outrisk.acro.command import Command, read_command
from outrisk.acro.session import OWN, Result, Session
from outrisk.errors import OutRiskError
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.printed_number import read_printed
from outrisk.readers.source import Source
from outrisk.readers.table_layout import STATISTICS
from outrisk.readers.values import READERS

State = Literal["assessed", "needs input", "not covered"]
BLANK = "???"  # what could not be known, in a study
_KINDS = {"logit": "logit", "logitr": "logit", "probit": "probit", "probitr": "probit", "ols": "ols", "olsr": "ols"}
_SHOW = {"index": "row_percentages", "columns": "column_percentages", "all": "proportions"}
_PICTURES = ("histogram", "pie chart", "survival plot")


@dataclass(frozen=True)
class Proposed:
    """An output as entries of a study. blanks: what a person has to say, each with its reason; notes: what was taken.

    n: records that it says it rests on (None: it does not say). agreement: how it was verified, if it was.
    """

    result: Result
    state: State
    entries: tuple[Mapping[str, Any], ...] = ()
    blanks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    n: int | None = None
    agreement: str = ""
    others: tuple[Mapping[str, Any], ...] = field(default=())  # further entries that it may be instead


def propose_entries(session: Session, prefix: str) -> list[Proposed]:
    """Every output of the session, in its order; `prefix` leads from the study to the folder."""
    found = [_proposed(session, result, prefix) for result in session.results]
    frames = [name for result in session.results for name in read_command(result.command).frames]
    usual = max(dict.fromkeys(frames), key=frames.count, default="")
    models = [entry for each in found for entry in each.entries if each.result.type == "regression"]
    return [_with_subset(_with_model(each, models), usual) for each in found]


def _with_subset(proposed: Proposed, usual: str) -> Proposed:
    """The subset where the command names one; where it uses another data frame than most, that is to be said."""
    command = read_command(proposed.result.command)
    if proposed.state == "not covered" or not command.whole:
        return proposed
    where = {"where": command.where} if command.where else {}
    entries = tuple({**entry, **where} for entry in proposed.entries)
    blanks = [f"{BLANK} where: the command computes with {text}, of which nothing is known" for text in command.unread]
    other = [name for name in command.frames if name != usual]
    if other and not command.where:
        blanks.append(f"{BLANK} where: it is computed on '{other[0]}', not on '{usual}'; say on which records")
    state: State = "needs input" if blanks else proposed.state
    blanks = [*proposed.blanks, *blanks]
    return Proposed(proposed.result, state, entries, tuple(blanks), proposed.notes, proposed.n, others=proposed.others)


def _with_model(proposed: Proposed, models: Sequence[Mapping[str, Any]]) -> Proposed:
    """A table of coefficients without its model: it may be one of the session's models printed again."""
    if proposed.others or proposed.result.type != "custom" or not proposed.entries or "formula" in proposed.entries[0]:
        return proposed
    entry = proposed.entries[0]
    others = tuple({**model, **entry} for model in models if model.get("kind") == entry.get("kind", model.get("kind")))
    return Proposed(
        proposed.result, proposed.state, proposed.entries, proposed.blanks, proposed.notes, proposed.n, others=others
    )


def _proposed(session: Session, result: Result, prefix: str) -> Proposed:
    if result.key.endswith(OWN):
        return Proposed(result, "not covered", notes=("a summary for the checker, not a release",))
    if result.type in _PICTURES or (result.files and all(name.lower().endswith(".png") for name in result.files)):
        why = f"a picture ({result.type}) holds no numbers that can be read; give its numbers as a table"
        return Proposed(result, "not covered", notes=(why,))
    if not result.files:
        return Proposed(result, "not covered", notes=("it has no file",))
    absent = [name for name in result.files if not (session.folder / name.partition("#")[0]).is_file()]
    if absent:
        return Proposed(result, "needs input", blanks=(f"{BLANK} the file {absent[0]} is not in the folder",))
    try:
        if result.type == "regression":
            return _regression(session, result, prefix)
        if result.type == "custom":
            return _custom(session, result, prefix)
        return _table(session, result, prefix)
    except OutRiskError as error:
        return Proposed(result, "needs input", blanks=(f"{BLANK} {error}",))


def _regression(session: Session, result: Result, prefix: str) -> Proposed:
    at = 1 if len(result.files) > 1 else 0
    source = session.source(result, result.files[0])
    table = _coefficients(session.source(result, result.files[at]))
    head = source if at else None
    facts = _facts(head) if head is not None else dict(table.single) if table else {}
    kind = _KINDS.get(result.method) or (table.kind if table else "")
    if not kind or table is None:
        return Proposed(result, "not covered", notes=(f"no regression of the kind '{result.method}' is known",))
    command, notes = read_command(result.command), list[str]()
    entry: dict[str, Any] = {"kind": kind, "name": result.key}
    response = facts.get("dep. variable", "") or table.response
    if command.formula:
        entry["formula"] = command.formula
    else:
        entry["response"] = response or BLANK
        if not command.whole:
            notes.append(
                "the command was cut off at its first line: the formula is that of the table's terms, and a subset is "
                "not known"
            )
    entry["values"] = f"{prefix}{result.files[at]}"
    robust = facts.get("covariance type", "nonrobust")
    if robust != "nonrobust":
        notes.append(f"standard errors are {robust}: they, limits and p-values are left out")
    n = read_printed(facts.get("no. observations", table.single.get("n", "")))
    blanks = () if response or command.formula else (f"{BLANK} response: the table does not say it",)
    return Proposed(
        result,
        "assessed" if command.whole else "needs input",
        (entry,),
        (*blanks, *(() if command.whole else (f"{BLANK} where: the command was cut off; say on which records",))),
        tuple(notes),
        int(n.value) if n else None,
    )


def _facts(head: Source) -> dict[str, str]:
    """The head of a model: labels and values in pairs."""
    found = {}
    for row in head.grid:
        for label, value in zip(row[::2], row[1::2], strict=False):
            found[label.strip().rstrip(":").casefold()] = value.strip()
    return found


def _coefficients(source: Source) -> Coefficients | None:
    reader = next((reader for _, reader in READERS if reader.recognises(source)), None)
    return None if reader is None else reader.read(source)


def _custom(session: Session, result: Result, prefix: str) -> Proposed:
    """A file that the researcher added: a table of coefficients, if a reader knows it."""
    name = result.files[0]
    if name.rpartition(".")[2].lower() not in ("csv", "txt", "html", "htm", "log", "xlsx"):
        return Proposed(result, "not covered", notes=("a file of the researcher's own, of no form that is read",))
    table = _coefficients(session.source(result, name))
    if table is None:
        return Proposed(result, "not covered", notes=("a file of the researcher's own, of no form that is read",))
    entry: dict[str, Any] = {"name": result.key, "values": f"{prefix}{name}"}
    entry |= {"kind": table.kind} if table.kind else {}
    entry |= {"response": table.response} if table.response else {}
    n = read_printed(table.single.get("n", ""))
    missing = [part for part in ("kind", "response") if part not in entry]
    blanks = tuple(f"{BLANK} {part}: the file does not say it" for part in missing)
    return Proposed(result, "needs input" if blanks else "assessed", (entry,), blanks, (), int(n.value) if n else None)


def _table(session: Session, result: Result, prefix: str) -> Proposed:
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
