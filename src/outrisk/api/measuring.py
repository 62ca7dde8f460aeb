"""Measure synthetic data of any origin against the original and a holdout."""

from __future__ import annotations

import html
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from rich.console import Console

from outrisk import __version__
from outrisk.api.checks_of_arguments import (
    check_codebook,
    check_count,
    check_file,
    check_frame,
    check_switch,
    listed,
    several,
)
from outrisk.api.not_over_inputs import check_outputs
from outrisk.assess.measured.document import complete
from outrisk.assess.measured.sections import Privacy, Request
from outrisk.assess.suite.of_run import metric_names
from outrisk.codebook import Codebook
from outrisk.config import read_codebook
from outrisk.errors import ConfigError
from outrisk.microdata import typed
from outrisk.progress import MetricProgress
from outrisk.records.files import plain
from outrisk.records.provenance import file_digest
from outrisk.report.pages.measured_page import render_measured, show_measured
from outrisk.tabular import Written, is_delimited, read_table
from outrisk.whole_files import write_text

_WIDTH = 120  # of the plain text
_SHOWN = 24  # rows of a table


@dataclass(frozen=True)
class Measured:
    """What was measured, as the plain document that terminal, JSON and page are made from."""

    document: dict[str, Any]

    @property
    def sentences(self) -> list[str]:
        """In short: exact copies, then what the synthetic data tell by the keys."""
        return list(self.document["in_short"])

    @property
    def tables(self) -> dict[str, list[pd.DataFrame]]:
        """The tables of each section by its name; what is not defined is missing."""
        return {
            section["name"]: [pd.DataFrame(table["rows"], columns=table["columns"]) for table in section["tables"]]
            for section in self.document["sections"]
        }

    def __repr__(self) -> str:
        text = io.StringIO()
        self.show(Console(file=text, width=_WIDTH))
        return text.getvalue().rstrip()

    def _repr_html_(self) -> str:
        parts = [f"<p><strong>{html.escape(sentence)}</strong></p>" for sentence in self.sentences]
        for section in self.document["sections"]:
            parts.append(f"<h4>{html.escape(section['title'])}</h4>")
            for table in section["tables"]:
                frame = pd.DataFrame(table["rows"], columns=table["columns"])
                parts.append(f"<p>{html.escape(table['caption'])}</p>")
                parts.append(
                    frame.to_html(index=False, border=0, na_rep="", max_rows=_SHOWN, float_format="{:z.3f}".format)
                )
            parts += [f"<p>{html.escape(note)}</p>" for note in section["notes"]]
        return "\n".join(parts)

    def show(self, console: Console, details: bool = False) -> None:
        """Print the sentences and every section's tables and notes; `details`: also what is for a closer look."""
        show_measured(self.document, console, details)

    def json(self, path: str | Path) -> None:
        """Write all results to a file; what is not defined is null."""
        write_text(check_file(path), json.dumps(self.document, indent=1, allow_nan=False) + "\n")

    def report(self, path: str | Path) -> Path:
        """Write a self-contained page, and return its path."""
        place = check_file(path)
        write_text(place, render_measured(self.document))
        return place


