"""Regressions with instrumental variables: degrees of freedom, columns that few people bear on, cells whose responses
sum to their fitted values, and exact fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from outrisk.appetite import Appetite
from outrisk.assess.look.finding import Found, Rows, counted, plural
from outrisk.assess.look.fits import FULL, resting_on_few
from outrisk.assess.look.groups import Span
from outrisk.assess.look.of_few_fitted import few_groups
from outrisk.assess.look.of_fitted import cells_by
from outrisk.assess.look.of_means import Mean, told_by_means
from outrisk.assess.look.once import refit
from outrisk.assess.look.told_by_mixed import leverages
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Output
from outrisk.outputs.regression.fit import Sample
from outrisk.outputs.regression.instrumental import Instrumental
from outrisk.problem.released import half_digit

_NOTHING = 1e-7  # of the largest response, from which on what a fit leaves is rounding
_HOW = " Fitted values of such a cell, of all its terms as they are, sum to what its records have."


def of_instruments(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """What two-stage least squares tells: residuals sum to 0 along every exogenous column, and along every instrument
    where there are as many of these as endogenous columns.
    """
    if not isinstance(output, Instrumental):
        return
    try:
        sample, frame = output.records(data)
        numbers = refit(output, data)
    except OutputError:
        return
    rows = frame.index.to_numpy()
    yield from _degrees(output, sample, rows, data, appetite)
    yield from _behind(output, sample, rows, data, appetite)
    yield from _told(output, sample, rows, data, appetite)
    yield from _alone(output, sample, rows, data)
    yield from _exact(output, sample, numbers, rows)


def _degrees(output: Instrumental, sample: Sample, rows: Rows, data: Microdata, appetite: Appetite) -> Iterator[Found]:
    """Of the coefficients, and of the first stages, which have more columns; cells that are all that there is."""
    told, columns = data.people(rows), len(output.roles.z)
    k = int(np.linalg.matrix_rank(sample.design[:, output.roles.z]))
    if told - k < appetite.safe_dof_threshold:
        of = f"{len(rows):,} records" + (f" of {told:,} people" if data.person is not None else "")
        yield Found.of(
            "degrees of freedom",
            False,
            output.name,
            columns,
            rows,
            f"{plural(told - k, 'residual degree')} of freedom in the first stage ({of}, {plural(columns, 'column')} "
            f"with the instruments); at least {appetite.safe_dof_threshold} are asked for.",
            "",
            "Fit it on more records, or with fewer terms or instruments.",
        )
    told_along = _along(output)
    kinds = len(np.unique(sample.design[:, told_along], axis=0))
    if len(told_along) == columns and kinds <= columns < len(rows):
        yield Found.of(
            "saturated model",
            False,
            output.name,
            len(output.coefficients),
            rows,
            f"There are as many instruments, exogenous terms among them ({columns:,}), as kinds of these "
            f"({kinds:,}), and no more than coefficients: these are differences of means of groups over those of "
            f"{' and '.join(output.release.endogenous)} (Wald's estimator), and beside a table of the latter they tell "
            "the former. Look at the cells of that table.",
            "",
            "Judge it as tables of means by the instruments.",
        )


def _along(output: Instrumental) -> NDArray[np.intp]:
    """The columns along which residuals sum to 0."""
    just = output.roles.excluded == len(output.roles.endogenous)
    return output.roles.z if just else output.roles.exogenous


def _behind(output: Instrumental, sample: Sample, rows: Rows, data: Microdata, appetite: Appetite) -> Iterator[Found]:
    """Columns, of instruments too, in which few people differ from all others."""
    found, apart = [], np.zeros(len(rows), dtype=np.bool_)
    x = dict(zip(output.roles.x.tolist(), output.kept.tolist(), strict=True))
    for at, (name, column) in enumerate(zip(output.together.columns, sample.design.T, strict=True)):
        values, counts = np.unique(column, return_counts=True)
        differs = column != values[counts.argmax()]
        number = data.people(rows[differs])
        if x.get(at, True) and 0 < number < appetite.safe_threshold:
            found.append((number, name if at in x else f"{name} (instrument)"))
            apart |= differs
    if found:
        on = f"{appetite.safe_threshold} {counted(data)} that differ from all others in their column"
        yield resting_on_few(
            output, found, rows[apart], on, "Merge these levels with others, or leave the records out."
        )


def _told(output: Instrumental, sample: Sample, rows: Rows, data: Microdata, appetite: Appetite) -> Iterator[Found]:
    """The rules of tables of means, held against cells whose responses sum to their fitted values."""
    along = sample.design[:, _along(output)]
    if not along.shape[1]:
        return
    span, x = Span(along), sample.design[:, output.roles.x]
    half = half_digit(output.decimals[: x.shape[1]])
    means, seen = [], set[bytes]()
    for label, inside in _cells(output, along, rows, data, appetite):
        weighted = sample.weights is not None and len(inside) > 1
        printed = output.kept[(x[inside] != 0.0).any(axis=0)].all()
        if inside.tobytes() in seen or weighted or not printed or span.of(inside) is None:
            continue
        seen.add(inside.tobytes())
        (cell,) = cells_by(np.zeros(len(inside), np.intp), [label], sample.response[inside], rows[inside], data)
        means.append(Mean(cell, float((np.abs(x[inside]) @ half).mean())))
    for finding in told_by_means(output.name, output.response, means, output.support, data, appetite):
        yield replace(finding, what=finding.what + _HOW)


def _cells(
    output: Instrumental, along: Array, rows: Rows, data: Microdata, appetite: Appetite
) -> Iterator[tuple[str, NDArray[np.intp]]]:
    """What may be told: groups of few, kinds of records where there are no more than columns, and records alone in a
    direction of the columns; what each is called, and its places among the records.
    """
    for label, inside in few_groups(output.together, rows, data, appetite):
        yield label, np.sort(inside)
    kinds, place = np.unique(along, axis=0, return_inverse=True)
    if len(kinds) <= along.shape[1]:
        names = [output.together.columns[at] for at in _along(output)]
        order, ends = np.argsort(place.ravel(), kind="stable"), np.cumsum(np.bincount(place.ravel()))[:-1]
        labels = [", ".join(f"{name}={value:g}" for name, value in zip(names, row, strict=True)) for row in kinds]
        yield from zip(labels, np.split(order, ends), strict=True)
    yield from (("a record alone", np.array([at])) for at in np.flatnonzero(leverages(along) > FULL))


def _alone(output: Instrumental, sample: Sample, rows: Rows, data: Microdata) -> Iterator[Found]:
    """Records that decide a direction of the second stage, or of the instruments."""
    if data.person is not None:
        return
    alone = leverages(sample.design[:, output.roles.z]) > FULL
    if alone.any():
        decide = int(alone.sum())
        yield Found.of(
            "leverage",
            False,
            output.name,
            decide,
            rows[alone],
            f"{plural(decide, 'record')} alone decide{'s' * (decide == 1)} a direction of the instruments, exogenous "
            f"terms among them (leverage above {FULL:g}): what coefficients and first stages are follows from their "
            "values.",
            "",
            "Leave out the column that only this record has.",
        )


def _exact(output: Instrumental, sample: Sample, numbers: Array, rows: Rows) -> Iterator[Found]:
    """Fits that leave nothing: for certain where the printed residual is too small for any other response."""
    x, K = sample.design[:, output.roles.x], len(output.coefficients)
    y = sample.response
    if np.abs(y - x @ numbers[:K]).max() > _NOTHING * max(np.abs(y).max(), 1e-300):
        return
    half, places = half_digit(output.decimals), dict(output.release.layout(K))
    printed = half[places["residual_sd"]][0] if "residual_sd" in places else np.inf
    most = np.sqrt(2.0 * len(rows)) * printed + np.abs(x) @ half[:K]
    step = float(np.diff(output.support).min(initial=np.inf))
    certain = bool(output.kept.all()) and sample.weights is None and bool((2.0 * most < step).all())
    yield Found.of(
        "exact fit",
        certain,
        output.name,
        1,
        rows,
        f"The terms fit {output.response} exactly: the response of everybody follows from the coefficients and their "
        "terms.",
        "",
        "Do not release it.",
        output.response if certain else "",
    )
