"""`outrisk.assess` and its companions in a Python session."""

import inspect
import re
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
import yaml
from statsmodels.duration.hazard_regression import PHReg

import outrisk
from outrisk.api.proving import Proof
from outrisk.codebook import codebook_from_dict
from outrisk.errors import OutRiskError
from outrisk.outputs import REGISTRY

KEYS = ["age", "area", "sex"]
QUICK = {"runs": 1, "evolve": {"generations": 4}, "quiet": True}
CODEBOOK = {
    "variables": {
        "age": {"kind": "integer", "min": 0, "max": 4},
        "area": {"kind": "categorical", "levels": ["n", "s", "w"]},
        "sex": {"kind": "integer", "min": 1, "max": 2},
        "ill": {"kind": "integer", "min": 0, "max": 1},
    }
}


def records(n=240, seed=5):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"age": rng.integers(0, 5, n), "area": rng.choice(["n", "s", "w"], n), "sex": rng.integers(1, 3, n)}
    )
    chance = 1 / (1 + np.exp(-(0.4 * frame["age"] - 0.8 * (frame["area"] == "s"))))
    return frame.assign(ill=(rng.random(n) < chance).astype(int))


@pytest.fixture(scope="module")
def df():
    return records()


@pytest.fixture(scope="module")
def fit(df):
    return smf.logit("ill ~ age + area", df).fit(disp=0)


@pytest.fixture(scope="module")
def result(df, fit):
    outputs = [fit, pd.crosstab(df.area, df.ill), outrisk.OLS("age ~ C(sex)", decimals=2)]
    return outrisk.assess(df, outputs=outputs, keys=KEYS, target="ill", decimals=3, runs=2, quiet=True)


def test_the_import_is_quick_and_loads_nothing_heavy():
    program = (
        "import sys, outrisk\nheavy = {'numpy', 'pandas', 'statsmodels', 'numba', 'yaml'} & set(sys.modules)\n"
        "assert callable(outrisk.assess) and callable(outrisk.teach)\nprint('heavy', sorted(heavy))"
    )
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert time.perf_counter() - started < 2
    assert done.stdout == "heavy []\n", done.stderr


