"""Plausibility rules: combinations of values that no record may have, such as a marriage at the age of nine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.grammar import LONGEST
from outrisk.microdata import Microdata
from outrisk.outputs.base import Subset, joint_for, support_frame
from outrisk.problem.blocks import Mask

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_IMPLIES = re.compile(r"\s+implies\s+")


@dataclass(frozen=True)
class Rule:
    """One rule of a study, its `position`-th (from 1): 'A implies B', or what must hold for every record.

    A and B are pandas expressions as in `where`. A comparison with a missing value does not hold. OutputError for an
    unknown variable, an expression that cannot be read, or one that holds for no value of the codebook.
    """

    codebook: Codebook
    text: str
    position: int

    def __post_init__(self) -> None:
        _ = self.mask

    @property
    def place(self) -> str:
        """How messages call it."""
        return f"[rules {self.position}]"

    @cached_property
    def mask(self) -> Mask:
        """The combinations that the rule allows."""
        try:
            for side in self._sides:
                side.masks()
            named = {name for side in self._sides for name in side.variables}
            names = [name for name in self.codebook.names if name in named]
            joint = joint_for(self.codebook, names, self.place)
            *conditions, claim = self._sides
            frame = support_frame(self.codebook, joint)
            for condition in conditions:
                frame = condition.select(frame)
            include = np.ones(joint.size, dtype=bool)
            include[frame.index] = False
            include[claim.select(frame).index] = True
        except OutputError as error:
            words = str(error).removeprefix(f"output '{self.place}': ").removeprefix("where: ")
            raise OutputError(f"{self.place} {words.removeprefix(f'{self.place} ')}") from None
        return Mask(joint, include)

    @cached_property
    def _sides(self) -> tuple[Subset, ...]:
        """The condition, if there is one, and what must hold under it."""
        if len(self.text) > LONGEST:
            raise OutputError(f"{self.place} is longer than {LONGEST:,} characters; make several rules of it")
        cover = _QUOTED.sub(lambda quoted: "_" * len(quoted[0]), self.text)
        cuts = list(_IMPLIES.finditer(cover))
        if len(cuts) > 1:
            raise OutputError(f"{self.place} {self.text!r} has 'implies' twice; join conditions with 'and'")
        parts = [self.text[: cuts[0].start()], self.text[cuts[0].end() :]] if cuts else [self.text]
        if not all(part.strip() for part in parts):
            raise OutputError(
                f"{self.place} {self.text!r} is not a rule; write for example age < 16 implies income == 0"
            )
        return tuple(Subset(self.codebook, part.strip(), self.place) for part in parts)

    def broken(self, data: Microdata) -> int:
        """How many decoded records break it, by pandas, independently of the mask."""
        *conditions, claim = self._sides
        frame = data.frame()
        for condition in conditions:
            frame = condition.select(frame)
        return len(frame) - len(claim.select(frame)) if len(frame) else 0


def read_rules(codebook: Codebook, texts: Sequence[str]) -> tuple[Rule, ...]:
    """The rules of a study; OutputError if no record can keep them all, with the fewest that contradict each other."""
    rules = tuple(Rule(codebook, text, position) for position, text in enumerate(texts, start=1))
    if _possible(codebook, rules):
        return rules
    clash = list(rules)
    for rule in rules:
        rest = [each for each in clash if each is not rule]
        if not _possible(codebook, rest):
            clash = rest
    names = " and ".join(f"{rule.position} ({rule.text})" for rule in clash)
    raise OutputError(f"[rules] no combination of values keeps {names}; relax one")


def rules_that_fit(codebook: Codebook, texts: Sequence[str]) -> list[Rule]:
    """Those of the rules of another study that are of variables and values of this codebook."""
    found = list[Rule]()
    for position, text in enumerate(texts, start=1):
        with suppress(OutputError):
            found.append(Rule(codebook, text, position))
    return found


def _possible(codebook: Codebook, rules: Sequence[Rule]) -> bool:
    """Whether some record keeps all rules, by depth-first search over the values of their variables."""
    tables = [
        (rule.mask.joint.variables, rule.mask.include.reshape([codebook.sizes[j] for j in rule.mask.joint.variables]))
        for rule in rules
    ]
    order = sorted({j for variables, _ in tables for j in variables}, key=lambda j: codebook.sizes[j])
    return _search(order, codebook.sizes, tables)


def _search(
    order: Sequence[int], sizes: Sequence[int], tables: Sequence[tuple[tuple[int, ...], NDArray[np.bool_]]]
) -> bool:
    if not order:
        return True
    variable, rest = order[0], order[1:]
    for code in range(sizes[variable]):
        left = []
        for variables, table in tables:
            at = variables.index(variable) if variable in variables else None
            cut: NDArray[np.bool_] = table if at is None else np.asarray(table.take(code, axis=at))
            if not cut.any():
                break
            left.append((tuple(j for j in variables if j != variable), cut))
        else:
            if _search(rest, sizes, left):
                return True
    return False
