"""The key sets at which a release is looked at: all of the study's keys, and what each output itself is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

from outrisk.problem.blocks import variables
from outrisk.problem.released import Released

MOST = 255  # sets of the study's keys: all sets of up to 8 keys


@dataclass(frozen=True)
class LookedAt:
    """A key set, and the output whose variables it is (empty for a set of the study's keys)."""

    keys: tuple[str, ...]
    about: str = ""


def looked_at(keys: Sequence[str], target: str, released: Sequence[Released], names: Sequence[str]) -> list[LookedAt]:
    """Sets of the study's keys from size 1 up, the set of all keys, then the variables of each output.

    Of many keys the sizes are taken as far as no more than MOST sets come of it, and as many outputs. The variables of
    an output are those of its numbers and its subset, without the target; no set is taken twice. `names` are those of
    the codebook.
    """
    chosen: list[tuple[str, ...]] = []
    for size in range(1, len(keys)):
        if len(chosen) + comb(len(keys), size) > MOST:
            break
        chosen += combinations(keys, size)
    found = [LookedAt(each) for each in (*chosen, tuple(keys))]
    known = {frozenset(each.keys) for each in found}
    for output in released:
        own = of_output(output, target, names)
        if own and frozenset(own) not in known and len(known) < 2 * MOST:
            known.add(frozenset(own))
            found.append(LookedAt(own, output.name))
    return found


def of_output(released: Released, target: str, names: Sequence[str]) -> tuple[str, ...]:
    """The variables of an output but the target; `names` are those of the codebook, in its order."""
    at = sorted({j for block in released.blocks for j in variables(block)})
    return tuple(names[j] for j in at if names[j] != target)
