import re

import pandas as pd
import pytest
from command import outrisk, records, refused, write_study


def tree(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


LOGIT = {"kind": "logit", "formula": "ill ~ age + area"}
NOBODY = "age == 4 and area == 's' and sex == 2 and ill == 'no'"
SEPARATED = records().assign(ill=lambda f: f["ill"].where(f["area"] != "w", "yes"))
CATEGORY = {"kind": "categorical", "levels": ["n", "s", "w", "never"]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"colour": 1}, r"small.yaml: unknown keys \['colour'\]; known"),
        ({"keyss": ["age"]}, r"small.yaml: unknown keys \['keyss'\]; known: .*; did you mean 'keys'\?"),
        (
            {"outputs": [{"kind": "logistic"}]},
            r"\[outputs 1\] needs a kind, .*; 'logistic' is none of them; did you mean 'logit'",
        ),
        ({"keys": ["age", "wage"], "key_sizes": [5]}, "keys: no variable 'wage'"),
        (
            {"key_sizes": [4]},
            r"small.yaml: \[key_sizes\] is \[4\]: write each size once, from 1 to the number of keys \(3\)",
        ),
        ({"evolve": {"generatons": 1}}, r"\[evolve\] has unknown keys \['generatons'\]; known"),
        ({"data": None}, "'data' is missing; add it"),
        ({"keys": "age"}, r"\[keys\] is 'age': write a list"),
        (
            {"outputs": [{**LOGIT, "formula": "ill ~ wage"}]},
            "formula 'ill ~ wage' names 'wage', which is not a variable; variables are",
        ),
        ({"outputs": [{**LOGIT, "formula": "ill ~ age +"}]}, "formula 'ill ~ age \\+' cannot be read"),
        (
            {"outputs": [{**LOGIT, "formula": "ill ~ scale(age)"}]},
            r"scale\(age\) in the formula depends on all the data",
        ),
        ({"outputs": [{**LOGIT, "formula": "ill ~ age + I(2 * age)"}]}, "collinear"),
        ({"outputs": [{**LOGIT, "event": "perhaps"}]}, "event 'perhaps' is not a level of 'ill'; levels are"),
        ({"outputs": [{**LOGIT, "importance": 0}]}, r"\[outputs 1.importance\] is 0: it must be greater than 0"),
        ({"outputs": [{**LOGIT, "importance": "high"}]}, r"\[outputs 1.importance\] is 'high': write a number"),
        ({"outputs": [{**LOGIT, "importance": float("inf")}]}, r"\[outputs 1.importance\] is inf: it must be a finite"),
        ({"outputs": [{**LOGIT, "where": "age > 9"}]}, "holds for no value"),
        (
            {"outputs": [{"kind": "frequencies", "by": ["ill"], "where": NOBODY}]},
            "output 'table ill': where: .* holds for no rec",
        ),
        (
            {"outputs": [{"kind": "magnitudes", "value": "age", "where": NOBODY}]},
            "output 'age': where: .* holds for no rec",
        ),
        (
            {"outputs": [{**LOGIT, "where": NOBODY}]},
            "output 'logit 1': where: .* holds for no record of the data; widen",
        ),
        (
            {
                "outputs": [
                    {"kind": "frequencies", "by": ["ill"], "protection": {"threshold": 1000, "known_threshold": False}}
                ]
            },
            r"every released number \('table ill'\) is withheld or undefined; release one that is known",
        ),
        ({"outputs": [{**LOGIT, "where": "age >> > 9"}]}, "is not an expression; write for example"),
        ({"outputs": [{**LOGIT, "where": "wage > 9"}]}, r"names \['wage'\]; variables are"),
        ({"outputs": [{**LOGIT, "where": "age + 1"}]}, "is not true or false"),
        (
            {"outputs": [{"kind": "logit", "response": "ill", "terms": ["area"], "reference": {"area": "x"}}]},
            "reference 'x' is not a level of 'area'; levels are",
        ),
        ({"outputs": [{"kind": "frequencies", "by": ["area"]}] * 2}, "two outputs are called 'table area'"),
        ({"keys": ["age", "ill"]}, "target"),
        ({"keys": ["age", "wage"]}, "'wage'"),
        ({"keys": ["age", "age"]}, "age"),
        ({"target": "wage"}, "'wage'"),
        ({"key_sizes": [4]}, "4"),
        ({"key_sizes": [0]}, "0"),
        ({"study": {"folds": [128]}}, r"\[study\] folds: 128 folds of 160 records leave fewer than 2"),
        ({"study": {"folds": [3]}}, "folds: 3 is not 1, 2, 4"),
        ({"data": {"path": "no.csv"}}, "no.csv: no such file"),
        ({"data": {"path": "small.csv", "where": "age > 9"}}, "leaves no records"),
        ({"data": {"package": "statsmodels", "dataset": "nothing"}}, "no dataset 'nothing' in statsmodels; there are"),
        ({"codebook": "no.yaml"}, "no.yaml: no such file"),
    ],
)
def test_a_study_that_cannot_be_carried_out(tmp_path, capsys, changes, message):
    path = write_study(tmp_path, changes)
    before = tree(tmp_path)
    line = refused(capsys, "assess", path, "--out", tmp_path / "runs" / "small")
    assert re.search(message, line), line
    assert tree(tmp_path) == before
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("data", "codebook", "message"),
    [
        (records().replace({"area": {"w": "east"}}), {}, "column 'area' holds 'east', which is not in its codebook"),
        (records().replace({"age": {4: None}}), {}, "column 'age' has .* missing values, its codebook declares none"),
        (records().drop(columns="sex"), {}, r"data: no column 'sex' \(in the codebook\)"),
        (records().assign(ill="yes"), {}, "ill"),
        (SEPARATED, {}, "area = w is separated: the response is 1 in all"),
        (records(), {"area": CATEGORY}, "area = never has no records; merge it"),
        (records(), {"age": {"kind": "odd"}}, "small.codebook.yaml: variable 'age' needs a kind"),
        (records(), {"sex": {"kind": "integer", "min": 2, "max": 1}}, "range of 'sex' is min 2, max 1"),
        (records().iloc[:0], {}, "a header and no records"),
        (pd.concat([records(), records()[["age"]]], axis=1), {}, "column 'age' stands 2 times in the header"),
    ],
)
def test_data_and_codebooks_that_do_not_fit(tmp_path, capsys, data, codebook, message):
    path = write_study(tmp_path, codebook=codebook, data=data)
    before = tree(tmp_path)
    line = refused(capsys, "assess", path, "--out", tmp_path / "run")
    assert re.search(message, line), line
    assert tree(tmp_path) == before


