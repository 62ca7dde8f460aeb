"""Quantile regressions of records that differ by one: what the sums of deviations leave of that person's response."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np

from outrisk.assess.look.finding import Found, people
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Output
from outrisk.outputs.regression.quantile_regression import QuantileRegression
from outrisk.problem.released import ROUNDING, half_digit


def planes_subtracted(outputs: Sequence[Output], data: Microdata) -> Iterator[Found]:
    """People who are alone in what one quantile regression has more than another of the same formula and quantile,
    both with their sums of deviations: certain where one value alone of the codebook is left of their response.

    It is the least sum that a plane has, so that one more person adds no less to it than their deviation from the new
    plane, and no more than that from the old one.
    """
    some = [each for each in outputs if isinstance(each, QuantileRegression) and _prints_all(each)]
    for larger, smaller in permutations(some, 2):
        if (larger.formula, larger.tau) != (smaller.formula, smaller.tau) or larger.where == smaller.where:
            continue
        told = _told(larger, smaller, data)
        if told is not None:
            who = np.array([told], dtype=np.intp)
            yield Found.of(
                "difference of outputs",
                True,
                f"{larger.name} minus {smaller.name}",
                1,
                who,
                f"{larger.response} of {people(1)} is told for certain: by so much as the sum of deviations of "
                f"“{larger.name}” is larger than that of “{smaller.name}”, which is without them.",
                "",
                "Release only one of the two, or compute both on the same records.",
                larger.response if larger.response in data.codebook else "",
            )


def _prints_all(output: QuantileRegression) -> bool:
    return "deviations" in output.release.parts and bool(output.kept.all())


def _told(larger: QuantileRegression, smaller: QuantileRegression, data: Microdata) -> int | None:
    """The record by which two differ, where its response is told; else None."""
    try:
        (sample, frame), (other, fewer) = larger.linear.sample(data), smaller.linear.sample(data)
        rows, without = frame.index.to_numpy(), fewer.index.to_numpy()
        alone = ~np.isin(rows, without)
        if len(rows) != len(without) + 1 or alone.sum() != 1:
            return None
        planes = larger.plane(sample, frame), smaller.plane(other, fewer)
    except OutputError:
        return None
    (x,), tau = sample.design[alone], larger.tau
    sums, blur, ends = [], 0.0, []
    for output, plane in zip((larger, smaller), planes, strict=True):
        parts = dict(output.release.layout(len(output.coefficients)))
        halves = half_digit(output.decimals)
        most = float(halves[parts["deviations"].start])
        sums.append(round(plane.deviations(tau) / (2.0 * most)) * 2.0 * most)
        blur += most * ROUNDING
        half = halves[: len(x)]
        ends.append((float(x @ (np.round(plane.coefficients / (2.0 * half)) * 2.0 * half)), float(np.abs(x) @ half)))
    added, support = sums[0] - sums[1], larger.support
    least, _ = _between(support, *ends[0], tau)
    _, greatest = _between(support, *ends[1], tau)
    left = support[(least <= added + blur) & (greatest >= added - blur)]
    return int(rows[alone][0]) if len(left) == 1 else None


def _between(values: Array, fitted: float, half: float, tau: float) -> tuple[Array, Array]:
    """The least and the greatest deviation of each value from a fitted one that is told to within a half."""
    off, half = values - fitted, half * ROUNDING
    low, high = (np.where(each > 0.0, tau * each, (tau - 1.0) * each) for each in (off - half, off + half))
    return np.where(np.abs(off) <= half, 0.0, np.minimum(low, high)), np.maximum(low, high)
