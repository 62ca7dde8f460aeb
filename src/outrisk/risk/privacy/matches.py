"""Metrics of equal or almost equal records: common rows, hitting rate, hidden rate.

Sources as in `by_distance`. Y is the table attacked, Z the synthetic one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from outrisk.errors import RiskError
from outrisk.risk.coding.classes import ORIGINAL, combined_code
from outrisk.risk.coding.with_numbers import Tables
from outrisk.risk.intervals.scores import Score, share, wilson
from outrisk.risk.neighbours.exact import between, ties
from outrisk.risk.privacy.by_distance import FAMD, choose
from outrisk.risk.privacy.columns import Encoding
from outrisk.risk.privacy.context import SLACK, TIE, Context

_CHUNK = 4096


def crp(context: Context, attacked: str, released: str, form: str = "real") -> Score:
    """Common rows proportion: share of y that are in Z, all columns equal.

    form 'distinct': distinct rows in both / (records of Y + 1e-8), the review's; it reads 0.5 for a leaked table in
    which every record has a copy. 'synthetic': share of z that are in Y.
    """
    choose("form", form, ("real", "distinct", "synthetic"))
    tables = context.tables
    row = _row_numbers(tables, tables.names, (attacked, released))
    y, z = row[: tables.n_records(attacked)], row[tables.n_records(attacked) :]
    if form == "synthetic":
        return share(np.isin(z, y), released)
    if form == "real":
        return share(np.isin(y, z), attacked)
    common = len(np.intersect1d(y, z))
    return Score(common / (len(y) + 1e-8), len(y), wilson(common, len(y)), {"distinct common rows": common})


def hitr(context: Context, attacked: str, released: str, parts: float = 30, form: str = "real") -> Score:
    """Hitting rate: share of y with a z equal in every category and within h in every number.

    h = (max - min of the original) / parts; the review's eq. 30 prints max - max: parts=inf, h = 0. form 'pairs':
    pairs that hit / records of Y (its eq. 31, may pass 1); 'synthetic': share of z hit.
    """
    choose("form", form, ("real", "pairs", "synthetic"))
    if not parts > 0:
        raise RiskError(f"parts {parts}: give a number above 0")
    start, end = (released, attacked) if form == "synthetic" else (attacked, released)
    hits = _hits(context, start, end, parts, form == "pairs")
    if form != "pairs":
        return share(hits > 0, start)
    pairs = int(hits.sum())
    return Score(pairs / len(hits), len(hits), counts={"pairs": pairs}, records={start: hits.astype(float)})


def _hits(context: Context, start: str, end: str, parts: float, count: bool) -> NDArray[np.int64]:
    """For each record of `start` asked about the number of records of `end` that it hits (count False: 1 if any)."""
    from outrisk.risk.neighbours.search import hits as count_hits  # as in `neighbours`: numba only where it is used

    tables, rows = context.tables, context.scored(start)
    categories = [name for name in tables.names if name not in tables.numbers]
    group = _row_numbers(tables, categories, (start, end), gaps=True)
    n = len(rows)
    own, other = group[: tables.n_records(start)][rows], group[tables.n_records(start) :]
    columns = np.stack([*tables.numbers.values()] or [np.zeros(len(tables.coding.columns[0]))])
    reaches = np.ptp(columns[:, tables.rows[ORIGINAL]], axis=1) / parts + SLACK
    y, z = columns[:, tables.rows[start][rows]], columns[:, tables.rows[end]]
    # Sort by the column whose reach covers the least of its records.
    lead = int(np.argmin([np.mean(np.abs(x - np.median(x)) <= reach) for x, reach in zip(z, reaches, strict=True)]))
    order = np.lexsort((z[lead], other))
    z, other = z[:, order].copy(), other[order]
    hits = np.empty(n, dtype=np.int64)
    for first in range(0, n, _CHUNK):
        context.pace.check(first / n)
        at = slice(first, first + _CHUNK)
        hits[at] = count_hits(y[:, at].copy(), own[at], z, other, reaches, lead, count)
    return hits


def hiddr(
    context: Context, attacked: str, released: str, encoding: Encoding = FAMD, among: str = "ties",
    over: str = "real",
) -> Score:  # fmt: skip
    """Hidden rate (Guillaudeux et al., 2023): share of y whose own z, by an explicit map, is the nearest z.

    among 'ties': it is among the tied nearest; 'first': it is the lowest-numbered of them. over 'synthetic': hits /
    records of Z, the review's. Without a map from real to synthetic records it has no meaning and is refused.
    """
    choose("among", among, ("ties", "first"))
    choose("over", over, ("real", "synthetic"))
    if context.links is None or attacked != ORIGINAL:
        raise RiskError("needs a map from each real record to the synthetic record made from it; give links")
    rows = context.scored(attacked)
    links = context.links[rows]
    least = context.nearest(encoding, attacked, released)[:, 0]
    geometry, linked = context.geometry(encoding), links >= 0
    own = np.full(len(links), np.inf)
    ends = context.tables.rows[attacked][rows][linked], context.tables.rows[released][links[linked]]
    own[linked] = between(geometry.space, *ends)
    hit = own <= least + TIE
    if among == "first":
        start, end = geometry.points(attacked), geometry.points(released)
        hit &= ties(start, end, least + TIE, rows=rows, pace=context.pace).first == links
    if over == "real":
        return share(hit, attacked, linked=int(linked.sum()))
    hits, n_synthetic = int(hit.sum()), context.tables.n_records(released)
    return Score(hits / n_synthetic, n_synthetic, counts={"records": hits, "linked": int(linked.sum())})


def _row_numbers(
    tables: Tables, names: tuple[str, ...] | list[str], pair: tuple[str, str], gaps: bool = False
) -> NDArray[np.int64]:
    """A number for each record of two tables, the same for records with equal values of the columns."""
    rows = np.concatenate([tables.rows[table] for table in pair])
    columns: list[NDArray[Any]] = [tables.coding.columns[tables.names.index(name)][rows] for name in names]
    if gaps:
        columns += [missing[rows] for missing in tables.gaps.values()]
    if not columns:
        return np.zeros(len(rows), dtype=np.int64)
    return combined_code(columns, [int(column.max()) + 1 for column in columns])[0]
