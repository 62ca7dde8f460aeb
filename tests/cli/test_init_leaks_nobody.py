"""What `outrisk init` writes points at nobody: 2,000 records as a hospital has them, written in two ways."""

import re

import numpy as np
import pandas as pd
import pytest
import yaml
from command import outrisk, refused

import outrisk as package
from outrisk.config import read_codebook, read_study
from outrisk.load import load_study_data
from outrisk.propose.words import names_identifier, names_known
from outrisk.tabular import read_table

N = 2_000


def people(seed=3):
    rng = np.random.default_rng(seed)
    words = np.array(["pain", "left", "knee", "visit", "again", "mother", "says", "called", "back", "ward", "late"])
    born = pd.to_datetime("1930-01-01") + pd.to_timedelta(rng.integers(0, 28_000, N), unit="D")
    icd = rng.choice(["E11", "I10", "J45", "C50", "F32", "G20", "Q87"], N, p=[0.3, 0.3, 0.2, 0.1, 0.096, 0.002, 0.002])
    frame = pd.DataFrame(
        {
            "patient_id": rng.permutation(np.arange(100_000, 100_000 + N)),
            "nhs_number": rng.choice(np.arange(4 * 10**9, 4 * 10**9 + 10**7), N, replace=False),
            "date_of_birth": born,
            "age": 2024 - born.year,
            "sex": rng.choice(["m", "f"], N),
            "region": rng.choice(["Île-de-France", "Österreich", "Łódź"], N),
            "postcode": [f"{a}{i % 97} {i % 9}QX" for i, a in enumerate(rng.choice(list("ABCDE"), N))],
            "bmi": np.round(rng.normal(27, 4, N), 1),
            "income": np.round(rng.lognormal(10.2, 0.8, N), 2),
            "icd10": icd,
            "smoker": rng.choice(["yes", "no", "unknown"], N, p=[0.3, 0.6, 0.1]),
            "insured": rng.integers(0, 2, N),
            "comment": [" ".join(rng.choice(words, 6)) + f" {i}" for i in range(N)],
            "score": np.where(rng.random(N) < 0.1, -9, rng.integers(0, 41, N)),
            "diabetes": rng.integers(0, 2, N),
        }
    )  # fmt: skip
    for i in range(5):
        frame[f"lab{i}"] = np.round(rng.gamma(3, 7, N), 3)
    return frame


def write(frame, folder, german=False):
    folder.mkdir()
    text = frame.copy()
    if german:
        text["date_of_birth"] = text["date_of_birth"].dt.strftime("%d.%m.%Y")
        text.to_csv(folder / "d.csv", index=False, sep=";", decimal=",", encoding="utf-8-sig")
    else:
        text.to_csv(folder / "d.csv", index=False)
    return folder / "d.csv"


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return write(people(), tmp_path_factory.mktemp("plain") / "x")


def values_of_one_person(path, digits):
    """Every cell's text that stands once in its column, of numbers those of so many characters."""
    frame = read_table(path)
    single = (column.value_counts() for _, column in frame.items())
    found = {value for counts in single for value in counts[counts == 1].index}
    return {value for value in found if len(value) >= digits or not re.fullmatch(r"-?[\d.]+", value)}


def test_no_value_of_one_person_is_in_anything_that_is_written(plain, capsys):
    assert outrisk(capsys, "init", plain, "--force")[0] == 0
    study = plain.with_suffix(".yaml")
    text = study.read_text(encoding="utf-8").replace("runs: 5, folds: [1, 2]", "runs: 1, folds: [1, 2]")
    study.write_text(text.replace("seed: 1", "seed: 1, generations: 2"), encoding="utf-8")
    run = plain.parent / "run"
    code, _, err = outrisk(capsys, "assess", study, "--out", run, "--force", "--quiet", "--workers", "1")
    assert code == 0, err
    written = [plain.with_suffix(".codebook.yaml"), study, *(path for path in run.rglob("*") if path.is_file())]
    assert len(written) > 10
    for path in written:
        single = values_of_one_person(plain, 8 if run in path.parents else 4)  # a run's own results are short numbers
        assert len(single) > 4 * N
        words = path.read_text(encoding="utf-8", errors="replace")  # figures are among them
        met = single & set(re.split(r"[\s,;:'\"\[\]{}<>()=]+", words))
        met |= {value for value in single if " " in value and value in words}
        assert not met, (path, sorted(met)[:5])
    assert len(plain.with_suffix(".codebook.yaml").read_text().splitlines()) < 10 * 20


