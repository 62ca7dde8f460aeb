import pytest
import yaml

from outrisk.codebook import Codebook, Variable, codebook_from_dict, codebook_to_dict, grid
from outrisk.config import read_codebook
from outrisk.errors import CodebookError, ConfigError

DOCUMENT = {
    "variables": {
        "area": {"kind": "categorical", "label": "Area", "levels": {"01": "north", "yes": "south", "3": ""}},
        "job": {"kind": "categorical", "levels": ["a, b", "null", 'q"é'], "missing": True},
        "age": {"kind": "integer", "min": 0, "max": 95},
        "size": {"kind": "integer", "values": [1, 2, 5]},
        "rate": {"kind": "numeric", "values": [0.1, 2.5, 7.0], "missing": True},
    }
}


def test_a_codebook_survives_yaml():
    codebook = codebook_from_dict(DOCUMENT)
    document = codebook_to_dict(codebook)
    assert document == DOCUMENT
    assert codebook_from_dict(yaml.safe_load(yaml.safe_dump(document, sort_keys=False))) == codebook


def test_supports():
    codebook = codebook_from_dict(DOCUMENT)
    assert codebook.sizes == [3, 4, 96, 3, 4]
    assert codebook["job"].labels == ["a, b", "null", 'q"é', "Missing"]
    assert codebook["rate"].labels == ["0.1", "2.5", "7", "Missing"]
    assert codebook["area"].code_of["yes"] == 1
    assert "age" in codebook
    assert "AGE" not in codebook
    with pytest.raises(CodebookError, match=r"no variable 'AGE' in the codebook; known: \['area'"):
        codebook["AGE"]


def test_a_grid_does_not_drift():
    assert grid(0, 1, 0.1) == tuple(i / 10 for i in range(11))
    assert grid(0.5, 100, 0.1)[-1] == 100
    assert grid(17.5, 42, 4.5) == (17.5, 22.0, 26.5, 31.0, 35.5, 40.0)


def test_numbers_among_levels_are_text():
    levels = codebook_from_dict({"variables": {"x": {"kind": "categorical", "levels": [1, 2.0, 2.5]}}})["x"].values
    assert levels == ("1", "2", "2.5")


def one(**entry):
    return {"variables": {"x": entry}}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (None, "expected one key 'variables'"),
        ({"variables": {}, "more": 1}, "expected one key 'variables'"),
        ({"variables": {}}, "it has no variables"),
        ({"variables": {True: {"kind": "integer", "min": 0, "max": 1}}}, "name of a variable reads as True; put it in"),
        ({"variables": {"x": None}}, "'x' needs a kind"),
        (one(kind=["a"]), "'x' needs a kind"),
        (one(kind="text", levels=["a"]), r"'x' needs a kind, one of \['categorical', 'integer', 'numeric'\]"),
        (one(kind="integer", min=0, max=1, step=1), r"unknown keys \['step'\]; known"),
        (one(kind="categorical"), "'x' needs 'levels'"),
        (one(kind="categorical", levels="ab"), "'x' needs 'levels'"),
        (one(kind="categorical", levels=[]), "'x' has no values"),
        (one(kind="categorical", levels=["a", "a"]), r"'x' lists \['a'\] twice"),
        (one(kind="categorical", levels=[1, "1"]), r"'x' lists \['1'\] twice"),
        (one(kind="categorical", levels=[True, False]), "a level of 'x' reads as True; put it in quotes"),
        (one(kind="categorical", levels=[["a"]]), r"a level of 'x' is \['a'\]"),
        (one(kind="categorical", levels=["", "a"]), "a level of 'x' is empty"),
        (one(kind="categorical", levels=["Missing"], missing=True), "level 'Missing' and missing: true"),
        (one(kind="categorical", levels=["a"], missing="maybe"), "'missing' of 'x' is 'maybe'; write true or false"),
        (one(kind="integer", min=0), r"'x' lacks \['max'\]"),
        (one(kind="integer", min=3, max=1), "min 3, max 1, step 1; no value lies in it"),
        (one(kind="integer", min="a", max=1), "'a' among the values of 'x' is not a number"),
        (one(kind="integer", min=0, max=10**6), "make 1,000,000 values; widen the step"),
        (one(kind="integer", values=[1, 2.5]), "2.5 among the values of integer 'x' is not whole"),
        (one(kind="integer", values=[1], min=1), "both 'values' and a range"),
        (one(kind="numeric", min=0, max=1), r"'x' lacks \['step'\]"),
        (one(kind="numeric", min=0, max=1, step=0), "no value lies in it"),
        (one(kind="numeric", min=0, max=1e300, step=1e-300), "values; widen the step"),
        (one(kind="numeric", values=[2, 1]), "'x' do not ascend"),
        (one(kind="numeric", values=[1, float("nan")]), "nan among the values of 'x' is not a number"),
        (
            one(kind="integer", values=[0, 2**53 + 1]),
            r"a value of 'x' is above 2\*\*53, beyond which whole numbers are",
        ),
        (one(kind="integer", values=[1e300]), "a value of 'x' is above"),
        (one(kind="numeric", values=[0, 10**400]), "a value of 'x' is above"),
        (one(kind="integer", min=0, max=10**400), "a value of 'x' is above"),
        (one(kind="numeric", values="12"), "'12' among the values of 'x' is not a number"),
    ],
)
def test_faults_are_told(document, message):
    with pytest.raises(CodebookError, match=message) as caught:
        codebook_from_dict(document)
    assert "\n" not in str(caught.value)


def test_names_are_unique():
    with pytest.raises(CodebookError, match="'x' is described twice"):
        Codebook((Variable("x", "integer", (1,)), Variable("x", "integer", (2,))))
    with pytest.raises(CodebookError, match="65,536 values; at most 65,535"):
        Variable("x", "integer", tuple(range(65_536)))
    with pytest.raises(CodebookError, match="2 values and 1 descriptions"):
        Variable("x", "categorical", ("a", "b"), descriptions=("c",))


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (
            "variables: {x: {kind: integer, min: 0, max: 1}, x: {kind: integer, min: 0, max: 2}}",
            ConfigError,
            "'x' is given",
        ),
        ("variables: {x: {kind: odd}}", CodebookError, "'x' needs a kind"),
        ("a: [", ConfigError, "not YAML, line 1"),
        ("", CodebookError, "expected one key"),
    ],
)
def test_a_codebook_file_is_named_in_its_faults(tmp_path, text, kind, message):
    path = tmp_path / "my.codebook.yaml"
    path.write_text(text)
    with pytest.raises(kind, match=message) as caught:
        read_codebook(path)
    assert str(caught.value).startswith(str(path))
