"""A holdout that looks as if its records were those of the data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from outrisk.assess.look.finding import LIKE_DATA, Found
from outrisk.microdata import Microdata

_PART, _MOST = 0.2, 5_000  # of the data, and records at most, that are looked for among the others
_MORE, _ERRORS = 0.1, 5.0  # of those that could be more, and standard errors, by which a holdout has more alike


def alike_holdout(original: Microdata, holdout: Microdata | None) -> Iterator[Found]:
    """Whether far more records of the holdout stand in the data, alike in all variables, than records of the data stand
    among the others of the data: then some of its people are in the data, and have no lower risk for being in neither.
    """
    if holdout is None:
        return
    codes = np.vstack([original.codes, holdout.codes])
    _, kinds = np.unique(codes, axis=0, return_inverse=True)
    own, other = kinds.ravel()[: len(original)], kinds.ravel()[len(original) :]
    number = min(int(_PART * len(own)), len(other), _MOST)
    if not number:
        return
    drawn = np.zeros(len(own), np.bool_)
    drawn[np.random.default_rng(0).permutation(len(own))[:number]] = True
    usual, found = _share(own[drawn], own[~drawn]), _share(other, own)
    error = np.hypot(_error(usual, number), _error(found, len(other)))
    same = len(own) == len(other) and bool((np.sort(own) == np.sort(other)).all())
    if same or found > usual + _MORE * (1.0 - usual) + _ERRORS * error:
        many = "All" if found == 1.0 else f"{100 * found:.0f} % of"
        what = (
            f"{many} {len(other):,} records of the holdout stand in the data, alike in all variables, while of the "
            f"data's own {100 * usual:.0f} % have another one alike: people who are on both sides are compared with "
            "themselves, and risks may read lower than they are."
        )
        advice = "Give a holdout of people who are not in the data, or leave it out: halves of the data do as well."
        yield Found(LIKE_DATA, False, "all outputs", 0, 0, what, "", advice)


def _error(share: float, number: int) -> float:
    """The standard error of a share of a number of records, of which one more has it and one has not."""
    p = (share * number + 1.0) / (number + 2.0)
    return float(np.sqrt(p * (1.0 - p) / number))


def _share(some: NDArray[np.int64], among: NDArray[np.int64]) -> float:
    return float(np.isin(some, among).mean())
