"""A session of R, pasted or sunk into a file: which of its prints an output is of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.base import Entry
from outrisk.outputs.regression.regression_entry import FormulaEntry
from outrisk.readers import mixed_output, quantile_output, r_output
from outrisk.readers.cross_table import entries_of_cross_table
from outrisk.readers.r_call import call_of, is_of_some
from outrisk.readers.remarks import kept, remark
from outrisk.readers.same_model import may_be_of
from outrisk.readers.several_models import one_of_several
from outrisk.readers.source import Source

_PROMPT = re.compile(r"> ?(?=[\w.`\"'({!?#-])")
_MORE = re.compile(r"\+ ")
_CALL = re.compile(r"^Call:", re.M)
_TABLE = re.compile(r"\b(?:table|xtabs)\(.*[$~,]")
_ALONE = ("lm", "glm", "glm.nb", "coxph", "polr", "multinom", "svyglm")  # which print nothing above their call
_MADE = re.compile(r"([\w.]+)\s*(?:<-|=)(?!=)\s*(.+)|(.+?)\s*->\s*([\w.]+)")  # what a name is given
_FIRST = re.compile(r"(?:(?!rbind|bind_rows)[\w.:]+\()*([\w.]+)(?!\()\b")  # what an expression begins with
_NAME = re.compile(r"(?<![\w.$])[\w.]+")
_OF_DATA = re.compile(r"(\bdata\s*=\s*)([\w.]+)(?=\s*[,)])")  # of a call as R prints it
_FIT = re.compile(r"(?:\w+::)?(?:lm|glm|glm\.nb|coxph|polr|multinom|svyglm|ivreg|plm|rq|lmer|glmer)\(")
_SHOWN = re.compile(r"(?:\w+\()*([\w.]+)\b(?!\()")
_PIPED = (".", "_")  # what a call says of data that a pipe gives it
_DATA = re.compile(r"^\s*data:  ?\S", re.M)  # of a test
_OF_SOME = re.compile(r"\bsubset\s*=(?!=)|\b(?:subset|filter)\(")
_FUNCTION = re.compile(r"Call:\s*(?:[\w.]+::)?([\w.]+)\(")
_READERS = (mixed_output, quantile_output, r_output)


@dataclass(frozen=True)
class Print:
    """What R printed below a command, '' where it is not shown; `made`: of data in either that take some records of
    others, what they were made by.
    """

    command: str
    text: str
    made: Mapping[str, str] = field(default_factory=dict)

    @property
    def whom(self) -> str:
        """Of whom a command is, where it, or what its data are made by, says that these are not all."""
        return self.made_whom or (self.command if is_of_some(self.command) else "")

    @property
    def made_whom(self) -> str:
        """What the data that a command names are made by, where these are some of others."""
        return next((self.made[name] for name in _NAME.findall(self.command) if name in self.made), "")


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
        return replace(source, text=models[0].text) if models and models[0].made else source
    by_text = {each.text: each for each in models}
    some = {text for text in by_text if not entry.where and call_of(text).subset}
    is_of = {text: _is_of(source, part, entry, codebook) for text, part in by_text.items() if number is None}
    for less in (some, {text for text in by_text if not call_of(text).function}):
        if {text for text, is_one in is_of.items() if is_one} - less:
            is_of |= dict.fromkeys(less, False)  # an output of all, or what is printed again without its call
    return replace(source, text=one_of_several([each.text for each in models], is_of, number, _listed(models), place))


def table_of_session(source: Source, entry: Entry, codebook: Codebook, place: str, number: int | None) -> Source:
    """The print of a session that is the cross table of an output; the source itself where it is none of commands.

    `number`: which of the tables of the output's variables. OutputError where there is none, or several.
    """
    prints = prints_of(source.text) if _is_page(source) else []
    if len(prints) < 2 or getattr(entry, "ways", None) is not None or getattr(entry, "weight", None):
        return source
    numbers = {each.text: _table(source, each, entry, codebook) for each in prints if each.text.strip()}
    fitting = [each for each in prints if numbers.get(each.text)]
    where = str(getattr(entry, "where", "") or "")
    if number is not None and 1 <= number <= len(fitting):
        return _held(source, fitting[number - 1], where, place)
    if number is None and not where:
        fitting = [each for each in fitting if not each.whom] or fitting
    if number is not None or len({(numbers[each.text], each.whom) for each in fitting}) != 1:
        what = f"{len(fitting)} tables" if fitting else "no table"
        way = "say which behind the file's name, as in '...#2', or paste it alone" if fitting else "paste it alone"
        listed = _listed(fitting or prints)
        raise OutputError(
            f"{place}: the session of R has {what} of the output's variables and levels; {way} ({listed})"
        )
    return _held(source, fitting[0], where, place)


def _held(source: Source, part: Print, where: str, place: str) -> Source:
    """The table of a print; OutputError where its command is of some people and the output is of all."""
    if part.whom and not where:
        raise OutputError(
            f"{place}: the table is of a subset, {part.whom[:80]}, the output is of all records; give the output its "
            "'where'"
        )
    if where and part.command:
        of = f"of a subset, {part.whom[:80]}" if part.whom else "of what its command does not say to be a subset"
        remark(place, f"the table is {of}; it is taken for the output's where: {where}")
    return replace(source, text=part.text)


def of_all_tests(source: Source, where: str | None, place: str) -> Source:
    """A session without the tests of subsets, which an output of all is none of."""
    prints = prints_of(source.text) if _is_page(source) and not where else []
    some = [each for each in prints if _DATA.search(each.text) and (each.made_whom or _OF_SOME.search(each.command))]
    if not some:
        return source
    remark(place, f"tests of subsets are left out, the output is of all records: {_listed(some)}")
    kept_ = [f"> {each.command}\n{each.text}" for each in prints if each not in some]
    return replace(source, text="\n".join(kept_))


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
    return [each for each in _with_data(found) if each.command or each.text.strip()]


def _with_data(prints: Iterable[Print]) -> Iterator[Print]:
    """Prints with what data in them were made by, of a fit when it was made."""
    made, fits = dict[str, str](), dict[str, Mapping[str, str]]()
    for each in prints:
        names = [*_NAME.findall(each.command), *(found[2] for found in _OF_DATA.finditer(each.text))]
        own: Mapping[str, str] = {name: made[name] for name in names if name in made}
        shown = _SHOWN.match(each.command)
        yield replace(each, made=fits.get(shown[1], own) if shown else own)
        given = _MADE.fullmatch(each.command)
        if given is None:
            continue
        name, by = given[1] or given[4], given[2] or given[3]
        first = _FIRST.match(by)
        whom = by if is_of_some(by) else made.get(first[1], "") if first else ""
        for names_of in (made, fits):
            names_of.pop(name, None)
        if _FIT.match(by):
            fits[name] = own
        elif whom:
            made[name] = whom


def _is_page(source: Source) -> bool:
    return not (source.sheets or source.document or source.chosen or source.tables)


def _by_call(prints: Sequence[Print], place: str) -> Iterator[Print]:
    """Prints, those of several models apart; OutputError where it is not seen where these begin."""
    for each in prints:
        starts = [found.start() for found in _CALL.finditer(each.text)]
        functions = {found[1] for found in _FUNCTION.finditer(each.text)}
        if len(starts) < 2 or functions == {"rq"}:  # whose quantiles are told apart by its reader
            yield _of_data(each)
            continue
        others = functions - {*_ALONE}
        if others:
            raise OutputError(
                f"{place}: it has {len(starts)} models, also of {', '.join(sorted(others))}; give each output its own "
                "text"
            )
        for start, end in zip(starts, [*starts[1:], len(each.text)], strict=True):
            yield _of_data(Print(each.command, each.text[start:end], each.made))


def _of_data(part: Print) -> Print:
    """A print whose call says of its data what they were made by."""
    whom = part.whom
    made = {**part.made, **(dict.fromkeys(_PIPED, whom) if whom else {})}
    text = _OF_DATA.sub(lambda found: found[1] + made.get(found[2], found[2]), part.text)
    return replace(part, text=text, made={} if text == part.text else made)


def _reader(source: Source, part: Print) -> object | None:
    """The reader of R's regressions that knows a print."""
    alone = replace(source, text=part.text)
    return next((reader for reader in _READERS if reader.recognises(alone)), None)


