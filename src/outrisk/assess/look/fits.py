"""Regressions that follow one person or few, and curves, correlations and tests of few."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from outrisk.appetite import Appetite
from outrisk.assess.look.finding import NOBODY, Found, Rows, counted, named, people, plural
from outrisk.assess.look.told import complete
from outrisk.errors import OutputError
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output
from outrisk.outputs.regression.fit import Sample
from outrisk.outputs.regression.hazards import Durations
from outrisk.outputs.regression.regression import Regression
from outrisk.outputs.regression.release import ORDERED
from outrisk.outputs.smooth.compared import OF_CORRELATIONS
from outrisk.outputs.smooth.correlations import Correlations
from outrisk.outputs.smooth.hypothesis_test import HypothesisTest
from outrisk.outputs.smooth.survival import Survival

FULL = 0.999  # leverage from which a fit passes through a record's own value


def degrees_of_freedom(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """Regressions with few residual degrees of freedom, down to those that reproduce each group of records."""
    rows, sample = sample_of(output, data)
    if sample is None:
        return
    design, more = estimated(output, sample)
    n, k = design.shape
    counting = sample.event == 1.0 if isinstance(sample, Durations) else np.ones(n, dtype=np.bool_)
    told = data.people(rows[counting])
    left = told - int(np.linalg.matrix_rank(design)) - more
    if left < appetite.safe_dof_threshold:
        of = f"{plural(told, 'event')} among {n:,} records" if isinstance(sample, Durations) else f"{n:,} records"
        of += f" of {told:,} people" if data.person is not None else ""
        yield Found.of(
            "degrees of freedom",
            False,
            output.name,
            k + more,
            rows,
            f"{plural(left, 'residual degree')} of freedom ({of}, {plural(k + more, 'column')}); at least "
            f"{appetite.safe_dof_threshold} are asked for.",
            "",
            "Fit it on more records, or with fewer terms.",
        )
    kinds, whole = len(np.unique(design, axis=0)), isinstance(output, Regression) and bool(output.kept.all())
    if kinds <= k < n and not isinstance(sample, Durations):  # which says nothing of when people had the event
        yield Found.of(
            "saturated model",
            False,
            output.name,
            k,
            rows,
            f"The model has as many columns ({k:,}) as there are kinds of records ({kinds:,}): its coefficients say "
            "the same as a table of the response by all its variables"
            + (". " if whole else ", those that are printed the differences between cells. ")
            + "Look at the cells of that table.",
            "",
            "Judge it as that table; or leave the highest interactions out.",
        )


def resting_on_few(output: Output, found: list[tuple[int, str]], who: Rows, on: str, advice: str) -> Found:
    """The finding about coefficients, each with how few it rests `on`."""
    found = sorted(found)
    return Found.of(
        "few people behind a coefficient",
        False,
        output.name,
        len(found),
        who,
        f"{plural(len(found), 'coefficient')} rest{'s' * (len(found) == 1)} on fewer than {on}; the fewest is "
        f"{found[0][0]}.",
        named([f"{name}: {number:,}" for number, name in found]),
        advice,
    )


def few_behind(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """Coefficients of columns in which few records differ from all others (of a Cox model few of those with the event),
    outcomes that few have, and records that decide a coefficient.
    """
    rows, sample = sample_of(output, data)
    if sample is None or not isinstance(output, Regression):
        return
    inside, what = (sample.event == 1.0, "events") if isinstance(sample, Durations) else (True, "records")
    what = what if data.person is None else f"people{' with the event' * (what == 'events')}"
    found, apart = [], np.zeros(len(rows), dtype=np.bool_)
    for name, column, kept in zip(output.columns, sample.design.T, output.kept_columns, strict=True):
        if not kept:
            continue
        values, counts = np.unique(column, return_counts=True)
        differs = (column != values[counts.argmax()]) & inside
        number = data.people(rows[differs])
        if 0 < number < appetite.safe_threshold:
            found.append((number, (output.names or {}).get(name, name)))
            apart |= differs
    if found:
        on = f"{appetite.safe_threshold} {what} that differ from all others in their column"
        yield resting_on_few(
            output, found, rows[apart], on, "Merge these levels with others, or leave the records out."
        )
    few = [each for each in _outcomes(output, sample, rows, data) if 0 < each[0] < appetite.safe_threshold]
    if few:
        few.sort(key=lambda each: each[0])
        yield Found.of(
            "few people with an outcome",
            False,
            output.name,
            len(few),
            np.concatenate([who for _, _, who in few]),
            f"{plural(len(few), 'outcome')} of the response {'has' if len(few) == 1 else 'have'} fewer than "
            f"{appetite.safe_threshold} people, on whom all coefficients rest; the fewest is {few[0][0]}.",
            named([f"{name}: {number:,}" for number, name, _ in few]),
            "Merge these outcomes with others, or do not release the model.",
        )
    alone = _alone(estimated(output, sample)[0], rows, data)
    if full := data.people(alone):
        behind = sample.design[np.isin(rows, alone)] != 0.0  # what a fitted value is the sum of
        whole = output.kind == "ols" and bool((~behind | output.kept).all(axis=1).any())
        own = " A fitted value is then that person's own response, to be worked out from the coefficients."
        yield Found.of(
            "leverage",
            whole,
            output.name,
            full,
            alone,
            f"{plural(full, 'record') if data.person is None else people(full)} alone decide{'s' * (full == 1)} "
            f"a direction of the model (leverage above {FULL:g}).{own * whole}",
            "",
            "Leave out the column that only this record (or person) has.",
        )


def sample_of(output: Output, data: Microdata) -> tuple[Rows, Sample | None]:
    """A regression's records (n,) as it has them; None for another kind, and where it has none."""
    if not isinstance(output, Regression):
        return NOBODY, None
    try:
        sample, records = output.sample(data)
    except OutputError:
        return NOBODY, None
    return records.index.to_numpy(), sample


