"""Metrics of attribute inference: an intruder who knows the keys of a person reads the target off the synthetic data.

Sources as in `by_distance`. Y is the table attacked, Z the synthetic one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from outrisk.errors import RiskError
from outrisk.risk.attribution.nearest import nearest_keys, same_keys
from outrisk.risk.coding.classes import ORIGINAL, SYNTHETIC, Coding, check_keys, combined_code, cross
from outrisk.risk.coding.with_numbers import Tables
from outrisk.risk.intervals.scores import Score, mean, mean_interval
from outrisk.risk.neighbours.exact import Floats, Points, Space, nearest, points, ties
from outrisk.risk.privacy.by_distance import ONEHOT, choose
from outrisk.risk.privacy.columns import Encoding
from outrisk.risk.privacy.context import SLACK, TIE, Context
from outrisk.risk.privacy.encodings import encode


def zcap(context: Context, attacked: str, released: str) -> Score:
    """Zero CAP: mean over y of the share of the z with y's keys that have y's target; 0 where there is none.

    Hittmeir, Mayer and Ekelhart (2020); `outrisk.risk.DifferentialAttribution.dcap` is the same measure.
    """
    keys, target = _keys(context)
    equivalence = cross(_pair(context, attacked, released), keys, target)
    cells = equivalence.records[ORIGINAL]
    matched = equivalence.class_totals(SYNTHETIC)[cells] > 0
    return mean(equivalence.shares(SYNTHETIC)[cells], attacked, matched=int(matched.sum()))


def gcap(context: Context, attacked: str, released: str, neighbours: str = "all", hamming: str = "columns") -> Score:
    """Generalised CAP: mean over y of the share, with y's target, of all z at the least Hamming distance in the keys.

    hamming 'onehot' counts a mismatch of a category twice and of a number once; neighbours 'first': only the
    lowest-numbered of the nearest z; 'sklearn': only the one that scikit-learn's tree happens to find (on 'columns').
    All three are the review's code. Same source as ZCAP.
    """
    keys, target = _keys(context)
    choose("neighbours", neighbours, ("all", "first", "sklearn"))
    choose("hamming", hamming, ("columns", "onehot"))
    if neighbours != "all" or hamming == "onehot":
        return _gcap_as_coded(context, attacked, released, keys, target, neighbours, hamming)
    coding = _pair(context, attacked, released)
    equivalence = cross(coding, keys, target)
    near = nearest_keys(equivalence, coding, keys, same_keys(equivalence), context.pace.check)
    cells = equivalence.records[ORIGINAL]
    classes = equivalence.cell_class[cells]
    return mean(near.hits[cells] / near.size[classes], attacked, matched=int((near.distance[classes] == 0).sum()))


def _pair(context: Context, attacked: str, released: str) -> Coding:
    """Keys and target of the records asked about and of the synthetic ones."""
    keys, target = _keys(context)
    coding, rows = context.tables.coding, context.tables.rows
    asked = rows[attacked][context.scored(attacked)]
    both = np.concatenate([asked, rows[released]])
    where = [coding.names.index(name) for name in (*keys, target)]
    return Coding(
        (*keys, target),
        tuple(coding.labels[j] for j in where),
        tuple(coding.columns[j][both] for j in where),
        {ORIGINAL: len(asked), SYNTHETIC: len(rows[released])},
    )


def _gcap_as_coded(
    context: Context, attacked: str, released: str, keys: tuple[str, ...], target: str, neighbours: str, hamming: str
) -> Score:
    tables, rows = context.tables, context.scored(attacked)
    codes = np.column_stack([_codes(tables, name) for name in keys])
    costs = [
        np.full(tables.n_levels(name), 1.0 if hamming == "onehot" and name not in tables.numbers else 0.5)
        for name in keys
    ]
    space = Space(np.empty((len(codes), 0)), codes, tuple(costs), power=1)
    payload = _codes(tables, target).astype(float)
    queries, references = _points(context, space, payload, attacked, released)
    least = nearest(queries, references, 1, rows=rows, pace=context.pace)[:, 0]
    near = ties(queries, references, least + TIE, rows=rows, pace=context.pace)
    correct = near.hits / near.found
    if neighbours != "all":
        chosen = near.first if neighbours == "first" else _found_by_tree(context, keys, attacked, released)
        correct = _of_first(payload, tables, released, chosen) == payload[tables.rows[attacked]][rows]
    return mean(np.asarray(correct, dtype=float), attacked, matched=int((least == 0).sum()))


def _found_by_tree(context: Context, keys: tuple[str, ...], attacked: str, released: str) -> NDArray[np.int64]:
    from sklearn.neighbors import NearestNeighbors

    tables, rows = context.tables, context.tables.rows
    values = np.column_stack([tables.numbers.get(name, _codes(tables, name).astype(float)) for name in keys])
    tree = NearestNeighbors(n_neighbors=1, metric="hamming").fit(values[rows[released]])
    asked = values[rows[attacked][context.scored(attacked)]]
    return np.asarray(tree.kneighbors(asked, return_distance=False)[:, 0])


def air(
    context: Context, attacked: str, released: str, encoding: Encoding = ONEHOT, form: str = "hits",
    weighting: str = "distinct", tolerance: str = "real", neighbours: str = "all", misses: bool = True,
) -> Score:  # fmt: skip
    """Attribute inference risk: share of the nearest z (all tied ones) that hit y's target, weighted by entropy.

    A hit is the same level, or a number within 10 % of the true one (tolerance 'synthetic': of the synthetic one, as
    the review prints it, which never holds below 0). form 'record_f1': F1 of each y, its false negatives being all z
    that have its target if any of the nearest misses; 'total_f1': F1 of the sums; misses=False: no false negatives.
    weighting: -p log p of the record's share p of the original, each distinct record counting once ('distinct') or each
    copy ('records'); 'epsilon': as distinct, with 1e-8 in the logarithm, as in the review's code; 'none'. neighbours
    'first': only the lowest-numbered of the nearest z.
    """
    keys, target = _keys(context)
    choose("form", form, ("hits", "record_f1", "total_f1"))
    choose("weighting", weighting, ("distinct", "records", "epsilon", "none"))
    choose("tolerance", tolerance, ("real", "synthetic"))
    choose("neighbours", neighbours, ("all", "first"))
    tables = context.tables
    space = encode(tables, replace(encoding, columns=keys))
    numeric = target in tables.numbers
    payload = tables.numbers[target] if numeric else _codes(tables, target).astype(float)
    rows = context.scored(attacked)
    y = payload[tables.rows[attacked]][rows]
    absolute = (0.1 * np.abs(y) if tolerance == "real" else 0.0) + SLACK if numeric else np.zeros(len(y))
    relative = 0.1 if numeric and tolerance == "synthetic" else 0.0
    queries, references = _points(context, space, payload, attacked, released)
    least = nearest(queries, references, 1, rows=rows, pace=context.pace)[:, 0]
    near = ties(queries, references, least + TIE, absolute, relative, rows, context.pace)
    found, hits = near.found, near.hits
    if neighbours == "first":
        z = _of_first(payload, tables, released, near.first)
        found, hits = np.ones_like(found), (np.abs(y - z) <= absolute + relative * z).astype(np.int64)
    lost = np.zeros_like(hits)
    if misses and form != "hits":
        z = np.sort(payload[tables.rows[released]])
        reach = 1 - relative
        upper = np.searchsorted(z, (y + absolute) / reach, side="right")
        lost = np.where(hits < found, upper - np.searchsorted(z, (y - absolute) / (1 + relative), side="left"), 0)
    counts = {"hits": int(hits.sum()), "misses": int((found - hits).sum())}
    if form != "hits":
        counts["false negatives"] = int(lost.sum())
    if form == "hits":
        score = hits / found
    elif form == "record_f1":
        score = 2 * hits / np.maximum(hits + found + lost, 1)
    else:
        score = np.full(len(y), 2 * hits.sum() / max(1, hits.sum() + found.sum() + lost.sum()))
    weight = _record_weights(tables, attacked, weighting)[rows]
    interval = mean_interval(score, weight) if form != "total_f1" else (np.nan, np.nan)
    records = {attacked: score} if form != "total_f1" else {}
    total = 1.0 if weighting == "epsilon" else weight.sum()
    return Score(float(weight @ score / total), len(y), interval, counts, records)


def _record_weights(tables: Tables, attacked: str, weighting: str) -> Floats:
    """-p log p of each record, p the share of records equal to it in all columns."""
    n = tables.n_records(attacked)
    if weighting == "none":
        return np.ones(n)
    columns = [_codes(tables, name)[tables.rows[attacked]] for name in tables.names]
    code, _ = combined_code(columns, [tables.n_levels(name) for name in tables.names])
    _, point, counts = np.unique(code, return_inverse=True, return_counts=True)
    p = counts / n
    if len(counts) == 1:
        return np.ones(n)
    if weighting == "epsilon":
        information = -p * np.log(p + 1e-8) / counts
        return np.asarray(information[point] / -np.log(p).dot(p))
    weight = -p * np.log(p) / (counts if weighting == "distinct" else 1)
    return np.asarray(weight[point])


def _points(context: Context, space: Space, payload: Floats, attacked: str, released: str) -> tuple[Points, Points]:
    rows = context.tables.rows
    queries, references = (points(space.take(rows[at]), payload[rows[at]]) for at in (attacked, released))
    return queries, references


def _of_first(payload: Floats, tables: Tables, released: str, first: NDArray[np.int64]) -> Floats:
    return np.asarray(payload[tables.rows[released]][first])


def _codes(tables: Tables, name: str) -> NDArray[np.int32]:
    return tables.coding.columns[tables.names.index(name)]


def _keys(context: Context) -> tuple[tuple[str, ...], str]:
    if context.keys is None or context.target is None:
        raise RiskError("needs keys and a target; give what the intruder knows and wants to learn")
    check_keys(context.tables.names, context.keys, context.target)
    return context.keys, context.target
