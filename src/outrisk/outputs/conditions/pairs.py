"""How the subsets of two outputs lie to each other, by the codebook alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import Codebook
from outrisk.outputs.base import Subset, joint_for, support_frame
from outrisk.problem.blocks import Joint


@dataclass(frozen=True, eq=False)
class Pair:
    """Two subsets over every combination of the variables that either names; first, second (joint.size,)."""

    joint: Joint
    first: NDArray[np.bool_]
    second: NDArray[np.bool_]

    @property
    def equal(self) -> bool:
        """Whether they hold the same records, in any data."""
        return bool((self.first == self.second).all())

    @property
    def contains(self) -> bool:
        """Whether every record of the second is in the first, in any data."""
        return bool((self.first | ~self.second).all())


@lru_cache(maxsize=256)  # outputs share few subsets
def compare(codebook: Codebook, first: str, second: str, output: str) -> Pair:
    """Two `where` expressions ('' for all records) set side by side.

    OutputError, with the output named, if the supports of their variables are too large to go through.
    """
    subsets = Subset(codebook, first, output), Subset(codebook, second, output)
    named = {name for subset in subsets for name in subset.variables}
    joint = joint_for(codebook, [name for name in codebook.names if name in named], output)
    frame = support_frame(codebook, joint)
    one, other = (np.isin(frame.index, subset.select(frame).index) for subset in subsets)
    return Pair(joint, one, other)
