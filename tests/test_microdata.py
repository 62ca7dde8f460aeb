import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outrisk.codebook import Codebook, Variable
from outrisk.errors import DataError
from outrisk.microdata import Microdata, from_frame, infer_codebook, typed, write_table
from outrisk.tabular import read_table

CODEBOOK = Codebook(
    (
        Variable("area", "categorical", ("01", "a, b", 'q"é', "NA", "line\nbreak", " x"), missing=False),
        Variable("job", "categorical", ("yes", "null", "1.0"), missing=True),
        Variable("age", "integer", tuple(range(-2, 12)), missing=True),
        Variable("rate", "numeric", (0.1, 0.30000000000000004, 2.0, 1e6), missing=True),
        Variable("size", "numeric", (0.5, 2.0)),
    )
)


def random_codes(rng, n=200):
    return np.stack([rng.integers(0, size, n) for size in CODEBOOK.sizes], axis=1).astype(np.uint16)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
@pytest.mark.parametrize("seed", [1, 2])
def test_files_give_the_same_codes_back(tmp_path, ending, seed):
    data = Microdata(CODEBOOK, random_codes(np.random.default_rng(seed)))
    path = tmp_path / f"data.{ending}"
    write_table(data, path)
    back = from_frame(read_table(path), CODEBOOK)
    assert (back.codes == data.codes).all()
    assert (from_frame(data.frame(), CODEBOOK).codes == data.codes).all()


text = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=6).filter(lambda t: t == t.strip())


@settings(max_examples=40, deadline=None)
@given(st.lists(text, min_size=1, max_size=5, unique=True), st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5))
def test_any_level_and_number_survives_csv(tmp_path_factory, levels, numbers):
    support = tuple(sorted({round(number, 6) + 0.0 for number in numbers}))
    codebook = Codebook((Variable("c", "categorical", tuple(levels)), Variable("x", "numeric", support, missing=True)))
    codes = np.array([(i % len(levels), i % (len(support) + 1)) for i in range(30)], dtype=np.uint16)
    path = tmp_path_factory.mktemp("any") / "x.csv"
    write_table(Microdata(codebook, codes), path)
    assert (from_frame(read_table(path), codebook).codes == codes).all()


def test_csv_is_written_as_data_files_are(tmp_path):
    codes = np.array([[0, 3, 14, 4, 1], [1, 2, 3, 0, 0]], dtype=np.uint16)
    write_table(Microdata(CODEBOOK, codes), tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text(encoding="utf-8") == (
        'area,job,age,rate,size\n01,,,,2\n"a, b",1.0,1,0.1,0.5\n'
    )


def test_decoded_frames_have_every_level_and_numbers():
    frame = Microdata(CODEBOOK, np.array([[0, 3, 14, 4, 1]], dtype=np.uint16)).frame()
    assert list(frame["area"].cat.categories) == list(CODEBOOK["area"].values)
    assert frame.drop(columns=["area", "size"]).isna().all(axis=None)
    assert frame["size"].tolist() == [2.0]


@pytest.mark.parametrize(
    ("column", "kind", "values", "guess"),
    [
        (["01", "02", "10"], "categorical", ("01", "02", "10"), "categorical: text, 3 levels"),
        (["1", "2", "4"], "integer", (1, 2, 3, 4), "integer: 3 values seen, 1 to 4; if the numbers are codes"),
        (["0.5", "2"], "numeric", (0.5, 2.0), "numeric: the 2 values seen"),
        (["0", "0.5", "-0.5"], "numeric", (-0.5, 0.0, 0.5), "numeric"),
        (["x", "1", "2"], "categorical", ("1", "2", "x"), "categorical"),
        (["inf", "1"], "categorical", ("1", "inf"), "categorical"),
        (["1", "", "NA"], "integer", (1,), "integer: 1 values seen, 1 to 1; 2 missing"),
        ([True, False], "categorical", ("False", "True"), "categorical"),
        (["True", "False"], "categorical", ("False", "True"), "categorical"),
        ([1.0, 2.0, np.nan], "integer", (1, 2), "; 1 missing"),
        (pd.Categorical([1, 2]), "categorical", ("1", "2"), "categorical"),
        (pd.Categorical([2.0, 1.5], [2.0, 1.5]), "categorical", ("2.0", "1.5"), "categorical"),
        (pd.array([1, None], "Int64"), "integer", (1,), "; 1 missing"),
        (pd.array([True, None], "boolean"), "categorical", ("True",), "; 1 missing"),
        (pd.to_datetime(["2020-01-02", "2020-01-01"]), "categorical", None, "categorical: text, 2 levels"),
        (["1", "100000"], "integer", (1, 100000), "integer"),
    ],
)
def test_inference(column, kind, values, guess):
    frame = pd.DataFrame({"x": column})
    codebook, guesses = infer_codebook(frame)
    variable = codebook["x"]
    assert variable.kind == kind
    assert values is None or variable.values == values
    assert guess in guesses["x"]
    assert variable.missing == ("missing" in guesses["x"])
    assert len(from_frame(frame, codebook)) == len(frame)


def test_inferred_codebook_holds_files_in_both_formats(tmp_path):
    frame = pd.DataFrame({"a": ["x", None, "y"], "b": [1.5, np.nan, 2.0], "c": [1, 2, 3], "d": [True, False, True]})
    frame.to_csv(tmp_path / "d.csv", index=False)
    frame.to_parquet(tmp_path / "d.parquet")
    tables = [read_table(tmp_path / name) for name in ("d.csv", "d.parquet")]
    (first, _), (second, _) = map(infer_codebook, tables)
    assert first == second
    assert (from_frame(tables[0], first).codes == from_frame(tables[1], first).codes).all()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("area", "north", r"column 'area' holds 'north', which is not in its codebook \(1 such cells, .* record 2\)"),
        ("age", "99", "column 'age' holds '99'"),
        ("age", "1.5", "column 'age' holds '1.5'"),
        ("age", "old", "column 'age' holds 'old'"),
        ("size", "", "column 'size' has 1 missing values, its codebook declares none; set 'missing: true'"),
        ("size", "0.51", "column 'size' holds '0.51'"),
    ],
)
def test_values_that_do_not_fit(name, value, message):
    frame = Microdata(CODEBOOK, np.zeros((3, 5), dtype=np.uint16)).frame().astype(object)
    frame.loc[1, name] = value
    with pytest.raises(DataError, match=message):
        from_frame(frame, CODEBOOK)


