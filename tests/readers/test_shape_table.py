"""Tables of shape and concentration in files: heads of columns, percentages, points, totals, what is left out."""

import numpy as np
import pytest

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.outputs import ShapeEntry, released_as_given
from outrisk.readers.remarks import kept
from outrisk.readers.values import resolve

CODEBOOK = Codebook(
    (
        Variable("region", "categorical", ("north", "south")),
        Variable("pay", "integer", tuple(range(1001))),
    )
)


def read(tmp_path, text, **entry):
    (tmp_path / "table.csv").write_text(text, encoding="utf-8")
    entry = ShapeEntry(kind="shape", **{"value": "pay", "by": "region", "values": "table.csv", **entry})
    with kept() as remarks:
        found = resolve(entry, CODEBOOK, 1, tmp_path)
    released = [released_as_given(each.build(CODEBOOK, 1), each.values, None)[0] for each in found]
    return found, released, remarks


def test_columns_by_their_heads(tmp_path):
    text = "region,n,Mean,Gini,HHI,CR4,Skewness,Kurtosis\nnorth,40,310.5,0.41,0.052,0.30,1.20,4.50\n"
    text += "south,55,299.1,0.38,0.041,0.26,0.90,3.70\nTotal,95,304.0,0.39,0.023,0.17,1.10,4.10\n"
    (entry, total), (released, of_all), remarks = read(tmp_path, text, moments="population")
    assert entry.statistics == ("count", "gini", "hhi", "cr4", "skewness", "kurtosis")
    assert entry.decimals == {"gini": 2, "hhi": 3, "cr4": 2, "skewness": 2, "kurtosis": 2}
    assert released.low.tolist() == [40, 55, 0.41, 0.052, 0.3, 1.2, 4.5, 0.38, 0.041, 0.26, 0.9, 3.7]
    assert total.by == () and of_all.low.tolist() == [95, 0.39, 0.023, 0.17, 1.1, 4.1]
    assert "columns 'Mean' are no shape or concentration and are left out" in " ".join(remarks)


def test_percentages_points_and_decimal_commas(tmp_path):
    text = "region;N;Gini (%);CV (%);HHI;top 4\nnorth;40;41,2;75,1;523;30,1 %\nsouth;<10;;;;\n"
    (entry,), (released,), _ = read(tmp_path, text)
    assert (entry.percent, entry.points, entry.protection.threshold) == (True, True, 10)
    assert released.low[2:6].tolist() == [41.2, 75.1, 523, 30.1] and np.isinf(released.low[6:]).all()
    assert released.high[1] == 9


def test_one_row_of_all_and_excess_kurtosis(tmp_path):
    (entry,), (released,), _ = read(tmp_path, "skew,excess kurtosis\n0.31,-0.42\n", by=(), moments="population")
    assert entry.excess is True and released.low.tolist() == [0.31, -0.42]
    (entry,), _, remarks = read(
        tmp_path, "skew,kurtosis\n0.31,-0.42\n", by=(), moments="adjusted", statistics="kurtosis"
    )
    assert entry.statistics == ("kurtosis",) and "columns of skewness are none of its statistics" in " ".join(remarks)


@pytest.mark.parametrize(
    ("text", "entry", "message"),
    [
        ("region,mean\nnorth,1\n", {}, "no column of shape or concentration is known in it"),
        ("area,gini\nnorth,1\n", {}, "the table has no column 'region'"),
        ("region,gini,Gini index\nnorth,0.1,0.2\n", {}, "several columns are of a gini; keep one"),
        ("region,gini %,cr4\nnorth,30,0.4\n", {}, "are percentages and some are not"),
        ("region,gini\nnorth,0.3\n", {"statistics": ["hhi"]}, "the table has no hhi; it has gini"),
        (
            "region,kurtosis\nnorth,0.3\n",
            {"moments": "population"},
            "a kurtosis is no less than that; correct it, 'moments' or 'excess'",
        ),
        ("region,n,skew\nnorth,40,1.3\n", {}, "compute skewness in three ways; say with 'moments' which"),
        ("region,kurtosi\nnorth,4.3\n", {}, "compute kurtosis in three ways; say with 'moments' which"),
        (
            "region,excess kurtosis\nnorth,4.3\n",
            {"moments": "sample", "excess": False},
            "its kurtosis is called excess kurtosis, 'excess' is false; correct it",
        ),
        ("region,CV,CR4 (%)\nnorth,0.45,45.2\n", {}, "its cv may be a share of the mean or a percentage"),
        ("region,CV,gini\nnorth,45.2,0.31\n", {}, "its cv may be a share of the mean or a percentage"),
        ("region,n,Top 10% share\nnorth,40,45.2\n", {}, "no column of shape or concentration is known in it"),
        ("region,gini\nnorth,high\n", {}, "is 'high', which is not a number"),
        ("skew\n0.2\n0.3\n", {"by": ()}, "the table has several rows; say with 'by'"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(tmp_path, text, entry, message):
    with pytest.raises(OutputError) as error:
        read(tmp_path, text, **entry)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_share_of_a_tenth_of_all_is_not_that_of_the_ten_largest(tmp_path):
    text = "region,gini,Top 1% share,top 10 (%),share of top 10 percent\nnorth,31.5,12.5,40.1,45.2\n"
    (entry,), _, remarks = read(tmp_path, text)
    assert entry.statistics == ("gini", "cr10") and "Top 1% share" in remarks[0] and "10 percent" in remarks[0]
