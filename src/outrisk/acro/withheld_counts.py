"""Withheld counts of a session that other cells, totals and outputs give back: bounds of linear programmes.

Tables of a session come without a codebook: the levels that are printed anywhere for a variable are taken as its
levels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from outrisk.acro.count_tables import Count, CountTable, Key
from outrisk.codebook import Codebook, Variable
from outrisk.outputs import Frequencies
from outrisk.outputs.base import released
from outrisk.problem.released import Released
from outrisk.prove.cell_bounds import MOST_KINDS, audit, some_data_set_fits


def recovered(table: CountTable, tables: Sequence[CountTable]) -> tuple[dict[Key, float], tuple[str, ...]]:
    """Withheld cells of a table that follow, with their counts; and the outputs, by key, that they follow from.

    Used are tables of the same records: the table itself, those of its variables, and others as long as there are not
    too many kinds of records; tables that contradict those before them (they leave out other missing values, or their
    totals add up the printed cells alone) are not.
    """
    others = [each for each in tables if each is not table and each.where == table.where and not each.rounded]
    used = [table]
    if not _fits(used):
        return {}, ()
    for other in sorted(others, key=lambda each: len(set(each.by) - set(table.by))):
        if _kinds([*used, other]) <= MOST_KINDS and _fits([*used, other]):
            used.append(other)
    book, given, n = _released(used)
    found = next((one for one in audit(book, given, n, crosses=False).tables if one.table.name == given[0].name), None)
    if found is None:
        return {}, ()
    keys = list(product(*(book[name].labels for name in table.by)))
    told = {keys[int(found.table.total[q])]: float(found.low[q]) for q in np.flatnonzero(found.recovered)}
    outputs = dict.fromkeys(name.rpartition("#")[0] for name in found.outputs)
    return {key: count for key, count in told.items() if key in table.cells}, tuple(outputs)


def _fits(tables: Sequence[CountTable]) -> bool:
    return some_data_set_fits(*_released(tables))


def _released(tables: Sequence[CountTable]) -> tuple[Codebook, list[Released], int | None]:
    """A codebook, cells and margins as outputs (the first: the cells of the first table), and the number of records."""
    book = Codebook(tuple(Variable(name, "categorical", tuple(levels)) for name, levels in _levels(tables).items()))
    given, total = list[Released](), None
    for each in tables:
        parts = {each.by: each.cells} | _margins(each)
        total = parts.pop((), {}).get((), total)
        given += [_as_released(book, f"{each.key}#{at}", by, cells) for at, (by, cells) in enumerate(parts.items())]
    return book, given, None if total is None else round(total)


def _levels(tables: Sequence[CountTable]) -> dict[str, dict[str, None]]:
    found: dict[str, dict[str, None]] = {}
    for table in tables:
        for key in table.cells:
            for name, level in zip(table.by, key, strict=True):
                found.setdefault(name, {})[level] = None
    return found


def _kinds(tables: Sequence[CountTable]) -> float:
    return float(np.prod([float(len(levels)) for levels in _levels(tables).values()]))


def _margins(table: CountTable) -> dict[tuple[str, ...], Mapping[Key, Count]]:
    """Printed totals of all records, as tables by the variables that are not summed over."""
    found: dict[tuple[str, ...], dict[Key, Count]] = {}
    for key, count in table.true_totals.items():
        by = tuple(name for name, level in zip(table.by, key, strict=True) if level)
        found.setdefault(by, {})[tuple(level for level in key if level)] = count
    return dict(found)


def _as_released(book: Codebook, name: str, by: tuple[str, ...], cells: Mapping[Key, Count]) -> Released:
    """A table of counts as it is printed; a cell that it lacks holds nobody, unless cells of it are withheld."""
    missing = None if None in cells.values() else 0.0
    counts = [cells.get(key, missing) for key in product(*(book[each].labels for each in by))]
    low = np.array([0.0 if count is None else count for count in counts])
    high = np.array([np.inf if count is None else count for count in counts])
    return released(Frequencies(book, name, by), low, high)