def test_every_public_name_is_there():
    for name in outrisk.__all__:
        assert getattr(outrisk, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'asses'"):
        _ = outrisk.asses


def test_packages_that_are_functions_keep_their_modules():
    import outrisk.assess.run
    import outrisk.teach.course

    assert outrisk.assess.run.perform
    assert outrisk.teach.course.Course
    assert list(inspect.signature(outrisk.assess).parameters)[:2] == ["data", "outputs"]
    assert list(inspect.signature(outrisk.teach).parameters)[:2] == ["data", "outputs"]


def test_one_name_for_each_argument():
    """What two functions share they call the same, and what can stand without a name comes in one order."""
    parameters = {
        function: list(inspect.signature(getattr(outrisk, function)).parameters)
        for function in ("assess", "measure", "teach", "init")
    }
    assert parameters["measure"][:5] == ["original", "synthetic", "holdout", "keys", "target"]
    assert parameters["assess"][:5] == ["data", "outputs", "keys", "target", "holdout"]
    shared = set(parameters["assess"]) & set(parameters["teach"])
    assert shared == {
        *("data", "outputs", "codebook", "decimals", "rules", "evolve", "seed", "name", "workers", "quiet"),
    }


def test_a_result_tells_itself(result):
    assert result.sentence in repr(result) and " runs (to 1 % of its sampling error in " in result.sentence
    html = result._repr_html_()
    assert repr(result).startswith(result.decision.sentence)  # as the report and the terminal have it
    assert html.startswith("<p>") and "<table" in html
    assert "-0.000" not in repr(result) + html
    assert set(result.released["output"]) == {"logit 1", "table area x ill", "ols 3"}
    assert result.study["key_sizes"] == [3]


def test_a_difference_of_nothing_has_no_sign_and_a_missing_interval_its_reason(result, monkeypatch):
    rows = result.risk.assign(difference=-0.0002, low=-0.0003, high=0.0001)
    monkeypatch.setattr(type(result), "risk", property(lambda self: rows))
    assert "a difference of +0.000 (95 % interval +0.000 to +0.000)." in result.sentence
    assert "-0.000" not in repr(result) + result._repr_html_()
    rows = rows.assign(low=np.nan, high=np.nan, reason="no interval: undefined without one of the jackknife groups")
    said = "a difference of +0.000 (no interval: undefined without one of the jackknife groups)."
    assert result.sentence.endswith(said)
    rows = rows.assign(reason="1 of 2 folds left out: no match")
    assert result.sentence.endswith("(no interval: 1 of 2 folds left out: no match).")


def test_intervals_of_few_people_and_two_runs_are_of_shares():
    df = records(30)
    table = pd.crosstab(df.area, df.ill)
    found = outrisk.assess(df, [table], keys=KEYS, target="ill", **QUICK | {"runs": 2})
    ends = [
        (each.low, each.high)
        for part in (*found._risk.folds, *found._risk.levels)
        for each in part.estimates
        if each.side != "marginal" and not np.isnan(each.low)
    ]
    ends += list(found.register[["original_low", "original_high"]].dropna().itertuples(index=False, name=None))
    assert np.min(ends) == 0 and np.max(ends) == 1  # cut there, as the t of two runs is 12.7


def test_decimals_are_those_given_for_all_or_its_own(result):
    decimals = result.released.groupby("output")["decimals"].first().to_dict()
    assert decimals == {"logit 1": 3, "table area x ill": 0, "ols 3": 2}


def test_released_numbers_are_those_of_the_fit(result, fit):
    rows = result.released[(result.released["output"] == "logit 1") & (result.released["level"] == 1)]
    rows = rows.drop_duplicates("label").set_index("label")["released"]
    np.testing.assert_allclose(rows.loc[fit.params.index], fit.params.round(3), atol=1e-12)


def test_side_by_side_numbers_subtract(result):
    rows = result.risk.dropna(subset=["difference"])
    assert not rows.empty
    people = result.people.dropna(subset=["difference"])
    np.testing.assert_allclose(people["share_original"] - people["share_holdout"], people["difference"], atol=1e-12)
    np.testing.assert_allclose(people["right_original"] / people["people_original"], people["share_original"])
    assert (people["low"] <= people["difference"]).all() and (people["difference"] <= people["high"]).all()


def test_people_by_hand(result, df):
    """The certain people of level 1: by pandas, from the synthetic records of both runs."""
    right = np.ones(len(df), dtype=bool)
    for run in (1, 2):
        synthetic = result.synthetic(1, "whole", run)
        answers = synthetic.astype({"area": str}).groupby(KEYS)["ill"].agg(["nunique", "first"])
        found = df.astype({"area": str}).merge(answers, left_on=KEYS, right_index=True, how="left")
        right &= ((found["nunique"] == 1) & (found["first"] == found["ill"])).to_numpy()
    everybody = result.people[result.people["group"] == "everybody"].set_index(["level", "inference"])
    row = everybody.loc[(1, "certain")]
    assert (row["people_original"], row["right_original"]) == (len(df), right.sum())
    assert (row["people_holdout"], row["reason"]) == (0, "no holdout")
    halves = everybody.loc[(2, "most frequent")]
    assert halves["people_original"] == halves["people_holdout"] == len(df)


def test_nothing_is_written_unless_asked(df, fit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = outrisk.assess(df, [fit], keys=KEYS, target="ill", folds=[1], **QUICK)
    assert repr(found) and not list(tmp_path.iterdir())
    page = found.report(tmp_path / "page.html")
    assert page.read_text().lower().startswith("<!doctype html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.details.html", "page.html"]
    text = page.read_text() + (tmp_path / "page.details.html").read_text()
    links = {link.partition("#")[0] for link in re.findall(r'<a href="([^"]*)"', text)}
    assert links == {"", "page.details.html"}  # nothing that is not there
    assert "<html" in page.read_text()
    with pytest.raises(OutRiskError, match="no such directory"):
        found.report(tmp_path / "none" / "page.html")


def test_the_same_numbers_as_a_study_file(df, tmp_path):
    """One study three ways: as a file on the command line, in a session, and written from the session."""
    from outrisk.cli.commands import run

    outputs = [
        {"kind": "logit", "formula": "ill ~ age + C(area)", "decimals": 2},
        {"kind": "frequencies", "by": ["area", "ill"]},
    ]
    study = {
        "name": "small", "data": {"path": "small.csv"}, "codebook": "small.codebook.yaml", "outputs": outputs,
        "keys": KEYS, "target": "ill", "evolve": {"generations": 4, "seed": 3}, "study": {"runs": 2, "folds": [1, 2]},
    }  # fmt: skip
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(study, sort_keys=False))
    (tmp_path / "small.codebook.yaml").write_text(yaml.safe_dump(CODEBOOK, sort_keys=False))
    df.to_csv(tmp_path / "small.csv", index=False)
    assert run(["assess", str(tmp_path / "small.yaml"), "--out", str(tmp_path / "file"), "--quiet"]) == 0
    fit = smf.logit("ill ~ age + C(area)", df).fit(disp=0)
    found = outrisk.assess(
        df,
        [outrisk.Fitted(fit, decimals=2), pd.crosstab(df.area, df.ill)],
        keys=KEYS,
        target="ill",
        codebook=codebook_from_dict(CODEBOOK),
        runs=2,
        seed=3,
        evolve={"generations": 4},
        out=tmp_path / "session",
        quiet=True,
    )
    found.write(tmp_path / "after")
    names = sorted(path.name for path in (tmp_path / "file").glob("*.csv"))
    assert {"matched.csv", "risk.csv"} <= set(names)
    for name in names:
        for place in ("session", "after"):
            ours, theirs = (pd.read_csv(tmp_path / each / name) for each in ("file", place))
            drop = [column for column in ours.columns if column in ("seconds", "note")]
            pd.testing.assert_frame_equal(ours.drop(columns=drop), theirs.drop(columns=drop), obj=f"{place} {name}")
    for file in (tmp_path / "file" / "synthetic").iterdir():
        assert file.read_bytes() == (tmp_path / "after" / "synthetic" / file.name).read_bytes()
    assert (tmp_path / "after" / "report.html").is_file()


def test_every_kind_is_an_object_with_the_names_of_the_study_file():
    kinds = {
        "ols": "OLS",
        "mnlogit": "MNLogit",
        "ologit": "OLogit",
        "oprobit": "OProbit",
        "negbin": "NegBin",
        "iv": "IV",
    }
    for kind, model in REGISTRY.items():
        maker = getattr(outrisk, kinds.get(kind, kind.title().replace("_", "")))
        assert maker.kind == kind
        assert set(inspect.signature(maker).parameters) == set(model.model_fields) - {"kind"}
    entry = outrisk.Magnitudes("age", ["area"], statistics=["mean", "sd"])
    assert entry.document == {"kind": "magnitudes", "value": "age", "by": ["area"], "statistics": ["mean", "sd"]}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: outrisk.Logit("ill ~ age", formulla="x"), "no argument 'formulla'; .*; did you mean 'formula'"),
        (lambda: outrisk.Logit("ill ~ age", "x"), "2 values without a name"),
        (lambda: outrisk.Logit("ill ~ age", formula="x"), "'formula' is given twice"),
    ],
)
def test_an_object_that_cannot_be_made(make, message):
    with pytest.raises(OutRiskError, match=message):
        make()


