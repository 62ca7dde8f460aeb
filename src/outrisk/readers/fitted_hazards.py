"""A fitted PHReg of statsmodels (Cox's model) as the entry of a study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from outrisk.codebook import format_value
from outrisk.errors import OutputError
from outrisk.outputs.base import Array
from outrisk.readers.fitted import column_of, dummy_of, fitted_on, formula_of_fit


def is_hazards(fit: Any) -> bool:
    """Whether a fitted model is one of proportional hazards."""
    return type(fit.model).__name__ == "PHReg"


def read_hazards(fit: Any, records: pd.DataFrame, given: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The entry of the Cox model: its formula, who has the event, strata and ties, as the records have them.

    OutputError where a part of the model cannot be told from the records that it was fitted on.
    """
    model = fit.model
    for what in ("offset", "entry"):
        if getattr(model, what, None) is not None:
            raise OutputError(f"{place}: a fitted PHReg with '{what}' is not known; write it as an outrisk.Custom")
    records = fitted_on(model, records, str(given.get("where", "")), place)
    status = np.asarray(model.status, dtype=float)
    entry: dict[str, Any] = {"kind": "cox", "formula": formula_of_fit(model, records, place), "ties": model.ties}
    entry |= {"status": ""} if np.all(status == 1.0) else _event(status, records, place)
    if model.strata is not None:
        entry["strata"] = _strata(np.asarray(model.strata), records, place)
    return entry | {"release": ["coefficients", "standard_errors"]} | dict(given)


def _strata(strata: NDArray[Any], records: pd.DataFrame, place: str) -> str:
    """The column that sets the same records apart, whatever it calls them."""
    codes = pd.factorize(strata)[0]
    for column in map(str, records.columns):
        if len(records) == len(codes) and np.array_equal(pd.factorize(records[column])[0], codes):
            return column
    raise OutputError(f"{place}: the strata of the fit are no column of the data; add them to it")


def _event(status: Array, records: pd.DataFrame, place: str) -> dict[str, str]:
    """The column that says who has an event; and which of its levels does, where it is not 0 and 1."""
    column = column_of(status, "", records)
    if column is not None:
        return {"status": column}
    try:
        column, level = dummy_of(status, "status", records, place)
    except OutputError:
        raise OutputError(
            f"{place}: the events (status) of the fit are no column of the data, and no level of one; give the data "
            "that it was fitted on, or say which part: Fitted(fit, where=...)"
        ) from None
    return {"status": column, "event": format_value(level)}
