"""The report and the terminal summary, on made-up run directories of several shapes."""

import io
import json
import math
import re
import subprocess
import sys
import time
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console
from run_directory import REASON, Made, write

from outrisk.errors import ConfigError
from outrisk.report import findings, formats
from outrisk.report.contrasts import contrasts
from outrisk.report.pages.study_page import render
from outrisk.report.results import find, read
from outrisk.report.sections.key_sizes import key_size_rows
from outrisk.report.sections.reproduced import numbers
from outrisk.report.terminal import summary

RISK_HEAD = "level,fold,run,key_size,keys,measure,side,value,certain,matched,reason\n"
VOID = {"meta", "br", "hr", "img", "link", "input"}
FILES = {"study.yaml", "codebook.yaml", "manifest.json", "log.jsonl", "matched.csv", "trajectory.csv", "snapshots.csv"}
FILES |= {"risk.csv", "risk.json", "over_runs.csv", "differencing.csv", "synthetic"}  # links to files beside the page
TABLES = tuple((f"table {i}", "frequencies", 140, 0) for i in range(21))
ODD = Made(
    study="<b>&\"odd'",
    keys=("a<b", 'c&"d', "e"),
    key_sizes=(2, 3),
    labels=('<i>&"', "NA", "{{ 7 * 7 }}"),
    target="t<&>",
    notes="<script>alert(1)</script>",
    levels=(1, 2),
    runs=2,
    data_name="C:\\Users\\someone\\d.csv",
)
SHAPES = {
    "complete": Made(),
    "one": Made(levels=(1,), runs=1),
    "holdout": Made(whole_holdout=True, marginal=0.08, matched=False, levels=(1, 2), runs=2),
    "partial": Made(runs_done=6),
    "none": Made(runs_done=0),
    "nulls": Made(undefined=True, levels=(1, 2), runs=2),
    "tables": Made(outputs=TABLES, exact=True, levels=(1, 2), runs=2),
    "odd": ODD,
}


class Page(HTMLParser):
    """Checks that tags balance, and collects what the tests ask for."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.numbers: list[tuple[str, str]] = []  # section, text of a cell of numbers
        self.words: list[str] = []
        self.section, self.cell = "", False
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        found = dict(attrs)
        if tag == "section":
            self.section = found["id"]
        self.cell = tag == "td" and "n" in (found.get("class") or "").split()
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.cell = False

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "title"):
            self.words.append(data)
        if self.cell:
            self.numbers.append((self.section, data.strip()))


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    made = {}
    for name, shape in SHAPES.items():
        directory = write(tmp_path_factory.mktemp(name) / "run", shape)
        made[name] = (directory, render(directory).read_text(encoding="utf-8"))
    return made


def words(text: str) -> str:
    """The page's text as a reader sees it."""
    return re.sub(r"\s+", " ", " ".join(Page(text).words)).replace("\N{NON-BREAKING HYPHEN}", "-")


@pytest.mark.parametrize("shape", SHAPES)
def test_html_is_balanced_and_fetches_nothing(pages, shape):
    text = pages[shape][1]
    page = Page(text)
    for tag, name, value in page.attributes:
        assert tag not in ("script", "link", "iframe", "object", "embed", "img", "base")
        assert not name.startswith("on")
        if name in ("href", "src", "xlink:href", "action", "data", "srcset"):
            assert value.startswith("#") or value.strip("/") in FILES, (tag, name, value)
    assert not re.search(r"https?://|@import|url\((?!#)", text)
    ids = Counter(value for _, name, value in page.attributes if name == "id")
    assert not [name for name, times in ids.items() if times > 1]
    links = [value for _, name, value in page.attributes if name in ("href", "xlink:href")]
    used = {link[1:] for link in links if link.startswith("#")} | set(re.findall(r"url\(#([^)]+)\)", text))
    assert used <= set(ids)


@pytest.mark.parametrize("shape", SHAPES)
def test_no_paths_of_the_machine_and_no_nan(pages, shape):
    directory, text = pages[shape]
    assert str(directory) not in text
    assert "someone" not in text
    assert not re.search(r"\bnan\b", words(text), flags=re.IGNORECASE)
    assert "None" not in words(text)


