"""Encodings that write out a column for each level: projections, and entropy per value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from outrisk.errors import RiskError
from outrisk.risk.neighbours.exact import Floats, Space
from outrisk.risk.privacy.columns import Columns, Encoding, indicator_costs, shares, z_scores
from outrisk.risk.privacy.entropy import pointwise

_BLOCK = 8192
_WIDEST = 4_000  # columns of levels: 260 MB a block of records


def pca(columns: Columns, encoding: Encoding) -> Space:
    """Principal components of the z-scored one-hot columns of the original; scores, not divided by singular values."""
    scales = [np.sqrt(1 / indicator_costs(shares(columns, name))) for name in columns.codes]
    return _project(columns, encoding, scales)


def famd(columns: Columns, encoding: Encoding) -> Space:
    """Factor analysis of mixed data: z-scored numbers, indicators divided by the root of the original's share.

    A level that the original does not have has no indicator.
    """
    scales = [np.sqrt(shares(columns, name)) for name in columns.codes]
    return _project(columns, encoding, scales)


def _project(columns: Columns, encoding: Encoding, scales: Sequence[Floats]) -> Space:
    """Scores on the first k right singular vectors of the original's scaled columns; exact, in blocks of records.

    The triangle R of a QR decomposition, stacked block by block, has the singular values and vectors of the matrix; so
    has that of its distinct rows, each times the root of its count.
    """
    if encoding.weights or encoding.entropy is not None:
        raise RiskError(f"encoding {encoding.name!r} takes no weights and no entropy; leave them out")
    numbers = [z_scores(x, columns.original) for x in columns.numbers.values()]
    codes = list(columns.codes.values())
    own_shares = [shares(columns, name) for name in columns.codes]
    keep = [np.flatnonzero(scale > 0) for scale in scales]
    _check_width(encoding, len(numbers) + sum(map(len, keep)))

    def dense(rows: NDArray[np.intp]) -> Floats:
        parts = [x[rows, None] for x in numbers]
        for column, scale, share, kept in zip(codes, scales, own_shares, keep, strict=True):
            parts.append(((column[rows, None] == kept) - share[kept]) / scale[kept])
        return np.concatenate(parts, axis=1)

    triangle = np.empty((0, len(numbers) + sum(map(len, keep))))
    distinct, weights = _distinct(columns)
    for start in range(0, len(distinct), _BLOCK):
        block = dense(distinct[start : start + _BLOCK]) * weights[start : start + _BLOCK, None]
        triangle = np.asarray(np.linalg.qr(np.concatenate([triangle, block]), mode="r"))
    vectors = np.linalg.svd(triangle, full_matrices=False)[2]
    k = len(numbers) + len(codes) if encoding.k is None else encoding.k
    if k < 1:
        raise RiskError(f"{encoding.name}: {k} dimensions; keep at least 1")
    vectors = vectors[:k]
    vectors *= np.sign(vectors[np.arange(len(vectors)), np.abs(vectors).argmax(axis=1)])[:, None]
    n = len(columns.all[0])
    scores = [dense(np.arange(start, min(start + _BLOCK, n))) @ vectors.T for start in range(0, n, _BLOCK)]
    return Space(np.concatenate(scores), np.empty((n, 0), dtype=np.int32), ())


def _distinct(columns: Columns) -> tuple[NDArray[np.intp], Floats]:
    """One original record of each combination of values, and the root of the number of records that have it."""
    values = [values[columns.original] for values in columns.all]
    order = np.lexsort(values)
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = np.any([column[order[1:]] != column[order[:-1]] for column in values], axis=0)
    starts = np.flatnonzero(fresh)
    return columns.original[order[starts]], np.sqrt(np.diff(starts, append=len(order)))


def entropy_per_value(columns: Columns, encoding: Encoding) -> Space:
    """One column a level: a record's own weight moves all its indicators, so a mismatch has no cost of its own."""
    if encoding.name != "onehot_zscore" or encoding.weights:
        raise RiskError("entropy 'pointwise' is defined on encoding 'onehot_zscore' without weights; use those")
    _check_width(encoding, len(columns.numbers) + sum(columns.n_levels.values()))
    numbers = [z_scores(x, columns.original) for x in columns.numbers.values()]
    coordinates, owners = list(numbers), list(range(len(numbers)))
    for j, (name, codes) in enumerate(columns.codes.items(), len(numbers)):
        for level in range(columns.n_levels[name]):
            coordinates.append(z_scores((codes == level).astype(float), columns.original))
            owners.append(j)
    assert encoding.entropy is not None
    return pointwise(encoding.entropy, np.column_stack(coordinates), columns.all, owners, columns.original)


def _check_width(encoding: Encoding, width: int) -> None:
    if width > _WIDEST:
        raise RiskError(
            f"encoding {encoding.name!r} would write out {width:,} columns of levels, {_WIDEST:,} are possible; "
            "leave out names and numbers that identify, or take encoding 'onehot'"
        )
