"""What each record adds to totals and, to first order, to the published numbers: its influence (Hampel 1974).

Plain numpy over any records, with weights: what the compiled loops (evolve/compiled) do one edit at a time. Sampling
errors (sampling.py) and calibrated starts (evolve/calibrated.py) are made of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, gammaln, log_expit, log_ndtr, logsumexp

from outrisk.problem.algebra import symmetric
from outrisk.problem.blocks import Array, Clock, Mask, Model, Tally, Weight, level_in

Records = NDArray[np.uint16]  # codes (n, variables)
_SLIGHT = 1e-9  # what is left out of a number's dependence on the information, of the largest in it
_PIVOT = 0.1  # share of its largest element that the largest on the diagonal of a form must be to be divided by
_COLUMNS = 3  # columns divided by, at most, as errors grow with each
_NOTHING = 1e-150  # what a number depends on the information by, at most, where it is left out: its square underflows
_CHUNK, _BATCH = 1_000, 20_000  # records that are looked at together; those of a Cox model
_APART = 1e-6  # least distance of two thresholds, as the compiled loops have it
_LARGEST, _LARGEST_HAZARD = 700.0, 50.0  # of an exponent; of a Cox model's, as the compiled loops have it


@dataclass(frozen=True, eq=False)
class TallyRecords:
    """Some records as a tally sees them: the total that each adds to (n,), -1 for none, and what it adds (n,)."""

    size: int
    cell: NDArray[np.int64]
    value: Array

    @property
    def members(self) -> sparse.csr_matrix:
        """What each record adds to each total, (n, size)."""
        used = np.flatnonzero(self.cell >= 0)
        return sparse.csr_matrix((self.value[used], (used, self.cell[used])), shape=(len(self.cell), self.size))

    def totals(self, times: Array) -> Array:
        """Totals (size,) of the records, each taken so many times (n,)."""
        used = self.cell >= 0
        return np.asarray(np.bincount(self.cell[used], (self.value * times)[used], minlength=self.size), np.float64)


def records_of_tally(block: Tally, codes: Records) -> TallyRecords:
    """The records (n, variables) as a tally sees them."""
    level = level_in(block.place, codes)
    cell = level if block.cell is None else block.cell[level].astype(np.int64)
    value = np.ones(len(codes)) if block.value is None else block.value[level]
    times = _times(block.masks, block.weight, codes)
    return TallyRecords(block.size, np.where(times != 0.0, cell, -1), value * times)


def members_of(blocks: Sequence[Tally], codes: Records) -> sparse.csr_matrix:
    """What each of the records (n, variables) adds to the totals of some tallies, one after the other, (n, m)."""
    return sparse.hstack([records_of_tally(block, codes).members for block in blocks], format="csr")


@dataclass(frozen=True, eq=False)
class ModelRecords:
    """Some records as a model sees them, at its published coefficients.

    rows (n, k): design. residual (n, E), curvature (n, E, E), likelihood (n,): first and minus second derivative of the
    log-likelihood in the linear predictors, then in the shape, and the log-likelihood itself (ols: 1 and the squared
    residual); E are the equations, and a further one, of a constant alone, for each parameter of the shape. levels (n,
    extra terms): at which row of each extra term a record is. weight (n,): 0 outside the model's subset. cluster (n,):
    of robust standard errors by clusters, else None.
    """

    model: Model
    rows: Array
    residual: Array
    curvature: Array
    likelihood: Array
    levels: NDArray[np.int64]
    weight: Array
    cluster: NDArray[np.int64] | None = field(default=None, kw_only=True)

    @cached_property
    def _triangle(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return np.tril_indices(self.model.n_score)

    @cached_property
    def _equations(self) -> range:
        """The equations that have the design rows; the others are of a shape."""
        return range(self.residual.shape[1] - len(self.model.shape))

    def _place(self, e: int) -> slice:
        """Where the scores of an equation stand among all; of `_equations.stop`: those in the shape."""
        k = self.rows.shape[1]
        return slice(e * k, (e + 1) * k if e in self._equations else self.model.n_score)

    def totals(self, times: Array) -> Array:
        """Totals (m,) of the records, each taken so many times (n,), in the order of `Model`."""
        times = times * self.weight
        residual, E = self.residual * times[:, None], self._equations.stop
        found = [(self.rows.T @ residual[:, :E]).T.ravel(), residual[:, E:].sum(axis=0)]
        if self.model.information:
            found.append(self.information(times)[self._triangle])
        if self.model.robust:
            found.append(self._meat(times))
        if self.model.likelihood:
            found.append(np.array([self.likelihood @ times]))
        extra = np.zeros(self.model.n_extra)
        for term, level in zip(self.model.extra, self.levels.T, strict=True):
            extra[term.columns] += np.bincount(level, times, minlength=len(term.rows)) @ term.rows
        return np.concatenate([*found, extra])

    def information(self, times: Array) -> Array:
        """Information (K, K) of the records, each taken so many times (n,), times the weights."""
        return self._products(self.curvature, times)

    def _products(self, curvature: Array, times: Array) -> Array:
        """Sums (K, K) of x x' times a curvature (n, E, E), each record taken so many times (n,)."""
        rows, e = self.rows, self._equations
        lower = {(i, j): rows.T @ (rows * (curvature[:, i, j] * times)[:, None]) for i in e for j in e if i >= j}
        found = np.block([[lower[i, j] if i >= j else lower[j, i].T for j in e] for i in e])
        if not len(self.model.shape):
            return found
        times = times[:, None]
        beside, corner = rows.T @ (curvature[:, 0, 1:] * times), (curvature[:, 1:, 1:] * times[:, None]).sum(axis=0)
        return np.block([[found, beside], [beside.T, corner]])

    @cached_property
    def _squared(self) -> Array:
        """What the meat has in the place of the curvature, (n, E, E), for one of the two weights."""
        return self.residual[:, :, None] * self.residual[:, None, :] * self.weight[:, None, None]

    def _meat(self, times: Array) -> Array:
        """The meat of the records (its totals), each taken so many times (n,), times the weights."""
        if self.cluster is None:
            return self._products(self._squared, times)[self._triangle]
        assert self.model.clusters is not None
        members = sparse.csr_matrix(
            (times, (self.cluster, np.arange(len(times)))), (self.model.clusters.size, len(times))
        )
        return np.hstack([members @ each for each in self._scores]).ravel()

    @property
    def _scores(self) -> list[Array]:
        """The scores of each record, without its weight: of each equation (n, k), and in the shape (n, A)."""
        residual, e = self.residual, self._equations
        return [*(self.rows * residual[:, i : i + 1] for i in e), residual[:, e.stop :]]

    @property
    def scores(self) -> Array:
        """The score (n, K) of each record, times its weight, one equation after the other."""
        return np.hstack(self._scores) * self.weight[:, None]

    def information_with(self, totals: Array, times: Array) -> Array:
        """The information (K, K) of records, each taken so many times (n,), that have these totals (m,); (0, 0) where
        there is no score.
        """
        size = self.model.n_score
        if not size:
            return np.zeros((0, 0))
        if not self.model.information:
            return self.information(times * self.weight)
        at = self.model.n_leaving + size
        return symmetric(totals[at : at + self.model.n_information], size)

    def summed(self, times: Array) -> tuple[Array, Array]:
        """Totals (m,) of the records, each taken so many times (n,), and the information that is not among these as
        `Smooth` takes it: (0, 0) where there is none.
        """
        apart = self.information(times * self.weight) if self.model.apart else np.zeros((0, 0))
        return self.totals(times), apart

    def single(self) -> ModelRecords:
        """The same in single precision."""
        arrays: dict[str, Any] = {
            each.name: getattr(self, each.name).astype(np.float32)
            for each in fields(self)
            if getattr(getattr(self, each.name), "dtype", None) == np.float64
        }
        return replace(self, **arrays)

    def through(self, jacobian: Array, exact: bool = False) -> Array:
        """What a record changes q numbers by, (n, q), where they change with the totals by `jacobian` (q, m). What is
        due to the information is good to some 1e-5 of the largest, unless `exact`: slower where records are many.
        """
        K = self.model.n_score
        found = np.zeros((len(self.rows), len(jacobian)), self.rows.dtype)
        all_digits, jacobian = jacobian, jacobian.astype(found.dtype)
        for e in self._equations:
            found += self.residual[:, e : e + 1] * (self.rows @ jacobian[:, self._place(e)].T)
        if len(self.model.shape):
            found += self.residual[:, 1:] @ jacobian[:, self._place(1)].T
        at = K + self.model.n_information
        add = self._add_products if exact else self._add_curved
        if self.model.information:
            add(found, self.curvature, all_digits[:, K:at])
        meat, at = slice(at, at + self.model.n_meat), at + self.model.n_meat
        if self.cluster is not None:
            self._add_clustered(found, jacobian[:, meat])
        elif self.model.robust:
            add(found, self._squared, all_digits[:, meat])
        if self.model.likelihood:
            found += np.outer(self.likelihood, jacobian[:, at])
            at += 1
        for term, level in zip(self.model.extra, self.levels.T, strict=True):
            slopes = jacobian[:, at + term.columns].T
            few = len(term.rows) <= len(level)  # rows of a term are then fewer than records
            found += (term.rows @ slopes)[level] if few else term.rows[level] @ slopes
        return found * self.weight[:, None]

    def _add_clustered(self, found: Array, jacobian: Array) -> None:
        """Add to `found` what comes by the scores of clusters."""
        assert self.cluster is not None and self.model.clusters is not None
        slopes = jacobian.reshape(len(jacobian), self.model.clusters.size, self.model.n_score)
        order = np.argsort(self.cluster, kind="stable")
        ends = np.searchsorted(self.cluster[order], np.arange(self.model.clusters.size + 1))
        for at, (begin, end) in enumerate(pairwise(ends.tolist())):
            here = order[begin:end]
            for e in self._equations:
                found[here] += self.residual[here, e, None] * (self.rows[here] @ slopes[:, at, self._place(e)].T)
            if len(self.model.shape):
                found[here] += self.residual[here, 1:] @ slopes[:, at, self._place(1)].T

    def _add_products(self, found: Array, curvature: Array, jacobian: Array) -> None:
        """Add to `found` what comes by products x x' times a curvature (n, E, E), product by product."""
        E, k = self._equations.stop, self.rows.shape[1]
        of = np.append(
            np.repeat(self._equations, k), np.arange(E, self.residual.shape[1])
        )  # of each score its equation
        low, high = self._triangle
        one = np.ones((len(found), len(self.model.shape)), self.rows.dtype)
        for start in range(0, len(found), _CHUNK):
            here = slice(start, start + _CHUNK)
            rows = np.hstack([np.tile(self.rows[here], E), one[here]])
            found[here] += (curvature[here, of[low], of[high]] * rows[:, low] * rows[:, high]) @ jacobian.T

    def _add_curved(self, found: Array, curvature: Array, jacobian: Array) -> None:
        """Add to `found` what comes by the same: a quadratic form of each number, mostly of rank one or two."""
        size = self.model.n_score
        low, high = self._triangle
        some = np.flatnonzero(np.abs(jacobian).max(axis=1) > _NOTHING)
        if not len(some):
            return
        forms = np.zeros((len(some), size, size))
        forms[:, low, high] = jacobian[some] / 2.0
        forms += forms.transpose(0, 2, 1)
        numbers, values, vectors = (np.concatenate(each) for each in zip(*_squares(forms), strict=True))
        vectors = vectors.astype(found.dtype)
        add = np.zeros((len(vectors), len(jacobian)), found.dtype)
        add[np.arange(len(vectors)), some[numbers]] = values
        for start in range(0, len(found), _CHUNK):
            here = slice(start, start + _CHUNK)
            along = [self.rows[here] @ vectors[:, self._place(e)].T for e in self._equations]
            if len(self.model.shape):
                found[here] += _squared_beside(along[0], vectors[:, self._place(1)].T, curvature[here]) @ add
                continue
            squares = np.zeros_like(along[0])
            for i, one in enumerate(along):
                beside = curvature[here, i, i, None] * one
                for j in range(i):
                    beside += 2.0 * curvature[here, i, j, None] * along[j]
                squares += beside * one
            found[here] += squares @ add


