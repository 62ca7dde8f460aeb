"""Whether a data set that fits the constraints gives the released numbers: a refit, where the study is small."""

from __future__ import annotations

import numpy as np

from outrisk.microdata import Microdata
from outrisk.problem.blocks import Array
from outrisk.problem.formulas import CURVED
from outrisk.problem.released import ModelPart, Released, TallyPart
from outrisk.prove.arranged import named
from outrisk.prove.programme import Programme
from outrisk.prove.solver import Solver

_PEOPLE = 60  # people up to whom outputs that are not linear are computed again
_REFUSED, _LEFT = 300, 0.95  # data sets that are ruled out one by one; share of the work that is left then, at least
_HELPERS = 2_000  # columns that ruling them out may add: with 5,000 a programme of 20 people takes ten seconds


class Verifier:
    """Computes outputs again whose constraints are wider than their numbers; exact: as far as it came, all were, and
    none has variables that the programme leaves open. Without a programme it takes every data set.
    """

    def __init__(self, of: Programme | None) -> None:
        self.of, self.outputs, self.active, self.exact = of, list[Released](), False, True
        self.refused, self.work = 0, np.inf
        if of is None:
            return
        parts = (slice(0, of.n_counts), *(each.columns for each in of.further))
        told = [frozenset(np.flatnonzero((of.codes[part] >= 0).all(axis=0)).tolist()) for part in parts]
        here = [one for one in of.released if any(named(one) <= each for each in told)]
        self.outputs = [one for one in here if one.name in of.left_out or not _is_linear(one.parts)]
        self.active = bool(self.outputs) and of.sizes.sum() <= _PEOPLE and of.n_columns == of.n_counts
        whole = len(here) == len(of.released) and not of.shortened
        self.exact = whole and (self.active or not self.outputs)

    def refuses(self, solver: Solver, x: Array) -> bool:
        """Whether the counts are no data set that fits; then the solver does not find them again."""
        if not self.active or not solver.whole or self.of is None:
            return False
        of = self.of
        counts = np.round(x[: of.n_columns]).astype(np.int64)
        codes = np.repeat(np.maximum(of.codes, 0), counts, axis=0)
        data = Microdata(of.codebook, codes.astype(np.uint16))
        if all(one.recompute(data).matched.all() for one in self.outputs):
            return False
        solver.exclude(x)
        self.refused += 1
        if self.refused == 1:
            self.work = solver.budget.work
        long = solver.helpers > _HELPERS or solver.budget.work < _LEFT * self.work
        if self.refused >= _REFUSED or long:
            self.active = self.exact = False
            solver.take_back()
        return True


def _is_linear(parts: tuple[TallyPart | ModelPart, ...]) -> bool:
    """Whether the constraints are the numbers themselves, or what these follow from: counts, shares, means, quantiles,
    modes.
    """
    return all(
        part.follow if isinstance(part, ModelPart) else all(each.kind not in CURVED for each in part.formulas)
        for part in parts
    )