@pytest.mark.parametrize(
    ("outputs", "changes", "message"),
    [
        (["ill ~ age"], {}, "outputs 1: a str is no output here"),
        ("ill ~ age", {}, "outputs: is a str"),
        ([], {}, r"outrisk.assess: \[outputs\] is \[\]: list at least one"),
        ([outrisk.Logit("ill ~ wage")], {}, "names 'wage', which is not a variable"),
        ([outrisk.Logit("ill ~ age")], {"keys": "age"}, r"\[keys\] is 'age': write a list"),
        ([outrisk.Logit("ill ~ age")], {"keys": ["age", "wage"]}, "'wage'"),
        ([outrisk.Logit("ill ~ age")], {"target": "wage"}, "'wage'"),
        ([outrisk.Logit("ill ~ age")], {"evolve": {"generatons": 1}}, "generatons"),
        ([outrisk.Logit("ill ~ age")], {"evolve": "fast"}, r"\[evolve\] is 'fast': write a mapping"),
        ([outrisk.Logit("ill ~ age")], {"folds": 2}, r"\[study.folds\] is 2: write a list"),
        ([outrisk.Logit("ill ~ age")], {"key_sizes": 1}, r"\[key_sizes\] is 1: write a list"),
        ([outrisk.Logit("ill ~ age")], {"rules": "age > 1"}, r"\[rules\] is 'age > 1': write a list"),
        ([outrisk.Logit("ill ~ age")], {"attacks": 3}, r"\[attacks\] is 3: write 'all', or a list"),
        ([outrisk.Logit("ill ~ age")], {"privacy": 3}, r"\[privacy\] is 3: write a mapping"),
        ([outrisk.Logit("ill ~ age")], {"appetite": 3}, r"\[appetite\] is 3: write a mapping"),
        ([outrisk.Logit("ill ~ age")], {"contributions": True}, r"\[contributions\] is True: write a mapping"),
        ([outrisk.Logit("ill ~ age")], {"register": "x"}, r"\[register\] is 'x': write a mapping"),
        ([outrisk.Logit("ill ~ age")], {"codebook": "x.yaml"}, "codebook: is a str; give an outrisk.Codebook"),
        ([outrisk.Logit("ill ~ age")], {"codebook": CODEBOOK}, "codebook: is a dict"),
        ([outrisk.Logit("ill ~ age", decimals=-1)], {}, r"\[outputs 1.decimals\] is -1"),
        ([{"kind": "logistic", "formula": "ill ~ age"}], {}, "did you mean 'logit'"),
    ],
)
def test_what_cannot_be_assessed(df, outputs, changes, message):
    with pytest.raises(OutRiskError, match=message) as caught:
        outrisk.assess(df, outputs, **({"keys": KEYS, "target": "ill"} | QUICK | changes))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"keys": ["agee"]}, "keys: no variable 'agee'"),
        ({"target": "il"}, "target: no variable 'il'"),
        ({"target": "age"}, "'age' is among the keys"),
        ({"appetite": 3}, r"\[appetite\] is 3: write a mapping"),
        ({"codebook": CODEBOOK}, "codebook: is a dict"),
    ],
)
def test_what_cannot_be_checked(df, changes, message):
    with pytest.raises(OutRiskError, match=message):
        outrisk.check(df, [outrisk.Logit("ill ~ age")], **{"keys": KEYS, "target": "ill"} | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"copies": 0}, "copies is 0: write a whole number from 1"),
        ({"copies": -1}, "copies is -1"),
        ({"records": 0}, "records is 0"),
        ({"evolve": "fast"}, r"\[evolve\] is 'fast': write a mapping"),
        ({"rules": "age > 1"}, r"\[rules\] is 'age > 1': write a list"),
        ({"codebook": CODEBOOK}, "codebook: is a dict"),
    ],
)
def test_what_cannot_be_taught(df, changes, message):
    with pytest.raises(OutRiskError, match=message):
        outrisk.teach(df, [pd.crosstab(df.area, df.ill)], quiet=True, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"synthetic": None}, "synthetic 1: is a NoneType; give a pandas data frame"),
        ({"synthetic": []}, "synthetic: is empty"),
        ({"keys": "age"}, r"\[keys\] is 'age': write a list"),
        ({"targets": "sex"}, r"\[targets\] is 'sex': write a list"),
        ({"key_sizes": 2}, r"\[key_sizes\] is 2: write a list"),
        ({"metrics": "NNAA", "privacy": True}, r"\[metrics\] is 'NNAA': write a list"),
        ({"attacks": "all"}, "attacks is 'all'; give True or False"),
        ({"privacy": 3}, "privacy is 3; give True or False"),
        ({"quiet": "x"}, "quiet is 'x'; give True or False"),
        ({"privacy": True, "sample": "x"}, "sample is 'x'; give a whole number from 2"),
        ({"attacks_encoding": "ordinal"}, "attacks_encoding is about the classifiers; give attacks=True too"),
        ({"codebook": CODEBOOK}, "codebook: is a dict"),
    ],
)
def test_what_cannot_be_measured(df, changes, message):
    with pytest.raises(OutRiskError, match=message):
        outrisk.measure(df, **{"synthetic": df, "keys": KEYS, "target": "ill", "quiet": True} | changes)


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"keys": "age"}, r"\[keys\] is 'age': write a list"),
        ({"formulas": "ill ~ age"}, r"\[formulas\] is 'ill ~ age': write a list"),
        ({"formulas": ["ill"]}, "data: formula 'ill' has no response"),
        ({"tables": ["age", "ill"]}, r"\[tables 1\] is 'age': write a list"),
        ({"missing": {"age": "-9"}}, r"\[missing age\] is '-9': write a list"),
        ({"missing": "-9"}, "missing: is '-9'; write a mapping"),
    ],
)
def test_what_no_study_can_begin_with(df, wishes, message):
    with pytest.raises(OutRiskError, match=message):
        outrisk.init(df, **wishes)


