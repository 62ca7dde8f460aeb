"""Which subsets of outputs say what an output adds, and with which weights.

Each quantity is a weighted sum of the risks of subsets, that of none being 0: people are told nothing by no release.
Parts are numbered from 0; a subset is their numbers, ascending.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import factorial

Subset = tuple[int, ...]
MOST_SHARED = 8  # parts that Shapley shares are computed for: 255 subsets
TOGETHER, EMERGES = "together", "emerges"
ALONE, ADDS, SHARE, NEW = "alone", "adds", "share", "new outputs add"


@dataclass(frozen=True)
class Wish:
    """What the study file says of contributions. leave_one_out: None where it says nothing."""

    leave_one_out: bool | None = None
    shapley: bool = False
    runs: int = 1


@dataclass(frozen=True)
class Combination:
    """A quantity: of which part (None: of all of them), and the weight of each subset's risk."""

    what: str
    part: int | None
    weights: Mapping[Subset, float]


def combinations_of(n: int, shapley: bool) -> Iterator[Combination]:
    """What can be said of `n` parts.

    together: the risk of all; alone: of one part by itself; adds: of all less that of all but one; emerges: of all less
    the sum of the parts alone; share: a part's Shapley value (Shapley, 1953), the mean over all orders of what it adds
    to those before it; the shares sum to the risk of all.
    """
    everything = tuple(range(n))
    alone = [(part,) for part in everything]
    yield Combination(TOGETHER, None, {everything: 1.0})
    yield Combination(EMERGES, None, _sum([(everything, 1.0), *((subset, -1.0) for subset in alone)]))
    for part in everything:
        yield Combination(ALONE, part, {(part,): 1.0})
        yield Combination(ADDS, part, _sum([(everything, 1.0), (_without(everything, part), -1.0)]))
        if shapley:
            yield Combination(SHARE, part, shapley_weights(n, part))


def increment(n: int) -> Combination:
    """What all parts but the first add to it, together."""
    everything = tuple(range(n))
    return Combination(NEW, None, {everything: 1.0, (0,): -1.0})


def shapley_weights(n: int, part: int) -> dict[Subset, float]:
    """The weight of every subset's risk in a part's Shapley value."""
    others = [each for each in range(n) if each != part]
    terms: list[tuple[Subset, float]] = []
    for size in range(n):
        weight = factorial(size) * factorial(n - size - 1) / factorial(n)
        for before in combinations(others, size):
            terms += [(tuple(sorted((*before, part))), weight), (before, -weight)]
    return _sum(terms)


def subsets_in(chosen: Sequence[Combination], n: int) -> list[Subset]:
    """The subsets that these need, each once, the smallest last; not that of all parts, and not the empty one."""
    found = {subset for each in chosen for subset in each.weights}
    return sorted((subset for subset in found if len(subset) < n), key=lambda subset: (-len(subset), subset))


def _without(subset: Subset, part: int) -> Subset:
    return tuple(each for each in subset if each != part)


def _sum(terms: Sequence[tuple[Subset, float]]) -> dict[Subset, float]:
    """Weights of each subset once, without the empty one and without zeros."""
    found: dict[Subset, float] = {}
    for subset, weight in terms:
        found[subset] = found.get(subset, 0.0) + weight
    return {subset: weight for subset, weight in found.items() if subset and weight}
