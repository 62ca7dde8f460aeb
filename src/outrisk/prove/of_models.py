"""Numbers of regressions as linear constraints: at the estimates the score is 0, and the score is a sum over records.

The estimates b lie in the box that the printed digits leave around the printed ones. Of a record the score
r(y, x'b) x is therefore an interval, and the sum of the lower ends is at most 0, that of the upper ones at least 0.
Where all of the design is known to the intruder, far more follows: the score at the printed coefficients is H (p - b)
with H a mean of informations over the box, of which every entry has its interval; and so is any product of it, such as
the one that makes H nearly the identity. Log-likelihood, residual sum of squares and R2 add an interval each, of second
order in the box. All of it holds for the data behind the release, whatever they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, gammaln, log_ndtr

from outrisk.problem.blocks import Array, Family, Model, level_in
from outrisk.problem.formulas import ModelSays
from outrisk.problem.influence import derivatives
from outrisk.problem.released import ModelPart
from outrisk.prove.constraints import Rows, Seen, included, weights

NOT_LINEAR = "its numbers are not linear in the records"
_STOP = 1e-8  # how far, in a coefficient times the size of its column, iterations may stop from the estimate
_ARITHMETIC = 1e-10  # share of a sum that arithmetic may take from it
_WORST = 1e10  # condition of an information (of columns of one size) up to which it is inverted
_MOST_DENSE = 4_000_000  # entries of the constraints that mix all scores
_MOST_ROBUST = 40  # people up to whom robust standard errors are worth their time: of 30 they proved half, of 60 none
_AT_ONCE = 1 << 20  # products of two columns of a design that are worked out at once
Ends = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class _Cases:
    """Kinds of records that a model counts: at (c,) of all kinds seen, design x (c, k), response, weight, offset (c,).

    sizes (c,): people of each kind's group, shared out among its kinds; None where the design is not known.
    """

    model: Model
    says: ModelSays
    seen: Seen
    at: NDArray[np.int64]
    x: Array
    y: Array
    weight: Array
    offset: Array
    sizes: Array | None

    @cached_property
    def centre(self) -> Array:
        """Coefficients in the middle of their box, (E, k)."""
        coefficients = self.says.coefficients[: self.model.coefficients.size]
        return np.asarray(coefficients.mean(axis=1).reshape(self.model.coefficients.shape))

    @cached_property
    def half(self) -> Array:
        """Half the sides of the box, (E, k)."""
        coefficients = self.says.coefficients[: self.centre.size]
        half = (coefficients[:, 1] - coefficients[:, 0]).reshape(self.centre.shape) / 2.0
        size = np.maximum(np.abs(self.x).max(axis=0, initial=0.0), 1e-12)
        return np.asarray(np.maximum(half, 0.0) * (1.0 + 1e-6) + _STOP / size)

    @cached_property
    def eta(self) -> Array:
        """Linear predictors (c, E) in the middle of the box."""
        return np.asarray(self.x @ self.centre.T + self.offset[:, None])

    @cached_property
    def reach(self) -> Array:
        """How far each may be from that, (c, E)."""
        return np.asarray(np.abs(self.x) @ self.half.T)

    @cached_property
    def information(self) -> Ends:
        """The information (K, K) anywhere in the box, where the design is known: its middle, and how far it may be from
        that, entry by entry.
        """
        assert self.sizes is not None
        (E, k), c = self.centre.shape, len(self.at)
        weight = self.weight * self.sizes
        least, most = _curvature(self)
        lows, highs = np.zeros((2, E, k, E, k))
        some = max(1, _AT_ONCE // k**2)
        for at in (slice(start, start + some) for start in range(0, c, some)):
            positive, negative = _products(self.x[at])
            for e in range(E):
                for f in range(E):
                    below, above = weight[at] * least[at, e, f], weight[at] * most[at, e, f]
                    lows[e, :, f] += (below @ positive + above @ negative).reshape(k, k)
                    highs[e, :, f] += (above @ positive + below @ negative).reshape(k, k)
        K = E * k
        return ((highs + lows) / 2.0).reshape(K, K), ((highs - lows) / 2.0).reshape(K, K)

    def row(self, value: Array) -> sparse.csr_array:
        """One row, or several (rows, c), over all kinds seen."""
        matrix = sparse.csr_array(np.atleast_2d(value))
        shape = (matrix.shape[0], len(self.seen.columns.codes))
        return sparse.csr_array((matrix.data, self.seen.at[self.at][matrix.indices], matrix.indptr), shape=shape)


def constrain_model(
    rows: Rows, part: ModelPart, low: Array, high: Array, seen: Seen, n_records: int, origin: str, first: int
) -> str:
    """Add the constraints of numbers between `low` and `high` (k,); why some are not among them, '' where all are."""
    says, model = part.map.says(low, high), part.model
    if says is None or model.family == "none":
        return "" if part.follow else NOT_LINEAR
    if not np.isfinite(says.coefficients).all() or (says.coefficients[:, 0] > says.coefficients[:, 1]).any():
        return "not all of its coefficients are known"
    cases = _cases(model, says, seen)
    if not len(cases.at):
        return ""
    if len(model.shape):
        return _with_shape(rows, cases, n_records, origin, first)
    scores = _scores if cases.sizes is None else _known_scores
    scores(rows, cases, origin, first)
    n = _records(rows, cases, n_records, origin, first)
    _likelihood(rows, cases, n, origin, first)
    if model.family == "ols":
        _squares(rows, cases, n, origin, first)
    return _left_out(cases, _robust(rows, cases, n, origin, first + cases.centre.size))


def _left_out(cases: _Cases, robust: bool) -> str:
    """Numbers that add nothing linear here; `robust`: robust standard errors do."""
    says, missing = cases.says, []
    if cases.model.robust and not robust:
        missing.append("robust standard errors")
    if np.isfinite(says.standard_errors).any() and not (cases.model.family == "ols" and cases.sizes is not None):
        known = cases.sizes is not None and cases.model.family != "probit"  # they are those of the design alone
        missing += [] if known else ["standard errors"]
    if np.isfinite(says.pseudo_r2).any():
        missing.append("pseudo-R2")
    return f"coefficients are used, {' and '.join(missing)} are not" if missing else ""


def _cases(model: Model, says: ModelSays, seen: Seen) -> _Cases:
    codes = seen.codes
    weight = weights(model, codes)
    at = np.flatnonzero(included(model, codes) & (weight > 0))
    some = codes[at]
    x = np.zeros((len(at), model.coefficients.shape[1]))
    for term in model.terms:
        x[:, term.columns] = term.rows[level_in(term.joint, some)]
    offset = np.zeros(len(at)) if model.offset is None else model.offset[1][level_in(model.offset[0], some)]
    y = model.response[level_in(model.place, some)]
    return _Cases(model, says, seen, at, x, y, weight[at], offset, _known_design(seen, at, x, offset, weight[at]))


def _known_design(seen: Seen, at: NDArray[np.int64], x: Array, offset: Array, weight: Array) -> Array | None:
    """People of each kind's group, shared out among its kinds; None where kinds of a group differ in the design."""
    group = seen.columns.group[seen.at]
    if (group < 0).any():
        return None
    mine, kinds = group[at], np.bincount(group)
    inside, people = np.bincount(mine, minlength=len(kinds)), np.zeros(len(kinds))
    np.maximum.at(people, group, seen.columns.most[seen.at])
    order = np.argsort(mine, kind="stable")
    same = mine[order][1:] == mine[order][:-1]
    for values in (x, offset[:, None], weight[:, None]):
        if not np.array_equal(values[order][1:][same], values[order][:-1][same]):
            return None
    if (inside[mine] < kinds[mine]).any():
        return None
    return np.asarray(people[mine] / kinds[mine])


