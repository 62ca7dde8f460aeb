"""Fits of Cox models by statsmodels, and why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from statsmodels.duration.hazard_regression import PHReg

from outrisk.outputs.base import Array
from outrisk.outputs.regression.fit import Sample, identified, of_one_size, why_not
from outrisk.outputs.regression.release import Summary

Ties = Literal["efron", "breslow"]
_CLOSE = 1e-6  # standard errors that another Newton step may move a coefficient by


@dataclass(frozen=True, eq=False)
class Durations(Sample):
    """Complete records of a Cox model: the response is the time; event (n,) is 1 or 0, stratum (n,) a number."""

    event: Array = field(kw_only=True)
    stratum: NDArray[np.int64] = field(kw_only=True)

    def part(self, begin: int, end: int) -> Durations:
        """The records from one position to another."""
        here = slice(begin, end)
        plain = (self.response[here], self.design[here], self.offset[here])
        return Durations(*plain, event=self.event[here], stratum=self.stratum[here])


def fit_hazards(sample: Durations, ties: Ties, start: Array | None = None) -> Summary | None:
    """A Cox model by statsmodels' PHReg; None where it is undefined or not found.

    Standard errors come from the observed information. `start` (K,) only sets where the iterations begin.
    """
    if not sample.event.any():
        return None
    with of_one_size(sample.design) as (scaled, scale):
        if not scale.all():
            return None
        centred = scaled - scaled.mean(axis=0)  # it has no constant
        for begin in [None] if start is None else [start * scale, None]:
            try:
                with np.errstate(all="ignore"):
                    model = PHReg(sample.response, centred, sample.event, strata=sample.stratum, ties=ties)
                    fit = model.fit(start_params=begin, maxiter=100, warn_convergence=False)
            except (np.linalg.LinAlgError, ValueError):
                continue
            b, information = np.asarray(fit.params), -np.asarray(model.hessian(fit.params))
            if not (np.isfinite(b).all() and np.isfinite(information).all()):
                continue
            if identified(replace(sample, design=centred), information):
                covariance = np.linalg.inv(information)
                error = np.sqrt(np.diag(covariance))
                if (np.abs(covariance @ model.score(b)) > _CLOSE * error).any():
                    continue
                n, events = float(len(scaled)), float(sample.event.sum())
                numbers = (np.inf, n, float(fit.llf), np.nan, np.nan, np.nan, events)
                return Summary(b / scale, error / scale, *numbers)
    return None


def why_no_hazards(sample: Durations, labels: Sequence[str], groups: Mapping[str, NDArray[np.bool_]]) -> str:
    """Why a fit finds nothing, and the way out; arguments as `why_not` takes them."""
    if not sample.event.any():
        return "none of these records has the event; a Cox model needs events"
    for column, label in zip(sample.design.T, labels, strict=True):
        if np.ptp(column) == 0.0 and column[0] not in (0.0, 1.0):  # a level without records is named below
            return f"{label} is {column[0]:g} in all of these records; drop it"
    reason = why_not("cox", replace(sample, response=sample.event), labels, groups, ())
    return reason.replace("the response is 0", "there is no event")
