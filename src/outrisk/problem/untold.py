"""Coefficients that were not published, such as the constant beside a paper's odds ratios: where records have them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from outrisk.problem.algebra import invert
from outrisk.problem.blocks import Array
from outrisk.problem.influence import Records, records_of_model
from outrisk.problem.released import ModelPart

_RECORDS = 20_000  # that are looked at, at most
_STEPS, _LEAP, _NOTHING = 30, 2.0, 1e-6  # of Newton's method, at most; how far one goes at most; what is no step


def begun(part: ModelPart, low: Array, high: Array) -> tuple[ModelPart, NDArray[np.intp]]:
    """A part whose numbers lie between low and high (k,), with coefficients that were not published in the middle of
    what their limits say, at 0 where nothing is said of them; and which are there.
    """
    K, nowhere = part.model.coefficients.size, np.zeros(0, np.intp)
    places = np.flatnonzero(~np.isfinite(low[:K]) & ~np.isfinite(high[:K]))
    if not len(places) or part.fitted is None or part.at is None:
        return part, nowhere
    says = part.fitted.told(low, high)
    b = part.model.coefficients.ravel().copy()
    with np.errstate(invalid="ignore"):
        middle = says.coefficients[places].sum(axis=1) / 2.0
    b[places] = np.where(np.isfinite(middle), middle, 0.0)
    return part.at(b), places[~np.isfinite(middle)]


def told_by(part: ModelPart, low: Array, high: Array, codes: Records) -> ModelPart:
    """The part with coefficients that were not published where their limits say, or else where they are most likely in
    records (n, variables), given all others.
    """
    part, places = begun(part, low, high)
    codes, b = codes[:: -(-len(codes) // _RECORDS)], part.model.coefficients.ravel().copy()
    for _ in range(_STEPS if len(places) else 0):
        assert part.at is not None and part.fitted is not None
        score, information = part.fitted.score(*records_of_model(part.model, codes).summed(np.ones(len(codes))))
        step = invert(information[np.ix_(places, places)]) @ score[places]
        step = np.clip(np.nan_to_num(step), -_LEAP, _LEAP)
        b[places] += step
        part = part.at(b)
        if np.abs(step).max() < _NOTHING:
            break
    return part
