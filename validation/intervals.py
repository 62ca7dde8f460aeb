"""What of the coverage of 95 % intervals is chance, and by how much intervals that cover too little fall short."""

from __future__ import annotations

from typing import Any

import numpy as np
from null import covered
from scipy import stats

from outrisk.result_row import NORMAL

_HELD, _LEVEL = 0.95, 0.05
_ASKED = (0.92, 0.98)
_FEW = 0.90  # coverage below which an interval is told to be too narrow


def within(rows: list[list[dict[str, Any]]]) -> str:
    """Of the null releases' columns that are shown, how many are within what is asked, and which are beyond chance."""
    counts = []
    for pairs in rows:
        draws = [draw for pair in pairs for draw in pair["null"]]
        shares = covered(draws, 0.0)[:, [-1, -2]].ravel()  # the mean over key sets, all keys
        counts += [(round(share * len(draws)), len(draws)) for share in shares.tolist()]
    inside = sum(_within(*each) for each in counts)
    chance = sum(float(stats.binom.pmf([k for k in range(n + 1) if _within(k, n)], n, _HELD).sum()) for _, n in counts)
    beyond = [
        f"{count / n:.2f}" for count, n in counts if stats.binomtest(count, n, _HELD).pvalue < _LEVEL / len(counts)
    ]
    return (
        f"Of the {len(counts)} coverages of single columns that are shown {inside} are within 0.92 to 0.98; if every "
        f"interval covered exactly 0.95, {chance:.1f} would be (binomial). Beyond chance, at a level of 5 % for all of "
        f"them together: {', '.join(beyond) or 'none'}."
    )


def _within(count: int, n: int) -> bool:
    return _ASKED[0] <= count / n <= _ASKED[1]


def short(rows: list[list[dict[str, Any]]]) -> str:
    """Where there is risk: on which side intervals miss, which cover too little, and by how much they are short."""
    below, above, risks, gaps = list[float](), list[float](), list[float](), list[float]()
    few = columns = 0
    for pairs in rows:
        own = [pair["own"] for pair in pairs]
        difference, error = (np.array([row[name] for row in own]) for name in ("difference", "error"))
        truth = difference.mean(axis=0)
        low, high = difference - NORMAL * error, difference + NORMAL * error
        below.append(float((high < truth).mean()))
        above.append(float((low > truth).mean()))
        narrow = covered(own, truth) < _FEW
        gap = np.maximum(truth - high, 0.0).max(axis=0)
        few, columns = few + int(narrow.sum()), columns + narrow.size
        risks += truth[narrow].tolist()
        gaps += gap[narrow].tolist()
    under, over = (f"{100 * np.mean(side):.0f} %" for side in (below, above))
    sides = f"{under} of all these intervals lie below what is true, {over} above."
    if not risks:
        return f"{sides} No column is covered in less than {_FEW:g} of draws."
    return (
        f"{sides} Covered in less than {_FEW:g} of draws are {few} of {columns} columns: their marginal risk is "
        f"{np.median(risks):.4f} in the median and {max(risks):.4f} at most; their upper limits are short of it by at "
        f"most {np.median(gaps):.4f} in the median column, and by at most {max(gaps):.4f} in any."
    )
