"""Margins that another output would print as they are: proportions or means of cells, differences of two proportions,
and coefficients of linear regressions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from outrisk.codebook import format_value
from outrisk.outputs.base import both
from outrisk.outputs.conditions.banded import written_name
from outrisk.outputs.regression.margin_quantities import Quantity
from outrisk.outputs.regression.marginal_effects import Margins
from outrisk.outputs.regression.regression import Regression
from outrisk.outputs.regression.release import INFERENCE
from outrisk.outputs.smooth.association import Association
from outrisk.outputs.smooth.proportions import Proportions
from outrisk.outputs.tables.frequencies import Frequencies
from outrisk.outputs.tables.magnitudes import Magnitudes

_MOST_CELLS = 5_000
_CANONICAL = ("ols", "logit", "poisson")  # fitted values sum to the response where there is a constant
_LEAST = 1e-9  # of a coefficient's share in a margin

Alike = Proportions | Magnitudes | Frequencies | Association | Regression


def same_as(output: Margins) -> Iterator[Alike]:
    """Outputs of the same name and records that print what these margins are, where there are any."""
    for named in output.predictions:
        names = tuple(named.split(":")) if named else ()
        if _are_of_cells(output, names):
            yield from _of_cells(output, names)
    yield from _differences(output)
    linear = as_regression(output)
    if linear is not None:
        yield linear


def as_proportions(output: Margins) -> Iterator[Proportions]:
    """What predictive margins are, where they are proportions: of the records at each combination of levels, if that is
    all that the model asks and it has as many columns; of all records, if fitted values sum to the response.

    Their standard errors are then those of proportions, and tell how many records there are; errors by clusters, or
    those of ols by the model, do not.
    """
    return (each for each in same_as(output) if isinstance(each, Proportions))


def _of_cells(output: Margins, names: tuple[str, ...]) -> Iterator[Alike]:
    """Proportions, or means; with weights those of them."""
    response, codebook = output.regression.response.side.name, output.codebook
    if response not in codebook or response in names:
        return
    event, digits, values = _event(output, response), int(output.release.digits(1)[0]), codebook[response].values
    where = _complete(output, {response, output.weight})
    whole = "n" in output.release.parts and not names and not output.weight
    if event and not output.weight and output.model != "poisson":
        statistics, places = _errors(output, names)
        if whole:
            statistics.append("n")
        yield Proportions(
            codebook,
            output.name,
            response,
            names,
            ("proportion", *statistics),  # type: ignore[arg-type]
            interval="normal" if "limits" in statistics else "exact",
            level=output.release.level,
            event_value=event,
            places={"proportion": digits, **places},
            where=_complete(output, {*names, response}),
        )
    elif codebook[response].numeric and _is_itself(output, response):
        of_all = ("mean", "count") if whole else ("mean",)
        yield Magnitudes(
            codebook,
            output.name,
            response,
            names,
            of_all,  # type: ignore[arg-type]
            where,
            output.weight,
            (digits, 0)[: len(of_all)],
        )
    elif event and len(values) == 2:
        by, percent = (*names, response), max(digits - 2, 0)
        where = _complete(output, {output.weight})
        yield Frequencies(codebook, output.name, by, where, "row_percentages", weight=output.weight, digits=percent)


def _errors(output: Margins, names: tuple[str, ...]) -> tuple[list[str], dict[str, int]]:
    """Which of a proportion's errors are printed, or follow from what is, and their digits."""
    errors, digits = _errors_of_proportions(output) if names else "", _digits(output)
    if not errors or not {"standard_errors", "confidence_limits"} & set(digits):
        return [], {}
    if "standard_errors" in digits:
        return ["standard error"], {"standard error": digits["standard_errors"]}
    return [errors], {errors: digits["confidence_limits"]}


def _digits(output: Margins) -> dict[str, int]:
    """Of each released part."""
    digits = output.release.digits(1)
    return {part: int(digits[place.start]) for part, place in output.release.layout(1)}


def _errors_of_proportions(output: Margins) -> str:
    """What limits of margins of a saturated model are, those of proportions ('limits') or made of the 'standard error'
    that follows from theirs and the number of records beside; '' where nothing is known of them.
    """
    meant = output.regression.covariance_meant
    if meant.cluster or output.weight or not set(INFERENCE) & set(output.release.parts):
        return ""
    plain = meant.estimator in ("HC0", "CR0") or (not meant.estimator and output.model in ("logit", "probit"))
    normal = (meant.distribution or ("t" if output.model == "ols" else "normal")) == "normal"
    if plain and normal:
        return "limits"
    follows = plain and "standard_errors" in output.release.parts
    return "standard error" if follows or ("n" in output.release.parts and (plain or meant.estimator)) else ""


def _event(output: Margins, response: str) -> str:
    """The value of the response that counts as 1, as text; '' where it is a number of its own."""
    joint, numbers = output.regression.response.table()
    variable = output.codebook[response]
    values = numbers[: len(variable.values)]
    at = np.flatnonzero(values == 1.0)
    if len(joint.variables) != 1 or len(at) != 1 or not np.isin(values, (0.0, 1.0)).all():
        return ""
    return format_value(variable.values[int(at[0])])


