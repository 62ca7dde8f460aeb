import json

import numpy as np
import pandas as pd
import pytest
import yaml

from outrisk.config import read_study, study_of
from outrisk.errors import ConfigError, DataError, OutRiskError
from outrisk.load import load_study_data
from outrisk.outputs import release

CSV = "year,a,my b,t\n2018,1,x,0\n2018,2,y,1\n2019,3,x,0\n2019,1,y,1\n2019,2,,1\n"


def study(tmp_path, data, **changes):
    (tmp_path / "x.csv").write_text(CSV)
    document = {"name": "x", "data": {"path": "x.csv"} | data, "keys": ["a"], "target": "t"}
    document["outputs"] = [{"kind": "frequencies", "by": ["a"]}]
    path = tmp_path / "x.yaml"
    path.write_text(yaml.safe_dump(document | changes))
    return read_study(path)


def test_where_derive_drop_columns_in_this_order(tmp_path):
    data = {
        "where": "year == 2019",
        "derive": {"old": "a > 1", "c": "a * 2"},
        "drop": ["a"],
        "columns": ["c", "old", "t"],
    }
    found = load_study_data(study(tmp_path, data))
    assert found.original.frame().to_dict("list") == {"c": [6, 2, 4], "old": [1, 0, 1], "t": [0, 1, 1]}
    assert found.guesses["c"] == "a number, on a grid of 7 values with round ends"  # 2, 4 and 6 are of one person each
    assert found.holdout is None


def test_a_holdout_shares_the_codebook(tmp_path):
    columns = ["a", "my b", "t"]
    holdout = {"path": "x.csv", "where": "year == 2018", "columns": columns}
    found = load_study_data(study(tmp_path, {"where": "`year` == 2019", "columns": columns}, holdout=holdout))
    assert found.holdout.codebook == found.original.codebook
    assert (len(found.original), len(found.holdout)) == (3, 2)
    assert found.original.codebook["my b"].missing


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"where": "year =="}, r"\[data\].* where: 'year ==' is not an expression; write for example age >= 27"),
        ({"where": "year > 'a'"}, "fails: "),
        ({"where": "wage > 3"}, "names 'wage', which is no column; columns are"),
        ({"where": "year > 3000"}, "leaves no records"),
        ({"where": "a + 1"}, "is not true or false for each record"),
        ({"where": "3 > 2"}, "does not give a value for each record"),
        ({"where": "z = a"}, "is not an expression"),
        ({"where": "@section"}, "is not an expression"),
        ({"derive": {"c": "a +"}}, r"\[data\].* derive c: 'a \+' is not an expression"),
        ({"drop": ["z"]}, r"\[data\] drop: no column 'z'; columns are \['year'"),
        ({"columns": ["a", "t", "z"]}, r"\[data\] columns: no column 'z'"),
        ({"columns": ["a", "a"]}, r"\[data\] columns: .* names a column twice"),
        ({"path": "no.csv"}, "no.csv: no such file"),
        (
            {"path": "", "package": "statsmodels", "dataset": "no"},
            r"no dataset 'no' in statsmodels; there are \['anes96'",
        ),
        ({"path": "", "package": "statsmodels", "dataset": "utils"}, "no dataset 'utils' in statsmodels"),
        (
            {"path": "", "package": "statsmodels", "dataset": "fair", "options": {"n": 3}},
            "datasets of statsmodels take none",
        ),
        ({"path": "", "package": "outrisk", "dataset": "no"}, r"no dataset 'no' in outrisk; there are \['sars_like'\]"),
        ({"path": "", "package": "outrisk", "dataset": "sars_like", "options": {"m": 3}}, r"options {'m': 3}"),
        ({"path": "", "package": "outrisk", "dataset": "sars_like", "options": {"seed": -3}}, "seed is -3"),
    ],
)
def test_faults_are_told(tmp_path, data, message):
    with pytest.raises(OutRiskError, match=message) as caught:
        load_study_data(study(tmp_path, data))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("what", ["where", "derive"])
@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("a != 2", "compares 'a' with 2, and its values have none such: text needs quotes, numbers none"),
        ("a not in [2]", "compares 'a' with 2"),
        ("year != '2018'", "compares 'year' with '2018', and its values are numbers"),
        ("a != '22'", "compares 'a' with '22'"),
        ("a != year", "compares 'a' with year"),
        ("a != '4'", ""),  # in the codebook alone
        ("`my b` != ''", ""),
        ("`my b` != 'NA'", ""),
        ("`my b` != 'z'", ""),  # the codebook says nothing of it
        ("t != 2", ""),
    ],
)
def test_text_is_not_compared_with_numbers(tmp_path, what, text, refused):
    levels = {"kind": "categorical", "levels": ["1", "2", "4"]}
    codebook = {"variables": {"a": levels, "t": {"kind": "integer", "min": 0, "max": 1}}}
    (tmp_path / "x.codebook.yaml").write_text(yaml.safe_dump(codebook))
    # '3' stands in the data alone
    data = {"where": f"({text}) and a != '3'"} if what == "where" else {"where": "a != '3'", "derive": {"new": text}}
    found = study(tmp_path, data, codebook="x.codebook.yaml")
    if not refused:
        assert len(load_study_data(found).original)
        return
    with pytest.raises(ConfigError, match=refused):
        load_study_data(found)


