"""What prints of quantile regressions say of the quantile and of their standard errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from outrisk.errors import OutputError
from outrisk.outputs.regression.quantile_errors import ERRORS
from outrisk.outputs.regression.quantile_regression_entry import QuantileRegressionEntry
from outrisk.outputs.regression.release import INFERENCE
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.printed_number import read_printed
from outrisk.readers.remarks import remark

STATA = r"Median regression|\.\d+ Quantile regression"
_NUMBER = r"(-?[\d,]*\.?\d+(?:e[-+]?\d+)?)"
_OF_STATA = {
    "raw_deviations": rf"Raw sum of deviations\s+{_NUMBER}",
    "raw_quantile": rf"Raw sum of deviations.*\(about\s+{_NUMBER}\)",
    "deviations": rf"Min sum of deviations\s+{_NUMBER}",
}
_LIMITS = ("lower", "upper")


def of_stata(text: str) -> tuple[str, Mapping[str, str]] | None:
    """The quantile of a log of Stata's qreg, and texts of its own numbers by part; None for another command."""
    title = re.search(rf"^\s*({STATA})\b", text, re.M)
    if not title:
        return None
    single = {part: found[1] for part, pattern in _OF_STATA.items() if (found := re.search(pattern, text))}
    return "0.5" if title[1].startswith("Median") else title[1].split()[0], single


def of_quantile(
    table: Coefficients, entry: QuantileRegressionEntry, place: str
) -> tuple[QuantileRegressionEntry, Coefficients]:
    """The entry with the quantile, the program and the standard errors of a print, where it does not say them itself;
    and the table, without inference where it is not known how that was made. OutputError where both differ.
    """
    said, new = entry.model_fields_set, dict[str, Any]()
    if isinstance(entry.tau, tuple) and len(entry.tau) > 1:
        raise OutputError(
            f"{place}: values are of one quantile, the output has {list(entry.tau)}; write an output each"
        )
    own = entry.tau[0] if isinstance(entry.tau, tuple) else entry.tau
    theirs = read_printed(table.tau)
    if theirs is None:
        if "tau" not in said:
            raise OutputError(f"{place}: the table does not say of which quantile it is; give the output its 'tau'")
    elif "tau" not in said:
        new["tau"] = theirs.value
    elif abs(own - theirs.value) > theirs.half:
        raise OutputError(
            f"{place}: the table is of the quantile {table.tau}, the output says tau: {own:g}; correct it"
        )
    if table.by and "program" in said and entry.program != table.by:
        raise OutputError(f"{place}: the table is by {table.by}, the output says program: {entry.program}; correct it")
    new |= {"program": table.by} if table.by and "program" not in said else {}
    program = new.get("program", entry.program)
    robust = table.robust if program == "stata" else ""
    printed = {"robust": "robust", "nonrobust": "iid"}.get(robust, "")
    if printed and entry.errors and entry.errors != printed:
        raise OutputError(
            f"{place}: its standard errors are {printed}, the output says errors: {entry.errors}; correct it"
        )
    if printed and not entry.errors:
        new["errors"] = printed
    elif not printed and not entry.errors and any({*INFERENCE, *_LIMITS} & {*texts} for _, texts in table.rows):
        known = " or ".join(ERRORS[program])
        remark(place, f"which standard errors they are it does not say: left out; give the output its errors ({known})")
        rows = [(name, {"coefficients": texts.get("coefficients", "")}) for name, texts in table.rows]
        table = replace(table, rows=tuple(rows))
    return QuantileRegressionEntry.model_validate(entry.model_dump(exclude_unset=True) | new), table