def _outcomes(cases: _Cases) -> Array:
    """The response of each equation, (c, E)."""
    E = len(cases.centre)
    if cases.model.family == "mnlogit":
        return np.asarray(cases.y[:, None] == np.arange(1, E + 1), dtype=np.float64)
    return cases.y[:, None]


def _mean(family: Family, eta: Array) -> Array:
    """Fitted values (c, E) at linear predictors, of the families whose residual is y less them."""
    if family == "logit":
        return np.asarray(expit(eta))
    if family == "poisson":
        return np.asarray(np.exp(eta))
    if family == "mnlogit":
        top = np.maximum(eta.max(axis=1, keepdims=True), 0.0)
        return np.asarray(np.exp(eta - top) / (np.exp(-top) + np.exp(eta - top).sum(axis=1, keepdims=True)))
    return eta


def _fitted(family: Family, eta: Array, reach: Array) -> Ends:
    """Ends of the fitted values over the box."""
    if family != "mnlogit":
        return _mean(family, eta - reach), _mean(family, eta + reach)
    low, high = np.empty_like(eta), np.empty_like(eta)
    for e in range(eta.shape[1]):  # each grows with its own predictor and falls with the others
        sign = np.where(np.arange(eta.shape[1]) == e, 1.0, -1.0)
        low[:, e], high[:, e] = _mean(family, eta - sign * reach)[:, e], _mean(family, eta + sign * reach)[:, e]
    return low, high


