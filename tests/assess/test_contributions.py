"""Which output does it, and what a new one adds: through whole studies."""

import json
from dataclasses import replace
from pathlib import Path
from threading import Event

import numpy as np
import pandas as pd
import pytest
import yaml

import outrisk
from outrisk.api import studies
from outrisk.assess.checkpoint import Checkpoints
from outrisk.assess.contributions import subset_runs
from outrisk.cli.commands import run
from outrisk.config import read_codebook

CODEBOOK = {
    "variables": {
        "age": {"kind": "integer", "min": 0, "max": 4},
        "area": {"kind": "categorical", "levels": ["n", "s", "w"]},
        "sex": {"kind": "integer", "min": 1, "max": 2},
        "ill": {"kind": "categorical", "levels": ["no", "yes"]},
    }
}
FULL = {"kind": "frequencies", "name": "everything", "by": ["age", "area", "sex", "ill"]}
LIGHT = {"kind": "frequencies", "name": "by sex", "by": ["sex", "ill"]}
MIDDLE = {"kind": "frequencies", "name": "by age", "by": ["age", "ill"]}
STUDY = {
    "name": "new",
    "data": {"path": "people.csv"},
    "codebook": "codebook.yaml",
    "outputs": [FULL, LIGHT],
    "keys": ["age", "area", "sex"],
    "target": "ill",
    "key_sizes": [2, 3],
    "evolve": {"generations": 30, "seed": 3},
    "privacy": {"metrics": []},
    "study": {"runs": 2, "folds": [2]},
}


@pytest.fixture
def place(tmp_path):
    rng = np.random.default_rng(5)
    n = 120
    frame = pd.DataFrame({"age": rng.integers(0, 5, n), "area": rng.choice(["n", "s", "w"], n)})
    frame["sex"], frame["ill"] = rng.integers(1, 3, n), rng.choice(["no", "yes"], n)
    frame.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "codebook.yaml").write_text(yaml.safe_dump(CODEBOOK))
    return tmp_path


def written(place: Path, name: str, **changes) -> Path:
    path = place / f"{name}.yaml"
    path.write_text(yaml.safe_dump(STUDY | {"name": name} | changes, sort_keys=False))
    return path


def assessed(path: Path, *options: str) -> Path:
    out = path.parent / f"run of {path.stem}"
    assert run(["assess", str(path), "--out", str(out), "--quiet", "--workers", "1", *options]) == 0
    return out


def table(out: Path) -> pd.DataFrame:
    rows = pd.read_csv(out / "contributions.csv", keep_default_na=False, na_values={"value": [""]})
    mean = rows[(rows.measure == "attribution") & (rows.over == "mean over key sets")]
    assert len(mean) * 4 == len(rows)  # two measures, each at the mean and at the worst key set
    return mean.set_index(["output", "what"])


def test_the_table_of_everything_does_it(place):
    out = assessed(written(place, "new", contributions={"leave_one_out": True, "shapley": True}))
    rows = table(out)
    value = rows.value
    (limit,) = [
        each
        for each in json.loads((out / "decision.json").read_text())["limits"]
        if (each["measure"], each["over"]) == ("attribution", "mean over key sets")
    ]
    assert value["", "together"] == pytest.approx(limit["difference"], abs=1e-6)
    for one, other in (("everything", "by sex"), ("by sex", "everything")):
        assert value[one, "adds"] == pytest.approx(value["", "together"] - value[other, "alone"], abs=1e-6)
    assert value["everything", "share"] + value["by sex", "share"] == pytest.approx(value["", "together"], abs=1e-6)
    alone = value["everything", "alone"] + value["by sex", "alone"]
    assert value["", "emerges"] == pytest.approx(value["", "together"] - alone, abs=1e-6)
    assert rows.low["everything", "adds"] > 0 and value["everything", "adds"] > 0.05 > abs(value["by sex", "adds"])
    assert (rows.low <= value).all() and (value <= rows.high).all()
    assert value["by sex", "adds"] == rows.low["by sex", "adds"] == 0  # the other table says all that it says
    page = (out / "report.html").read_text()
    every = pd.read_csv(out / "contributions.csv", keep_default_na=False)
    added = every[(every.output == "everything") & (every.what == "adds")]
    assert any(f"{row.value:+.3f} ({row.low:+.3f} to " in page for row in added.itertuples())
    assert "Which output does it" in (out / "details.html").read_text()
    risk = json.loads((out / "risk.json").read_text())
    assert set(risk["outputs"][1]["variables"]) == {"sex", "ill"}


