"""Names of coefficients as programs write them, read against the codebook: which variable, which level."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from outrisk.codebook import Codebook, Variable, format_value
from outrisk.errors import OutputError

Factor = tuple[str, str]  # a variable or an expression, and a level ('' for the number itself)
Term = tuple[Factor, ...]  # factors in a fixed order; () is the constant

CONSTANTS = frozenset({"intercept", "(intercept)", "_cons", "const", "constant", "(constant)", "cons", "_intercept"})
_BRACKETED = re.compile(r"(.+)\[(?:T\.|S\.|D\.)?([^\[\]]+)\]")  # C(v)[T.2], v[T.x], C(v, Treatment(reference=3))[T.1]
_WRAPPED = re.compile(r"(?:C|factor|as\.factor|ordered|relevel)\(\s*`?([^,()`]+?)`?\s*(?:,.*)?\)(.*)", re.S)
_STATA = re.compile(r"(\d+|[A-Za-z]\w*)?(bn?|o|n)?\.(.+)")
_CONTRAST = re.compile(r"(.+)\((\d+)\)")
_SQUARE = re.compile(r"I\((.+)(?:\*\*|\^)(\d)\)")
_POLYNOMIAL = re.compile(r"\.(L|Q|C)|\^\d")
_SHORT = re.compile(r"(\w*\.)?(\w+~\w*)(=.*)?", re.S)  # rate_marri~e, as Stata writes names beyond its column
_UNIT = re.compile(r"(?i),? \(?(?:in )?(?:years?|yrs?\.?|y|months?|weeks?|days?|hours?|kg|kg/m[²2]|cm|mm ?hg)\)?$")
_SEPARATORS = ("", "_", ".", "=", ":", "-", " ", "==", " = ")


def read_term(text: str, codebook: Codebook, names: Collection[str], place: str) -> Term:
    """The term that a coefficient's name stands for; OutputError where it is none, or may be several.

    `names`: variables it may be of. A level that is not said but counted, as in SPSS's sex(1), reads '#1'.
    """
    text = text.strip()
    if text.casefold() in CONSTANTS:
        return ()
    factors: list[Factor] = []
    for part in _split(text):
        factors += _factor(part, text, codebook, names, place)
    return tuple(sorted(factors))


def _split(text: str) -> list[str]:
    """The parts of an interaction: at ':', '#', ' * ' and ' by ' outside brackets."""
    parts, depth, start, at = [], 0, 0, 0
    while at < len(text):
        char = text[at]
        depth += (char in "([") - (char in ")]")
        if depth == 0:
            step = next((len(sign) for sign in ("##", "#", ":", " * ", " by ") if text.startswith(sign, at)), 0)
            if step and 0 < at < len(text) - step and not text.startswith(": ", at):
                parts.append(text[start:at])
                start = at = at + step
                continue
        at += 1
    return [part.strip() for part in [*parts, text[start:]]]


def _factor(part: str, whole: str, codebook: Codebook, names: Collection[str], place: str) -> list[Factor]:
    square = _SQUARE.fullmatch(part.replace(" ", ""))
    if square:
        return [(_expression(square[1]), "")] * int(square[2])
    found = next(
        (some for read in (_readings, _by_label, _by_spelling) if (some := sorted(set(read(part, codebook, names))))),
        [],
    )
    if len(found) == 1:
        return found
    of = f" (in '{whole}')" if part != whole else ""
    if found:
        candidates = " or ".join(f"{name} = {level}" if level else f"'{name}'" for name, level in found)
        raise OutputError(f"{place}: '{part}'{of} may be {candidates}; rename it, or say it in the formula")
    if re.fullmatch(r"(?:np\.)?\w+\(.*\)", part) and not (_WRAPPED.fullmatch(part) or _CONTRAST.fullmatch(part)):
        return [(_expression(part), "")]
    variable = max((name for name in names if part.startswith(name)), key=len, default="")
    if variable and _POLYNOMIAL.fullmatch(part[len(variable) :]):
        raise OutputError(
            f"{place}: '{part}'{of} is a polynomial contrast of the ordered factor '{variable}'; fit it with "
            "contr.treatment"
        )
    known = f"levels of '{variable}' are {', '.join(codebook[variable].labels[:20])}" if variable else ""
    raise OutputError(
        f"{place}: '{part}'{of} is no variable or level; {known or f'variables are {list(names)}'}; give "
        "the codebook the label that the table has, or rename it there"
    )


def _by_spelling(part: str, codebook: Codebook, names: Collection[str]) -> Iterator[Factor]:
    """The same of names in other letters, as `Age` and `Yrs married` are in the tables of journals."""
    for spelled in {part, part.replace(" ", "_"), _UNIT.sub("", part)}:
        for name in names:
            if spelled.casefold().startswith(name.casefold()):
                yield from _readings(name + spelled[len(name) :], codebook, names)


def _expression(text: str) -> str:
    return re.sub(r"\s+|\bnp\.|`", "", text)


def _readings(part: str, codebook: Codebook, names: Collection[str]) -> Iterator[Factor]:
    """Every variable and level that a name may stand for."""
    short = _SHORT.fullmatch(part)
    if short:
        for name in names:
            if is_short_for(short[2], name):
                yield from _readings(f"{short[1] or ''}{name}{short[3] or ''}", codebook, names)
        return
    plain = part.strip("`")
    if plain in names:
        yield plain, ""
        # a name may be that of a variable and a dummy of another at once: both are told
    bracketed, wrapped, stata = (each.fullmatch(part) for each in (_BRACKETED, _WRAPPED, _STATA))
    if bracketed:
        inner = _WRAPPED.fullmatch(bracketed[1].strip())
        name = (inner[1] if inner else bracketed[1]).strip().strip("`")
        if name in names:
            yield from ((name, level) for level in levels_of(codebook[name], bracketed[2]))
        return
    if wrapped and wrapped[1].strip() in names:
        name = wrapped[1].strip()
        if wrapped[2]:
            yield from ((name, level) for level in levels_of(codebook[name], wrapped[2]))
        return
    if stata and stata[3] in names:
        if stata[1] in (None, "c", "i"):
            yield stata[3], ""
        else:
            yield from ((stata[3], level) for level in levels_of(codebook[stata[3]], stata[1]))
        return
    contrast = _CONTRAST.fullmatch(part)
    if contrast and contrast[1] in names:
        yield contrast[1], f"#{contrast[2]}"
        return
    for name in names:
        if plain.startswith(name) and len(plain) > len(name):
            rest = plain[len(name) :]
            for sign in _SEPARATORS:
                if rest.startswith(sign) and len(rest) > len(sign):
                    yield from ((name, level) for level in levels_of(codebook[name], rest[len(sign) :]))


def _by_label(part: str, codebook: Codebook, names: Collection[str]) -> Iterator[Factor]:
    """Every variable whose label a name is, and level of one whose label it begins with: `Sex [Male]`."""
    for name in names:
        label = codebook[name].label.strip()
        if label and part.casefold().startswith(label.casefold()):
            rest = part[len(label) :].strip()
            inner = re.fullmatch(r"\[(.+)\]|[:=]\s*(.+)", rest)
            if not rest:
                yield name, ""
            yield from ((name, level) for level in levels_of(codebook[name], (inner[1] or inner[2]) if inner else rest))


def levels_of(variable: Variable, text: str) -> list[str]:
    """Levels of a variable that a text may stand for: as written, as a number, by its value label."""
    written = text.strip()
    text = written.strip("'\"")
    labels = [format_value(value) for value in variable.values]
    wanted = {text, written}
    try:
        wanted.add(format_value(float(text)))
    except (ValueError, OverflowError):
        wanted |= {"1"} if text.casefold() == "true" else {"0"} if text.casefold() == "false" else set()
    found = [label for label in labels if label in wanted]
    if not found:
        meant = (text.casefold(), written.casefold())
        by_label = zip(variable.descriptions, labels, strict=True) if variable.descriptions else ()
        found = [label for meaning, label in by_label if meaning and meaning.casefold() in meant]
    found = found or [label for label in labels if label.casefold() == text.casefold()]
    meanings = variable.descriptions or labels
    return found or [
        label
        for label, long in zip(labels, meanings, strict=True)
        if is_short_for(text, label) or is_short_for(text, long)
    ]


def is_short_for(text: str, name: str) -> bool:
    """Whether a text is how Stata shortens a longer name: 'rate_marri~e', or of a value label 'not at a..'."""
    head, sign, tail = (text[:-2], "..", "") if text.endswith("..") else text.partition("~")
    return bool(head and sign) and len(name) > len(text) and name.startswith(head) and name.endswith(tail)


def counted_level(levels: Sequence[str], reference: str, number: int) -> str:
    """The level of SPSS's nth contrast: the nth of those that are not the reference; '' beyond the last."""
    others = [level for level in levels if level != reference]
    return others[number - 1] if 1 <= number <= len(others) else ""


def in_words(term: Term) -> str:
    """A term as messages name it."""
    return " x ".join(f"{name} = {level}" if level else name for name, level in term) or "the constant"