def test_each_column_is_told_with_its_reason(plain, capsys):
    out = outrisk(capsys, "init", plain, "--force")[1]
    codebook = read_codebook(plain.with_suffix(".codebook.yaml"))
    study = read_study(plain.with_suffix(".yaml"))
    for name in ("patient_id", "nhs_number", "postcode", "comment"):
        assert name not in codebook and re.search(rf"Left out: .*{name}", out)
    assert codebook["date_of_birth"].values[0] <= 1930 and codebook["date_of_birth"].values[-1] >= 2006
    assert codebook["icd10"].values == ("C50", "E11", "F32", "I10", "J45", "Other")
    assert "'G20' (" in out and "merged into 'Other' (--rare keep|merge|drop)" in out
    assert "G20" not in plain.with_suffix(".yaml").read_text() + plain.with_suffix(".codebook.yaml").read_text()
    assert codebook["insured"].kind == "categorical" and codebook["score"].missing
    assert "Taken as missing in 'score': -9" in out
    assert "if they mean missing: --missing smoker=unknown" in out
    assert set(study.file.keys) == {"date_of_birth", "age", "sex", "region"}
    assert study.file.target == "icd10" and "sensitive by its name" in out
    income = codebook["income"]
    assert income.values[0] == 0 and income.values[-1] % 1000 == 0 and len(income.values) <= 1_001
    data = load_study_data(study).original.frame()
    assert len(data) == N
    exact = read_table(plain)
    step = income.values[1] - income.values[0]
    assert (
        np.abs(np.minimum(exact["income"].astype(float), income.values[-1]) - data["income"]).max() <= step / 2 + 1e-6
    )


def test_the_german_and_the_plain_file_give_the_same_study(plain, tmp_path, capsys):
    frame = people().replace({"region": {"Łódź": "Lodz"}})
    ways = {"plain": write(frame, tmp_path / "plain"), "german": write(frame, tmp_path / "german", german=True)}
    latin = write(frame, tmp_path / "latin")
    latin.write_bytes(latin.read_text(encoding="utf-8").encode("latin-1"))
    ways["latin"] = latin
    codebooks, documents, codes = {}, {}, {}
    for way, path in ways.items():
        code, _, err = outrisk(capsys, "init", path)
        assert code == 0
        assert ("decimal comma" in err) == (way == "german") and ("Windows-1252" in err) == (way == "latin")
        codebooks[way] = path.with_suffix(".codebook.yaml").read_text(encoding="utf-8")
        documents[way] = yaml.safe_load(path.with_suffix(".yaml").read_text(encoding="utf-8"))
        codes[way] = load_study_data(read_study(path.with_suffix(".yaml"))).original.codes
    for name in ("sep", "decimal"):
        assert documents["german"]["data"].pop(name) == {"sep": ";", "decimal": ","}[name]
    assert documents["latin"]["data"].pop("encoding") == "cp1252"
    for way in ("german", "latin"):
        assert codebooks[way] == codebooks["plain"]
        assert documents[way] == documents["plain"]
        assert (codes[way] == codes["plain"]).all()


