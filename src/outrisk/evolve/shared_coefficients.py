"""Coefficients that one output leaves unprinted and another one of the same regression prints.

Marginal effects rest on the coefficients of their regression, which mostly stand in a table beside them. So they are
taken from there, and not where a pool of records has them: the same scores would be asked to add up to nothing at two
places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace

import numpy as np

from outrisk.evolve.problem import Problem
from outrisk.problem.blocks import Array, Model
from outrisk.problem.released import ModelPart, Released

_REGRESSION = ("family", "place", "response", "terms", "offset", "masks", "weight", "clock")  # what makes it the same


def with_shared(problem: Problem) -> Problem:
    """The problem with unprinted coefficients of outputs where another output prints all of them; itself where there
    are none.
    """
    printed = list(_printed(problem.released))
    released = tuple(_shared(each, printed) for each in problem.released) if printed else problem.released
    changed = any(one is not other for one, other in zip(released, problem.released, strict=True))
    return replace(problem, released=released) if changed else problem


def _printed(released: tuple[Released, ...]) -> Iterator[tuple[Model, Array]]:
    """The regressions of which all coefficients are printed, also as exp(b), and from where to where these may be by
    their digits, (K, 2).
    """
    for each in released:
        part = each.parts[0] if each.parts else None  # none of what is not sought
        if not isinstance(part, ModelPart) or not part.model.n_score:
            continue
        which = slice(part.n_numbers)
        low, high, half = each.low[which], each.high[which], each.tolerance[which]
        says = part.map.says(low - half, high + half)
        shown = np.isfinite(low[: part.model.n_score]).all()  # and not told by limits alone
        if says is not None and shown and np.isfinite(says.coefficients).all():
            yield part.model, says.coefficients


def _shared(released: Released, printed: list[tuple[Model, Array]]) -> Released:
    """An output with its coefficients, if it prints none, as another one of the same regression prints them."""
    part = released.parts[0] if len(released.parts) == 1 else None
    if not isinstance(part, ModelPart) or part.at is None or not part.model.n_score:
        return released
    K = part.model.n_score
    if np.isfinite(released.low[:K]).any() or np.isfinite(released.high[:K]).any():
        return released
    for model, ends in printed:
        if all(_alike(getattr(model, name), getattr(part.model, name)) for name in _REGRESSION):
            middle = ends.mean(axis=1)
            reach = np.maximum((ends[:, 1] - ends[:, 0]) / 2.0 - released.tolerance[:K], 0.0)  # beyond its own digits
            low, high = np.append(middle - reach, released.low[K:]), np.append(middle + reach, released.high[K:])
            return replace(released, low=low, high=high, parts=(part.at(model.parameters),))
    return released


def _alike(one: object, other: object) -> bool:
    """Whether two parts of a model are the same: values, arrays, and what is made of these."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(np.asarray(one), np.asarray(other))
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    if type(one) is type(other) and is_dataclass(one) and not isinstance(one, type):
        return all(_alike(getattr(one, each.name), getattr(other, each.name)) for each in fields(one))
    return one == other