def _mills(z: Array) -> Array:
    """Density over distribution function of the normal."""
    return np.asarray(np.exp(-(z**2) / 2.0 - log_ndtr(z)) / np.sqrt(2.0 * np.pi))


def _residuals(cases: _Cases, eta: Array) -> Array:
    """Derivatives of the log-likelihood of one record in its predictors, (c, E)."""
    if cases.model.family == "probit":
        sign = 2.0 * cases.y[:, None] - 1.0
        return sign * _mills(sign * eta)
    return _outcomes(cases) - _mean(cases.model.family, eta)


def _residual_ends(cases: _Cases) -> Ends:
    if cases.model.family == "probit":  # they fall with the predictor
        return _residuals(cases, cases.eta + cases.reach), _residuals(cases, cases.eta - cases.reach)
    low, high = _fitted(cases.model.family, cases.eta, cases.reach)
    return _outcomes(cases) - high, _outcomes(cases) - low


def _curvature(cases: _Cases) -> Ends:
    """Ends over the box, and over both values of a probit's response, of minus the second derivatives, (c, E, E)."""
    family, eta, reach = cases.model.family, cases.eta, cases.reach
    if family == "ols":
        one = np.ones((len(eta), 1, 1))
        return one, one
    if family == "probit":
        ends = [sign * (eta + side * reach) for sign in (-1.0, 1.0) for side in (-1.0, 1.0)]
        found = np.stack([_mills(z) * (_mills(z) + z) for z in ends])
        return found.min(axis=0)[:, :, None], found.max(axis=0)[:, :, None]
    low, high = _fitted(family, eta, reach)
    if family == "poisson":
        return low[:, :, None], high[:, :, None]
    own_low = np.minimum(low * (1.0 - low), high * (1.0 - high))
    own_high = np.where((low < 0.5) & (high > 0.5), 0.25, np.maximum(low * (1.0 - low), high * (1.0 - high)))
    below, above = -high[:, :, None] * high[:, None, :], -low[:, :, None] * low[:, None, :]
    e = np.arange(eta.shape[1])
    below[:, e, e], above[:, e, e] = own_low, own_high
    return below, above


def _scores(rows: Rows, cases: _Cases, origin: str, first: int) -> None:
    """Sums of lower ends of scores are at most 0, of upper ends at least 0."""
    least, most = _residual_ends(cases)
    E, k = cases.centre.shape
    for e in range(E):
        _score(rows, cases, (least[:, e], most[:, e]), cases.x, origin, first + e * k + np.arange(k))


def _score(rows: Rows, cases: _Cases, ends: Ends, x: Array, origin: str, numbers: NDArray[np.int64]) -> None:
    """The same of one equation: ends of its residuals (c,), and its design (c, k)."""
    one, other = (cases.weight * end * x.T for end in ends)  # (k, c)
    low, high = np.minimum(one, other), np.maximum(one, other)
    slack = _ARITHMETIC * (np.abs(high) @ _people(cases))
    rows.add(cases.row(low), -np.inf, slack, origin, numbers)
    rows.add(cases.row(high), -slack, np.inf, origin, numbers)


