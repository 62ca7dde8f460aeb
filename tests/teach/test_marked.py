import json

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet

from outrisk.codebook import Codebook, Variable, codebook_from_dict, codebook_to_dict
from outrisk.errors import ConfigError
from outrisk.microdata import Microdata, from_frame, read_table
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


def test_parquet_says_it_in_its_metadata(tmp_path):
    write_marked(RECORDS, tmp_path / "x.parquet", {"seed": 1, "copy": 2})
    metadata = parquet.read_schema(tmp_path / "x.parquet").metadata
    assert metadata[b"synthetic"] == b"true"
    assert json.loads(metadata[b"outrisk"]) == {"seed": 1, "copy": 2}
    assert b"pandas" in metadata


def test_a_variable_of_the_marks_name_is_refused():
    with pytest.raises(ConfigError, match="a variable is called 'synthetic', the name of the mark"):
        marked_codebook(Codebook((Variable("synthetic", "integer", (0, 1)),)))