def measure(
    original: pd.DataFrame,
    synthetic: pd.DataFrame | Sequence[pd.DataFrame],
    holdout: pd.DataFrame | None = None,
    *,
    keys: Sequence[str],
    target: str,
    targets: Sequence[str] = (),
    key_sizes: Sequence[int] = (),
    attacks: bool = False,
    attacks_encoding: Literal["nominal", "ordinal"] | None = None,
    privacy: bool = False,
    metrics: Sequence[str] = (),
    sample: int | None = None,
    time_limit: float | None = None,
    codebook: Codebook | None = None,
    ngroups_keys: int | None = None,
    quiet: bool = False,
) -> Measured:
    """Measure what synthetic data give away, whatever tool made them.

    Parameters
    ----------
    original, synthetic, holdout : records (n, variables); several synthetic tables are several syntheses. `holdout` are
        records of the same population that were not used: every measure then stands beside the holdout's.
    keys, target : what an intruder knows of a person, and wants to learn.
    targets : further targets, to be compared.
    key_sizes : the CAP family over all key sets of these sizes.
    attacks, attacks_encoding : train classifiers on the synthetic data; on categories (nominal, the default),
        or on the keys as numbers (ordinal).
    privacy, metrics, sample, time_limit : privacy metrics for synthetic data; only these; of so many records of each
        table; with so many seconds for each metric and table.
    codebook : says which variables are numbers, which categories.
    ngroups_keys : intervals that numeric keys are grouped into, for the measures of synthpop (None: not grouped).
    quiet : no progress.

    Returns
    -------
    Measured : its `sentences`, `tables` by section, `show(console)`, `json(path)`, `report(path)`.

    Raises
    ------
    OutRiskError : in one line, where keys, target or data allow no measure.

    Examples
    --------
    >>> outrisk.measure(original, synthetic, holdout, keys=["age", "sex"], target="income")
    """
    metrics = several(metrics, "metrics")
    check_switch(attacks, "attacks")
    check_switch(privacy, "privacy")
    check_switch(quiet, "quiet")
    check_count(sample, "sample", 2, or_none=True)
    for name, given in (("metrics", metrics), ("sample", sample), ("time_limit", time_limit)):
        if given is not None and given != () and not privacy:
            raise ConfigError(f"{name} is about the privacy metrics; give privacy=True too")
    if attacks_encoding is not None and not attacks:
        raise ConfigError("attacks_encoding is about the classifiers; give attacks=True too")
    check_codebook(codebook)
    found = synthetic if isinstance(synthetic, pd.DataFrame) else listed(synthetic)
    tables = tuple(found) if isinstance(found, list) else (found,)
    if not tables:
        raise ConfigError("synthetic: is empty; give one data frame, or several")
    named = {"original": original, **{f"synthetic {i}": table for i, table in enumerate(tables, start=1)}}
    for what, frame in (named | ({} if holdout is None else {"holdout": holdout})).items():
        check_frame(frame, what)
    request = Request(
        original=original,
        synthetic=tables,
        holdout=holdout,
        keys=several(keys, "keys"),
        target=target,
        targets=several(targets, "targets"),
        key_sizes=several(key_sizes, "key_sizes", Integral),
        attacks=(attacks_encoding or "nominal") if attacks else "",
        privacy=Privacy(metric_names(metrics), sample, time_limit) if privacy else None,
        codebook=codebook,
        ngroups_keys=ngroups_keys,
    )
    with MetricProgress(Console(stderr=True, quiet=quiet)) as progress:
        return _measured(request, progress, [])


def _measured(request: Request, progress: MetricProgress, inputs: Sequence[tuple[str, Path]]) -> Measured:
    if request.privacy is not None:
        request = replace(request, privacy=replace(request.privacy, progress=progress.heard))
    digests = [{"what": what, "name": path.name, "sha256": file_digest(path)} for what, path in inputs]
    return Measured(plain({"outrisk": __version__, "inputs": digests, **complete(request)}))


def measure_files(
    original: Path,
    synthetic: Sequence[Path],
    holdout: Path | None,
    keys: Sequence[str],
    target: str,
    targets: Sequence[str],
    key_sizes: Sequence[int],
    attacks: bool,
    attacks_encoding: str | None,
    privacy: bool,
    metrics: Sequence[str],
    sample: int | None,
    time_limit: float | None,
    codebook: Path | None,
    ngroups_keys: int | None,
    written: tuple[str, str, str],
    outputs: Sequence[Path],
) -> Measured:
    """Measure records in files.

    `written` (separator, decimal mark, encoding) is of those that are CSV; `outputs` are files that will be written,
    and are checked before anything else.
    """
    inputs = [("original", original), *(("synthetic", path) for path in synthetic)]
    inputs += [(what, path) for what, path in (("holdout", holdout), ("codebook", codebook)) if path is not None]
    check_outputs(outputs, [path for _, path in inputs])
    for option, given in (("--metrics", metrics), ("--sample", sample), ("--time-limit", time_limit)):
        if given not in (None, []) and not privacy:
            raise ConfigError(f"{option} is about the privacy metrics; give --privacy too")
    if attacks_encoding is not None and not attacks:
        raise ConfigError("--attacks-encoding is about the classifiers; give --attacks too")
    chosen = metric_names(metrics)
    known = read_codebook(codebook) if codebook is not None else None
    records = [original, *synthetic, *([holdout] if holdout is not None else [])]
    plain_text = [path for path in records if is_delimited(path)] or records

    def read(path: Path) -> pd.DataFrame:
        return typed(read_table(path, Written(*written) if path in plain_text else None), known)

    with MetricProgress(Console(stderr=True)) as progress:
        request = Request(
            original=read(original),
            synthetic=tuple(read(path) for path in synthetic),
            holdout=read(holdout) if holdout is not None else None,
            keys=tuple(keys),
            target=target,
            targets=tuple(targets),
            key_sizes=tuple(key_sizes),
            attacks=(attacks_encoding or "nominal") if attacks else "",
            privacy=Privacy(chosen, sample, time_limit) if privacy else None,
            codebook=known,
            ngroups_keys=ngroups_keys,
        )
        return _measured(request, progress, inputs)
