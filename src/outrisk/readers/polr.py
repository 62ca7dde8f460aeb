"""Ordered regressions of R: polr of the package MASS, printed or as CSV, and what `broom::tidy` says of others."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from outrisk.errors import OutputError
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.r_call import call_of, hold
from outrisk.readers.rows_of_shape import near_maximum

HEAD = re.compile(r"\s*Value\s+Std\. Error\s+t value\s*$")  # of the coefficients, and of the thresholds below them
_KINDS = {"logistic": "ologit", "probit": "oprobit"}


def as_ordered(table: Coefficients, types: Collection[str], place: str) -> Coefficients:
    """A CSV table of an ordered regression; `types` are those that tidy gives its rows, 'coefficient' and 'scale' of a
    polr, whose exp(b) are those of thresholds as well, and whose p-values are of likelihood ratios: these are left out.
    """
    if not set(types) <= {"coefficient", "scale"}:
        if table.exponentiated:
            raise OutputError(
                f"{place}: its rows are {', '.join(sorted(set(types)))}, and which of them are exponentiated it does "
                "not say; write it without exponentiate"
            )
        return replace(table, ordered=True)
    rows = [(name, {part: text for part, text in texts.items() if part != "p_values"}) for name, texts in table.rows]
    return replace(
        table,
        rows=tuple(near_maximum(rows, table.exponentiated, own=False, comma=table.comma)),
        ordered=True,
        profiled=any(texts.get("lower") for _, texts in rows),
    )


def of_summary(table: Coefficients, text: str, place: str) -> Coefficients:
    """A printed summary of a polr, or of the package survey's svyolr, with what its call says: the kind, the weight."""
    if not any("|" in name for name, _ in table.rows):
        raise OutputError(f"{place}: it has coefficients by 'Value' and no thresholds; of these only polr's are known")
    called = call_of(text)
    hold(called, ("polr", "svyolr"), place)
    call = re.search(r"\bpolr\((.*?)\n\s*\n", text, re.S)
    method = re.search(r"\bmethod\s*=\s*\"(\w+)\"", call[1]) if call else None
    if method and method[1] not in _KINDS:
        raise OutputError(f"{place}: a polr by method '{method[1]}' is not known; known are {', '.join(_KINDS)}")
    weight = re.search(r"\bweights\s*=\s*([\w.]*)", call[1]) if call else None
    survey = re.search(r"\bsvyolr\(", text) is not None
    of_weighted = weight is not None or survey
    return replace(
        table,
        rows=tuple(near_maximum(table.rows)),
        single={} if of_weighted else table.single,
        unread=("the residual deviance",) if of_weighted else (),
        kind=_KINDS[method[1] if method else "logistic"] if call else "",
        ordered=True,
        response=called.response,
        subset=called.subset,
        of_all=bool(called.function) and not called.subset,
        unweighted=called.function == "polr" and not of_weighted,
        robust="design-based" if survey else "",
        weighted=of_weighted,
        weight=weight[1] if weight else "",
    )
