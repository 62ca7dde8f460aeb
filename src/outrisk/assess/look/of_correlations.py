"""Means and standard deviations beside correlations: subsets with one value, of one or two people, or dominated."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from outrisk.appetite import Appetite
from outrisk.assess.look.contributions import all_alike
from outrisk.assess.look.finding import Found
from outrisk.assess.look.of_fitted import cells_by
from outrisk.assess.look.of_means import Mean, told_by_means
from outrisk.assess.look.told import complete
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output, Subset
from outrisk.outputs.smooth.correlations import Correlations, Statistic
from outrisk.problem.released import half_digit


def of_correlations(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """The rules of tables of means, held against the means beside correlations. A standard deviation or variance that
    is printed as 0 tells, beside the mean, that all have one value, if one person at the next would be printed.
    """
    if not isinstance(output, Correlations):
        return
    rows = complete(data, output.where, output.name, output.variables)
    if not len(rows):
        return
    half = {numbers: float(half_digit(at)) for numbers, at in zip(output.numbers, output.decimals, strict=True)}
    subset, label = Subset(output.codebook, output.where, output.name), output.where or "all records"
    for at, name in enumerate(output.variables):
        variable = data.codebook[name]
        if name in subset.variables and len(subset.levels(name)) < 2:
            continue  # which `where` says already
        support = np.array(variable.values, dtype=np.float64)
        values = support[data.codes[rows, data.codebook.index(name)]]
        (cell,) = cells_by(np.zeros(len(rows), np.intp), [label], values, rows, data)
        statistic: dict[str, tuple[Statistic, tuple[int, ...]]] = {
            "mean": ("mean", (at,)),
            "sd": ("sd", (at,)),
            "variance": ("covariance", (at, at)),
        }
        mean, sd, variance = (half.get(each) for each in statistic.values())
        alike, step = values.min() == values.max(), float(np.diff(support).min(initial=np.inf))
        shows = (sd is not None and step / np.sqrt(len(rows)) > sd) or (
            variance is not None and step**2 / len(rows) > variance
        )
        if alike and shows and len(rows) > 1:
            yield all_alike(output.name, name, [cell], data, mean is not None and 2.0 * mean < step)
        elif mean is not None:
            yield from told_by_means(output.name, name, [Mean(cell, mean)], support, data, appetite)
