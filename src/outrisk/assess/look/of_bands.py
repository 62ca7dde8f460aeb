"""Two bandings of one variable: what a band of the one leaves of bands of the other, as those of 30 where one table has
people below 30 and the other up to 30.

Bands of two tables overlap in parts. Parts and bands make a graph of the bands, joined where they overlap; a part
whose removal takes the graph apart is what the bands on its one side of the one table leave of those of the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from outrisk.appetite import Appetite
from outrisk.assess.look.finding import NOBODY, Found, named, people, plural
from outrisk.assess.look.known import Array, Kind, Known
from outrisk.assess.look.of_sums import Sorted, cells_left, dominated_sums, own_values
from outrisk.assess.look.printed import Numbers
from outrisk.assess.look.same_answer import in_table
from outrisk.assess.look.told import Flags, Told
from outrisk.codebook import Codebook
from outrisk.microdata import Microdata
from outrisk.problem.blocks import Mask
from outrisk.records.schema import MINUS

_MOST_PARTS = 500
_ADVICE = "Release one of the two bandings alone, or the same bands in both tables."


@dataclass(frozen=True, eq=False)
class _Parts:
    """Parts of the bands of two variables by further ones: from where to where the number or sum of each may lie, in
    the shape of `names`, of which the bands are the first two; without ends where a table prints it itself.
    """

    names: tuple[str, ...]
    known: Known
    overlap: Flags


def bands_subtracted(
    numbers: Numbers, rules: Sequence[Mask], data: Microdata, appetite: Appetite, target: str, inside: bool
) -> Iterator[Found]:
    """Parts of bands that neither of two tables prints: cells of few, with one answer, or with one person's sum."""
    pairs = _overlaps(data.codebook, rules)
    for kind, tables in numbers.closed.items():
        variables = {name for by in tables for name in by}
        for (one, other), overlap in pairs.items() if not kind.weight and not kind.also else ():
            if {one, other} <= variables:
                for parts in _parts(numbers, kind, one, other, overlap):
                    if kind.counts:
                        yield from _counted(parts, numbers, kind, data, appetite, target, inside)
                    else:
                        yield from _summed(parts, numbers, kind, data, appetite, inside)


def _overlaps(codebook: Codebook, rules: Sequence[Mask]) -> dict[tuple[str, str], Flags]:
    """Which levels of two variables records can have together, where rules say of what both are (levels, levels)."""
    allowed: dict[tuple[int, tuple[int, ...]], Flags] = {}
    for mask in rules:
        table = mask.include.reshape([codebook.sizes[j] for j in mask.joint.variables])
        for axis, j in enumerate(mask.joint.variables if table.ndim > 1 else ()):
            of = (j, tuple(each for each in mask.joint.variables if each != j))
            flat = np.moveaxis(table, axis, -1).reshape(-1, codebook.sizes[j])
            allowed[of] = flat & allowed[of] if of in allowed else flat
    found: dict[tuple[str, str], Flags] = {}
    for one, other in combinations(allowed, 2):
        if one[1] == other[1] and one[0] != other[0]:
            first, second = sorted((one, other))
            names = codebook.names[first[0]], codebook.names[second[0]]
            overlap = allowed[first].astype(np.int32).T @ allowed[second].astype(np.int32) > 0
            found[names] = found[names] & overlap if names in found else overlap
    return found


def _parts(numbers: Numbers, kind: Kind, one: str, other: str, overlap: Flags) -> Iterator[_Parts]:
    """By the variables that tables of the one and of the other band have in common."""
    tables = numbers.closed[kind]
    if any({one, other} <= by for by in tables) or overlap.sum() > _MOST_PARTS:
        return
    sets = {(a & b) for a in tables if one in a for b in tables if other in b}
    for rest in (tuple(sorted(each, key=numbers.codebook.index)) for each in sets if not any(each < b for b in sets)):
        first, second = (_first(numbers, kind, band, rest) for band in (one, other))
        new = overlap & (overlap.sum(axis=1) > 1)[:, None] & (overlap.sum(axis=0) > 1)
        if first is not None and second is not None and new.any():
            yield _Parts((one, other, *rest), _subtracted(first, second, overlap, new), overlap)


def _first(numbers: Numbers, kind: Kind, band: str, rest: tuple[str, ...]) -> Known | None:
    """What is known by a band, the first variable, and others."""
    order = sorted((band, *rest), key=numbers.codebook.index)
    known = numbers.over(kind, order)
    if known is None:
        return None
    low, high = (np.moveaxis(end, order.index(band), 0) for end in (known.low, known.high))
    return Known((band, *rest), low, high, known.outputs)


