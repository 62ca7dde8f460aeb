"""Encodings: how records become points (`neighbours.Space`); every scale comes from the original.

In `onehot_*` an indicator of a level that is scaled by s makes a mismatch cost 1 / s^2 for each of the two levels; a
missing number's indicator is a category of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outrisk.errors import RiskError
from outrisk.risk.neighbours import Floats, Space
from outrisk.risk.privacy.entropy import Entropy, factor, pointwise
from outrisk.risk.privacy.tables import ORIGINAL, SYNTHETIC, Tables

_BLOCK = 8192
_WIDEST = 4_000  # indicator columns of an encoding that writes them out: 260 MB a block


@dataclass(frozen=True)
class Encoding:
    """Name of an encoding (see ENCODINGS), and its parameters.

    k: dimensions that pca and famd keep; by default as many as there are columns.
    weights: by what a column's part of the sum of squares (of the sum, in Gower's distance) is multiplied; 1 if absent.
    """

    name: str = "onehot"
    k: int | None = None
    columns: tuple[str, ...] | None = None  # None: all
    weights: tuple[tuple[str, float], ...] = ()
    entropy: Entropy | None = None

    def __str__(self) -> str:
        return self.name if self.k is None else f"{self.name}, k = {self.k}"


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns that an encoding works on, for all tables together."""

    numbers: Mapping[str, Floats]
    codes: Mapping[str, NDArray[np.int64]]
    n_levels: Mapping[str, int]
    original: NDArray[np.intp]
    synthetic: NDArray[np.intp]


def encode(tables: Tables, encoding: Encoding) -> Space:
    """All tables as points, in the order of their records."""
    if encoding.name not in ENCODINGS:
        raise RiskError(f"no encoding {encoding.name!r}; known: {sorted(ENCODINGS)}")
    names = tables.names if encoding.columns is None else encoding.columns
    unknown = [name for name in names if name not in tables.names]
    if unknown:
        raise RiskError(f"no column {unknown[0]!r}; known: {list(tables.names)}")
    codes = {
        name: tables.coding.columns[tables.names.index(name)].astype(np.int64)
        for name in names
        if name not in tables.numbers
    }
    gaps = {f"{name} is missing": tables.gaps[name] for name in names if name in tables.gaps}
    columns = Columns(
        {name: tables.numbers[name] for name in names if name in tables.numbers},
        codes | gaps,
        {name: tables.n_levels(name) for name in codes} | dict.fromkeys(gaps, 2),
        tables.rows[ORIGINAL],
        tables.rows[SYNTHETIC],
    )
    if encoding.entropy is not None and encoding.entropy.kind == "pointwise":
        return _pointwise(columns, encoding)
    space = ENCODINGS[encoding.name](columns, encoding)
    return space if encoding.entropy is None else _weighed(space, columns, encoding.entropy)


def _weighed(space: Space, columns: Columns, entropy: Entropy) -> Space:
    numbers = [factor(entropy, x[columns.original], True) ** space.power for x in columns.numbers.values()]
    codes = [factor(entropy, x[columns.original], False) ** space.power for x in columns.codes.values()]
    return _multiplied(space, numbers, codes)


def _multiplied(space: Space, numbers: Sequence[float], codes: Sequence[float]) -> Space:
    """A space whose columns' parts of the sum are multiplied by these factors."""
    if space.numbers.shape[1] == len(numbers) + len(codes):  # categories by rank are numbers
        numbers, codes = [*numbers, *codes], []
    roots = np.asarray(numbers[: space.numbers.shape[1]], dtype=float) ** (1 / space.power)
    costs = tuple(cost * factor for cost, factor in zip(space.costs, codes, strict=False))
    return Space(space.numbers * roots, space.codes, costs, space.power)


def _check_width(encoding: Encoding, width: int) -> None:
    if width > _WIDEST:
        raise RiskError(
            f"encoding {encoding.name!r} would write out {width:,} columns of levels, {_WIDEST:,} are possible; "
            "leave out names and numbers that identify, or take encoding 'onehot'"
        )


