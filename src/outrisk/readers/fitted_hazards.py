"""A fitted PHReg of statsmodels (Cox's model) as an entry of kind `custom`: a function that fits it afresh."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from outrisk.codebook import format_value
from outrisk.errors import OutputError
from outrisk.grammar import named_in
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Output
from outrisk.readers.fitted import CLOSE, column_of, dummy_of, fitted_on

_DECIMALS = 4


def is_hazards(fit: Any) -> bool:
    """Whether a fitted model is one of proportional hazards."""
    return type(fit.model).__name__ == "PHReg"


def read_hazards(fit: Any, records: pd.DataFrame, given: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The entry: log hazard ratios and their standard errors, by a function that fits the same model to a data frame.

    OutputError where a part of the model cannot be told from the records that it was fitted on.
    """
    model = fit.model
    for what in ("offset", "entry"):
        if getattr(model, what, None) is not None:
            raise OutputError(f"{place}: a fitted PHReg with '{what}' is not known; write it as an outrisk.Custom")
    records = fitted_on(model, records, str(given.get("where", "")), place)
    status, roles = np.asarray(model.status, dtype=float), dict[str, str]()
    event = None if np.all(status == 1.0) else _event(status, records, place)
    if event is not None:
        roles["events"] = event[0]
    if model.strata is not None:
        roles["strata"] = _named(np.asarray(model.strata, dtype=float), "", records, f"{place}: the strata of the fit")
    formula = getattr(model, "formula", None)
    if formula is None:
        columns = [_named(np.asarray(model.endog, dtype=float), "", records, f"{place}: the times of the fit")]
        for values, name in zip(np.asarray(model.exog, dtype=float).T, model.exog_names, strict=True):
            columns.append(_named(values, str(name), records, f"{place}: column '{name}' of the fit's matrix"))
    else:
        columns = named_in(formula, map(str, records.columns))
    names = [str(name) for name in model.exog_names]
    return {
        "kind": "custom",
        "function": _again(formula, columns, event, roles.get("strata"), model.ties),
        "variables": list(dict.fromkeys([*columns, *roles.values()])),
        "labels": [*names, *(f"SE of {name}" for name in names)],
        "decimals": _DECIMALS,
    } | dict(given)


def check_hazards(fit: Any, output: Output, data: Microdata, place: str) -> None:
    """OutputError unless the fit's numbers are those that the function gives on the data."""
    found, refit = _numbers(fit), output.refit(data)
    far = np.abs(found - refit) > CLOSE * 10.0 ** -output.decimals.astype(float)
    if far.any():
        at = int(np.argmax(far))
        digits = int(output.decimals[at]) + 2
        raise OutputError(
            f"{place}: {output.labels[at]} is {found[at]:.{digits}f} in the fit and {refit[at]:.{digits}f} by a refit "
            "on the data; give the data that it was fitted on, or say which part: Fitted(fit, where=...)"
        )


def _again(
    formula: str | None, columns: list[str], event: tuple[str, str | None] | None, strata: str | None, ties: str
) -> Callable[[pd.DataFrame], Array]:
    from statsmodels.duration.hazard_regression import PHReg  # few sessions fit one

    def phreg(frame: pd.DataFrame) -> Array:
        frame, options = frame.dropna(), dict[str, Any](ties=ties)
        if event is not None:
            column, level = event
            status = frame[column] if level is None else frame[column] == level
            options["status"] = np.asarray(status, dtype=float)
        if strata is not None:
            options["strata"] = frame[strata].to_numpy()
        if formula is not None:
            return _numbers(PHReg.from_formula(formula, frame, **options).fit())
        times, *covariates = columns
        return _numbers(PHReg(frame[times].to_numpy(float), frame[covariates].to_numpy(float), **options).fit())

    return phreg


def _numbers(fit: Any) -> Array:
    return np.concatenate([np.asarray(fit.params, dtype=float), np.asarray(fit.bse, dtype=float)])


def _event(status: Array, records: pd.DataFrame, place: str) -> tuple[str, str | None]:
    """The column that says who has an event; and which of its levels does, where it is not 0 and 1."""
    column = column_of(status, "", records)
    if column is not None:
        return column, None
    try:
        column, level = dummy_of(status, "status", records, place)
    except OutputError:
        raise OutputError(
            f"{place}: the events (status) of the fit are no column of the data, and no level of one; give the data "
            "that it was fitted on, or say which part: Fitted(fit, where=...)"
        ) from None
    return column, format_value(level)


def _named(values: Array, name: str, records: pd.DataFrame, what: str) -> str:
    column = column_of(values, name, records)
    if column is None:
        raise OutputError(f"{what} is no column of the data; add it to them, or fit it by a formula")
    return column
