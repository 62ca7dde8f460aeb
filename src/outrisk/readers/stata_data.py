"""Whose data a table of a session of Stata is of: what was loaded, kept and changed above it, and by which fit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from outrisk.errors import OutputError
from outrisk.readers.remarks import remark
from outrisk.readers.stata_session import Command, commands_of
from outrisk.readers.term_names import is_short_for

_LOADING = re.compile(r"u|us|use|sysuse|webuse|import|insheet|infile|infix|clear")
_SELECTING = ("keep", "drop")
_CHANGING = re.compile(
    r"sample|bsample|collapse|contract|merge|mer|append|joinby|expand|reshape|winsor\w*|mvdecode|duplicates"
)
_MAKING = re.compile(r"g|ge|gen|gene\w*|egen|clonevar|encode|xtile")
_IN_PLACE = re.compile(r"replace|recode")
_FITTING = re.compile(
    r"reg\w*|areg|reghdfe|\w*logit|logistic|\w*probit|\w*poisson|nbreg|glm|stcox|xtreg|mixed|xtmixed|ivreg\w*|qreg"
)
_KEPT_FIT = re.compile(r"est|esti\w*")
_OF_SURVIVAL = re.compile(r"stcox|sts|strate|stptime")
_SHOWN = 3  # commands of a line that says what was done to data


def chosen_before(commands: Sequence[Command], command: Command) -> list[str]:
    """What the commands above one, and those of its own loop, say of whom its data are: 'keep if age > 30'."""
    above = commands[: next((at for at, each in enumerate(commands) if each is command), 0)]
    said, kept, made, loaded = list[str](), list[list[str]](), set[str](), ""
    steps = [*_steps(above), *(each for each in _steps([command]) if each.name != "restore" and not command.name)]
    for each in steps:
        if each.name == "preserve":
            kept.append(list(said))
        elif each.name == "restore" and kept:
            before = kept[-1] if each.has("preserve") else kept.pop()
            said = said if each.has("not") else list(before)
        elif _LOADING.fullmatch(each.name):
            other = loaded and _what(each) not in ("", loaded)
            said, made, loaded = [each.said] if each.subset or other else [], set(), _what(each) or loaded
        elif _MAKING.fullmatch(each.name):
            made |= set(" ".join(each.arguments).partition("=")[0].split()[-1:])
        elif _changes(each, made):
            said.append(each.said)
    return said


def hold_records(commands: Sequence[Command], command: Command, where: str, place: str, own: str = "") -> None:
    """OutputError where a table is of a subset and the output has no `where`, or where it is of weighted records; a
    line on what was done to the data above it. `own`: the subset of a command, where it is another's than its own.
    """
    hold_set(commands, command, where, place)
    groups = [each[1] for line in command.lines if (each := re.match(r"^\s*-> (\w+ = .+)$", line))][-1:]
    subset = " and ".join(each for each in (own or command.subset, *groups) if each)
    if command.weight:
        raise OutputError(
            f"{place}: the table of `{command.said[:60]}` is weighted ({command.weight}), which is not read"
        )
    _hold_subset(subset, where, place)
    say_whose(commands, command, place)


def hold_set(
    commands: Sequence[Command], command: Command, where: str, place: str, time: str = "", event: str = ""
) -> None:
    """OutputError where what `stset` above a table of survival says, or the table itself, is another `time` or `event`
    than the output's, another beginning of time, weighted, or of some records where the output has no `where`.
    """
    if not _OF_SURVIVAL.fullmatch(command.name):
        return
    text = "\n".join(command.lines)
    said = [each for each in _above(commands, command) if each.name == "stset" and each.arguments][-1:]
    set_ = said[0] if said else Command("", ())
    if set_.weight:
        raise OutputError(f"{place}: its records are weighted by `{set_.said[:80]}`, which is not read")
    if set_.has("origin|enter|time0"):
        raise OutputError(f"{place}: time begins, or ends, as `{set_.said[:80]}` says, which no output has")
    option, failure = (re.search(rf"\b{each}\((.+?)\)", set_.options) for each in ("if", r"f\w*"))
    _hold_subset(" and ".join(filter(None, (set_.subset, option[1] if option else ""))), where, place)
    for what, own, printed, typed in (
        ("time", time, r"(?i)analysis time _t:\s*(\w+)", set_.arguments[0] if said else ""),
        ("event", event, r"(?i)failure _d:\s*(\w+)", failure[1] if failure else ""),
    ):
        found = re.search(printed, text) or re.match(r"\s*(\w+)", typed)
        short = found is not None and (own.startswith(found[1]) or is_short_for(found[1], own))
        if own and found and found[1] != "1" and not short:
            raise OutputError(f"{place}: its {what} is '{found[1]}', the output says {what}: {own}; correct it")


def _hold_subset(subset: str, where: str, place: str) -> None:
    if subset and not where:
        raise OutputError(
            f"{place}: the table is of a subset, {subset[:80]}, the output is of all records; give the output "
            "its 'where'"
        )
    if subset:
        remark(place, f"the table is of a subset, {subset[:80]}; it is taken for the output's where: {where}")


def hold_above(lines: Sequence[str], at: int, where: str, place: str, time: str = "", event: str = "") -> None:
    """The same of a table that begins in a line of a log, of survival of a `time` and an `event`."""
    commands = commands_of("\n".join(lines[:at]))
    if commands:
        hold_set(commands, commands[-1], where, place, time, event)
        hold_records(commands, commands[-1], where, place)
        if "\n" in commands[-1].said:
            remark(place, "the command of the table stands in a loop: that it is of the output's variables is taken")


def say_whose(commands: Sequence[Command], command: Command, place: str) -> None:
    """Say what was done to the data above a table."""
    if macros := _macros(commands, command):
        remark(place, f"an 'if' or a weight in {', '.join(macros[:_SHOWN])} of `{command.said[:80]}` is not seen")
    above = chosen_before(commands, command)
    if above:
        shown = ", ".join(f"`{each[:80]}`" for each in above[-_SHOWN:])
        more = f" (and {len(above) - _SHOWN} more)" if len(above) > _SHOWN else ""
        remark(place, f"above the table the log has {shown}{more}: the data are taken to be those of the table")


def _macros(commands: Sequence[Command], command: Command) -> list[str]:
    """Macros of a command that may have a condition or a weight in them, by what the log says they are."""
    found = re.findall(r"`\w+'|\$\{?\w+\}?", command.said) if "\n" not in command.said else []
    defined = dict[str, str]()
    for each in _above(commands, command):
        if each.name in ("local", "loc", "global", "gl", "glo") and each.arguments:
            defined[each.arguments[0]] = each.said
    safe = [name for name, said in defined.items() if not re.search(r"\bi[fn]\b|\[", said)]
    return [each for each in found if re.sub(r"\W", "", each) not in safe]


def fit_of(commands: Sequence[Command], command: Command) -> Command | None:
    """The command whose fit one shows again, or goes on from; None where the log does not have it."""
    above = list(_above(commands, command))
    name = ""
    if _KEPT_FIT.fullmatch(command.name):
        name = command.arguments[1] if len(command.arguments) == 2 else ""
    for at in range(len(above) - 1, -1, -1):
        each = above[at]
        stored = each.arguments[1:2] if _KEPT_FIT.fullmatch(each.name) else ()
        own = re.search(r"\beststo\s+(\w+)\s*:", each.prefixes)
        if name:
            kept = each.name == "eststo" and each.arguments[:1] == (name,)
            kept = kept or (stored == (name,) and each.arguments[0].startswith("sto"))
            if own and own[1] == name:
                return each
            name = "" if kept else name
        elif stored and each.arguments[0].startswith("res"):
            name = stored[0]
        elif each.arguments and (_FITTING.fullmatch(each.name) or _same_name(each, command)):
            return each
    return None


def as_fitted(commands: Sequence[Command], command: Command) -> Command | None:
    """A command with its print; one that shows a fit again with the command of the fit in place of its own. None where
    the log does not have that.
    """
    again = command.name and (not command.arguments or _KEPT_FIT.fullmatch(command.name))
    if not again:
        return command
    fit = fit_of(commands, command)
    return None if fit is None else replace(fit, lines=command.lines)


def _above(commands: Sequence[Command], command: Command) -> Iterator[Command]:
    return _steps(commands[: next((at for at, each in enumerate(commands) if each is command), 0)])


def _steps(commands: Sequence[Command]) -> Iterator[Command]:
    """Commands one by one, those of a loop too."""
    for each in commands:
        if "\n" in each.said:
            yield from (Command(line, ()) for line in each.said.split("\n")[1:])
        else:
            yield each


def _what(command: Command) -> str:
    """The file that a command loads; '' for none."""
    using = re.search(r'\busing\s+("[^"]*"|\S+)', command.said)
    found = using[1] if using else " ".join(command.arguments[-1:])
    return "" if command.name == "clear" else found.strip('"')


def _changes(command: Command, made: set[str]) -> bool:
    """Whether a command changes whom data are of, or a variable that was not `made` in the session."""
    if command.name in _SELECTING:
        return bool(command.subset)
    if _IN_PLACE.fullmatch(command.name):
        names = {each.partition("=")[0] for each in command.arguments[:1]}
        return not names <= made and not command.has(r"g\w*|into|prefix|pre")
    return _CHANGING.fullmatch(command.name) is not None


def _same_name(fit: Command, command: Command) -> bool:
    return bool(command.name) and (fit.name.startswith(command.name) or command.name.startswith(fit.name))