def _outcomes(output: Regression, sample: Sample, rows: Rows, data: Microdata) -> Iterator[tuple[int, str, Rows]]:
    """How many people have each outcome of a response that is one of several, or any event where events are counted;
    its name, and their records. Nothing for a response that is a number, or a time.
    """
    y = sample.response
    if output.kind in ("poisson", "negbin"):
        some = [("above 0", y > 0.0)]
    elif output.kind in ("ols", "cox"):
        some = []
    else:
        names = output.outcomes or ["another value", output.event or "1"]
        some = [(name, y == at) for at, name in enumerate(names)]
    for name, who in some:
        yield data.people(rows[who]), name, rows[who]


def estimated(output: Output, sample: Sample) -> tuple[NDArray[np.float64], int]:
    """The columns (n, k) that a regression has coefficients for, and how many parameters it has besides. A threshold of
    an ordered model is its constant.
    """
    more = len(output.of_shape) if isinstance(output, Regression) else 0
    if not isinstance(output, Regression) or output.kind not in ORDERED:
        return sample.design, more
    return np.column_stack([np.ones(len(sample.design)), sample.design]), more - 1


def _alone(design: NDArray[np.float64], rows: Rows, data: Microdata) -> Rows:
    """The records, or those of the people, who decide a direction of the fit: the hat matrix is 1 there, or the largest
    eigenvalue of a person's block of it.
    """
    scale = np.sqrt((design**2).sum(axis=0))
    scaled = design / np.where(scale > 0, scale, 1.0)
    inverse = np.linalg.pinv(scaled.T @ scaled, hermitian=True)
    leverage = np.asarray(((scaled @ inverse) * scaled).sum(axis=1))
    if data.person is None:
        return rows[leverage > FULL]
    _, owner = np.unique(data.person[rows], return_inverse=True)
    likely = np.flatnonzero(np.bincount(owner, weights=leverage) > FULL)  # the largest is at most their sum
    blocks = ((each, scaled[owner == each]) for each in likely.tolist())
    deciding = [each for each, own in blocks if np.linalg.eigvalsh(own @ inverse @ own.T)[-1] > FULL]
    return rows[np.isin(owner, deciding)]


def curves(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """Published times of a survival curve with few at risk, or with few events since the time before."""
    if not isinstance(output, Survival):
        return
    codebook = data.codebook
    rows = complete(data, output.where, output.name, output.variables)
    kept = data.take(rows)
    time = output.support[kept.codes[:, codebook.index(output.time)]]
    event = kept.codes[:, codebook.index(output.event)] == codebook[output.event].code_of[output.happened]
    found, who = [], [NOBODY]
    codes = kept.codes[:, [codebook.index(name) for name in output.by]]
    groups = np.unique(codes, axis=0) if output.by else np.zeros((1, 0), dtype=codes.dtype)
    for group in groups:
        inside = np.flatnonzero((codes == group).all(axis=1))
        own, times, had = kept.take(inside), time[inside], event[inside]
        words = [f"{name}={codebook[name].labels[c]}" for name, c in zip(output.by, group.tolist(), strict=True)]
        before = -np.inf
        for at in output.at:
            happened = had & (times > before) & (times <= at)
            events, risk = (own.people(of) for of in (happened, times >= at))
            few = [number for number in (events, risk) if 0 < number < appetite.survival_safe_threshold]
            if few:
                place = ", ".join([*words, f"{output.time}={at:g}"])
                found.append(f"{place}: {risk:,} at risk, {events:,} events")
                if events < appetite.survival_safe_threshold:
                    who.append(rows[inside[happened]])
            before = at
    if found:
        yield Found.of(
            "small steps of a curve",
            False,
            output.name,
            len(found),
            np.concatenate(who),
            f"{plural(len(found), 'published time')} with fewer than {appetite.survival_safe_threshold} "
            f"{counted(data)} at risk, or fewer events since the time before.",
            named(found),
            "Publish fewer times, and none beyond which few are at risk.",
        )


def few_compared(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """Correlations and tests of fewer records than degrees of freedom ask for."""
    if not isinstance(output, Correlations | HypothesisTest):
        return
    rows = complete(data, output.where, output.name, output.variables)
    n, needed, what = data.people(rows), 2, "correlation"
    if isinstance(output, HypothesisTest):
        groups = data.codes[rows][:, [data.codebook.index(name) for name in output.by]]
        of_two = output.test in OF_CORRELATIONS
        needed = (2 if of_two else 1) if output.paired else max(2, len(np.unique(groups, axis=0)))
        what = f"correlation of {output.variable}" if of_two else f"test of {output.variable}"
    if n - needed < appetite.safe_dof_threshold:
        yield Found.of(
            "degrees of freedom",
            False,
            output.name,
            len(output.labels),
            rows,
            f"{n:,} {counted(data)} leave {plural(max(n - needed, 0), 'degree')} of freedom to a {what}; at least "
            f"{appetite.safe_dof_threshold} are asked for.",
            "",
            "Compute it on more records.",
        )
