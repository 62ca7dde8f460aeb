"""Means that the coefficients of a linear mixed model tell exactly, though its variance between groups is not 0."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from outrisk.appetite import Appetite
from outrisk.assess.look.finding import Found, Rows
from outrisk.assess.look.fits import FULL
from outrisk.assess.look.groups import Span
from outrisk.assess.look.of_few_fitted import few_groups
from outrisk.assess.look.of_fitted import as_table, cells_by, half_of_coefficients, labels_of, support_of
from outrisk.assess.look.of_means import Mean, told_by_means
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array
from outrisk.outputs.regression.fit import Sample
from outrisk.outputs.regression.mixed import Mixed

_HOW = " Fitted values of such a cell (without predicted intercepts) sum to what its records have."


def told_by_mixed(
    output: Mixed, groups: NDArray[np.int64], rows: Rows, data: Microdata, appetite: Appetite
) -> Iterator[Found]:
    """The rules of tables of means, held against cells whose responses sum to their fitted values whatever these are.

    With V the covariance of the responses and X the columns, X' V^-1 (y - X b) = 0. So a cell is told where V times its
    indicator is a combination of columns: one of whole groups of one size that columns tell apart, such as a level of a
    single firm, or a visit of an arm in which everybody has all visits. groups (n,): that of each of the records.
    """
    linear = output.linear
    sample, _ = linear.sample(data)
    ratio = output.ratio(data)
    span, half = Span(sample.design), half_of_coefficients(linear, np.zeros(sample.design.shape[1]))
    means, seen = [], set[bytes]()
    for label, inside in _cells(output, sample, rows, data, appetite):
        if inside.tobytes() in seen or not output.kept[(sample.design[inside] != 0.0).any(axis=0)].all():
            continue
        seen.add(inside.tobytes())
        own = (np.bincount(groups[inside], minlength=int(groups.max()) + 1) * ratio)[groups]
        own[inside] += 1.0
        if span.holds(own):
            (cell,) = cells_by(np.zeros(len(inside), np.intp), [label], sample.response[inside], rows[inside], data)
            means.append(Mean(cell, float((np.abs(sample.design[inside]) @ half).mean())))
    for finding in told_by_means(output.name, output.response, means, support_of(linear), data, appetite):
        yield replace(finding, what=finding.what + _HOW)


def _cells(
    output: Mixed, sample: Sample, rows: Rows, data: Microdata, appetite: Appetite
) -> Iterator[tuple[str, NDArray[np.intp]]]:
    """What may be told: groups of few, the cells of a saturated model, and records alone in a direction of the columns;
    what each is called, and its places among the records.
    """
    linear = output.linear
    yield from few_groups(linear, rows, data, appetite)
    table = as_table(linear, sample)
    if table is not None:
        labels = labels_of(linear, *table, rows, data)
        order, ends = np.argsort(table[1], kind="stable"), np.cumsum(np.bincount(table[1]))[:-1]
        yield from zip(labels, np.split(order, ends), strict=True)
    leverage = leverages(sample.design)
    yield from (("a record alone", np.array([at])) for at in np.flatnonzero(leverage > FULL))


def leverages(design: Array) -> Array:
    """Of each record (n,) in least squares on the columns (n, k)."""
    scale = np.sqrt((design**2).sum(axis=0))
    scaled = design / np.where(scale > 0.0, scale, 1.0)
    return np.asarray(((scaled @ np.linalg.pinv(scaled.T @ scaled, hermitian=True)) * scaled).sum(axis=1))
