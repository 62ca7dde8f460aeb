"""What subtracting one output from another tells: the groups by which the subsets of outputs differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, permutations, product
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from outrisk.appetite import Appetite
from outrisk.assess.look.apart import are_apart, nearly_whole
from outrisk.assess.look.finding import NOBODY, Found, Rows, named, people, plural
from outrisk.assess.look.known import Kind
from outrisk.assess.look.left import Left
from outrisk.assess.look.printed import Numbers
from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output, Subset
from outrisk.outputs.conditions.pairs import Pair, compare
from outrisk.outputs.smooth.association import Association
from outrisk.outputs.smooth.proportions import Proportions
from outrisk.problem.blocks import joint_over, level_in
from outrisk.records.schema import MINUS, Difference

THRESHOLD = 10  # the usual least count of output checking
_MOST_SUMS = 200  # choices of one output of each part
_LISTED = 6  # values of a variable written out in the words for a group


def differences(
    outputs: Sequence[Output], original: Microdata, threshold: int = THRESHOLD, inside: bool = False, target: str = ""
) -> list[Difference]:
    """Every pair of outputs where the subset of the one contains that of the other; the smallest groups first.

    Besides, sums of outputs on subsets apart from each other, which together leave fewer than `threshold` records of a
    larger one (or people, where the data say whose their records are). Of tables on the same subsets only
    the finest differenced ones are listed. `inside`: the small cells are listed, for a reader inside the environment.
    """
    return [row for row, _ in _isolating(outputs, original, threshold, inside, target)]


def _isolating(
    outputs: Sequence[Output],
    original: Microdata,
    threshold: int,
    inside: bool,
    target: str,
    numbers: Numbers | None = None,
) -> list[tuple[Difference, Rows]]:
    """The differences, each with the records that it tells the target of, else with those that it leaves few of."""
    by_subset: dict[str, list[Output]] = {}
    for output in outputs:
        by_subset.setdefault(output.where, []).append(output)
    held = _Held(original, original.frame())
    numbers = numbers or Numbers.of(outputs if target and len(by_subset) > 1 else (), original)
    rows = [
        row
        for (larger, first), (smaller, second) in permutations(by_subset.items(), 2)
        for row in _between(larger, smaller, first, second, held, numbers, threshold, inside, target)
    ]
    of_tables = {
        where: held.of(where, of[0].name) for where, of in by_subset.items() if any(_crossed(each) for each in of)
    }
    for larger, parts in nearly_whole(of_tables, original, threshold):
        union = " or ".join(f"({where})" for where in parts)
        summed = _sums(by_subset[larger], [by_subset[where] for where in parts])
        rows += _between(larger, union, by_subset[larger], summed, held, numbers, threshold, inside, target, parts)
    return sorted(rows, key=lambda each: (each[0].isolated, -each[0].below))


def subtracted(
    outputs: Sequence[Output],
    data: Microdata,
    appetite: Appetite,
    target: str,
    inside: bool,
    numbers: Numbers | None = None,
) -> Iterator[Found]:
    """Pairs of outputs whose difference isolates few people, or cells of few, or people who all have one answer."""
    for row, who in _isolating(outputs, data, appetite.safe_threshold, inside, target, numbers):
        if not (0 < row.isolated < row.threshold or row.below or row.alike):
            continue
        cells = (
            f" Of the {plural(row.cells, 'occupied cell')} of their table by {row.variables.replace('+', ', ')}, "
            f"{row.below:,} hold fewer than {row.threshold} ({people(row.people)} in all)."
            if row.cells
            else ""
        )
        taken = row.smaller.replace(MINUS, "” and “")
        alike = f" {target} of {people(row.alike)} among them is told for certain." if row.alike else ""
        yield Found.of(
            "difference of outputs",
            row.alike > 0,
            f"{row.larger}{MINUS}{row.smaller}",
            max(row.below, 1),
            who,
            f"Subtracting “{taken}” from “{row.larger}” leaves {plural(row.records, 'record')} ({row.group})."
            f"{cells}{alike}",
            named(row.small_cells.split("; ")) if row.small_cells else "",
            "Release only one of the two, or compute both on the same records.",
            target if row.alike else "",
        )


@dataclass(frozen=True, eq=False)
class _Held:
    """Which records are in subsets (n,), each looked at once; frame: the records decoded."""

    data: Microdata
    frame: pd.DataFrame
    _known: dict[str, NDArray[np.bool_]] = field(default_factory=dict)

    def of(self, where: str, output: str) -> NDArray[np.bool_]:
        """Those of one subset; OutputError, with the output named, where it cannot be evaluated."""
        if where not in self._known:
            self._known[where] = Subset(self.data.codebook, where, output).holds(self.frame)
        return self._known[where]


class _Named(Protocol):
    """What a difference needs of an output, or of several added up."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def table(self) -> Sequence[str]: ...


