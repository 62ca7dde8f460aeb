"""What quantiles ask of the records of a class: where those of some ranks lie.

The record that a quantile lies on has its value. Of two records that one lies between, one may have any value, and
that of the other follows: so there are choices. Those nearest to what they have come first; then those near to the
quantile; at last also those of which one is a value that a smaller class needs, as of few people most are where they
have to be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from outrisk.evolve.order_statistics import Knot, OfClass, nearest_sorted

_TURNS = (
    (1,),
    (2,),
    (4, 16),
    (4, 24, 16),
    (4, 80, 60),
)  # choices of each chain; and at most so many more in which one is a value that
# a smaller class needs, and a larger one
TURNS = len(_TURNS)
_TRIES = 4_000  # of such values, at most

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Chain:
    """Records of some ranks (ranks,) that quantiles between two of them tie to each other: where these quantiles lie,
    by the positions of these ranks; codes from which to which they may have; some choices of these (choices, ranks).
    """

    ranks: Whole
    knots: list[Knot]
    within: tuple[int, int]
    choices: Whole


@dataclass(frozen=True, eq=False)
class Asked:
    """What is asked of a class: that records of some ranks have codes from there to there (any, 3), and those of each
    chain one of its choices.
    """

    of: OfClass
    ranges: Whole
    chains: list[Chain]

    @property
    def needed(self) -> Whole:
        """Codes that one of its records may have to have, ascending."""
        return np.unique(np.concatenate([self.ranges[:, 1:].ravel(), *(each.choices.ravel() for each in self.chains)]))

    @property
    def cuts(self) -> Whole:
        """The codes of which it counts how many records are below, ascending."""
        exact = [each.choices.ravel() for each in self.chains]
        return np.unique(
            np.concatenate([self.ranges[:, 1], self.ranges[:, 2] + 1, *exact, *(each + 1 for each in exact)])
        )

    @property
    def fine(self) -> NDArray[np.bool_]:
        """Which codes (V,) a record of it may have."""
        found, last = np.zeros(len(self.of.points), np.bool_), len(self.of.points) - 1
        ends = [np.array([[-1, 0, 0], [len(self.of.there), last, last]]), self.ranges]
        for _, least, most in self.ranges.tolist():
            found[least : most + 1] = True
        for chain in self.chains:
            ends.append(np.stack([chain.ranks, chain.choices.min(axis=0), chain.choices.max(axis=0)], axis=1))
            found[chain.choices.ravel()] = True
        for one, other in pairwise(sorted(np.concatenate(ends).tolist())):
            if other[0] > one[0] + 1:
                found[one[1] : other[2] + 1] = True
        return found


def asked_of(classes: list[OfClass], own: Whole, turn: int) -> list[Asked]:
    """What is asked of all classes but those whose records, being as many as they are, cannot have their quantiles;
    nothing where it would take long.
    """
    n_choices, *hits = _TURNS[turn]
    asked = [one for each in classes if (one := _of_class(each, own, n_choices))]
    for smaller, most in zip((True, False), hits, strict=False):
        needed = [each.needed for each in asked]
        others = [_of_others(each, asked, needed, smaller) for each in asked]
        tries = zip(asked, others, strict=True)
        if sum(len(chain.ranks) * len(codes) for each, codes in tries for chain in each.chains) > _TRIES:
            return []
        asked = [
            replace(each, chains=[_hitting(each.of, chain, own, codes, most) for chain in each.chains])
            for each, codes in zip(asked, others, strict=True)
        ]
    return asked


def _of_others(asked: Asked, others: list[Asked], needed: list[Whole], smaller: bool) -> Whole:
    """Codes that classes need that overlap with this one, and are smaller, or larger."""
    n, found = len(asked.of.there), [np.zeros(0, np.int64)]
    for other, codes in zip(others, needed, strict=True):
        fewer = len(other.of.there) < n if smaller else len(other.of.there) > n
        if fewer and np.isin(other.of.there, asked.of.there).any():
            found.append(codes)
    return np.unique(np.concatenate(found))


def _of_class(of: OfClass, own: Whole, n_choices: int) -> Asked | None:
    chains = [_chain(of, ranks, own, n_choices) for ranks in _tied(of.knots)]
    tied = {rank for chain in chains if chain for rank in chain.ranks.tolist()}
    ranges = [
        (rank, np.searchsorted(of.points, low, "left"), np.searchsorted(of.points, high, "right") - 1)
        for rank, _, low, high in of.knots
        if rank not in tied
    ]
    found = np.array(ranges, np.int64).reshape(-1, 3)
    if (found[:, 1] > found[:, 2]).any() or not all(chains):
        return None
    return Asked(of, found, [chain for chain in chains if chain])


def _tied(knots: list[Knot]) -> list[Whole]:
    """Ranks of the records beside quantiles; those in one that quantiles tie to each other."""
    found = list[list[int]]()
    for rank in sorted({rank for rank, weight, *_ in knots if weight}):
        if found and found[-1][-1] == rank:
            found[-1].append(rank + 1)
        else:
            found.append([rank, rank + 1])
    return [np.array(each, np.int64) for each in found]


def _chain(of: OfClass, ranks: Whole, own: Whole, n_choices: int) -> Chain | None:
    """Choices for the records of these ranks: nearest to those that they have, near to their quantiles, and others;
    None where there are none.
    """
    knots = [(int(np.searchsorted(ranks, knot[0])), *knot[1:]) for knot in of.knots if knot[0] in ranks]
    least = max((low for rank, weight, low, _ in of.knots if rank + (weight > 0.0) <= ranks[0]), default=-np.inf)
    most = min((high for rank, _, _, high in of.knots if rank >= ranks[-1]), default=np.inf)
    within = int(np.searchsorted(of.points, least, "left")), int(np.searchsorted(of.points, most, "right"))
    points, values = of.points[slice(*within)], of.points[own[of.there]][ranks]
    middle = values.copy()
    for rank, weight, low, high in knots:
        middle[[rank, rank + (weight > 0)]] = np.clip(values[rank], low, high)
    rng, spread = np.random.default_rng(0), float(np.ptp(points)) if len(points) else 0.0
    choices = set[tuple[int, ...]]()
    for turn in range(n_choices):
        aim = values if turn == 0 else middle
        if turn > 1:
            aim = np.sort(middle + rng.normal(0.0, spread / 2.0**turn, len(ranks)))
        one = nearest_sorted(points, aim, knots) if len(points) else None
        if one is None:
            return None
        choices.add(tuple((one + within[0]).tolist()))
    return Chain(ranks, knots, within, np.array(sorted(choices), np.int64))


def _hitting(of: OfClass, chain: Chain, own: Whole, needed: Whole, most: int) -> Chain:
    """With more choices, in which one record has a code that a smaller class needs; first of all those in which others
    have, too.
    """
    points, values = of.points[slice(*chain.within)], of.points[own[of.there]][chain.ranks]
    needed = needed[(needed >= chain.within[0]) & (needed < chain.within[1])]
    found = set[tuple[int, ...]]()
    for rank in range(len(chain.ranks)):
        for value in of.points[needed].tolist():
            one = nearest_sorted(points, values, [*chain.knots, (rank, 0.0, value, value)])
            if one is not None:
                found.add(tuple((one + chain.within[0]).tolist()))
    more = np.array(sorted(found), np.int64).reshape(-1, len(chain.ranks))
    far = np.abs(of.points[more] - values).sum(axis=1)
    more = more[np.lexsort([far, -np.isin(more, needed).sum(axis=1)])[:most]]
    return replace(chain, choices=np.unique(np.concatenate([chain.choices, more]), axis=0))
