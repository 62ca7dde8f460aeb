"""Outputs as a Python session gives them, as entries of a study; those of the session are checked against the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from outrisk.api.output_kinds import FromSession, OutputEntry
from outrisk.config import Study
from outrisk.errors import ConfigError
from outrisk.microdata import Microdata
from outrisk.outputs import REGISTRY, Frequencies, Regression
from outrisk.outputs.base import Subset
from outrisk.readers.crosstab import CrossTable, check_crosstab, read_crosstab
from outrisk.readers.fitted import check_fit, is_fit, read_fit
from outrisk.readers.fitted_hazards import is_hazards, read_hazards

Source = object | None  # a fit or a cross table that is still to be checked


def numbered(outputs: object) -> Iterable[tuple[int, object]]:
    """Outputs with their position, from 1; ConfigError for what is no list of them."""
    if isinstance(outputs, pd.DataFrame | pd.Series | Mapping | OutputEntry | FromSession) or is_fit(outputs):
        outputs = [outputs]
    if not isinstance(outputs, Sequence) or isinstance(outputs, str):
        raise ConfigError(f"outputs: is a {type(outputs).__name__}; give a list of outputs")
    return list(enumerate(outputs, start=1))


def plain_entry(output: object, position: int, decimals: int | None) -> dict[str, Any]:
    """An output that brings its own definition as an entry of a study; ConfigError for one that needs the records."""
    if isinstance(output, OutputEntry):
        return _printed(output.document, decimals)
    if isinstance(output, Mapping):
        return _printed(dict(output), decimals)
    raise ConfigError(
        f"outputs {position}: a {type(output).__name__} is no output here; give a statsmodels fit "
        "itself, a cross table, an object such as outrisk.Logit(formula), or an entry of a study file"
    )


def entry_of(
    output: object, position: int, frame: pd.DataFrame, data: Microdata, decimals: int | None
) -> tuple[dict[str, Any], Source]:
    """An output as an entry of a study; and what it came from, to be checked once the entry is built."""
    place, source, given = f"outputs {position}", output, dict[str, Any]()
    if isinstance(output, FromSession):
        source, given = output.source, dict(output.given)
    table = isinstance(source, pd.DataFrame | pd.Series)
    if not table and not is_fit(source):
        return plain_entry(source, position, decimals), None
    kept = Subset(data.codebook, str(given.get("where", "")), place).select(data.frame()).index
    if isinstance(source, pd.DataFrame | pd.Series):
        return read_crosstab(source, frame.iloc[kept], given, place, decimals)
    read = read_hazards if is_hazards(source) else read_fit
    return _printed(read(source, frame.iloc[kept], given, place), decimals), source


def _printed(entry: dict[str, Any], decimals: int | None) -> dict[str, Any]:
    """The entry with the decimals that are given for all, where it has decimals and does not say its own."""
    model = REGISTRY.get(str(entry.get("kind")))
    if decimals is None or model is None or "decimals" not in model.model_fields or "decimals" in entry:
        return entry
    counts = "show" in model.model_fields and entry.get("show", "counts") == "counts" and not entry.get("weight")
    return entry if counts else entry | {"decimals": decimals}


def check_sources(study: Study, data: Microdata, sources: Sequence[Source]) -> None:
    """OutRiskError unless each is of these records (see `check_fit`, `check_crosstab`)."""
    for position, (source, entry) in enumerate(zip(sources, study.file.outputs, strict=True), start=1):
        if source is None:
            continue
        for output in entry.build(data.codebook, position):
            if isinstance(output, Frequencies) and isinstance(source, CrossTable):
                check_crosstab(source, output, data, f"outputs {position}")
            elif isinstance(output, Regression):
                check_fit(source, output, data, f"outputs {position}")