def numbers_of(value) -> list[float]:
    if isinstance(value, dict):
        return [number for each in value.values() for number in numbers_of(each)]
    if isinstance(value, list):
        return [number for each in value for number in numbers_of(each)]
    return [] if isinstance(value, str | bool) else [math.nan if value is None else float(value)]


@pytest.mark.parametrize("shape", ["complete", "one", "holdout", "partial", "nulls", "odd"])
def test_every_number_shown_is_in_the_files(pages, shape):
    directory, text = pages[shape]
    risk, manifest = (json.loads((directory / name).read_text()) for name in ("risk.json", "manifest.json"))
    found = [*numbers_of(risk), *numbers_of(manifest)]
    matched = pd.read_csv(directory / "matched.csv")
    allowed = {"–", formats.UNDEFINED, "/", "of", "to"}
    for value in found:
        allowed |= {
            show(value) for show in (formats.share, formats.signed, formats.error, formats.count, formats.seconds)
        }
    for estimate in (each for part in (*risk["folds"], *risk["levels"]) for each in part["estimates"]):
        allowed.add(formats.count(estimate["n_key_sets"] + estimate["n_undefined"]))
    for row in matched.to_dict("records"):
        allowed |= {formats.fixed(row["released"], 4), formats.fixed(row["refit"], 6)}
        allowed.add(formats.fixed(row["difference"], 6, sign=True))
    shown = [
        each for section, each in Page(text).numbers if section in ("assessed", "reproduced", "risk", "extrapolation")
    ]
    assert len(shown) > 40
    for cell in shown:
        for part in re.split(r" to | of | / |\s\(|\)", cell):
            assert not part or part in allowed or re.sub("[+−]0.0+$", "0.000000", part) in allowed | {"0.000000"}, (
                cell,
                part,
            )


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_undefined_never_reads_as_zero(pages, shape):
    directory, text = pages[shape]
    results = read(directory)
    page = words(text)
    for row in contrasts(results, "tcap_undefined"):
        for estimate in (row.original, row.holdout, row.marginal):
            if math.isnan(estimate.value):
                assert estimate.reason.split(" runs: ")[-1] in page
    if shape == "nulls":
        risk = [cell for section, cell in Page(text).numbers if section == "risk"]
        assert formats.UNDEFINED in risk
        assert "does not mean a low risk" in page
        assert REASON in page
        sizes = [cell for section, cell in Page(text).numbers if section == "keysizes"]
        assert "0.000" not in sizes
    assert formats.share(math.nan) == formats.signed(math.nan) == formats.error(math.nan) == formats.UNDEFINED
    assert formats.interval(math.nan, 0.1) == formats.UNDEFINED


def test_names_are_escaped_and_not_evaluated(pages):
    _, text = pages["odd"]
    assert "<script" not in text
    assert "<b>" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    page = words(text)
    assert "<b>&\"odd'" in page
    assert 'a<b, c&"d' in page
    assert "{{ 7 * 7 }}" in page
    assert '<i>&"' in page


def test_answer_follows_the_interval(pages):
    page = words(pages["complete"][1])
    assert "there is no evidence that the release tells more about the people in the data" in page
    assert "On halves of the data" in page
    assert "In every run they reproduce all released numbers" in page
    page = words(pages["holdout"][1])
    assert "percentage points more often than about people who are not" in page
    assert "On the whole data, read against a holdout of 3,183 records" in page
    assert "the risk stated here may be understated" in page
    assert "marginal risk could not be measured" in words(pages["one"][1])
    assert "nothing can be said yet" in words(pages["none"][1])
    assert "interrupted after 6 of 28 planned runs" in words(pages["partial"][1])
    for _, text in pages.values():
        assert not re.search(r"\b(is|are) safe\b", words(text))


