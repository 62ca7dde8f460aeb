"""Fitted values that are means of groups, or everybody's own: saturated models, and linear ones that leave no rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from outrisk.appetite import Appetite
from outrisk.assess.look.contributions import Cell
from outrisk.assess.look.finding import Found, Rows, people
from outrisk.assess.look.groups import Span
from outrisk.assess.look.of_means import Mean, told_by_means
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array
from outrisk.outputs.regression.fit import Sample
from outrisk.outputs.regression.regression import Regression
from outrisk.problem.released import ROUNDING, half_digit

_FIRST = 5_000  # records whose kinds are counted first


def of_saturated(
    output: Regression,
    sample: Sample,
    table: tuple[Array, NDArray[np.intp]],
    rows: Rows,
    data: Microdata,
    appetite: Appetite,
) -> Iterator[Found]:
    """The rules of tables of means, held against the cells that a saturated linear or Poisson regression is a table of,
    each mean as far as the digits of the coefficients tell it. What a record alone is told is said elsewhere, and so is
    who dominates a cell whose number of records is known (`sums_dominated`): a model does not say it. table: that of
    `as_table`.
    """
    columns, place = table
    weights = np.ones(len(place)) if sample.weights is None else sample.weights
    size = np.bincount(place, weights)
    means = np.bincount(place, sample.response * weights) / size
    eta = means if output.kind == "ols" else np.log(np.maximum(means, np.finfo(float).tiny))
    half = np.abs(columns) @ half_of_coefficients(output, _least_squares(columns, eta))
    half = half if output.kind == "ols" else means * np.expm1(half)
    labels = labels_of(output, columns, place, rows, data)
    cells = cells_by(place, labels, sample.response, rows, data)
    if sample.weights is not None:
        cells, half = _weighted(cells, half, dict(zip(rows.tolist(), weights.tolist(), strict=True)))
    told = [Mean(cell, float(each), np.inf) for cell, each in zip(cells, half, strict=True) if len(cell.rows) > 1]
    yield from told_by_means(output.name, output.response.side.name, told, support_of(output), data, appetite)


def _weighted(cells: list[Cell], halves: Array, weights: dict[int, float]) -> tuple[list[Cell], Array]:
    """Cells with the weights of their records over the least of them, so that nobody moves a mean by less than one of
    so many records would; and to within how much such a mean is told.
    """
    found, wider = [], []
    for cell, half in zip(cells, halves.tolist(), strict=True):
        own = np.array([weights[row] for row in cell.rows.tolist()])
        own = own / own.min()
        found.append(replace(cell, weights=own))
        wider.append(half * own.sum() / len(own))
    return found, np.array(wider)


def as_table(output: Regression, sample: Sample) -> tuple[Array, NDArray[np.intp]] | None:
    """The kinds of records and which each record is, where printed coefficients tell the mean of each, which may be
    weighted.
    """
    plain = output.kind in ("ols", "poisson") and not sample.offset.any()
    plain = plain and (sample.weights is None or bool((sample.weights > 0.0).all()))
    return _kinds(sample.design) if plain and output.kept.all() else None


def _kinds(design: Array) -> tuple[Array, NDArray[np.intp]] | None:
    """The different rows of a design and which each record has, if there are no more than columns, and fewer than
    records.
    """
    if len(np.unique(design[:_FIRST], axis=0)) > design.shape[1]:
        return None
    mixed, factors = np.zeros(len(design)), np.random.default_rng(1).random((1, design.shape[1]))
    for column, factor in zip(design.T, factors[0].tolist(), strict=True):  # sorts at once what sorts slowly by rows
        mixed += factor * column
    _, first, place = np.unique(mixed, return_index=True, return_inverse=True)
    if not design.shape[1] >= len(first) < len(design):
        return None
    columns = design[first]
    if not all((at[place] == column).all() for at, column in zip(columns.T, design.T, strict=True)):
        columns, place = np.unique(design, axis=0, return_inverse=True)
    return columns, place.ravel()


def _least_squares(design: Array, response: Array) -> Array:
    return np.asarray(np.linalg.lstsq(design, response, rcond=None)[0], dtype=np.float64)


def half_of_coefficients(output: Regression, coefficients: Array) -> Array:
    """How far coefficients b (k,) may be from what is printed of them, which may be exp(b)."""
    half = half_digit(output.decimals[: len(coefficients)])
    if not output.release.exponentiate:
        return half
    with np.errstate(divide="ignore", over="ignore"):
        relative = half / np.exp(coefficients)
        return np.asarray(-np.log(np.maximum(1.0 - relative, 0.0)))


def support_of(output: Regression) -> Array:
    """What the response can be, ascending."""
    return np.unique(output.response.table()[1])


def cells_by(place: NDArray[np.intp], labels: list[str], values: Array, rows: Rows, data: Microdata) -> list[Cell]:
    """The records (n,) by their place, as cells with values in rising order."""
    order = np.lexsort((values, place))
    ends = np.cumsum(np.bincount(place, minlength=len(labels)))[:-1]
    owner = rows if data.person is None else data.person[rows]
    parts = (np.split(each[order], ends) for each in (values, rows, owner))
    return [Cell(label, v, np.ones(len(v)), r, o) for label, v, r, o in zip(labels, *parts, strict=True)]


def labels_of(output: Regression, columns: Array, place: NDArray[np.intp], rows: Rows, data: Microdata) -> list[str]:
    """What the kinds are called: by the variables, where each has one value of these, else by the columns."""
    variables = [data.codebook.index(name) for name in output.design.variables]
    codes = data.codes[rows][:, variables]
    first = np.unique(place, return_index=True)[1]
    if (codes == codes[first[place]]).all():
        known = [data.codebook.variables[at] for at in variables]
        named = [
            [f"{each.name}={each.labels[code]}" for each, code in zip(known, codes[at], strict=True)] for at in first
        ]
        return [", ".join(each) or "all records" for each in named]
    names = [(output.names or {}).get(name, name) for name in output.columns]
    return [", ".join(f"{name}={value:g}" for name, value in zip(names, row, strict=True)) for row in columns]


def fits_all(output: Regression, sample: Sample, rows: Rows, data: Microdata) -> Iterator[Found]:
    """A linear regression whose residual standard deviation is printed as 0, or R2 as 1: fitted values are the records'
    own. Certain where the digits of both leave no other value of the codebook to anybody.
    """
    if output.kind != "ols" or sample.weights is not None or not {"r2", "residual_sd"} & set(output.release.parts):
        return
    (n, k), y = sample.design.shape, sample.response
    coefficients = _least_squares(sample.design, y)
    fitted = sample.design @ coefficients
    rest, constant = float(((y - fitted) ** 2).sum()), Span(sample.design).of(np.ones(n, np.bool_)) is not None
    explained = float(((fitted - fitted.mean() * constant) ** 2).sum())
    if explained <= 0.0 or n <= k:
        return
    most, printed = [], []
    for at, label in zip(output.decimals[output.printed], np.array(output.labels)[output.printed], strict=True):
        half = float(half_digit(at)) * ROUNDING
        if label == "residual s" and np.sqrt(rest / (n - k)) <= half:
            most.append(half**2 * (n - k))
            printed.append("residual standard deviation is printed as 0")
        elif label == "R2" and rest / (rest + explained) <= half:
            most.append(half / (1.0 - half) * explained)
            printed.append("R2 is printed as 1")
    if not printed:
        return
    step = float(np.diff(support_of(output)).min(initial=np.inf))
    slack = float((np.abs(sample.design) @ half_of_coefficients(output, coefficients)).max())
    certain = bool(output.kept.all()) and 2.0 * (np.sqrt(min(most)) + slack) < step
    yield _all_fitted(output, " and its ".join(printed), rows, data, certain)


def _all_fitted(output: Regression, printed: str, rows: Rows, data: Microdata, certain: bool) -> Found:
    name = output.response.side.name
    told = "is told for certain to anybody who knows" if certain else "may be told to whoever knows"
    return Found.of(
        "same answer",
        certain,
        output.name,
        1,
        rows,
        f"{name} of {people(data.people(rows))} {told} {' and '.join(output.design.variables) or 'the model'}: the "
        f"fitted value is everybody's own, as its {printed}.",
        "",
        "Do not release the model: its response follows from the other variables.",
        name if certain and name in data.codebook else "",
    )
