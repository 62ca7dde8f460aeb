"""The problem an evolution solves: a codebook, a number of records, and released numbers. It holds no records."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import Codebook
from outrisk.errors import EvolveError
from outrisk.evolve import kernels
from outrisk.evolve.plan import Array, Block, CountBlock, build_plan

Fitness = Literal["mse", "chi2", "precision"]
_SAFE = 0.999  # share of half a last digit within which a number counts as matched while totals are linearised


@dataclass(frozen=True, eq=False)
class Released:
    """One released output: k published numbers and the block of totals that recomputes them."""

    name: str
    kind: str
    labels: tuple[str, ...]
    values: Array  # (k,)
    decimals: int
    block: Block

    @property
    def tolerance(self) -> float:
        """Half a unit of the last printed digit: a number within it is matched at its released precision."""
        return 0.5 * 10.0**-self.decimals


@dataclass(frozen=True, eq=False)
class Linear:
    """The published numbers as linear functions of the totals, around one data set; and a fitness on them.

    `weights` are the fitness weights in the totals, flat by block (diagonal for counts, full for scores).
    `inverse` are the inverse informations of the score blocks, None for counts.
    """

    weights: Array
    inverse: tuple[Array | None, ...]


@dataclass(frozen=True)
class Errors:
    """Distance between recomputed and published numbers, over all outputs.

    mse, mae: mean squared and mean absolute error in published units. chi2: in sampling units. digits: mean absolute
    error in half last digits. matched: how many of the `numbers` are right at their released precision.
    """

    mse: float
    mae: float
    chi2: float
    digits: float
    matched: int
    numbers: int

    @property
    def all_matched(self) -> bool:
        """Whether every published number is right at its released precision."""
        return self.matched == self.numbers


@dataclass(frozen=True, eq=False)
class Problem:
    """Codebook, number of records and released outputs, ready for the compiled loops."""

    codebook: Codebook
    n_records: int
    released: tuple[Released, ...]

    def __post_init__(self) -> None:
        if self.n_records < 1:
            raise EvolveError(f"{self.n_records} records; at least one is needed")
        if not self.released:
            raise EvolveError("no released output; an evolution needs at least one")
        for output in self.released:
            if isinstance(output.block, CountBlock) and (
                output.values.min() < 0 or output.values.sum() > self.n_records
            ):
                raise EvolveError(
                    f"output '{output.name}': counts run from {output.values.min():g} and add up to "
                    f"{output.values.sum():,.0f}; they must lie between 0 and the {self.n_records:,} records"
                )

    @cached_property
    def plan(self) -> kernels.Plan:
        """The flat form of all blocks."""
        return build_plan(self.codebook, [output.block for output in self.released])

    @cached_property
    def _firsts(self) -> list[int]:
        return [int(self.plan.code[at + kernels.FIRST]) for at in self.plan.blocks]

    @cached_property
    def target(self) -> Array:
        """Totals of a data set that reproduces everything: the counts; 0 for a score. Shape (m,)."""
        return np.concatenate(
            [
                output.values if isinstance(output.block, CountBlock) else np.zeros(output.block.size)
                for output in self.released
            ]
        )

    @cached_property
    def tolerance(self) -> Array:
        """Half a last printed digit for every published number, a hair less so that a refit agrees; shape (total
        k,).
        """
        return np.concatenate([np.full(len(output.values), _SAFE * output.tolerance) for output in self.released])

    def totals(self, codes: NDArray[np.unsignedinteger]) -> Array:
        """All totals of a data set, exactly; shape (m,)."""
        return np.asarray(kernels.totals_of(self.plan, codes))

    def linearise(self, codes: NDArray[np.unsignedinteger], fitness: Fitness, emphasis: Array | None = None) -> Linear:
        """Refresh the linear map and the fitness weights at a data set.

        mse: mean squared error of the published numbers. chi2: r' V^-1 r with V the sampling covariance (for a logit
        V^-1 is the information; for counts 1/expected). precision: squared errors in units of half the last printed
        digit, each times its `emphasis` (total k,).
        """
        emphasis = np.ones(len(self.tolerance)) if emphasis is None else emphasis
        at = 0
        n_numbers = sum(len(output.values) for output in self.released)
        weights: list[Array] = []
        inverse: list[Array | None] = []
        for b, output in enumerate(self.released):
            precision = emphasis[at : at + len(output.values)] * output.tolerance**-2
            at += len(output.values)
            if isinstance(output.block, CountBlock):
                by_cell = {
                    "mse": np.full(output.block.size, 1.0 / n_numbers),
                    "chi2": 1.0 / np.maximum(output.values, 1.0),
                    "precision": precision,
                }
                weights.append(by_cell[fitness])
                inverse.append(None)
                continue
            information = kernels.information_of(self.plan, self.plan.blocks[b], codes)
            jacobian = invert(information)
            if fitness == "chi2":
                form = jacobian
            else:
                unit = precision if fitness == "precision" else np.full(len(jacobian), 1.0 / n_numbers)
                form = jacobian @ (unit[:, None] * jacobian)
            weights.append(form.ravel())
            inverse.append(jacobian)
        return Linear(np.concatenate(weights), tuple(inverse))

    def residuals(self, totals: Array, linear: Linear) -> Array:
        """Recomputed minus published numbers, to first order; shape (total k,)."""
        parts = []
        for b, inverse in enumerate(linear.inverse):
            change = (totals - self.target)[self._firsts[b] : self._firsts[b] + self.released[b].block.size]
            parts.append(change if inverse is None else inverse @ change)
        return np.concatenate(parts)

    def fitness(self, totals: Array, linear: Linear) -> float:
        """The quadratic form that evolution lowers; 0 = everything reproduced."""
        change = totals - self.target
        return float(change @ kernels.gradient_of(self.plan, linear.weights, change))

    def errors(self, totals: Array, linear: Linear) -> Errors:
        """All errors of a data set with these totals, to first order."""
        residuals = self.residuals(totals, linear)
        chi2 = 0.0
        for output, inverse, first in zip(self.released, linear.inverse, self._firsts, strict=True):
            change = (totals - self.target)[first : first + output.block.size]
            chi2 += float(change @ (change / np.maximum(output.values, 1.0) if inverse is None else inverse @ change))
        size = np.abs(residuals)
        return Errors(
            mse=float(np.mean(residuals**2)),
            mae=float(size.mean()),
            chi2=chi2,
            digits=float(np.mean(size / self.tolerance)),
            matched=int((size <= self.tolerance).sum()),
            numbers=len(residuals),
        )


def invert(information: Array) -> Array:
    """Inverse of an information matrix; a direction without information gets a ridge, so that climbing can find it."""
    scale = np.sqrt(np.maximum(np.diag(information), 1e-8 * max(1.0, float(np.diag(information).max()))))
    standard = information / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(standard)
    inverse = (vectors / np.maximum(values, 1e-6)) @ vectors.T
    return np.asarray((inverse + inverse.T) / 2 / np.outer(scale, scale))
