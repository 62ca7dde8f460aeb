"""Sums and means that a release does not print and that tell somebody's value: what subtracting outputs leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from outrisk.appetite import Appetite
from outrisk.assess.look.apart import are_apart, nearly_whole
from outrisk.assess.look.contributions import DOMINANCE, Cell, as_small, broken_rules, is_capped
from outrisk.assess.look.differences import group_in_words, left_in_words
from outrisk.assess.look.finding import NOBODY, Found, Rows, counted, named, people, plural
from outrisk.assess.look.known import Array, Kind, Known
from outrisk.assess.look.nested import nested
from outrisk.assess.look.printed import Numbers, cell_label, places
from outrisk.assess.look.top_codes import open_from
from outrisk.microdata import Microdata
from outrisk.outputs.base import both
from outrisk.outputs.conditions.banded import written_name
from outrisk.outputs.conditions.pairs import Pair
from outrisk.records.schema import MINUS

_ARITHMETIC = 1e-9  # of a sum
_ONE_OF_TWO = "Release only one of the two, or compute both on the same records."


@dataclass(frozen=True, eq=False)
class Left:
    """A cell that is left, with its records' values, and from where to where its sum may lie; of a weighted one also
    from where to where the sum of the weights.
    """

    cell: Cell
    low: float
    high: float
    weights: tuple[float, float] = (1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Sorted:
    """Cells whose sum is one person's value, and tells it; that one person dominates, so that the second largest
    contributor has it to within p %; and the others. Of a top code nobody's value is told.
    """

    own: list[Left]
    dominated: list[Left]
    others: list[Left]
    exact: bool  # whether the values of the first are told as they are, not to within p % alone

    @classmethod
    def of(cls, left: Sequence[Left], data: Microdata, kind: Kind, appetite: Appetite) -> Sorted:
        """Each cell where it belongs."""
        support, cap = values_of(data, kind), open_from(data.codebook, kind.what, kind.top, kind.where)
        weights = np.array(data.codebook[kind.weight].values if kind.weight else [1.0], dtype=np.float64)
        p = appetite.safe_pratio_p
        own = [each for each in left if each.cell.people == 1]
        told = [each for each in own if each.cell.values.max() < cap]
        told = [each for each in told if _is_exact(each, support, weights) or _is_near(each, support, weights, p)]
        rest = [each for each in left if each.cell.people > 1 and not kind.weight]
        rest = [each for each in rest if support[0] >= 0 and not is_capped(each.cell, cap)]
        ruled = [each for each in rest if _is_dominated(each, appetite)]
        others = [each for each in left if each not in told and each not in ruled]
        return cls(told, ruled, others, all(_is_exact(each, support, weights) for each in told))


def values_of(data: Microdata, kind: Kind) -> Array:
    """The values of the variable of a sum, those above its top code as this; ascending."""
    values = np.array(data.codebook[kind.what].values, dtype=np.float64)
    return values if kind.top is None else np.minimum(values, kind.top)


def _possible(left: Left, support: Array, weights: Array) -> Array:
    """The values of the codebook that a record may have whose value, times its weight, is a sum."""
    slack = _ARITHMETIC * max(1.0, abs(left.low), abs(left.high))
    low, high = left.weights
    some = weights[(weights >= low - _ARITHMETIC) & (weights <= high + _ARITHMETIC)]
    times = support[:, None] * some
    return np.unique(support[((times >= left.low - slack) & (times <= left.high + slack)).any(axis=1)])


def _is_exact(left: Left, support: Array, weights: Array) -> bool:
    """Whether a sum of one record leaves a single value of the codebook."""
    return len(left.cell.values) == 1 and len(_possible(left, support, weights)) == 1


def _is_near(left: Left, support: Array, weights: Array, share: float) -> bool:
    """Whether a sum of one person, or of one record with its weight, is known to within a share of it."""
    total, ends = float(left.cell.values.sum()), np.array([left.low, left.high])
    if len(weights) > 1 or weights[0] != 1.0:
        ends = _possible(left, support, weights)
        if len(left.cell.values) > 1 or not len(ends):
            return False
    return bool(np.abs(ends - total).max() < share * abs(total))


def _is_dominated(left: Left, appetite: Appetite) -> bool:
    """Whether the largest contribution is at most so much less than the sum without the second largest."""
    part = left.cell.by_person[0]
    slack = max(left.high - float(part.sum()), 0.0)
    return "p %" in broken_rules(left.cell, appetite) and part[2:].sum() + slack < appetite.safe_pratio_p * part[0]


def cells_left(
    data: Microdata, kind: Kind, names: Sequence[str], rows: Rows, known: Known, weights: Known | None = None
) -> list[Left]:
    """Cells of a table by some variables that hold any of some records, of which finite sums are known; weights: what
    is known of the sums of their weights.
    """
    place = places(data, names, rows)
    codes = data.codes[rows, data.codebook.index(kind.what)]
    values, weight = values_of(data, kind)[codes], np.ones(len(rows))
    if kind.weight:
        of = data.codes[rows, data.codebook.index(kind.weight)]
        weight = np.array(data.codebook[kind.weight].values, dtype=np.float64)[of]
    low, high = known.low.ravel(), known.high.ravel()
    rank = np.unique(values_of(data, kind), return_inverse=True)[1].astype(np.uint16)  # few, which takes less to sort
    order, found = np.lexsort((rank[codes], as_small(place))), []
    cells, start = np.unique(place[order], return_index=True)
    for at, here in zip(cells.tolist(), np.split(order, start[1:]), strict=True) if len(rows) else ():
        if np.isfinite(low[at]) and np.isfinite(high[at]):
            owner = rows[here] if data.person is None else data.person[rows[here]]
            cell = Cell(cell_label(data.codebook, names, at), values[here], weight[here], rows[here], owner)
            of_weights = (1.0, 1.0) if not kind.weight else (0.0, np.inf)
            if weights is not None:
                of_weights = float(weights.low.ravel()[at]), float(weights.high.ravel()[at])
            found.append(Left(cell, float(low[at]), float(high[at]), of_weights))
    return found


def sums_subtracted(
    numbers: Numbers, data: Microdata, appetite: Appetite, target: str, inside: bool
) -> Iterator[Found]:
    """Sums of one subset less those of another inside it, as printed or as means times numbers of records."""
    kinds = [kind for kind in numbers.closed if kind.what]
    for larger in kinds:
        for smaller in kinds:
            pair = _nested(numbers, larger, smaller)
            if pair is None:
                continue
            group = group_in_words(data.codebook, pair, larger.where, _complete(larger, smaller))
            for names in numbers.common(larger, smaller):
                yield from _subtracted(numbers, data, appetite, inside, larger, [smaller], group, names)


def parts_subtracted(numbers: Numbers, data: Microdata, appetite: Appetite, inside: bool) -> Iterator[Found]:
    """Sums of a subset less those of two others or more within it, which are apart from each other and leave few."""
    of: dict[Kind, list[Kind]] = {}
    for kind in numbers.closed:
        if kind.what:
            of.setdefault(replace(kind, where=""), []).append(kind)
    for kinds in filter(lambda each: len(each) > 2, of.values()):
        by_where = {kind.where: kind for kind in kinds}
        held = {where: numbers.inside(kind, data) for where, kind in by_where.items()}
        for where, others in nearly_whole(held, data, appetite.safe_threshold):
            larger, parts = by_where[where], [by_where[each] for each in others]
            if not all(_nested(numbers, larger, part) for part in parts) or not are_apart(data.codebook, others):
                continue
            group = left_in_words(data.codebook, where, others)
            for names in numbers.common_of([larger, *parts]):
                yield from _subtracted(numbers, data, appetite, inside, larger, parts, group, names)


def _nested(numbers: Numbers, larger: Kind, smaller: Kind) -> Pair | None:
    """The subsets of two kinds, where the second is within the first in any data: by its condition, or as complete
    cases of more variables.
    """
    if larger == smaller or replace(larger, where=smaller.where, lacks=smaller.lacks) != smaller:
        return None
    if not larger.lacks <= smaller.lacks:
        return None
    return nested(numbers, larger.where, _complete(larger, smaller))


def _complete(larger: Kind, smaller: Kind) -> str:
    """The condition of the smaller of two kinds beside the larger: that it lacks no value of more variables, too."""
    return both(smaller.where, *(f"{written_name(name)}.notna()" for name in sorted(smaller.lacks - larger.lacks)))


def _less(numbers: Numbers, larger: Kind, parts: Sequence[Kind], names: tuple[str, ...]) -> Known | None:
    """What is left of a table without those of parts of it; None where one of them is not told."""
    whole, of = numbers.over(larger, names), [numbers.over(part, names) for part in parts]
    if whole is None or None in of:
        return None
    low, high = (sum((getattr(each, end) for each in of), np.zeros_like(whole.low)) for end in ("low", "high"))
    return Known(names, whole.low - high, whole.high - low, ())


def _subtracted(
    numbers: Numbers,
    data: Microdata,
    appetite: Appetite,
    inside: bool,
    larger: Kind,
    parts: Sequence[Kind],
    group: str,
    names: tuple[str, ...],
) -> Iterator[Found]:
    known = _less(numbers, larger, parts, names)
    if known is None:
        return
    rows = numbers.left(larger, parts, data)
    of_weights = [replace(kind, what="", top=None) for kind in (larger, *parts)]
    weights = _less(numbers, of_weights[0], of_weights[1:], names) if larger.weight else None
    left = cells_left(data, larger, names, rows, known, weights)
    of = Sorted.of(left, data, larger, appetite)
    first, others = numbers.named(larger, names), [numbers.named(part, names) for part in parts]
    output = MINUS.join([first, *others])
    taken = f"subtracting {', '.join(f'“{each}”' for each in others)} from “{first}” leaves"
    if of.own:
        yield own_values(of, larger, output, f"{taken} it alone ({_in_cells(of.own, names)}{group})", data, inside)
    if of.dominated:
        what = f"{taken} sums that it dominates ({_in_cells(of.dominated, names)}{group}; p % rule)"
        yield dominated_sums(of, larger, output, what, appetite, inside)
    few = [each for each in of.others if each.cell.people < appetite.safe_threshold]
    few = few if names or len(parts) > 1 else []  # of a pair of all in one that is said of the records
    if few:
        what = f"{taken} sums of {larger.what} ({group}) of which {plural(len(few), 'cell')} of {len(left):,}"
        what += f" by {', '.join(names)}" * bool(names)
        what += f" rest{'s' * (len(few) == 1)} on fewer than {appetite.safe_threshold} {counted(data)}"
        said = f"{what[0].upper()}{what[1:]}."
        yield found_in_cells("difference of outputs", False, output, few, said, "", inside)


def _in_cells(left: Sequence[Left], names: Sequence[str]) -> str:
    return f"{plural(len(left), 'cell')} by {', '.join(names)}; " if names else ""


def own_values(
    of: Sorted,
    kind: Kind,
    output: str,
    how: str,
    data: Microdata,
    inside: bool,
    rule: str = "difference of outputs",
    advice: str = _ONE_OF_TWO,
) -> Found:
    """The finding about cells whose sum is the value of one person."""
    number = data.people(_who(of.own))
    near = "" if of.exact else ", or to within the share of the p % rule,"
    what = f"{kind.what} of {people(number)} is told{near} for certain: {how}."
    return found_in_cells(rule, True, output, of.own, what, kind.what, inside, advice)


def dominated_sums(
    of: Sorted, kind: Kind, output: str, how: str, appetite: Appetite, inside: bool, advice: str = _ONE_OF_TWO
) -> Found:
    """The finding about cells whose sum gives the second largest contributor the largest to within p %."""
    what = (
        f"{kind.what} of {people(len(of.dominated))} can be worked out to within {100 * appetite.safe_pratio_p:g} % by "
        f"the second largest contributor: {how}."
    )
    found = found_in_cells(DOMINANCE, True, output, of.dominated, what, kind.what, inside, advice)
    who = np.concatenate([each.cell.rows[each.cell.by_person[1] < 1] for each in of.dominated])
    return replace(found, people=len(np.unique(who)), who=np.unique(who))


def _who(left: Sequence[Left]) -> Rows:
    return np.concatenate([NOBODY, *(each.cell.rows for each in left)])


def found_in_cells(
    rule: str,
    certain: bool,
    output: str,
    left: Sequence[Left],
    what: str,
    about: str,
    inside: bool,
    advice: str = _ONE_OF_TWO,
) -> Found:
    """A finding about all people in some cells, which are named `inside` alone."""
    labels = [f"{each.cell.label}: {plural(len(each.cell.values), 'record')}" for each in left]
    return Found.of(
        rule,
        certain,
        output,
        len(left),
        _who(left),
        what,
        named(labels) if inside else "",
        advice,
        about,
    )
