"""Cross tables of a session as entries of a study."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from outrisk.api.entries import check_sources, entry_of
from outrisk.api.output_kinds import Crosstab
from outrisk.config import study_of
from outrisk.errors import OutputError
from outrisk.microdata import from_frame, infer_codebook

rng = np.random.default_rng(4)
DF = pd.DataFrame(
    {"area": rng.choice(["n", "s", "w"], 90), "sex": rng.integers(1, 3, 90), "ill": rng.choice(["no", "yes"], 90)}
).assign(old=rng.random(90) < 0.4, years=rng.integers(0, 9, 90) / 2, weight=rng.choice([0.5, 1.0, 2.25], 90))
GAPS = DF.assign(area=DF.area.mask(DF.index % 7 == 0), sex=DF.sex.mask(DF.index % 11 == 0), old=DF.old.astype(object))
GAPS["the year"] = GAPS["years"].mask(DF.index % 5 == 0)


def read(table, decimals=3, frame=DF):
    data = from_frame(frame, infer_codebook(frame)[0])
    entry, source = entry_of(table, 1, frame, data, decimals)
    document = {"name": "s", "data": {"path": "x"}, "outputs": [entry], "keys": ["sex"], "target": "ill"}
    study = study_of(document, Path("s.yaml"))
    check_sources(study, data, [source])
    (built,) = study.outputs(data.codebook)
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
    with pytest.raises(OutputError, match=r"the cross table has .* at area=n, ill=no, the data give .*where=\.\.\."):
        read(table)


def agree(table, built, numbers, unit=1.0, digits=9):
    """Every cell of a table without margins is the number that its label says, to a last digit; no other has people."""
    known = dict(zip(built.labels, numbers, strict=True))
    table = table.to_frame("n") if isinstance(table, pd.Series) else table
    by = [name for name in (*table.index.names, *table.columns.names) if name]
    for row, cells in zip(table.index, table.to_numpy(), strict=True):
        for column, cell in zip(table.columns, cells, strict=True):
            levels = [level for label in (row, column) for level in (label if isinstance(label, tuple) else [label])]
            texts = {name: written(level) for name, level in zip(by, levels, strict=False)}
            found = known.pop(", ".join(f"{name}={texts[name]}" for name in built.by))
            assert found == pytest.approx(unit * cell, abs=0.51 * unit * 10.0**-digits)
    assert not np.nansum(list(known.values()))


def written(level):
    return "Missing" if pd.isna(level) else f"{level:g}" if isinstance(level, float) else str(level)


@pytest.mark.parametrize(
    "by", [["area"], ["area", "ill"], ["the year", "sex"], ["old", "the year"], ["area", "sex", "ill"]]
)
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("dropna", [True, False])
def test_missing_values_are_left_out_or_a_level_as_in_the_table(by, normalize, dropna):
    tables = [GAPS[by].value_counts(normalize=normalize, dropna=dropna)]
    if len(by) > 1:
        axes = [GAPS[name] for name in by[:-1]], GAPS[by[-1]]
        tables.append(pd.crosstab(*axes, normalize=normalize, dropna=dropna))
        tables.append(pd.crosstab(*axes, normalize=normalize, dropna=dropna, margins=True))
    for table in tables:
        entry, numbers, built = read(table, frame=GAPS)
        assert ("notna" in entry.get("where", "")) == dropna
        if not entry.get("margins"):
            agree(table, built, numbers)


def test_missing_values_beside_a_subset():
    part = GAPS[GAPS.ill == "no"]
    entry, numbers, _ = read(Crosstab(pd.crosstab(part.area, part.old), where="ill == 'no'"), frame=GAPS)
    assert entry["where"] == "(ill == 'no') and area.notna()" and numbers.sum() == part.area.notna().sum()


@pytest.mark.parametrize(
    ("normalize", "rows"), [("index", ["area"]), ("columns", ["area"]), ("index", ["area", "ill"])]
)
@pytest.mark.parametrize("columns", [["sex", "old"], ["old"]])
@pytest.mark.parametrize("scale", [1, 100])
def test_shares_within_several_variables_are_those_of_the_table(normalize, rows, columns, scale):
    if len(rows) > 1 and len(columns) > 1:
        return
    table = scale * pd.crosstab([DF[name] for name in rows], [DF[name] for name in columns], normalize=normalize)
    _, numbers, built = read(table)
    agree(table, built, numbers, 100 / scale)


@pytest.mark.parametrize("normalize", [False, "all", "index", "columns"])
def test_a_variable_of_true_and_false(normalize):
    table = pd.crosstab(DF.old, DF.old.eq(DF.sex == 1).rename("even"), normalize=normalize)
    _, numbers, built = read(table, frame=DF.assign(even=DF.old.eq(DF.sex == 1)))
    agree(table, built, numbers, 100 if normalize in ("index", "columns") else 1)


@pytest.mark.parametrize(("digits", "scale", "given"), [(3, 1, 1), (4, 1, 2), (2, 1, 0), (1, 100, 1), (0, 100, 0)])
@pytest.mark.parametrize("normalize", ["all", "index"])
def test_rounded_shares(normalize, digits, scale, given):
    table = (scale * pd.crosstab(DF.area, DF.ill, normalize=normalize)).round(digits)
    for entry, numbers, built in (read(table, digits), read(Crosstab(table, decimals=digits), None)):
        assert entry["decimals"] == given + 2 * (normalize == "all")
        agree(table, built, numbers, (100 if normalize == "index" else 1) / scale, digits)


@pytest.mark.parametrize("normalize", [False, "all", "index"])
def test_weights(normalize):
    table = pd.crosstab(DF.area, DF.ill, values=DF.weight, aggfunc="sum", normalize=normalize)
    entry, numbers, built = read(Crosstab(table, weight="weight"))
    assert (entry["weight"], entry["decimals"]) == ("weight", 1 if normalize == "index" else 3)
    agree(table, built, numbers, 100 if normalize == "index" else 1)


@pytest.mark.parametrize("normalize", [False, "index", "columns"])
def test_levels_that_nobody_has_or_that_read_as_a_margin(normalize):
    frame = DF.assign(area=DF.area.map({"n": "Total", "s": "a", "w": "b, ill=no"}))
    _, numbers, built = read(pd.crosstab(frame.area, frame.ill, normalize=normalize), frame=frame)
    agree(pd.crosstab(frame.area, frame.ill, normalize=normalize), built, numbers, 100 if normalize else 1)
    frame = DF.assign(area=pd.Categorical(DF.area, ["n", "e", "s", "w", "x"]))
    for margins in (False, True):
        table = pd.crosstab(frame.area, frame.ill, normalize=normalize, dropna=False, margins=margins)
        assert read(table, frame=frame)[0]["by"] == ["area", "ill"]


def test_cells_without_a_number():
    counts = DF.groupby(["area", "years"]).size().unstack()  # NaN where nobody is
    _, numbers, _ = read(counts)
    assert numbers.sum() == 90
    withheld = pd.crosstab(DF.area, DF.years).where(lambda cells: (cells == 0) | (cells >= 4))
    _, numbers, _ = read(Crosstab(withheld, protection={"threshold": 4}))
    assert numbers.sum() == 90


MEANS = "neither counts nor shares as `normalize` makes them; means go through outrisk.Magnitudes"


def changed(table):
    table = table.copy()
    table.loc["s", "yes"] += 1
    return table


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (changed(pd.crosstab(DF.area, DF.ill)), r"at area=s, ill=yes, the data give \d+; give the data"),
        (pd.crosstab(DF.area, DF.ill).rename(index={"n": "north"}), "at area="),
        (pd.crosstab(DF.area.rename("region"), DF.ill), "an axis called 'region', which is no column of the data"),
        (pd.crosstab(DF.area.to_numpy(), DF.ill.to_numpy()), "an axis called 'row_0'"),
        (
            pd.DataFrame({"ill": [1.0, 0.2], "area": [0.2, 1.0]}, index=["ill", "area"]),
            "means, quantiles and correlations",
        ),
        (pd.crosstab(DF.area, DF.ill, values=DF.years, aggfunc="mean"), MEANS),
        (DF.groupby("area").years.mean(), MEANS),
        (pd.crosstab(DF.area, DF.ill, values=DF.weight, aggfunc="sum"), "need Crosstab.table, weight="),
        (pd.crosstab(DF.area[:0], DF.ill[:0]), r"has no cells; make it of records that have values in \['area', 'ill'"),
        (pd.crosstab(DF.area, DF.ill).astype(str) + " people", "the cross table holds text"),
        (
            pd.crosstab(DF.area, DF.ill).where(lambda counts: counts > 13),
            "has no number at .*, the data give .*protection=",
        ),
        (pd.crosstab(DF.area, DF.ill, normalize="index").round(2), r"has 0.\d\d at .*for rounded shares: .*decimals="),
        (pd.crosstab([DF.area, DF.old], [DF.sex, DF.ill], normalize="index"), "shares within rows and several var"),
        (Crosstab(pd.crosstab(DF.area, DF.ill), show="proportions"), "show is 'proportions', in the cross table 'coun"),
        (Crosstab(pd.crosstab(DF.area, DF.ill, margins=True), margins=False), "margins is False, in the cross table"),
        (pd.concat([pd.crosstab(DF.area, DF.ill)] * 2), "more than one cell for area=n, ill=no"),
        (
            pd.crosstab(pd.cut(DF.years, [-1, 3, 99]), DF.ill),
            r"levels of 'years', such as '\(-1, 3\]', none of which is a",
        ),
        (pd.crosstab(DF.area, DF.area), "each variable can stand on one of them"),
    ],
)
def test_a_table_that_is_not_of_these_records(table, message):
    with pytest.raises(OutputError, match=message) as caught:
        read(table)
    assert "\n" not in str(caught.value)
