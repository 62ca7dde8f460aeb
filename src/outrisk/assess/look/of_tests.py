"""Tests that compare a group of few people, and means of such a group that a test and a table tell together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from outrisk.appetite import Appetite
from outrisk.assess.look.as_cells import known_of_cells
from outrisk.assess.look.contributions import Cell, cells_of
from outrisk.assess.look.counts_told import lacking
from outrisk.assess.look.finding import Found, Rows, counted, named, plural
from outrisk.assess.look.known import Kind
from outrisk.assess.look.of_means import Mean, told_by_means
from outrisk.assess.look.printed import Numbers, places
from outrisk.assess.look.told import complete
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output
from outrisk.outputs.smooth.hypothesis_test import HypothesisTest
from outrisk.outputs.tables.magnitudes import Magnitudes
from outrisk.problem.released import half_digit


def few_in_a_group(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """Groups of fewer than `safe_threshold` records, or people, that a test compares with others."""
    if not isinstance(output, HypothesisTest) or output.paired:
        return
    groups = _groups(output, data)
    few = [(data.people(rows), label, rows) for label, rows in groups]
    few = sorted((each for each in few if each[0] < appetite.safe_threshold), key=lambda each: each[0])
    if few and len(groups) > 1:
        yield Found.of(
            "small cells",
            False,
            output.name,
            len(few),
            np.concatenate([rows for _, _, rows in few]),
            f"{plural(len(few), 'group')} of {len(groups):,} that a test of {output.variable} compares "
            f"hold{'s' * (len(few) == 1)} fewer than {appetite.safe_threshold} {counted(data)}; beside a mean of the "
            "others, a difference tells theirs.",
            named([f"{label}: {number:,}" for number, label, _ in few]),
            "Merge the group with another, or leave its records out of the test.",
        )


def _groups(output: HypothesisTest, data: Microdata) -> list[tuple[str, Rows]]:
    """The groups that hold somebody, in codebook order: what they are called, and their records."""
    rows, codebook = complete(data, output.where, output.name, output.variables), data.codebook
    codes = data.codes[rows][:, [codebook.index(name) for name in output.by]]
    found, place = np.unique(codes, axis=0, return_inverse=True)
    order = np.argsort(place.ravel(), kind="stable")
    parts = np.split(rows[order], np.cumsum(np.bincount(place.ravel(), minlength=len(found)))[:-1])
    labels = [
        ", ".join(f"{name}={codebook[name].labels[code]}" for name, code in zip(output.by, each, strict=True))
        for each in found.tolist()
    ]
    return list(zip(labels, parts, strict=True))


def beside_means(outputs: Sequence[Output], numbers: Numbers, data: Microdata, appetite: Appetite) -> Iterator[Found]:
    """Groups of fewer than `safe_threshold` people whose mean follows from a printed difference of two means and the
    other group's mean in a table: of one person it is their value. numbers: of how many people the group may be.
    """
    tables = [each for each in outputs if isinstance(each, Magnitudes) and "mean" in each.statistics]
    for test in outputs:
        if not (isinstance(test, HypothesisTest) and "difference" in test.statistics and test.by):
            continue
        beside = [each for each in tables if each.value == test.variable and not each.weight]
        groups = _groups(test, data) if beside else []
        if len(groups) != 2:
            continue
        half = float(half_digit(test.decimals[test.statistics.index("difference")]))
        for (label, rows), (_, others) in (groups, groups[::-1]):
            if data.people(rows) < appetite.safe_threshold:
                more = _most(test, rows, others, numbers, data) - len(rows)
                yield from _beside(test, beside, label, rows, others, (half, more), data, appetite)


def _most(test: HypothesisTest, rows: Rows, others: Rows, numbers: Numbers, data: Microdata) -> float:
    """How many records one of two groups may have at most, as outputs print of it, or of the other and both."""
    kind = Kind(test.where, lacking(data.codebook, test.variables))
    at, other = places(data, test.by, np.array([rows[0], others[0]])).tolist()
    low, high = known_of_cells(numbers, kind, test.by, data)
    whole = numbers.over(kind, ())
    return float(high[at] if whole is None else min(high[at], float(whole.high) - max(low[other], 0.0)))


def _beside(
    test: HypothesisTest,
    tables: Sequence[Magnitudes],
    label: str,
    rows: Rows,
    others: Rows,
    half: tuple[float, float],
    data: Microdata,
    appetite: Appetite,
) -> Iterator[Found]:
    """What the first of the tables tells that has the others as a cell. half: how far the printed difference may be
    from its own, and how many records more the group may have.
    """
    for table in tables:
        if table.protection.top_code is not None or not any(
            np.array_equal(np.sort(cell.rows), others) for cell in cells_of(table, data)
        ):
            continue
        of_table = float(half_digit(table.decimals[table.statistics.index("mean")]))
        variable = data.codebook[test.variable]
        support = np.array(variable.values, dtype=np.float64)
        values = support[data.codes[rows, data.codebook.index(test.variable)]]
        order = np.argsort(values, kind="stable")
        owner = rows if data.person is None else data.person[rows]
        cell = Cell(label, values[order], np.ones(len(rows)), rows[order], owner[order])
        name = f"{test.name} with {table.name}"
        yield from told_by_means(
            name, test.variable, [Mean(cell, half[0] + of_table, half[1])], support, data, appetite
        )
        return
