"""Whose records are whose: the people and households that columns of a file tell apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from outrisk.errors import ConfigError, DataError
from outrisk.microdata import as_text, gaps_of
from outrisk.propose.words import names_identifier

Numbers = NDArray[np.intp]
_FEW_RECORDS, _MANY_RECORDS = 1.05, 50  # of a person or household, on average
_FEWEST = 20  # records beside another of the same person or household
_SAME, _BY_CHANCE = 0.98, 0.9  # pairs of records with the same value


@dataclass(frozen=True, eq=False)
class Whose:
    """As of `Microdata`: the person of each record, and whose records go together; None: each for itself."""

    person: Numbers | None = None
    together: Numbers | None = None


def whose_records(
    frames: Mapping[str, pd.DataFrame], person: str, household: str, missing_values: Mapping[str, Sequence[str]]
) -> dict[str, Whose]:
    """Whose the records of 'data' and perhaps 'holdout' are, by a column for people, one for households, or both.

    Records go together if they are of one person or one household, directly or over others (somebody may move).
    ConfigError where a column is missing, where each record has a value of its own or all have one, and where people
    or households of the holdout are in the data, too; DataError where a value is missing.
    """
    found: dict[str, Whose] = {}
    numbers = {
        name: _numbered(frames, name, word, missing_values)
        for word, name in (("person", person), ("household", household))
        if name
    }
    first = 0  # numbers of the holdout go on after those of the data
    for source, frame in frames.items():
        each = [of[source] for of in numbers.values()]
        own = numbers[person][source] if person else None
        together = _joined(each, len(frame)) + first if each else None
        found[source] = Whose(own, together)
        first = 0 if together is None else int(together.max()) + 1
    return found


def _numbered(
    frames: Mapping[str, pd.DataFrame], name: str, word: str, missing_values: Mapping[str, Sequence[str]]
) -> dict[str, Numbers]:
    """The number of each record's value, the same in all frames."""
    texts = []
    for source, frame in frames.items():
        if name not in frame.columns:
            raise ConfigError(f"[{source}] {word}: no column '{name}'; columns are {list(frame.columns)}")
        column: pd.Series[Any] = frame[name]
        gaps = gaps_of(column, missing_values[source])
        if gaps.any():
            raise DataError(
                f"[{source}] {word}: '{name}' is missing in {int(gaps.sum()):,} records; give them one, or leave them "
                f"out ('where')"
            )
        texts.append(as_text(column))
    codes = pd.factorize(pd.concat(texts, ignore_index=True))[0]
    parts = np.split(codes, np.cumsum([len(each) for each in texts])[:-1])
    if len(parts) > 1 and (both := len(np.intersect1d(parts[0], parts[1]))):
        raise ConfigError(
            f"[holdout] {word}: {both:,} values of '{name}' are in the data, too: compared with themselves, people are "
            f"at no more risk than their holdout; leave them out of one of the two ('where'), or, if they are others, "
            f"number them apart (holdout: derive: {{{name}: ...}})"
        )
    for source, part in zip(frames, parts, strict=True):
        if len(np.unique(part)) == 1:
            raise ConfigError(f"[{source}] {word}: '{name}' has one value in all records; name what tells them apart")
    return dict(zip(frames, parts, strict=True))


def _joined(numbers: Sequence[Numbers], n: int) -> Numbers:
    """Connected components of records that share a number."""
    if len(numbers) == 1:
        return np.unique(numbers[0], return_inverse=True)[1]
    first, second = (np.unique(each, return_inverse=True)[1] for each in numbers)
    size = int(first.max()) + 1
    total = size + int(second.max()) + 1
    links = coo_array((np.ones(n), (first, size + second)), shape=(total, total))
    return np.asarray(connected_components(links, directed=False)[1][first], dtype=np.intp)


@dataclass(frozen=True)
class Alike:
    """A column whose value several records have, which then have the same of some variables, too."""

    name: str
    values: int
    records: int
    same: tuple[str, ...]


def alike_by(frame: pd.DataFrame, asked: Sequence[str], missing_values: Sequence[str]) -> Alike | None:
    """The column that looks as if it told people or households apart; None where there is none.

    asked: what a study is about, its keys and target. Records with the same value of such a column, which are few, have
    the same of two of these variables in nearly all pairs, or of one if the column is called an identifier; and would
    not have it by chance. Of several columns the one with the most values.
    """
    codes = {name: pd.factorize(as_text(frame[name]))[0] for name in asked if name in frame.columns}
    found = []
    for name in map(str, frame.columns):
        if name in codes or frame.columns.tolist().count(name) > 1:
            continue
        column = frame[name]
        numbers = pd.factorize(as_text(column))[0][~gaps_of(column, missing_values)]
        records, values = len(numbers), len(np.unique(numbers))
        if not _FEW_RECORDS * values <= records <= _MANY_RECORDS * values or records - values < _FEWEST:
            continue
        rows = np.flatnonzero(~gaps_of(column, missing_values))
        same = tuple(each for each, of in codes.items() if _the_same(of[rows], numbers))
        if len(same) >= (1 if names_identifier(name) else 2):
            found.append(Alike(name, values, records, same))
    return max(found, key=lambda each: each.values, default=None)


def _the_same(codes: Numbers, numbers: Numbers) -> bool:
    """Whether neighbours among the records of one number have the same code, and others would not."""
    order = np.argsort(numbers, kind="stable")
    beside = np.diff(numbers[order]) == 0
    agreeing = float((np.diff(codes[order]) == 0)[beside].mean())
    by_chance = float(np.square(np.bincount(codes + 1) / len(codes)).sum())
    return agreeing >= _SAME and by_chance <= _BY_CHANCE