def _with_shape(rows: Rows, cases: _Cases, n_records: int, origin: str, first: int) -> str:
    """Scores of a model with a shape, and its number of records; what is left out. Of a residual there is an interval
    by what it rises and falls with: the predictor, and the thresholds on either side as if they went their own ways,
    or the dispersion.
    """
    model, says, k = cases.model, cases.says, cases.centre.size
    eta, reach, shape = cases.eta[:, 0], cases.reach[:, 0], says.coefficients[k:] + np.array([-_STOP, _STOP])
    _records(rows, cases, n_records, origin, first + len(shape))
    numbers = first + np.arange(k + len(shape))
    if model.family == "negbin":
        if shape[0, 0] <= 0.0:
            return "its dispersion may be 0 as it is printed"
        corners = np.stack(
            [
                derivatives("negbin", cases.y, np.column_stack([eta + side * reach, np.full(len(eta), alpha)]))[0][:, 0]
                for side in (-1.0, 1.0)
                for alpha in shape[0]
            ]
        )
        _score(rows, cases, (corners.min(axis=0), corners.max(axis=0)), cases.x, origin, numbers[:k])
        left_out = ["the dispersion"]
    else:
        if (shape[:-1, 1] >= shape[1:, 0]).any():
            return "two of its thresholds may be equal as they are printed"
        # the outcome lies between two ends: of each how low and how high it may be
        y, last = cases.y.astype(np.int64), len(shape)
        lows, highs = (np.concatenate([[[-np.inf, -np.inf]], shape, [[np.inf, np.inf]]])[at] for at in (y, y + 1))
        low, high = (end - np.stack([eta + reach, eta - reach], axis=1) for end in (lows, highs))

        def slopes(low: Array, high: Array) -> tuple[Array, Array, Array]:
            """Derivatives in the predictor, the lower and the upper end (c,) of each, at these ends."""
            ends = np.stack([np.where(y > 0, low, -1e3), np.where(y < last, high, 1e3)], axis=1)
            found = derivatives(model.family, np.ones(len(y)), np.column_stack([np.zeros(len(y)), ends]))[0]
            return found[:, 0], found[:, 1], found[:, 2]

        rises = slopes(low[:, 0], high[:, 0])[0], slopes(low[:, 1], high[:, 1])[0]
        near, far = slopes(low[:, 1], high[:, 0]), slopes(low[:, 0], high[:, 1])
        _score(rows, cases, rises, cases.x, origin, numbers[:k])
        for j in range(last):
            above, below = y == j + 1, y == j
            least, most = (
                np.where(above, of_low[1], 0.0) + np.where(below, of_high[2], 0.0)
                for of_low, of_high in ((near, far), (far, near))
            )
            _score(rows, cases, (least, most), np.ones((len(y), 1)), origin, numbers[k + j : k + j + 1])
        left_out = []
    left_out += ["standard errors"] if np.isfinite(says.standard_errors).any() or model.robust else []
    left_out += ["the log-likelihood"] if np.isfinite(says.log_likelihood).any() else []
    left_out += ["the pseudo-R2"] if np.isfinite(says.pseudo_r2).any() else []
    are = "is" if len(left_out) == 1 and left_out[0].startswith("the ") else "are"
    return f"coefficients are used, {' and '.join(left_out)} {are} not" if left_out else ""


def _people(cases: _Cases) -> Array:
    return np.asarray(cases.seen.columns.most[cases.seen.at[cases.at]])


def _known_scores(rows: Rows, cases: _Cases, origin: str, first: int) -> None:
    """The score at the middle of the box is H times how far that is from the estimates; H by its entries."""
    assert cases.sizes is not None
    (E, k), c = cases.centre.shape, len(cases.at)
    (middle, room), K = cases.information, E * k
    half = cases.half.ravel()
    far = (np.abs(middle) + room) @ half
    score = (_residuals(cases, cases.eta) * cases.weight[:, None]).T[:, None, :] * cases.x.T  # (E, k, c)
    score = score.reshape(K, c)
    slack = _ARITHMETIC * (np.abs(score) @ _people(cases))
    numbers = first + np.arange(K)
    if cases.model.family == "probit":
        rows.add(cases.row(score), -far - slack, far + slack, origin, numbers)
    else:  # the fitted part is known: what is left is a sum of the response, often in whole numbers
        response = ((_outcomes(cases) * cases.weight[:, None]).T[:, None, :] * cases.x.T).reshape(K, c)
        fitted = (response - score) @ cases.sizes
        rows.add(cases.row(response), fitted - far - slack, fitted + far + slack, origin, numbers)
    if K * c <= _MOST_DENSE:
        inverse = np.linalg.pinv(middle, hermitian=True)
        far = np.abs(inverse @ middle) @ half + np.abs(inverse) @ (room @ half)
        mixed = inverse @ score
        slack = _ARITHMETIC * (np.abs(mixed) @ _people(cases)) + np.abs(inverse) @ slack
        rows.add(cases.row(mixed), -far - slack, far + slack, origin, numbers)


