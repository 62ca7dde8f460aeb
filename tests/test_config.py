import copy
from pathlib import Path

import pytest
import yaml

from outrisk.config import read_study
from outrisk.errors import ConfigError, OutRiskError
from outrisk.load import load_study_data
from outrisk.outputs import REGISTRY, release
from outrisk.outputs.tables.protection import UNPROTECTED

CONFIGS = sorted((Path(__file__).parents[1] / "configs").glob("*[!k].yaml"))
STUDIES = [path for path in CONFIGS if "codebook" not in path.name]
PAGES = ("study-file", "outputs", "regressions", "released-numbers")
FILES = "".join((Path(__file__).parents[1] / "docs" / f"{page}.md").read_text() for page in PAGES)
BASE = {
    "name": "x",
    "data": {"path": "x.csv"},
    "outputs": [{"kind": "frequencies", "by": ["a", "b"]}],
    "keys": ["a", "b", "c", "d"],
    "target": "t",
}


def study(tmp_path, changes):
    document = copy.deepcopy(BASE) | changes
    path = tmp_path / "x.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in document.items() if value is not None}))
    return path


def test_defaults(tmp_path):
    found = read_study(study(tmp_path, {}))
    assert found.key_sizes == (3, 4)
    assert found.file.study.runs_at(2, 20) == 3
    assert found.file.evolve.settings().generations == found.resolved()["evolve"]["generations"]
    assert found.codebook() is None


def test_a_seed_from_the_command_line_replaces_the_files(tmp_path):
    path = study(tmp_path, {"evolve": {"seed": 5, "generations": 7}})
    assert read_study(path).file.evolve.seed == 5
    assert read_study(path, 9).file.evolve.seed == 9
    assert read_study(path, 9).file.evolve.settings().generations == 7


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_ready_made_studies_are_valid_and_so_is_what_they_resolve_to(tmp_path, path):
    found = read_study(path, trust=True)
    assert found.outputs(found.codebook())
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(found.resolved()))
    again = read_study(tmp_path / "study.yaml", trust=True)
    assert again.resolved() == found.resolved()
    assert path.read_text().startswith("# ")


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_ready_made_studies_have_numbers_to_release(request, path):
    study = read_study(path, trust=True)
    if study.file.data is None:
        released = study.released(study.codebook())
    else:
        if "/shared/" in study.file.data.path:
            request.getfixturevalue("shared")
        original = load_study_data(study).original
        released = [release(output, original) for output in study.outputs(original.codebook)]
    assert all(output.known.any() for output in released)


def test_every_kind_and_protection_is_in_a_ready_made_study_and_in_the_docs():
    entries = [entry for path in STUDIES for entry in read_study(path, trust=True).file.outputs]
    assert {entry.kind for entry in entries} == set(REGISTRY)
    for kind, entry in REGISTRY.items():
        assert f"`{kind}`" in FILES or f"`kind: {kind}`" in FILES
        assert all(f"`{option}`" in FILES or f"`{option}: " in FILES for option in entry.model_fields)
    used = {
        (entry.kind, *each)
        for entry in entries
        for each in entry.model_dump(exclude_defaults=True).items()
        if isinstance(each[1], str | bool)
    }
    for show in ("proportions", "row_percentages", "column_percentages"):
        assert ("frequencies", "show", show) in used
    assert {("histogram", "show", "density"), ("frequencies", "margins", True)} <= used
    assert {kind for kind, option, _ in used if option == "weight"} >= {
        "frequencies",
        "magnitudes",
        "histogram",
        "logit",
    }
    assert {kind for kind, option, _ in used if option == "offset"} == {"poisson"}
    protections = {name for entry in entries for name in getattr(entry, "protection", UNPROTECTED).model_fields_set}
    assert {"threshold", "round_to", "random", "top_code"} <= protections
    listed = {(entry.kind, each) for entry in entries for each in getattr(entry, "statistics", ())}
    assert {("survival", "log-rank"), ("correlations", "covariance"), ("correlations", "correlation")} <= listed
    assert {("magnitudes", each) for each in ("mean", "sum", "sd", "count")} <= listed
    assert {("rates", each) for each in ("numerator", "denominator", "rate", "limits")} <= listed
    assert {("shape", each) for each in ("count", "skewness", "kurtosis", "cv", "gini", "hhi", "cr4")} <= listed
    assert {("proportions", each) for each in ("proportion", "standard error", "limits", "events", "n")} <= listed
    standardised = ("rate", "standard error", "limits", "crude rate", "events", "person-time", "n", "ratio")
    assert {("standardised", each) for each in standardised} <= listed


