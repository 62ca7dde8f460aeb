"""By person: of how many people the target is inferred rightly run after run, in the data and in the holdout."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from outrisk.microdata import Microdata
from outrisk.risk.intervals.closed import interval, sample

if TYPE_CHECKING:
    from outrisk.assess.run import RunResult

CONSISTENT = 0.9  # of the runs
COLUMNS = [
    "level", "inference", "runs", "people_original", "right_original", "share_original", "people_holdout",
    "right_holdout", "share_holdout", "difference", "low", "high", "reason",
]  # fmt: skip
INFERENCES = ("certain", "most frequent")
Right = Mapping[str, NDArray[np.bool_]]  # inference -> (n_records,)


def inferred_rightly(synthetic: Microdata, attacked: Microdata, keys: Sequence[str], target: str, tau: float) -> Right:
    """Whose target the synthetic records with the same keys give rightly, (n_records,) for each of INFERENCES.

    `certain`: at least the share `tau` of these records holds the person's value (as TCAP asks of its records).
    `most frequent`: more of them hold it than any other value. Where no record has the keys, nothing is inferred.
    """
    columns = [synthetic.codebook.index(name) for name in keys]
    at = synthetic.codebook.index(target)
    n_levels = synthetic.codebook.sizes[at]
    both = np.vstack([synthetic.codes[:, columns], attacked.codes[:, columns]])
    sizes = [synthetic.codebook.sizes[column] for column in columns]
    if math.prod(sizes) < 2**62:  # else rows are compared as they are, which is slower
        both = np.ravel_multi_index(tuple(both.T.astype(np.int64)), tuple(sizes))
    classes = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
    mine, theirs = classes[: len(synthetic)], classes[len(synthetic) :]
    cells, counts = np.unique(mine * n_levels + synthetic.codes[:, at], return_counts=True)
    of = cells // n_levels
    totals = np.bincount(mine, minlength=int(classes.max()) + 1)
    certain = counts >= totals[of] if tau == 1 else counts >= tau * totals[of]
    most = np.zeros(len(totals), dtype=np.int64)
    np.maximum.at(most, of, counts)
    held_by = np.bincount(of[counts == most[of]], minlength=len(totals))
    frequent = (counts == most[of]) & (held_by[of] == 1)
    own = theirs * n_levels + attacked.codes[:, at]
    return {"certain": np.isin(own, cells[certain]), "most frequent": np.isin(own, cells[frequent])}


def people_rows(results: Sequence[RunResult]) -> Iterator[dict[str, Any]]:
    """A row for each level and inference: people of all its folds whose target is right in 90 % of the fold's runs.

    Shares lie in [0, 1], larger = riskier. low, high: 95 % interval of the difference of the shares (Agresti and Caffo,
    2000) as of independent samples. Where folds are each other's holdout everybody stands on both sides, and what the
    keys say of a person counts on both: the interval is then wider than it need be.
    """
    for level, part in groupby(results, key=lambda result: result.job.fold.level):
        folds = [list(runs) for _, runs in groupby(part, key=lambda result: result.job.fold.index)]
        for inference in INFERENCES:
            sides = {side: _consistent(folds, side, inference) for side in ("original", "holdout")}
            yield {
                "level": level,
                "inference": inference,
                "runs": min(len(runs) for runs in folds),
                **_counts(sides["original"], sides["holdout"]),
            }


def _consistent(folds: Sequence[Sequence[RunResult]], side: str, inference: str) -> NDArray[np.bool_]:
    """Whose target is right in enough runs of their fold, the people of all folds one after the other."""
    shares = [np.mean([run.right[side][inference] for run in runs], axis=0) for runs in folds if side in runs[0].right]
    return np.concatenate([*shares, np.zeros(0)]) >= CONSISTENT - 1e-9


def _counts(original: NDArray[np.bool_], holdout: NDArray[np.bool_]) -> dict[str, Any]:
    sides = {"original": original, "holdout": holdout}
    row: dict[str, Any] = {"reason": "" if len(holdout) else "no holdout"}
    for side, right in sides.items():
        row |= {
            f"people_{side}": len(right),
            f"right_{side}": int(right.sum()),
            f"share_{side}": float(right.mean()) if len(right) else np.nan,
        }
    row["difference"] = row["share_original"] - row["share_holdout"]
    row["low"] = row["high"] = np.nan
    if len(holdout):
        scores = [sample(right.astype(float), np.ones(len(right))) for right in sides.values()]
        row["low"], row["high"] = interval(*scores)
    return row