def test_what_is_wanted_is_what_is_written(plain, tmp_path, capsys):
    study = tmp_path / "mine.yaml"
    wanted = (
        "--keys",
        "age",
        "sex",
        "--target",
        "diabetes",
        "--formula",
        "diabetes ~ age + C(region)",
        "--table",
        "sex,diabetes",
        "--out",
        study,
    )
    assert outrisk(capsys, "init", plain, *wanted, "--missing", "-9", "smoker=unknown")[0] == 0
    assert read_codebook(tmp_path / "mine.codebook.yaml").names == ["age", "sex", "region", "diabetes"]
    document = yaml.safe_load(study.read_text(encoding="utf-8"))
    assert document["outputs"] == [
        {"kind": "frequencies", "by": ["sex", "diabetes"]},
        {"kind": "logit", "formula": "diabetes ~ age + C(region)", "decimals": 4},
    ]
    assert (document["keys"], document["target"]) == (["age", "sex"], "diabetes")
    assert "CHECK" not in study.read_text(encoding="utf-8").split("outputs:")[1]
    run = ("assess", study, "--out", tmp_path / "run", "--quiet", "--workers", "1")
    study.write_text(study.read_text().replace("runs: 5, folds: [1, 2]", "runs: 1, folds: [1]"), encoding="utf-8")
    assert outrisk(capsys, *run)[0] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--keys", "comment"], "column 'comment' cannot go into a codebook, which counts as public: 2,000 different"),
        (["--target", "patient_id"], "column 'patient_id' cannot go into a codebook"),
        (["--keys", "age,sex"], "no column 'age,sex'; .*separate names by blanks"),
        (["--target", "diabets"], "did you mean 'diabetes'"),
        (["--formula", "diabetes"], "has no response and terms"),
        (["--formula", "diabetes ~ agee"], "names 'agee', which is not a variable"),
        (["--formula", "diabetes ~ age^2"], r"write I\(age\*\*2\)"),
        (["--table", "sex,nobody"], "no column 'nobody'"),
        (["--missing", "nobody=1"], "no column 'nobody'"),
        (["--sep", "x|"], "sep: 'x|' is not one character"),
        (["--sep", "é"], "sep: 'é' is not one character of ASCII, or 'tab'"),
        (
            ["--keys", "age", "sex", "--target", "sex"],
            r"target 'sex' is among the keys \['age', 'sex'\]; .*: name another",
        ),
        (["--encoding", "klingon"], "'klingon' is not known"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(plain, tmp_path, capsys, options, message):
    line = refused(capsys, "init", plain, "--out", tmp_path / "s.yaml", *options)
    assert re.search(message, line), line
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("rare", ["keep", "merge", "drop"])
def test_rare_levels(plain, tmp_path, capsys, rare):
    study = tmp_path / "s.yaml"
    assert outrisk(capsys, "init", plain, "--out", study, "--rare", rare)[0] == 0
    levels = read_codebook(tmp_path / "s.codebook.yaml")["icd10"].values
    assert ("G20" in levels) == (rare == "keep") and ("Other" in levels) == (rare == "merge")
    exact = read_table(plain)["icd10"]
    few = exact.isin(["G20", "Q87"]).sum()
    assert 0 < few < 20
    assert len(load_study_data(read_study(study)).original) == N - few * (rare == "drop")


def test_in_a_session():
    start = package.init(people(), keys=["age", "region"], target="diabetes", tables=[["region", "diabetes"]])
    assert start.codebook.names == ["age", "region", "diabetes"]
    assert "comment" in start.left_out and "identifier" in start.left_out["patient_id"]
    assert start.data["age"].tolist() == people()["age"].tolist()
    whole = package.init(people())
    from outrisk.microdata import from_frame

    assert len(from_frame(whole.data, whole.codebook)) == N


def test_labels_of_stata_go_into_the_codebook(tmp_path, capsys):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"sex": rng.integers(1, 3, 200), "ill": rng.integers(0, 2, 200), "age": rng.integers(20, 70, 200)}
    )
    labels = {"sex": {1: "male", 2: "female"}, "ill": {0: "no", 1: "yes"}}
    frame.to_stata(tmp_path / "d.dta", write_index=False, value_labels=labels, variable_labels={"age": "Age in years"})
    assert outrisk(capsys, "init", tmp_path / "d.dta")[0] == 0
    codebook = read_codebook(tmp_path / "d.codebook.yaml")
    assert codebook["sex"].values == ("1", "2") and codebook["sex"].descriptions == ("male", "female")
    assert codebook["age"].label == "Age in years"
    assert len(load_study_data(read_study(tmp_path / "d.yaml")).original) == 200


@pytest.mark.parametrize(
    ("column", "codes"),
    [
        ([1, 2, 3, -9] * 10, ["-9"]),
        ([*range(18, 90), 99], []),
        ([1, 2, 3, 4, 9] * 10, ["9"]),
        ([0, 12, 30, 999] * 10, ["999"]),
        ([-2, -1, 0, 1, 2] * 10, []),
        (["1.5", "2.5", "?"] * 10, ["?"]),
        (["a", "b", "unknown"] * 10, ["unknown"]),
        ([*map(str, range(30)), "N"] * 2, ["N"]),
        ([*map(str, range(30)), "90+"] * 2, []),
        (["I10", "E11", "-9", "F32"] * 10, ["-9"]),
        (["1a", "99", "7", "8"] * 10, []),
        ([0, 1] * 10, []),
        ([0, 1, 9] * 10, ["9"]),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9] * 5, []),
    ],
)
def test_codes_that_look_like_missing(column, codes):
    from outrisk.propose.gap_codes import suspected

    assert suspected(pd.Series(column)) == codes


