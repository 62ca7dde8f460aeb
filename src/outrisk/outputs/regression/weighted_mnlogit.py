"""A multinomial logit with weights, which statsmodels does not have: its own likelihood, weight by weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from statsmodels.discrete.discrete_model import MNLogit

from outrisk.outputs.base import Array


@dataclass(frozen=True)
class WeightedFit:
    """Parameters (k, equations), and whether the iterations converged."""

    params: Array
    mle_retvals: dict[str, bool]


class WeightedMNLogit:
    """The weighted sum of statsmodels' MNLogit over the records of each weight.

    Response (n,) with outcomes 0, 1, ..., design (n, k), weights (n,), positive.
    """

    def __init__(self, response: Array, design: Array, weights: Array) -> None:
        outcomes = np.eye(int(response.max()) + 1)[response.astype(int)]
        self._groups = [
            (weight, MNLogit(outcomes[weights == weight], design[weights == weight], check_rank=False))
            for weight in np.unique(weights)
        ]
        self._shape = (design.shape[1], outcomes.shape[1] - 1)

    def loglike(self, params: Array) -> float:
        """Log-likelihood of parameters (K,), one equation after the other."""
        return float(sum(weight * model.loglike(params) for weight, model in self._groups))

    def score(self, params: Array) -> Array:
        """Its first derivatives (K,)."""
        return np.asarray(sum(weight * model.score(params) for weight, model in self._groups))

    def hessian(self, params: Array) -> Array:
        """Its second derivatives (K, K)."""
        return np.asarray(sum(weight * model.hessian(params) for weight, model in self._groups))

    def fit(self, start_params: Array | None = None, maxiter: int = 100, **_: object) -> WeightedFit:
        """Newton's method with halved steps; other arguments of statsmodels' fit are ignored."""
        at = np.zeros(self._shape[0] * self._shape[1]) if start_params is None else np.asarray(start_params)
        value = self.loglike(at)
        for _step in range(maxiter):
            step = np.linalg.solve(-self.hessian(at), self.score(at))
            while np.abs(step).max() > 1e-10 and not self.loglike(at + step) >= value - 1e-9 * abs(value):
                step = step / 2.0
            at, value = at + step, self.loglike(at + step)
            if np.abs(step).max() < 1e-9:
                return WeightedFit(at.reshape(self._shape, order="F"), {"converged": True})
        return WeightedFit(at.reshape(self._shape, order="F"), {"converged": False})
