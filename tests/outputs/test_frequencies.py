from itertools import product

import numpy as np
import pandas as pd
import pytest

from outrisk.codebook import Codebook, Variable
from outrisk.errors import OutputError
from outrisk.microdata import Microdata, from_frame
from outrisk.outputs import Frequencies, FrequenciesEntry, release

CODEBOOK = Codebook(
    (
        Variable("age", "integer", (1, 2, 3, 4)),
        Variable("job", "categorical", ("b", "a"), missing=True),
        Variable("pay", "numeric", (0.5, 2.0), missing=True),
        Variable("my ill", "categorical", ("no", "yes")),
    )
)


def test_a_table_by_hand():
    frame = pd.DataFrame(
        {
            "age": [1, 1, 4, 2],
            "job": ["a", None, "a", "b"],
            "pay": [2.0, 0.5, None, 2.0],
            "my ill": ["no", "no", "yes", "no"],
        }
    )
    output = Frequencies(CODEBOOK, "t", ("job", "pay"))
    assert output.labels == [
        *("job=b, pay=0.5", "job=b, pay=2", "job=b, pay=Missing"),
        *("job=a, pay=0.5", "job=a, pay=2", "job=a, pay=Missing"),
        *("job=Missing, pay=0.5", "job=Missing, pay=2", "job=Missing, pay=Missing"),
    ]
    assert output.refit(from_frame(frame, CODEBOOK)).tolist() == [0, 1, 0, 0, 1, 1, 1, 0, 0]
    assert output.notes == "counts by job, pay"
    assert (release(output, from_frame(frame, CODEBOOK)).tolerance == 0.5).all()


@pytest.mark.parametrize("by", [("job",), ("pay", "my ill"), ("my ill", "age", "job"), ("age", "job", "pay", "my ill")])
@pytest.mark.parametrize("where", ["", "age >= 2", "`my ill` == 'yes' or pay > 1", "age in [1, 3]"])
def test_counts_agree_with_crosstab(by, where):
    rng = np.random.default_rng(len(by))
    codes = np.stack([rng.integers(0, size, 150) for size in CODEBOOK.sizes], axis=1).astype(np.uint16)
    data = Microdata(CODEBOOK, codes)
    frame = data.frame().astype(object)
    frame = frame.query(where) if where else frame
    frame = frame.assign(**{name: frame[name].astype(object).where(frame[name].notna(), "?") for name in by})
    cells = list(product(*([*CODEBOOK[name].values, *["?"] * CODEBOOK[name].missing] for name in by)))
    table = pd.crosstab([frame[name] for name in by], "n")["n"].to_dict()
    expected = [table.get(cell if len(by) > 1 else cell[0], 0) for cell in cells]
    output = Frequencies(CODEBOOK, "t", by, where)
    assert output.refit(data).tolist() == expected
    assert len(output.labels) == len(expected)


def test_every_table_of_some_variables():
    entry = FrequenciesEntry(kind="frequencies", by=("age", "job", "pay"), ways=2, where="age > 1")
    tables = entry.build(CODEBOOK, 1)
    assert [table.name for table in tables] == ["table age x job", "table age x pay", "table job x pay"]
    assert {table.where for table in tables} == {"age > 1"}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"by": ()}, "must name one or more different variables"),
        ({"by": ("age", "age")}, "must name one or more different variables"),
        ({"by": ("wage",)}, "no variable 'wage'; variables are"),
        ({"by": ("age",), "ways": 2}, "ways: 2 but by:"),
        ({"by": ("age",), "where": "age >"}, "is not an expression"),
        ({"by": ("age",), "where": "`no such` > 1"}, r"names \['no such'\]"),
        ({"by": ("age",), "where": "`my ill` == 'maybe'"}, "with 'maybe'; the levels of 'my ill' are text: "),
    ],
)
def test_entries_that_cannot_be_used(entry, message):
    with pytest.raises(OutputError, match=message) as caught:
        FrequenciesEntry(kind="frequencies", **entry).build(CODEBOOK, 1)
    assert "\n" not in str(caught.value)


def test_too_many_cells():
    codebook = Codebook(tuple(Variable(name, "integer", tuple(range(300))) for name in "abc"))
    with pytest.raises(OutputError, match=r"'table a x b x c': the supports .* multiply to 27,000,000 .* band one"):
        FrequenciesEntry(kind="frequencies", by=tuple("abc")).build(codebook, 1)