@dataclass(frozen=True, eq=False)
class LeavingRecords(ModelRecords):
    """Some records as a Cox model sees them: besides, w = exp(eta) times the weight (n,), event (n,) and cell (n,) of
    each.
    """

    hazard: Array
    event: Array
    cell: NDArray[np.int64]

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        """The records in the order of their cells."""
        return np.argsort(self.cell, kind="stable")

    @property
    def _clock(self) -> Clock:
        assert self.model.clock is not None
        return self.model.clock

    def _batches(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.intp], Array]]:
        """Some records (r,) at a time, those of a cell together: the cells that there are (c,), where each begins (c,),
        and 1, x and the lower triangle of x x' of each record, times w, (r, moments).
        """
        k = self.rows.shape[1]
        high, low = np.tril_indices(k)
        for begin in range(0, len(self._order), _BATCH):
            which = self._order[begin : begin + _BATCH]
            rows, cell = self.rows[which], self.cell[which]
            moments = np.empty((len(rows), self.model.n_moments), rows.dtype)
            moments[:, 0], moments[:, 1 : k + 1] = 1.0, rows
            np.multiply(rows[:, high], rows[:, low], out=moments[:, k + 1 :])
            moments *= self.hazard[which, None]
            starts = np.flatnonzero(np.diff(cell, prepend=-1))
            yield which, cell[starts], starts, moments

    def totals(self, times: Array) -> Array:
        """See `ModelRecords`."""
        events = times * self.weight * self.event
        found = np.zeros((1 + self._clock.efron, self._clock.cells, self.model.n_moments))
        for which, cells, starts, moments in self._batches():
            found[0, cells] += np.add.reduceat(times[which, None] * moments, starts, axis=0)
            if self._clock.efron:
                found[1, cells] += np.add.reduceat((times * self.event)[which, None] * moments, starts, axis=0)
        ends = np.bincount(self.cell, events, minlength=self._clock.cells)
        return np.concatenate([events @ self.rows, ends, found.ravel(), super().totals(times)])

    def through(self, jacobian: Array, exact: bool = False) -> Array:
        """See `ModelRecords`; always to all digits of the arrays."""
        own, k, q = self.model.n_leaving, self.rows.shape[1], len(jacobian)
        ends = k + self._clock.cells
        found, slopes = super().through(jacobian[:, own:]), jacobian[:, :own].astype(self.rows.dtype)
        events = self.weight * self.event
        found += events[:, None] * (self.rows @ slopes[:, :k].T + slopes[:, k + self.cell].T)
        cells, parts, size = self._clock.cells, 1 + self._clock.efron, self.model.n_moments
        by_cell = slopes[:, ends:].reshape(q, parts, cells, size).transpose(2, 3, 1, 0).reshape(cells, size, parts * q)
        for which, present, starts, moments in self._batches():
            both = np.empty((len(which), parts * q), slopes.dtype)
            for cell, begin, end in zip(present, starts, [*starts[1:], len(which)], strict=True):
                np.matmul(moments[begin:end], by_cell[cell], out=both[begin:end])
            found[which] += both[:, :q]
            if self._clock.efron:
                found[which] += self.event[which, None] * both[:, q:]
        return found


