"""Sampling errors of released numbers: how far another sample of the same population would have them.

By the delta method: the standard error of a number is the root of the sum over records of their squared influence
(the infinitesimal jackknife, Jaeckel 1972), taken on records that reproduce the release, at the published coefficients.
Coefficients and what is made of them: where the standard error itself is released, it is that.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from outrisk.problem.blocks import Array
from outrisk.problem.influence import ModelRecords, Records, records_of_model, records_of_tally
from outrisk.problem.released import ModelPart, Released, TallyPart
from outrisk.problem.untold import told_by

_CHUNK = 1 << 15  # records at a time


def sampling_errors(released: Released, codes: Records) -> Array:
    """Standard error (k,) of each released number, in its units, from records (n, variables) that reproduce it.

    NaN where there is none to first order: quantiles, modes, what no record bears on, and an analysis with a slow path.
    A count has at least that of one record. The information is taken as it is at the published coefficients: that it
    moves with them too is left out, which makes sampling errors of a Poisson regression's standard errors up to a third
    too small. Cost: n times the design's columns, for each number.
    """
    if released.output.effort:
        return np.full(len(released.low), np.nan)
    return np.concatenate([np.zeros(0), *_of_parts(released, codes)])


def _of_parts(released: Released, codes: Records) -> Iterator[Array]:
    at = 0
    for part in released.parts:
        which = slice(at, at + part.n_numbers)
        at = which.stop
        if isinstance(part, TallyPart):
            yield _of_tallies(part, released.low[which], released.high[which], codes)
        else:
            yield _of_model(told_by(part, released.low[which], released.high[which], codes), codes)


def _of_tallies(part: TallyPart, low: Array, high: Array, codes: Records) -> Array:
    found = np.full(part.n_numbers, np.nan)
    if not part.map.differentiable:
        return found
    totals, variances = [], []
    for block in part.blocks:
        seen = records_of_tally(block, codes)
        used, value = seen.cell[seen.cell >= 0], seen.value[seen.cell >= 0]
        total, squares, n = (
            np.bincount(used, value**power, minlength=block.size)[: block.size] for power in (1.0, 2.0, 0.0)
        )
        totals.append(total)
        if block.value is None:
            variances.append(np.maximum(squares, 1.0))
        else:  # given how many records the cell has
            variances.append(np.maximum(squares - total**2 / np.maximum(n, 1.0), 0.0))
    bounds = part.map.bounds(np.concatenate(totals), low, high)
    carries = (bounds.unit != 0.0) & np.isfinite(bounds.unit)
    error = np.abs(bounds.unit) * np.sqrt(np.concatenate(variances))
    found[bounds.number[carries]] = error[carries]  # of several totals the last: numbers of records come first
    if any(formula.kind == "error" for formula in part.formulas):
        found = _of_means(part, np.concatenate(totals), codes, found)
    return np.where(found > 0.0, found, np.nan)


def _of_means(part: TallyPart, totals: Array, codes: Records, others: Array) -> Array:
    """Of means, their standard deviations, errors and limits (k,), by what each record adds to them; `others` stay."""
    found = others.copy()
    seen = [records_of_tally(block, codes) for block in part.blocks]
    starts = np.cumsum([0, *(block.size for block in part.blocks)])
    for at, formula in enumerate(part.formulas):
        where = np.concatenate([formula.totals, formula.base[: formula.kind == "ratio"]])
        if formula.kind == "ratio":
            n, total = float(totals[where[1]]), float(totals[where[0]])
            slopes = np.array([1.0 / n, -total / n**2] if n > 0.0 else [np.nan, np.nan])
        elif formula.kind in ("deviation", "error"):
            slopes = formula.linear(totals)[1]
        else:
            continue
        influence = np.zeros(len(codes))
        for one, slope in zip(where.tolist(), slopes, strict=True):
            block = int(np.searchsorted(starts, one, side="right")) - 1
            influence += np.where(seen[block].cell == one - starts[block], slope * seen[block].value, 0.0)
        size = float(np.sqrt((influence**2).sum()))
        found[at] = size if size > 0.0 else np.nan
    return found


def _of_model(part: ModelPart, codes: Records) -> Array:
    def chunks() -> Iterator[ModelRecords]:  # seen anew each time, as all of them take much memory
        return (records_of_model(part.model, codes[at : at + _CHUNK]) for at in range(0, len(codes), _CHUNK))

    sums = [chunk.summed(np.ones(len(chunk.weight))) for chunk in chunks()]
    totals, information = (np.sum(each, axis=0) for each in zip(*sums, strict=True))
    jacobian = part.map.jacobian(totals, information)
    squares = np.sum([(chunk.through(jacobian) ** 2).sum(axis=0) for chunk in chunks()], axis=0)
    return np.where(squares > 0.0, np.sqrt(squares), np.nan)
