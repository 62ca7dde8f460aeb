"""The problem an evolution solves: a codebook, a number of records, and released numbers. It holds no records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from outrisk.codebook import Codebook
from outrisk.errors import EvolveError
from outrisk.evolve.compiled.layout import Codes, Plan
from outrisk.evolve.compiled.plan import build_plan
from outrisk.evolve.compiled.profiles import profiles_of
from outrisk.evolve.compiled.sums import bends_of, information_of, totals_of
from outrisk.problem.algebra import invert, root_of
from outrisk.problem.blocks import Array, Mask
from outrisk.problem.released import ROUNDING, Bounds, ModelPart, Part, Released, TallyPart

Fitness = Literal["mse", "chi2", "precision", "sampling", "tightening"]
_SAFE = 0.999  # share of half a last digit within which a model's number counts as matched: its totals are linearised
_AIM = 0.6  # share of half a last digit within which a tally is no longer drawn to its printed value
_WITHIN = 1.0  # squared length a coefficient, in standard errors, up to which estimates are known to first order
_SEEN = 5_000  # records that tell how an information changes with the coefficients
_CLOSEST, _PINNED = 4.0, 16.0  # weight of a squared error in half last digits, tightened: of models, of tallies
_NARROWEST = 3e-4  # what the sampling errors of all numbers have shrunk to at tightness 1
_LEAST = 1e-14  # weight of what says nothing to first order
_GENTLE = 0.2  # of a model's single numbers against its numbers together, which do not disturb the tables
_FAR = 1e9  # half last digits that an undefined number counts for in `Errors.off`


@dataclass(frozen=True, eq=False)
class Linear:
    """A fitness around one data set (its totals: `origin`, (m,)): quadratic outside ranges of the tallies, and in the
    residuals of the models, which are linear in their totals.

    low, high, weight (m,): range and weight of each total of a tally. forms: for each model (totals, numbers), the
    change of its scaled residuals with its totals; residuals: those at the origin. informations: of each part, (0, 0)
    where there is none. bends: of each part, how its numbers change with the score besides (see Problem._bend).
    """

    plan: Plan
    origin: Array
    low: Array
    high: Array
    weight: Array
    forms: tuple[Array, ...]
    residuals: tuple[Array, ...]
    informations: tuple[Array, ...]
    bends: tuple[Array, ...]

    @cached_property
    def flat_forms(self) -> Array:
        """All forms in one array, as the compiled loops read them."""
        return np.concatenate([np.zeros(0), *(form.ravel() for form in self.forms)])

    @property
    def arrays(self) -> tuple[Array, Array, Array, Array, Array]:
        """Ranges and weights of the totals, forms and profiles, as the compiled loops take them."""
        return self.low, self.high, self.weight, self.flat_forms, self.profiles

    @cached_property
    def profiles(self) -> Array:
        """What each kind of record adds to the residuals (see profiles.py)."""
        return np.asarray(profiles_of(self.plan, self.flat_forms))


@dataclass(frozen=True)
class Errors:
    """Distance between recomputed and published numbers, over all outputs.

    mse, mae: mean squared and mean absolute error in published units. chi2: in sampling units. digits: mean absolute
    error in half last digits. off: mean of log(1 + error in half last digits), each number by its output's importance:
    no single number matters much to it. missed: the same, where numbers that are matched count as without error.
    matched: how many of the `numbers` are right at their released precision. Undefined numbers (a mean of nobody) make
    mse, mae, chi2 and digits infinite.
    """

    mse: float
    mae: float
    chi2: float
    digits: float
    off: float
    missed: float
    matched: int
    numbers: int

    @property
    def all_matched(self) -> bool:
        """Whether every published number is right at its released precision."""
        return self.matched == self.numbers


@dataclass(frozen=True, eq=False)
class Problem:
    """Codebook, number of records, released outputs, and rules: combinations of values that no record may have.

    kinds_a_record: how many kinds of records there may be for each record in a model that still gets a table of them.
    """

    codebook: Codebook
    n_records: int
    released: tuple[Released, ...]
    rules: tuple[Mask, ...] = ()
    kinds_a_record: int = 12

    def __post_init__(self) -> None:
        if self.n_records < 1:
            raise EvolveError(f"{self.n_records} records; at least one is needed")
        if not self.released:
            raise EvolveError("no released output; an evolution needs at least one")
        if not self._known.any():
            names = ", ".join(f"'{output.name}'" for output in self.released[:3])
            raise EvolveError(f"every released number ({names}) is withheld or undefined; release one that is known")

    @cached_property
    def parts(self) -> list[Part]:
        """The parts of all outputs, in order."""
        return [part for output in self.released for part in output.parts]

    @cached_property
    def counts(self) -> Problem | None:
        """The same problem with the outputs that are counts alone; None where there are none, or no models."""
        chosen = [
            output
            for output in self.released
            if output.known.any() and all(isinstance(part, TallyPart) and _counts(part) for part in output.parts)
        ]
        models = any(isinstance(part, ModelPart) for part in self.parts)
        return replace(self, released=tuple(chosen)) if chosen and models else None

    @cached_property
    def plan(self) -> Plan:
        """The flat form of all blocks."""
        blocks = [(block, part.n_numbers) for part in self.parts for block in part.blocks]
        return build_plan(
            self.codebook,
            [block for block, _ in blocks],
            [k for _, k in blocks],
            self.rules,
            self.kinds_a_record * self.n_records,
        )

    @cached_property
    def _slices(self) -> list[tuple[Part, slice, slice, int]]:
        """Of each part: its totals, its numbers, and the position of its first block."""
        found, total, number, block = [], 0, 0, 0
        for part in self.parts:
            size = sum(one.size for one in part.blocks)
            found.append((part, slice(total, total + size), slice(number, number + part.n_numbers), block))
            total, number, block = total + size, number + part.n_numbers, block + len(part.blocks)
        return found

    @cached_property
    def low(self) -> Array:
        """Where all published numbers lie, from; (total k,)."""
        return np.concatenate([output.low for output in self.released])

    @cached_property
    def high(self) -> Array:
        """Where all published numbers lie, to; (total k,)."""
        return np.concatenate([output.high for output in self.released])

    @cached_property
    def tolerance(self) -> Array:
        """When a number counts as met: half a last printed digit (see `Released.is_matched`), of models a hair less, so
        that a refit agrees; of tallies as they are, for these are exact; (total k,).
        """
        half = np.concatenate([output.tolerance for output in self.released])
        safe = [np.full(part.n_numbers, ROUNDING if isinstance(part, TallyPart) else _SAFE) for part in self.parts]
        return np.asarray(half * np.concatenate(safe))

    @cached_property
    def importance(self) -> Array:
        """What the share of every published number in the fitness is multiplied by; (total k,)."""
        return np.concatenate([np.full(len(output.low), output.importance) for output in self.released])

    @cached_property
    def _known(self) -> NDArray[np.bool_]:
        """Numbers of which something was released (see Released.known)."""
        return np.concatenate([output.known for output in self.released])

    def totals(self, codes: Codes) -> Array:
        """All totals of a data set, exactly; shape (m,)."""
        return np.asarray(totals_of(self.plan, codes))

    def linearise(
        self, codes: Codes, totals: Array, fitness: Fitness, emphasis: Array | None = None, tightness: float = 0.0
    ) -> Linear:
        """The fitness around a data set with these totals.

        mse: mean squared error of the published numbers. chi2: r' V^-1 r with V their sampling covariance, as far as
        it is known (for a regression V^-1 is the information; for counts 1/expected). precision: squared errors in
        units of half the last printed digit, for tallies times that unit in standard errors: neither digits alone nor
        sampling alone, and with weights that are no multiples of each other climbing does not get stuck where they are.
        sampling: precision, but the models by chi2, scaled to weigh as much: where one of the two stands still, the
        other often moves on. tightening: chi2 at `tightness` 0, squared errors in half last digits at 1, and between
        them on the way; but counts are at their digits at once, so that tables hold still while all else closes in.
        Each number's share is multiplied by its importance and its `emphasis` (total k,).
        """
        emphasis = self.importance if emphasis is None else self.importance * emphasis
        low, high, weight = np.zeros(len(totals)), np.zeros(len(totals)), np.zeros(len(totals))
        forms, residuals, bends, informations = [], [], [], self.informations(codes)
        for (part, where, which, block), information in zip(self._slices, informations, strict=True):
            here, bend = totals[where], np.zeros((part.n_numbers, 0))
            tolerance = self.tolerance[which]
            if isinstance(part, TallyPart):
                bounds, widest = (
                    part.map.bounds(here, self.low[which] - aim, self.high[which] + aim)
                    for aim in (_AIM * tolerance, tolerance)
                )
                low[where], high[where] = _reachable(part, bounds, widest)
                carries = bounds.unit != 0.0
                number = np.where(carries, bounds.number, 0)
                per_digit = (bounds.unit / tolerance[number]) ** 2
                by_total = {
                    "mse": bounds.unit**2 / len(self.tolerance),
                    "chi2": 1.0 / bounds.variance,
                    "precision": np.sqrt(per_digit / bounds.variance),
                    "sampling": np.sqrt(per_digit / bounds.variance),
                    "tightening": _between(
                        1.0 / bounds.variance, _PINNED * per_digit, 1.0 if _counts(part) else tightness
                    ),
                }[fitness]
                weight[where] = np.where(carries, by_total * emphasis[which][number], 0.0)
                bends.append(bend)
                continue
            jacobian = part.map.jacobian(here, information)
            if fitness not in ("mse", "chi2"):
                bend = self._bend(part, block, codes, here, jacobian)
            numbers = part.map.numbers(here, information) + bend @ here[: bend.shape[1]]
            jacobian[:, : bend.shape[1]] += bend
            precision = part.map.precision(here, information)
            form, residual = self._form(numbers, jacobian, precision, which, fitness, emphasis[which], tightness)
            bends.append(bend)
            forms.append(form)
            residuals.append(residual)
        ranges = low, high, weight
        return Linear(self.plan, totals.copy(), *ranges, tuple(forms), tuple(residuals), informations, tuple(bends))

    def informations(self, codes: Codes) -> tuple[Array, ...]:
        """Information of each part's model on a data set; (0, 0) where there is none, or it is among the totals."""
        return tuple(
            np.asarray(information_of(self.plan, self.plan.blocks[block], codes))
            if isinstance(part, ModelPart) and part.model.n_score and not part.model.information
            else np.zeros((0, 0))
            for part, _, _, block in self._slices
        )

    def _bend(self, part: ModelPart, block: int, codes: Codes, totals: Array, jacobian: Array) -> Array:
        """What the published numbers (k,) of a model change with its score (k, K), as its information is taken at the
        estimates of a data set and not at the published coefficients: those were rounded, and printed standard errors
        can tell. None far from the published coefficients, where estimates are not known well.
        """
        model, size = part.model, part.model.n_score
        if not model.information or model.family in ("none", "ols"):
            return np.zeros((part.n_numbers, 0))
        rows, columns = np.tril_indices(size)
        matrix = np.zeros((size, size))
        matrix[rows, columns] = matrix[columns, rows] = totals[size : size + len(rows)]
        inverse = invert(matrix)
        if not totals[:size] @ inverse @ totals[:size] < _WITHIN * size:
            return np.zeros((part.n_numbers, 0))
        bends = bends_of(self.plan, self.plan.blocks[block], codes, -(-len(codes) // _SEEN))
        bend = jacobian[:, size : size + len(rows)] @ bends @ inverse
        return np.where(np.isfinite(bend).all(axis=1, keepdims=True), bend, 0.0)

    def _form(
        self,
        numbers: Array,
        jacobian: Array,
        precision: Array,
        which: slice,
        fitness: Fitness,
        emphasis: Array,
        tightness: float,
    ) -> tuple[Array, Array]:
        """Change of the scaled residuals of a model with its totals (m, k), and the residuals (k,), from its numbers
        (k,), their derivatives (k, m) and their precision (k, k).
        """
        far = numbers - np.clip(numbers, self.low[which], self.high[which])
        far = np.where(np.isfinite(far), far, 0.0)  # an undefined number cannot draw
        root, tolerance = np.sqrt(emphasis), self.tolerance[which]
        own = np.maximum(np.diag(precision), 1e-300)
        between = np.sqrt(own) / tolerance  # the geometric mean of both weights, as for tallies
        if fitness == "mse":
            scale = np.diag(root * len(self.tolerance) ** -0.5)
        elif fitness == "tightening":
            values, vectors = np.linalg.eigh(precision * np.outer(tolerance, tolerance))
            values = _between(np.maximum(values, _LEAST), _CLOSEST, tightness)
            scale = (root / tolerance)[:, None] * vectors * np.sqrt(values)
        elif fitness == "precision":
            scale = np.diag(_GENTLE * root * np.sqrt(between))
        else:
            scale = root_of(precision) * root[:, None]
            if fitness == "sampling":
                scale *= np.sqrt(between.mean() / own.mean())
        return np.ascontiguousarray((scale.T @ jacobian).T), scale.T @ far

    def numbers(self, totals: Array, linear: Linear) -> Array:
        """All published numbers recomputed from totals, (total k,): those of tallies exactly."""
        found = []
        for (part, where, _, _), information, bend in zip(self._slices, linear.informations, linear.bends, strict=True):
            found.append(
                part.map.numbers(totals[where])
                if isinstance(part, TallyPart)
                else part.map.numbers(totals[where], information) + bend @ totals[where][: bend.shape[1]]
            )
        return np.concatenate(found)

    def distances(self, totals: Array, linear: Linear) -> Array:
        """Signed distance (total k,) of all numbers from where they should lie; infinite where undefined."""
        numbers = self.numbers(totals, linear)
        far = np.where(self._known, numbers - np.clip(numbers, self.low, self.high), 0.0)
        return np.where(np.isfinite(far), far, np.inf)

    @cached_property
    def _models(self) -> list[slice]:
        """The totals of each model."""
        return [where for part, where, _, _ in self._slices if isinstance(part, ModelPart)]

    def _changes(self, totals: Array, linear: Linear) -> list[Array]:
        """Scaled residuals of every model."""
        return [
            residual + (totals[where] - linear.origin[where]) @ form
            for where, form, residual in zip(self._models, linear.forms, linear.residuals, strict=True)
        ]

    def slopes(self, totals: Array, linear: Linear) -> tuple[Array, Array]:
        """Scaled residuals of the models in one array, and half the gradient of their part of the fitness, (m,)."""
        residuals = self._changes(totals, linear)
        gradient = np.zeros(len(totals))
        for where, form, residual in zip(self._models, linear.forms, residuals, strict=True):
            gradient[where] = form @ residual
        return np.concatenate([np.zeros(0), *residuals]), gradient

    def fitness(self, totals: Array, linear: Linear) -> float:
        """What evolution lowers; 0 = everything reproduced."""
        outside = totals - np.clip(totals, linear.low, linear.high)
        return float(linear.weight @ outside**2 + sum(r @ r for r in self._changes(totals, linear)))

    def errors(self, totals: Array, linear: Linear) -> Errors:
        """All errors of a data set with these totals, those of models to first order."""
        distances = self.distances(totals, linear)
        distance = np.abs(distances)[self._known]
        tolerance, weight = self.tolerance[self._known], self.importance[self._known]

        def mean_log(half_digits: Array) -> float:
            logs = np.log1p(np.minimum(half_digits, _FAR))
            return float(np.sum(weight * logs) / np.sum(weight)) if len(logs) else 0.0

        return Errors(
            mse=float(np.mean(distance**2)) if len(distance) else 0.0,
            mae=float(distance.mean()) if len(distance) else 0.0,
            chi2=self._chi2(totals, linear, distances),
            digits=float(np.mean(distance / tolerance)) if len(distance) else 0.0,
            off=mean_log(distance / tolerance),
            missed=mean_log(np.where(distance <= tolerance, 0.0, distance / tolerance)),
            matched=int((distance <= tolerance).sum()),
            numbers=len(distance),
        )

    def _chi2(self, totals: Array, linear: Linear, distances: Array) -> float:
        chi2 = 0.0
        for (part, where, which, _), information in zip(self._slices, linear.informations, strict=True):
            if isinstance(part, TallyPart):
                bounds = part.map.bounds(totals[where], self.low[which], self.high[which])
                outside = totals[where] - np.clip(totals[where], bounds.low, bounds.high)
                chi2 += float(np.sum(np.where(bounds.unit != 0.0, outside**2 / bounds.variance, 0.0)))
                continue
            far = distances[which]
            chi2 += (
                float(far @ part.map.precision(totals[where], information) @ far) if np.isfinite(far).all() else np.inf
            )
        return chi2


def _reachable(part: TallyPart, bounds: Bounds, widest: Bounds) -> tuple[Array, Array]:
    """Ranges of totals, those of bare counts in whole numbers: where none lies within, those in the `widest` range that
    still prints the number; where none does, the two around (a share may need another number of records to fall on).
    """
    whole = np.concatenate([np.full(block.size, block.value is None and block.weight is None) for block in part.blocks])
    least, most = np.ceil(bounds.low - 1e-9), np.floor(bounds.high + 1e-9)
    none = least > most
    least = np.where(none, np.ceil(widest.low - 1e-9), least)
    most = np.where(none, np.floor(widest.high + 1e-9), most)
    none = least > most
    least, most = np.where(none, most, least), np.where(none, least, most)
    return np.where(whole, least, bounds.low), np.where(whole, most, bounds.high)


def _counts(part: TallyPart) -> bool:
    """Whether a part is made of counts alone, weighted or not."""
    return all(block.value is None for block in part.blocks)


def _between(sampling: Array, digits: Array | float, tightness: float) -> Array:
    """Weights on the way from those of sampling errors (tightness 0) to those of last digits (1), never beyond them.

    Two ways, whichever is ahead: in one all sampling errors shrink by the same factor; in the other every number has
    come the same share of its own way, so that one printed to many digits does not come last, when others that it
    needs to move are settled.
    """
    together = np.minimum(sampling / _NARROWEST ** (2.0 * tightness), digits)
    return np.asarray(np.minimum(np.maximum(together, sampling ** (1.0 - tightness) * digits**tightness), digits))
