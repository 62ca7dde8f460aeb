"""Encodings: how records become points (`neighbours.Space`); every scale comes from the original.

In `onehot_*` an indicator of a level that is scaled by s makes a mismatch cost 1 / s^2 for each of the two levels; a
missing number's indicator is a category of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from outrisk.errors import RiskError
from outrisk.risk.coding.classes import ORIGINAL, SYNTHETIC
from outrisk.risk.coding.with_numbers import Tables
from outrisk.risk.neighbours.exact import Floats, Space
from outrisk.risk.privacy.columns import Columns, Encoding, indicator_costs, shares, value_range, z_scores
from outrisk.risk.privacy.entropy import Entropy, factor
from outrisk.risk.privacy.projections import entropy_per_value, famd, pca


def encode(tables: Tables, encoding: Encoding) -> Space:
    """All tables as points, in the order of their records."""
    if encoding.name not in ENCODINGS:
        raise RiskError(f"no encoding {encoding.name!r}; known: {sorted(ENCODINGS)}")
    if encoding.k is not None and encoding.name not in ("pca", "famd"):
        raise RiskError(f"encoding {encoding.name!r} has no dimensions to keep; give k to 'pca' or 'famd'")
    names = tables.names if encoding.columns is None else encoding.columns
    unknown = [name for name in names if name not in tables.names]
    if unknown:
        raise RiskError(f"no column {unknown[0]!r}; known: {list(tables.names)}")
    codes = {name: tables.coding.columns[tables.names.index(name)] for name in names if name not in tables.numbers}
    gaps = {f"{name} is missing": tables.gaps[name] for name in names if name in tables.gaps}
    columns = Columns(
        {name: tables.numbers[name] for name in names if name in tables.numbers},
        codes | gaps,
        {name: tables.n_levels(name) for name in codes} | dict.fromkeys(gaps, 2),
        tables.rows[ORIGINAL],
        tables.rows[SYNTHETIC],
    )
    if encoding.entropy is not None and encoding.entropy.kind == "pointwise":
        return entropy_per_value(columns, encoding)
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


def _space(
    columns: Columns, encoding: Encoding, numbers: Sequence[Floats], costs: Sequence[Floats], power: int = 2
) -> Space:
    n = len(columns.all[0])
    space = Space(
        np.column_stack(list(numbers)) if numbers else np.empty((n, 0)),
        np.column_stack(list(columns.codes.values())) if columns.codes and costs else np.empty((n, 0), dtype=np.int32),
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


def _z_scored(columns: Columns) -> list[Floats]:
    return [z_scores(x, columns.original) for x in columns.numbers.values()]


def _flat(columns: Columns, cost: float) -> list[Floats]:
    return [np.full(columns.n_levels[name], cost) for name in columns.codes]


def onehot(columns: Columns, encoding: Encoding) -> Space:
    """Numbers z-scored; a mismatch of a category counts once, as a difference of one standard deviation does."""
    return _space(columns, encoding, _z_scored(columns), _flat(columns, 0.5))


def onehot_raw(columns: Columns, encoding: Encoding) -> Space:
    """Numbers as they are; indicators 0/1, so that a mismatch counts twice."""
    return _space(columns, encoding, list(columns.numbers.values()), _flat(columns, 1.0))


def onehot_minmax(columns: Columns, encoding: Encoding) -> Space:
    """Numbers divided by the original's range; indicators 0/1, so that a mismatch counts twice."""
    numbers = [x / value_range(x[columns.original]) for x in columns.numbers.values()]
    return _space(columns, encoding, numbers, _flat(columns, 1.0))


def onehot_zscore(columns: Columns, encoding: Encoding) -> Space:
    """Numbers and indicators z-scored: a mismatch between rare levels counts more."""
    return _space(
        columns,
        encoding,
        _z_scored(columns),
        [indicator_costs(shares(columns, name)) for name in columns.codes],
    )


def numeric_raw(columns: Columns, encoding: Encoding) -> Space:
    """Numeric columns only, as they are."""
    _need_numbers(columns, encoding)
    return _space(columns, encoding, list(columns.numbers.values()), [])


def numeric_zscore(columns: Columns, encoding: Encoding) -> Space:
    """Numeric columns only, z-scored."""
    _need_numbers(columns, encoding)
    return _space(columns, encoding, _z_scored(columns), [])


def _need_numbers(columns: Columns, encoding: Encoding) -> None:
    if not columns.numbers:
        raise RiskError(f"encoding {encoding.name!r} takes numeric columns and there is none; choose 'onehot'")


def label_zscore(columns: Columns, encoding: Encoding) -> Space:
    """Categories by the rank of their text, then every column z-scored: no distance, kept for comparison."""
    ranks = {name: codes.astype(float) for name, codes in columns.codes.items()}
    values = [z_scores(x, columns.original) for x in (*columns.numbers.values(), *ranks.values())]
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


ENCODINGS: dict[str, Callable[[Columns, Encoding], Space]] = {
    function.__name__: function
    for function in (
        onehot, onehot_raw, onehot_minmax, onehot_zscore, numeric_raw, numeric_zscore, label_zscore,
        gower, gower_real, gower_pair, pca, famd,
    )
}  # fmt: skip
