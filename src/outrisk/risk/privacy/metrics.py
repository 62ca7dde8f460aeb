"""Privacy metrics of a synthetic table, each beside the same metric of a holdout: the entry points."""

from __future__ import annotations

import inspect
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from outrisk.codebook import Codebook
from outrisk.errors import RiskError, first_line
from outrisk.risk.coding.classes import HOLDOUT, ORIGINAL, SYNTHETIC, check_keys
from outrisk.risk.coding.with_numbers import RESAMPLE, Tables, read
from outrisk.risk.intervals.clustered import variance_of_mean
from outrisk.risk.intervals.scores import Score, joined, undefined
from outrisk.risk.neighbours.exact import Pace, Positions, TimedOutError
from outrisk.risk.privacy.columns import Encoding
from outrisk.risk.privacy.context import Context
from outrisk.risk.privacy.registry import DEFAULT, METRICS, VARIANTS, Metric, choose_metrics
from outrisk.risk.rows import MOVER, Row
from outrisk.risk.rows import joined as joined_keys

COLUMNS = (
    "metric", "variant", "value", "low", "high", "holdout", "worst_case", "difference", "difference_low",
    "difference_high", "direction", "encoding", "n", "counts", "seconds", "status", "note", "measures",
)  # fmt: skip
BETWEEN = " · "  # stands between the notes of a row
OK, UNDEFINED, ERROR, TIMED_OUT = "ok", "undefined", "error", "timed out"
_NEEDS = {"keys": "keys and a target", "links": "links from real to synthetic records", "holdout": "a holdout"}


def privacy_metrics(
    original: pd.DataFrame,
    synthetic: pd.DataFrame,
    holdout: pd.DataFrame | None = None,
    *,
    keys: Sequence[str] | None = None,
    target: str | None = None,
    codebook: Codebook | None = None,
    metrics: Sequence[str] | None = None,
    variants: Sequence[str] = (DEFAULT,),
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    links: Sequence[int] | None = None,
    sample: int | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[str, float], None] | None = None,
    worst_case: bool = True,
) -> pd.DataFrame:
    """Every privacy metric of a synthetic table; one row a metric and variant, whatever happens to it.

    Columns of the result: metric, variant, value with its 95 % interval (low, high; sampling of records), holdout (the
    same value with the holdout attacked), worst_case (where there is no holdout: with a bootstrap resample of the
    original released), difference (value - holdout) with its interval, direction, encoding, n (records the value is
    over), counts (what it is made of), seconds (a distance that several metrics share is the first one's), status
    ('ok', 'undefined', 'error', 'timed out'), note, measures (one sentence). A value is NaN unless its status is ok.

    keys, target: for ZCAP, GCAP, AIR. links: for HiddR; for each original record the position (from 0) of the synthetic
    record made from it, -1 for none. codebook: which columns, and which of them are numeric; without one all columns,
    numeric by dtype. metrics: names, all by default. variants: of 'default', 'paper', 'reference' (a metric that has no
    such form has no such row). parameters: metric -> parameters of its function, over those of the variant. sample: ask
    about so many random records of each table only, against all records of the other. time_limit: seconds a metric may
    take for each table attacked. progress: is given the metric's name and the share done. worst_case: False leaves that
    column undefined, which depends hardly on the synthetic table.
    """
    choose_metrics(metrics)
    frames = {ORIGINAL: original, SYNTHETIC: synthetic} | ({} if holdout is None else {HOLDOUT: holdout})
    return measure_tables(
        read(frames, codebook), keys=keys, target=target, metrics=metrics, variants=variants, parameters=parameters,
        links=links, sample=sample, time_limit=time_limit, seed=seed, threads=threads, progress=progress,
        worst_case=worst_case,
    )  # fmt: skip


