"""Agreement and symmetry of pairs with the same levels: Cohen's kappa, Bowker's test, of square tables of counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from outrisk.outputs.base import Array
from outrisk.outputs.smooth.associated import NORMAL

Weights = Literal["none", "linear", "quadratic"]
_ROUNDING = 1e-13  # a standard deviation, or a share, below which it is 0

Found = Mapping[str, NDArray[Any]]


def credit(levels: int, weights: Weights) -> Array:
    """How far levels agree, (levels, levels) from 0 to 1, by how far they are apart in the order of the codebook."""
    apart = np.abs(np.subtract.outer(np.arange(levels), np.arange(levels))) / max(levels - 1, 1)
    if weights == "none":
        return np.asarray(apart == 0.0, dtype=float)
    return np.asarray(1.0 - (apart if weights == "linear" else apart**2))


def kappa(counts: NDArray[Any], weights: Weights) -> Found:
    """Cohen's kappa of counts (b, levels, levels). 'null error' is its standard error where there is no agreement but
    by chance, by which z is; 'standard error' the asymptotic one, by which the limits at 95 % are: both of Fleiss,
    Cohen and Everitt (Psychological Bulletin 72, 1969), for all weights: what they subtract is the square of the mean.
    """
    n = counts.sum(axis=(1, 2))
    share, same = counts / n[:, None, None], credit(counts.shape[1], weights)
    own, other = share.sum(axis=2), share.sum(axis=1)
    chance = own[:, :, None] * other[:, None, :]
    agreed, expected = ((same * each).sum(axis=(1, 2)) for each in (share, chance))
    rest = np.where(1.0 - expected.real > _ROUNDING, 1.0 - expected, np.nan)
    value = (agreed - expected) / rest
    mean = (other @ same.T)[:, :, None] + (own @ same)[:, None, :]
    left = 1.0 - value
    asymptotic = _spread(share, same - mean * left[:, None, None])
    of_null, error = (each / (np.sqrt(n) * rest) for each in (_spread(chance, same - mean), asymptotic))
    return {
        "n": n,
        "kappa": value,
        "agreement": agreed,
        "expected agreement": expected,
        "standard error": error,
        "null error": of_null,
        "lower limit": value - NORMAL * error,
        "upper limit": value + NORMAL * error,
        "z": np.where(of_null.real > 0.0, value / of_null, np.nan),
    }


def bowker(counts: NDArray[Any]) -> Found:
    """Bowker's test of symmetry (JASA 43, 1948) of counts (b, levels, levels): McNemar's of more levels. Levels that
    neither of a pair has are left out; it is undefined where no record has changed between two of the others.
    """
    some = (counts[0].real > 0.5).any(axis=0) | (counts[0].real > 0.5).any(axis=1)
    counts = counts[:, some][:, :, some]
    one, other = np.triu_indices(int(some.sum()), 1)
    there, back = counts[:, one, other], counts[:, other, one]
    changed = np.where((there + back).real > 0.5, there + back, np.nan)
    statistic = ((there - back) ** 2 / changed).sum(axis=1)
    defined = (len(one) > 0) & ~np.isnan(statistic.real)
    df = np.where(defined, float(len(one)), np.nan)
    return {"n": counts.sum(axis=(1, 2)), "statistic": np.where(defined, statistic, np.nan), "df": df}


def _spread(share: NDArray[Any], number: NDArray[Any]) -> NDArray[Any]:
    """The standard deviation (b,) of numbers (b, levels, levels) that have such shares."""
    gap = number - (share * number).sum(axis=(1, 2), keepdims=True)
    variance = (share * gap**2).sum(axis=(1, 2))
    return np.asarray(np.sqrt(np.where(variance.real > _ROUNDING**2, variance, 0.0)))
