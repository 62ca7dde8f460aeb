"""What is already released of the same people, by studies that use other variables, or some of the people."""

import json

import numpy as np
import pandas as pd
import pytest
import yaml

import outrisk
from outrisk.cli.commands import run
from outrisk.config import read_study
from outrisk.load import load_study_data, public_rules
from outrisk.outputs import release

N = 200
CODEBOOK = {
    "age": {"kind": "integer", "min": 0, "max": 79},
    "area": {"kind": "categorical", "levels": ["n", "s"]},
    "ill": {"kind": "categorical", "levels": ["no", "yes"]},
}
TENURE = {"tenure": {"kind": "categorical", "levels": ["own", "rent"]}}
NEW = {"kind": "frequencies", "by": ["area", "ill"]}
OLD = {"kind": "frequencies", "by": ["tenure", "ill"]}


@pytest.fixture
def place(tmp_path):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"age": rng.integers(0, 80, N), "area": rng.choice(["n", "s"], N)})
    frame["ill"], frame["tenure"] = rng.choice(["no", "yes"], N), rng.choice(["own", "rent"], N)
    frame.loc[frame["age"] < 16, "tenure"] = "own"
    frame.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path


def written(place, name, outputs, codebook=CODEBOOK, data=None, **changes):
    (place / f"{name}.codebook.yaml").write_text(yaml.safe_dump({"variables": codebook}, sort_keys=False))
    content = {
        "name": name,
        "data": {"path": "people.csv"} | (data or {}),
        "codebook": f"{name}.codebook.yaml",
        "outputs": outputs,
        "keys": ["age", "area"],
        "target": "ill",
        "evolve": {"generations": 30, "seed": 3},
        "privacy": {"metrics": []},
        "study": {"runs": 2, "folds": [2]},
    }
    (place / f"{name}.yaml").write_text(yaml.safe_dump(content | changes, sort_keys=False))
    return place / f"{name}.yaml"


def together(new, *old):
    study = read_study(new, released=old)
    return study, load_study_data(study)


def numbers(output, data):
    released = release(output, data)
    return dict(zip(released.labels, released.values, strict=True))


