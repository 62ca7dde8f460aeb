"""What an evolution yields, whichever algorithm it is: its state after each generation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from outrisk.evolve.candidate import Candidate
from outrisk.evolve.number_errors import Errors
from outrisk.evolve.state import State
from outrisk.problem.determined import Determined, whole

Stop = Literal["", "matched", "near", "budget", "stalled"]


@dataclass(frozen=True, eq=False)
class Generation:
    """State after a generation: the best candidate (do not change it), its errors, why the run stops if it does.

    state: what another search can go on from, asked for before the next generation is; None where there is none.
    determined: variables of its records that follow from others.
    near: whether a refit has had all numbers of this data set at their digits or within 1 % of their sampling error.
    """

    number: int
    best: Candidate
    errors: Errors
    mutation_rate: float
    fitness: dict[str, float]  # 'best' and 'mean' of the population
    stop: Stop
    state: Callable[[], State] | None = None
    near: bool = False
    determined: tuple[Determined, ...] = ()

    @property
    def codes(self) -> NDArray[np.uint16]:
        """A copy of the best candidate's codes, shape (n_records, n_variables)."""
        return whole(self.best.codes.astype(np.uint16), self.determined)
