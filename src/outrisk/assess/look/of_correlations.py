"""Means and standard deviations beside correlations: subsets with one value, of one or two people, or dominated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from outrisk.appetite import Appetite
from outrisk.assess.look.contributions import all_alike
from outrisk.assess.look.finding import Found
from outrisk.assess.look.of_fitted import cells_by
from outrisk.assess.look.of_means import Mean, told_by_means
from outrisk.assess.look.told import complete
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output, Subset, both
from outrisk.outputs.conditions.banded import written_name
from outrisk.outputs.smooth.correlations import Correlations, Statistic
from outrisk.outputs.tables.magnitudes import Magnitudes
from outrisk.problem.released import half_digit


def of_correlations(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """The rules of tables of means, held against the means beside correlations. A standard deviation or variance that
    is printed as 0 tells, beside the mean, that all have one value, if one person at the next would be printed. Who
    dominates where n is printed elsewhere is said elsewhere (`sums_dominated`).
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
            more = 0.0 if "n" in output.statistics else np.inf
            yield from told_by_means(output.name, name, [Mean(cell, mean, more)], support, data, appetite)


def as_means(outputs: Sequence[Output]) -> list[Output]:
    """Tables, named as the correlations beside which the same means, standard deviations and n are printed: of each
    variable, of the records that lack none.
    """
    found: list[Output] = []
    for output in outputs:
        if isinstance(output, Correlations) and {"mean", "sd"} & set(output.statistics):
            gaps = [name for name in output.variables if output.codebook[name].missing]
            digits = {each: int(at) for (each, _), at in zip(output.numbers, output.decimals, strict=True)}
            shown = [("count", 0)] * ("n" in digits) + [
                (each, digits[each]) for each in ("mean", "sd") if each in digits
            ]
            names, places = zip(*shown, strict=True)
            for name in output.variables:
                where = both(output.where, *(f"{written_name(each)}.notna()" for each in gaps if each != name))
                found.append(Magnitudes(output.codebook, output.name, name, (), names, where, digits=places))
    return found