def test_a_person_is_asked(plain, monkeypatch, tmp_path):
    from outrisk.api import starter

    asked = []

    def ask(question, answers, safe):
        asked.append((question, tuple(answers), safe))
        return {"icd10": "keep", "smoker": "yes", "score": "no"}[re.search(r"'(\w+)'", question).group(1)]

    started, *_ = starter.start_study(
        plain, tmp_path / "s.yaml", False, ("", "", ""), ask,
        keys=(), target="", formulas=(), tables=(), missing=None, rare="", threshold=10,
    )  # fmt: skip
    assert [safe for _, _, safe in asked] == ["merge", "no", "yes"]
    assert "G20" in started.codebook["icd10"].values
    assert started.codebook["smoker"].missing and not started.codebook["score"].missing
    assert started.codebook["score"].values[0] < -9


def test_umlauts_are_read_as_they_are_written_out():
    assert names_identifier("Straße") and names_identifier("strasse")
    assert names_known("KörperGröße") == names_known("groesse") == "looks"


def cohort():
    rng = np.random.default_rng(4)
    job = rng.choice(["clerk", "cook", "guard"], 300, p=[0.6, 0.38, 0.02])
    return pd.DataFrame({"sex": rng.choice(["f", "m"], 300), "job": job, "age": rng.integers(20, 60, 300)})


def test_rare_levels_of_a_target_that_is_named_are_kept(tmp_path, capsys):
    """To merge them is to ask about something else; those of other columns are merged, and all where --rare says so."""
    cohort().assign(area=cohort()["job"]).to_csv(tmp_path / "d.csv", index=False)
    kept = package.init(pd.read_csv(tmp_path / "d.csv"), keys=["sex", "area"], target="job")
    assert kept.codebook["job"].values == ("clerk", "cook", "guard")
    assert kept.codebook["area"].values == ("clerk", "cook", "Other")
    merged = package.init(cohort(), keys=["sex"], target="job", rare="merge")
    assert merged.codebook["job"].values == ("clerk", "cook", "Other")
    out = outrisk(capsys, "init", tmp_path / "d.csv", "--keys", "sex", "--target", "job")[1]
    assert re.search(r"'guard' \(\d\); written, as the target's \(--rare keep\|merge\|drop\)", out)


def test_a_table_with_a_level_that_was_merged_is_told_the_way_out(tmp_path, capsys):
    frame = cohort()
    start = package.init(frame, keys=["sex"], target="age", tables=[["sex", "job"]])
    assert "Other" in start.codebook["job"].values
    table, kept = pd.crosstab(frame["sex"], frame["job"]), "has a level of its own with rare='keep'"
    for each, said in (
        (table, kept),
        (table[["guard", "clerk", "cook"]], f"'guard'.*{kept}"),
    ):  # a last one is a margin
        with pytest.raises(package.OutRiskError, match=said):
            package.check(start.data, [each], keys=["sex"], target="job", codebook=start.codebook)
    with pytest.raises(package.OutRiskError, match=r"'guard'.*'outrisk init --rare keep' gives levels of their own"):
        package.check(frame, [table], keys=["sex"], target="job", codebook=start.codebook)
    frame.to_csv(tmp_path / "d.csv", index=False)
    table.to_csv(tmp_path / "t.csv")
    start.write(tmp_path / "d.yaml", tmp_path / "d.csv")
    study = (tmp_path / "d.yaml").read_text().replace("by: [sex, job]", "by: [sex, job]\n    values: t.csv")
    (tmp_path / "d.yaml").write_text(study)
    line = refused(capsys, "check", tmp_path / "d.yaml")
    assert "'guard' is no level of 'job'" in line and "'outrisk init --rare keep' gives levels" in line


def test_a_target_that_is_to_be_derived_is_told_how(tmp_path, capsys):
    cohort().to_csv(tmp_path / "d.csv", index=False)
    line = refused(capsys, "init", tmp_path / "d.csv", "--target", "over_50")
    assert "no column 'over_50'" in line and "put yours under 'derive' in the study, and into its codebook" in line
    few = cohort().head(7)
    few.to_csv(tmp_path / "e.csv", index=False)
    line = refused(capsys, "init", tmp_path / "e.csv", "--keys", "sex", "--target", "age")
    assert "or too few records for 10 people a level (--threshold)" in line
