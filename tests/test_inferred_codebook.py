"""A codebook that is inferred, without `outrisk init`, lists no value that one person alone has."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
import yaml
from pandas.testing import assert_frame_equal

import outrisk
from outrisk.codebook import codebook_to_dict
from outrisk.config import read_study
from outrisk.errors import DataError
from outrisk.load import load_study_data
from outrisk.microdata import from_frame
from outrisk.propose.inferred import infer

N = 1_500


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 91, N),
            "sex": rng.choice(["m", "f"], N),
            "bmi": np.round(rng.normal(27, 4, N), 1),
            "wage": np.round(rng.lognormal(10.2, 0.5, N), 2),
            "born": rng.choice(pd.date_range("1930-01-01", "2000-01-01").astype(str), N, replace=False),
            "town": [f"town {i}" for i in rng.integers(0, 1_200, N)],
            "lab": rng.normal(0, 1, N),
        }
    )  # fmt: skip
    frame.loc[0, "age"] = 97
    frame["ill"] = (rng.random(N) < 1 / (1 + np.exp(4 - 0.05 * frame["age"]))).astype(int)
    return frame


def alone(frame):
    """Values that stand once in their column, as a file would write them, of four characters and more."""
    counts = (frame[name].astype(str).value_counts() for name in frame)
    return {value for each in counts for value in each[each == 1].index if len(value) > 3}


def test_no_value_of_one_person_is_in_codebook_run_or_report(people, tmp_path, capsys):
    people.to_csv(tmp_path / "d.csv", index=False)
    document = {
        "name": "d",
        "data": {"path": "d.csv"},
        "outputs": [
            {"kind": "logit", "formula": "ill ~ age + bmi + wage + lab", "decimals": 4},
            {"kind": "frequencies", "by": ["sex", "ill"]},
        ],
        "keys": ["age", "sex", "bmi"],
        "target": "ill",
        "key_sizes": [3],
        "evolve": {"generations": 2},
        "study": {"runs": 1, "folds": [1, 2]},
    }
    (tmp_path / "d.yaml").write_text(yaml.safe_dump(document))
    from outrisk.cli.commands import run

    assert run(["assess", str(tmp_path / "d.yaml"), "--out", str(tmp_path / "run"), "--workers", "1"]) == 0
    said = capsys.readouterr().err
    assert "columns born, town point at single people" in said
    single = {value for value in alone(people) if len(value) > 7 or not value.replace(".", "").isdigit()}
    assert len(single) > 3 * N
    written = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert len(written) > 10
    for path in written:
        words = set(path.read_text(encoding="utf-8", errors="replace").replace(",", " ").split())
        assert not single & words, path
    codebook = (tmp_path / "run" / "codebook.yaml").read_text()
    assert not alone(people) & set(codebook.replace(",", " ").split()) and len(codebook.splitlines()) < 60


def test_codes_with_gaps_are_the_same_in_a_file_and_a_session(tmp_path):
    """A number of few values has these and no others between, however the records came."""
    frame = pd.DataFrame({"code": [1, 2, 5, 9] * 15, "ill": [0, 1, 1] * 20})
    frame.to_csv(tmp_path / "d.csv", index=False)
    study = {
        "name": "d", "data": {"path": "d.csv"}, "outputs": [{"kind": "frequencies", "by": ["code", "ill"]}],
        "keys": ["code"], "target": "ill",
    }  # fmt: skip
    (tmp_path / "d.yaml").write_text(yaml.safe_dump(study))
    in_file = load_study_data(read_study(tmp_path / "d.yaml")).original.codebook
    in_session = outrisk.assess(
        frame, study["outputs"], keys=["code"], target="ill", runs=1, folds=[1], evolve={"generations": 1}, quiet=True
    ).codebook
    assert in_file["code"].values == in_session["code"].values == (1, 2, 5, 9)


def test_ages_are_exact_and_a_fit_on_the_grid_prints_the_same(people, tmp_path):
    frame = people.drop(columns=["born", "town"])
    found = infer(frame, "age bmi wage lab ill")
    assert found.rounded == ("wage", "lab") and found.left_out == ()
    fitted = from_frame(found.fitted(frame, ()), found.codebook).frame()
    exact = ["age", "bmi", "ill"]
    assert_frame_equal(fitted[exact], frame[exact].astype({"ill": "int64"}))
    ages = codebook_to_dict(found.codebook)["variables"]["age"]
    assert ages["min"] == 10 and ages["max"] == 100  # 18 is of more than one person, 97 of one
    formula = "ill ~ age + bmi + np.log(wage) + lab"
    one, other = (smf.logit(formula, data).fit(disp=0).params for data in (frame, fitted))
    assert np.abs(one - other).max() < 3e-4
    assert (one[["age", "bmi", "lab"]] - other[["age", "bmi", "lab"]]).abs().max() < 2e-5


@pytest.mark.parametrize(("n", "spread", "seed"), [(1_000, 1, 3), (10_000, 1.5, 0)])
def test_positive_numbers_have_a_logarithm_on_their_grid(n, spread, seed):
    """The second has numbers that are nearer to 0 than to any point of the grid."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.lognormal(10, spread, n), "sex": rng.integers(0, 2, n), "y": rng.normal(0, 1, n)})
    found = infer(frame, "y ~ np.log(x)")
    least = found.codebook["x"].values[0]
    assert 0 < least == pytest.approx(found.codebook["x"].values[1] - least)
    assert found.fitted(frame, ())["x"].min() > 0
    fit = smf.ols("y ~ np.log(x)", frame).fit()
    assert outrisk.check(frame, [fit], keys=["x"], target="sex").sentence
    frame.loc[0, "x"] = 0.0
    assert infer(frame, "x").codebook["x"].values[0] == 0