def _squared_beside(along: Array, shape: Array, curvature: Array) -> Array:
    """Squares (n, r) by curvatures (n, 1 + A, 1 + A) of what is `along` (n, r) the predictor, `shape` (A, r) beside."""
    both = (shape[:, None] * shape).reshape(-1, shape.shape[1])
    beside = 2.0 * along * (curvature[:, 0, 1:] @ shape) + curvature[:, 1:, 1:].reshape(len(along), -1) @ both
    return np.asarray(curvature[:, 0, 0, None] * along**2 + beside)


def _squares(forms: Array) -> Iterator[tuple[NDArray[np.intp], Array, Array]]:
    """Sums of squares that quadratic forms (q, K, K) are: in turn, of some of them (r,), a value (r,) and a vector (r,
    K). By columns, three times at most, while the largest element is nearly on the diagonal; by eigenvectors else.
    """
    numbers, left, turn = np.arange(len(forms)), forms.copy(), 0
    size = np.abs(forms).max(axis=(1, 2), initial=0.0)
    while len(numbers):
        diagonal = np.diagonal(left, axis1=1, axis2=2)
        at = np.abs(diagonal).argmax(axis=1)
        pivot = diagonal[np.arange(len(numbers)), at].copy()
        largest = np.abs(left).max(axis=(1, 2))
        done, sure = largest <= _SLIGHT * size[numbers], (np.abs(pivot) >= _PIVOT * largest) & (turn < _COLUMNS)
        hard = ~done & ~sure
        if hard.any():
            values, vectors = np.linalg.eigh(left[hard])
            for each in range(values.shape[1]):
                yes = np.abs(values[:, each]) > _SLIGHT * size[numbers[hard]]
                yield numbers[hard][yes], values[yes, each], vectors[yes, :, each]
        use = ~done & sure
        numbers, left, pivot, at = numbers[use], left[use], pivot[use], at[use]
        column = left[np.arange(len(numbers)), :, at] / pivot[:, None]
        yield numbers, pivot, column
        left -= column[:, :, None] * column[:, None, :] * pivot[:, None, None]
        turn += 1


