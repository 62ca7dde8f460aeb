"""Of whom a table of SAS is: groups of BY beside an output's `where`, what a listing does not say; levels cut off."""

from __future__ import annotations

import re
from collections.abc import Sequence

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.readers.remarks import remark
from outrisk.readers.sas_listing import Step
from outrisk.readers.term_names import levels_of

_IS = re.compile(r"(?<!\w)(\w+)\s*==\s*(?:'([^']*)'|\"([^\"]*)\"|([\w.+-]+))")
_AND = re.compile(r"\band\b|[&()\s]")
_EQUAL = re.compile(
    r"(?i)(?<![\w.])([a-z_]\w*)\s*(?:(?<![<>^])=|\beq\b)\s*['\"]?([\w.+-]+(?: [\w.+-]+)*?)(?=['\"\s)]|$)"
)
_EITHER = re.compile(r"\bor\b|\||\bnot\b|~")
_CUT = 8  # letters from which a level may be one that is cut off


def same_group(groups: Sequence[tuple[str, str]], where: str, codebook: Codebook) -> bool | None:
    """Whether a `where` has the levels of a group and no more; False where it has others, None where it does not say,
    or says something else too.
    """
    said = {} if _EITHER.search(where) else {found[1]: next(each for each in found.groups()[1:] if each is not None)
                                             for found in _IS.finditer(where)}  # fmt: skip
    known = not _AND.sub("", _IS.sub("", where)) and set(said) <= {named(name, codebook) for name, _ in groups}
    for name, level in groups:
        own = named(name, codebook)
        if not own or own not in said:
            known = False
        elif levels_of(codebook[own], level) != levels_of(codebook[own], said[own]):
            return False
    return True if known else None


def named(text: str, codebook: Codebook) -> str:
    """The variable of this name or label, in small letters or capitals; '' for none, or several."""
    plain = text.partition("(")[0].strip() or text
    if plain in codebook:
        return plain
    label = text.partition("(")[2].rstrip(")").casefold()
    found = [
        each.name
        for each in codebook.variables
        if each.name.casefold() == plain.casefold()
        or (each.label and each.label.casefold() in (plain.casefold(), label))
    ]
    return found[0] if len(found) == 1 else ""


def own_level(variable: Variable, text: str, place: str) -> str:
    """A level as the codebook has it: also one that has lost blanks, or is cut off at the width of a column."""
    if levels_of(variable, text):
        return text
    wanted = re.sub(r"\s", "", text)
    pairs = list(zip(variable.labels, variable.descriptions or variable.labels, strict=False))
    bare = [(label, {re.sub(r"\s", "", each) for each in (label, long)}) for label, long in pairs]
    found = [label for label, names in bare if wanted in names]
    if not found and len(wanted) >= _CUT:
        found = [label for label, names in bare if any(each.startswith(wanted) for each in names)]
    if len(found) > 1:
        raise OutputError(
            f"{place}: {text!r} may be {' or '.join(found)} of '{variable.name}', which it is cut off from"
        )
    return found[0] if found else text


def hold_whom(whom: str, where: str, place: str) -> None:
    """OutputError where a table of some records is given to an output of all; else a remark."""
    if not where:
        raise OutputError(
            f"{place}: the table is of a subset, {whom[:80]}, the output is of all records; give the output its 'where'"
        )
    remark(place, f"the table is of a subset, {whom[:80]}; it is taken for the output's where: {where}")


def say_unseen(step: Step, elsewhere: str, where: str, codebook: Codebook, place: str) -> None:
    """Say what a listing does not: a WHERE, of which it prints nothing. OutputError for one in its statements that is
    of other levels than the output's.
    """
    said = [] if _EITHER.search(step.subset) else _EQUAL.findall(step.subset)
    if same_group(said, where, codebook) is False:
        raise OutputError(
            f"{place}: the table is of {step.subset[:80]}, the output's where is {where}; correct one, or give the "
            "table of these records"
        )
    if elsewhere and not step.subset:
        remark(place, f"the text has the condition `{elsewhere[:80]}`; which of its tables are of it, it does not say")
    if where and not step.whom:
        remark(place, f"a listing of SAS does not say its WHERE: the table is taken to be of the output's, {where}")