def test_a_level_of_one_person_is_refused_where_the_study_names_it_and_left_out_elsewhere():
    frame = pd.DataFrame(
        {"area": ["n", "s"] * 40 + ["east"], "ill": [0, 1, 1] * 27, "grade": [1, 2, 3] * 26 + [1, 2, 4]}
    )
    assert infer(frame, "ill").left_out == ("area",)
    with pytest.raises(DataError, match=r"column 'area' has 1 of 3 levels that one person alone has; .* outrisk\.init"):
        infer(frame, "ill ~ area")
    assert infer(frame, "ill ~ grade").codebook["grade"].values[-1] > 4
    with pytest.raises(DataError, match="column 'grade' is a category in a formula"):
        infer(frame, "ill ~ C(grade)")
    frame.loc[0, "wage"], frame["wage"] = 0, np.r_[np.arange(80) * 1.37 + 900, 4e7]
    with pytest.raises(DataError, match="column 'wage' has a few numbers far out") as refusal:
        infer(frame, "wage")
    assert "40000000" not in str(refusal.value)


def test_a_fit_of_a_session_is_checked_against_the_values_as_they_are(people):
    frame = people.drop(columns="born")
    fit = smf.ols("lab ~ age + wage", frame).fit()
    assert outrisk.check(frame, [fit], keys=["age", "sex"], target="ill").sentence
    wrong = frame.assign(lab=frame["lab"] + np.r_[0.5, np.zeros(N - 1)])
    with pytest.raises(outrisk.OutRiskError, match="record by record"):
        outrisk.check(wrong, [fit], keys=["age", "sex"], target="ill")


def test_a_column_without_values_is_refused_where_the_study_names_it_alone():
    frame = pd.DataFrame({"age": [30, 40] * 20, "ill": [0, 1, 1, 0] * 10, "none": [None] * 40})
    table = pd.crosstab(frame.age, frame.ill)
    assert outrisk.check(frame, [table], keys=["age"], target="ill").sentence
    with pytest.raises(DataError, match="column 'none' has no values"):
        outrisk.check(frame, [table], keys=["age", "none"], target="ill")
