"""Whose records are whose: the people and households that columns of a file tell apart."""

from __future__ import annotations

import re
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
_FEWEST = 20  # records beside another of the same person or household
_MANY_RECORDS, _OF_ONE = 100, 10  # of a person or household, on average; where one variable alone is the same
_KAPPA, _BY_CHANCE = 0.8, 0.9  # agreement beyond chance, and by chance, of two records of one
_CHANGING = 0.5  # changes from one to the next, as a share of those by chance
_NAMES = (
    "hhid", "hid", "idhh", "household", "serial", "patient", "subject", "participant", "respondent", "studyid",
    "caseid", "pidp", "mergeid", "idno", "personnr", "personid", "seqn", "xwaveid", "family",
)  # fmt: skip


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
    ConfigError where a column is missing, where all records are of one, and where people or households of the holdout
    are in the data, too; DataError where a value is missing.
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
        if together is not None and len(np.unique(together)) == 1:
            raise ConfigError(f"[{source}] person, household: all records are of one; name what tells them apart")
        found[source] = Whose(own, together)
        first = 0 if together is None else int(together.max()) + 1
    return found


def _numbered(
    frames: Mapping[str, pd.DataFrame], name: str, word: str, missing_values: Mapping[str, Sequence[str]]
) -> dict[str, Numbers]:
    """The number of each record's value, the same in all frames; values that read as one whole number are one."""
    texts = []
    for source, frame in frames.items():
        if name not in frame.columns:
            raise ConfigError(f"[{source}] {word}: no column '{name}'; columns are {list(frame.columns)}")
        column: pd.Series[Any] = frame[name]
        gaps = gaps_of(column, missing_values[source])
        if gaps.any():
            raise DataError(
                f"[{source}] {word}: '{name}' is missing in {int(gaps.sum()):,} records; give them one, or leave them "
                f"out ('where': {name}.notna())"
            )
        codes, values = pd.factorize(as_text(column))
        texts.append(np.array([_read(value) for value in values], dtype=object)[codes])
    codes = pd.factorize(np.concatenate(texts))[0]
    parts = np.split(codes, np.cumsum([len(each) for each in texts])[:-1])
    for source, part in zip(frames, parts, strict=True):
        if len(np.unique(part)) == 1:
            raise ConfigError(f"[{source}] {word}: '{name}' has one value in all records; name what tells them apart")
    if len(parts) > 1 and (both := len(np.intersect1d(parts[0], parts[1]))):
        raise ConfigError(
            f"[holdout] {word}: {both:,} values of '{name}' are in the data, too: compared with themselves, people are "
            f"at no more risk than their holdout; leave them out of one of the two ('where'), or, if they are others, "
            "number them apart in the file"
        )
    return dict(zip(frames, parts, strict=True))


def _read(value: object) -> str:
    """An identifier as it is compared: whole numbers by their value, text without blanks around it or capitals."""
    text = str(value).strip()
    whole = re.fullmatch(r"0*(\d+)(\.0*)?", text)
    return whole.group(1) if whole else text.casefold()


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
    """A column whose value several records have, which then have the same of some variables, too. gaps: records that
    lack it.
    """

    name: str
    values: int
    records: int
    same: tuple[str, ...]
    gaps: int


def alike_by(
    frame: pd.DataFrame, asked: Sequence[str], missing_values: Sequence[str], known: Sequence[str] = ()
) -> Alike | None:
    """The column that looks as if it told people or households apart; None where there is none.

    asked: what a study is about, its keys and target. Records with the same value of such a column, which are few,
    mostly have the same of two of these variables, or of one if the column is called an identifier, beyond chance; and
    in the order of the column these variables change, as they do not where they are bands or groups of its values. Of
    variables that mostly follow from each other one counts. known: variables, which are not looked at unless they are
    called identifiers. Of several columns the one with the most values.
    """
    codes = {name: pd.factorize(frame[name])[0] for name in dict.fromkeys(asked) if name in frame.columns}
    codes = {name: of for name, of in codes.items() if not _follows_from_another(name, codes)}
    found = []
    for name in map(str, frame.columns):
        called = names_person(name)
        if name in asked or (name in known and not called) or frame.columns.tolist().count(name) > 1:
            continue
        numbers = _whole_or_text(frame[name], missing_values)
        there = numbers >= 0
        records, values = int(there.sum()), len(np.unique(numbers[there]))
        if records - values < _FEWEST or records > _MANY_RECORDS * values:
            continue
        order = np.flatnonzero(there)[np.argsort(numbers[there], kind="stable")]
        same = tuple(each for each, of in codes.items() if _the_same(of[order], numbers[order]))
        if len(same) >= 2 or (called and same and records <= _OF_ONE * values):
            found.append(Alike(name, values, records, same, len(numbers) - records))
    return max(found, key=lambda each: each.values, default=None)


def names_person(name: str) -> bool:
    """Whether a name says that the column tells people or households apart."""
    return names_identifier(name) or re.sub("[^a-z]", "", name.lower()).startswith(_NAMES)


def _whole_or_text(column: pd.Series[Any], missing_values: Sequence[str]) -> Numbers:
    """Codes of whole numbers or texts in their order, -1 where one is missing; all -1 of other numbers."""
    try:
        codes, values = pd.factorize(column, sort=True)
    except TypeError:  # values of several kinds, which have no order
        codes, values = pd.factorize(as_text(column), sort=True)
    if values.dtype.kind == "f" and not (values == np.round(values)).all():
        return np.full(len(codes), -1)
    if values.dtype.kind == "O" and len(values) < len(codes):
        gone = np.array([str(value).strip() in missing_values for value in values], dtype=bool)
        codes = np.where(np.append(gone, False)[codes], -1, codes)
    return np.asarray(codes, dtype=np.intp)


def _follows_from_another(name: str, codes: Mapping[str, Numbers]) -> bool:
    """Whether a variable mostly follows from another of more values (or as many, and before it)."""
    sizes = {each: int(of.max()) + 1 for each, of in codes.items()}
    names = list(codes)
    for other, of in codes.items():
        if (sizes[other], -names.index(other)) > (sizes[name], -names.index(name)) and sizes[other] * 5 < len(of):
            order = np.argsort(of, kind="stable")
            if _beyond_chance(codes[name][order], np.diff(of[order]) == 0):
                return True
    return False


def _the_same(codes: Numbers, numbers: Numbers) -> bool:
    """Whether records of one number, side by side in its order, mostly have the same code, and those of the next one
    have it no more often than by chance, nearly.
    """
    beside = np.diff(numbers) == 0
    changes, chance = np.diff(codes) != 0, 1 - _by_chance(codes)
    return _beyond_chance(codes, beside) and bool(changes[~beside].mean() >= _CHANGING * chance)


def _beyond_chance(codes: Numbers, beside: NDArray[np.bool_]) -> bool:
    """Whether neighbours agree far more often than by chance, as Cohen's kappa measures it; not where nearly all do."""
    chance = _by_chance(codes)
    agreeing = float((np.diff(codes) == 0)[beside].mean()) if beside.any() else 0.0
    return chance <= _BY_CHANCE and (agreeing - chance) / (1 - chance) >= _KAPPA


def _by_chance(codes: Numbers) -> float:
    return float(np.square(np.bincount(codes + 1) / len(codes)).sum())
