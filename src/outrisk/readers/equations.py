"""Tables of several equations: which outcome of a multinomial logit each row is of, and which is the base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from outrisk.codebook import Codebook, format_value
from outrisk.errors import OutputError
from outrisk.readers.term_names import levels_of

ALONE = ""  # the one equation of any other kind


def equations_of(
    outcomes: Sequence[str], base: str, response: str, codebook: Codebook, place: str
) -> tuple[dict[str, list[int]], str]:
    """Rows of each outcome, and the base; OutputError unless the outcomes are all levels of the response but one.

    `outcomes` (rows,): as printed, or '#2' for the second of those that are not the first level; `base`: as printed,
    '' where the table does not say it.
    """
    if response not in codebook:
        raise OutputError(f"{place}: the response '{response}' of a mnlogit must be a variable; derive one")
    levels = [format_value(value) for value in codebook[response].values]
    known = f"levels of '{response}' are {', '.join(levels[:20])}"
    if not outcomes or not all(outcomes):
        raise OutputError(f"{place}: the table does not say which outcome each coefficient is of; {known}")
    found: dict[str, list[int]] = {}
    read = {
        text: _outcome(text, response, levels, codebook, place) for text in dict.fromkeys([*outcomes, base]) if text
    }
    for number, text in enumerate(outcomes):
        found.setdefault(read[text], []).append(number)
    left = [level for level in levels if level not in found]
    if len(set(read.values())) < len(read) or len(left) != 1 or (base and read[base] != left[0]):
        said = f"and says that the base is {base}" if base else "and one level, the base, must have none"
        raise OutputError(f"{place}: the table has equations for {', '.join(dict.fromkeys(outcomes))}, {said}; {known}")
    return found, left[0]


def _outcome(text: str, response: str, levels: Sequence[str], codebook: Codebook, place: str) -> str:
    if text.startswith("#"):
        at = int(text[1:])
        found = list(levels[at : at + 1])
    else:
        bare = text.removeprefix(response).lstrip("= ") or text
        found = levels_of(codebook[response], text) or levels_of(codebook[response], bare)
    if len(found) != 1:
        known = ", ".join(levels[:20])
        raise OutputError(
            f"{place}: an equation is of '{text}', which is no level of '{response}'; levels are {known}"
            f"{codebook[response].if_merged}"
        )
    return found[0]


def same_terms(equations: Mapping[str, Sequence[int]], names: Sequence[object], place: str) -> None:
    """OutputError unless each equation has the same terms."""
    first, *others = ({names[row] for row in rows} for rows in equations.values())
    if any(each != first for each in others):
        raise OutputError(f"{place}: its equations have not all the same coefficients; a mnlogit has, so complete it")
