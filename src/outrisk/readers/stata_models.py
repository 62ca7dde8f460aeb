"""Which of the regressions, or margins, of a Stata session an output is of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.grammar import named_in
from outrisk.outputs.regression.cox_entry import CoxEntry
from outrisk.outputs.regression.margins_entry import MarginsEntry
from outrisk.outputs.regression.regression_entry import FormulaEntry
from outrisk.outputs.smooth.proportions import ProportionsEntry
from outrisk.outputs.tables.magnitudes import MagnitudesEntry
from outrisk.readers import stata_log
from outrisk.readers.remarks import remark
from outrisk.readers.same_model import may_be_of
from outrisk.readers.source import Source
from outrisk.readers.stata_data import as_fitted, fit_of, hold_records, hold_set, say_whose
from outrisk.readers.stata_session import Command, commands_of
from outrisk.readers.term_names import is_short_for

_OF_MARGINS = re.compile(r"\|.*(?:dy/dx|Margin)\s+(?:std\. err\.|Std\. Err\.)", re.I)
_AFTER = ("lincom", "nlcom", "contrast", "pwcompare", "test", "margins", "estat")
_BETWEEN = (*_AFTER, "predict", "display", "di", "estimates", "est", "eststo", "esttab", "testparm", "set")
_OF_INSTRUMENTS = re.compile(r"Sargan|Wu-Hausman|First-stage regression summary")


def regression_in(source: Source, entry: FormulaEntry, codebook: Codebook, place: str, number: int | None) -> Source:
    """The part of a log that has the regression of an output; the source itself where it is no log of several commands.

    `number`: which regression of the log, from 1. OutputError where none, or several, are of the output.
    """
    if not stata_log.recognises(source):
        return source
    commands = commands_of(source.text)
    tables = [each for each in commands if _has_coefficients(each)]
    if number is not None and not 1 <= number <= len(tables):
        raise OutputError(f"{place}: it has {len(tables)} regressions, and no regression {number} ({_listed(tables)})")
    if number is not None:
        return _part(source, tables[number - 1], commands, entry, place)
    if len(tables) == 1:
        return _part(source, tables[0], commands, entry, place)
    fitting = [each for each in tables if may_be_of(replace(source, text=each.text), entry, codebook, stata_log.read)]
    if len({each.text for each in fitting}) != 1:
        what = f"{len(fitting)} that may be" if fitting else "none that is"
        raise OutputError(
            f"{place}: it has {len(tables)} regressions, {what} the output's; say which behind the file's name, as in "
            f"'...#2', or paste it alone ({_listed(tables)})"
        )
    return _part(source, fitting[0], commands, entry, place)


def margins_in(source: Source, entry: MarginsEntry, codebook: Codebook, place: str, number: int | None) -> Source:
    """The part of a log that has the margins of an output; the source itself where it has no commands."""
    commands = commands_of(source.text)
    tables = [each for each in commands if any(_OF_MARGINS.search(line) for line in each.lines)]
    if len(commands) < 2 or not tables:
        return source
    if number is not None and not 1 <= number <= len(tables):
        raise OutputError(f"{place}: it has {len(tables)} tables of margins, and no table {number} ({_listed(tables)})")
    fitting = tables[number - 1 : number] if number is not None else [each for each in tables if _of_kind(each, entry)]
    if len({each.text for each in fitting}) != 1:
        raise OutputError(
            f"{place}: it has {len(fitting) or 'no'} tables of such margins; say which behind the file's name, as in "
            f"'...#2' ({_listed(tables)})"
        )
    _hold_fit(commands, fitting[0], entry, codebook, place)
    return replace(source, text=fitting[0].text)


def survey_in(source: Source, entry: MagnitudesEntry | ProportionsEntry, place: str, number: int | None) -> Source:
    """The part of a log that has the means or proportions of a survey of an output; the source itself where it has no
    commands.
    """
    commands = commands_of(source.text)
    tables = [each for each in commands if re.search(r"^\s*Survey: (?:Mean|Proportion) est", each.text, re.M)]
    if len(commands) < 2 or not tables:
        return source
    value, title = (entry.value, "Mean") if isinstance(entry, MagnitudesEntry) else (entry.event, "Proportion")
    names = (value, *entry.by)
    if number is not None and not 1 <= number <= len(tables):
        raise OutputError(f"{place}: it has {len(tables)} tables of surveys, and no table {number} ({_listed(tables)})")
    fitting = tables[number - 1 : number] if number is not None else [
        each
        for each in tables
        if f"Survey: {title}" in each.text
        and all(re.search(rf"(?<![\w~]){re.escape(name)}(?![\w~])", each.text) for name in names)
        and (entry.by or not each.has("over"))
    ]  # fmt: skip
    if len({each.text for each in fitting}) != 1:
        raise OutputError(
            f"{place}: it has {len(fitting) or 'no'} tables of {' and '.join(names)}; say which behind the file's "
            f"name, as in '...#2' ({_listed(tables)})"
        )
    hold_records(commands, fitting[0], entry.where or (entry.design.subpop if entry.design else ""), place)
    return replace(source, text=fitting[0].text)


def _of_kind(command: Command, entry: MarginsEntry) -> bool:
    """Whether a command has effects or predictions, as the entry, and of its variables where its rows name them."""
    effects = any("dy/dx" in line for line in command.lines)
    if (entry.dydx and not effects) or (entry.predictions and effects):
        return False
    asked = [each for each in (*entry.dydx, *entry.predictions) if each != "*"]
    return all(re.search(rf"(?<![\w~]){re.escape(each)}(?![\w~])", command.text) for each in asked)


def _part(source: Source, command: Command, commands: Sequence[Command], entry: FormulaEntry, place: str) -> Source:
    """The print of a command below the command that fitted it."""
    fitted = as_fitted(commands, command)
    if fitted is None:
        remark(
            place, f"the log has no command of the fit that `{command.said[:60]}` shows: it is taken for the output's"
        )
        fitted = command
    if isinstance(entry, CoxEntry):
        hold_set(commands, command, entry.where, place, entry.response, entry.status)
    say_whose(commands, command, place)
    return replace(source, text="\n".join([fitted.text, *_tests_below(commands, command)]))


def _tests_below(commands: Sequence[Command], command: Command) -> Iterator[str]:
    """Texts of the tests of instruments below a command (`estat overid`), up to the next that may fit another model."""
    below = commands[next(at for at, each in enumerate(commands) if each is command) + 1 :]
    for each in takewhile(lambda other: other.name in (*_BETWEEN, ""), below):
        if each.name == "estat" and _OF_INSTRUMENTS.search("\n".join(each.lines)):
            yield each.text


def _hold_fit(
    commands: Sequence[Command], command: Command, entry: MarginsEntry, codebook: Codebook, place: str
) -> None:
    """OutputError where margins go on from a fit of other records, by other weights or of other variables."""
    fit = fit_of(commands, command)
    if fit is None:
        hold_records(commands, command, entry.where, place)
        return
    hold_records(commands, command, entry.where, place, " and ".join(filter(None, (fit.subset, command.subset))))
    weight = fit.weight.partition("=")[2]
    if weight != entry.weight and not (fit.weight and entry.weight and weight not in codebook):
        raise OutputError(
            f"{place}: the fit of its margins, `{fit.said[:60]}`, is weighted by {weight or 'nothing'}, the output by "
            f"{entry.weight or 'nothing'}; correct it"
        )
    words = {word for each in fit.arguments for word in re.findall(r"[A-Za-z_][\w~]*", re.sub(r"\b\w*\.", "", each))}
    named = {name for name in codebook.names for word in words if word == name or is_short_for(word, name)}
    asked = set(named_in(entry.formula, codebook.names))
    if words and all(word in codebook for word in words) and named != asked:
        raise OutputError(
            f"{place}: its margins go on from `{fit.said[:80]}`, and the output's model is {entry.formula}; give those "
            "of its own model"
        )


def _has_coefficients(command: Command) -> bool:
    return command.name not in _AFTER and stata_log.recognises(Source("", "\n".join(command.lines)))


def _listed(tables: Sequence[Command]) -> str:
    said = [each.said.splitlines()[0][:50] if each.said else "without its command" for each in tables[:20]]
    return "; ".join(f"{at}: {each}" for at, each in enumerate(said, 1))
