"""Synthetic records as Stata and SPSS hold them: categories as numbers with value labels, variables with labels."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from outrisk.codebook import Codebook, Variable
from outrisk.errors import ConfigError
from outrisk.microdata import Microdata
from outrisk.teach.scripts import coded, meanings
from outrisk.whole_files import whole

LABELLED = (".dta", ".sav")
_TITLE = "Synthetic teaching data: no record was collected from a person"
_LONGEST = 80  # characters of a variable's label in Stata
_NO_DATE = datetime(1960, 1, 1)  # Stata's day 0: the same study gives the same bytes on any day
_LARGEST = 2**31 - 200  # Stata keeps the numbers beyond for missing values
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")


def check_labelled(codebook: Codebook, endings: Sequence[str]) -> None:
    """ConfigError where a file cannot be written: for want of pyreadstat, or a name that these programs have not."""
    for ending in (each for each in endings if each in LABELLED):
        if ending == ".sav" and importlib.util.find_spec("pyreadstat") is None:
            raise ConfigError(f"{ending}: SPSS needs pyreadstat; install it (pip install 'outrisk[spss]'), or use .dta")
        odd = next((name for name in codebook.names if not _NAME.fullmatch(name)), None)
        if odd is not None:
            raise ConfigError(
                f"{ending}: '{odd}' is no name of a variable there (letters, digits and _, at most 32); rename it in "
                "the codebook, or use CSV and its scripts"
            )


def write_labelled(data: Microdata, path: Path) -> None:
    """Write records as `.dta` or, by the ending, `.sav`."""
    variables = data.codebook.variables
    frame = pd.DataFrame({each.name: _column(each, data.codes[:, at]) for at, each in enumerate(variables)})
    titles = {each.name: each.label[:_LONGEST] for each in variables if each.label}
    labels = {each.name: dict(zip(_codes(each), meanings(each), strict=True)) for each in variables if _labelled(each)}
    with whole(path) as draft:
        if path.suffix == ".sav":
            import pyreadstat

            pyreadstat.write_sav(frame, str(draft), _TITLE, titles, variable_value_labels=labels)
            return
        more: dict[str, Any] = {"variable_labels": titles, "value_labels": labels, "data_label": _TITLE}
        frame.to_stata(draft, write_index=False, version=118, time_stamp=_NO_DATE, **more)


def decoded(frame: pd.DataFrame, codebook: Codebook) -> pd.DataFrame:
    """Records as such a file holds them with texts in place of the numbers that stand for them."""
    texts = [each for each in codebook.variables if each.kind == "categorical" and not coded(each)]
    named = {each.name: dict(zip(_codes(each), each.values, strict=True)) for each in texts}
    return frame.assign(**{name: frame[name].map(text) for name, text in named.items()})


def _labelled(variable: Variable) -> bool:
    return variable.kind == "categorical" and not (coded(variable) and not variable.descriptions)


def _codes(variable: Variable) -> list[int]:
    """The number of each level: itself where all are whole numbers, else its place from 1."""
    return [int(value) for value in variable.values] if coded(variable) else list(range(1, len(variable.values) + 1))


def _column(variable: Variable, codes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    values = _codes(variable) if variable.kind == "categorical" else list(variable.values)
    found = np.take(np.array([*values, np.nan] if variable.missing else values), codes)
    whole_numbers = variable.kind != "numeric" and not variable.missing
    return found.astype(np.int32 if whole_numbers and max(map(abs, values)) < _LARGEST else float)
