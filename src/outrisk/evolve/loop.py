"""The evolution, by whichever algorithm the settings ask for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from outrisk.evolve import genetic, local_search, small
from outrisk.evolve.ahead import is_compiled
from outrisk.evolve.generation import Generation
from outrisk.evolve.problem import Problem
from outrisk.evolve.resolved import has_untold, once_shared, once_told
from outrisk.evolve.schedule import tightens
from outrisk.evolve.settings import GeneticSettings, LocalSearchSettings, Settings
from outrisk.evolve.start import from_released
from outrisk.evolve.state import State

__all__ = ["Generation", "State", "evolve", "has_compiled", "load_compiled"]


def evolve(
    problem: Problem,
    settings: Settings,
    rng: np.random.Generator,
    workers: int = 1,
    state: State | None = None,
) -> Iterator[Generation]:
    """Evolve synthetic data that reproduce the released numbers; yields every generation, 0 being the start: by the
    genetic algorithm of the paper (genetic.py) or by local search (local_search.py), as the settings say; where there
    are few records by annealing (small.py), unless there are coefficients that were not published, which that would
    leave where they are taken first.

    The last generation yielded has a `stop`. Errors are first-order around the published numbers: exact for counts,
    exact in the limit for a regression; 'matched' and 'near' are said only where a refit agrees. The
    same generator gives the same run for any number of workers, which are threads that breed pairs of candidates; a
    local search has one candidate and needs none.

    state: of a `Generation` of the same problem and settings; the evolution goes on with the generation after it, as it
    would have gone on then (the annealing of few records, a matter of seconds, has none and begins again).
    """
    if isinstance(settings, GeneticSettings):
        return genetic.evolve(once_told(problem, from_released), settings, rng, workers, state)
    problem = once_told(once_shared(problem.searched), from_released)
    if problem.n_records <= settings.anneal and not has_untold(problem):
        return small.search(problem, settings, rng)
    return local_search.search(problem, settings, rng, state)


def has_compiled(problem: Problem, settings: Settings) -> bool:
    """Whether what a local search needs is compiled and kept; each of some processes would compile it for itself."""
    return not isinstance(settings, LocalSearchSettings) or is_compiled(tightens(problem.searched, settings))


def load_compiled(problem: Problem, settings: Settings) -> bool:
    """Load what is compiled and kept, with what it takes to load it, for all processes that are then forked; False, and
    nothing is loaded, where some of it is not.
    """
    if not has_compiled(problem, settings):
        return False
    problem.searched.totals(np.zeros((1, len(problem.codebook.sizes)), np.uint16))
    return True