def test_nullable_parquet_columns_can_be_compared(tmp_path):
    frame = pd.DataFrame({"a": pd.array([1, None, 3], "Int64"), "t": [0, 1, 1]})
    found = study(tmp_path, {"path": "x.parquet", "where": "a > 0"})
    frame.to_parquet(tmp_path / "x.parquet")
    assert len(load_study_data(found).original) == 2


def test_census_of_two_years(tmp_path, shared):
    """2019 as original, 2018 as holdout; the logit of 2019 as computed apart from this project, to its decimals."""
    folder = shared / "data" / "census" / "acs_us"
    known = json.loads((folder / "reference_logit.json").read_text())["fits"]["2019"]["logit"]
    table = pd.read_csv(folder / "acs7.csv", dtype=str)
    names = ["AREA", "ETHGROUP", "LTILL", "MSTATUS", "SEX", "TENURE"]
    variables = {name: {"kind": "categorical", "levels": sorted(set(table[name]))} for name in names}
    ages = table["AGE"].astype(int)
    variables["AGE"] = {"kind": "integer", "min": int(ages.min()), "max": int(ages.max())}
    (tmp_path / "acs.codebook.yaml").write_text(yaml.safe_dump({"variables": variables}))
    path = str(folder / "acs7.csv")
    document = {
        "name": "acs",
        "data": {"path": path, "where": "YEAR == 2019", "columns": [*names, "AGE"]},
        "holdout": {"path": path, "where": "YEAR == 2018", "columns": [*names, "AGE"]},
        "codebook": "acs.codebook.yaml",
        "outputs": [
            {
                "kind": "logit",
                "response": "TENURE",
                "terms": [*names[:-1], "AGE"],
                "reference": known["reference"],
                "event": 1,
                "decimals": 6,
            }
        ],
        "keys": [*names[:-1], "AGE"],
        "target": "TENURE",
    }
    (tmp_path / "acs.yaml").write_text(yaml.safe_dump(document))
    found = read_study(tmp_path / "acs.yaml")
    data = load_study_data(found)
    assert (len(data.original), len(data.holdout)) == (25_435, 25_365)
    (output,) = found.outputs(data.original.codebook)
    published = dict(zip(output.labels, release(output, data.original).values, strict=True))
    assert published.keys() == known["coef"].keys()
    for label, value in known["coef"].items():
        assert published[label] == pytest.approx(value, abs=1.01e-6), label


def test_a_codebook_that_is_inferred_names_nobody(tmp_path, caplog):
    n = 60
    frame = pd.DataFrame({"a": [1, 2] * 30, "t": [0, 1, 1] * 20, "note": [f"said {i}" for i in range(n)]})
    frame["id"], frame["seen"] = range(5_000, 5_000 + n), pd.date_range("2001-12-01", periods=n).astype(str)
    frame.to_csv(tmp_path / "x.csv", index=False)
    document = {"name": "x", "data": {"path": "x.csv"}, "keys": ["a"], "target": "t"}
    document["outputs"] = [{"kind": "frequencies", "by": ["a"]}]
    with caplog.at_level("INFO", "outrisk"):
        assert load_study_data(study_of(document, tmp_path / "x.yaml")).original.codebook.names == ["a", "t"]
    assert "columns note, id, seen point at single people" in caplog.text
    for key, why in (("id", "points at single people"), ("note", "points at single people")):
        with pytest.raises(DataError, match=f"column '{key}' {why}.*name one: 'outrisk init'"):
            load_study_data(study_of(document | {"keys": ["a", key]}, tmp_path / "x.yaml"))


def test_single_columns_are_recoded_as_the_study_says(tmp_path):
    (tmp_path / "s.codebook.yaml").write_text(
        yaml.safe_dump(
            {
                "variables": {
                    "region": {"kind": "categorical", "levels": ["n", "s", "Other"]},
                    "born": {"kind": "integer", "min": 1900, "max": 2000},
                    "score": {"kind": "integer", "min": 0, "max": 10, "missing": True},
                    "job": {"kind": "categorical", "levels": ["a", "b"]},
                }
            }
        )
    )
    (tmp_path / "d.csv").write_text(
        "region;born;score;job\nn;05.03.1961;-9;a\nzz;06.03.1962;3,0;b\ns;1963-01-01;4,0;c\n", encoding="utf-8"
    )
    data = {
        "path": "d.csv",
        "missing": {"score": [-9]},
        "years": ["born"],
        "merge": {"region": "Other"},
        "known": ["job"],
    }
    document = {
        "name": "s",
        "data": data,
        "codebook": "s.codebook.yaml",
        "outputs": [{"kind": "frequencies", "by": ["region", "job"]}],
        "keys": ["region"],
        "target": "job",
    }
    frame = load_study_data(study_of(document, tmp_path / "s.yaml")).original.frame()
    assert frame["region"].tolist() == ["n", "Other"]
    assert frame["born"].tolist() == [1961, 1962]
    assert np.isnan(frame["score"][0]) and frame["score"][1] == 3
    for changes, message in (
        ({"merge": {"region": "none"}}, "'none' is no level of 'region'"),
        ({"known": ["x"]}, "no column 'x' in the data and in the codebook"),
        ({"years": ["job"]}, "no date with a year of four digits in record 1"),
    ):
        with pytest.raises((ConfigError, DataError), match=message):
            load_study_data(study_of(document | {"data": data | changes}, tmp_path / "s.yaml"))
    with pytest.raises(ConfigError, match="go with 'path'"):
        study_of(document | {"data": {"package": "statsmodels", "dataset": "fair", "sep": ";"}}, tmp_path / "s.yaml")