def records_of_model(model: Model, codes: Records) -> ModelRecords:
    """The records (n, variables) as a model sees them."""
    k = model.coefficients.shape[1]
    rows = np.zeros((len(codes), k))
    for term in model.terms:
        rows[:, term.columns] += term.rows[level_in(term.joint, codes)]
    levels = np.zeros((len(codes), len(model.extra)), np.int64)
    for at, term in enumerate(model.extra):
        levels[:, at] = level_in(term.joint, codes)
    eta = rows @ model.coefficients.T
    if model.offset:
        eta += model.offset[1][level_in(model.offset[0], codes)][:, None]
    weight = _times(model.masks, model.weight, codes)
    nothing = (np.zeros((len(codes), 0)), np.zeros((len(codes), 0, 0)), np.zeros(len(codes)))
    if model.family == "none":
        return ModelRecords(model, np.zeros((len(codes), 0)), *nothing, levels, weight)
    y = model.response[level_in(model.place, codes)]
    if model.clock:
        hazard = np.exp(np.minimum(eta[:, 0], _LARGEST_HAZARD)) * weight
        cell = np.where(weight != 0.0, model.clock.cell[level_in(model.clock.joint, codes)], 0)
        return LeavingRecords(model, rows, *nothing, levels, weight, hazard, y, cell)
    cluster = level_in(model.clusters, codes) if model.clusters else None
    shape = np.broadcast_to(model.shape, (len(eta), len(model.shape)))
    found = derivatives(model.family, y, np.hstack([eta, shape]))
    return ModelRecords(model, rows, *found, levels, weight, cluster=cluster)