def test_what_a_new_output_adds_to_those_already_released(place):
    old = written(place, "old", outputs=[LIGHT, MIDDLE])
    new = written(place, "new", outputs=[FULL])
    value = table(assessed(new, "--released", str(old))).value
    outputs = json.loads((place / "run of new" / "risk.json").read_text())["outputs"]
    assert [each["name"] for each in outputs] == ["old: by sex", "old: by age", "everything"]
    gap = value["", "together"] - value["already released", "alone"]
    assert value["", "new outputs add"] == pytest.approx(gap, abs=1e-6)
    assert gap > 0.05
    key = yaml.safe_load((place / "run of new" / "study.yaml").read_text())["released"]
    assert key == ["../old.yaml"]  # as seen from the run
    folder = place / "released"
    folder.mkdir()
    (folder / "old.yaml").write_text(
        old.read_text().replace("people.csv", "../people.csv").replace("codebook.yaml", "../codebook.yaml")
    )
    again = table(assessed(written(place, "again", outputs=[FULL]), "--released", str(folder))).value
    np.testing.assert_allclose(again, value)  # the same seed, the same numbers


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"codebook": "other.yaml"}, "the values of 'age' are not the same in both codebooks"),
        ({"data": {"path": "fewer.csv"}}, "it is of 100 records, and here there are 120: other people"),
        ({"data": {"path": "others.csv"}}, "records differ in age, ill: other people"),
        ({"outputs": [{"kind": "frequencies", "by": ["wealth", "ill"]}], "data": {"path": "rich.csv"},
          "codebook": "rich.yaml"}, "on 'wealth', and [data] has no such column"),
    ],
)  # fmt: skip
def test_a_release_of_other_people_or_variables_is_refused(place, capsys, changes, said):
    frame = pd.read_csv(place / "people.csv")
    frame.head(100).to_csv(place / "fewer.csv", index=False)
    frame.assign(ill=np.roll(frame.ill, 7)).to_csv(place / "others.csv", index=False)
    frame.assign(wealth=frame.age).to_csv(place / "rich.csv", index=False)
    wider = {"age": {"kind": "integer", "min": 0, "max": 9}}
    (place / "other.yaml").write_text(yaml.safe_dump({"variables": CODEBOOK["variables"] | wider}))
    rich = {"wealth": {"kind": "integer", "min": 0, "max": 4}}
    (place / "rich.yaml").write_text(yaml.safe_dump({"variables": CODEBOOK["variables"] | rich}))
    old = written(place, "old", **({"outputs": [MIDDLE]} | changes))
    new = written(place, "new")
    assert run(["assess", str(new), "--out", str(place / "out"), "--released", str(old), "--quiet"]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1 and "old.yaml" in error
    assert not (place / "out").exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"outputs": [FULL], "contributions": {"leave_one_out": True}}, "leave the section out"),
        ({"study": {"runs": 1, "folds": [1]}, "contributions": {"leave_one_out": True}}, "against a holdout"),
        ({"outputs": [MIDDLE | {"name": f"t{i}"} for i in range(9)], "contributions": {"shapley": True}},
         "at most 8 outputs, and there are 9"),
        ({"contributions": {"runs": 0}}, "[contributions.runs]"),
        ({"contributions": {"shaply": True}}, "did you mean"),
        ({"released": ["new.yaml"]}, "names the study itself"),
        ({"released": ["none.yaml"]}, "no such file"),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_said(place, capsys, changes, said):
    path = written(place, "new", **changes)
    assert run(["assess", str(path), "--out", str(place / "out"), "--quiet"]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
    assert not (place / "out").exists()


def test_subsets_are_kept_and_gone_on_with(place, monkeypatch):
    """Stopped while subsets are evolved, the study goes on with those that have ended, to the same numbers."""
    path = written(place, "new", contributions={"leave_one_out": True})
    whole = table(assessed(path)).value
    evolve, calls = subset_runs.evolve_subset, []

    def some(asked, halt):
        calls.append(asked.name)
        if len(calls) == 3:
            halt.set()
        return evolve(asked, halt)

    monkeypatch.setattr(subset_runs, "evolve_subset", some)
    out = place / "stopped"
    command = ["assess", str(path), "--out", str(out), "--quiet", "--workers", "1"]
    assert run(command) == 130
    assert not (out / "report.html").exists()
    first = list(calls)
    assert run(command) == 0
    assert len(calls) == len(first) + 2 and calls[3:] != first[:2]
    np.testing.assert_array_equal(table(out).value, whole)


def test_a_long_subset_goes_on_from_its_checkpoint(place, monkeypatch):
    fine = {"kind": "logit", "formula": "ill ~ age + area", "decimals": 7}
    path = written(place, "new", outputs=[LIGHT, fine], contributions={"leave_one_out": True})
    evolve, heard, halt = subset_runs.evolve, [], Event()

    def until(*of):
        for generation in evolve(*of):
            heard.append(generation.number)
            if len(heard) in (7, 11):
                halt.set()
            yield generation

    made = studies.prepare_study(path, place / "run", False, 1, None)
    asked = replace(made.asked.jobs[-1], job=replace(made.asked.jobs[-1].job, every=0.0))
    whole = subset_runs.evolve_subset(replace(asked, job=replace(asked.job, folder=None)), halt)
    monkeypatch.setattr(subset_runs, "evolve", until)
    with made:
        for found in (None, None, whole):
            halt.clear()
            kept = subset_runs.evolve_subset(asked, halt)
            assert (kept is None) == (found is None)
        Checkpoints(asked.job.folder, asked.name).remove()
        studies.write_study(made)
    np.testing.assert_array_equal(kept.codes, whole.codes)
    assert heard == list(range(len(heard))) and len(heard) > 11  # no generation twice


def few_of_the_south(place):
    """An old table of all but two of the people of the south, and a new one of all: apart, two people, both ill."""
    frame = pd.read_csv(place / "people.csv")
    frame = frame[frame.area != "s"].reset_index(drop=True)
    frame.loc[:1, ["area", "ill"]] = "s", "yes"
    frame.to_csv(place / "people.csv", index=False)
    old = written(place, "old", outputs=[{**LIGHT, "where": "area == 'n' or area == 'w'"}])
    return written(place, "new", outputs=[LIGHT]), old


@pytest.mark.parametrize("command", ["check", "prove"])
def test_old_and_new_are_looked_at_and_proved_from_together(place, capsys, command):
    new, old = few_of_the_south(place)
    assert run([command, str(new)]) == 0
    alone = capsys.readouterr().out
    assert run([command, str(new), "--released", str(old)]) == 0
    together = capsys.readouterr().out
    if command == "check":
        assert "by sex minus old: by sex" in together and "minus" not in alone
    else:
        assert "ill of none of 75 people" in " ".join(alone.split()) and "ill of 2 of 75" in " ".join(together.split())
    assert run([command, str(new), "--released", str(place / "none")]) == 2


def test_a_session_names_what_is_released_as_the_commands_do(place):
    _, old = few_of_the_south(place)
    frame = pd.read_csv(place / "people.csv")
    codebook = read_codebook(place / "codebook.yaml")
    asked = {"outputs": [LIGHT], "keys": STUDY["keys"], "target": "ill", "codebook": codebook, "released": [old]}
    found = outrisk.check(frame, **asked).findings
    assert (found.rule == "difference of outputs").sum() == 1
    assert found[found.rule == "difference of outputs"].people.tolist() == [2]
    proof = outrisk.prove(frame, **asked)
    assert len(proof.certain) == 2 and set(frame.area[proof.certain.record]) == {"s"}
    settings = {"runs": 2, "folds": [2], "privacy": {"metrics": []}, "workers": 1, "quiet": True, "seed": 3}
    result = outrisk.assess(
        frame, **asked, **settings, key_sizes=[2, 3], evolve={"generations": 30},
        contributions={"leave_one_out": True},
    )  # fmt: skip
    rows = result.tables["contributions"]
    assert {"together", "new outputs add", "alone", "adds"} <= set(rows.what)
    assert result.verdict == "disclosive"
    with pytest.raises(outrisk.OutRiskError, match="give a list of study files or folders"):
        outrisk.check(frame, **{**asked, "released": str(old)})
    with pytest.raises(outrisk.OutRiskError, match="other people"):
        outrisk.check(frame.head(50), **asked)