def test_variables_that_the_new_study_lacks_come_from_the_earlier_one(place):
    derive = {"band": "age // 20"}
    bands = {"band": {"kind": "integer", "min": 0, "max": 3}}
    table = {"kind": "frequencies", "by": ["band", "ill"]}
    old = written(place, "old", [OLD, table], CODEBOOK | TENURE | bands, {"derive": derive})
    study, data = together(written(place, "new", [NEW]), old)
    frame = pd.read_csv(place / "people.csv")
    codebook = data.original.codebook
    assert codebook.names == ["age", "area", "ill", "tenure", "band"]
    assert (data.original.frame()["tenure"].astype(str) == frame["tenure"]).all()
    assert (data.original.frame()["band"] == frame["age"] // 20).all()
    outputs = study.outputs(codebook)
    assert [output.name for output in outputs] == [
        "old: table tenure x ill",
        "old: table band x ill",
        "table area x ill",
    ]
    counts = pd.crosstab(frame["age"] // 20, frame["ill"])
    for (band, ill), count in counts.stack().items():
        assert numbers(outputs[1], data.original)[f"band={band}, ill={ill}"] == count
    assert [rule.place for rule in public_rules(study, data.original)] == ["[data] derive band"]


def test_a_whole_assessment_of_other_variables_and_some_of_the_people(place):
    adults = (
        CODEBOOK
        | TENURE
        | {"age": {"kind": "integer", "min": 20, "max": 79}, "band": {"kind": "integer", "min": 1, "max": 3}}
    )
    table = {"kind": "frequencies", "by": ["band", "tenure"], "where": "ill == 'yes'"}
    old = written(place, "old", [OLD, table], adults, {"where": "age >= 20", "derive": {"band": "age // 20"}})
    new = written(place, "new", [NEW])
    assert run(["assess", str(new), "--released", str(old), "--out", str(place / "out"), "--quiet"]) == 0
    outputs = json.loads((place / "out" / "risk.json").read_text())["outputs"]
    assert [set(each["variables"]) for each in outputs] == [
        {"age", "tenure", "ill"},
        {"age", "band", "tenure", "ill"},
        {"area", "ill"},
    ]
    for path in (place / "out" / "synthetic").glob("*.csv"):
        made = pd.read_csv(path)
        assert (made["band"] == made["age"] // 20).all()
    manifest = json.loads((place / "out" / "manifest.json").read_text())
    assert {each["name"] for each in manifest["inputs"] if each["what"] == "codebook"} == {
        "new.codebook.yaml",
        "old.codebook.yaml",
    }
    again = place / "out" / "study.yaml"  # with all variables in its codebook
    assert run(["assess", str(again), "--out", str(place / "again"), "--quiet"]) == 0
    for name in ("risk.csv", "matched.csv"):
        assert (place / "again" / name).read_bytes() == (place / "out" / name).read_bytes()


def test_outputs_of_some_of_the_people_are_of_a_subset(place):
    old = written(place, "old", [OLD], CODEBOOK | TENURE, {"where": "age >= 16"})
    study, data = together(written(place, "new", [NEW]), old)
    (output, _) = study.outputs(data.original.codebook)
    frame = pd.read_csv(place / "people.csv").query("age >= 16")
    assert output.where == "age >= 16"
    for (tenure, ill), count in pd.crosstab(frame["tenure"], frame["ill"]).stack().items():
        assert numbers(output, data.original)[f"tenure={tenure}, ill={ill}"] == count


@pytest.mark.parametrize("command", ["check", "prove"])
def test_what_does_not_fit_is_one_line(place, capsys, command):
    frame = pd.read_csv(place / "people.csv")
    frame.drop(columns="tenure").to_csv(place / "narrow.csv", index=False)
    frame.to_csv(place / "copy.csv", index=False)
    old = written(place, "old", [OLD], CODEBOOK | TENURE)
    adults = written(place, "adults", [OLD], CODEBOOK | TENURE, {"where": "age >= 16"})
    elsewhere = written(place, "elsewhere", [OLD], CODEBOOK | TENURE, {"where": "age >= 16", "path": "copy.csv"})
    raw = written(place, "raw", [OLD], {name: each for name, each in (CODEBOOK | TENURE).items() if name != "age"},
                  {"where": "age >= 16"}, keys=["area"])  # fmt: skip
    logit = {"kind": "logit", "formula": "ill ~ C(tenure)", "event": "yes"}
    narrow = {"tenure": {"kind": "categorical", "levels": ["own", "rent"]}}
    wide = {"tenure": {"kind": "categorical", "levels": ["own", "free", "rent"]}}
    model = written(place, "model", [logit], CODEBOOK | narrow)
    cases = [
        (
            written(place, "a", [NEW], data={"path": "narrow.csv"}),
            old,
            "on 'tenure', and [data] has no such column; add it",
        ),
        (
            written(place, "b", [NEW], holdout={"path": "narrow.csv"}),
            old,
            "and [holdout] has no such column; add it there",
        ),
        (written(place, "c", [NEW], data={"where": "age < 70"}), adults, "it is of 157 records, and here there are"),
        (written(place, "d", [NEW]), elsewhere, "it is of 157 records, and here there are 200: other people"),
        (written(place, "e", [NEW]), raw, "names ['age']"),
        (written(place, "f", [NEW], CODEBOOK | wide), model, "does not fit f.yaml: "),
    ]
    for new, earlier, said in cases:
        assert run([command, str(new), "--released", str(earlier)]) == 2
        error = capsys.readouterr().err
        assert said in error and error.count("\n") == 1 and str(earlier.name) in error, error


def test_rules_of_an_earlier_study_are_known_too(place):
    codebook = CODEBOOK | TENURE
    rules = ["age < 16 implies tenure == 'own'", "tenure == 'rent' implies age >= 30"]  # the second does not hold
    old = written(place, "old", [OLD], codebook, rules=rules[:1])
    other = written(place, "other", [OLD], codebook, rules=rules[1:])
    study, data = together(written(place, "new", [NEW]), old, other)
    assert [rule.text for rule in public_rules(study, data.original)] == rules[:1]


def test_a_session_has_them_as_the_commands_do(place):
    """Everybody who rents is ill: the earlier table says so, to whoever knows who rents."""
    frame = pd.read_csv(place / "people.csv")
    frame.loc[frame["tenure"] == "rent", "ill"] = "yes"
    frame.to_csv(place / "people.csv", index=False)
    old, new = written(place, "old", [OLD], CODEBOOK | TENURE), written(place, "new", [NEW])
    register = {"register": {"keys": ["tenure"]}}
    new = written(place, "new", [NEW], **register)
    codebook = read_study(new).codebook()
    asked = {"keys": ["tenure"], "target": "ill", "codebook": codebook}
    with pytest.raises(outrisk.OutRiskError, match="tenure"):
        outrisk.prove(frame, [NEW], **asked)
    proof = outrisk.prove(frame, [NEW], released=[str(old)], **asked)
    assert sorted(proof.certain["record"]) == np.flatnonzero(frame["tenure"] == "rent").tolist()
    assert run(["prove", str(new), "--released", str(old)]) == 0


def test_another_coding_under_the_same_name_is_no_other_people(place, capsys):
    """Bands that differ by one age: refused by name with both expressions, and looked at under another name."""
    band = {"kind": "categorical", "levels": ["0", "1"]}

    def banded(name, expression, column="band"):
        outputs = [{"kind": "frequencies", "by": [column, "ill"]}]
        return written(place, name, outputs, CODEBOOK | {column: band}, {"derive": {column: expression}})

    old, same = banded("old", "age < 30"), banded("same", "age <= 30")
    assert run(["check", str(same), "--released", str(old)]) == 2
    error = capsys.readouterr().err
    assert "'band' is age < 30 there and age <= 30 here, which differ for " in error
    assert error.endswith("give it another name in one of the two studies\n")
    assert run(["check", str(banded("new", "age <= 30", "band30")), "--released", str(old)]) == 0
    assert "table band30 x ill minus old: table band x ill" in " ".join(capsys.readouterr().out.split())


def test_whom_a_release_follows_is_asked_of_all_that_is_released(place, capsys):
    """With the earlier study, as if the outputs of both were of one; of other people it is refused."""
    old = written(place, "old", [OLD | {"name": "o"}], CODEBOOK | TENURE)
    new = written(place, "new", [NEW], CODEBOOK | TENURE)
    both = written(place, "both", [OLD | {"name": "old: o"}, NEW], CODEBOOK | TENURE)
    assert run(["follow", str(new), "--released", str(old), "--runs", "2"]) == 0
    found = capsys.readouterr().out
    assert run(["follow", str(both), "--runs", "2"]) == 0
    assert found == capsys.readouterr().out
    pd.read_csv(place / "people.csv").head(50).to_csv(place / "few.csv", index=False)
    few = written(place, "few", [OLD], CODEBOOK | TENURE, {"path": "few.csv"})
    assert run(["follow", str(new), "--released", str(few)]) == 2
    assert "it is of 50 records, and here there are 200: other people" in capsys.readouterr().err
