"""Whether a printed regression is of the response, of the records and by the weights that the study says; and whether
it may be the one that an output asks for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.grammar import named_in
from outrisk.outputs.base import Entry
from outrisk.outputs.regression.cox_entry import CoxEntry
from outrisk.outputs.regression.regression_entry import FormulaEntry
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.remarks import remark
from outrisk.readers.source import Source
from outrisk.readers.term_names import is_short_for, levels_of, read_term

_CHANGES = re.compile(r"\b(?:log|log2|log10|log1p|sqrt|exp|scale|rank|diff|lag)(?=\()|[-+*/^!<>]|!=")
_SOME = re.compile(  # words that speak of some people
    r"(?i)\b(?:among (?:the )?\w+|\w+ only|only \w+|(?:restricted|limited|confined) to|sub-?(?:sample|set|group)s?|"
    r"exclud(?:ing|es|ed)|excluded)\b"
)
_MOST_LEVELS = 200
_WORDS = {"missing", "other", "none", "some", "total", "both"}  # levels that words about a table name by chance
_RESPONSE = re.compile(r"(?i)\bdependent variables?(?: is|:| =)\s*([^.;]+)")
_IS = re.compile(r"""(?:I\()?\s*`?([\w.]+)`?\s*==\s*(?:"([^"]*)"|'([^']*)'|([\w.]+))\s*\)?""")


def hold_response(printed: str, said: str, codebook: Codebook, place: str, where: str | None = None) -> None:
    """OutputError where the response that is printed is another than the study's, or a level of whom the model is; a
    remark where it names none.
    """
    if not printed or not said or _bare(printed) == _bare(said):
        return
    theirs, own = _variables(printed, codebook), _variables(said, codebook)
    way = "correct the output, or give the table of its own model"
    of = [name for name in codebook.names if levels_of(codebook[name], printed)]
    if of and not theirs and not where:
        raise OutputError(
            f"{place}: above its column stands '{printed}', a level of '{of[0]}'; give the output its 'where', or take "
            "it out where that is not of whom the model is"
        )
    if not theirs and not _changes(printed):
        if not any(is_short_for(printed, name) for name in own or [said]):
            remark(place, f"its response is called '{printed}', which is no variable; it is taken for '{said}'")
        return
    other = (own and not theirs & own) or _changes(printed) != _changes(said)
    if other or not _same_level(printed, said, codebook):
        raise OutputError(f"{place}: the table is of the response '{printed}', the output says '{said}'; {way}")


def hold_subset(table: Coefficients, entry: FormulaEntry, place: str) -> None:
    """OutputError where a table of some records is given to an output of all."""
    if not table.subset and table.of_all and entry.where:
        remark(place, "its call names no subset: that its data are those of the output's where alone is not to be seen")
    if not table.subset:
        return
    if not entry.where:
        raise OutputError(
            f"{place}: the table is of a subset, {table.subset[:80]}, the output is of all records; give the output "
            "its 'where'"
        )
    remark(place, f"the table is of a subset, {table.subset[:80]}; it is taken for the output's where: {entry.where}")


def hold_words(
    words: str, entry: Entry, names: Sequence[str], codebook: Codebook, place: str, response: str = ""
) -> None:
    """A line where the words about a table speak of some people, or of a variable beside the `names` of an output of
    all records; OutputError where they say so of a level, or say another response.
    """
    theirs = {name for found in _RESPONSE.findall(words) for name in _variables(found, codebook)}
    if response and theirs and not theirs & _variables(response, codebook):
        raise OutputError(
            f"{place}: the words about the table say the dependent variable {', '.join(sorted(theirs))}, the output "
            f"says '{response}'; correct the output, or give the table of its own model"
        )
    if getattr(entry, "where", None):
        return
    rest = [name for name in codebook.names if name not in names]
    for name in rest:
        found = re.search(rf"(?i)\b{re.escape(name)} ?==? ?[\"']?([\w.-]+)", words)
        if found and levels_of(codebook[name], found[1]):
            raise OutputError(
                f"{place}: the words about the table say '{found[0]}', the output is of all records; give it its "
                "'where', or take the words out"
            )
    some = [f"'{found[0]}'" for found in _SOME.finditer(words)]
    for name in rest:
        levels = [
            level for level in _names_of_levels(codebook[name]) if re.search(rf"(?i)\b{re.escape(level)}s?\b", words)
        ]
        some += [f"'{levels[0]}', a level of '{name}'"] if len(levels) == 1 else []
    some += [f"'{name}'" for name in rest if len(name) > 2 and re.search(rf"(?i)\b{re.escape(name)}\b", words)]
    if some:
        remark(
            place,
            f"the words about the table speak of {', '.join(dict.fromkeys(some))}; it is taken to be of all records: "
            "give the output its 'where' if it is not",
        )


