"""Stata and SPSS files of synthetic records: pandas and pyreadstat read the same people, with their labels."""

import numpy as np
import pandas as pd
import pytest

from outrisk.codebook import Codebook, Variable
from outrisk.errors import ConfigError
from outrisk.microdata import Microdata
from outrisk.teach.labelled_files import check_labelled
from outrisk.teach.marked import read_marked, write_marked

TEXTS = ("a, b", 'c "d"', "é", " g", "007", "1e3", "TRUE")
CODEBOOK = Codebook(
    (
        Variable("town", "categorical", TEXTS, missing=True, label="where people live, " + "far " * 30),
        Variable("grade", "categorical", ("1", "2", "9"), descriptions=("good", "bad", "")),
        Variable("coded", "categorical", ("0", "1"), missing=True),
        Variable("amount", "numeric", (-0.5, 0.0, 1e-07, 1234567.25), missing=True, label="pounds"),
        Variable("whole", "integer", (0, 1, 2**31 - 150)),
        Variable("age", "integer", (17, 22)),
    )
)
CODES = np.array([[i % size for size in CODEBOOK.sizes] for i in range(80)], dtype=np.uint16)


@pytest.mark.parametrize("ending", ["dta", "sav"])
def test_records_come_back_with_their_labels(tmp_path, ending):
    pyreadstat = pytest.importorskip("pyreadstat")
    path = tmp_path / f"x.{ending}"
    write_marked(Microdata(CODEBOOK, CODES), path, {})
    assert (read_marked(path, CODEBOOK).codes == CODES).all()
    frame, about = (pyreadstat.read_dta if ending == "dta" else pyreadstat.read_sav)(str(path))
    assert about.file_label.startswith("Synthetic teaching data") and (frame["synthetic"] == 1).all()
    assert about.column_names_to_labels["amount"] == "pounds"
    assert about.column_names_to_labels["town"] == CODEBOOK["town"].label[:80]
    labels = about.variable_value_labels
    assert labels["town"] == dict(enumerate(TEXTS, start=1)) and "coded" not in labels and "age" not in labels
    assert labels["grade"] == {1: "good", 2: "bad", 9: "9"}
    assert frame["grade"].tolist() == [int(CODEBOOK["grade"].values[code]) for code in CODES[:, 1]]
    assert frame["town"].isna().tolist() == (CODES[:, 0] == len(TEXTS)).tolist()


def test_pandas_reads_categories_and_the_same_data_give_the_same_bytes(tmp_path):
    paths = [tmp_path / "one.dta", tmp_path / "two.dta"]
    for path in paths:
        write_marked(Microdata(CODEBOOK, CODES), path, {})
    assert paths[0].read_bytes() == paths[1].read_bytes()
    frame = pd.read_stata(paths[0])
    expected = [TEXTS[code] if code < len(TEXTS) else None for code in CODES[:, 0]]
    assert [None if pd.isna(value) else value for value in frame["town"]] == expected
    assert frame["whole"].tolist() == [CODEBOOK["whole"].values[code] for code in CODES[:, 4]]


def test_names_that_the_programs_have_not_are_refused():
    odd = Codebook((Variable("my job", "integer", (1, 2)),))
    check_labelled(odd, [".parquet"])
    for ending in (".dta", ".sav"):
        with pytest.raises(ConfigError, match=rf"\{ending}: 'my job' is no name of a variable there"):
            check_labelled(odd, [ending])
