"""How the subsets of two outputs lie to each other, by the codebook alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import Codebook
from outrisk.outputs.base import Subset, joint_for, support_frame
from outrisk.problem.blocks import Joint

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Pair:
    """Two subsets over every combination of the variables that either names (`sizes`): `one` and `other` have an axis
    for each of these, of a single level where they do not name it.
    """

    joint: Joint
    sizes: tuple[int, ...]
    one: Flags
    other: Flags

    @cached_property
    def first(self) -> Flags:
        """The first subset, (joint.size,)."""
        return np.broadcast_to(self.one, self.sizes).ravel()

    @cached_property
    def second(self) -> Flags:
        """The second subset, (joint.size,)."""
        return np.broadcast_to(self.other, self.sizes).ravel()

    @cached_property
    def equal(self) -> bool:
        """Whether they hold the same records, in any data."""
        return _contains(self.one, self.other) and _contains(self.other, self.one)

    @cached_property
    def contains(self) -> bool:
        """Whether every record of the second is in the first, in any data."""
        return _contains(self.one, self.other)

    @cached_property
    def apart(self) -> bool:
        """Whether no record is in both, in any data."""
        one, other = (flags.any(axis=_alone(flags, than), keepdims=True) for flags, than in self._both)
        return not (one & other).any()

    @property
    def _both(self) -> tuple[tuple[Flags, Flags], tuple[Flags, Flags]]:
        return (self.one, self.other), (self.other, self.one)


def _contains(one: Flags, other: Flags) -> bool:
    """Whether wherever a value of the variables of both is in the second, with any of its others, it is in the first
    with all of its others.
    """
    whole = one.all(axis=_alone(one, other), keepdims=True)
    return bool((whole | ~other.any(axis=_alone(other, one), keepdims=True)).all())


def _alone(flags: Flags, than: Flags) -> tuple[int, ...]:
    """The axes of variables that one subset names and the other does not."""
    return tuple(at for at, size in enumerate(flags.shape) if size > than.shape[at])


@dataclass(frozen=True, eq=False)
class _Condition:
    """A subset of a codebook, the same as another of this very codebook, whichever output it is of."""

    codebook: Codebook
    where: str
    output: str

    def __hash__(self) -> int:
        return hash((id(self.codebook), self.where))  # values of a codebook are many

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Condition) and self.codebook is other.codebook and self.where == other.where


def compare(codebook: Codebook, first: str, second: str, output: str) -> Pair:
    """Two `where` expressions ('' for all records) set side by side.

    OutputError, with the output named, if the supports of their variables are too large to go through.
    """
    one, other = _Condition(codebook, first, output), _Condition(codebook, second, output)
    named = {*_variables(one), *_variables(other)}
    names = [name for name in codebook.names if name in named]
    joint = joint_for(codebook, names, output)
    sizes = tuple(codebook.sizes[j] for j in joint.variables)
    return Pair(joint, sizes, *(_flags(each, names, sizes) for each in (one, other)))


def _flags(condition: _Condition, names: list[str], sizes: tuple[int, ...]) -> Flags:
    """Its values with an axis for each of some variables, of a single level for those that it does not name."""
    own = _variables(condition)
    return _values(condition).reshape([size if name in own else 1 for name, size in zip(names, sizes, strict=True)])


@lru_cache(maxsize=512)  # outputs share few subsets
def _variables(condition: _Condition) -> tuple[str, ...]:
    return tuple(Subset(condition.codebook, condition.where, condition.output).variables)


@lru_cache(maxsize=512)
def _values(condition: _Condition) -> Flags:
    """Which combinations of the values of its variables are in a subset, in the order of the codebook."""
    joint = joint_for(condition.codebook, list(_variables(condition)), condition.output)
    frame = support_frame(condition.codebook, joint)
    return Subset(condition.codebook, condition.where, condition.output).holds(frame)