def test_keys_may_be_columns_and_sizes_an_array(df):
    settings = QUICK | {"folds": [1], "privacy": True, "attacks": True}
    table = pd.crosstab(df.area, df.ill)
    found = outrisk.assess(df, [table], keys=df.columns[:2], target="ill", key_sizes=np.array([1, 2]), **settings)
    assert found.study["keys"] == ["age", "area"] and found.study["key_sizes"] == [1, 2]
    assert found.study["privacy"]["metrics"] is None and found.study["attacks"]["classifiers"] == "all"
    found = outrisk.assess(
        df,
        [table],
        keys=KEYS,
        target="ill",
        **settings | {"privacy": False, "attacks": False, "codebook": found.codebook},
    )
    assert found.study["privacy"]["metrics"] == found.study["attacks"]["classifiers"] == []


@pytest.mark.parametrize(("path", "message"), [("none/x", "none: no such directory"), (".", ". is a directory")])
def test_where_no_file_can_be_written(df, result, tmp_path, monkeypatch, path, message):
    monkeypatch.chdir(tmp_path)
    measured = outrisk.measure(df, df, keys=["age"], target="ill", quiet=True)
    proof = Proof("", pd.DataFrame(), {}, 0.0)
    for write in (measured.report, measured.json, result.report, proof.write):
        with pytest.raises(OutRiskError, match=re.escape(message)):
            write(path)
    assert not list(tmp_path.iterdir())