def _robust(rows: Rows, cases: _Cases, n: float, origin: str, number: int) -> bool:
    """Robust standard errors by the definition: of coefficient j the sum over the records of (h_j's)^2 times a factor,
    h_j being row j of the inverse information and s the record's score; whether there are such rows.

    Where the information is A = M + D with |D| <= R, B nearly the inverse of M, and P = |B| R + |I - B M| has its
    eigenvalues below 1, the inverse of A is within (I - P)^-1 P |B| of B, entry by entry (Neumann's series).
    """
    says = cases.says
    (E, k), K = cases.centre.shape, cases.centre.size
    if says.robust is None or says.errors is None or cases.sizes is None or not 0 < n <= _MOST_ROBUST:
        return False
    factor, squares = says.robust(n), np.maximum(says.errors(n), 0.0) ** 2
    middle, room = cases.information
    size = np.sqrt(np.maximum(np.diag(middle), 0.0))
    if not np.isfinite(factor) or not size.all() or np.linalg.cond(middle / np.outer(size, size)) > _WORST:
        return False
    inverse = np.linalg.inv(middle / np.outer(size, size)) / np.outer(size, size)
    spread = np.abs(inverse) @ room + np.abs(np.eye(K) - inverse @ middle)
    if np.abs(np.linalg.eigvals(spread)).max() >= 1.0:
        return False
    unsure = np.linalg.solve(np.eye(K) - spread, spread @ np.abs(inverse)) + _ARITHMETIC * np.abs(inverse).max()
    ends = _residual_ends(cases)
    for j in range(K):
        h = (cases.x @ inverse[j].reshape(E, k).T, np.abs(cases.x) @ unsure[j].reshape(E, k).T)  # (c, E) both
        corners = np.stack([end * (h[0] + side * h[1]) for end in ends for side in (-1.0, 1.0)])
        below, above = corners.min(axis=0).sum(axis=1), corners.max(axis=0).sum(axis=1)
        least = np.where((below < 0.0) & (above > 0.0), 0.0, np.minimum(below**2, above**2))
        each = factor * cases.weight**2
        most = each * np.maximum(below**2, above**2)
        slack = _ARITHMETIC * (most @ _people(cases))
        if np.isfinite(squares[j, 1]):
            rows.add(cases.row(each * least), -np.inf, squares[j, 1] + slack, origin, number + j)
        if squares[j, 0] > 0.0:
            rows.add(cases.row(most), squares[j, 0] - slack, np.inf, origin, number + j)
    return True


def _products(x: Array) -> Ends:
    """Products of every two columns of a design, (c, k k), where they are positive and where negative."""
    both = (x[:, :, None] * x[:, None, :]).reshape(len(x), -1)
    return np.maximum(both, 0.0), np.minimum(both, 0.0)


def _records(rows: Rows, cases: _Cases, n_records: int, origin: str, first: int) -> float:
    """The number of records behind the model as a constraint, and itself where it is certain; else NaN."""
    low, high = cases.says.n
    one = cases.row(np.ones(len(cases.at)))
    rows.add(one, low, high, origin, first + cases.centre.size)
    if cases.sizes is not None:
        return float(cases.sizes.sum())
    if len(cases.at) == len(cases.seen.at):
        return float(n_records)
    low, high = np.ceil(low - 1e-6), np.floor(high + 1e-6)
    return float(low) if low == high else np.nan


def _likelihood(rows: Rows, cases: _Cases, n: float, origin: str, first: int) -> None:
    """Printed log-likelihood: at the middle of the box it is less than at its maximum, by less than a curvature."""
    low, high = cases.says.log_likelihood
    family, number = cases.model.family, first + cases.centre.size
    if family == "ols" or not (np.isfinite(low) or np.isfinite(high)):
        return
    eta, y = cases.eta, cases.y
    if family == "logit":
        each = -np.logaddexp(0.0, np.where(y == 1, -eta[:, 0], eta[:, 0]))
    elif family == "probit":
        each = log_ndtr(np.where(y == 1, eta[:, 0], -eta[:, 0]))
    elif family == "poisson":
        each = y * eta[:, 0] - np.exp(eta[:, 0]) - gammaln(y + 1.0)
    else:
        with np.errstate(divide="ignore"):
            p = _mean(family, eta)
            rest = np.log1p(-np.minimum(p.sum(axis=1), 1.0 - 1e-300))
            each = np.where(y == 0, rest, np.log(p)[np.arange(len(y)), np.maximum(y.astype(int) - 1, 0)])
    least, most = _curvature(cases)
    bend = np.maximum(np.abs(least), np.abs(most))
    more = 0.5 * np.einsum("ce,cef,cf->c", cases.reach, bend, cases.reach)
    slack = _ARITHMETIC * (np.abs(cases.weight * each) @ _people(cases))
    rows.add(cases.row(cases.weight * each), -np.inf, high + slack, origin, number)
    rows.add(cases.row(cases.weight * (each + more)), low - slack, np.inf, origin, number)


