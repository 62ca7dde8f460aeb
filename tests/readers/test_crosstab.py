"""Cross tables of a session as entries of a study."""

import numpy as np
import pandas as pd
import pytest

from outrisk.api.entries import entry_of
from outrisk.api.output_kinds import Crosstab
from outrisk.config import study_of
from outrisk.errors import OutputError
from outrisk.microdata import from_frame, infer_codebook

rng = np.random.default_rng(4)
DF = pd.DataFrame(
    {"area": rng.choice(["n", "s", "w"], 90), "sex": rng.integers(1, 3, 90), "ill": rng.choice(["no", "yes"], 90)}
)


def read(table, decimals=3, frame=DF):
    data = from_frame(frame, infer_codebook(frame)[0])
    entry, _ = entry_of(table, 1, frame, data, decimals)
    document = {"name": "s", "data": {"path": "x"}, "outputs": [entry], "keys": ["sex"], "target": "ill"}
    from pathlib import Path

    (built,) = study_of(document, Path("s.yaml")).outputs(data.codebook)
    return entry, built.refit(data), built


@pytest.mark.parametrize("margins", [False, True])
@pytest.mark.parametrize("normalize", [False, "all", "index", "columns"])
def test_the_numbers_are_those_of_pandas(normalize, margins):
    table = pd.crosstab(DF.area, DF.ill, normalize=normalize, margins=margins)
    entry, numbers, built = read(table)
    assert entry["show"] == {
        "all": "proportions", "index": "row_percentages", "columns": "column_percentages",
    }[normalize] if normalize else "show" not in entry  # fmt: skip
    scale = 100 if normalize in ("index", "columns") else 1
    for label, number in zip(built.labels, numbers, strict=True):
        row, column = (part.split("=")[1].replace("Total", "All") for part in label.split(", "))
        if row in table.index and column in table.columns:
            assert number == pytest.approx(scale * table.loc[row, column])


def test_more_variables_and_one(tmp_path):
    entry, numbers, _ = read(pd.crosstab([DF.area, DF.sex], DF.ill))
    assert entry["by"] == ["area", "sex", "ill"] and numbers.sum() == 90
    entry, numbers, _ = read(DF["area"].value_counts())
    assert entry["by"] == ["area"] and sorted(numbers) == sorted(DF["area"].value_counts())


def test_a_subset_and_options():
    table = pd.crosstab(DF.area[DF.sex == 1], DF.ill[DF.sex == 1])
    entry, numbers, _ = read(Crosstab(table, where="sex == 1", protection={"threshold": 3}, name="women"))
    assert (entry["where"], entry["name"], numbers.sum()) == ("sex == 1", "women", (DF.sex == 1).sum())
    with pytest.raises(
        OutputError, match=r"the cross table has .* at area = n, ill = no, the data give .*where=\.\.\."
    ):
        read(table)


def changed(table):
    table = table.copy()
    table.loc["s", "yes"] += 1
    return table


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (changed(pd.crosstab(DF.area, DF.ill)), r"at area = s, ill = yes, the data give \d+; give the data"),
        (pd.crosstab(DF.area, DF.ill).rename(index={"n": "north"}), "at area = "),
        (pd.crosstab(DF.area.rename("region"), DF.ill), "an axis called 'region', which is no column of the data"),
        (pd.crosstab(DF.area.to_numpy(), DF.ill.to_numpy()), "an axis called 'row_0'"),
        (pd.crosstab(DF.area, DF.ill, values=DF.sex, aggfunc="mean"), "the cross table has .* the data give"),
        (pd.crosstab(DF.area, DF.area), "each variable can stand on one of them"),
    ],
)
def test_a_table_that_is_not_of_these_records(table, message):
    with pytest.raises(OutputError, match=message) as caught:
        read(table)
    assert "\n" not in str(caught.value)