def test_a_study_of_released_values_needs_no_keys(tmp_path):
    given = {"data": None, "keys": None, "target": None, "codebook": "x.codebook.yaml", "records": 9}
    found = read_study(study(tmp_path, given | {"outputs": [{"kind": "frequencies", "by": ["a"], "values": [4, 5]}]}))
    assert found.file.records == 9
    assert not {"keys", "target"} & set(found.resolved())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"records": 9}, "'records' goes with released values; the 'data' are counted"),
        ({"data": None}, r"'data' is missing; add it, or give every output its 'values' \(outputs 1 has none\)"),
    ],
)
def test_what_goes_with_data_and_what_without(tmp_path, changes, message):
    with pytest.raises(ConfigError, match=message):
        read_study(study(tmp_path, changes))


def test_outputs_of_subsets_are_called_after_these_where_they_would_have_one_name(tmp_path):
    from outrisk.codebook import Codebook, Variable

    table, values = {"kind": "frequencies", "by": ["a"]}, {"a=1": 3, "a=2": 4}
    entries = [table, table | {"where": "b == 1"}, table | {"where": "b == 2", "values": values}]
    codebook = Codebook((Variable("a", "integer", (1, 2)), Variable("b", "integer", (1, 2))))
    found = read_study(study(tmp_path, {"outputs": entries}))
    names = ["table a", "table a where b == 1", "table a where b == 2"]
    assert [output.name for output in found.outputs(codebook)] == names
    assert list(found.given(codebook)) == names[2:]
    alone = read_study(study(tmp_path, {"outputs": entries[1:2]}))
    assert [output.name for output in alone.outputs(codebook)] == ["table a"]
    twice = read_study(study(tmp_path, {"outputs": [*entries, entries[1]]}))
    with pytest.raises(ConfigError, match="two outputs are called 'table a where b == 1'; give each its own 'name'"):
        twice.outputs(codebook)


def test_two_outputs_of_one_name_are_refused(tmp_path):
    both = read_study(study(tmp_path, {"outputs": [{"kind": "frequencies", "by": ["a"]}] * 2}))
    from outrisk.codebook import Codebook, Variable

    with pytest.raises(ConfigError, match="two outputs are called 'table a'; give each its own 'name'"):
        both.outputs(Codebook((Variable("a", "integer", (1, 2)),)))


