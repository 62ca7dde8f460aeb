"""That a regression has coefficients at all says that there are records: of each of its levels, with each outcome.

A level whose records all have the same outcome is separated: its coefficient is infinite, and there is no fit. Printed
coefficients keep a search away from that. Nothing else does where they are not printed, and records then may have the
printed numbers to first order and no fit at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import Codebook
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Common
from outrisk.problem.blocks import MAX_JOINT, Mask, Model, Tally, Term, joint_over, levels_over
from outrisk.problem.counts import Counts
from outrisk.problem.influence import records_of_tally
from outrisk.problem.released import Released, TallyPart


@dataclass(frozen=True)
class Existence(Common):
    """Numbers of records that are 1 at least, none of them printed: how many have a level and an outcome."""

    made: TallyPart

    @property
    def kind(self) -> str:
        """They are counts."""
        return "existence"

    @property
    def labels(self) -> list[str]:
        """They have no names."""
        return [f"records of level and outcome {at}" for at in range(self.made.n_numbers)]

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """The numbers of records."""
        once = np.ones(len(data))
        return np.concatenate([records_of_tally(block, data.codes).totals(once) for block in self.made.blocks])

    def parts(self, values: Array) -> tuple[TallyPart, ...]:
        """The counts."""
        return (self.made,)


def existence(
    codebook: Codebook, name: str, model: Model, hidden: NDArray[np.bool_], constant: bool, importance: float
) -> Released | None:
    """What it says that there are coefficients of some design columns, `hidden` (k,); None where it says nothing.

    constant: whether the model has a constant, or takes one from each number as a Cox model does.
    """
    blocks = tuple(_tallies(codebook.sizes, model, hidden, constant))
    if not blocks:
        return None
    numbers = sum(block.size for block in blocks)
    made = TallyPart(blocks, Counts(np.arange(numbers)), numbers)
    output = Existence(codebook, name, made, importance=importance)
    return Released(output, np.ones(numbers), np.full(numbers, np.inf), (made,))


def _tallies(sizes: Sequence[int], model: Model, hidden: NDArray[np.bool_], constant: bool) -> Iterator[Tally]:
    """How many records have each level of a term of hidden columns and an outcome."""
    masks = model.masks
    if model.weight is not None:
        of_weight = joint_over([model.weight.variable], sizes)
        masks = (*masks, Mask(of_weight, model.weight.by_code > 0.0))
    for term in model.terms:
        level = _levels(term, constant)
        if level is None or not hidden[term.columns].any():
            continue
        for outcome in _outcomes(model):
            alone = model.place.size == 1 or outcome.all()
            named = {*term.joint.variables, *(() if alone else model.place.variables)}
            place = joint_over(sorted(named), sizes)
            if place.size > MAX_JOINT:
                continue
            cell = level[levels_over(term.joint, place, sizes)]
            if not alone:
                cell = np.where(outcome[levels_over(model.place, place, sizes)], cell, -1)
            yield Tally(place, int(level.max()) + 1, cell.astype(np.int32), masks=masks)


def _levels(term: Term, constant: bool) -> NDArray[np.int64] | None:
    """Which level each combination of a term's variables is, (joint.size,): that of its column of 0 and 1, beside a
    constant also the one that has none, -1 without; None where columns are other numbers.
    """
    rows = term.rows
    dummies = np.isin(rows, (0.0, 1.0)).all() and (rows.sum(axis=1) <= 1.0).all()
    if not rows.size or not term.joint.variables or not dummies:
        return None
    found = np.where(rows.any(axis=1), rows.argmax(axis=1), rows.shape[1] if constant else -1)
    found = np.unique(found, return_inverse=True)[1] - int((found < 0).any())
    return found if found.max() >= 0 else None


def _outcomes(model: Model) -> Iterator[NDArray[np.bool_]]:
    """Sets of outcomes, over `model.place`, of which a level has one each, or there are no coefficients."""
    y = model.response
    if model.family == "ols":
        yield np.ones(len(y), dtype=np.bool_)
    elif model.family in ("poisson", "negbin", "cox"):
        yield y > 0.0
    elif model.family in ("ologit", "oprobit"):
        yield y > 0.0
        yield y < len(model.shape)
    else:
        for outcome in range(max(2, len(model.coefficients) + 1)):
            yield y == float(outcome)
