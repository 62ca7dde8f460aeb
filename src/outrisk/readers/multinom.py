"""A printed summary of R's nnet::multinom: a matrix of coefficients and one of standard errors, outcomes by terms."""

from __future__ import annotations

import re
from collections.abc import Sequence

from outrisk.errors import OutputError
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.r_call import call_of, hold
from outrisk.readers.r_model import of_deviance

DECIMALS = 3  # nnet stops its search within about 2e-4 of the maximum


def of_summary(text: str, place: str) -> Coefficients:
    """The regression; OutputError where its matrices are not of the same outcomes and terms."""
    called = call_of(text)
    hold(called, ("multinom",), place)
    b, errors = (_matrix(text, title) for title in ("Coefficients", r"Std\. Errors"))
    if not b or {*b} != {*errors}:
        raise OutputError(
            f"{place}: its matrices of coefficients and standard errors cannot be read; give what broom::tidy gives"
        )
    return Coefficients(
        tuple(
            (term, {"coefficients": _rounded(cell), "standard_errors": _rounded(errors[outcome, term])})
            for (outcome, term), cell in b.items()
        ),
        single=of_deviance(text),
        kind="mnlogit",
        response=called.response,
        subset=called.subset,
        of_all=bool(called.function) and not called.subset,
        weighted="weights" in called.arguments,
        weight=called.arguments.get("weights", ""),
        outcomes=tuple(outcome for outcome, _ in b),
    )


def _rounded(cell: str) -> str:
    """A number to the decimals that a search of nnet leaves."""
    return f"{float(cell):.{DECIMALS}f}"


def _matrix(text: str, title: str) -> dict[tuple[str, str], str]:
    """Cells by outcome and term, of as many blocks of columns as R wraps the matrix in; {} where it is none."""
    found = re.search(rf"^{title}:[ \t]*\n((?:[^\n]*\S[^\n]*\n?)+)", text, re.M)
    cells: dict[tuple[str, str], str] = {}
    terms: Sequence[str] = ()
    for line in found[1].splitlines() if found else ():
        if line[0].isspace():
            terms = line.split()
            continue
        outcome, *numbers = line.rsplit(None, len(terms))
        if len(numbers) != len(terms) or not all(re.fullmatch(r"-?[\d.]+(?:e[-+]?\d+)?", each) for each in numbers):
            return {}
        cells |= {(outcome, term): number for term, number in zip(terms, numbers, strict=True)}
    return cells
