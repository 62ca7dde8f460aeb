"""Read records from files: CSV however it is written, Parquet, Stata, SPSS and Excel."""

from __future__ import annotations

import logging
from pathlib import Path

import pandas as pd

from outrisk.errors import DataError, first_line
from outrisk.tabular.delimited import read_delimited
from outrisk.tabular.package_files import ENDINGS, check_parquet
from outrisk.tabular.table import Table, Written

__all__ = ["Table", "Written", "check_parquet", "is_delimited", "read_source", "read_table"]

_LOG = logging.getLogger("outrisk")


def read_table(path: Path, written: Written | None = None) -> pd.DataFrame:
    """The records of a file, as `read_source` has them."""
    return read_source(path, written).frame


def is_delimited(path: Path) -> bool:
    """Whether a file is read as CSV."""
    return path.suffix.lower() not in ENDINGS


def read_source(path: Path, written: Written | None = None) -> Table:
    """Read a file by its ending: `.parquet`, `.dta`, `.sav`, `.xlsx`, and as CSV any other (may be gzipped).

    All cells of a CSV are text, nothing guessed but how the file is written (`written` says it; what was found out is
    in the notes). Other files have the types that they hold; value labels stay beside their codes.
    DataError in one line if it cannot be read, has no records or records of unequal length, or a column with no
    name or another's.
    """
    if not path.is_file():
        raise DataError(f"{path}: {'not a file' if path.exists() else 'no such file'}")
    if path.suffix.lower() in (".docx", ".docm", ".doc", ".rtf"):
        raise DataError(f"{path}: a document is read for released numbers ('values' of an output), not for records")
    what, read = ENDINGS.get(path.suffix.lower(), ("CSV", None))
    if read is not None and written:
        raise DataError(f"{path}: separator, decimal mark and encoding are of CSV files; leave them out for {what}")
    try:
        table = read_delimited(path, written or Written()) if read is None else read(path)
    except DataError:
        raise
    except pd.errors.EmptyDataError:
        raise DataError(f"{path}: the file is empty") from None
    except Exception as error:  # parsers and decompressors have no common base
        raise DataError(f"{path}: cannot be read as {what}: {first_line(error)}") from None
    header = [str(name).removeprefix("\ufeff").strip() for name in table.frame.columns]
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise DataError(
            f"{path}: column {repeated[0]!r} stands {header.count(repeated[0])} times in the header; rename one"
        )
    if "" in header:
        raise DataError(f"{path}: column {header.index('') + 1} has no name; name it in the header line")
    table.frame.columns = pd.Index(header)
    for note in table.notes:
        _LOG.info("%s: %s", path, note)
    if table.frame.empty:
        raise DataError(f"{path}: a header and no records")
    return table