@dataclass(frozen=True)
class _Sum:
    """Outputs added up: a table by the variables that all of them have."""

    name: str
    kind: str
    table: tuple[str, ...]

    @classmethod
    def of(cls, parts: Sequence[Output]) -> _Sum:
        common = tuple(name for name in _crossed(parts[0]) if all(name in _crossed(part) for part in parts))
        return cls(MINUS.join(part.name for part in parts), parts[0].kind, common)


def _sums(larger: Sequence[Output], parts: Sequence[Sequence[Output]]) -> list[_Sum]:
    """One output of each part, added up: all choices of them, or, where these are many, for each of the larger's those
    that have most of its variables.
    """
    if np.prod([len(each) for each in parts], dtype=float) <= _MOST_SUMS:
        return [_Sum.of(some) for some in product(*parts)]
    tables = dict.fromkeys(tuple(_crossed(each)) for each in larger)
    return [
        _Sum.of([max(some, key=lambda each: len({*_crossed(each)} & {*table})) for some in parts]) for table in tables
    ]


def _between(
    larger: str,
    smaller: str,
    first: Sequence[Output],
    second: Sequence[_Named],
    held: _Held,
    numbers: Numbers,
    threshold: int,
    inside: bool,
    target: str,
    parts: Sequence[str] = (),
) -> Iterator[tuple[Difference, Rows]]:
    original, name = held.data, second[0].name
    codebook = original.codebook
    group, note = _plainly(larger, smaller), ""
    try:
        pair = compare(codebook, larger, smaller, name)
        if pair.equal or not pair.contains:
            return
        group = group_in_words(codebook, pair, larger, smaller)
        one, other = (held.of(where, name) for where in (larger, smaller))
    except OutputError as error:
        one, other = (held.of(where, name) for where in (larger, smaller))
        if (one == other).all() or (other & ~one).any():
            return
        note = f"one subset contains the other in these records; whether it must was not checked: {error}"
    isolated = np.flatnonzero(one & ~other)
    told = target and len(isolated) and are_apart(codebook, parts)
    left = Left.of(numbers, larger, parts or [smaller]) if told else None
    for minuend, subtrahend, variables, alike in _told(
        left, first, second, parts or [smaller], original, isolated, target
    ):
        cells = _cells(original, isolated, variables)
        few_in = [(label, rows) for label, rows in cells if original.people(rows) < threshold]
        small = [(label, original.people(rows)) for label, rows in few_in]
        number = original.people(isolated)
        few = isolated if number < threshold else _joined(rows for _, rows in few_in)
        row = Difference(
            larger=minuend,
            smaller=subtrahend,
            group=group,
            records=len(isolated),
            isolated=number,
            variables="+".join(variables),
            cells=len(cells),
            below=len(small),
            threshold=threshold,
            people=original.people(_joined(rows for _, rows in few_in)),
            alike=original.people(alike),
            small_cells="; ".join(f"{label}: {count}" for label, count in small) if inside else "",
            note=note,
        )
        yield row, alike if len(alike) else few


def group_in_words(codebook: Codebook, pair: Pair, larger: str, smaller: str) -> str:
    """The records of the one subset that are not in the other."""
    return in_words(codebook, pair) or _plainly(larger, smaller)


