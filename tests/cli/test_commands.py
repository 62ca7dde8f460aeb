import json
import re
import subprocess
import sys
import time

import pandas as pd
import pytest
import yaml
from command import CODEBOOK, FINE, STUDY, outrisk, records, refused, write_study

from outrisk import __version__
from outrisk.codebook import codebook_from_dict
from outrisk.config import read_codebook
from outrisk.microdata import from_frame
from outrisk.tabular import read_table


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], [], ["assess", "--help"]])
def test_help_is_quick_and_loads_nothing_heavy(arguments):
    program = (
        "import sys\nfrom outrisk.cli.commands import run\n"
        f"code = run({arguments!r})\n"
        "heavy = {'numpy', 'pandas', 'statsmodels', 'numba', 'yaml', 'outrisk.config'} & set(sys.modules)\n"
        "print('heavy', sorted(heavy)); sys.exit(code)"
    )
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert time.perf_counter() - started < 2
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("heavy []\n")
    assert (__version__ if arguments == ["--version"] else "Usage: ") in done.stdout


def test_the_package_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "outrisk", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert __version__ in done.stdout


def test_a_command_ends_at_once_and_yet_in_order():
    program = (
        "import atexit\nfrom outrisk.cli import commands, main\n"
        "work = commands.run\n"
        "commands.run = lambda given: atexit.register(print, 'left') and work(given)\n"
        "main(['--version'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"outrisk {__version__}\nleft\n"


def test_a_command_ends_that_had_processes_of_its_own():
    program = (
        "from outrisk.cli import commands, main\n"
        "def run(given):\n"
        "    import joblib\n"
        "    return sum(joblib.Parallel(2)(joblib.delayed(abs)(each) for each in (-1, 1)))\n"
        "commands.run = run\n"
        "main([])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


def test_assess_writes_the_run_directory(tmp_path, capsys):
    path, run = write_study(tmp_path), tmp_path / "run"
    code, out, err = outrisk(capsys, "assess", path, "--out", run, "--workers", "2", "--seed", "7")
    assert (code, err) == (0, "")
    assert out
    manifest = json.loads((run / "manifest.json").read_text())
    assert (manifest["status"], manifest["runs_done"], manifest["seed"]) == ("complete", 3, 7)
    assert {entry["what"] for entry in manifest["inputs"]} == {"study", "codebook", "data"}
    assert not list(tmp_path.glob(".*"))
    assert len(pd.read_csv(run / "matched.csv")) == 3 * (6 + 4)
    files = sorted(path.name for path in (run / "synthetic").iterdir())
    assert files == [f"level-{level}_fold-{fold}_run-1.csv" for level, fold in ((1, "whole"), (2, "1"), (2, "2"))]
    codebook = read_codebook(run / "codebook.yaml")
    assert len(from_frame(read_table(run / "synthetic" / files[0]), codebook)) == 160
    assert codebook == codebook_from_dict(CODEBOOK)
    (run / "report.html").unlink()
    code, out, err = outrisk(capsys, "report", run)
    assert (code, err) == (0, "")
    assert (run / "report.html").stat().st_size > 1000


@pytest.mark.parametrize(("command", "page"), [("assess", "details.html"), ("teach", "teaching.html")])
def test_the_importance_of_outputs_is_carried_out_and_told(tmp_path, capsys, command, page):
    files = []
    for importance in (1, 50):
        table, logit = FINE
        outputs = [table, logit | {"importance": importance}]
        changes = {"outputs": outputs, "evolve": {"generations": 12}, "study": {"folds": [1], "runs": 1}}
        path, run = write_study(tmp_path, changes), tmp_path / f"run {importance}"
        assert outrisk(capsys, command, path, "--out", run, "--quiet") == (0, "", "")
        told = json.loads((run / ("risk.json" if command == "assess" else "teaching.json")).read_text())["outputs"]
        assert [output["importance"] for output in told] == [1, importance]
        assert ("importance 50 in the fitness" in (run / page).read_text()) == (importance == 50)
        files.append(next((run / "synthetic").glob("*.csv")).read_bytes())
    assert files[0] != files[1]


def test_quiet_says_nothing_and_a_guessed_codebook_is_told(tmp_path, capsys):
    path = write_study(tmp_path, {"codebook": None, "study": {"folds": [1], "runs": 1}})
    plain = (tmp_path / "small.csv").read_text()
    (tmp_path / "small.csv").write_text(plain.replace(",", ";"))  # what is found out is a note
    assert outrisk(capsys, "assess", path, "--out", tmp_path / "a", "--quiet") == (0, "", "")
    (tmp_path / "small.csv").write_text(plain)
    code, out, err = outrisk(capsys, "assess", path, "--out", tmp_path / "b")
    assert (code, err) == (0, "")
    assert "The codebook was guessed from the data; check" in out


def test_a_stop_inside_a_command_is_told(monkeypatch, capsys, tmp_path):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("outrisk.cli.assess.run_study", interrupted)
    assert outrisk(capsys, "assess", tmp_path / "s.yaml") == (130, "", "outrisk: stopped; nothing was written\n")


def test_check_says_the_worst_first_and_writes_nothing(tmp_path, capsys):
    listing = {"kind": "frequencies", "by": ["age", "area", "sex", "ill"]}
    smaller = {"kind": "frequencies", "by": ["sex", "ill"], "where": "age > 0", "name": "smaller"}
    path = write_study(tmp_path, {"outputs": [listing, smaller], "appetite": {"safe_threshold": 20}})
    before = sorted(tmp_path.iterdir())
    code, out, err = outrisk(capsys, "check", path)
    assert (code, err) == (0, "")
    counted = " ".join(out.split())
    assert counted.startswith("The release says outright, for certain (“table age x area x sex x ill”): ill of")
    assert "fewer than 20 records" in counted
    assert sorted(tmp_path.iterdir()) == before
    named = " ".join(outrisk(capsys, "check", path, "--inside")[1].split())
    assert named.count("sex=1, ill=no: ") > counted.count("sex=1, ill=no: ")


def test_a_run_directory_leads_with_the_look(tmp_path, capsys):
    path, run = write_study(tmp_path, {"study": {"runs": 1, "folds": [2]}}), tmp_path / "run"
    code, out, err = outrisk(capsys, "assess", path, "--out", run)
    assert (code, err) == (0, "")
    outright = json.loads((run / "risk.json").read_text())["outright"]
    assert " ".join(out.split()).startswith(outright)
    findings = pd.read_csv(run / "findings.csv")
    page = (run / "details.html").read_text()
    assert page.index("What the release says outright") < page.index("In short")
    assert all(rule in page for rule in findings.rule)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"appetite": {"safe_threshold": 0}}, "safe_threshold"),
        ({"appetite": {"threshold": 5}}, r"unknown keys \['threshold'\]; known: \['intruder', 'margin'"),
        ({"appetite": {"safe_nk_k": 2}}, "safe_nk_k"),
    ],
)
def test_an_appetite_that_is_none(tmp_path, capsys, changes, said):
    assert re.search(said, refused(capsys, "check", write_study(tmp_path, changes)))