def test_columns_and_records_must_be_there():
    frame = Microdata(CODEBOOK, np.zeros((3, 5), dtype=np.uint16)).frame()
    with pytest.raises(DataError, match=r"mine: no column 'job' \(in the codebook\); columns are \['area'"):
        from_frame(frame.drop(columns="job"), CODEBOOK, source="mine")
    with pytest.raises(DataError, match="no records"):
        from_frame(frame.iloc[:0], CODEBOOK)
    with pytest.raises(DataError, match="column 'x' has no values at all; drop it"):
        infer_codebook(pd.DataFrame({"x": ["", "NA"]}))


def test_large_whole_numbers_are_not_rounded():
    codebook = Codebook((Variable("id", "integer", (10**12, 10**12 + 7)),))
    assert from_frame(pd.DataFrame({"id": ["1000000000007"]}), codebook).codes.item() == 1
    with pytest.raises(DataError, match="holds '1000000000001'"):
        from_frame(pd.DataFrame({"id": ["1000000000001"]}), codebook)


def test_missing_values_may_be_numbers():
    codebook = Codebook((Variable("x", "integer", (1, 2), missing=True),))
    for column in (["1", "-9", "2"], [1, -9, 2], [1.0, -9.0, 2.0], pd.Categorical([1, -9, 2])):
        assert from_frame(pd.DataFrame({"x": column}), codebook, ["-9"]).codes[:, 0].tolist() == [0, 2, 1]


def test_typed_follows_the_codebook():
    frame = pd.DataFrame({"area": ["1", "2"], "n": ["1", ""], "t": ["a", "1"]})
    readable = typed(frame, Codebook((Variable("area", "categorical", ("1", "2")),)))
    assert readable["area"].tolist() == ["1", "2"]
    assert readable["n"].tolist()[0] == 1.0
    assert np.isnan(readable["n"].tolist()[1])
    assert readable["t"].tolist() == ["a", "1"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "the file is empty"),
        ("a.csv", b"\n\n", "the file is empty"),
        ("a.csv", b"x,y\n", "a header and no records"),
        ("a.csv", b"x,y\n1,2\n1,2,3\n", "record 2 has 3 cells and the header 2; give it as many"),
        ("a.csv", b"x,y\n1,2\n3\n4,5\n", "record 2 has 1 cells and the header 2"),
        ("a.csv", b"x,y,x\n1,2,3\n", "column 'x' stands 2 times in the header; rename one"),
        ("a.csv", b"x,,y\n1,2,3\n", "column 2 has no name"),
        ("a.csv", bytes(range(256)) * 40, "cannot be read as CSV"),
        ("a.csv", b"\x89PNG\r\n\x1a\n\x00\x00\xff\xfe,\x00", "cannot be read as CSV"),
        ("a.csv", b'x,y\n1,"2\n', "cannot be read as CSV"),
        ("a.csv.gz", b"not gzip", "cannot be read as CSV"),
        ("a.csv.gz", gzip.compress(b"x,y\n1,2\n" * 100, mtime=0)[:-12], "cannot be read as CSV"),
        ("a.parquet", b"PAR1 and then nothing", "cannot be read as Parquet"),
        ("a.parquet", b"", "cannot be read as Parquet"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_table(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_table(tmp_path / "a.csv")
    with pytest.raises(DataError, match="not a file"):
        read_table(tmp_path)


def test_a_byte_order_mark_and_spaces_in_the_header_do_not_matter(tmp_path):
    (tmp_path / "a.csv").write_text("\ufeffx, y\n1,2\n", encoding="utf-8")
    assert list(read_table(tmp_path / "a.csv").columns) == ["x", "y"]