def _subtracted(one: Known, other: Known, overlap: Flags, new: Flags) -> Known:
    sizes = (*overlap.shape, *one.low.shape[1:])
    low, high = np.full(sizes, -np.inf), np.full(sizes, np.inf)
    for i, j in np.argwhere(new).tolist():
        if (sides := _sides(overlap, i, j)) is not None:
            (rows, columns), (others, rest) = sides
            low[i, j] = np.maximum(
                _sum(one.low, rows) - _sum(other.high, columns), _sum(other.low, rest) - _sum(one.high, others)
            )
            high[i, j] = np.minimum(
                _sum(one.high, rows) - _sum(other.low, columns), _sum(other.high, rest) - _sum(one.low, others)
            )
    return Known((*one.by[:1], *other.by[:1], *one.by[1:]), low, high, ())


def _sum(ends: Array, levels: Flags) -> Array:
    return np.asarray(ends[levels].sum(axis=0))


def _sides(overlap: Flags, i: int, j: int) -> tuple[tuple[Flags, Flags], tuple[Flags, Flags]] | None:
    """The levels of both bands on either side of a part, that of i first; None where other parts join the sides."""
    without = overlap.copy()
    without[i, j] = False
    n = len(overlap)
    _, group = connected_components(sparse.bmat([[None, without], [without.T, None]]), directed=False)
    if group[i] == group[n + j]:
        return None
    first, second = group == group[i], group == group[n + j]
    return (first[:n], first[n:]), (second[:n], second[n:])


def _outputs(parts: _Parts, numbers: Numbers, kind: Kind) -> tuple[str, str]:
    one, other, *rest = parts.names
    return numbers.named(kind, (one, *rest)), numbers.named(kind, (other, *rest))


def _counted(
    parts: _Parts,
    numbers: Numbers,
    kind: Kind,
    data: Microdata,
    appetite: Appetite,
    target: str,
    inside: bool,
) -> Iterator[Found]:
    """Parts of few, and of people who all have one value of the target."""
    told = Told.whole(data, parts.names, numbers.records(kind, data))
    if told.counts[~parts.overlap].any():  # records that break the rules
        return
    known = parts.known
    told = replace(told, shown=(known.low > 0) | (known.high <= 0), exact=known.low == known.high)
    alike = NOBODY
    if target in parts.names[2:]:
        alike = np.concatenate([NOBODY, *(each.who for each in in_table(told, "", [target]))])
    few = (told.people > 0) & (told.people < appetite.safe_threshold) & told.exact
    if not few.any() and not len(alike):
        return
    first, second = _outputs(parts, numbers, kind)
    hold = "holds" if few.sum() == 1 else "hold"
    small = (
        f" {plural(int(few.sum()), 'cell')} {hold} fewer than {appetite.safe_threshold} ({people(told.number(few))})."
    )
    also = f" {target} of {people(data.people(alike))} among them is told for certain." if len(alike) else ""
    yield Found.of(
        "difference of outputs",
        len(alike) > 0,
        f"{first}{MINUS}{second}",
        max(int(few.sum()), 1),
        alike if len(alike) else told.who(few),
        f"Bands of “{first}” less bands of “{second}” leave cells by {', '.join(parts.names)} that neither prints."
        f"{small * bool(few.any())}{also}",
        named(told.labels(few)) if inside else "",
        _ADVICE,
        target if len(alike) else "",
    )


def _summed(
    parts: _Parts, numbers: Numbers, kind: Kind, data: Microdata, appetite: Appetite, inside: bool
) -> Iterator[Found]:
    """Parts whose sum is one person's value, or one that a person dominates."""
    rows = numbers.records(kind, data)
    of = Sorted.of(cells_left(data, kind, parts.names, rows, parts.known), data, kind, appetite)
    first, second = _outputs(parts, numbers, kind)
    how = f"bands of “{first}” less bands of “{second}” leave it alone ({', '.join(parts.names)})"
    if of.own:
        yield own_values(of, kind, f"{first}{MINUS}{second}", how, data, inside, advice=_ADVICE)
    if of.dominated:
        how = f"bands of “{first}” less bands of “{second}” (p % rule)"
        yield dominated_sums(of, kind, f"{first}{MINUS}{second}", how, appetite, inside, _ADVICE)