def test_prove_says_how_many_and_writes_who_only_where_asked(tmp_path, capsys):
    full = {"kind": "frequencies", "by": ["age", "area", "sex", "ill"]}
    path = write_study(tmp_path, {"outputs": [full, STUDY["outputs"][1]]})
    code, out, err = outrisk(capsys, "prove", path, "--csv", tmp_path / "proved.csv")
    assert (code, err) == (0, "")
    said = " ".join(out.split())
    people = records()
    groups = people.groupby(["age", "area", "sex"]).ill
    alone = groups.transform("nunique") == 1
    assert f"the outputs prove ill of {alone.sum()} of 160 people" in said
    assert f"{alone.sum()} people: table age x area x sex x ill" in said
    proved = pd.read_csv(tmp_path / "proved.csv")
    assert proved.record.tolist() == people.index[alone].tolist()
    assert proved.value.tolist() == people.ill[alone].tolist()


def test_who_is_proved_is_written_whole_or_not_at_all(tmp_path, capsys, monkeypatch):
    path, csv = write_study(tmp_path), tmp_path / "proved.csv"
    csv.write_text("as before\n")
    write = pd.DataFrame.to_csv

    def full(frame, place, **options):
        write(frame, place, **options)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    assert "No space left" in refused_after(capsys, "prove", path, "--csv", csv)
    assert csv.read_text() == "as before\n"
    assert not [each for each in tmp_path.iterdir() if "draft" in each.name]


