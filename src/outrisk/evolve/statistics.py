"""p-values on the scale of the statistic that has them under the normal distribution, nearly linear in a coefficient
and its standard error: a p-value itself is next to flat from afar, and its slope says nothing of the way.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from outrisk.problem.blocks import Array

LEAST = 0.1  # standard errors that a statistic is to be beyond the end of an open range
FREE = 1e3  # standard errors that it may move by once it is


def of_p_values(p: Array, low: Array, high: Array) -> tuple[Array, Array, Array, Array]:
    """The statistics (k,) of p-values, up to 2 where their sign is not the published one; their slopes in the p-values;
    where they should lie, and by how much they may be off that, where p-values lie between `low` and `high` (k,).

    A p-value of 0 says that its statistic is large, and no more.
    """
    with np.errstate(all="ignore"):
        now, most, least = (norm.isf(np.clip(each, 0.0, 2.0) / 2.0) for each in (p, low, high))
        slopes = -0.5 / norm.pdf(now)
    free = ~np.isfinite(most)
    aim = np.where(free, np.maximum(now, least + LEAST), (least + most) / 2.0)
    return now, slopes, aim, np.where(free, np.where(now < aim, LEAST, FREE), (most - least) / 2.0)
