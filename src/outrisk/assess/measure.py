"""Disclosure measures of any original and synthetic data, as sections of tables: what `outrisk measure` shows.

A family of measures is one function of FAMILIES: it takes what was asked for and returns its sections. The sections
become a plain document, which is what JSON, terminal and HTML report are made from.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from outrisk.codebook import Codebook
from outrisk.errors import RiskError
from outrisk.risk.cap import HOLDOUT
from outrisk.risk.disclosure import Disclosure, disclosure
from outrisk.risk.multi import multi_disclosure
from outrisk.risk.options import RiskWarning

_MOST_PAIRS = 20  # pairs of check_2way in the table; the note says how many there are


@dataclass(frozen=True, eq=False)
class Request:
    """What is to be measured: data frames, roles of their columns, and the families asked for."""

    original: pd.DataFrame
    synthetic: tuple[pd.DataFrame, ...]
    holdout: pd.DataFrame | None
    keys: tuple[str, ...]
    target: str
    targets: tuple[str, ...] = ()  # further ones; with them the targets are compared
    codebook: Codebook | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """A data frame under a caption; fractions are shown with `decimals`, the columns `signed` with a sign."""

    caption: str
    frame: pd.DataFrame
    decimals: int = 2
    signed: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Section:
    """One family of measures, or a part of it: tables, notes, and the name of a figure that report draws of it.

    figure: a figure of `outrisk.report.measured`; it is drawn from the first table.
    """

    name: str
    title: str
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()
    figure: str = ""


def sections(request: Request) -> list[Section]:
    """All sections asked for; RiskError where keys, target or data allow no measure."""
    if request.target in request.targets or len(set(request.targets)) < len(request.targets):
        raise RiskError(f"targets {[request.target, *request.targets]}: name each target once")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RiskWarning)  # the notes say it
        return [section for family in FAMILIES for section in family(request)]


def document(request: Request, found: Sequence[Section]) -> dict[str, Any]:
    """The sections as plain values: tables as columns and rows; NaN stays NaN."""
    return {
        "keys": list(request.keys),
        "target": request.target,
        "targets": list(request.targets),
        "records": {
            "original": len(request.original),
            "synthetic": [len(table) for table in request.synthetic],
            "holdout": 0 if request.holdout is None else len(request.holdout),
        },
        "sections": [
            {
                "name": section.name,
                "title": section.title,
                "tables": [
                    {
                        "caption": table.caption,
                        "decimals": table.decimals,
                        "signed": list(table.signed),
                        "columns": [str(column) for column in table.frame.columns],
                        "rows": table.frame.to_numpy(dtype=object).tolist(),
                    }
                    for table in section.tables
                ],
                "notes": list(section.notes),
                "figure": section.figure,
            }
            for section in found
        ],
    }


def disclosure_sections(request: Request) -> Iterator[Section]:
    """Identity, attribute and CAP measures of the target as synthpop defines them, and their checks."""
    result = disclosure(
        request.original,
        list(request.synthetic),
        request.keys,
        request.target,
        request.holdout,
        codebook=request.codebook,
    )
    tables = [
        Table("Identity disclosure, percent of records", _by_synthesis(result.identity)),
        Table("Attribute disclosure, percent of records (denominators: records)", _by_synthesis(result.attribute)),
        Table("Correct attribution probability (CAP), percent", _by_synthesis(result.cap)),
    ]
    against = _against(result) if request.holdout is not None else None
    yield Section(
        "disclosure",
        f"Disclosure of {request.target}, as synthpop defines it",
        (*([against] if against else []), *tables),
        (*result.notes, *_reasons(result)),
        "against" if against else "",
    )
    yield Section(
        "checks",
        f"Checks and profiles of {request.target}",
        (
            Table("Target levels to check (check_1way)", result.check_1way),
            Table("Pairs of target and key level to check (check_2way)", result.check_2way.head(_MOST_PAIRS)),
            Table("Records by size of their class, and by the target levels in it", result.profiles),
        ),
        (f"The first {_MOST_PAIRS} of {len(result.check_2way):,} pairs.",)
        if len(result.check_2way) > _MOST_PAIRS
        else (),
    )


def target_sections(request: Request) -> Iterator[Section]:
    """The targets compared, where several were asked for."""
    if not request.targets:
        return
    result = multi_disclosure(
        request.original,
        list(request.synthetic),
        request.keys,
        [request.target, *request.targets],
        request.holdout,
        codebook=request.codebook,
    )
    against = ["holdout", "marginal", "low", "high"] if request.holdout is not None else []
    columns = ["target", "original", "synthetic", *against, "baseline", "check_1way", "check_2way"]
    failed = result.table[result.table["synthetic"].isna()]
    yield Section(
        "targets",
        "The targets by rising risk",
        (
            Table(
                f"{result.against} of the original, {result.measure} of the synthetic data, percent",
                result.table[columns],
                signed=("marginal", "low", "high"),
            ),
        ),
        tuple(f"{row.target}: {row.reason}" for row in failed.itertuples()),
        "targets",
    )


FAMILIES: tuple[Callable[[Request], Iterator[Section]], ...] = (disclosure_sections, target_sections)


def _by_synthesis(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows by synthetic table, and their mean where there are several."""
    shown = frame.reset_index()
    if len(frame) == 1:
        return shown.drop(columns="synthesis")
    mean = pd.DataFrame([{"synthesis": "mean", **frame.mean()}])
    return pd.concat([shown.astype({"synthesis": object}), mean], ignore_index=True)


def _against(result: Disclosure) -> Table:
    """Each measure against original and holdout; of several synthetic tables the mean."""
    last = result.marginal["synthesis"].iloc[-1]
    rows = result.marginal[result.marginal["synthesis"] == last]
    caption = "Original against holdout, percent; the difference with its 95 % interval"
    return Table(
        caption if last != "mean" else f"{caption}; means over the synthetic tables",
        rows[["measure", "original", HOLDOUT, "marginal", "low", "high", "method", "baseline"]],
        signed=("marginal", "low", "high"),
    )


def _reasons(result: Disclosure) -> Iterator[str]:
    """Why a difference or its interval is undefined, one line a reason."""
    if not result.n_holdout:
        return
    by_reason: dict[str, list[str]] = {}
    for row in result.marginal.to_dict("records"):
        if row["reason"] and (math.isnan(row["low"]) or math.isnan(row["marginal"])):
            by_reason.setdefault(str(row["reason"]), []).append(str(row["measure"]))
    for reason, measures in by_reason.items():
        yield f"{', '.join(dict.fromkeys(measures))}: {reason}"
