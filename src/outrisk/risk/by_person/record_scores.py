"""Scores of each person by synthetic data: always defined, whoever has the person's keys or has not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from outrisk.risk.attribution.definitions import check_tau
from outrisk.risk.coding.classes import Equivalence

Floats = NDArray[np.float64]
MEASURES = ("attribution", "existence", "dcap", "right")
MEANING = {
    "attribution": "what the people with the same keys in the synthetic data tell of the target, beyond its "
    "distribution in them",
    "existence": "whether the synthetic data have anybody with the person's keys, in units of what that is worth for "
    "guessing the target",
    "dcap": "probability of guessing the target rightly from the synthetic people with the same keys; attribution and "
    "existence together",
    "right": "whether the synthetic people with the same keys all have one value of the target, and it is the person's",
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
