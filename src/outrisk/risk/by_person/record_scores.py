"""Scores of each person by synthetic data: always defined, whoever has the person's keys or has not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from outrisk.risk.attribution.definitions import check_tau
from outrisk.risk.coding.classes import Equivalence

Floats = NDArray[np.float64]
ESTIMATES = ("estimate_mean", "estimate_median")  # of a target that is an amount
MEASURES = ("attribution", "existence", "dcap", "right")
MEANING = {
    "attribution": "what the people with the same keys in the synthetic data tell of the target, beyond its "
    "distribution in them",
    "existence": "whether the synthetic data have anybody with the person's keys, in units of what that is worth for "
    "guessing the target",
    "dcap": "probability of guessing the target rightly from the synthetic people with the same keys; attribution and "
    "existence together",
    "right": "whether the synthetic people with the same keys all have one value of the target, and it is the person's",
    "estimate_mean": "whether the mean of the synthetic people with the same keys is near the person's value, beyond "
    "what the mean of all is",
    "estimate_median": "whether the median of the synthetic people with the same keys is near the person's value, "
    "beyond what the median of all is",
}
_SAME = 1e-9  # of a value: what a mean is off by rounding


@dataclass(frozen=True, eq=False)
class Amounts:
    """The target of each table's records as a number, NaN where missing; what is within the share is near."""

    values: Mapping[str, Floats]
    within: float

    @cached_property
    def of_all(self) -> dict[str, Floats]:
        """Mean and median of all records of each table, (1, 2)."""
        known = {table: values[~np.isnan(values)] for table, values in self.values.items()}
        return {
            table: np.column_stack(_middles(np.zeros(len(values), np.intp), values, 1))
            for table, values in known.items()
        }


def record_scores(equivalence: Equivalence, synthetic: str, people: str, tau: float = 1.0) -> Floats:
    """Score of every record of a table by a synthetic one, (n_records, 4): a column a measure of MEASURES.

    Larger = riskier. With s_tq, s_q the synthetic records of the person's keys q that hold the person's target value t,
    and of the keys, and p_t the share of t among all synthetic records:

    - `attribution` in [-1, 1]: s_tq / s_q - p_t where s_q > 0, else 0;
    - `existence` in [0, 1]: p_t where s_q > 0, else 0;
    - `dcap` in [0, 1]: s_tq / s_q where s_q > 0, else 0 (DCAP of Taub and others, 2018): the sum of the two;
    - `right`, 0 or 1: whether s_tq / s_q >= tau (at 1, all of them hold the person's value).

    None is undefined for anybody, so means over any people can be compared; O(n_records + cells).
    """
    check_tau(tau)
    share = equivalence.shares(synthetic)
    met = equivalence.class_totals(synthetic) > 0
    counts = equivalence.counts[synthetic]
    by_target = np.bincount(equivalence.cell_target, weights=counts, minlength=int(equivalence.cell_target.max()) + 1)
    existence = np.where(met, (by_target / counts.sum())[equivalence.cell_target], 0.0)
    right = (met & (share >= tau)).astype(float)  # s / s is exactly 1
    of_cells = np.column_stack([share - existence, existence, share, right])
    return np.asarray(of_cells[equivalence.records[people]])


def estimate_scores(equivalence: Equivalence, synthetic: str, people: str, amounts: Amounts) -> Floats:
    """Score of every record of a table by what a synthetic one says on average, (n_records, 2): as ESTIMATES.

    Larger = riskier, in [-1, 1]: 1 where the mean (median) of the synthetic records with the person's keys is within
    the share `amounts.within` of the person's value, less 1 where that of all synthetic records is; 0 where no record
    has the keys. Missing values are left out of means; nobody's missing value is estimated. O(n log n).
    """
    value, given = amounts.values[people], amounts.values[synthetic]
    at = equivalence.cell_class[equivalence.records[synthetic]]
    known = ~np.isnan(given)
    classes = len(equivalence.class_counts[synthetic])
    of_class = np.column_stack(_middles(at[known], given[known], classes))

    def near(guess: Floats) -> NDArray[np.bool_]:
        with np.errstate(invalid="ignore"):
            apart = np.abs(guess - value[:, None])
            return np.asarray(apart <= (amounts.within + _SAME) * np.abs(value)[:, None])

    guess = of_class[equivalence.cell_class[equivalence.records[people]]]
    return np.where(np.isnan(guess), 0.0, near(guess).astype(float) - near(amounts.of_all[synthetic]))


def _middles(at: NDArray[np.intp], values: Floats, classes: int) -> tuple[Floats, Floats]:
    """Mean and median of the values in each class, (classes,) each; NaN in an empty one."""
    number = np.bincount(at, minlength=classes)
    ordered = values[np.lexsort((values, at))]
    first = np.concatenate([[0], np.cumsum(number)[:-1]])
    some = number > 0
    mean, median = np.full(classes, np.nan), np.full(classes, np.nan)
    mean[some] = np.bincount(at, weights=values, minlength=classes)[some] / number[some]
    low, high = first + (number - 1) // 2, first + number // 2
    median[some] = (ordered[low[some]] + ordered[high[some]]) / 2
    return mean, median
