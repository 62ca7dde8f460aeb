"""Entries that regressions of a session would be, ACRO's and those in files of the researcher's own."""

from __future__ import annotations

from typing import Any

from outrisk.acro.command import read_command
from outrisk.acro.proposed import BLANK, Proposed
from outrisk.acro.session import Result, Session
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.printed_number import read_printed
from outrisk.readers.source import Source
from outrisk.readers.statsmodels_summary import covariance_of
from outrisk.readers.values import READERS

_KINDS = {"logit": "logit", "logitr": "logit", "probit": "probit", "probitr": "probit", "ols": "ols", "olsr": "ols"}


def of_regression(session: Session, result: Result, prefix: str) -> Proposed:
    """A regression: the files of its head and its coefficients."""
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
        linear = facts.get("model", "").casefold() in ("ols", "wls")
        covariance = covariance_of(robust, linear) if robust != "cluster" else ""
        if covariance:
            entry["covariance"] = covariance
        else:  # the file of coefficients does not say it
            entry["release"] = ["coefficients"]
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


def of_custom(session: Session, result: Result, prefix: str) -> Proposed:
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
