"""Quantile regressions: whose values the plane passes through, cells that they are a table of, and exact fits.

A sum of deviations is least where no direction lowers it. So where columns tell one record apart the plane passes
through it, and where they tell a cell apart in which all have the same terms, it passes through the quantile of the
cell, which is the value of somebody.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from outrisk.appetite import Appetite
from outrisk.assess.look.contributions import Cell, all_alike
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
from outrisk.outputs.regression.quantile_fit import Plane, deviations_of
from outrisk.outputs.regression.quantile_regression import QuantileRegression
from outrisk.problem.released import ROUNDING, half_digit

_HOW = " The plane passes through the only record that columns tell apart."
_GUESSED = 0.5  # share of those on the plane among those who may be, from which they are a finding
_SIDES: tuple[tuple[float, Literal["left", "right"]], ...] = ((-1.0, "left"), (1.0, "right"))
_KINDS = 2_000  # of those who may be on the plane, beyond which nobody of them is needed
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
    yield from _exact(output, sample, plane, rows, data, appetite)
    yield from _several(output, plane.unique, rows)
    yield from _passed(output, sample, plane, rows, data)


def _half(output: QuantileRegression, design: Array) -> Array:
    """To within how much the fitted value of each record (n,) is told."""
    return np.asarray(np.abs(design) @ half_digit(output.decimals[: design.shape[1]]))


def _printed(number: Array, half: Array | float) -> Array:
    """Numbers as they are printed, to so many digits that they are at most `half` off."""
    return np.asarray(np.round(number / (2.0 * half)) * (2.0 * half))


def _fitted(output: QuantileRegression, sample: Sample, b: Array) -> Array:
    """Fitted values (n,) by printed coefficients."""
    return np.asarray(sample.design @ _printed(b, half_digit(output.decimals[: len(b)])))


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
    """Cells of so few that their quantile is their least or largest value, which fewer than `safe_threshold` have;
    or the least there can be and their largest, or the other way round, so that all have it.
    """
    found, who, alike = [], [], []
    gap = float(np.diff(output.support).min(initial=np.inf))
    for label, inside in cells:
        n = len(inside)
        low, high = n * output.tau < 1.0 - _TOLD, n * (1.0 - output.tau) < 1.0 - _TOLD
        if n == 1 or not (low or high) or gap <= 2.0 * float(_half(output, sample.design[inside])[0]):
            continue
        y = sample.response[inside]
        if (low and y.min() == output.support[-1]) or (high and y.max() == output.support[0]):
            alike.append(_cell(label, inside, sample, rows, data))
            continue
        own = rows[inside][y == (y.min() if low else y.max())]
        if data.people(own) < appetite.safe_threshold:
            found.append(f"{label}: the {'least' if low else 'largest'} value is that of {people(data.people(own))}")
            who.append(own)
    if alike:
        yield all_alike(output.name, output.response, alike, data)
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
    few = [cell for cell in cells if cell.people < appetite.safe_threshold]
    if few:
        small = sorted((cell.people, cell.label) for cell in few)
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
    output: QuantileRegression, sample: Sample, plane: Plane, rows: Rows, data: Microdata, appetite: Appetite
) -> Iterator[Found]:
    """A sum of deviations so small, or a pseudo-R2 of 1, that responses are the fitted values, or near them: nobody
    is further off than if all of the sum were theirs. Certain where this and the digits leave no other value of the
    codebook to people, or none that is further off than the share of the p % rule.
    """
    parts, tau = dict(output.release.layout(len(output.coefficients))), output.tau
    most = half_digit(output.decimals[parts["deviations"].start]) if "deviations" in parts else np.inf
    exact = "deviations" in parts and deviations_of(plane.residuals, tau) <= most
    exact = exact or ("pseudo_r2" in parts and not plane.residuals.any())
    if not output.kept.all() or not (exact or np.isfinite(most)):
        return
    told = near = np.zeros(len(rows), np.bool_)
    if np.isfinite(most):
        up_to = float(_printed(np.asarray(deviations_of(plane.residuals, tau)), most) + most) * ROUNDING
        fitted, half = _fitted(output, sample, plane.coefficients), _half(output, sample.design) * ROUNDING
        ends = fitted - up_to / (1.0 - tau) - half, fitted + up_to / tau + half
        told, off = _left(output.support, *ends, sample.response)
        near = ~told & (off < appetite.safe_pratio_p * np.abs(sample.response))
    certain = bool(told.any() or near.any())
    if not exact and not certain:
        return
    who = rows[told | near] if certain else rows
    how = f" to within the share of the p % rule{', or exactly' * bool(told.any())}" * bool(near.any())
    why = "The plane passes through all records" if exact else "The sum of deviations is so small that all are near it"
    yield Found.of(
        "exact fit",
        certain,
        output.name,
        1,
        who,
        f"{why}: {output.response} of {people(data.people(who))} is the fitted value{how}.",
        "",
        "Do not release it." if exact else "Do not release the sum of deviations, or what tells it.",
        output.response if certain and output.response in data.codebook else "",
    )


def _left(support: Array, low: Array, high: Array, response: Array) -> tuple[NDArray[np.bool_], Array]:
    """Of each record (n,) whether one value alone of the support lies between two ends, and how far from the response
    the furthest is that does.
    """
    first = np.clip(np.searchsorted(support, low), 0, len(support) - 1)
    last = np.clip(np.searchsorted(support, high, "right") - 1, 0, len(support) - 1)
    off = np.maximum(np.abs(support[first] - response), np.abs(support[last] - response))
    return np.asarray(first >= last), off


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


def _passed(output: QuantileRegression, sample: Sample, plane: Plane, rows: Rows, data: Microdata) -> Iterator[Found]:
    """People whom the plane passes through where few others have terms at which it comes to a possible response: who
    knows the terms of all can tell them. It passes through records whose terms have full rank: certain are those
    without whom the terms of all who may be on it have not, if the program prints such planes alone.
    """
    on, design = plane.on, sample.design
    if not output.kept.all() or on.all():
        return
    fitted, half = _fitted(output, sample, plane.coefficients), _half(output, design) * ROUNDING
    first, last = (np.searchsorted(output.support, fitted + sign * half, side) for sign, side in _SIDES)
    may = np.asarray(last > first)
    sure = _needed(design, may) & (last - first == 1) & (leverages(design) <= FULL)
    sure &= output.program != "statsmodels"  # whose iterations also end between such planes
    if sure.any():
        yield Found.of(
            "on the plane",
            True,
            output.name,
            1,
            rows[sure],
            f"{output.response} of {people(data.people(rows[sure]))} is told for certain to whoever knows the terms of "
            f"all: the plane passes through as many as there are columns, and at the terms of {int(may.sum()):,} "
            f"records of {len(on):,} alone it comes to a value that {output.response} can have.",
            "",
            "Print the coefficients to fewer digits.",
            output.response if output.response in data.codebook else "",
        )
    if not on.any() or on.sum() < _GUESSED * may.sum() or may.sum() > len(on) / 2 or not (on & ~sure).any():
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


def _needed(design: Array, may: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which records (n,) have terms of their own without which the terms of those who may be on the plane have not
    full rank.
    """
    found = np.zeros(len(may), np.bool_)
    kinds, first, counts = np.unique(design[may], axis=0, return_index=True, return_counts=True)
    if len(kinds) <= _KINDS:
        found[np.flatnonzero(may)[first[(leverages(kinds) > 1.0 - _TOLD) & (counts == 1)]]] = True
    return found
