"""Data frames as a Python session gives them."""

from __future__ import annotations

import pandas as pd

from outrisk.errors import DataError


def check_frame(frame: object, what: str) -> None:
    """DataError for what is no data frame whose columns each have a text of their own as name."""
    if not isinstance(frame, pd.DataFrame):
        raise DataError(f"{what}: is a {type(frame).__name__}; give a pandas data frame")
    odd = [name for name in frame.columns if not isinstance(name, str)]
    if odd or not frame.columns.is_unique:
        raise DataError(f"{what}: columns are {list(frame.columns)}; give each one name of its own, a text")
