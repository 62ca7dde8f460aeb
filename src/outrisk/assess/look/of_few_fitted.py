"""Groups of few people with a column of their own in a linear regression, or one of counts: fitted values sum to what
they have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from outrisk.appetite import Appetite
from outrisk.assess.look.finding import Found, Rows
from outrisk.assess.look.groups import Span, groups_of
from outrisk.assess.look.of_fitted import cells_by, half_of_coefficients, support_of
from outrisk.assess.look.of_means import Mean, told_by_means
from outrisk.assess.look.once import refit
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array
from outrisk.outputs.regression.fit import Sample
from outrisk.outputs.regression.regression import Regression

_HOW = " Fitted values of the group, for whoever knows what else the model asks, sum to what its people have."


def of_few_fitted(
    output: Regression, sample: Sample, rows: Rows, data: Microdata, appetite: Appetite, a_table: bool
) -> Iterator[Found]:
    """The rules of tables of means, held against groups of fewer than `safe_threshold` people that columns tell apart.

    The score of a linear or a Poisson regression is 0 there: fitted values sum to the response. So it is of a single
    record of a negative binomial one. What a record alone is told by a linear one is said as its leverage. a_table: the
    model is read as a table already, but for single records.
    """
    if output.kind not in ("ols", "poisson", "negbin") or sample.weights is not None:
        return
    few = [
        (label, inside)
        for label, inside in few_groups(output, rows, data, appetite)
        if (len(inside) == 1 and output.kind != "ols") or (len(inside) > 1 and output.kind != "negbin" and not a_table)
    ]
    span = Span(sample.design) if few else None
    few = [each for each in few if span is not None and _is_told(output, sample, span, each[1])]
    halves = _halves(output, sample, data, [inside for _, inside in few]) if few else None
    if halves is None:
        return
    means = []
    for (label, inside), half in zip(few, halves, strict=True):
        (cell,) = cells_by(np.zeros(len(inside), np.intp), [label], sample.response[inside], rows[inside], data)
        means.append(Mean(cell, half))
    for finding in told_by_means(output.name, output.response.side.name, means, support_of(output), data, appetite):
        yield replace(finding, what=finding.what + _HOW)


def few_groups(
    output: Regression, rows: Rows, data: Microdata, appetite: Appetite
) -> Iterator[tuple[str, NDArray[np.intp]]]:
    """Groups of few people, each once: what they are called, and their places among the records."""
    seen = set()
    for groups in groups_of(output, rows, data):
        size = groups.sizes()
        people = size if data.person is None else np.zeros_like(size)  # of records at least as many
        for at in np.flatnonzero((size > 0) & (people < appetite.safe_threshold)).tolist():
            inside = groups.inside(at)
            if inside.tobytes() not in seen and data.people(rows[inside]) < appetite.safe_threshold:
                seen.add(inside.tobytes())
                yield groups.labels[at], inside


def _is_told(output: Regression, sample: Sample, span: Span, inside: NDArray[np.intp]) -> bool:
    """Whether columns tell these records apart, and all coefficients that make their fitted values are printed."""
    kept = output.kept_columns
    if not kept[(sample.design[inside] != 0.0).any(axis=0)].all():
        return False
    return span.of(inside) is not None


def _halves(output: Regression, sample: Sample, data: Microdata, few: list[NDArray[np.intp]]) -> list[float] | None:
    """To within how much the mean of fitted values of each group is told; None where there is no fit."""
    try:
        numbers = refit(output, data)
    except OutputError:
        return None
    k = sample.design.shape[1]
    coefficients = output.release.coefficients(numbers, len(output.coefficients))[:k]
    half_of_each: Array = half_of_coefficients(output, coefficients)
    found = []
    for inside in few:
        half = np.abs(sample.design[inside]) @ half_of_each
        if output.kind != "ols":
            half = np.exp(sample.design[inside] @ coefficients + sample.offset[inside]) * np.expm1(half)
        found.append(float(half.mean()))
    return found
