"""What measures of association tell of numbers of records: those that are printed, cells that somebody must be in, and
the tables, one a stratum, that the numbers are computed from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import special

from outrisk.codebook import format_value
from outrisk.errors import OutputError
from outrisk.outputs.base import Array, both, joint_for
from outrisk.outputs.conditions.banded import written_level, written_name
from outrisk.outputs.counts_first import CountsFirst
from outrisk.outputs.regression.existence import Existence
from outrisk.outputs.smooth.two_by_two import MEASURES, limits_of
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.blocks import Tally
from outrisk.problem.counts import Counts
from outrisk.problem.released import ROUNDING, Part, Released, TallyPart, half_digit

if TYPE_CHECKING:
    from outrisk.outputs.smooth.association import Association

_COUNTED = ("n", "cases")
_SLACK = 1e-9  # share of a variance that its computation may be off by
_CASES, _OTHERS, _ALL = 1, 0, 2  # of a level: those with the event, those without, both
_NEEDS: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]] = {  # of the level, and of the reference, for a number
    "risk": ((_ALL,), ()),
    "risk ratio": ((_ALL,), (_CASES,)),
    "risk difference": ((_ALL,), (_ALL,)),
    "odds ratio": ((_OTHERS,), (_CASES,)),
    "attributable fraction": ((_CASES,), (_CASES,)),
    "chi-square": ((_ALL,), (_ALL,)),
    "p": ((_ALL,), (_ALL,)),
    **dict.fromkeys(limits_of("risk ratio"), ((_CASES,), (_CASES,))),
    **dict.fromkeys(limits_of("risk difference"), ((_ALL,), (_ALL,))),
    **dict.fromkeys(limits_of("odds ratio"), ((_CASES, _OTHERS), (_CASES, _OTHERS))),
}


def counts_first(output: Association, low: Array, high: Array) -> Released | None:
    """What was released from low to high (k,) with records and cases first, in parts of their own; None where neither
    is printed.
    """
    S, names = len(output.strata), np.array([name for _, _, name in output.shown])
    tables = np.array([table for table, _, _ in output.shown])
    of, parts = list[NDArray[np.int64]](), list[Part]()
    for each in _COUNTED:
        for inside in (tables < S, tables == S):
            at = np.flatnonzero((names == each) & inside)
            if len(at):
                of.append(at)
                tally = _tally(output, [(*output.shown[k][:2], _ALL if each == "n" else _CASES) for k in at])
                parts.append(TallyPart((tally,), Counts(np.arange(len(at))), len(at)))
    if not of:
        return None
    others = np.setdiff1d(np.arange(len(low)), np.concatenate(of))
    if len(others):
        parts.append(output.of_shown(others))
    places = np.concatenate([*of, others])
    first = CountsFirst.of_whole(output, output, parts, places, [output.labels[at] for at in places])
    return Released(first, first.at(low), first.at(high), tuple(parts), places)


def _tally(output: Association, cells: list[tuple[int, int, int]]) -> Tally:
    """Records of levels of tables, all of them strata or all of the crude one: each cell a table, a level, and of this
    the cases, the others, or all; a record is in one of the cells at most.
    """
    S, L = len(output.strata), len(output.levels)
    total = output.cells[0]
    stratum, level, happened = total // (2 * L), total // 2 % L, total % 2
    found = np.full(len(total), -1, dtype=np.int32)
    for at, (table, of, side) in enumerate(cells):
        inside = (total >= 0) & (level == of) & ((stratum == table) | (table == S))
        found[inside & ((happened == side) | (side == _ALL))] = at
    return Tally(
        joint_for(output.codebook, output.variables, output.name), len(cells), found, None, output.subset.masks()
    )


def record_counts_of(output: Association, low: Array, high: Array) -> Iterator[RecordCounts]:
    """How many records, and how many cases, levels of the exposure have, where these are printed: by stratum, and in
    all. Nothing where records that are not counted, as they lack another value, might be taken for counted ones.
    """
    S = len(output.strata)
    for each, name in (("n", ()), ("cases", (output.event,))):
        for crude in (False, True):
            by = (*(() if crude else output.over), output.exposure, *name)
            if any(output.codebook[one].missing for one in output.variables if one not in by):
                continue
            at = [k for k, (table, _, what) in enumerate(output.shown) if what == each and (table == S) == crude]
            if not at:
                continue
            sizes = [output.codebook[one].size for one in by]
            least, most = np.zeros(sizes), np.full(sizes, np.inf)
            for k in at:
                table, level, _ = output.shown[k]
                values = [
                    *(() if crude else output.strata[table]),
                    output.levels[level],
                    *([output.happened] * len(name)),
                ]
                place = tuple(output.codebook[one].code_of[value] for one, value in zip(by, values, strict=True))
                least[place], most[place] = max(np.ceil(low[k]), 0.0), np.floor(high[k])
            yield RecordCounts(by, least, most)


def records_of_levels(
    output: Association, low: Array, high: Array
) -> Iterator[tuple[NDArray[np.bool_], tuple[float, float]]]:
    """Records and cases, where they are printed, as sums over some cells of a table by the variables: which (in its
    shape), the fewest, and the most.
    """
    sizes, S = [output.codebook[name].size for name in output.variables], len(output.strata)
    for k, (table, level, name) in enumerate(output.shown):
        if name in _COUNTED:
            cell = _tally(output, [(min(table, S), level, _ALL if name == "n" else _CASES)]).cell
            assert cell is not None
            yield (cell == 0).reshape(sizes), (float(np.ceil(low[k])), float(np.floor(high[k])))


def implied(output: Association, low: Array, high: Array) -> tuple[Released, ...]:
    """One record at least wherever a number that is printed has none of its own without it: of strata, then in all, of
    which pooled numbers ask as crude ones do.
    """
    S = len(output.strata)
    needed = [dict[tuple[int, int, int], None](), dict[tuple[int, int, int], None]()]
    half = half_digit(output.decimals) * ROUNDING
    for (table, level, name), least, greatest, apart in zip(output.shown, low, high, half, strict=True):
        if name in _COUNTED or not (np.isfinite(least) or np.isfinite(greatest)):
            continue
        own, other = _NEEDS[name]
        if name in ("risk", "risk ratio", "odds ratio") and least - apart > 0.0:
            own = (_CASES, *own)
        for at, sides in ((level, own), (output.reference_at, other)):
            needed[table >= S] |= dict.fromkeys((min(table, S), at, side) for side in sides)
    found = list[Released]()
    for cells in needed:
        for some in ([each for each in cells if each[2] != _ALL], [each for each in cells if each[2] == _ALL]):
            if some:
                part = TallyPart((_tally(output, some),), Counts(np.arange(len(some))), len(some))
                one = Existence(output.codebook, output.name, part, importance=output.importance)
                found.append(Released(one, np.ones(len(some)), np.full(len(some), np.inf), (part,)))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class OneTable:
    """An association without strata, as a function of one table by exposure and event, with numbers printed between
    low and high (k,).
    """

    output: Association
    low: Array
    high: Array

    def pairs(self, by: Sequence[str]) -> NDArray[np.int64]:
        """Of each level of the exposure the cell without and the one with the event, (L, 2), in a table by exposure and
        event in the order of `by`, flat; (0, 2) where there are several cells without.
        """
        of = self.output
        sizes = [of.codebook[name].size for name in of.variables]
        cell = of.cells[0].reshape(sizes).transpose([of.variables.index(name) for name in by]).ravel()
        found = [np.flatnonzero(cell == at) for at in range(of.cells[1])]
        if any(len(each) != 1 for each in found):
            return np.zeros((0, 2), np.int64)
        return np.concatenate(found).reshape(-1, 2)

    def between(self, group: int, others: Mapping[int, Array]) -> tuple[Array, Array]:
        """Between which (b,) the printed numbers leave the risk at a level, given the risks (b,) at some `others`."""
        of, reference = self.output, self.output.reference_at
        low, high = np.zeros(1), np.ones(1)
        half = half_digit(of.decimals) * ROUNDING
        with np.errstate(all="ignore"):
            for (_, level, name), least, greatest in zip(of.shown, self.low - half, self.high + half, strict=True):
                ends = None
                if name == "risk" and level == group:
                    ends = np.array([least]) / of.per, np.array([greatest]) / of.per
                elif name in MEASURES and group == level and reference in others:
                    ends = _exposed(name, others[reference], least, greatest, of.per)
                elif name in MEASURES and group == reference and level in others:
                    ends = _unexposed(name, others[level], least, greatest, of.per)
                if ends is not None:
                    low, high = np.fmax(low, ends[0]), np.fmin(high, ends[1])
        return low, high

    def number(
        self, group: int, others: Mapping[int, tuple[Array, Array]], share: tuple[Array, Array]
    ) -> tuple[Array, Array]:
        """Between which (b,) printed limits leave the people at a level, given those without and with the event (b,) at
        some `others`, and the range (b,) of its risk: what they leave of its part of the variance.
        """
        of, reference = self.output, self.output.reference_at
        least, most = np.zeros(1), np.full(1, np.inf)
        at = {(level, name): k for k, (_, level, name) in enumerate(of.shown)}
        with np.errstate(all="ignore"):
            for (level, name), k in at.items():
                other = reference if level == group else level if group == reference else group
                if name not in MEASURES or (level, limits_of(name)[0]) not in at or other not in others:
                    continue
                beside = _part(name, *others[other])
                low, high = (each - beside for each in self._variance(name, k))
                few, many = _parts_of_one(name, *share)
                impossible = high < -_SLACK * np.maximum(beside, 1.0)
                fewest = np.where(impossible, np.inf, np.where(high > 0.0, few / high, np.nan))
                least = np.fmax(least, fewest * (1.0 - _SLACK))
                most = np.fmin(most, np.where(low > 0.0, many / low, np.inf) * (1.0 + _SLACK))
        return least, most

    def _variance(self, name: str, at: int) -> tuple[float, float]:
        """Between which the limits behind the number `at` leave its variance, of a ratio that of its logarithm."""
        half = float(half_digit(self.output.decimals[at])) * ROUNDING
        lower, upper = ((float(self.low[k]) - half, float(self.high[k]) + half) for k in (at + 1, at + 2))
        z = 2.0 * float(special.ndtri((1.0 + self.output.level) / 2.0))
        if name == "risk difference":
            ends = (upper[0] - lower[1]) / self.output.per, (upper[1] - lower[0]) / self.output.per
        else:
            least = np.log(upper[0] / lower[1]) if upper[0] > 0.0 and lower[1] < np.inf else 0.0
            ends = float(least), float(np.log(upper[1] / lower[0])) if lower[0] > 0.0 else np.inf
        return (max(ends[0], 0.0) / z) ** 2, (ends[1] / z) ** 2 if np.isfinite(ends[1]) else np.inf


def _part(name: str, none: Array, some: Array) -> Array:
    """What a level adds to the variance of a measure, by those without and with the event."""
    n = none + some
    if name == "risk ratio":
        return none / (some * n)
    return none * some / n**3 if name == "risk difference" else 1.0 / none + 1.0 / some


def _parts_of_one(name: str, low: Array, high: Array) -> tuple[Array, Array]:
    """From where to where n times that lies, with a risk from low to high."""
    if name == "risk ratio":
        return (1.0 - high) / high, (1.0 - low) / low
    ends = low * (1.0 - low), high * (1.0 - high)
    least, most = np.minimum(*ends), np.where((low < 0.5) & (high > 0.5), 0.25, np.maximum(*ends))
    return (least, most) if name == "risk difference" else (1.0 / most, 1.0 / least)


def _exposed(name: str, risk: Array, low: float, high: float, per: float) -> tuple[Array, Array]:
    """Where a risk lies, given that at the reference and a measure of both from low to high."""
    low = max(low, 0.0) if name != "risk difference" else low
    if name == "risk ratio":
        return risk * low, risk * high
    if name == "risk difference":
        return risk + low / per, risk + high / per
    odds = risk / (1.0 - risk)
    return odds * low / (1.0 + odds * low), odds * high / (1.0 + odds * high)


def _unexposed(name: str, risk: Array, low: float, high: float, per: float) -> tuple[Array, Array]:
    """The other way round."""
    low = max(low, 0.0) if name != "risk difference" else low
    if name == "risk ratio":
        return risk / high, risk / low
    if name == "risk difference":
        return risk - high / per, risk - low / per
    odds = risk / (1.0 - risk)
    return odds / high / (1.0 + odds / high), odds / low / (1.0 + odds / low)


def single_tables(output: Association, low: Array, high: Array) -> Iterator[OneTable]:
    """The crude table, and that of each stratum, as associations of their own (of records `where` they are in it), with
    the numbers that are printed of them. A stratum that no condition can name, or not with all levels, is left out.
    """
    S, book = len(output.strata), output.codebook
    for table in range(S + 1):
        at = [k for k, (one, _, _) in enumerate(output.shown) if one == table]
        if not at or not (np.isfinite(low[at]) | np.isfinite(high[at])).any():
            continue
        if table < S:
            levels = [
                (book[name], int(book[name].code_of[value]))
                for name, value in zip(output.over, output.strata[table], strict=True)
            ]
            if any({"'", '"'} <= set(format_value(of.values[code])) for of, code in levels):
                continue
            conditions = [f"{written_name(of.name)} == {written_level(of, code)}" for of, code in levels]
        else:
            conditions = [f"not isna({written_name(name)})" for name in output.over if book[name].missing]
        try:
            one = _alone(output, both(output.where, *conditions))
        except OutputError:  # the condition leaves out a level, or all
            continue
        if [(level, name) for _, level, name in one.shown] == [output.shown[k][1:] for k in at]:
            yield OneTable(one, low[at], high[at])


def _alone(output: Association, where: str) -> Association:
    """The same of some records in one table."""
    return replace(
        output,
        over=(),
        show=(),
        statistics=tuple(each for each in output.statistics if each not in ("chi-square", "p")),
        reference=format_value(output.levels[output.reference_at]),
        variance="greenland-robins",
        continuity=False,
        places={each: digits for each, digits in output.digits.items() if each not in ("chi-square", "p")},
        where=where,
    )