def measure_tables(
    tables: Tables,
    *,
    keys: Sequence[str] | None = None,
    target: str | None = None,
    metrics: Sequence[str] | None = None,
    variants: Sequence[str] = (DEFAULT,),
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    links: Sequence[int] | None = None,
    sample: int | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[str, float], None] | None = None,
    worst_case: bool = True,
) -> pd.DataFrame:
    """`privacy_metrics` of tables that stand ready."""
    chosen = choose_metrics(metrics)
    extra = _check_parameters(chosen, parameters or {})
    unknown = [variant for variant in variants if variant not in VARIANTS]
    if unknown:
        raise RiskError(f"variant {unknown[0]!r}; known: {list(VARIANTS)}")
    context = prepare(tables, keys, target, links, sample, seed, threads)
    rows = []
    for metric in chosen:
        for variant in variants:
            if variant == DEFAULT or variant in metric.variants:
                options = {**metric.parameters(variant), **extra.get(metric.name, {})}
                rows.append(_row(context, metric, variant, options, time_limit, progress, worst_case))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def privacy_metric(
    name: str,
    original: pd.DataFrame,
    synthetic: pd.DataFrame,
    holdout: pd.DataFrame | None = None,
    *,
    keys: Sequence[str] | None = None,
    target: str | None = None,
    codebook: Codebook | None = None,
    variant: str = DEFAULT,
    links: Sequence[int] | None = None,
    sample: int | None = None,
    seed: int = 0,
    attacked: str = ORIGINAL,
    **parameters: Any,
) -> Score:
    """One metric with its per-record scores (`Score.records`: table -> array in the order of its records).

    Arguments as in `privacy_metrics`; attacked: 'original' or 'holdout'; parameters: of the metric's function.
    """
    (metric,) = choose_metrics([name])
    extra = _check_parameters([metric], {metric.name: parameters})
    if attacked not in (ORIGINAL, HOLDOUT) or (attacked == HOLDOUT and holdout is None):
        raise RiskError(f"attacked {attacked!r}; known: 'original', and 'holdout' where it is given")
    frames = {ORIGINAL: original, SYNTHETIC: synthetic} | ({} if holdout is None else {HOLDOUT: holdout})
    context = prepare(read(frames, codebook), keys, target, links, sample, seed, None)
    return metric.function(context, attacked, SYNTHETIC, **{**metric.parameters(variant), **extra[metric.name]})


def metric_rows(frame: pd.DataFrame, keys: Sequence[str], target: str, lengths: Mapping[str, int]) -> list[Row]:
    """Rows of `privacy_metrics` as result rows."""
    return [
        Row(
            family="privacy",
            measure=METRICS[row["metric"]].row_name,
            keys=joined_keys(keys),
            target=target,
            direction=row["direction"],
            original=row["value"],
            original_low=row["low"],
            original_high=row["high"],
            holdout=row["holdout"],
            difference=row["difference"],
            low=row["difference_low"],
            high=row["difference_high"],
            method="" if math.isnan(row["difference_low"]) else MOVER,
            worst_case=row["worst_case"],
            sets=1,
            defined=int(row["status"] == OK),
            n_original=row["n"],
            n_holdout=min(row["n"], lengths.get(HOLDOUT, 0)),
            **_reason(row),
        )
        for row in frame.to_dict("records")
    ]


_CODES = {OK: "", UNDEFINED: "undefined", ERROR: "failed", TIMED_OUT: "timed_out"}