def test_data_that_are_no_frame(df):
    with pytest.raises(OutRiskError, match="data: is a dict"):
        outrisk.assess({"age": [1]}, [], keys=KEYS, target="ill")
    with pytest.raises(OutRiskError, match="give each one name of its own"):
        outrisk.measure(df.rename(columns={"age": 1}), df, keys=["area"], target="ill")


def test_measure_is_that_of_the_command_line(df, tmp_path, capsys):
    from outrisk.cli.commands import run

    tables = {"o": records(seed=1), "s": records(seed=2), "h": records(seed=3)}
    for name, table in tables.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    files = [
        f"--{what}={tmp_path / name}.csv" for what, name in (("original", "o"), ("synthetic", "s"), ("holdout", "h"))
    ]
    page = tmp_path / "m.json"
    assert run(["measure", *files, "--keys", "age", "area", "--target", "ill", "--json", str(page)]) == 0
    found = outrisk.measure(tables["o"], tables["s"], tables["h"], keys=["age", "area"], target="ill", quiet=True)
    found.json(tmp_path / "session.json")
    theirs, ours = (yaml.safe_load((tmp_path / name).read_text()) for name in ("m.json", "session.json"))
    assert theirs.pop("inputs") and not ours.pop("inputs")
    assert theirs == ours
    assert "DiSCO" in repr(found) and "<table" in found._repr_html_()
    assert isinstance(found.tables["disclosure"][0], pd.DataFrame)
    small = {"columns": ["difference"], "rows": [[-0.0002]], "caption": ""}
    section = {"name": "x", "title": "X", "tables": [small], "notes": []}
    assert "-0.000" not in replace(found, document={"in_short": [], "sections": [section]})._repr_html_()
    with pytest.raises(OutRiskError, match="metrics is about the privacy metrics; give privacy=True too"):
        outrisk.measure(df, df, keys=["age"], target="ill", metrics=["NNAA"])


def test_teach_from_values_and_from_data(df, tmp_path):
    codebook = codebook_from_dict(CODEBOOK)
    counts = df["area"].value_counts().sort_index()
    given = outrisk.teach(
        None,
        [outrisk.Univariate(["area"], values=list(counts))],
        codebook=codebook,
        records=len(df),
        copies=2,
        quiet=True,
    )
    assert [frame["area"].value_counts().sort_index().tolist() for frame in given.data] == [list(counts)] * 2
    assert "6 of 6 released numbers" in repr(given)
    place = given.write(tmp_path / "lesson")
    assert (place / "teaching.html").is_file()
    computed = outrisk.teach(df, [pd.crosstab(df.area, df.ill)], codebook=codebook, quiet=True)
    pd.testing.assert_frame_equal(
        pd.crosstab(computed.data[0].area.astype(str), computed.data[0].ill),
        pd.crosstab(df.area, df.ill),
        check_names=False,
    )
    with pytest.raises(OutRiskError, match="without data there must be a codebook"):
        outrisk.teach(None, [outrisk.Univariate(["area"], values=[1, 2])])


