"""Tables with the levels of a variable below its name, as R's gtsummary makes them: which term each row is of."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.term_names import CONSTANTS, Term, in_words, levels_of, read_term

_LOG = logging.getLogger(__name__)
Texts = Mapping[str, str]
_BETWEEN = re.compile(r"\s+[*×]\s+|\s*:\s*")  # variables and levels of an interaction
_CALL = re.compile(r"(?:as\.)?(?:factor|ordered|C)\(\s*`?([^,()`]+?)`?\s*(?:,.*)?\)")


@dataclass
class _Block:
    """A heading: its variables, the terms of its rows, and of those without numbers; whether these are references."""

    text: str = ""
    variables: tuple[str, ...] = ()
    filled: list[Term] = field(default_factory=list)
    empty: list[Term] = field(default_factory=list)
    said: list[Term] = field(default_factory=list)

    def bases(self) -> list[Term]:
        """Its reference level: the one that is said, or the only one without numbers; none where there are several."""
        found = self.said or self.empty
        return found if self.filled and len(self.variables) == 1 and len(found) == 1 else []


@dataclass
class _Reading:
    codebook: Codebook
    names: Collection[str]
    references: Mapping[str, str]
    place: str
    blocks: list[_Block] = field(default_factory=lambda: [_Block()])

    def take(self, name: str, texts: Texts) -> Term | None:
        """The term of a row with numbers; None of one without, which is a heading, a reference level or neither."""
        block = self.blocks[-1]
        levels = list(dict.fromkeys(self._levels(name, block.variables)))
        alone = [] if "reference" in texts else list(dict.fromkeys(self._variables(name)))
        if "coefficients" in texts:
            found = levels + [self._own(variables, name) for variables in alone]
            if name.casefold() in CONSTANTS:
                found = [()]
            if not found and not block.variables:
                found = [read_term(name, self.codebook, self.names, self.place)]
            self._check(name, [in_words(term) for term in found], block)
            if found[0] in levels:
                block.filled.append(found[0])
            else:
                self.blocks.append(_Block())
            return found[0]
        if "elsewhere" in texts and not levels and not alone:
            return None
        self._check(name, [*map(in_words, levels), *(f"the heading {' * '.join(each)}" for each in alone)], block)
        if levels:
            (block.said if "reference" in texts else block.empty).append(levels[0])
        else:
            self.blocks.append(_Block(name, alone[0]))
        return None

    def _check(self, name: str, found: Sequence[str], block: _Block) -> None:
        """OutputError unless a row is one thing."""
        if len(found) == 1:
            return
        below = f" below '{block.text}'" if block.variables else ""
        if found:
            raise OutputError(f"{self.place}: '{name}'{below} may be {' or '.join(found)}; rename it in the table")
        known, more = f"variables of the model are {', '.join(self.names)}", ""
        if len(block.variables) == 1:
            of = self.codebook[block.variables[0]]
            known, more = f"levels of '{of.name}' are {', '.join(of.labels[:20])}", of.if_merged
        raise OutputError(
            f"{self.place}: '{name}'{below} is no variable of the model and no level; {known}; give the codebook the "
            f"labels that the table has, or take the row out{more}"
        )

    def _variables(self, text: str) -> Iterator[tuple[str, ...]]:
        """Every variable, or variables of an interaction, that a text may stand for; those of the model first."""
        for names in (self.names, self.codebook.names):
            single: list[tuple[str, ...]] = [(name,) for name in _named(text, names, self.codebook)]
            parts = [_named(part, names, self.codebook) for part in _BETWEEN.split(text)]
            if len(parts) > 1 and all(len(part) == 1 for part in parts):
                single.append(tuple(part[0] for part in parts))
            if single:
                yield from single
                return

    def _own(self, variables: tuple[str, ...], name: str) -> Term:
        """The term of a row that has no heading; of a category of two levels, the one that is not the formula's
        reference.
        """
        factors = []
        for variable in variables:
            reference = self.references.get(variable, "")
            others = [level for level in self.codebook[variable].labels if level not in (reference, "Missing")]
            if self._is_category(variable) and (not reference or len(others) != 1):
                raise OutputError(
                    f"{self.place}: '{name}' has one row and no levels; '{variable}' is a category of "
                    f"{len(self.codebook[variable].labels)} levels: write the table without show_single_row"
                )
            if self._is_category(variable):
                _LOG.info("%s: '%s' is read as %s = %s, against %s", self.place, name, variable, others[0], reference)
            factors.append((variable, others[0] if self._is_category(variable) else ""))
        return tuple(sorted(factors))

    def _is_category(self, variable: str) -> bool:
        return variable in self.references or not self.codebook[variable].numeric

    def _levels(self, text: str, variables: Sequence[str]) -> Iterator[Term]:
        """Every combination of levels of the variables of a heading that a text may stand for."""
        parts = [text] if len(variables) == 1 else _BETWEEN.split(text)
        if not variables or len(parts) != len(variables):
            return
        terms: list[list[tuple[str, str]]] = [[]]
        for part, variable in zip(parts, variables, strict=True):
            found = levels_of(self.codebook[variable], part)
            if len(variables) > 1 and not self._is_category(variable):
                found = ["" for _ in _named(part, [variable], self.codebook)]
            terms = [[*term, (variable, level)] for term in terms for level in found]
        yield from (tuple(sorted(term)) for term in terms)


def without_headings(
    table: Coefficients, codebook: Codebook, names: Collection[str], references: Mapping[str, str], place: str
) -> tuple[Coefficients, list[Term], list[Term]]:
    """The table with the rows that have numbers alone, the term of each, and reference levels.

    `names`: variables of the model. `references`: those of its formula, by variable. OutputError where a row may be
    two things, or is none.
    """
    reading = _Reading(codebook, names, references, place)
    last = max(at for at, (_, texts) in enumerate(table.rows) if "coefficients" in texts)
    rows, terms = list[tuple[str, Texts]](), list[Term]()
    for at, (name, texts) in enumerate(table.rows):
        if at > last and _is_note(name):
            break
        term = reading.take(name, texts)
        if term is not None:
            above = reading.blocks[-1].text
            rows.append((f"{above}: {name}" if above else name, texts))
            terms.append(term)
    bases = [term for block in reading.blocks for term in block.bases()]
    return replace(table, rows=tuple(rows), headed=False), terms, bases


def _is_note(text: str) -> bool:
    """Whether a text below a table explains it."""
    return bool(re.search(r"(?i)abbreviation|confidence interval|\b(?:odds|hazard|rate|risk) ratio|\w+ = \w", text))


def _named(text: str, names: Collection[str], codebook: Codebook) -> list[str]:
    """Variables that a text names, or whose label it is; else those that it is in other letters, as `Years married`."""
    call = _CALL.fullmatch(text)
    text = call[1] if call else text
    bare = text.strip("`")
    found = [name for name in names if bare == name or (text.casefold() == codebook[name].label.strip().casefold())]
    return found or [name for name in names if bare.casefold().replace(" ", "_") == name.casefold()]