def _times(masks: tuple[Mask, ...], weight: Weight | None, codes: Records) -> Array:
    """How many times each record counts (n,): its weight, 0 outside a mask."""
    times = np.ones(len(codes)) if weight is None else weight.by_code[codes[:, weight.variable]].astype(np.float64)
    for mask in masks:
        times = times * mask.include[level_in(mask.joint, codes)]
    return np.asarray(times)


def derivatives(family: str, y: Array, eta: Array) -> tuple[Array, Array, Array]:
    """Residual (n, E), curvature (n, E, E) and log-likelihood (n,) at responses (n,) and predictors (n, E), those of a
    shape among them (see `Model`): the log-likelihood of each record, its first and minus its second derivatives.
    """
    if family in ("ologit", "oprobit"):
        return _ordered(family, y.astype(np.int64), eta)
    if family == "negbin":
        return _dispersed(y, np.minimum(eta[:, 0], _LARGEST), eta[:, 1])
    if family == "mnlogit":
        whole = np.hstack([np.zeros((len(eta), 1)), eta])
        logs = whole - logsumexp(whole, axis=1, keepdims=True)
        chance = np.exp(logs[:, 1:])
        curvature = -chance[:, :, None] * chance[:, None, :]
        every = np.arange(eta.shape[1])
        curvature[:, every, every] += chance
        took = y.astype(np.int64)
        return (took[:, None] == every + 1) - chance, curvature, logs[np.arange(len(y)), took]
    eta = eta[:, 0]
    if family == "ols":
        residual, curvature = y - eta, np.ones(len(y))
        value = residual**2
    elif family == "sign":
        far = y - eta
        near = np.abs(far) <= 1.0
        residual, curvature, value = np.where(near, 0.0, np.sign(far)), near.astype(np.float64), np.abs(far)
    elif family == "logit":
        chance = expit(eta)
        residual, curvature = y - chance, chance * (1.0 - chance)
        value = y * eta - np.logaddexp(0.0, eta)
    elif family == "probit":
        sign = np.where(y > 0.5, 1.0, -1.0)
        logs = log_ndtr(sign * eta)
        residual = sign * np.exp(-(eta**2) / 2.0 - logs) / np.sqrt(2.0 * np.pi)
        curvature, value = residual * (residual + eta), logs
    else:
        mean = np.exp(np.minimum(eta, _LARGEST))
        residual, curvature = y - mean, mean
        value = y * eta - mean - gammaln(y + 1.0)
    return residual[:, None], curvature[:, None, None], value


