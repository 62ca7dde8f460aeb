import csv
import json
import os
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet

from outrisk.codebook import Codebook, Variable, codebook_from_dict, codebook_to_dict
from outrisk.errors import ConfigError
from outrisk.microdata import Microdata, from_frame
from outrisk.tabular import read_table
from outrisk.teach.marked import marked_codebook, read_marked, write_marked

CODEBOOK = Codebook(
    (
        Variable("age", "numeric", (17.5, 22.0, 27.0)),
        Variable("town", "categorical", ("a, b", 'c "d"', "é"), missing=True),
        Variable("n", "integer", (0, 1), missing=True),
    )
)
RECORDS = Microdata(
    CODEBOOK, np.array([[i, j, k] for i in range(3) for j in range(4) for k in range(3)], dtype=np.uint16)
)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_records_come_back_and_each_is_marked(tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    write_marked(RECORDS, path, {"seed": 1})
    assert (read_marked(path, CODEBOOK).codes == RECORDS.codes).all()
    frame = pd.read_csv(path) if ending == "csv" else pd.read_parquet(path)
    assert list(frame.columns) == ["age", "town", "n", "synthetic"]
    assert (frame["synthetic"] == 1).all()
    assert pd.api.types.is_integer_dtype(frame["synthetic"])
    assert frame["age"].tolist() == [CODEBOOK["age"].values[i] for i in RECORDS.codes[:, 0]]
    marked = codebook_from_dict(codebook_to_dict(marked_codebook(CODEBOOK)))
    assert len(from_frame(read_table(path), marked)) == len(RECORDS)


AWKWARD = ("a, b", 'c "d"', "é", "# e", "f's", " g ", "007", "1e3", "TRUE", "h\\", "i;\tj")


def write_awkward(path):
    codebook = Codebook(
        (
            Variable("text", "categorical", AWKWARD, missing=True),
            Variable("amount", "numeric", (-0.5, 0.0, 1e-07, 1234567.25), missing=True),
            Variable("whole", "integer", (0, 1, 1000000), missing=True),
        )
    )
    codes = np.array([[i % size for size in codebook.sizes] for i in range(24)], dtype=np.uint16)
    write_marked(Microdata(codebook, codes), path, {})
    return codebook, codes


def test_the_csv_keeps_to_the_rules_of_other_programs(tmp_path):
    """As R's read.csv and Stata's import delimited with bindquotes(strict) have them.

    UTF-8 without a byte order mark; a header of as many fields as each record; a field that holds a comma or a double
    quote stands in double quotes, the quote doubled; '#', apostrophes and backslashes mean themselves; a missing value
    is an empty field; numbers have a point, and no separators.
    """
    codebook, codes = write_awkward(tmp_path / "x.csv")
    raw = (tmp_path / "x.csv").read_bytes()
    assert not raw.startswith(b"\xef\xbb\xbf") and b"\r" not in raw and raw.endswith(b"\n") and b"\n\n" not in raw
    lines = raw.decode("utf-8").splitlines()
    header, *rows = csv.reader(lines, delimiter=",", quotechar='"', doublequote=True, escapechar=None, strict=True)
    assert header == ["text", "amount", "whole", "synthetic"] and len(rows) == 24 == len(lines) - 1
    for row, (text, amount, whole) in zip(rows, codes, strict=True):
        assert row[0] == (*AWKWARD, "")[text]
        for cell, variable, code in ((row[1], codebook["amount"], amount), (row[2], codebook["whole"], whole)):
            assert cell == "" if code == len(variable.values) else float(cell) == variable.values[code]
            assert re.fullmatch(r"(-?\d+(\.\d+)?(e-?\d+)?)?", cell)
        assert row[3] == "1"
    read = pd.read_csv(tmp_path / "x.csv", dtype={"text": str}, keep_default_na=False, na_values=[""])
    assert read["text"].fillna("").tolist() == [row[0] for row in rows]
    assert read["amount"].isna().sum() == 4 and read["whole"].isna().sum() == 6


IN_R = """
data <- read.csv("x.csv", colClasses = c(text = "character"), na.strings = "", encoding = "UTF-8")
stopifnot(identical(names(data), c("text", "amount", "whole", "synthetic")))
amount <- format(sum(data$amount, na.rm = TRUE), digits = 15)
cat(sum(data$synthetic), sum(is.na(data$text)), sum(is.na(data$amount)), amount, sum(data$whole, na.rm = TRUE), "\\n")
write.table(data$text, "text.txt", row.names = FALSE, col.names = FALSE, quote = FALSE, na = "", fileEncoding = "UTF-8")
"""


@pytest.mark.skipif(not shutil.which("Rscript"), reason="R is not installed")
def test_r_reads_the_csv_as_the_documentation_says(tmp_path):
    codebook, codes = write_awkward(tmp_path / "x.csv")
    (tmp_path / "read.R").write_text(IN_R)
    told = subprocess.run(
        ["Rscript", "--vanilla", "read.R"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    ).stdout.split()
    amounts = [codebook["amount"].values[code] for code in codes[:, 1] if code < 4]
    assert [float(each) for each in told] == pytest.approx([24, 2, 4, sum(amounts), 6 * 1000001], rel=1e-12)
    assert (tmp_path / "text.txt").read_text().split("\n")[:24] == [(*AWKWARD, "")[code] for code in codes[:, 0]]


def test_parquet_says_it_in_its_metadata(tmp_path):
    write_marked(RECORDS, tmp_path / "x.parquet", {"seed": 1, "copy": 2})
    metadata = parquet.read_schema(tmp_path / "x.parquet").metadata
    assert metadata[b"synthetic"] == b"true"
    assert json.loads(metadata[b"outrisk"]) == {"seed": 1, "copy": 2}
    assert b"pandas" in metadata


def test_a_variable_of_the_marks_name_is_refused():
    with pytest.raises(ConfigError, match="a variable is called 'synthetic', the name of the mark"):
        marked_codebook(Codebook((Variable("synthetic", "integer", (0, 1)),)))
