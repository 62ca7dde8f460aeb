"""Files of synthetic records, each marked as synthetic in a way that pandas, R and Stata read without trouble.

A column `synthetic` that is 1 in every record travels with the data through every program and format (a comment line
would not: R's and Stata's readers take it for the header). The file name says it too, and Parquet says it in its
metadata.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from outrisk.codebook import Codebook, Variable
from outrisk.errors import ConfigError
from outrisk.microdata import Microdata, from_frame, write_table
from outrisk.tabular import read_table
from outrisk.teach.labelled_files import LABELLED, decoded, write_labelled
from outrisk.whole_files import whole

MARK = "synthetic"


def marked_codebook(codebook: Codebook) -> Codebook:
    """The codebook with the mark as its last variable; ConfigError if it has a variable of that name."""
    if MARK in codebook:
        raise ConfigError(f"codebook: a variable is called '{MARK}', the name of the mark of synthetic data; rename it")
    mark = Variable(MARK, "integer", (1,), label="1 = a synthetic record, not collected from a person")
    return Codebook((*codebook.variables, mark))


def write_marked(data: Microdata, path: Path, facts: dict[str, Any]) -> None:
    """Write records with the mark, as CSV or, by the ending, Stata, SPSS, or Parquet with `facts` in its metadata."""
    codes = np.hstack([data.codes, np.zeros((len(data), 1), dtype=data.codes.dtype)])
    marked = Microdata(marked_codebook(data.codebook), codes)
    if path.suffix in LABELLED:
        write_labelled(marked, path)
        return
    if path.suffix != ".parquet":
        write_table(marked, path)
        return
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.Table.from_pandas(marked.frame(), preserve_index=False)
    metadata = {**(table.schema.metadata or {}), b"synthetic": b"true", b"outrisk": json.dumps(facts).encode()}
    with whole(path) as draft:
        parquet.write_table(table.replace_schema_metadata(metadata), draft)


def read_marked(path: Path, codebook: Codebook) -> Microdata:
    """The records of a written file, without the mark."""
    frame = read_table(path)
    return from_frame(decoded(frame, codebook) if path.suffix in LABELLED else frame, codebook, source=path.name)
