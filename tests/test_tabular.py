"""Files as users have them."""

import gzip
import logging
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from outrisk.errors import DataError
from outrisk.tabular import Written, read_source, read_table
from outrisk.tabular.recoded import with_gaps, with_years, year_of

PLAIN = "name,size,area,n\nÖster,1.5,north,1\nÉmile,-0.25,south,2\nzoë,12.0,north,-9\n"
GERMAN = PLAIN.replace(",", ";").replace("1.5", "1,5").replace("-0.25", "-0,25").replace("12.0", "12,0")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "latin-1", "utf-16"])
@pytest.mark.parametrize("sep", [";", "\t", "|"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_however_a_csv_is_written_it_reads_the_same(tmp_path, caplog, encoding, sep, ending):
    content = GERMAN.replace(";", sep).encode(encoding)
    path = tmp_path / f"d.{ending}"
    path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    (tmp_path / "plain.csv").write_text(PLAIN, encoding="utf-8")
    with caplog.at_level(logging.INFO, "outrisk"):
        found = read_source(path)
    pd.testing.assert_frame_equal(found.frame, read_table(tmp_path / "plain.csv"))
    said = " ".join(found.notes)
    assert "decimal comma (1 of 4 columns)" in said and "separated by" in said
    assert ("Windows-1252" in said) == (encoding in ("cp1252", "latin-1"))
    assert [record.getMessage() for record in caplog.records] == [f"{path}: {note}" for note in found.notes]
    assert not any(value in said for value in ("Öster", "zoë", "1,5"))


def test_a_plain_file_needs_no_word(tmp_path):
    (tmp_path / "d.csv").write_text(PLAIN, encoding="utf-8")
    assert read_source(tmp_path / "d.csv").notes == ()


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("sep", [",", ";", "\t"])
def test_a_first_line_for_excel_is_no_header(tmp_path, sep, ending):
    content = f"sep={sep}\n{(PLAIN if sep == ',' else GERMAN).replace(';', sep)}".replace("\n", ending)
    (tmp_path / "d.csv").write_bytes(content.encode("utf-8-sig"))
    (tmp_path / "plain.csv").write_text(PLAIN, encoding="utf-8")
    pd.testing.assert_frame_equal(read_table(tmp_path / "d.csv"), read_table(tmp_path / "plain.csv"))


def test_what_is_said_is_not_guessed(tmp_path):
    path = tmp_path / "d.csv"
    path.write_bytes("a;b\n1,5;x;y\n".replace(";y", "").encode())
    assert read_table(path, Written(decimal=".")).iloc[0].tolist() == ["1,5", "x"]
    with pytest.raises(DataError, match=r"record 1 has 2 cells and the header 1; give it as many .* commas"):
        read_table(path, Written(sep=","))
    for wrong, message in (
        (Written(sep="ab"), "sep: 'ab'"),
        (Written(decimal="x"), "'x' is neither"),
        (Written(encoding="klingon"), "'klingon'"),
    ):
        with pytest.raises(DataError, match=message):
            read_table(path, wrong)
    path.write_bytes("a,b\n\xa42,1\n".encode("latin-1"))
    assert read_table(path, Written(encoding="iso-8859-15"))["a"].tolist() == ["€2"]


def test_commas_that_are_no_decimal_marks_stay(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text('list;text;big;mixed\n1,5;a, b;1.234,5;"1,5"\n2,7;c;12,25;1.5\n', encoding="utf-8")
    frame = read_table(path)
    assert frame["text"].tolist() == ["a, b", "c"]
    assert frame["big"].tolist() == ["1234.5", "12.25"]
    assert frame["mixed"].tolist() == ["1,5", "1.5"]  # neither one nor the other: as it is, so that a person sees it
    path.write_text('a,b\n"1,234",x\n"5,678",y\n', encoding="utf-8")
    assert read_table(path)["a"].tolist() == ["1,234", "5,678"]
    path.write_text("a;b\n1.234;1,5\n5.678;2,5\n", encoding="utf-8")
    assert "points may group thousands" in " ".join(read_source(path).notes)


def test_separators_within_quotes_do_not_count(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text('a,b\n"1;2;3",x\n"1;2;3",y\n', encoding="utf-8")
    assert list(read_table(path).columns) == ["a", "b"]
    path.write_text("only\n1\n2\n", encoding="utf-8")
    assert read_table(path)["only"].tolist() == ["1", "2"]


def test_stata_and_spss_keep_their_value_labels(tmp_path):
    import pyreadstat

    frame = pd.DataFrame({"sex": [1, 2, 2], "age": [30.5, np.nan, 41.0], "born": pd.to_datetime(["1961-03-05"] * 3)})
    frame.to_stata(
        tmp_path / "d.dta",
        write_index=False,
        value_labels={"sex": {1: "male", 2: "female"}},
        variable_labels={"age": "Age"},
    )
    pyreadstat.write_sav(
        frame,
        str(tmp_path / "d.sav"),
        column_labels={"age": "Age"},
        variable_value_labels={"sex": {1: "male", 2: "female"}},
    )
    for name in ("d.dta", "d.sav"):
        found = read_source(tmp_path / name)
        assert found.levels == {"sex": {"1": "male", "2": "female"}}
        assert found.labels == {"age": "Age"}
        assert found.frame["sex"].tolist() == [1, 2, 2] and np.isnan(found.frame["age"][1])
        assert with_years(found.frame, ["born"], [""], "data")["born"].tolist() == [1961] * 3


def test_excel(tmp_path):
    frame = pd.DataFrame({"sex": ["m", "f", None], "age": [30, 31, 32], "size": [1.5, 2, 3]})
    with pd.ExcelWriter(tmp_path / "d.xlsx") as book:
        frame.to_excel(book, sheet_name="people", index=False)
        frame.to_excel(book, sheet_name="more", index=False)
    found = read_source(tmp_path / "d.xlsx")
    assert found.frame["age"].tolist() == [30, 31, 32] and found.frame["sex"].tolist()[:2] == ["m", "f"]
    assert found.frame["sex"].isna().tolist() == [False, False, True]
    assert found.notes == ("the first sheet, 'people', is read; 1 more is left alone",)
    with pd.ExcelWriter(tmp_path / "e.xlsx") as book:
        pd.DataFrame([["a", "a"], [1, 2]]).to_excel(book, index=False, header=False)
    with pytest.raises(DataError, match="column 'a' stands 2 times"):
        read_table(tmp_path / "e.xlsx")


@pytest.mark.parametrize("name", ["d.dta", "d.sav", "d.xlsx", "d.csv"])
def test_files_that_are_none(tmp_path, name):
    for content in (b"", b"\x00\x01\x02" * 50, b"PK\x03\x04 and nothing"):
        (tmp_path / name).write_bytes(content)
        if name == "d.csv" and content.startswith(b"PK"):
            continue
        with pytest.raises(DataError) as caught:
            read_table(tmp_path / name)
        assert str(caught.value).startswith(f"{tmp_path / name}: ") and "\n" not in str(caught.value)
    if name != "d.csv":
        with pytest.raises(DataError, match="are of CSV files; leave them out"):
            read_table(tmp_path / name, Written(sep=";"))


def test_without_their_packages_spss_and_excel_are_refused(tmp_path):
    program = """
import importlib.util
from pathlib import Path
importlib.util.find_spec = lambda name, package=None: None
from outrisk.tabular import read_table
for name in ("d.sav", "d.xlsx"):
    Path(name).write_bytes(b"x")
    try: read_table(Path(name))
    except Exception as error: print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert "SPSS needs pyreadstat; install it (pip install 'outrisk[spss]')" in done.stdout, done.stderr
    assert "Excel needs openpyxl; install it (pip install 'outrisk[excel]')" in done.stdout


@pytest.mark.parametrize(
    ("text", "year"),
    [("1961-03-05", 1961), ("05.03.1961", 1961), ("3/5/1961", 1961), ("1961-03-05 12:00:00", 1961), ("05mar1961", 1961),
     ("5.3.61", None), ("yes", None), ("1961", None), (pd.Timestamp("1961-03-05"), 1961)],
)  # fmt: skip
def test_the_year_of_a_date(text, year):
    assert year_of(text) == year


def test_recoding_names_what_does_not_fit():
    frame = pd.DataFrame({"d": ["1961-03-05", "NA", "soon"], "x": ["-9", "1", "-9.0"], "y": [-9.0, 1.0, 2.0]})
    with pytest.raises(DataError, match=r"column 'd' has no date .* in record 3"):
        with_years(frame, ["d"], ["NA"], "data")
    found = with_gaps(frame, {"x": [-9], "y": ["-9"]}, "data")
    assert found["x"].isna().tolist() == [True, False, True] and found["y"].isna().tolist() == [True, False, False]
    with pytest.raises(DataError, match=r"\[data\] missing: no column 'z'"):
        with_gaps(frame, {"z": [1]}, "data")


def test_an_empty_column_groups_no_thousands(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("a;b;c\n;1,5;x\n;2,5;y\n", encoding="utf-8")
    assert "may group thousands" not in " ".join(read_source(path).notes)
