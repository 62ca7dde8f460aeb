"""A session of R, pasted or sunk into a file: which of its prints an output is of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.base import Entry
from outrisk.outputs.regression.regression_entry import FormulaEntry
from outrisk.readers import mixed_output, quantile_output, r_output
from outrisk.readers.cross_table import entries_of_cross_table
from outrisk.readers.remarks import kept
from outrisk.readers.same_model import may_be_of
from outrisk.readers.source import Source

_PROMPT = re.compile(r"> ?(?=[\w.`\"'({!?#-])")
_MORE = re.compile(r"\+ ")
_CALL = re.compile(r"^Call:", re.M)
_TABLE = re.compile(r"\b(?:table|xtabs)\(.*[$~,]")
_ALONE = ("lm", "glm", "glm.nb", "coxph", "polr", "multinom", "svyglm")  # which print nothing above their call
_FUNCTION = re.compile(r"Call:\s*(?:[\w.]+::)?([\w.]+)\(")
_READERS = (mixed_output, quantile_output, r_output)


@dataclass(frozen=True)
class Print:
    """What R printed below a command, '' where it is not shown."""

    command: str
    text: str


def regression_of_session(
    source: Source, entry: FormulaEntry, codebook: Codebook, place: str, number: int | None
) -> Source:
    """The print of a session that has the regression of an output; the source itself where it has not several.

    `number`: which regression of it, from 1. OutputError where none, or several, are of the output.
    """
    if not _is_page(source):
        return source
    models = [each for each in _by_call(prints_of(source.text), place) if _reader(source, each) is not None]
    if len(models) < 2:
        return source
    if number is not None and not 1 <= number <= len(models):
        raise OutputError(f"{place}: it has {len(models)} regressions, and no regression {number} ({_listed(models)})")
    fitting = [models[number - 1]] if number else [each for each in models if _is_of(source, each, entry, codebook)]
    if len({each.text for each in fitting}) != 1:
        what = f"{len(fitting)} that may be" if fitting else "none that is"
        raise OutputError(
            f"{place}: it has {len(models)} regressions, {what} the output's; say which behind the file's name, as in "
            f"'...#2', or paste it alone ({_listed(models)})"
        )
    return replace(source, text=fitting[0].text)


def table_of_session(source: Source, entry: Entry, codebook: Codebook, place: str, number: int | None) -> Source:
    """The print of a session that is the cross table of an output; the source itself where it is none of commands.

    `number`: which of the tables of the output's variables. OutputError where there is none, or several.
    """
    prints = prints_of(source.text) if _is_page(source) else []
    if len(prints) < 2 or getattr(entry, "ways", None) is not None or getattr(entry, "weight", None):
        return source
    fitting = [each for each in prints if each.text.strip() and _is_table(source, each, entry, codebook)]
    if number is not None and 1 <= number <= len(fitting):
        return replace(source, text=fitting[number - 1].text)
    if number is not None or len({each.text for each in fitting}) != 1:
        what = f"{len(fitting)} tables" if fitting else "no table"
        way = "say which behind the file's name, as in '...#2', or paste it alone" if fitting else "paste it alone"
        listed = _listed(fitting or prints)
        raise OutputError(
            f"{place}: the session of R has {what} of the output's variables and levels; {way} ({listed})"
        )
    return replace(source, text=fitting[0].text)


def prints_of(text: str) -> list[Print]:
    """What a session printed, command by command; all of it where no prompt shows commands."""
    found, command, lines = list[Print](), "", list[str]()
    for line in text.splitlines():
        if prompt := _PROMPT.match(line):
            found.append(Print(command, "\n".join(lines)))
            command, lines = line[prompt.end() :].strip(), []
        elif command and not lines and _MORE.match(line):
            command = f"{command} {line[2:].strip()}"
        else:
            lines.append(line)
    found.append(Print(command, "\n".join(lines)))
    return [each for each in found if each.command or each.text.strip()]


def _is_page(source: Source) -> bool:
    return not (source.sheets or source.document or source.chosen or source.tables)


def _by_call(prints: Sequence[Print], place: str) -> Iterator[Print]:
    """Prints, those of several models apart; OutputError where it is not seen where these begin."""
    for each in prints:
        starts = [found.start() for found in _CALL.finditer(each.text)]
        functions = {found[1] for found in _FUNCTION.finditer(each.text)}
        if len(starts) < 2 or functions == {"rq"}:  # whose quantiles are told apart by its reader
            yield each
            continue
        others = functions - {*_ALONE}
        if others:
            raise OutputError(
                f"{place}: it has {len(starts)} models, also of {', '.join(sorted(others))}; give each output its own "
                "text"
            )
        for start, end in zip(starts, [*starts[1:], len(each.text)], strict=True):
            yield Print(each.command, each.text[start:end])


def _reader(source: Source, part: Print) -> object | None:
    """The reader of R's regressions that knows a print."""
    alone = replace(source, text=part.text)
    return next((reader for reader in _READERS if reader.recognises(alone)), None)


def _is_of(source: Source, part: Print, entry: FormulaEntry, codebook: Codebook) -> bool:
    """Whether a print may be the regression of an entry, by its kind, its response and its variables."""
    reader = next(each for each in _READERS if each.recognises(replace(source, text=part.text)))
    with kept():
        return may_be_of(replace(source, text=part.text), entry, codebook, reader.read)


def _is_table(source: Source, part: Print, entry: Entry, codebook: Codebook) -> bool:
    """Whether a print has an output's levels, and its command, where it names variables, the output's variables."""
    by = getattr(entry, "by", ())
    if _TABLE.search(part.command) and not all(re.search(rf"\b{re.escape(name)}\b", part.command) for name in by):
        return False
    try:
        with kept():
            entries_of_cross_table(replace(source, text=part.text), entry, codebook, "")
    except OutputError:
        return False
    return True


def _listed(prints: Sequence[Print]) -> str:
    """Prints by number: their calls, or the commands above them."""
    said = []
    for each in prints[:20]:
        call = each.text.partition("Call:")[2].strip().partition("\n\n")[0]
        said.append(" ".join((call or each.command).split())[:120] or "without its command")
    return "; ".join(f"{at}: {each}" for at, each in enumerate(said, 1))
