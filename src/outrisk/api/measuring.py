"""Measure synthetic data of any origin against the original and a holdout."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console

from outrisk import __version__
from outrisk.assess.measured.document import document, sections
from outrisk.assess.measured.sections import Privacy, Request
from outrisk.assess.suite.of_run import metric_names
from outrisk.codebook import Codebook
from outrisk.config import read_codebook
from outrisk.errors import ConfigError
from outrisk.microdata import read_table, typed
from outrisk.progress import MetricProgress
from outrisk.records.files import plain
from outrisk.records.provenance import file_digest
from outrisk.report.pages.measured_page import render_measured, show_measured


@dataclass(frozen=True)
class Measured:
    """What was measured, as the plain document that terminal, JSON and page are made from."""

    document: dict[str, Any]

    def show(self, console: Console) -> None:
        """Print every section's tables and notes."""
        show_measured(self.document, console)

    def json(self, path: Path) -> None:
        """Write all results to a file; what is not defined is null."""
        path.write_text(json.dumps(self.document, indent=1, allow_nan=False) + "\n", encoding="utf-8")

    def report(self, path: Path) -> None:
        """Write a self-contained page."""
        path.write_text(render_measured(self.document), encoding="utf-8")


def measure_files(
    original: Path,
    synthetic: Sequence[Path],
    holdout: Path | None,
    keys: Sequence[str],
    target: str,
    targets: Sequence[str],
    key_sizes: Sequence[int],
    attacks: bool,
    encoding: str | None,
    privacy: bool,
    metrics: Sequence[str],
    sample: int | None,
    time_limit: float | None,
    codebook: Path | None,
    outputs: Sequence[Path],
) -> Measured:
    """Measure records in files; `outputs` are files that will be written, and are checked before anything else."""
    inputs = [("original", original), *(("synthetic", path) for path in synthetic)]
    inputs += [(what, path) for what, path in (("holdout", holdout), ("codebook", codebook)) if path is not None]
    _check_outputs(outputs, [path for _, path in inputs])
    for option, given in (("--metrics", metrics), ("--sample", sample), ("--time-limit", time_limit)):
        if given not in (None, []) and not privacy:
            raise ConfigError(f"{option} is about the privacy metrics; give --privacy too")
    if encoding is not None and not attacks:
        raise ConfigError("--encoding is about the classifiers; give --attacks too")
    chosen = metric_names(metrics)
    known = read_codebook(codebook) if codebook is not None else None
    with MetricProgress(Console(stderr=True)) as progress:
        request = Request(
            original=_read(original, known),
            synthetic=tuple(_read(path, known) for path in synthetic),
            holdout=_read(holdout, known) if holdout is not None else None,
            keys=tuple(keys),
            target=target,
            targets=tuple(targets),
            key_sizes=tuple(key_sizes),
            attacks=(encoding or "nominal") if attacks else "",
            privacy=Privacy(chosen, sample, time_limit, progress.heard) if privacy else None,
            codebook=known,
        )
        measured = sections(request)
    digests = [{"what": what, "name": path.name, "sha256": file_digest(path)} for what, path in inputs]
    return Measured(plain({"outrisk": __version__, "inputs": digests, **document(request, measured)}))


def _read(path: Path, codebook: Codebook | None) -> pd.DataFrame:
    return typed(read_table(path), codebook)


def _check_outputs(outputs: Sequence[Path], inputs: Sequence[Path]) -> None:
    """Refuse to write over an input, or where nothing can be written, before anything is measured."""
    for path in outputs:
        if not path.parent.is_dir():
            raise ConfigError(f"{path.parent}: no such directory; make it, or name another file")
        if any(path.resolve() == each.resolve() for each in inputs) or list(outputs).count(path) > 1:
            raise ConfigError(f"{path} is an input, or named twice; name another file to write")
