"""Quantile regressions: whose values the plane passes through, cells that they are a table of, and exact fits.

A sum of deviations is least where no direction lowers it. So where columns tell one record apart the plane passes
through it, and where they tell a cell apart in which all have the same terms, it passes through the quantile of the
cell, which is the value of somebody.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from outrisk.appetite import Appetite
from outrisk.assess.look.contributions import Cell
from outrisk.assess.look.finding import Found, Rows, counted, named, people, plural
from outrisk.assess.look.fits import FULL, degrees_of_freedom, few_behind
from outrisk.assess.look.groups import Span
from outrisk.assess.look.of_few_fitted import few_groups
from outrisk.assess.look.of_fitted import as_table, cells_by, labels_of
from outrisk.assess.look.of_means import Mean, told_by_means
from outrisk.assess.look.told_by_mixed import leverages
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Output
from outrisk.outputs.regression.fit import Sample
from outrisk.outputs.regression.quantile_fit import deviations_of
from outrisk.outputs.regression.quantile_regression import QuantileRegression
from outrisk.problem.released import ROUNDING, half_digit

_HOW = " The plane passes through the only record that columns tell apart."
_GUESSED = 0.5  # share of those on the plane among those who may be, from which they are a finding
_TOLD = 1e-9  # of the response, by which a least value is apart from a fitted one


def of_quantile_regressions(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """What a quantile regression tells of people for certain, and the rules that it breaks as any regression does."""
    if not isinstance(output, QuantileRegression):
        return
    try:
        sample, frame = output.linear.sample(data)
        plane = output.plane(sample, frame)
    except OutputError:
        return
    rows = frame.index.to_numpy()
    for rule in (few_behind, degrees_of_freedom):
        for found in rule(output.linear, data, appetite, target):
            yield replace(found, certain=False)  # what is certain is said below, as far as digits tell it
    cells = list(_cells(output, sample, rows, data, appetite))
    yield from _alone(output, sample, cells, rows, data, appetite)
    yield from _ends(output, sample, cells, rows, data, appetite)
    yield from _small(output, sample, rows, data, appetite)
    yield from _exact(output, sample, plane.residuals, rows, data)
    yield from _several(output, plane.unique, rows)
    yield from _passed(output, sample, plane.residuals, plane.coefficients, rows, data)


def _half(output: QuantileRegression, design: Array) -> Array:
    """To within how much the fitted value of each record (n,) is told."""
    return np.asarray(np.abs(design) @ half_digit(output.decimals[: design.shape[1]]))


def _cells(
    output: QuantileRegression, sample: Sample, rows: Rows, data: Microdata, appetite: Appetite
) -> Iterator[tuple[str, NDArray[np.intp]]]:
    """Records of the same terms that columns tell apart, where what makes their fitted value is printed, each once."""
    span, seen = Span(sample.design), set[bytes]()
    for label, inside in _candidates(output, sample, rows, data, appetite):
        X = sample.design[inside]
        if inside.tobytes() in seen or not (X[0] == X).all() or not output.kept[X[0] != 0.0].all():
            continue
        seen.add(inside.tobytes())
        if span.of(inside) is not None:
            yield label, inside


def _candidates(
    output: QuantileRegression, sample: Sample, rows: Rows, data: Microdata, appetite: Appetite
) -> Iterator[tuple[str, NDArray[np.intp]]]:
    yield from few_groups(output.linear, rows, data, appetite)
    table = as_table(output.linear, sample)
    if table is not None:
        labels = labels_of(output.linear, *table, rows, data)
        order, ends = np.argsort(table[1], kind="stable"), np.cumsum(np.bincount(table[1]))[:-1]
        yield from zip(labels, np.split(order, ends), strict=True)
    yield from (("a record alone", np.array([at])) for at in np.flatnonzero(leverages(sample.design) > FULL))


def _cell(label: str, inside: NDArray[np.intp], sample: Sample, rows: Rows, data: Microdata) -> Cell:
    (cell,) = cells_by(np.zeros(len(inside), np.intp), [label], sample.response[inside], rows[inside], data)
    return cell


def _alone(
    output: QuantileRegression,
    sample: Sample,
    cells: list[tuple[str, NDArray[np.intp]]],
    rows: Rows,
    data: Microdata,
    appetite: Appetite,
) -> Iterator[Found]:
    """Cells of one record, through which the plane passes: their value is told as far as the digits tell it."""
    means = [
        Mean(_cell(label, inside, sample, rows, data), float(_half(output, sample.design[inside])[0]))
        for label, inside in cells
        if len(inside) == 1
    ]
    for finding in told_by_means(output.name, output.response, means, output.support, data, appetite):
        yield replace(finding, what=finding.what + _HOW)


def _ends(
    output: QuantileRegression,
    sample: Sample,
    cells: list[tuple[str, NDArray[np.intp]]],
    rows: Rows,
    data: Microdata,
    appetite: Appetite,
) -> Iterator[Found]:
    """Cells of so few that their quantile is their least or largest value, which fewer than `safe_threshold` have."""
    found, who = [], []
    gap = float(np.diff(output.support).min(initial=np.inf))
    for label, inside in cells:
        n = len(inside)
        low, high = n * output.tau < 1.0 - _TOLD, n * (1.0 - output.tau) < 1.0 - _TOLD
        if n == 1 or not (low or high) or gap <= 2.0 * float(_half(output, sample.design[inside])[0]):
            continue
        y = sample.response[inside]
        own = rows[inside][y == (y.min() if low else y.max())]
        if data.people(own) < appetite.safe_threshold:
            found.append(f"{label}: the {'least' if low else 'largest'} value is that of {people(data.people(own))}")
            who.append(own)
    if found:
        yield Found.of(
            "extreme values",
            True,
            output.name,
            len(found),
            np.concatenate(who),
            f"{plural(len(found), 'cell')} of so few people that {'its' if len(found) == 1 else 'their'} quantile "
            f"{output.tau:g} of {output.response} is the least or the largest value, which fewer than "
            f"{appetite.safe_threshold} people have.",
            named(found),
            "Take a quantile nearer to the median, or merge these cells with others.",
            output.response if output.response in data.codebook else "",
        )


def _small(
    output: QuantileRegression, sample: Sample, rows: Rows, data: Microdata, appetite: Appetite
) -> Iterator[Found]:
    """Cells of fewer than `safe_threshold` records, where the regression is a table of quantiles."""
    table = as_table(output.linear, sample)
    if table is None:
        return
    labels = labels_of(output.linear, *table, rows, data)
    cells = cells_by(table[1], labels, sample.response, rows, data)
    few = [cell for cell in cells if data.people(cell.rows) < appetite.safe_threshold]
    if few:
        small = sorted((data.people(cell.rows), cell.label) for cell in few)
        yield Found.of(
            "small cells",
            False,
            output.name,
            len(few),
            np.concatenate([cell.rows for cell in few]),
            f"{plural(len(few), 'cell')} of {len(cells):,} of the table of quantiles that this regression is "
            f"rest{'s' * (len(few) == 1)} on fewer than {appetite.safe_threshold} {counted(data)}.",
            named([f"{label}: {number:,}" for number, label in small]),
            "Merge levels, or withhold these cells.",
        )


def _exact(
    output: QuantileRegression, sample: Sample, residuals: Array, rows: Rows, data: Microdata
) -> Iterator[Found]:
    """A sum of deviations that is printed as 0, or a pseudo-R2 as 1: fitted values are the records' own. Certain where
    the digits leave no other value of the codebook to anybody.
    """
    parts = dict(output.release.layout(len(output.coefficients)))
    most = float(half_digit(output.decimals[parts["deviations"].start])) if "deviations" in parts else np.inf
    is_0 = "deviations" in parts and deviations_of(residuals, output.tau) <= most
    if not (is_0 or ("pseudo_r2" in parts and not residuals.any())) or not output.kept.all():
        return
    far = _half(output, sample.design) + most / min(output.tau, 1.0 - output.tau)
    apart = float(np.diff(output.support).min(initial=np.inf))
    told = 2.0 * far * ROUNDING < apart
    certain = bool(told.any())
    who = rows[told] if certain else rows
    yield Found.of(
        "exact fit",
        certain,
        output.name,
        1,
        who,
        f"The plane passes through all records: {output.response} of {people(data.people(who))} is the fitted value.",
        "",
        "Do not release it.",
        output.response if certain and output.response in data.codebook else "",
    )


def _several(output: QuantileRegression, unique: NDArray[np.bool_], rows: Rows) -> Iterator[Found]:
    """Coefficients that are not the same in all planes with the least sum of deviations: what a program prints of them
    is its choice, which need not be the one that is assessed, unless it is given.
    """
    some = [
        name for name, sure, kept in zip(output.coefficients, unique, output.kept, strict=True) if kept and not sure
    ]
    if some:
        yield Found.of(
            "several planes fit",
            False,
            output.name,
            len(some),
            rows[:0],
            f"{plural(len(some), 'coefficient')} {'is' if len(some) == 1 else 'are'} not the same in all planes that "
            "have the least sum of deviations: another program may print another, and one of them is assessed.",
            named(some),
            "Give the printed numbers as 'values'.",
        )


def _passed(
    output: QuantileRegression, sample: Sample, residuals: Array, b: Array, rows: Rows, data: Microdata
) -> Iterator[Found]:
    """People whom the plane passes through where few others have terms at which it comes to a possible response: who
    knows the terms of all can tell them.
    """
    on = residuals == 0.0
    if not output.kept.all() or on.all():
        return
    fitted = sample.design @ np.round(b, int(output.decimals[0]))
    at = np.clip(np.searchsorted(output.support, fitted), 1, max(len(output.support) - 1, 1))
    near = np.minimum(*(np.abs(output.support[np.clip(at - k, 0, len(output.support) - 1)] - fitted) for k in (0, 1)))
    may = near <= _half(output, sample.design) * ROUNDING
    if not on.any() or on.sum() < _GUESSED * may.sum() or may.sum() > len(on) / 2:
        return
    who = rows[on]
    yield Found.of(
        "on the plane",
        False,
        output.name,
        1,
        who,
        f"The plane passes through {people(data.people(who))}, and at the terms of {int(may.sum()):,} records of "
        f"{len(on):,} alone it comes to a value that {output.response} can have: whoever knows the terms of all can "
        "tell which they may be, and their value.",
        "",
        "Print the coefficients to fewer digits.",
    )