def test_init_gives_a_codebook_and_a_study_to_correct(df, tmp_path):
    starter = outrisk.init(df, keys=["age", "area"], target="ill")
    assert starter.codebook.names == list(df.columns)
    assert "CHECK" in repr(starter) and "target: ill" in repr(starter)
    df.to_csv(tmp_path / "d.csv", index=False)
    study, _ = starter.write(tmp_path / "d.yaml", tmp_path / "d.csv")
    document = yaml.safe_load(study.read_text())
    assert (document["keys"], document["target"], document["data"]) == (["age", "area"], "ill", {"path": "d.csv"})
    with pytest.raises(OutRiskError, match="no column 'wage'"):
        outrisk.init(df, target="wage")


def test_categories_that_are_numbers_with_a_point(df):
    frame = df.assign(dose=pd.Categorical(df["age"].astype(float)))
    levels = ("0.0", "1.0", "2.0", "3.0", "4.0")
    assert outrisk.init(frame, keys=["dose", "area"], target="ill").codebook["dose"].values == levels
    fit = smf.logit("ill ~ dose", frame).fit(disp=0)
    assert outrisk.check(frame, [fit, pd.crosstab(frame.dose, frame.ill)], keys=["dose"], target="ill").sentence


def test_the_docstrings_name_every_argument():
    for name in ("assess", "measure", "teach", "init"):
        function = inspect.unwrap(getattr(outrisk, name))
        described = re.findall(r"^    (\w[\w, ]*) : ", function.__doc__, re.MULTILINE)
        described = {each for line in described for each in line.split(", ")}
        assert set(inspect.signature(function).parameters) <= described, name


def test_a_glm_of_a_known_family_is_that_regression(df):
    fit = smf.glm("ill ~ age", df, family=sm.families.Binomial()).fit()
    found = outrisk.assess(df, fit, keys=KEYS, target="ill", folds=[1], **QUICK)
    assert found.study["outputs"][0]["kind"] == "logit"


def test_a_model_of_any_other_kind_by_a_function_of_the_session(df, tmp_path):
    """A model by a function, if only of a kind that is known: its released numbers are those of the fit itself."""

    def cox(frame):
        fit = PHReg(frame["age"] + 1, frame[["sex"]], status=frame["ill"], ties="breslow").fit()
        return [fit.params[0], fit.bse[0]]

    entry = outrisk.Custom(cox, ["age", "sex", "ill"], ["sex", "SE of sex"], decimals=3)
    out = tmp_path / "cox"
    settings = QUICK | {"evolve": {"generations": 1}, "folds": [1]}
    result = outrisk.assess(df, [entry], keys=KEYS, target="ill", out=out, **settings)
    found = PHReg(df["age"] + 1, df[["sex"]], status=df["ill"], ties="breslow").fit()
    released = result.released["released"].to_numpy()
    np.testing.assert_allclose(released, [found.params[0], found.bse[0]], atol=0.5e-3 + 1e-9)
    written = yaml.safe_load((out / "study.yaml").read_text(encoding="utf-8"))["outputs"][0]
    assert written["function"].endswith("cox of the session")
    with pytest.raises(OutRiskError, match=r"in Python, give the function itself"):
        outrisk.check(df, [entry.document | {"function": "os:getcwd"}], keys=KEYS, target="ill")


@pytest.mark.parametrize("how", ["formula", "strata", "arrays"])
def test_a_cox_model_is_read_from_its_fit(df, how):
    df = df.assign(weeks=1 + (np.arange(len(df)) * 7 + df["age"]) % 6, left=np.where(df["ill"] == 1, "yes", "no"))
    if how == "arrays":
        fit = PHReg(df["weeks"], df[["age", "sex"]], status=df["ill"], ties="efron").fit()
    else:
        strata, died = ({"strata": "sex"} if how == "strata" else {}), df["ill"]
        df = df.drop(columns="ill")  # told by the level of a text alone
        fit = PHReg.from_formula("weeks ~ age", df, status=died, **strata).fit()
    settings = QUICK | {"evolve": {"generations": 1}, "folds": [1]}
    result = outrisk.assess(df, fit, keys=["age", "sex"], target="area", **settings)
    labels = [*fit.model.exog_names, *(f"{name}: standard error" for name in fit.model.exog_names)]
    assert result.released["label"].tolist() == labels
    np.testing.assert_allclose(result.released["released"], [*fit.params, *fit.bse], atol=0.5e-4 + 1e-9)
    with pytest.raises(OutRiskError, match="outputs 1: "):
        outrisk.check(df.iloc[::-1].reset_index(drop=True), fit, keys=["age"], target="area")