def test_smaller_folds_with_an_interval_above_zero_are_said(tmp_path):
    directory = write(tmp_path / "run", Made(levels=(2, 4), runs=1))
    path = directory / "risk.json"
    risk = json.loads(path.read_text())
    for estimate in risk["levels"][1]["estimates"]:
        if (estimate["measure"], estimate["keys"], estimate["side"]) == ("tcap_zero", "all", "marginal"):
            estimate |= {"value": 0.035, "low": 0.011, "high": 0.059}
    path.write_text(json.dumps(risk))
    text = " ".join(findings.in_short(read(directory)))
    assert "On quarters of the data the difference is 3.5 points (interval 1.1 to 5.9, wholly above 0)." in text


def test_lead_is_the_largest_fold_with_a_holdout(pages):
    for shape, level in (("complete", 2), ("holdout", 1), ("one", None), ("none", None)):
        lead = read(pages[shape][0]).lead
        assert (lead.level if lead else None) == level


def test_answer_without_an_interval(pages, tmp_path):
    directory = write(tmp_path / "run", Made(levels=(2,), runs=1))
    path = directory / "risk.json"
    risk = json.loads(path.read_text())
    for estimate in risk["levels"][0]["estimates"]:
        estimate |= {"low": None, "high": None, "standard_error": None, "reason": "no interval: no jackknife groups"}
    path.write_text(json.dumps(risk))
    text = " ".join(findings.in_short(read(directory)))
    assert "cannot be told from chance" in text
    assert "no evidence" not in text


def test_rows_of_the_risk_table_are_those_of_the_file(pages):
    directory, text = pages["holdout"]
    page = words(text)
    for fold in json.loads((directory / "risk.json").read_text())["folds"]:
        for measure in ("tcap_undefined", "tcap_zero"):
            found = {
                each["side"]: each for each in fold["estimates"] if (each["measure"], each["keys"]) == (measure, "all")
            }
            row = [f"{fold['n_original']:,} / {fold['n_holdout']:,}"]
            for side, sign in (("original", False), ("holdout", False), ("marginal", True)):
                row.append(formats.fixed(found[side]["value"], 3, sign))
                row.append(formats.interval(found[side]["low"], found[side]["high"], sign))
            assert f"{formats.fold_name(fold['level'], fold['fold'])} {' '.join(row)} 1 of 42" in page


def test_key_sizes_are_means_over_runs_and_folds(pages):
    directory = pages["complete"][0]
    results = read(directory)
    scores = pd.read_csv(directory / "risk.csv", dtype={"fold": str})
    own = scores[(scores.level == 2) & (scores.measure == "tcap_zero")]
    for row in key_size_rows(results, 2):
        means = own[own.key_size == float(row["size"])].groupby("side")["value"].mean()
        expected = means["original"], means["holdout"], means["original"] - means["holdout"]
        assert row["tcap_zero"] == pytest.approx(expected)


def test_released_numbers_are_those_of_run_one(pages):
    directory = pages["complete"][0]
    found = numbers(read(directory))
    assert (found.fold, found.run, found.n_runs, found.summary) == ("whole data", 1, 4, [])
    assert [len(rows) for _, rows in found.listed] == [26]
    long = numbers(read(pages["tables"][0]))
    assert not long.listed
    assert len(long.summary) == 21
    assert not long.largest  # all exactly 0
    assert "exactly 0" in words(pages["tables"][1])


def test_a_number_that_could_not_be_refitted_heads_the_largest_differences(tmp_path):
    directory = write(tmp_path / "run", Made(outputs=TABLES[:2], levels=(1,), runs=1, exact=True))
    path = directory / "matched.csv"
    frame = pd.read_csv(path)
    frame.loc[7, ["refit", "difference"]] = math.nan
    frame["matched"] = ["false" if row == 7 else "true" for row in range(len(frame))]
    frame.to_csv(path, index=False)
    found = numbers(read(directory))
    assert found.largest[0]["difference"] == found.largest[0]["refit"] == formats.UNDEFINED
    assert found.largest[0]["matched"] is False
    assert math.isnan(found.summary[0]["largest"])
    assert found.summary[0]["matched"] == 139