def _ordered(family: str, y: NDArray[np.int64], eta: Array) -> tuple[Array, Array, Array]:
    """`derivatives` of an ordered logit or probit: thresholds follow the predictor."""
    n, last, every = len(y), eta.shape[1] - 1, np.arange(len(y))
    below, above = y > 0, y < last
    ends = np.hstack([np.full((n, 1), -np.inf), eta[:, 1:], np.full((n, 1), np.inf)]) - eta[:, :1]
    low = ends[every, y]
    high = np.maximum(ends[every, y + 1], low + _APART)
    with np.errstate(all="ignore"):
        if family == "ologit":
            near = np.where(below & above, 1.0 / np.expm1(high - low), 0.0)
            of_low, of_high = -expit(low) - near, expit(-high) + near
            both = -near * (1.0 + near)
            low_low, high_high = expit(low) * expit(-low) - both, expit(high) * expit(-high) - both
            value = log_expit(-low) + log_expit(high) + np.log1p(-np.exp(low - high))
        else:
            sign = np.where(low + high > 0.0, -1.0, 1.0)  # in the lower tail, where no digits are lost
            logs = log_ndtr(np.stack([sign * low, sign * high])).T
            value = logs.max(axis=1) + np.log(-np.expm1(logs.min(axis=1) - logs.max(axis=1)))
            of_low, of_high = (np.exp(-(end**2) / 2.0 - value) / np.sqrt(2.0 * np.pi) for end in (low, high))
            of_low = -of_low
            low_low, high_high = of_low * (of_low + low), of_high * (of_high + high)
            both = of_low * of_high
        low_low, high_high = np.where(below, low_low, 0.0), np.where(above, high_high, 0.0)
    residual, curvature = np.zeros((n, last + 1)), np.zeros((n, last + 1, last + 1))
    residual[:, 0], curvature[:, 0, 0] = -of_low - of_high, low_low + high_high + 2.0 * both
    for some, at, slope, bend in ((below, y, of_low, low_low), (above, y + 1, of_high, high_high)):
        here, at = every[some], at[some]
        residual[here, at], curvature[here, at, at] = slope[some], bend[some]
        curvature[here, at, 0] = curvature[here, 0, at] = (-bend - both)[some]
    here, at = every[below & above], y[below & above]
    curvature[here, at + 1, at] = curvature[here, at, at + 1] = both[below & above]
    return residual, curvature, value


def _dispersed(y: Array, eta: Array, alpha: Array) -> tuple[Array, Array, Array]:
    """`derivatives` of a negative binomial count: the dispersion follows the predictor (NB2 of Cameron and Trivedi)."""
    mean = np.exp(eta)
    more, logs, count = 1.0 + alpha * mean, np.log1p(alpha * mean), y + 1.0 / alpha
    before = np.arange(int(y.max(initial=0.0)))  # sums over the counts less than y
    steps = before / (1.0 + alpha[:1] * before)
    sums = np.cumsum([np.zeros(len(before)), np.log1p(alpha[:1] * before), steps, steps**2], axis=1)
    value, first, second = np.hstack([np.zeros((4, 1)), sums])[1:, y.astype(np.int64)]
    residual = np.stack([(y - mean) / more, first + logs / alpha**2 - count * mean / more], axis=1)
    curvature = np.empty((len(y), 2, 2))
    curvature[:, 0, 0] = mean * (1.0 + alpha * y) / more**2
    curvature[:, 0, 1] = curvature[:, 1, 0] = (y - mean) * mean / more**2
    curvature[:, 1, 1] = second + 2.0 * logs / alpha**3 - 2.0 * mean / (alpha**2 * more) - count * (mean / more) ** 2
    return residual, curvature, value - gammaln(y + 1.0) + y * eta - count * logs
