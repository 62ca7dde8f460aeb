"""Measures of association behind which few people have the event, or few do not, nobody, all, or one person is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from outrisk.appetite import Appetite
from outrisk.assess.look.finding import Found
from outrisk.assess.look.of_rates import Cell, few_events, same_answers
from outrisk.assess.look.told import allowed, complete
from outrisk.codebook import format_value
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Output
from outrisk.outputs.smooth.association import Association
from outrisk.outputs.smooth.two_by_two import MEASURES
from outrisk.problem.blocks import level_in

_NO_INFORMATION = np.zeros((0, 0))
_EVENT, _NO_EVENT = 1, 0


@dataclass(frozen=True, eq=False)
class _Level:
    """A level of the exposure in a table: its cells by who has the event, and by who has not; each `shows` whether it
    would be printed if one record of the level that is not among them were.
    """

    cases: Cell
    others: Cell


def of_association(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """Levels of the exposure, by stratum where numbers of strata are shown, else in all, in which fewer than
    `safe_threshold` people have the event, or have it not; and those in which nobody has, all have, or one person is.

    All four counts of a 2 x 2 table stand behind its measures, and are looked at where they are not printed. A level of
    which nothing is printed but its number, and nothing would be otherwise, tells nothing.
    """
    if not isinstance(output, Association) or allowed(data.codebook, output, output.event).sum() < 2:
        return
    levels = _levels(output, data)
    values = [each for each in data.codebook[output.event].values if each != output.happened]
    happened = f"{output.event} = {format_value(output.happened)}"
    otherwise = f"{output.event} = {format_value(values[0])}" if len(values) == 1 else f"another {output.event}"
    about = output.event if len(values) == 1 else ""
    given = _given_away(output)
    yield from few_events(output, happened, [each.cases for each in levels], data, appetite, given)
    yield from few_events(output, otherwise, [each.others for each in levels], data, appetite, given)
    by = [*(output.over if "strata" in output.tables else ()), output.exposure]
    everybody = [each for each in levels if not len(each.others.events) and each.others.shows]
    rest = [
        each.cases
        for each in levels
        if each not in everybody and (len(each.others.events) or data.people(each.cases.rows) > 1)
    ]
    yield from same_answers(output, happened, by, rest, data, about)
    with_it = [replace(each.others, events=each.others.rows[:0]) for each in everybody]
    yield from same_answers(output, happened, by, with_it, data, about, "everybody has it")


def _levels(output: Association, data: Microdata) -> list[_Level]:
    """Levels that hold somebody, and of which something is printed, or would be."""
    rows = complete(data, output.where, output.name, output.variables)
    (part,) = output.parts(np.zeros(len(output.labels)))
    S, L = len(output.strata), len(output.levels)
    cell = output.cells[0][level_in(part.model.extra[0].joint, data.codes[rows])]
    rows, cell = rows[cell >= 0], cell[cell >= 0]
    totals = np.bincount(cell, minlength=output.cells[1]).astype(np.float64)
    printed = np.isfinite(part.map.numbers(totals, _NO_INFORMATION))
    found = list[_Level]()
    for table in range(S) if "strata" in output.tables else [S]:
        for level in range(L):
            of = (cell // 2 % L == level) & ((cell // (2 * L) == table) | (table == S))
            if not of.any():
                continue
            happened = cell % 2 == _EVENT
            shows = [_shows(output, totals, table, level, to) for to in (_EVENT, _NO_EVENT)]
            if any(shows) or printed[_about(output, table, level)].any():
                name = output.row(table, level)
                found.append(
                    _Level(
                        Cell(name, rows[of], rows[of & happened], shows[0]),
                        Cell(name, rows[of], rows[of & ~happened], shows[1]),
                    )
                )
    return found


def _about(output: Association, table: int, level: int) -> NDArray[np.bool_]:
    """Which numbers (k,) are made of the records of a level in a table; pooled ones of those in all."""
    S, reference = len(output.strata), output.reference_at
    return np.array(
        [
            name != "n"
            and min(one, S) == table
            and (of == level or (level == reference and name not in ("cases", "risk")))
            for one, of, name in output.shown
        ]
    )


def _shows(output: Association, totals: Array, table: int, level: int, to: int) -> bool:
    """Whether other numbers would be printed if one more of the records of a level did have the event, or did not,
    whichever stratum it is in; not where there is none that might.
    """
    S, L = len(output.strata), len(output.levels)
    information, map_ = _NO_INFORMATION, output.map_of(np.arange(len(output.shown)))
    before, asked = output.publish(map_.numbers(totals, information)), False
    for stratum in range(S) if table == S else [table]:
        own = (stratum * L + level) * 2
        if totals[own + 1 - to] < 1.0:
            continue
        asked, more = True, totals.copy()
        more[own + to] += 1.0
        more[own + 1 - to] -= 1.0
        after = output.publish(map_.numbers(more, information))
        if not ((after[0] != before[0]) | (after[1] != before[1])).any():
            return False
    return asked


def _given_away(output: Association) -> str:
    """Whether how many they are follows from numbers of other kinds."""
    if "cases" in output.statistics and "n" in output.statistics:
        return ""
    told = "n" in output.statistics and {"risk", *MEASURES} & set(output.statistics)
    limits = "limits" in output.statistics and set(MEASURES) & set(output.statistics)
    return "; how many they are is not printed, but the other numbers may give it away" if told or limits else ""