@pytest.mark.parametrize("shape", SHAPES)
def test_terminal_summary_fits_and_names_both_conventions(pages, shape):
    directory = pages[shape][0]
    stream = io.StringIO()
    summary(directory, Console(file=stream, width=100))
    lines = stream.getvalue().splitlines()
    assert all(len(line) <= 100 for line in lines if not line.startswith("Report:"))
    assert str(directory / "report.html") in lines[-1]
    text = stream.getvalue()
    assert "nan" not in text.lower().replace(str(directory), "")
    results = read(directory)
    if not results.runs:
        assert "No run has finished" in text
        return
    rows = [line for line in lines if " undefined  " in line or " as zero " in line]
    assert len(rows) == 2 * len(results.risk.folds)
    for fold, first, second in zip(results.risk.folds, rows[::2], rows[1::2], strict=True):
        for line, measure in ((first, "tcap_undefined"), (second, "tcap_zero")):
            assert formats.share(find(fold.estimates, measure, "original").value) in line


def test_same_files_give_the_same_bytes(pages):
    directory, text = pages["holdout"]
    assert render(directory).read_text(encoding="utf-8") == text
    assert not [path for path in directory.iterdir() if path.name.startswith(".report")]


def test_many_numbers_render_in_seconds(tmp_path):
    directory = write(tmp_path / "run", Made(outputs=TABLES * 5, matched=False, runs=3, levels=(1, 2, 4)))
    assert len(pd.read_csv(directory / "matched.csv", usecols=["run"])) > 300_000
    start = time.perf_counter()
    path = render(directory)
    assert time.perf_counter() - start < 10
    assert path.stat().st_size < 2_000_000
    Page(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("manifest.json", None, "not a run directory"),
        ("risk.json", None, "risk.json is missing"),
        ("matched.csv", None, "matched.csv is missing"),
        ("risk.json", "{", "risk.json cannot be read"),
        ("risk.json", '{"target": 1}', "risk.json cannot be read: target"),
        ("trajectory.csv", "", "trajectory.csv cannot be read"),
        ("snapshots.csv", "level,fold\n1,whole\n", "snapshots.csv cannot be read"),
        (
            "risk.csv",
            RISK_HEAD + 2 * "1,whole,1,3,a+b+c,dcap,original,0.5,1,1,\n",
            "risk.csv cannot be read: a measure",
        ),
        ("study.yaml", "a: [", "study.yaml cannot be read"),
        ("study.yaml", "- a", "not a mapping"),
    ],
)
def test_broken_directories_are_refused_in_one_line(tmp_path, name, content, said):
    directory = write(tmp_path / "run", Made(levels=(1,), runs=1))
    (directory / name).unlink()
    if content is not None:
        (directory / name).write_text(content)
    with pytest.raises(ConfigError, match=re.escape(said)) as caught:
        render(directory)
    assert "\n" not in str(caught.value)
    assert not (directory / "report.html").exists()


def test_a_directory_that_is_not_there():
    with pytest.raises(ConfigError, match="not a run directory"):
        render(Path("no-such-run"))


def test_matplotlib_waits_until_it_is_needed():
    code = "import sys, outrisk.report.pages.study_page, outrisk.report.terminal; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_failed_refit_is_said(tmp_path):
    directory = write(tmp_path / "run", Made(levels=(2,), runs=2))
    path = directory / "risk.json"
    risk = json.loads(path.read_text())
    risk["folds"][0]["runs"][0] |= {
        "mae": None,
        "mse": None,
        "largest_difference": None,
        "failures": ["no convergence"],
    }
    path.write_text(json.dumps(risk))
    page = words(render(directory).read_text(encoding="utf-8"))
    assert "In 1 run the released analysis could not be refitted" in page
    assert "no convergence" in page


def test_numbers_that_round_to_nothing_do_not_read_as_zero():
    assert formats.share(0.0002) == "<0.001"
    assert formats.signed(0.0002) == "+0.000"
    assert formats.signed(-0.0002) == "−0.000"
    assert formats.share(0.0) == "0.000"
    assert formats.points(-0.00021) == "−0.02"
    assert formats.error(0) == "0"
    assert formats.file_name("C:\\Users\\me\\data.csv") == formats.file_name("/home/me/data.csv") == "data.csv"
