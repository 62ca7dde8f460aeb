"""Numbers of records and sums that outputs other than tables print, or imply: events and person-time of rates, records
and events of regressions, curves and tests, and the means that a saturated linear regression is a table of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from outrisk.assess.look.fits import sample_of
from outrisk.assess.look.known import Array, Kind, Known, of_mean, shape
from outrisk.assess.look.nested import fitting_counts
from outrisk.assess.look.once import refit
from outrisk.assess.look.told import complete
from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output, Subset
from outrisk.outputs.conditions.banded import written_name
from outrisk.outputs.of_one_table.described import in_subset
from outrisk.outputs.regression.fixed_effects import FixedEffects
from outrisk.outputs.regression.hazards import Durations
from outrisk.outputs.regression.instrumental import Instrumental
from outrisk.outputs.regression.marginal_effects import Margins
from outrisk.outputs.regression.mixed import Mixed
from outrisk.outputs.regression.regression import Regression
from outrisk.outputs.smooth.association import Association
from outrisk.outputs.smooth.correlations import Correlations
from outrisk.outputs.smooth.curve_counts import with_events
from outrisk.outputs.smooth.hypothesis_test import HypothesisTest
from outrisk.outputs.smooth.proportions import Proportions
from outrisk.outputs.smooth.shape import Shape
from outrisk.outputs.smooth.standardised import Standardised
from outrisk.outputs.smooth.survival import Survival
from outrisk.outputs.tables.quantiles import Quantiles
from outrisk.outputs.tables.rates import Rates
from outrisk.outputs.tables.survey_means import SurveyMeans
from outrisk.problem.analysis import RecordCounts
from outrisk.problem.blocks import level_in
from outrisk.problem.released import half_digit

if TYPE_CHECKING:
    from outrisk.assess.look.printed import Numbers

Told = Iterator[tuple[Kind, Known]]
_MOST_CELLS = 1_000_000
_WORST = 1e6  # condition of the kinds of records of a saturated regression
_SURE = 1e-9  # of a fit's arithmetic


def counts_told(output: Output, data: Microdata) -> Told:
    """The numbers of records, and of those with an event, that an output which is no table prints or implies; and in
    which cells of quantiles there is nobody, as these are undefined.
    """
    if isinstance(output, Rates):
        yield from _events(output, data)
    elif isinstance(output, Quantiles) and output.protection.threshold is None:
        there = np.isfinite(refit(output, data)).reshape(-1, len(output.probabilities)).any(axis=1)
        least, most = np.where(there, 1.0, 0.0), np.where(there, np.inf, 0.0)
        sizes = shape(data.codebook, output.by)
        kind = Kind(output.where, lacking(data.codebook, [output.value]))
        yield kind, Known(output.by, least.reshape(sizes), most.reshape(sizes), (output.name,))
    elif isinstance(output, Survival):
        yield from _of_curves(output, data)
    elif isinstance(output, Association | Proportions | Standardised):
        yield from _of_complete(output, data)
    elif isinstance(output, Shape):
        yield from _of_shape(output, data)
    elif isinstance(output, Regression):
        yield from _of_fit(output, data)
    elif isinstance(output, Mixed | FixedEffects | Instrumental):
        yield from _of_groups(output, data)
    elif isinstance(output, Margins):
        if "n" in output.release.parts:
            yield from _of_fit(output.regression_of_n, data)
    elif isinstance(output, SurveyMeans):
        yield from _of_survey(output, data)
    elif isinstance(output, HypothesisTest | Correlations) and "n" in output.labels:
        names = output.variables
        n = float(len(complete(data, output.where, output.name, names)))
        yield Kind(output.where, lacking(data.codebook, names)), _whole(n, output)


def lacking(codebook: Codebook, names: Sequence[str]) -> frozenset[str]:
    """Those of some variables that may be missing."""
    return frozenset(name for name in names if codebook[name].missing)


def _whole(n: float, output: Output) -> Known:
    return Known((), np.array(n), np.array(n), (output.name,))


def _of_survey(output: SurveyMeans, data: Microdata) -> Told:
    """The records that estimates are of, which are the population without weights; and those of the design, where each
    is a PSU whose number is printed.
    """
    design, names = output.design, (*output.variables, *output.design.names)
    printed = {"n"} if design.weights else {"n", "population"}
    if not output.by and printed & set(output.statistics):
        n = float(len(complete(data, output.where, output.name, names)))
        yield Kind(output.where, lacking(data.codebook, names)), _whole(n, output)
    gaps = lacking(data.codebook, output.variables) if design.program == "stata" else frozenset()
    if "psus" in output.statistics and not design.psu and not (design.subpop and gaps):
        lacks = lacking(data.codebook, design.names) | gaps
        rows = complete(data, output.within, output.name, sorted(lacks))
        yield Kind(output.within, lacks), _whole(float(len(rows)), output)


def _of_complete(output: Association | Proportions | Standardised, data: Microdata) -> Told:
    """Of records that lack none of the variables: what would be told if none could be missing."""
    lacks, codebook = lacking(data.codebook, output.variables), data.codebook
    plain = tuple(replace(each, missing=False) if each.name in lacks else each for each in codebook.variables)
    try:
        printed = output.publish(refit(output, data))
        of = replace(output, codebook=Codebook(plain)) if lacks else output
        found = list(of.counts(*printed))
    except OutputError:
        return
    subset = Subset(codebook, output.where, output.name)
    for counts in found:
        gaps = [(0, int(name in lacks)) for name in counts.by]
        inside = in_subset(subset, counts.by)
        low, high = (np.where(inside, _padded(end, gaps), 0.0) for end in (counts.low, counts.high))
        yield Kind(output.where, lacks), Known(counts.by, low, high, (output.name,))


def _of_shape(output: Shape, data: Microdata) -> Told:
    """Of records that have a value, those of each cell."""
    lacks, subset = lacking(data.codebook, [output.value]), Subset(data.codebook, output.where, output.name)
    for counts in output.counts(*output.publish(refit(output, data))):
        inside = in_subset(subset, counts.by)
        low, high = (np.where(inside, end, 0.0) for end in (counts.low, counts.high))
        yield Kind(output.where, lacks), Known(counts.by, low, high, (output.name,))


def _padded(ends: Array, gaps: Sequence[tuple[int, int]]) -> Array:
    """With a missing level, of no complete case, where a variable has one."""
    return np.pad(ends, gaps) if gaps else np.asarray(ends)


def _of_fit(output: Regression, data: Microdata) -> Told:
    """The records of a regression, and of a Cox model those with the event."""
    names = [each for each in output.labels if each in ("number of records", "number of events")]
    rows, sample = sample_of(output, data) if names else (None, None)
    if sample is None or rows is None:
        return
    values = np.full(len(output.labels), np.nan)
    values[output.labels.index("number of records") if "number of records" in names else []] = len(rows)
    if isinstance(sample, Durations) and "number of events" in names:
        values[output.labels.index("number of events")] = sample.event.sum()
    for counts in output.counts(*output.publish(values)):
        each = RecordCounts(counts.by, np.asarray(counts.low), np.asarray(counts.high))
        lacks = lacking(data.codebook, output.variables)
        yield Kind(output.where, lacks), Known(each.by, each.low, each.high, (output.name,))


def _of_groups(output: Mixed | FixedEffects | Instrumental, data: Microdata) -> Told:
    """The records of a regression by groups or with instruments, where their number is printed: there are more where
    some are dropped.
    """
    if "n" not in output.release.parts or (isinstance(output, Instrumental) and output.weight):
        return
    lacks, drops = lacking(data.codebook, output.variables), isinstance(output, FixedEffects) and output.drops
    try:
        n = float(len(output.records(data)[-1]))
    except OutputError:
        return
    yield Kind(output.where, lacks), Known((), np.array(n), np.array(np.inf if drops else n), (output.name,))


def _of_curves(output: Survival, data: Microdata) -> Told:
    """Records of each group at risk at the first time and at the last, and their events up to the last; of all times
    where these are the ends of what there is. Events that survival and numbers at risk imply count as printed.
    """
    try:
        output, low, high, _ = with_events(output, *output.publish(refit(output, data)))
    except OutputError:
        return
    k, codebook = len(output.groups) * len(output.at), data.codebook
    ends = np.stack([low, high])[:, : k * len(output.columns)].reshape(2, len(output.groups), len(output.at), -1)
    lacks, time = lacking(codebook, output.variables), written_name(output.time)
    values = [len(codebook[name].values) for name in output.by]
    gaps = [(0, int(codebook[name].missing)) for name in output.by]
    last = output.at[-1]
    for at in sorted({0, len(output.at) - 1}) if "at risk" in output.columns else ():
        also = f"{time} >= {output.at[at]:.15g}" if output.at[at] > output.support.min() else ""
        told = [_padded(each.reshape(values), gaps) for each in ends[..., at, output.columns.index("at risk")]]
        yield Kind(output.where, lacks, also=also), Known(output.by, told[0], told[1], (output.name,))
    if "events" in output.columns:
        event, at = codebook[output.event], codebook[output.event].code_of[output.happened]
        also = f"{time} <= {last:.15g}" if last < output.support.max() else ""
        told = [_padded(each.reshape(values), gaps) for each in ends[..., output.columns.index("events")].sum(axis=-1)]
        yield (
            Kind(output.where, lacks, also=also),
            _of_event(output, output.by, output.event, int(at), told, event.size),
        )


def _of_event(output: Output, by: Sequence[str], event: str, at: int, ends: Sequence[Array], size: int) -> Known:
    """A table by an event, of which one level is told."""
    low, high = np.zeros((*ends[0].shape, size)), np.full((*ends[0].shape, size), np.inf)
    low[..., at], high[..., at] = ends
    return Known((*by, event), low, high, (output.name,))


def _events(output: Rates, data: Microdata) -> Told:
    """The records that numerators count, by what they are counted for."""
    names, by = output.sums.names, output.by
    sizes = (*shape(output.codebook, by), *shape(output.codebook, names))
    ends = _numbers(output, data, "numerator")
    if ends is None or output.weight or {*names} & {*by} or np.prod(sizes) > _MOST_CELLS:
        return
    of = shape(output.codebook, names)
    adds = output.sums.adds_at(np.indices(of).reshape(len(of), -1)).reshape(of)
    if not np.isin(adds, (0.0, 1.0)).all():
        return
    least, most = (each.reshape(*shape(output.codebook, by), *[1] * len(of)) for each in ends)
    known = np.ones(of, np.bool_)
    for axis, name in enumerate(names):
        if output.codebook[name].missing:
            known[(slice(None),) * axis + (-1,)] = False
    low = np.where((adds > 0) & ((adds > 0).sum() == 1), np.maximum(least, 0.0), 0.0)
    high = np.where(adds > 0, most, np.where(known, np.inf, 0.0))
    yield _kind_of(output), Known((*by, *names), low + np.zeros(sizes), high + np.zeros(sizes), (output.name,))


def _kind_of(output: Rates) -> Kind:
    return Kind(output.where, lacking(output.codebook, [*output.sums.names, output.denominator]))


def _numbers(output: Rates, data: Microdata, of: str) -> tuple[Array, Array] | None:
    """From where to where numerators or denominators (cells,) lie; None where nothing is printed of them."""
    at = [each for each, label in enumerate(output.labels) if label.endswith(f": {of}")]
    if not at:
        return None
    low, high = output.publish(refit(output, data))
    return low[at], high[at]


def sums_told(output: Output, data: Microdata) -> Told:
    """Person-time of rates, and whatever else they sum up, where it is printed."""
    if not isinstance(output, Rates) or output.weight:
        return
    for role, name in (("numerator", output.numerator), ("denominator", output.denominator)):
        if name not in output.codebook or name in output.by or role not in output.statistics:
            continue
        ends = _numbers(output, data, role)
        if ends is None:
            continue
        half = 0.0 if role == "numerator" and output.whole else float(half_digit(output.digits[role]))
        sizes = shape(output.codebook, output.by)
        known = Known(output.by, (ends[0] - half).reshape(sizes), (ends[1] + half).reshape(sizes), (output.name,))
        yield replace(_kind_of(output), what=name), known


def means_told(output: Output, data: Microdata, numbers: Numbers) -> Told:
    """The sum of each cell of a saturated linear regression: its mean, as far as printed coefficients tell it, times
    the records that tables, and its number of records, leave.
    """
    if not isinstance(output, Regression) or output.kind != "ols" or not output.kept.all():
        return
    cells = _saturated(output)
    what = output.response.side.name
    if cells is None or what not in data.codebook or not data.codebook[what].numeric:
        return
    names, columns, place = cells
    kind = Kind(output.where, lacking(data.codebook, output.variables))
    counted = numbers.over(kind, names)
    if counted is None:
        return
    try:
        low, high = (each[: columns.shape[1]] for each in output.publish(refit(output, data)))
    except OutputError:
        return
    half = columns.shape[1] and half_digit(output.decimals[: columns.shape[1]])
    middle, slack = columns @ low, np.abs(columns) @ half * (1.0 + _SURE) + _SURE * (np.abs(columns) @ np.abs(low))
    if not np.isfinite(middle).all() or not (low == high).all():
        return
    support = np.array(data.codebook[what].values, dtype=np.float64)
    sizes, ends = shape(data.codebook, names), (float(support[0]), float(support[-1]))
    mean = np.stack([np.full(int(np.prod(sizes)), end) for end in ends])
    mean[:, place] = middle - slack, middle + slack
    means = mean[0].reshape(sizes), mean[1].reshape(sizes)
    counted = fitting_counts(numbers, replace(kind, what=what), counted, means, ends)
    yield kind, Known(names, counted.low, counted.high, (output.name,))
    known = of_mean(*means, counted.low, counted.high, ends)
    yield replace(kind, what=what), Known(names, known.low, known.high, (output.name,))


def _saturated(output: Regression) -> tuple[tuple[str, ...], Array, NDArray[np.intp]] | None:
    """The variables of a design that gives each of their cells a mean of its own, the columns of the cells that records
    may be in, and where these are among all; None for another design.
    """
    if output.weight or output.offset or output.covariance.cluster:
        return None
    if output.release.exponentiate:
        return None
    codebook = output.codebook
    names = tuple(name for name in codebook.names if name in output.design.variables)
    sizes = shape(codebook, names)
    if np.prod(sizes, dtype=float) > _MOST_CELLS:
        return None
    model = output.parts(np.ones(len(output.labels)))[0].model
    codes = np.zeros((int(np.prod(sizes)), len(codebook.names)), np.int64)
    codes[:, [codebook.index(name) for name in names]] = np.indices(sizes).reshape(len(names), codes.shape[0]).T
    inside = in_subset(Subset(codebook, output.where, output.name), names).ravel()
    for name in lacking(codebook, names):
        inside &= codes[:, codebook.index(name)] < len(codebook[name].values)
    if inside.sum() != model.coefficients.shape[1]:
        return None
    rows = np.zeros((int(inside.sum()), model.coefficients.shape[1]))
    for term in model.terms:
        rows[:, term.columns] = term.rows[level_in(term.joint, codes[inside])]
    if np.linalg.matrix_rank(rows) < len(rows) or np.linalg.cond(rows) > _WORST:
        return None
    return names, rows, np.flatnonzero(inside)
