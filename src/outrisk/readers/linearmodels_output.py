"""Printed summaries of linearmodels' IV2SLS."""

from __future__ import annotations

import re

from outrisk.errors import OutputError
from outrisk.outputs.regression.sandwich import Estimator
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.source import Source

_TITLE = re.compile(r"^\s*(\S.*?) Estimation Summary\s*$", re.M)
_HEAD = re.compile(r"^\s*Parameter\s+Std\. Err\.\s+T-stat\s+P-value\s+Lower CI\s+Upper CI\s*$")
_PARTS = ("coefficients", "standard_errors", "statistic", "p_values", "lower", "upper")
_SINGLE = {
    "n": r"No\. Observations:\s+(\d+)",
    "r2": r"(?<!Adj\. )R-squared:\s+(\S+)",
    "r2_adjusted": r"Adj\. R-squared:\s+(\S+)",
}
_ERRORS: dict[str, tuple[Estimator, Estimator]] = {  # of a covariance, without and with n - K below
    "unadjusted": ("", ""),
    "homoskedastic": ("", ""),
    "robust": ("HC0", "HC1"),
    "clustered": ("CR0", "CR1S"),
}


def recognises(source: Source) -> bool:
    """Whether it has the head of its coefficients."""
    return any(_HEAD.match(line) for line in source.lines)


def read(source: Source, model: int | None = None) -> Coefficients:
    """The model; OutputError for another estimator than two-stage least squares."""
    text, place = source.text, source.name
    title = _TITLE.search(text)
    if title is None or title[1] != "IV-2SLS":
        said = title[1] if title else "a model"
        raise OutputError(f"{place}: it is linearmodels' {said}, which is not known; IV2SLS is")
    at = next(number for number, line in enumerate(source.lines) if _HEAD.match(line))
    rows = []
    for line in source.lines[at + 2 :]:
        cells = line.split()
        if len(cells) <= len(_PARTS) or line.startswith("="):
            break
        texts = dict(zip(_PARTS, cells[-len(_PARTS) :], strict=True))
        rows.append((" ".join(cells[: -len(_PARTS)]), {key: each for key, each in texts.items() if key != "statistic"}))
    single = {part: found[1] for part, pattern in _SINGLE.items() if (found := re.search(pattern, text))}
    small = bool(re.search(r"^Debiased:\s*True", text, re.M))
    test = re.search(r"F-statistic:\s+(\S+)", text)
    single |= {"f" if small else "wald": test[1]} if test else {}
    covariance = re.search(r"Cov\. Estimator:\s+(\S+)", text)
    kind = covariance[1] if covariance else ""
    kind += " by two" * ("Covariance (Two-Way)" in text)
    known = _ERRORS.get(kind)
    response = re.search(r"Dep\. Variable:\s+(\S+)", text)
    return Coefficients(
        tuple(rows),
        single=single,
        own_digits=True,
        kind="iv",
        response=response[1] if response else "",
        robust="nonrobust" if known and not known[0] else kind,
        covariance=known[small] if known else "",
        clustered=kind == "clustered",
        by="linearmodels",
        small=small,
        endogenous=_list(text, "Endogenous"),
        instruments=_list(text, "Instruments"),
    )


def _list(text: str, what: str) -> tuple[str, ...]:
    found = re.search(rf"^{what}:\s*(.+?)\s*$", text, re.M)
    return tuple(each.strip() for each in found[1].split(",")) if found else ()
