"""Formulas of regression tables: written from their terms, or given the reference levels that these imply."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from formulaic.errors import FormulaSyntaxError
from formulaic.parser.algos.tokenize import tokenize
from formulaic.parser.types import Token

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.regression.design import quoted
from outrisk.readers.term_names import Term


def levels_in(terms: Sequence[Term]) -> dict[str, set[str]]:
    """Levels of each variable that enters as a category."""
    found: dict[str, set[str]] = {}
    for term in terms:
        for name, level in term:
            if level:
                found.setdefault(name, set()).add(level)
    return found


def formula_of(
    response: str, terms: Sequence[Term], bases: Sequence[Term], constant: bool, codebook: Codebook, place: str
) -> str:
    """The formula whose design has these terms, and perhaps a constant; OutputError where they leave a reference level
    open.
    """
    categories: dict[str, str] = {}
    listed = levels_in(bases)
    for name, present in levels_in(terms).items():
        missing = [level for level in codebook[name].labels if level not in present and level != "Missing"]
        said = [level for level in listed.get(name, ()) if level in missing]
        if said:
            missing = said[:1]
        if len(missing) > 1 or (constant and not missing and (name, "") not in _mains(terms)):
            what = f"none of {', '.join(missing)}" if missing else "every level, and there is a constant"
            raise OutputError(
                f"{place}: the table has {what} of {name}: which level is the reference, it does not say; give the "
                f"output a formula with C({name}, Treatment(reference=...))"
            )
        categories[name] = f", contr.treatment(base={missing[0]!r})" if missing else ""
    parts = ["1" if constant else "0"]
    for term in terms:
        factors = [
            f"C({quoted(name)}{categories[name]})" if level else quoted(name) if name in codebook else name
            for name, level in term
        ]
        text = ":".join(factors)
        if len(term) == 2 and term[0] == term[1] and not term[0][1]:
            text = f"I({quoted(term[0][0])}**2)"
        if text and text not in parts:
            parts.append(text)
    return f"{quoted(response)} ~ {' + '.join(parts)}"


def _mains(terms: Sequence[Term]) -> set[tuple[str, str]]:
    return {term[0] for term in terms if len(term) == 1}


def with_levels(formula: str, name: str, reference: str, without: Sequence[str], codebook: Codebook, place: str) -> str:
    """A formula in which a category is compared with another level, and these levels have no column."""
    no = f", without={list(without)!r}" if without else ""
    new = f"C({quoted(name)}, contr.treatment(base={reference!r}{no}))"
    left, _, right = formula.partition("~")
    try:
        tokens = list(tokenize(right))
    except FormulaSyntaxError:
        raise OutputError(f"{place}: formula {formula!r} cannot be read") from None
    parts, changed, at = list[str](), False, 0
    for token in tokens:
        start, end = _span(token)
        end += right[start] == "`"  # the token ends before the closing backtick
        parts.append(right[at:start])
        here = _is_category(token, name, codebook)
        changed |= here
        parts.append(new if here else right[start:end])
        at = end
    if not changed:
        raise OutputError(
            f"{place}: the reference of '{name}' in {formula!r} cannot be changed to {reference}; write it"
        )
    return f"{left.strip()} ~ {(''.join(parts) + right[at:]).strip()}"


def _span(token: Token) -> tuple[int, int]:
    start, end = token.source_start, token.source_end
    assert start is not None and end is not None
    return start, end + 1


def _is_category(token: Token, name: str, codebook: Codebook) -> bool:
    """Whether a part of a formula is this category: by itself, or as C(name, ...) with treatment contrasts."""
    text = token.token
    if token.kind is Token.Kind.NAME:
        return text.strip("`") == name and not codebook[name].numeric
    if token.kind is not Token.Kind.PYTHON:
        return False
    inner = re.match(r"C\(\s*`([^`]+)`", text)
    if inner:
        return inner[1] == name
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return False
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "C"
        and bool(node.args)
        and isinstance(node.args[0], ast.Name)
        and node.args[0].id == name
    )
