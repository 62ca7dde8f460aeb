"""What subtracting one output from another tells: the groups by which the subsets of outputs differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import permutations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output, Subset
from outrisk.outputs.conditions.pairs import Pair, compare
from outrisk.problem.blocks import joint_over

THRESHOLD = 10  # the usual least count of output checking
_LISTED = 6  # values of a variable written out in the words for a group
COLUMNS = ["larger", "smaller", "group", "records", "variables", "cells", "below", "threshold", "small_cells", "note"]


@dataclass(frozen=True)
class Difference:
    """The records of `larger` that are not in `smaller` (names of outputs), whom a subtraction isolates.

    records: how many they are in the original. cells: those of them that hold anybody in the table of `variables` that
    the subtraction leaves (0 where the two outputs have no table in common); below: how many of these hold fewer than
    `threshold`, listed in `small_cells`. Fewer records, more cells below: riskier. Aggregates only.
    """

    larger: str
    smaller: str
    group: str
    records: int
    variables: str
    cells: int
    below: int
    threshold: int
    small_cells: str
    note: str

    def row(self) -> dict[str, object]:
        """A row of differencing.csv."""
        return asdict(self)


def differences(outputs: Sequence[Output], original: Microdata, threshold: int = THRESHOLD) -> list[Difference]:
    """Every pair of outputs where the subset of the one contains that of the other; the smallest groups first.

    Of tables on the same two subsets only the finest differenced ones are listed. Three or more outputs subtracted at
    once are not looked at.
    """
    by_subset: dict[str, list[Output]] = {}
    for output in outputs:
        by_subset.setdefault(_where(output), []).append(output)
    frame = original.frame()
    rows = [
        row
        for (larger, first), (smaller, second) in permutations(by_subset.items(), 2)
        for row in _between(larger, smaller, first, second, original, frame, threshold)
    ]
    return sorted(rows, key=lambda row: (row.records, -row.below))


def _between(
    larger: str,
    smaller: str,
    first: Sequence[Output],
    second: Sequence[Output],
    original: Microdata,
    frame: pd.DataFrame,
    threshold: int,
) -> Iterator[Difference]:
    codebook, name = original.codebook, second[0].name
    one, other = (_members(codebook, where, name, frame) for where in (larger, smaller))
    group, note = f"{larger or 'all records'}, but not: {smaller}", ""
    try:
        pair = compare(codebook, larger, smaller, name)
        if pair.equal or not pair.contains:
            return
        group = in_words(codebook, pair) or group
    except OutputError as error:
        if (one == other).all() or (other & ~one).any():
            return
        note = f"one subset contains the other in these records; whether it must was not checked: {error}"
    isolated = original.take(np.flatnonzero(one & ~other))
    for minuend, subtrahend, variables in _tables(first, second):
        cells = _cells(isolated, variables)
        small = [f"{label}: {count}" for label, count in cells if count < threshold]
        yield Difference(
            larger=minuend,
            smaller=subtrahend,
            group=group,
            records=len(isolated),
            variables="+".join(variables),
            cells=len(cells),
            below=len(small),
            threshold=threshold,
            small_cells="; ".join(small),
            note=note,
        )


def in_words(codebook: Codebook, pair: Pair) -> str:
    """The records of the first subset that are not in the second, as values of each variable; '' if it takes more."""
    sizes = [codebook.sizes[j] for j in pair.joint.variables]
    group = (pair.first & ~pair.second).reshape(sizes)
    kept = [
        np.flatnonzero(group.any(axis=tuple(a for a in range(len(sizes)) if a != axis))) for axis in range(len(sizes))
    ]
    if group.sum() != np.prod([len(levels) for levels in kept]):
        return ""
    words = []
    for j, size, levels in zip(pair.joint.variables, sizes, kept, strict=True):
        variable = codebook.variables[j]
        labels = [variable.labels[level] for level in levels]
        if len(levels) == size:
            continue
        if len(levels) > 2 and variable.numeric and levels[-1] - levels[0] == len(levels) - 1:
            words.append(f"{variable.name} {labels[0]} to {labels[-1]}")
        elif len(levels) <= _LISTED:
            words.append(f"{variable.name} {' or '.join(labels)}")
        else:
            return ""
    return ", ".join(words)


def _tables(first: Sequence[Output], second: Sequence[Output]) -> list[tuple[str, str, tuple[str, ...]]]:
    """Names of two outputs and the variables of the table that their difference is; the finest of them only."""
    found: dict[frozenset[str], tuple[str, str, tuple[str, ...]]] = {}
    for one in first:
        for other in second:
            common = tuple(name for name in _by(one) if name in _by(other))
            found.setdefault(frozenset(common), (one.name, other.name, common))
    return [row for variables, row in found.items() if not any(variables < finer for finer in found)]


def _cells(records: Microdata, variables: Sequence[str]) -> list[tuple[str, int]]:
    """Cells of a table that hold anybody, in words, with their counts."""
    if not variables:
        return []
    codebook = records.codebook
    joint = joint_over([codebook.index(name) for name in variables], codebook.sizes)
    place = records.codes[:, joint.variables].astype(np.int64) @ np.array(joint.strides, dtype=np.int64)
    levels, counts = np.unique(place, return_counts=True)
    labels = [
        ", ".join(
            f"{name}={codebook[name].labels[level // stride % codebook[name].size]}"
            for name, stride in zip(variables, joint.strides, strict=True)
        )
        for level in levels.tolist()
    ]
    return list(zip(labels, counts.tolist(), strict=True))


def _members(codebook: Codebook, where: str, output: str, frame: pd.DataFrame) -> NDArray[np.bool_]:
    return np.isin(frame.index, Subset(codebook, where, output).select(frame).index)


def _where(output: Output) -> str:
    return str(getattr(output, "where", ""))


def _by(output: Output) -> tuple[str, ...]:
    """Variables of a table of counts; none for another kind."""
    return tuple(getattr(output, "by", ())) if output.kind == "frequencies" else ()