def _reason(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Code, detail and note of a row, from its status and notes."""
    first, *rest = str(row["note"]).split(BETWEEN)
    code = _CODES[row["status"]]
    if not code:
        return {"note": row["note"]}
    detail = first.removeprefix("timed out after ").removesuffix(" s") if row["status"] == TIMED_OUT else first
    if first.startswith("needs "):
        code, detail = "needs", first.removeprefix("needs ")
    return {"reason": code, "detail": detail, "note": BETWEEN.join(rest)}


def prepare(
    tables: Tables,
    keys: Sequence[str] | None,
    target: str | None,
    links: Sequence[int] | None,
    sample: int | None,
    seed: int,
    threads: int | None,
) -> Context:
    """Check what was said about the tables; RiskError names what does not fit."""
    n_original, n_synthetic = (tables.n_records(table) for table in (ORIGINAL, SYNTHETIC))
    if keys is not None and target is not None:
        check_keys(tables.names, keys, target)
    if HOLDOUT not in tables.rows:
        resampled = np.random.default_rng([seed, 2]).integers(n_original, size=n_original)
        tables = tables.with_rows(RESAMPLE, tables.rows[ORIGINAL][resampled])
    if sample is not None and sample < 2:
        raise RiskError(f"sample {sample}: ask about at least 2 records, or leave it out for all")
    return Context(
        tables,
        keys=None if keys is None else tuple(keys),
        target=target,
        links=None if links is None else _check_links(links, n_original, n_synthetic),
        seed=seed,
        pace=Pace(threads=threads or os.cpu_count() or 1),
        sampled={}
        if sample is None
        else _sample({name: len(rows) for name, rows in tables.rows.items()}, sample, seed),
    )


def _sample(sizes: Mapping[str, int], sample: int, seed: int) -> dict[str, Positions]:
    rng = np.random.default_rng([seed, 3])
    return {
        table: np.sort(rng.choice(size, size=sample, replace=False)) for table, size in sizes.items() if size > sample
    }


def _check_links(links: Sequence[int], n: int, n_synthetic: int) -> Positions:
    positions = np.asarray(links)
    if positions.shape != (n,) or positions.dtype.kind not in "iu":
        raise RiskError(f"links: give one whole number for each of the {n:,} original records")
    if n and not (positions.min() >= -1 and positions.max() < n_synthetic):
        raise RiskError(f"links: positions run from 0 to {n_synthetic - 1:,}, -1 for none; found others")
    return positions.astype(np.intp)


def _check_parameters(
    chosen: Sequence[Metric], parameters: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    checked = {}
    for name, given in parameters.items():
        (metric,) = choose_metrics([name])
        known = list(inspect.signature(metric.function).parameters)[3:]
        unknown = [key for key in given if key not in known]
        if unknown:
            raise RiskError(f"{metric.name}: no parameter {unknown[0]!r}; known: {known}")
        encoding = given.get("encoding")
        checked[metric.name] = {
            **given,
            **({"encoding": Encoding(encoding)} if isinstance(encoding, str) else {}),
        }
    return checked


def _row(
    context: Context, metric: Metric, variant: str, options: Mapping[str, Any], limit: float | None,
    progress: Callable[[str, float], None] | None, worst_case: bool,
) -> dict[str, Any]:  # fmt: skip
    start = time.monotonic()
    attacks = {"value": (ORIGINAL, SYNTHETIC)}
    if metric.compared and HOLDOUT in context.tables.rows:
        attacks["holdout"] = (HOLDOUT, SYNTHETIC)
    elif metric.compared and worst_case:
        attacks["worst_case"] = (ORIGINAL, RESAMPLE)
    results: dict[str, tuple[Score, str]] = {}
    for step, (side, (attacked, released)) in enumerate(attacks.items()):
        pace = Pace(
            deadline=math.inf if limit is None else time.monotonic() + limit,
            progress=None if progress is None else _report(progress, metric.name, step, len(attacks)),
            threads=context.pace.threads,
        )
        context.pace = pace
        results[side] = _attempt(context, metric, variant, attacked, released, options, limit)
    (score, status), others = results["value"], {side: found for side, found in results.items() if side != "value"}
    values = {side: found.value for side, (found, _) in others.items()}
    difference, interval = math.nan, (math.nan, math.nan)
    if "holdout" in others:
        other = others["holdout"][0]
        difference = score.value - other.value
        interval = joined((score.value, other.value), (score.interval, other.interval), -1)
    encoding = options.get("encoding", inspect.signature(metric.function).parameters.get("encoding"))
    encoding = encoding.default if isinstance(encoding, inspect.Parameter) else encoding
    return {
        "metric": metric.name,
        "variant": variant,
        "value": score.value,
        "low": score.interval[0],
        "high": score.interval[1],
        "holdout": values.get("holdout", math.nan),
        "worst_case": values.get("worst_case", math.nan),
        "difference": difference,
        "difference_low": interval[0],
        "difference_high": interval[1],
        "direction": metric.runs(variant),
        "encoding": "" if encoding is None else str(encoding),
        "n": score.n,
        "counts": "; ".join(f"{name} {count:.6g}" for name, count in score.counts.items()),
        "seconds": time.monotonic() - start,
        "status": status,
        "note": BETWEEN.join(_notes(context, score, others)),
        "measures": metric.measures,
    }


_OWN_OTHERS = "other records of the same person or household count among the others: the risk may read lower than it is"


def _attempt(
    context: Context, metric: Metric, variant: str, attacked: str, released: str, options: Mapping[str, Any],
    limit: float | None,
) -> tuple[Score, str]:  # fmt: skip
    """One value and its status; whatever goes wrong is told in the row."""
    given = {
        "keys": context.keys is not None and context.target is not None,
        "links": context.links is not None,
        "holdout": HOLDOUT in context.tables.rows or options.get("members") == "real",
    }
    absent = [_NEEDS[need] for need in metric.needs if not given[need]]
    if absent:
        return undefined(f"needs {' and '.join(absent)}"), UNDEFINED
    context.others_of.clear()
    try:
        score = metric.function(context, attacked, released, **options)
    except TimedOutError:
        return undefined(f"timed out after {limit:g} s"), TIMED_OUT
    except Exception as error:  # a failed measure is a row that says so, and the others go on
        kind = "" if isinstance(error, RiskError) else f"{type(error).__name__}: "
        return undefined(kind + first_line(error)), ERROR
    return of_people(context, attacked, score), UNDEFINED if math.isnan(score.value) else OK


def of_people(context: Context, attacked: str, score: Score) -> Score:
    """A score whose interval is for the sampling of people or households, where these are known (see `Microdata`).

    A note says where records were told apart from others of their table, among which are those of the same person. The
    interval is made wider by the root of what the variance of the mean score by people is beside that by records, at
    least 1; where all score alike, by how many records count as one, as Wilson's width then goes by their number. Where
    no record has a score of its own, a note says that records are taken as independent.
    """
    together = context.tables.coding.together.get(attacked)
    numbers = None if together is None else together[context.scored(attacked)]
    if together is not None and attacked in context.others_of and len(np.unique(together)) < len(together):
        score = replace(score, notes=(*score.notes, _OWN_OTHERS))
    if numbers is None or math.isnan(score.interval[0]) or len(np.unique(numbers)) == len(numbers):
        return score
    values = score.records.get(attacked)
    if values is None or len(values) != len(numbers):
        return replace(score, notes=(*score.notes, "the interval takes records of one person as independent"))
    by_people, by_records = (float(variance_of_mean(values[:, None], of)[0]) for of in (numbers, None))
    if by_records:
        wider = math.sqrt(max(by_people / by_records, 1.0))
    else:
        wider = float(np.square(np.unique(numbers, return_counts=True)[1]).sum()) / len(numbers)
    low, high = (float(np.clip(score.value + wider * (end - score.value), 0.0, 1.0)) for end in score.interval)
    return replace(score, interval=(low, high))


def _notes(context: Context, score: Score, others: Mapping[str, tuple[Score, str]]) -> list[str]:
    notes = [score.reason] if score.reason else list(score.notes)
    notes += [f"{side}: {found.reason}" for side, (found, _) in others.items() if found.reason and not score.reason]
    if context.sampled:
        asked = ", ".join(
            f"{len(rows):,} of {context.tables.n_records(table):,} {table} records"
            for table, rows in context.sampled.items()
        )
        notes.append(f"asked about a sample: {asked}")
    sizes = {table: context.tables.n_records(table) for table in (ORIGINAL, HOLDOUT) if table in context.tables.rows}
    if "holdout" in others and len(set(sizes.values())) > 1:
        notes.append(f"holdout of {sizes[HOLDOUT]:,} records, original of {sizes[ORIGINAL]:,}")
    return notes + list(context.tables.notes)


def _report(progress: Callable[[str, float], None], name: str, step: int, steps: int) -> Callable[[float], None]:
    return lambda done: progress(name, (step + done) / steps)