def left_in_words(codebook: Codebook, larger: str, parts: Sequence[str]) -> str:
    """The records of a subset that are in none of some others."""
    union = " or ".join(f"({where})" for where in parts)
    try:
        return group_in_words(codebook, compare(codebook, larger, union, ""), larger, union)
    except OutputError:  # too many combinations of values to go through
        return _plainly(larger, union)


def _plainly(larger: str, smaller: str) -> str:
    return f"{larger or 'all records'}, but not: {smaller}"


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


def _told(
    left: Left | None,
    first: Sequence[Output],
    second: Sequence[_Named],
    parts: Sequence[str],
    data: Microdata,
    isolated: Rows,
    target: str,
) -> list[tuple[str, str, tuple[str, ...], Rows]]:
    """Names of two outputs, the variables of the table that is left, and whose target it tells: of tables that are
    printed, and of those that other outputs tell by their numbers of records, where these tell somebody's.
    """
    rows = _tables(first, second)
    if left is None:
        return [(*row, NOBODY) for row in rows]
    more = []
    named_in = {name for where in (first[0].where, *parts) for name in Subset(data.codebook, where, "").variables}
    for variables in left.sets(target) if target not in named_in else ():  # that is told by who is left
        alike = left.alike(data, isolated, variables, target)
        told = [left.alike(data, isolated, by, target) for *_, by in rows]
        if len(np.setdiff1d(alike, _joined(told))):
            kind = next(kind for kind, tables in left.tables.items() if any({*variables} <= by for by in tables))
            names = [_name_of(left.numbers, replace(kind, where=where), variables) for where in parts]
            one = _name_of(left.numbers, kind, variables)
            more.append((one or first[0].name, MINUS.join(filter(None, names)) or second[0].name, variables, alike))
    printed = [(*row, left.alike(data, isolated, row[2], target)) for row in rows if row[2] or not more]
    return [*printed, *more]


def _name_of(numbers: Numbers, kind: Kind, variables: Sequence[str]) -> str:
    """The output that prints a table by some variables, or by most of them."""
    for size in range(len(variables), -1, -1):
        for some in combinations(variables, size):
            try:
                return numbers.named(kind, some)
            except KeyError:
                continue
    return ""


def _tables(first: Sequence[Output], second: Sequence[_Named]) -> list[tuple[str, str, tuple[str, ...]]]:
    """Names of two outputs, of one kind if there are such, and the variables of the table that their difference is; the
    finest of them only.
    """
    found: dict[frozenset[str], tuple[str, str, tuple[str, ...]]] = {}
    for one, other in sorted(product(first, second), key=lambda pair: pair[0].kind != pair[1].kind):
        common = tuple(name for name in _crossed(one) if name in _crossed(other))
        found.setdefault(frozenset(common), (one.name, other.name, common))
    return [row for variables, row in found.items() if not any(variables < finer for finer in found)]


def _crossed(output: _Named) -> Sequence[str]:
    """The variables of the table that an output is, or stands behind proportions and measures of association."""
    return output.table or (output.crossed if isinstance(output, Association | Proportions) else ())


def _cells(data: Microdata, rows: Rows, variables: Sequence[str]) -> list[tuple[str, Rows]]:
    """Cells of a table that hold any of some records, in words, with these."""
    if not variables or not len(rows):
        return []
    codebook = data.codebook
    joint = joint_over([codebook.index(name) for name in variables], codebook.sizes)
    place = level_in(joint, data.codes[rows])
    order = np.argsort(place, kind="stable")
    levels, start = np.unique(place[order], return_index=True)
    labels = [
        ", ".join(
            f"{name}={codebook[name].labels[level // stride % codebook[name].size]}"
            for name, stride in zip(variables, joint.strides, strict=True)
        )
        for level in levels.tolist()
    ]
    return list(zip(labels, np.split(rows[order], start[1:]), strict=True))


def _joined(rows: Iterable[Rows]) -> Rows:
    return np.concatenate([NOBODY, *rows])
