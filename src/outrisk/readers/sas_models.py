"""Which of the regressions in a listing of SAS an output is of; its event, status and levels by the codebook."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from outrisk.codebook import Codebook, format_value
from outrisk.errors import OutputError
from outrisk.grammar import named_in
from outrisk.outputs.regression.regression_entry import FormulaEntry
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.remarks import remark
from outrisk.readers.sas_fits import SasFit, fits_of
from outrisk.readers.sas_listing import is_listing, said_elsewhere, steps_of
from outrisk.readers.sas_regression import SasRegression, regression_of
from outrisk.readers.sas_whom import own_level, same_group, say_unseen
from outrisk.readers.source import Source
from outrisk.readers.term_names import levels_of, read_term

_NAMELEN = 20  # letters of a name that PROC LOGISTIC and GENMOD print
_IS = re.compile(r"""(?:I\()?\(?\s*`?(\w+)`?\s*==\s*["']?([\w.]+)["']?\s*\)?\)?""")


def has_regressions(source: Source) -> bool:
    """Whether a text is a listing of SAS with tables of coefficients."""
    return is_listing(source) and bool(fits_of(steps_of(source.text)))


def regression_in_listing(
    source: Source, entry: FormulaEntry, codebook: Codebook, place: str, number: int | None
) -> tuple[Coefficients, FormulaEntry]:
    """The regression of an output, and the output with what it does not say: its event. `number`: which regression of
    the listing, from 1. OutputError where none, or several, are of the output.
    """
    steps = steps_of(source.text)
    fits = fits_of(steps)
    fit = _chosen(fits, entry, codebook, place, number)
    found = regression_of(fit, place)
    for note in found.notes:
        remark(place, f"{note} are left out")
    say_unseen(fit.step, said_elsewhere(source.text, steps), entry.where, codebook, place)
    if found.table.subset and fit.step.groups and same_group(fit.step.groups, entry.where, codebook) is False:
        raise OutputError(f"{place}: the table is of {fit.step.whom}, the output's where is {entry.where}; correct one")
    constant = any(name.casefold() == "intercept" for name, _ in found.table.rows) or found.table.kind == "cox"
    if not constant and entry.formula and not re.search(r"[-+~]\s*[01]\b", entry.formula):
        raise OutputError(
            f"{place}: the table has no Intercept (NOINT), the output's model has one; write '- 1' in its formula"
        )
    entry = _with_event(found, entry, codebook, place)
    table = _with_status(found, entry, codebook, place)
    return _with_levels(table, codebook, place), entry


def _chosen(fits: Sequence[SasFit], entry: FormulaEntry, codebook: Codebook, place: str, number: int | None) -> SasFit:
    listed = "; ".join(f"{at}: {each.words}" for at, each in enumerate(fits[:20], 1))
    if number is not None and not 1 <= number <= len(fits):
        raise OutputError(f"{place}: it has {len(fits)} regressions, and no regression {number} ({listed})")
    if number is not None or len(fits) == 1:
        return fits[(number or 1) - 1]
    fitting = [each for each in fits if _fits(each, entry, codebook)]
    if len({(" ".join(each.text.split()), each.step.whom) for each in fitting}) != 1:
        what = f"{len(fitting)} that may be" if fitting else "none that is"
        raise OutputError(
            f"{place}: it has {len(fits)} regressions, {what} the output's; say which behind the file's name, as in "
            f"'...#2', or give it alone ({listed})"
        )
    return fitting[0]


def _fits(fit: SasFit, entry: FormulaEntry, codebook: Codebook) -> bool:
    """Whether a regression may be that of an entry: by its kind, response, variables and group."""
    whose = same_group(fit.step.groups, entry.where, codebook)
    if whose is False or (fit.step.groups and not entry.where):
        return False
    left, _, right = entry.formula.partition("~")
    response = (left or entry.response).strip().strip("`")
    try:
        table = regression_of(fit, "").table
    except OutputError:
        said = fit.dependent or fit.words.rpartition(" of ")[2]
        return said.casefold() == response.casefold() and entry.kind != "cox"
    if table.kind != entry.kind or (response and table.response.casefold() != response.casefold()):
        return False
    try:
        names = {
            name for row, _ in table.rows if row != "alpha" for name, _ in read_term(row, codebook, codebook.names, "")
        }
    except OutputError:
        return False
    asked = (entry.formula and right.strip()) or " ".join(entry.terms)
    return not asked or bool(entry.keep) or names == set(named_in(asked, codebook.names))


def _with_event(found: SasRegression, entry: FormulaEntry, codebook: Codebook, place: str) -> FormulaEntry:
    """The entry with the event that is modelled; OutputError where it says, or means, another."""
    if not found.event or entry.kind not in ("logit", "probit"):
        return entry
    said = entry.response or entry.formula.partition("~")[0].strip().strip("`")
    name = said or found.table.response
    if name not in codebook:
        shown = _IS.fullmatch(name)
        if shown and shown[1] in codebook:
            levels = (levels_of(codebook[shown[1]], each) for each in (shown[2], found.event))
            if next(levels) == next(levels) and shown[1].casefold() == found.table.response.casefold():
                return entry
        raise OutputError(
            f"{place}: the table models the probability of {found.table.response} = {found.event}, and the output's "
            f"response is '{name}', which is no variable; give it as a variable with 'event'"
        )
    variable = codebook[name]
    theirs = levels_of(variable, found.event)
    if len(theirs) != 1:
        raise OutputError(
            f"{place}: the table models the probability of {name} = {found.event}, which is no level of '{name}'; "
            f"levels are {', '.join(map(format_value, variable.values[:20]))}"
        )
    if entry.event != "":
        if levels_of(variable, format_value(entry.event)) != theirs:
            raise OutputError(
                f"{place}: the table models the probability of {name} = {theirs[0]}, the output says event: "
                f"{entry.event}; correct it, as all signs depend on it"
            )
        return entry
    if variable.numeric:
        if theirs != ["1"]:
            raise OutputError(
                f"{place}: the table models the probability of {name} = {theirs[0]}, the output that of 1, and all "
                f"signs are the other ones; fit it by MODEL {name}(EVENT='1'), or say event: {theirs[0]} of a category"
            )
        return entry
    if theirs[0] != format_value(variable.values[-1]) or len(variable.values) > 2:
        remark(
            place, f"the table models the probability of {name} = {theirs[0]}, which is taken for the output's event"
        )
    return entry.model_copy(update={"event": theirs[0]})


def _with_status(found: SasRegression, entry: FormulaEntry, codebook: Codebook, place: str) -> Coefficients:
    """The table of hazards with its status and the value of it that is the event."""
    if entry.kind != "cox":
        return found.table
    if not found.status:
        status = str(getattr(entry, "status", ""))
        if status:
            raise OutputError(
                f"{place}: the table has no 'Censoring Variable' in its 'Model Information': all have the event, and "
                f"the output has the status '{status}'; fit it by MODEL time*{status}(0)"
            )
        return found.table
    name = found.status
    if name not in codebook:
        raise OutputError(
            f"{place}: the table has the censoring variable '{name}', which is no variable of the codebook"
        )
    variable = codebook[name]
    levels = [format_value(value) for value in variable.values]
    censored = {level for text in found.censored for level in levels_of(variable, text)}
    events = [level for level in levels if level not in censored]
    if len(events) != 1:
        raise OutputError(
            f"{place}: the table takes {name} = {', '.join(found.censored)} as censored, which leaves "
            f"{', '.join(events) or 'nothing'} as the event; an output has one level"
        )
    return replace(found.table, status=name, event=events[0])


def _with_levels(table: Coefficients, codebook: Codebook, place: str) -> Coefficients:
    """The table with levels as the codebook has them, also those that SAS cuts off."""

    def whole(name: str) -> str:
        """The name with its levels; a number of 0 and 1 that is a category of these, as its level 1."""
        parts = []
        for part in name.split(":"):
            variable, equal, level = part.partition("=")
            known = _own(variable, codebook)
            own = next((each for each in codebook.variables if each.name == known), None)
            if own is not None and equal:
                parts.append(f"{known}={own_level(own, level, place)}")
            elif own is not None and not own.numeric and tuple(map(format_value, own.values)) == ("0", "1"):
                parts.append(f"{known}=1")
            else:
                parts.append(f"{known}{equal}{level}")
        return ":".join(parts)

    response = _own(table.response, codebook)
    return replace(
        table,
        rows=tuple((whole(name), texts) for name, texts in table.rows),
        bases=tuple(whole(name) for name in table.bases),
        response=response,
    )


def _own(name: str, codebook: Codebook) -> str:
    """The variable that is called so, in small letters or capitals, or cut off at the 20 letters of NAMELEN=."""
    found = [each for each in codebook.names if each.casefold() == name.casefold()]
    found = found or [each for each in codebook.names if each.casefold().startswith(name.casefold())]
    return found[0] if len(found) == 1 and len(name) in (len(found[0]), _NAMELEN) else name
