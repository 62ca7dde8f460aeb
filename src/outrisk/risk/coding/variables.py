"""Original, synthetic tables and holdout as the disclosure suite takes them: each variable coded once for all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import pandas as pd

from outrisk.codebook import Codebook
from outrisk.errors import RiskError
from outrisk.risk.coding.classes import HOLDOUT, ORIGINAL, SYNTHETIC, Coding, Positions, check_table
from outrisk.risk.coding.levels import Groups, Levels, code_levels, make_groups


class Tables:
    """Original, synthetic tables and holdout, of which each variable is coded once, when it is asked for."""

    def __init__(
        self,
        names: Sequence[str],
        lengths: Mapping[str, int],
        code: Callable[[str, Groups | None], Levels],
        together: Mapping[str, Positions] | None = None,
    ) -> None:
        self.names, self.lengths, self.together = list(names), dict(lengths), together or {}
        self._code = code
        self._coded: dict[tuple[str, Groups | None], Levels] = {}

    def levels(self, name: str, groups: Groups | None = None) -> Levels:
        """A variable under its coding."""
        if (name, groups) not in self._coded:
            self._coded[name, groups] = self._code(name, groups)
        return self._coded[name, groups]

    @cached_property
    def synthetic(self) -> tuple[str, ...]:
        """Names of the synthetic tables."""
        return tuple(name for name in self.lengths if name not in (ORIGINAL, HOLDOUT))


def from_frames(
    original: pd.DataFrame,
    synthetic: pd.DataFrame | Sequence[pd.DataFrame],
    holdout: pd.DataFrame | None,
    needed: Iterable[str],
    codebook: Codebook | None = None,
) -> Tables:
    """Tables of data frames; RiskError where one has no records or lacks a variable that is needed."""
    several = [synthetic] if isinstance(synthetic, pd.DataFrame) else list(synthetic)
    if not several:
        raise RiskError("no synthetic table; give a data frame, or a list of them")
    names = [SYNTHETIC] if len(several) == 1 else [f"{SYNTHETIC} {i}" for i in range(1, len(several) + 1)]
    frames = {ORIGINAL: original, **dict(zip(names, several, strict=True))}
    frames |= {} if holdout is None else {HOLDOUT: holdout}
    for table, frame in frames.items():
        if not isinstance(frame, pd.DataFrame):
            raise RiskError(f"{table}: expected a pandas data frame, found {type(frame).__name__}")
        check_table(table, len(frame), list(frame.columns), needed)
    pool = [ORIGINAL, *names]

    def code(name: str, groups: Groups | None) -> Levels:
        return code_levels(name, {table: frame[name] for table, frame in frames.items()}, groups, pool, codebook)

    return Tables(list(original.columns), {table: len(frame) for table, frame in frames.items()}, code)


def from_coding(coding: Coding) -> Tables:
    """Tables that are coded already; their codes are used as they are, and nothing is grouped."""

    def code(name: str, groups: Groups | None) -> Levels:
        j = coding.names.index(name)
        return Levels(coding.labels[j], coding.columns[j], coding.missing.get(name), name in coding.values)

    return Tables(coding.names, coding.lengths, code, coding.together)


def group_variables(
    tables: Tables,
    names: Sequence[str],
    option: str,
    n_groups: int | Mapping[str, int] | None,
    keep_values: Mapping[str, Any] | None,
) -> dict[str, Groups]:
    """How to group the named variables; one number is meant for the numeric ones."""
    grouping = make_groups(names, option, n_groups, keep_values)
    if isinstance(n_groups, Mapping):
        return grouping
    return {name: found for name, found in grouping.items() if tables.levels(name).numeric}


def check_named(known: Sequence[str], option: str, given: Iterable[str] | None) -> None:
    """Refuse an option for a variable that the original does not have."""
    unknown = [name for name in given or () if name not in known]
    if unknown:
        raise RiskError(f"{option}: no variable {unknown[0]!r}; known: {list(known)}")


def listed(keys: Sequence[str]) -> list[str]:
    """The keys as a list; none for a single text, which `check_keys` refuses in plain words."""
    return [] if isinstance(keys, str) else list(keys)