def _pointwise(columns: Columns, encoding: Encoding) -> Space:
    """One column a level: a record's own weight moves all its indicators, so a mismatch has no cost of its own."""
    if encoding.name != "onehot_zscore" or encoding.weights:
        raise RiskError("entropy 'pointwise' is defined on encoding 'onehot_zscore' without weights; use those")
    _check_width(encoding, len(columns.numbers) + sum(columns.n_levels.values()))
    numbers = [_z(x, columns.original) for x in columns.numbers.values()]
    coordinates, owners = list(numbers), list(range(len(numbers)))
    for j, (name, codes) in enumerate(columns.codes.items(), len(numbers)):
        for level in range(columns.n_levels[name]):
            coordinates.append(_z((codes == level).astype(float), columns.original))
            owners.append(j)
    values: list[NDArray[Any]] = [*columns.numbers.values(), *columns.codes.values()]
    assert encoding.entropy is not None
    return pointwise(encoding.entropy, np.column_stack(coordinates), values, owners, columns.original)


def _space(
    columns: Columns, encoding: Encoding, numbers: Sequence[Floats], costs: Sequence[Floats], power: int = 2
) -> Space:
    n = len(next(iter([*columns.numbers.values(), *columns.codes.values()])))
    space = Space(
        np.column_stack(list(numbers)) if numbers else np.empty((n, 0)),
        np.column_stack(list(columns.codes.values())) if columns.codes and costs else np.empty((n, 0), dtype=np.int64),
        tuple(costs),
        power,
    )
    if not encoding.weights:
        return space
    weight = dict(encoding.weights)
    unknown = [name for name in weight if name not in columns.numbers and name not in columns.codes]
    if unknown:
        raise RiskError(
            f"weights: no column {unknown[0]!r} in the encoding; known: {[*columns.numbers, *columns.codes]}"
        )
    factors = [[weight.get(name, 1.0) for name in part] for part in (columns.numbers, columns.codes)]
    return _multiplied(space, factors[0], factors[1])


def _z(values: Floats, original: NDArray[np.intp]) -> Floats:
    """Centred and divided by the original's standard deviation (ddof 0), 1 in place of 0."""
    reference = values[original]
    return np.asarray((values - reference.mean()) / (_deviation(reference) or 1.0))


def _deviation(values: Floats) -> float:
    return 0.0 if np.ptp(values) == 0 else float(values.std())  # a constant column's rounding is no deviation


def _range(values: Floats) -> float:
    return float(np.ptp(values)) or 1.0


def _shares(columns: Columns, name: str) -> Floats:
    counts = np.bincount(columns.codes[name][columns.original], minlength=columns.n_levels[name])
    return np.asarray(counts / len(columns.original))


def _flat(columns: Columns, cost: float) -> list[Floats]:
    return [np.full(columns.n_levels[name], cost) for name in columns.codes]


def onehot(columns: Columns, encoding: Encoding) -> Space:
    """Numbers z-scored; a mismatch of a category counts once, as a difference of one standard deviation does."""
    return _space(columns, encoding, [_z(x, columns.original) for x in columns.numbers.values()], _flat(columns, 0.5))


def onehot_raw(columns: Columns, encoding: Encoding) -> Space:
    """Numbers as they are; indicators 0/1, so that a mismatch counts twice."""
    return _space(columns, encoding, list(columns.numbers.values()), _flat(columns, 1.0))


def onehot_minmax(columns: Columns, encoding: Encoding) -> Space:
    """Numbers divided by the original's range; indicators 0/1, so that a mismatch counts twice."""
    numbers = [x / _range(x[columns.original]) for x in columns.numbers.values()]
    return _space(columns, encoding, numbers, _flat(columns, 1.0))


def onehot_zscore(columns: Columns, encoding: Encoding) -> Space:
    """Numbers and indicators z-scored: a mismatch between rare levels counts more."""
    return _space(
        columns,
        encoding,
        [_z(x, columns.original) for x in columns.numbers.values()],
        [_indicator_costs(_shares(columns, name)) for name in columns.codes],
    )


def _indicator_costs(shares: Floats) -> Floats:
    variances = shares * (1 - shares)
    return np.asarray(1 / np.where(variances > 0, variances, 1.0))


def numeric_raw(columns: Columns, encoding: Encoding) -> Space:
    """Numeric columns only, as they are."""
    _need_numbers(columns, encoding)
    return _space(columns, encoding, list(columns.numbers.values()), [])


def numeric_zscore(columns: Columns, encoding: Encoding) -> Space:
    """Numeric columns only, z-scored."""
    _need_numbers(columns, encoding)
    return _space(columns, encoding, [_z(x, columns.original) for x in columns.numbers.values()], [])


def _need_numbers(columns: Columns, encoding: Encoding) -> None:
    if not columns.numbers:
        raise RiskError(f"encoding {encoding.name!r} takes numeric columns and there is none; choose 'onehot'")


