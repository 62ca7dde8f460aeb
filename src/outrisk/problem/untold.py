"""Coefficients that were not published, such as the constant beside a paper's odds ratios: where records have them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from outrisk.problem.algebra import invert
from outrisk.problem.blocks import Array, Model, is_shape
from outrisk.problem.influence import Records, records_of_model
from outrisk.problem.released import ModelPart

_RECORDS = 20_000  # that are looked at, at most
_FAR = 5.0  # a normal prior's sd of what a column may change in a linear predictor: where all records of a level have
# the same outcome, its coefficient is not infinite
_EXTREME = 3.0  # of these sds: a coefficient that is on its way there
_STEPS, _LEAP, _NOTHING = 30, 2.0, 1e-6  # of Newton's method, at most; how far one goes at most; what is no step


def begun(part: ModelPart, low: Array, high: Array) -> tuple[ModelPart, NDArray[np.intp]]:
    """A part whose numbers lie between low and high (k,), with coefficients that were not published in the middle of
    what their limits say, where nothing is said of them at 0, or at a shape that there may be; and which are there.
    """
    K, nowhere = len(part.model.parameters), np.zeros(0, np.intp)
    places = np.flatnonzero(~np.isfinite(low[:K]) & ~np.isfinite(high[:K]))
    if not len(places) or part.fitted is None or part.at is None:
        return part, nowhere
    says = part.fitted.told(low, high)
    b = part.model.parameters
    with np.errstate(invalid="ignore"):
        middle = says.coefficients[places].sum(axis=1) / 2.0
    b[places] = np.where(np.isfinite(middle), middle, 0.0)
    places, first = places[~np.isfinite(middle)], part.model.coefficients.size
    b[first:] = _shape(part.model.family, b[first:], np.isin(np.arange(first, K), places))
    return part.at(b), places


def _shape(family: str, shape: Array, untold: NDArray[np.bool_]) -> Array:
    """A shape (A,) with those of its parameters that nothing tells where they may be."""
    if not untold.any() or family == "negbin":
        return np.where(untold, 1.0, shape)
    at, told = np.arange(len(shape)), np.flatnonzero(~untold)
    if not len(told):
        return np.asarray(logit((at + 1.0) / (len(at) + 1.0)))
    beyond = np.minimum(at - told[0], 0.0) + np.maximum(at - told[-1], 0.0)
    return np.asarray(np.interp(at, told, shape[told]) + beyond)


def told_by(part: ModelPart, low: Array, high: Array, codes: Records) -> ModelPart:
    """The part with coefficients that were not published where their limits say, or else where `most_likely` has them
    in records (n, variables).
    """
    return most_likely(*begun(part, low, high), codes)


def most_likely(part: ModelPart, places: NDArray[np.intp], codes: Records) -> ModelPart:
    """The part with its parameters at some places where they are most likely in records (n, variables), given all
    others; where that is nowhere, or extreme, given too that none is.
    """
    if not len(places):
        return part
    codes, held = codes[:: -(-len(codes) // _RECORDS)], _held(part.model)[places]
    nothing = np.zeros(len(held))
    free, found = _climbed(part, places, codes, nothing)
    if not (found and _moderate(free, places, held)):
        part, _ = _climbed(part, places, codes, held)
        free, found = _climbed(part, places, codes, nothing)  # elsewhere a step does not lead to the numbers
    return free if found and _moderate(free, places, held) else part


def _moderate(part: ModelPart, places: NDArray[np.intp], held: Array) -> bool:
    """Whether no parameter at some places is extreme for a prior of precision `held`."""
    return bool((held * part.model.parameters[places] ** 2 < _EXTREME**2).all())


def _climbed(part: ModelPart, places: NDArray[np.intp], codes: Records, held: Array) -> tuple[ModelPart, bool]:
    """The part with its parameters at some places where they are most likely, under a prior of precision `held`; and
    whether they were found.
    """
    b, first = part.model.parameters, part.model.coefficients.size
    for _ in range(_STEPS):
        assert part.at is not None and part.fitted is not None
        score, information = part.fitted.score(*records_of_model(part.model, codes).summed(np.ones(len(codes))))
        step = invert(information[np.ix_(places, places)] + np.diag(held)) @ (score[places] - held * b[places])
        sound = bool(np.isfinite(step).all())
        leap = np.inf if part.model.family == "sign" else _LEAP  # in the units of a response
        step = np.clip(np.nan_to_num(step), -leap, leap)
        before = b.copy()
        b[places] += step
        while not is_shape(part.model.family, b[first:]) and np.abs(step).max() > _NOTHING:
            step /= 2.0
            b[places] = before[places] + step
        part = part.at(b)
        if np.abs(step).max() < _NOTHING:
            return part, sound
    return part, False


def _held(model: Model) -> Array:
    """Precision of the prior of each parameter (K,) around 0; none of a constant, a shape, or where units are the
    response's.
    """
    found = np.zeros(model.coefficients.shape[1])
    for term in model.terms if model.family not in ("ols", "sign") else ():
        ranges = term.rows.max(axis=0) - term.rows.min(axis=0)
        found[term.columns] = (ranges / _FAR) ** 2
    return np.append(np.tile(found, len(model.coefficients)), np.zeros(len(model.shape)))