@pytest.mark.parametrize("content", [b"", b"a,b\n1\n", bytes(range(256))])
def test_data_that_cannot_be_read(tmp_path, capsys, content):
    path = write_study(tmp_path)
    (tmp_path / "small.csv").write_bytes(content)
    assert "small.csv: " in refused(capsys, "assess", path, "--out", tmp_path / "run")
    assert "small.csv: " in refused(capsys, "init", tmp_path / "small.csv", "--out", tmp_path / "new.yaml")
    assert not (tmp_path / "new.yaml").exists()


def test_a_support_that_is_too_large(tmp_path, capsys):
    wide = {"kind": "integer", "min": 0, "max": 60_000}
    outputs = [{"kind": "frequencies", "by": ["age", "sex"]}]
    path = write_study(tmp_path, {"outputs": outputs}, {"age": wide, "sex": wide})
    assert "at most 4,000,000 are possible: band one" in refused(capsys, "assess", path, "--out", tmp_path / "run")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["assess", "x.yaml", "--workers", "0"], "'--workers'"),
        (["assess", "x.yaml", "--workers", "two"], "'--workers'"),
        (["assess", "x.yaml", "--seed", "-1"], "'--seed'"),
        (["assess", "x.yaml", "--seed", "1.5"], "'--seed'"),
        (["assess", "x.yaml", "--speed", "1"], "No such option.*--speed"),
        (["assess"], "Missing argument 'STUDY.yaml'"),
        (["assess", "x.yaml", "y.yaml"], "unexpected extra argument"),
        (["asses"], "No such command 'asses'"),
        (["assess", "no.yaml"], "no.yaml: no such file"),
        (["init", "no.csv"], "no.csv: no such file"),
        (["init", "no.csv", "--out", "."], r"\. is a directory; name the file to write"),
        (["report", "no"], "no is not a run directory"),
    ],
)
def test_a_command_line_that_cannot_be_carried_out(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert re.search(message, refused(capsys, *arguments))
    assert not any(tmp_path.iterdir())


def test_directories_in_the_way(tmp_path, capsys):
    path, run = write_study(tmp_path, {"study": {"folds": [1], "runs": 1}}), tmp_path / "run"
    assert outrisk(capsys, "assess", path, "--out", run, "--quiet", "--workers", "1")[0] == 0
    assert "exists; give --force to replace it" in refused(capsys, "assess", path, "--out", run)
    (run / "mark").write_text("")
    assert outrisk(capsys, "assess", path, "--out", run, "--quiet", "--force", "--workers", "1")[0] == 0
    assert not (run / "mark").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years")
    line = refused(capsys, "assess", path, "--out", tmp_path / "mine", "--force")
    assert "is not a run directory; --force does not replace it" in line
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years"
    line = refused(capsys, "assess", path, "--out", path / "below")
    assert "small.yaml" in line
    assert {p.name for p in tmp_path.iterdir()} == {"run", "mine", "small.yaml", "small.csv", "small.codebook.yaml"}


def test_links_that_lead_nowhere(tmp_path, capsys):
    records().to_csv(tmp_path / "d.csv", index=False)
    (tmp_path / "a.csv").symlink_to(tmp_path / "b.csv")
    (tmp_path / "b.csv").symlink_to(tmp_path / "a.csv")
    measure = ["measure", "--keys", "age", "--target", "ill", "--original", tmp_path / "d.csv", "--synthetic"]
    for arguments in (
        ["init", tmp_path / "a.csv"],
        [*measure, tmp_path / "a.csv"],
        [*measure, tmp_path / "a.csv", "--json", tmp_path / "o.json"],
    ):
        assert "a.csv: no such file" in refused(capsys, *arguments)
    assert "a.csv: " in refused(capsys, *measure, tmp_path / "d.csv", "--json", tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("init", "d.csv", "-o", "s.yaml"), "No such option: -o; did you mean --out?; see 'outrisk init --help'"),
        (("compare", "one"), "see 'outrisk compare --help'"),
        (("--colour",), "see 'outrisk --help'"),
    ],
)
def test_a_command_line_that_is_misused_says_where_its_own_options_stand(capsys, words, said):
    assert said in refused(capsys, *words)


def test_records_in_place_of_a_study_are_told_from_one(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    records().to_csv("d.csv", index=False)
    assert "of a file of records, 'outrisk init d.csv' writes one" in refused(capsys, "assess", "d.csv")


def test_a_column_in_other_letters_is_offered(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    records().rename(columns={"age": "AGE"}).to_csv("d.csv", index=False)
    files = ("--original", "d.csv", "--synthetic", "d.csv")
    assert "did you mean 'AGE'?" in refused(capsys, "measure", *files, "--keys", "age", "--target", "ill")