def test_check_and_prove_take_what_assess_takes(df):
    df = df.head(40)
    table = pd.crosstab([df.age, df.area, df.sex], df.ill)
    checked = outrisk.check(df, [table], keys=KEYS, target="ill", appetite={"safe_threshold": 3})
    assert checked.findings.iloc[0].rule == "same answer" and repr(checked) == checked.sentence
    proof = outrisk.prove(df, [table], keys=KEYS, target="ill")
    alone = df.groupby(KEYS).ill.transform("nunique") == 1
    assert proof.certain.record.tolist() == np.flatnonzero(alone).tolist()
    assert proof.certain.value.tolist() == df.ill[alone].astype(str).tolist()
    assert int(alone.sum()) == checked.findings.iloc[0].people
    for keys in (["nobody"], ["age", "ill"]):
        with pytest.raises(OutRiskError, match=r"nobody|among the keys"):
            outrisk.prove(df, [table], keys=keys, target="ill")


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        ("assess", {"workers": "x"}, "workers is 'x'; give a whole number from 1"),
        ("assess", {"workers": 0}, "workers is 0; give a whole number from 1"),
        ("assess", {"out": 3}, "out is 3; give a path"),
        ("assess", {"force": 1}, "force is 1; give True or False"),
        ("assess", {"quiet": "x"}, "quiet is 'x'; give True or False"),
        ("assess", {"backend": "nowhere"}, "backend is 'nowhere': it must be one of"),
        ("assess", {"backend": "dask"}, "backend dask and address go together"),
        ("check", {"inside": "x"}, "inside is 'x'; give True or False"),
        ("teach", {"quiet": 1}, "quiet is 1; give True or False"),
        ("teach", {"workers": 1.5}, "workers is 1.5; give a whole number from 1"),
        ("follow", {"workers": -1}, "workers is -1; give a whole number from 1"),
        ("follow", {"runs": {1: 2}}, "runs is {1: 2}; give a whole number from 1"),
        ("follow", {"rounds": None}, "rounds is None; give a whole number from 1"),
        ("prove", {"known_for": "all"}, "known_for is 'all'; give a number"),
        ("prove", {"sample": True}, "sample is True; give a whole number from 1"),
        ("prove", {"time_limit": "x"}, "time_limit is 'x'; give a number"),
        ("prove", {"seed": 1.5}, "seed is 1.5; give a whole number from 0"),
        ("init", {"threshold": 1.5}, "threshold is 1.5; give a whole number from 1"),
        ("init", {"threshold": None}, "threshold is None; give a whole number from 1"),
        ("init", {"target": 3}, "target is 3; give the name of a column"),
    ],
)
def test_arguments_that_no_study_file_has_are_checked(call, arguments, message):
    data = pd.DataFrame({"age": [20, 30, 40, 50] * 10, "ill": [0, 1, 1, 0] * 10})
    more = {} if call == "init" else {"outputs": [outrisk.Frequencies(["age", "ill"])]}
    if call in ("assess", "check", "follow", "prove"):
        more |= {"keys": ["age"], "target": "ill"}
    with pytest.raises(OutRiskError, match=re.escape(message)):
        getattr(outrisk, call)(data, **more, **arguments)


def test_what_is_written_goes_to_a_path():
    data = pd.DataFrame({"age": [20, 30, 40, 50] * 10, "ill": [0, 1, 1, 0] * 10})
    outputs = [outrisk.Frequencies(["age", "ill"])]
    found = outrisk.assess(data, outputs, keys=["age"], target="ill", runs=1, quiet=True)
    made = outrisk.teach(data, outputs, quiet=True)
    proof, started = outrisk.prove(data, outputs, keys=["age"], target="ill"), outrisk.init(data)
    for write in (found.write, found.report, made.write, proof.write, lambda place: started.write(place, "d.csv")):
        with pytest.raises(OutRiskError, match=r" is 3; give a path, a text or a pathlib\.Path"):
            write(3)
    for write in (found.write, made.write):
        with pytest.raises(OutRiskError, match="force is 'x'; give True or False"):
            write("somewhere", force="x")
