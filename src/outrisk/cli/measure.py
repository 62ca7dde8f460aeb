"""`outrisk measure`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console

from outrisk import __version__
from outrisk.assess.files import plain
from outrisk.assess.measured.document import document, sections
from outrisk.assess.measured.sections import Privacy, Request
from outrisk.assess.suite.privacy_rows import chosen_metrics
from outrisk.cli.progress import MetricProgress
from outrisk.codebook import Codebook
from outrisk.config import read_codebook
from outrisk.errors import ConfigError
from outrisk.microdata import read_table, typed
from outrisk.provenance import file_digest
from outrisk.report.pages.measured_page import render_measured, show_measured

_WIDTH = 120  # of what goes to a file or a pipe


def measure_files(
    original: Path,
    synthetic: Sequence[Path],
    holdout: Path | None,
    keys: Sequence[str],
    target: str,
    targets: Sequence[str],
    key_sizes: Sequence[int],
    attacks: bool,
    privacy: bool,
    metrics: Sequence[str],
    sample: int | None,
    time_limit: float | None,
    codebook: Path | None,
    json_file: Path | None,
    html_file: Path | None,
) -> int:
    """Measure, print the tables, and write the files asked for."""
    inputs = [("original", original), *(("synthetic", path) for path in synthetic)]
    inputs += [(what, path) for what, path in (("holdout", holdout), ("codebook", codebook)) if path is not None]
    _check_outputs([path for path in (json_file, html_file) if path is not None], [path for _, path in inputs])
    for option, given in (("--metrics", metrics), ("--sample", sample), ("--time-limit", time_limit)):
        if given not in (None, []) and not privacy:
            raise ConfigError(f"{option} is about the privacy metrics; give --privacy too")
    chosen = chosen_metrics(metrics)
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
            attacks=attacks,
            privacy=Privacy(chosen, sample, time_limit, progress.heard) if privacy else None,
            codebook=known,
        )
        measured = sections(request)
    found: dict[str, Any] = plain(
        {
            "outrisk": __version__,
            "inputs": [{"what": what, "name": path.name, "sha256": file_digest(path)} for what, path in inputs],
            **document(request, measured),
        }
    )
    if json_file is not None:
        json_file.write_text(json.dumps(found, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    if html_file is not None:
        html_file.write_text(render_measured(found), encoding="utf-8")
    show_measured(found, Console(width=None if sys.stdout.isatty() else _WIDTH))
    return 0


def _read(path: Path, codebook: Codebook | None) -> pd.DataFrame:
    return typed(read_table(path), codebook)


def _check_outputs(outputs: Sequence[Path], inputs: Sequence[Path]) -> None:
    """Refuse to write over an input, or where nothing can be written, before anything is measured."""
    for path in outputs:
        if not path.parent.is_dir():
            raise ConfigError(f"{path.parent}: no such directory; make it, or name another file")
        if any(path.resolve() == each.resolve() for each in inputs) or list(outputs).count(path) > 1:
            raise ConfigError(f"{path} is an input, or named twice; name another file to write")