def _squares(rows: Rows, cases: _Cases, n: float, origin: str, first: int) -> None:
    """Residual sd, standard errors, log-likelihood and R2 of a linear regression: ends of its residual squares."""
    says, number = cases.says, first + cases.centre.size
    K = cases.centre.size
    squares = cases.weight * (cases.y - cases.eta[:, 0]) ** 2  # in the middle of the box, at least the least ones
    more = cases.weight * cases.reach[:, 0] ** 2  # and by no more than this
    low, high = _residual_squares(cases, n, K)
    slack = _ARITHMETIC * (squares @ _people(cases))
    if np.isfinite(low):
        rows.add(cases.row(squares), low - slack, np.inf, origin, number)
    if np.isfinite(high):
        rows.add(cases.row(squares - more), -np.inf, high + slack, origin, number)
    low, high = says.r2
    if not (np.isfinite(low) or np.isfinite(high)):
        return
    fitted = cases.eta[:, 0]
    if not says.centred:
        centre, drift = 0.0, 0.0
    elif cases.sizes is not None:
        weight = cases.weight * cases.sizes
        centre = float(weight @ fitted / weight.sum())
        drift = float(np.abs(weight @ cases.x) @ cases.half[0]) ** 2 / float(weight.sum())
    else:
        centre, drift = float((cases.y.min() + cases.y.max()) / 2.0), np.inf
    total = cases.weight * (cases.y - centre) ** 2
    slack += _ARITHMETIC * (total @ _people(cases))
    if np.isfinite(high) and np.isfinite(drift):
        rows.add(cases.row(squares - (1 - high) * total), -(1 - high) * drift - slack, np.inf, origin, number)
    if np.isfinite(low):
        rows.add(cases.row(squares - more - (1 - low) * total), -np.inf, slack, origin, number)


def _residual_squares(cases: _Cases, n: float, K: int) -> tuple[float, float]:
    """Ends of the residual sum of squares, by all that is printed of it."""
    says = cases.says
    if not n > K:
        return -np.inf, np.inf
    sds = [says.residual_sd]
    if cases.sizes is not None:
        errors = says.standard_errors if cases.model.robust or says.errors is None else says.errors(n)
        sds += [ends / each for ends, each in zip(errors, _roots(cases), strict=True) if np.isfinite(each)]
    low = max(max(float(ends[0]), 0.0) for ends in sds) ** 2 * (n - K) * (1 - 1e-7)
    high = min(float(ends[1]) for ends in sds) ** 2 * (n - K) * (1 + 1e-7)
    likelihood = says.log_likelihood
    if cases.model.weight is None:  # -n/2 (log(2 pi rss / n) + 1)
        ends = n / (2.0 * np.pi) * np.exp(-2.0 * likelihood[::-1] / n - 1.0)
        low, high = max(low, float(ends[0]) * (1 - 1e-9)), min(high, float(ends[1]) * (1 + 1e-9))
    return (low if low > 0 else -np.inf), high


def _roots(cases: _Cases) -> Array:
    """Standard errors of an ols with a residual sd of 1 (K,), of a known design; NaN where that is nearly collinear."""
    assert cases.sizes is not None
    x = cases.x * np.sqrt(cases.weight * cases.sizes)[:, None]
    size = np.sqrt((x**2).sum(axis=0))
    if len(x) < len(size) or not size.all() or np.linalg.cond(x / size) ** 2 > _WORST:
        return np.full(len(size), np.nan)
    triangle = np.linalg.qr(x / size, mode="r")
    return np.asarray(np.sqrt((np.linalg.inv(triangle) ** 2).sum(axis=1)) / size)
