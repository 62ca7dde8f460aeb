"""Information matrices: whole from their triangles, inverses and roots."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def symmetric(triangle: Array, size: int) -> Array:
    """The symmetric matrix (size, size) of which this is the lower triangle, by rows."""
    rows, columns = np.tril_indices(size)
    matrix = np.zeros((size, size))
    matrix[rows, columns] = matrix[columns, rows] = triangle
    return matrix


def root_of(precision: Array) -> Array:
    """A square root R of a positive semidefinite matrix, R R' = matrix."""
    values, vectors = np.linalg.eigh((precision + precision.T) / 2)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def invert(information: Array, scale: Array | None = None, ridge: float = 1e-6) -> Array:
    """Inverse of an information matrix (K, K); a direction without information gets a ridge, so that climbing can find
    it.

    scale (K,): what its rows and columns are divided by first, by default the roots of its diagonal, none far below the
    largest. ridge: least eigenvalue of the matrix so divided.
    """
    if scale is None:
        scale = np.sqrt(np.maximum(np.diag(information), 1e-8 * max(1.0, float(np.diag(information).max()))))
    standard = information / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(standard)
    inverse = (vectors / np.maximum(values, ridge)) @ vectors.T
    return np.asarray((inverse + inverse.T) / 2 / np.outer(scale, scale))
