"""Predictive margins that are proportions of cells: of a model with a column for each, and of one with a constant."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from outrisk.codebook import format_value
from outrisk.outputs.regression.marginal_effects import Margins
from outrisk.outputs.regression.release import INFERENCE
from outrisk.outputs.smooth.proportions import Proportions

_MOST_CELLS = 5_000


def as_proportions(output: Margins) -> Iterator[Proportions]:
    """What its predictive margins are, where they are proportions: of the records at each combination of levels, if
    that is all that the model asks and it has as many columns; of all records, if it is a logit with a constant.

    None of a weighted model, or one with an offset, whose margins are other means. Their standard errors are then those
    of proportions, and tell how many records there are; errors by clusters, or those of ols, do not.
    """
    response = output.regression.response.side.name
    if output.weight or output.offset or output.at_means or response not in output.codebook:
        return
    event = _event(output, response)
    if not event:
        return
    for named in output.predictions:
        names = tuple(named.split(":")) if named else ()
        if not (_is_saturated(output, names) if names else output.model == "logit" and output.regression.has_constant):
            continue
        digits = output.release.digits(1)
        parts = [part for part, _ in output.release.layout(1)]
        places = {"proportion": int(digits[0])}
        errors = [part for part in INFERENCE[:2] if part in output.release.parts]
        if names and errors and output.model != "ols" and not output.covariance.cluster:
            places["standard error"] = int(digits[parts.index(errors[0])])
        yield Proportions(
            output.codebook,
            output.name,
            response,
            names,
            tuple(places),  # type: ignore[arg-type]
            event_value=event,
            places=places,
            where=output.where,
        )


def _event(output: Margins, response: str) -> str:
    """The value of the response that counts as 1, as text; '' where it is a number of its own."""
    joint, numbers = output.regression.response.table()
    variable = output.codebook[response]
    values = numbers[: len(variable.values)]
    at = np.flatnonzero(values == 1.0)
    if len(joint.variables) != 1 or len(at) != 1 or not np.isin(values, (0.0, 1.0)).all():
        return ""
    return format_value(variable.values[int(at[0])]) if output.model != "poisson" else ""


def _is_saturated(output: Margins, names: tuple[str, ...]) -> bool:
    """Whether the model has nothing but these variables, and a column for each combination of their levels."""
    designs = output.quantities.designs
    if set(designs.side.variables) != set(names):
        return False
    grid = np.meshgrid(*[designs.levels(name) for name in names], indexing="ij")
    cells = np.zeros((grid[0].size, len(output.codebook.names)), dtype=np.int64)
    for name, codes in zip(names, grid, strict=True):
        cells[:, output.codebook.index(name)] = codes.ravel()
    if not len(designs.side.columns) <= len(cells) <= _MOST_CELLS:
        return False
    return int(np.linalg.matrix_rank(designs.rows(cells))) == len(cells)