def _is_itself(output: Margins, response: str) -> bool:
    """Whether the response is the variable as it is."""
    joint, numbers = output.regression.response.table()
    values = np.array(output.codebook[response].values, dtype=np.float64)
    return len(joint.variables) == 1 and np.array_equal(numbers[: len(values)], values)


def _complete(output: Margins, said: set[str]) -> str:
    """Its condition, and that no variable is missing but those of which a table says it itself."""
    missing = [name for name in output.variables if output.codebook[name].missing and name not in said]
    return both(output.where, *(f"{written_name(name)}.notna()" for name in missing))


def _are_of_cells(output: Margins, names: tuple[str, ...]) -> bool:
    """Whether predictive margins at the levels of some variables are means of the records that have them."""
    if names:
        return not output.offset and _is_saturated(output, names)
    if output.at_means:
        return output.model == "ols" and output.regression.has_constant
    if output.model in _CANONICAL:
        return output.regression.has_constant
    return not output.offset and _is_saturated(output, tuple(output.quantities.designs.side.variables))


def _is_saturated(output: Margins, names: tuple[str, ...]) -> bool:
    """Whether the model has nothing but these variables, and a column for each combination of their levels."""
    designs = output.quantities.designs
    if set(designs.side.variables) != set(names) or not set(names) <= set(designs.categories):
        return False
    grid = np.meshgrid(*[designs.levels(name) for name in names], indexing="ij")
    if not names or not len(designs.side.columns) <= grid[0].size <= _MOST_CELLS:
        return False
    cells = np.zeros((grid[0].size, len(output.codebook.names)), dtype=np.int64)
    for name, codes in zip(names, grid, strict=True):
        cells[:, output.codebook.index(name)] = codes.ravel()
    return int(np.linalg.matrix_rank(designs.rows(cells))) == len(cells)


def _differences(output: Margins) -> Iterator[Association]:
    """Effects of the one category of a saturated model of a share: differences of risks, with their limits."""
    names, designs = output.dydx, output.quantities.designs
    response = output.regression.response.side.name
    if len(names) != 1 or response not in output.codebook or output.weight or output.offset or response in names:
        return
    levels = len(designs.levels(names[0])) if _is_saturated(output, names) else 0
    if levels < 2 or not (output.factors == "levels" or (output.factors == "columns" and levels == 2)):
        return
    event, digits = _event(output, response), _digits(output)
    if not event or output.model not in ("logit", "probit"):
        return
    shown: dict[tuple[str, ...], int] = {("risk difference",): digits["coefficients"]}
    if _errors_of_proportions(output) == "limits":
        if "confidence_limits" in digits:
            shown["risk difference", "limits"] = min(digits["confidence_limits"], digits["coefficients"])
        elif "standard_errors" in digits:  # of which limits are made, a digit less sure
            shown["risk difference", "limits"] = max(min(digits["standard_errors"], digits["coefficients"]) - 1, 0)
    if len(set(shown.values())) == 1 < len(shown):
        del shown["risk difference",]
    base = format_value(output.codebook[names[0]].values[designs.reference(names[0])])
    for statistics, places in shown.items():
        yield Association(
            output.codebook,
            output.name,
            response,
            names[0],
            (),
            statistics,  # type: ignore[arg-type]
            reference=base,
            event_value=event,
            level=output.release.level,
            places=places,
            where=_complete(output, {*names, response}),
        )


def as_regression(output: Margins) -> Regression | None:
    """The linear regression that prints as coefficients what these margins are: means of cells, of a model with a
    column for each, or else its slopes in columns that enter as they are. None where there is none of it.
    """
    if output.model != "ols" or output.weight:
        return None
    plain = replace(output.regression, release=output.release)
    for named in output.predictions:
        if named and _are_of_cells(output, names := tuple(named.split(":"))):
            cells = ":".join(f"C({written_name(name)})" for name in names)
            response = output.formula.partition("~")[0]
            found = replace(plain, formula=f"{response}~ {cells} - 1")
            return found if len(found.columns) == len(output.regression.columns) else None
    kept = tuple(output.regression.columns[at] for at in _slopes(output))
    return replace(plain, keep=kept) if kept else None


def _slopes(output: Margins) -> list[int]:
    """Columns whose coefficients are margins of a linear model, whoever its records are."""
    found = [at for at in (_slope(output, each) for each in output.quantities.all) if at is not None]
    return sorted(set(found))


def _slope(output: Margins, each: Quantity) -> int | None:
    """The column whose coefficient a margin is; None where it is made of several, or of records."""
    if each.column >= 0:
        return each.column
    if len(each.sides) != 2:
        return None
    first, second = (key for _, key in each.sides)
    if first[0] == "column":
        return cast(int, first[1])
    if first[0] != "levels":
        return None
    designs = output.quantities.designs
    ((name, up),), ((_, down),) = (cast(Sequence[tuple[str, int]], key[1]) for key in (first, second))
    if any(len(term.joint.variables) > 1 for term in designs.having(name)):
        return None
    codes = np.zeros((2, len(output.codebook.names)), dtype=np.int64)
    codes[:, output.codebook.index(name)] = up, down
    change = np.subtract(*designs.rows(codes))
    at = np.flatnonzero(np.abs(change) > _LEAST)
    return int(at[0]) if len(at) == 1 and abs(change[at[0]] - 1.0) < _LEAST else None