def _is_of(source: Source, part: Print, entry: FormulaEntry, codebook: Codebook) -> bool:
    """Whether a print may be the regression of an entry, by its kind, its response and its variables."""
    reader = next(each for each in _READERS if each.recognises(replace(source, text=part.text)))
    with kept():
        return may_be_of(replace(source, text=part.text), entry, codebook, reader.read)


def _table(source: Source, part: Print, entry: Entry, codebook: Codebook) -> str:
    """The numbers of a print that has an output's levels, and whose command, where it names variables, has the output's
    variables; '' of another.
    """
    by = getattr(entry, "by", ())
    if _TABLE.search(part.command) and not all(re.search(rf"\b{re.escape(name)}\b", part.command) for name in by):
        return ""
    try:
        with kept():
            found = entries_of_cross_table(replace(source, text=part.text), entry, codebook, "")
    except OutputError:
        return ""
    return repr([each.values for each in found])


def _listed(prints: Sequence[Print]) -> str:
    """Prints by number: their calls, or the commands above them."""
    said = []
    for each in prints[:20]:
        call = each.text.partition("Call:")[2].strip().partition("\n\n")[0]
        said.append(" ".join((call or each.command).split())[:120] or "without its command")
    return "; ".join(f"{at}: {each}" for at, each in enumerate(said, 1))