def label_zscore(columns: Columns, encoding: Encoding) -> Space:
    """Categories by the rank of their text, then every column z-scored: no distance, kept for comparison."""
    ranks = {name: codes.astype(float) for name, codes in columns.codes.items()}
    values = [_z(x, columns.original) for x in (*columns.numbers.values(), *ranks.values())]
    return _space(columns, encoding, values, [])


def _gower(columns: Columns, encoding: Encoding, ranges: Mapping[str, float]) -> Space:
    m = len(columns.numbers) + len(columns.codes)
    numbers = [x / ranges[name] / m if ranges[name] else np.zeros(len(x)) for name, x in columns.numbers.items()]
    return _space(columns, encoding, numbers, _flat(columns, 0.5 / m), power=1)


def gower(columns: Columns, encoding: Encoding) -> Space:
    """Mean over columns of |a - b| / range of original and synthetic together, or of a mismatch."""
    both = np.concatenate([columns.original, columns.synthetic])
    return _gower(columns, encoding, {name: float(np.ptp(x[both])) for name, x in columns.numbers.items()})


def gower_real(columns: Columns, encoding: Encoding) -> Space:
    """As gower, with the range of the original alone."""
    return _gower(columns, encoding, {name: float(np.ptp(x[columns.original])) for name, x in columns.numbers.items()})


def gower_pair(columns: Columns, encoding: Encoding) -> Space:
    """As gower, ranges below 1 replaced by 1 and taken, by NNAA, for each pair of tables anew: for comparison."""
    both = np.concatenate([columns.original, columns.synthetic])
    return _gower(columns, encoding, {name: max(float(np.ptp(x[both])), 1.0) for name, x in columns.numbers.items()})


def pca(columns: Columns, encoding: Encoding) -> Space:
    """Principal components of the z-scored one-hot columns of the original; scores, not divided by singular values."""
    scales = [np.sqrt(1 / _indicator_costs(_shares(columns, name))) for name in columns.codes]
    return _project(columns, encoding, scales)


def famd(columns: Columns, encoding: Encoding) -> Space:
    """Factor analysis of mixed data: z-scored numbers, indicators divided by the root of the original's share.

    A level that the original does not have has no indicator.
    """
    scales = [np.sqrt(_shares(columns, name)) for name in columns.codes]
    return _project(columns, encoding, scales)


def _project(columns: Columns, encoding: Encoding, scales: Sequence[Floats]) -> Space:
    """Scores on the first k right singular vectors of the original's scaled columns; exact, in blocks of records.

    The triangle R of a QR decomposition, stacked block by block, has the singular values and vectors of the matrix.
    """
    numbers = [_z(x, columns.original) for x in columns.numbers.values()]
    codes = list(columns.codes.values())
    shares = [_shares(columns, name) for name in columns.codes]
    keep = [np.flatnonzero(scale > 0) for scale in scales]
    _check_width(encoding, len(numbers) + sum(map(len, keep)))

    def dense(rows: NDArray[np.intp]) -> Floats:
        parts = [x[rows, None] for x in numbers]
        for column, scale, share, kept in zip(codes, scales, shares, keep, strict=True):
            parts.append(((column[rows, None] == kept) - share[kept]) / scale[kept])
        return np.concatenate(parts, axis=1)

    triangle = np.empty((0, len(numbers) + sum(map(len, keep))))
    for start in range(0, len(columns.original), _BLOCK):
        block = dense(columns.original[start : start + _BLOCK])
        triangle = np.asarray(np.linalg.qr(np.concatenate([triangle, block]), mode="r"))
    vectors = np.linalg.svd(triangle, full_matrices=False)[2]
    k = len(numbers) + len(codes) if encoding.k is None else encoding.k
    if k < 1:
        raise RiskError(f"{encoding.name}: {k} dimensions; keep at least 1")
    vectors = vectors[:k]
    vectors *= np.sign(vectors[np.arange(len(vectors)), np.abs(vectors).argmax(axis=1)])[:, None]
    n = len(next(iter([*numbers, *codes])))
    scores = [dense(np.arange(start, min(start + _BLOCK, n))) @ vectors.T for start in range(0, n, _BLOCK)]
    return Space(np.concatenate(scores), np.empty((n, 0), dtype=np.int64), ())


ENCODINGS: dict[str, Callable[[Columns, Encoding], Space]] = {
    function.__name__: function
    for function in (
        onehot, onehot_raw, onehot_minmax, onehot_zscore, numeric_raw, numeric_zscore, label_zscore,
        gower, gower_real, gower_pair, pca, famd,
    )
}  # fmt: skip