def _names_of_levels(variable: Variable) -> list[str]:
    """What levels are called in words, numbers apart; none of a variable of many."""
    names = (*variable.labels, *variable.descriptions) if variable.size <= _MOST_LEVELS else ()
    return [name for name in names if len(name) > 3 and not re.match(r"[\d.-]", name) and name.casefold() not in _WORDS]


def hold_weight(table: Coefficients, weight: str, codebook: Codebook, place: str) -> None:
    """OutputError where the study says another weight than the table."""
    if weight and table.weighted and table.weight in codebook and table.weight != weight:
        raise OutputError(
            f"{place}: the table is weighted by '{table.weight}', the output says weight: {weight}; correct it"
        )
    if weight and table.unweighted:
        raise OutputError(f"{place}: the table is not weighted, the output says weight: {weight}; correct it")


def hold_cox(table: Coefficients, entry: CoxEntry, codebook: Codebook, place: str) -> None:
    """OutputError where status, event, strata or ties that a table prints are not those that the study says."""
    for name, printed in (("status", table.status), ("event", table.event), ("ties", table.ties)):
        own = str(getattr(entry, name))
        if not printed or name not in entry.model_fields_set or own == printed:
            continue
        status = entry.status or table.status
        if name == "event" and status in codebook:
            levels = [levels_of(codebook[status], each) for each in (printed, own)]
            if levels[0] == levels[1]:
                continue
        raise OutputError(f"{place}: the {name} of the table is '{printed}', the output says {name}: {own}; correct it")
    if table.strata and "strata" in entry.model_fields_set and {*table.strata} != {*entry.strata}:
        raise OutputError(
            f"{place}: the table is stratified by {', '.join(table.strata)}, the output by "
            f"{', '.join(entry.strata) or 'nothing'}; correct it"
        )
    if table.unstratified and entry.strata:
        raise OutputError(f"{place}: the table is not stratified, the output has 'strata'; correct it")


def _bare(text: str) -> str:
    """A response without blanks, quotes and what makes a category of it."""
    text = re.sub(r"[\s`]|\bnp\.", "", text)
    while inner := re.fullmatch(
        r"(?:I|C|Q|factor|as\.factor|ordered|as\.ordered|as\.numeric|as\.integer)\((.+)\)", text
    ):
        text = inner[1].strip("\"'")
    return text.casefold()


def _variables(text: str, codebook: Codebook) -> set[str]:
    """Variables of the codebook that a response names, in small letters or capitals."""
    text = re.sub(r"""==\s*(?:"[^"]*"|'[^']*'|[\w.]+)|\[[^\]]*\]""", "", text)
    words = {word.casefold() for word in re.findall(r"[\w.~]+", text)}
    short = {name for name in codebook.names for word in words if is_short_for(word, name.casefold())}
    return {name for name in codebook.names if name.casefold() in words} | short


def _changes(text: str) -> set[str]:
    """What is done to a response: functions and signs, but for what makes whole numbers or categories of it."""
    return {*_CHANGES.findall(re.sub(r"""==\s*(?:"[^"]*"|'[^']*'|[\w.-]+)|`[^`]*`|\bnp\.""", "", text))}


def _same_level(printed: str, said: str, codebook: Codebook) -> bool:
    """Whether `x == level` of the one is the event of the other: the last level of an `x` that stands alone."""
    theirs, own = _IS.fullmatch(printed.strip()), _IS.fullmatch(said.strip())
    found = theirs or own
    if found is None or found[1] not in codebook:
        return True
    variable = codebook[found[1]]
    levels = []
    for each in (theirs, own):
        if each is None:
            last = [label for label in variable.labels if label != "Missing"][-1:]
            levels.append(last)
        else:
            levels.append(levels_of(variable, next(text for text in each.groups()[1:] if text is not None)))
    return levels[0] == levels[1]


def may_be_of(source: Source, entry: FormulaEntry, codebook: Codebook, read: Callable[[Source], Coefficients]) -> bool:
    """Whether a regression may be that of an entry: its kind, its response and the variables of its terms."""
    try:
        table = read(source)
        names = {name for row, _ in table.rows for name, _ in _term(row, codebook)}
    except OutputError:
        return False
    kinds = (table.kind,) if table.kind else table.kinds
    if kinds and entry.kind not in kinds:
        return False
    left, _, right = entry.formula.partition("~")
    response = (left or entry.response).strip().strip("`")
    if table.response and response and table.response != response and not is_short_for(table.response, response):
        return False
    asked = (entry.formula and right.strip()) or " ".join(entry.terms)
    return not asked or bool(entry.keep) or names == set(named_in(asked, codebook.names))


def _term(row: str, codebook: Codebook) -> tuple[tuple[str, str], ...]:
    return () if row.startswith(("/", "alpha", "var(", "sd(")) else read_term(row, codebook, codebook.names, "")