LOGIT = {"kind": "logit", "formula": "a ~ b"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nam": 1, "kees": 2}, r"unknown keys \['kees', 'nam'\]; known: \['acro', 'appetite', 'attacks', 'codebook'"),
        ({"data": {"path": "a", "pth": 1}}, r"\[data\] has unknown keys \['pth'\]; known: \['columns'"),
        ({"holdout": {"path": "a", "pth": 1}}, r"\[holdout\] has unknown keys \['pth'\]; known: \['columns'"),
        ({"evolve": {"generatons": 1}}, r"\[evolve\] has unknown keys \['generatons'\]; known: \['crowding', 'fit"),
        (
            {"study": {"run": 1}},
            r"\[study\] has unknown keys \['run'\]; known: \['folds', 'run_time_limit', 'runs', 't",
        ),
        (
            {"outputs": [LOGIT, {**LOGIT, "form": 1}]},
            r"\[outputs 2\] has unknown keys \['form'\]; known: \['absorb', 'base', 'cluster', 'covariance'",
        ),
        ({"outputs": [{"kind": "frequencies", "bi": 1}]}, r"\[outputs 1\] has unknown keys \['bi'\]; known: \['by'"),
        *(({key: None}, f"'{key}' is missing; add it") for key in BASE),
        ({"outputs": [{"kind": "frequencies"}]}, "'outputs 1.by' is missing"),
        ({"outputs": [{"kind": "mean"}]}, r"\[outputs 1\] needs a kind, one of \['association', 'correlations', 'cox'"),
        ({"outputs": [{}]}, r"\[outputs 1\] needs a kind"),
        ({"outputs": [{"kind": "crosstab"}]}, r"'crosstab' is none of them; did you mean 'frequencies'\?"),
        (
            {"outputs": [{"kind": "magnitudes", "value": "y", "design": {"psu": "p", "fpc": "n"}}]},
            r"\['fpc'\]; known: \['lonely', 'program', 'psu', 'strata', 'subpop', 'weights'\]",
        ),
        ({"outputs": [{"kind": "svyciprop"}]}, r"did you mean 'proportions' with design: \{weights: ...\}\?"),
        ({"outputs": [{"kind": "svy: mean"}]}, r"did you mean 'magnitudes' with design"),
        ({"outputs": [{"kind": "coxph"}]}, r"'coxph' is none of them; did you mean 'cox'\?"),
        ({"outputs": [{"kind": "Kaplan-Meier"}]}, r"did you mean 'survival'\?"),
        ({"outputs": ["logit"]}, r"\[outputs 1\] is 'logit': write a mapping"),
        ({"outputs": LOGIT}, r"\[outputs\] is {'formula': .*: write a list"),
        ({"outputs": []}, r"\[outputs\] is \[\]: list at least one"),
        ({"outputs": [{**LOGIT, "decimals": -1}]}, r"\[outputs 1.decimals\] is -1: it must be"),
        ({"outputs": [{**LOGIT, "event": True}]}, r"\[outputs 1.event\] is True: write a level as text"),
        ({"outputs": [{**LOGIT, "reference": {"a": [1]}}]}, r"\[outputs 1.reference.a\] is \[1\]: write a level"),
        ({"outputs": [{"kind": "frequencies", "by": 5}]}, r"\[outputs 1.by\] is 5: write a list"),
        ({"outputs": [{"kind": "frequencies", "by": ["a"], "ways": 0}]}, r"\[outputs 1.ways\] is 0: it must be"),
        ({"name": 2020}, r"\[name\] is 2020: write text"),
        ({"name": "../x"}, r"\[name\] is '../x': use letters, digits"),
        ({"data": "a.csv"}, r"\[data\] is 'a.csv': write a mapping"),
        ({"data": {}}, r"\[data\] give either 'path', or 'package' and 'dataset'"),
        ({"data": {"path": "a", "package": "statsmodels"}}, r"\[data\] give either 'path'"),
        ({"data": {"package": "statsmodels"}}, r"\[data\] 'package' and 'dataset' go together"),
        ({"data": {"package": "r", "dataset": "a"}}, r"\[data.package\] is 'r': it must be"),
        ({"data": {"path": "a", "options": {"n": "x"}}}, r"\[data.options.n\] is 'x': write a whole number"),
        ({"data": {"path": "a", "where": 3}}, r"\[data.where\] is 3: write text"),
        ({"data": {"path": "a", "derive": ["a"]}}, r"\[data.derive\] is \['a'\]: write a mapping"),
        ({"keys": "age"}, r"\[keys\] is 'age': write a list"),
        ({"keys": []}, r"\[keys\] is \[\]: list at least one"),
        ({"keys": [True]}, r"\[keys.1\] is True: write text"),
        ({"target": ["a"]}, r"\[target\] is \['a'\]: write text"),
        ({"key_sizes": 3}, r"\[key_sizes\] is 3: write a list"),
        ({"key_sizes": ["a"]}, r"\[key_sizes.1\] is 'a': write a whole number"),
        ({"tau": 2}, r"\[tau\] is 2: it must be less than or equal to 1"),
        ({"tau": "x"}, r"\[tau\] is 'x': write a number"),
        ({"evolve": 3}, r"\[evolve\] is 3: write a mapping"),
        ({"privacy": {"metrics": "NNAA"}}, r"\[privacy.metrics\] is 'NNAA': write 'all', or a list of names"),
        ({"privacy": {"sample": 1}}, r"\[privacy.sample\] is 1: it must be greater than or equal to 2"),
        ({"privacy": {"time_limit": 0}}, r"\[privacy.time_limit\] is 0: it must be greater than 0"),
        ({"privacy": {"every": "run"}}, r"\[privacy\] has unknown keys \['every'\]; known: \['metrics', 'sample'"),
        ({"attacks": True}, r"\[attacks\] is True: write 'all', or a list of names"),
        ({"evolve": {"seed": -1}}, r"\[evolve.seed\] is -1: it must be"),
        ({"evolve": {"preset": "slow"}}, r"\[evolve.preset\] is 'slow': it must be 'fast' or 'paper'"),
        ({"evolve": {"preset": "paper", "population": 3}}, r"\[evolve\] population is 3; it must be even"),
        ({"evolve": {"generations": 0}}, r"\[evolve\] generations is 0; it must lie between"),
        ({"study": {"runs": "a"}}, r"\[study.runs\] is 'a': write a whole number from 1"),
        ({"study": {"runs": {1: 0}}}, r"\[study.runs\] is {1: 0}: write a whole number from 1"),
        ({"study": {"runs": {1: 1}}}, r"\[study\] runs: gives \[1\] and folds: gives \[1, 2\]"),
        ({"study": {"folds": 2}}, r"\[study.folds\] is 2: write a list"),
        ({"study": {"folds": [1, 3]}}, r"\[study\] folds: 3 is not 1, 2, 4, 8"),
        ({"study": {"folds": [0]}}, r"\[study\] folds: 0 is not 1, 2, 4, 8"),
        ({"study": {"folds": []}}, r"\[study\] folds: \[\] must list one or more"),
        (
            {"study": {"runs": 1_001}},
            r"\[study.runs\] is 1001: write a whole number from 1 to 1,000, or one for each",
        ),
        (
            {"study": {"folds": [1], "runs": {1: 10**18}}},
            r"\[study.runs\] is .*: write a whole number from 1 to 1,000",
        ),
        ({"contributions": {"runs": 10**18}}, r"\[contributions.runs\] is 1000000000000000000: it must be less than"),
        ({"rules": ["a > 1"] * 1_001}, r"\[rules\] is \['a > 1', .*: give at most 1,000"),
        (
            {"data": {"path": "a", "derive": {f"c{i}": "a" for i in range(1_001)}}},
            r"\[data.derive\] .*: give at most 1,000",
        ),
        ({"study": {"folds": [1, 1]}}, r"\[study\] folds: \[1, 1\] must list one or more different levels"),
    ],
)
def test_faults_name_place_value_and_way_out(tmp_path, changes, message):
    path = study(tmp_path, changes)
    with pytest.raises(OutRiskError, match=message) as caught:
        read_study(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a study file is a mapping"),
        (b"- a", "a study file is a mapping"),
        (b"a: [1", "not YAML, line 1, column 6: expected ',' or ']'"),
        (b"a: 1\nb: {c: 1, c: 2}", "not YAML, line 2, column 11: key 'c' is given twice"),
        (b'a: "C:\\Users"', "not YAML, line 1, column [0-9]+: .*; write a path with / or between ' and '"),
        (b"a: !!python/object:os.system x", "not YAML, line 1"),
        (b"\xff\xfe\x00", "not a text file in UTF-8"),
        (
            b"a:\n  - 1" + b"0" * 400,
            r"not YAML, line 2, column 5: 10000000000000000000\.\.\. is too large for a number; put",
        ),
        (b"a: 0x" + b"F" * 6_000, "not YAML, line 1, column 4: 0xFFFFFFFFFFFFFFFFFF... is too large for a number"),
        (b"a: -9223372036854775809", "not YAML, line 1, column 4: -9223372036854775809 is too large for a number"),
        (b"{1" + b"0" * 400 + b": a}", "not YAML, line 1, column 2: 10000000000000000000... is too large for a number"),
        (b"a: 2020-13-45", "not YAML: month must be"),
        (b"[" * 5000, "not YAML"),
    ],
)
def test_files_that_are_no_yaml(tmp_path, content, message):
    path = tmp_path / "x.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        read_study(path)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(ConfigError, match="no such file"):
        read_study(tmp_path / "no.yaml")
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        read_study(tmp_path)