def refused_after(capsys, *arguments):
    """The one line of a refusal that comes after the answer was printed."""
    code, _, err = outrisk(capsys, *arguments)
    assert code == 2 and err.count("\n") == 1, err
    return err


@pytest.mark.parametrize(
    ("changes", "options", "said"),
    [
        ({"keys": ["age", "ill"]}, (), "ill"),
        ({"keys": ["age", "height"]}, (), "height"),
        ({}, ("--known-for", 0), "known_for is 0: write a share"),
        ({}, ("--known-for", 0.001), "of 160 people that is nobody"),
    ],
)
def test_a_question_that_cannot_be_put_to_prove(tmp_path, capsys, changes, options, said):
    assert said in refused(capsys, "prove", write_study(tmp_path, changes), *options)


def test_prove_asks_a_part_of_the_people_or_knows_a_part_of_them(tmp_path, capsys):
    full = {"kind": "frequencies", "by": ["age", "area", "sex", "ill"]}
    path = write_study(tmp_path, {"outputs": [full]})
    for options, whom in ((("--sample", 20), "20 people asked about"), (("--known-for", 0.5), "80 of 160 people")):
        code, out, err = outrisk(capsys, "prove", path, *options, "--csv", tmp_path / "proved.csv")
        assert (code, err) == (0, "") and whom in " ".join(out.split())
        proved = pd.read_csv(tmp_path / "proved.csv")
        assert proved.value.tolist() == records().ill[proved.record].tolist()


def test_prove_without_data_finds_whole_records(tmp_path, capsys):
    codebook = {"variables": {"sex": {"kind": "categorical", "levels": ["f", "m"]}}}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(codebook))
    table = {"kind": "frequencies", "by": ["sex"], "values": [2, 1]}
    study = {"name": "three", "records": 3, "codebook": "c.yaml", "outputs": [table]}
    (tmp_path / "three.yaml").write_text(yaml.safe_dump(study))
    code, out, err = outrisk(capsys, "prove", tmp_path / "three.yaml")
    assert (code, err) == (0, "")
    assert "Exactly one data set fits the released numbers: all 3 records are proved" in " ".join(out.split())


def test_follow_counts_people_and_names_nobody(tmp_path, capsys):
    full = {"kind": "frequencies", "by": ["age", "area", "sex", "ill"]}
    path = write_study(tmp_path, {"outputs": [full]})
    code, out, err = outrisk(capsys, "follow", path, "--runs", "2", "--workers", "1")
    assert (code, err) == (0, "")
    said = " ".join(out.split())
    groups = records().groupby(["age", "area", "sex"]).ill.agg(["size", "nunique"])
    alone = int(groups.loc[(groups["nunique"] == 1) & (groups["size"] <= 10), "size"].sum())
    assert f"Of 160 people, {alone} are in groups of at most 10 with one value of ill that 2 runs" in said
    assert f"the inference followed {alone} of them" in said  # a table of all keys tells all of them
    assert {place.suffix for place in tmp_path.iterdir()} <= {".yaml", ".csv"}  # nothing is written


def test_follow_needs_data(tmp_path, capsys):
    table = {"kind": "frequencies", "by": ["ill"], "values": [80, 80]}
    path = write_study(tmp_path, {"outputs": [table], "records": 160, "keys": [], "target": ""})
    document = yaml.safe_load(path.read_text())
    for name in ("data", "keys", "target", "study"):
        document.pop(name, None)
    path.write_text(yaml.safe_dump(document))
    assert "'data' is missing" in refused(capsys, "follow", path)
