"""What each output of a session would be in a study: its entries, what is not known, why one is not covered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from outrisk.acro.command import read_command
from outrisk.acro.proposed import BLANK, Proposed, State
from outrisk.acro.proposed_regressions import of_custom, of_regression
from outrisk.acro.proposed_tables import of_table
from outrisk.acro.session import OWN, Result, Session
from outrisk.errors import OutRiskError

_PICTURES = ("histogram", "pie chart", "survival plot")


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
            return of_regression(session, result, prefix)
        if result.type == "custom":
            return of_custom(session, result, prefix)
        return of_table(session, result, prefix)
    except OutRiskError as error:
        return Proposed(result, "needs input", blanks=(f"{BLANK} {error}",))
