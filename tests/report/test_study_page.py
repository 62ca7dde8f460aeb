"""The report and the terminal summary, on run directories that `outrisk assess` wrote."""

import io
import json
import math
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path

import pandas as pd
import pytest
from markupsafe import escape
from pages import Page, altered, words
from rich.console import Console

from outrisk.errors import ConfigError
from outrisk.records import schema
from outrisk.records.files import read_document, read_rows, whole, write_json, write_rows
from outrisk.records.results import find, read_run
from outrisk.report import findings, formats
from outrisk.report.compose import _coded
from outrisk.report.contrasts import contrasts
from outrisk.report.figures.measured_figures import FIGURES
from outrisk.report.pages.study_page import render
from outrisk.report.sections.key_sizes import key_size_rows
from outrisk.report.sections.reproduced import numbers
from outrisk.report.terminal import summary

STUDIES = ("halves", "holdout", "odd")
TABLES = {
    "matched.csv": schema.Matched,
    "trajectory.csv": schema.Step,
    "snapshots.csv": schema.Snapshot,
    "risk.csv": schema.Score,
    "marginal.csv": schema.Contrast,
    "people.csv": schema.PeopleCount,
    "measures.csv": schema.Measure,
    "over_runs.csv": schema.MeanOfRuns,
    "findings.csv": schema.Finding,
    "differencing.csv": schema.Difference,
    "given.csv": schema.Given,
    "register.csv": schema.Guessed,
    "reliability.csv": schema.Reliability,
    "recurring.csv": schema.Recurring,
}
SIDES = ("Original", "Holdout", "Difference")
CONVENTIONS = {"tcap_undefined": "non-matches undefined", "tcap_zero": "non-matches as zero"}


@pytest.fixture(scope="module")
def pages(assessed):
    return {name: (folder, (folder / "details.html").read_text(encoding="utf-8")) for name, folder in assessed.items()}


def rendered(directory) -> str:
    """The details of a directory, rendered again."""
    return (render(directory).parent / "details.html").read_text(encoding="utf-8")


def number(text: str) -> float:
    """A cell as a number; NaN where it holds none."""
    text = text.replace("\N{MINUS SIGN}", "-").replace(",", "").replace("\N{NO-BREAK SPACE}", " ")
    return float(text) if re.fullmatch(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?", text) else math.nan


@pytest.mark.parametrize("name", STUDIES)
def test_html_is_balanced_and_fetches_nothing(pages, name):
    folder, text = pages[name]
    page = Page(text)
    for tag, attribute, value in page.attributes:
        assert tag not in ("script", "link", "iframe", "object", "embed", "img", "base")
        assert not attribute.startswith("on")
        if attribute in ("href", "src", "xlink:href", "action", "data", "srcset"):
            assert value.startswith("#") or (folder / value).exists(), (tag, attribute, value)
    assert not re.search(r"https?://|@import|url\((?!#)", text)
    ids = Counter(value for _, attribute, value in page.attributes if attribute == "id")
    assert not [each for each, times in ids.items() if times > 1]
    links = [value for _, attribute, value in page.attributes if attribute in ("href", "xlink:href")]
    assert {link[1:] for link in links if link.startswith("#")} | set(re.findall(r"url\(#([^)]+)\)", text)) <= set(ids)
    assert {"matched.csv", "risk.json", "synthetic/"} <= set(links)
    scrolling = [dict(re.findall(r'(\w+)="([^"]*)"', tag)) for tag in re.findall(r'<div class="wide[^>]*>', text)]
    assert len(scrolling) > 5 and all(each.get("tabindex") == "0" for each in scrolling)


@pytest.mark.parametrize("name", STUDIES)
def test_no_paths_of_the_machine_and_no_nan(pages, name):
    folder, text = pages[name]
    assert str(folder.parent) not in text and "/home" not in text
    assert not re.search(r"\bnan\b", words(text).replace("NA", ""), flags=re.IGNORECASE)
    assert "None" not in words(text)


@pytest.mark.parametrize("name", STUDIES)
def test_no_minus_nothing_and_numbers_side_by_side_subtract(pages, name):
    """In every table with original, holdout and difference these subtract, to the rounding of the three."""
    text = pages[name][1]
    assert not re.search("[-\N{MINUS SIGN}+]0(\\.0+)?(?![\\d.])", words(text))
    compared = 0
    for section, caption, rows in Page(text).tables:
        headings = [re.sub(r"\W+", "", cell) for cell in rows[-1]]
        for row in rows:
            cells = [number(cell.strip()) for cell in row]
            headings = [re.sub(r"\W+", "", cell) for cell in row] if "Original" in "".join(row) else headings
            for at in (i for i, name in enumerate(headings) if name == "Original" and i < len(cells)):
                at_each = [headings.index(each, at) for each in SIDES if each in headings[at:]]
                if len(at_each) < len(SIDES):
                    continue
                original, holdout, difference = (cells[i] for i in at_each)
                if not any(math.isnan(each) for each in (original, holdout, difference)):
                    last = 10.0 ** -len(row[at].strip().rpartition(".")[2])
                    assert abs(original - holdout - difference) <= 1.5 * last + 1e-9, (section, caption, row)
                    compared += 1
    assert compared > (5 if name != "odd" else -1)


def test_rows_of_the_risk_table_are_those_of_the_file(pages):
    for name in ("halves", "holdout"):
        folder, text = pages[name]
        page = Page(text)
        folds = json.loads((folder / "risk.json").read_text())["folds"]
        for measure, words_ in CONVENTIONS.items():
            rows = page.table(f"TCAP, {words_}, mean over all key sets")
            by_name = {row["Fold"]: row for row in rows}
            for fold in folds:
                found = {e["side"]: e for e in fold["estimates"] if (e["measure"], e["keys"]) == (measure, "all")}
                row = by_name[formats.fold_name(fold["level"], fold["fold"])]
                assert row["Original"] == f"{found['original']['value']:.3f}"
                interval = row["95 % interval" if "95 % interval" in row else "95\xa0% interval"]
                assert interval == formats.interval(found["original"]["low"], found["original"]["high"])
                if fold["n_holdout"]:
                    assert row["Holdout"] == f"{found['holdout']['value']:.3f}"
                    assert number(row["Difference"]) == pytest.approx(found["marginal"]["value"], abs=5e-4)
                else:
                    assert "no holdout" in row.values()


def test_key_sizes_are_means_over_runs_and_folds(pages):
    folder, text = pages["halves"]
    scores = pd.read_csv(folder / "risk.csv", dtype={"fold": str}, keep_default_na=False, na_values={"value": [""]})
    own = scores[(scores.level == 2) & (scores.measure == "tcap_zero")]
    for row in key_size_rows(read_run(folder), 2):
        wide = own[own.key_size == int(row["size"])].pivot(
            index=["fold", "run", "keys"], columns="side", values="value"
        )
        means = wide.dropna().mean()
        expected = means["original"], means["holdout"], means["original"] - means["holdout"]
        assert row["tcap_zero"] == pytest.approx(expected)
    shown = Page(text).table("Mean TCAP over key sets, folds and runs, halves of the data")
    assert len(shown) == 3  # a second row of headings, and two sizes


def test_released_numbers_are_those_of_run_one(pages):
    folder, text = pages["halves"]
    matched = pd.read_csv(folder / "matched.csv", dtype={"fold": str, "label": str})
    whole = matched[(matched.fold == "whole") & (matched.output == "model")]
    rows = Page(text).table("Output model")
    first = whole[whole.run == 1].set_index("label")
    assert [row["Number"] for row in rows] == list(first.index)
    for row in rows:
        assert number(row["Released"]) == pytest.approx(first.released[row["Number"]])
        assert number(row["Refit"]) == pytest.approx(first.refit[row["Number"]], abs=5e-6)
        assert (row["Reproduced"] == "yes") == (str(first.matched[row["Number"]]).lower() == "true")
        differences = whole[whole.label == row["Number"]].difference
        low, high = (number(end) for end in row["Over 2 runs"].split(" to "))
        assert (low, high) == pytest.approx((differences.min(), differences.max()), abs=5e-6)
    found = numbers(read_run(folder))
    assert (found.fold, found.run, found.n_runs, found.summary) == ("whole data", 1, 2, [])


def test_the_suite_stands_as_its_file_says(pages):
    folder, text = pages["halves"]
    over = pd.read_csv(folder / "over_runs.csv", dtype={"fold": str}, keep_default_na=False)
    rows = Page(text).table("The privacy metrics; means over 4 runs")
    assert {row["Measure"] for row in rows} >= {"NNAA", "DCR"}
    level = over[(over.level == 2) & (over.fold == "") & (over.family == "privacy")].set_index("measure")
    for row in rows:
        value = level.original[row["Measure"]]
        assert number(row["Original"]) == pytest.approx(float(value or "nan"), abs=5e-4, nan_ok=True)
    assert "every fold" in words(text).lower()


def test_groups_that_a_subtraction_isolates(pages):
    folder, text = pages["halves"]
    (row,) = pd.read_csv(folder / "differencing.csv", keep_default_na=False).to_dict("records")
    data = pd.read_csv(folder.parent / "small.csv")
    assert row["records"] == ((data.age == 0) & (data.sex == 2)).sum() > 0
    assert row["small_cells"] == ""
    (shown,) = Page(text).table("Pairs of outputs on nested subsets of the whole data, the smallest groups first")
    assert (shown["Output"], number(shown["Records"])) == ("everybody", row["records"])
    assert "These cells" not in shown
    assert "leaves the records with" not in words(pages["holdout"][1]) or (folder / "differencing.csv").is_file()
    assert "isolates" not in words(pages["odd"][1])


def test_names_are_escaped_and_not_evaluated(pages):
    _, text = pages["odd"]
    assert "<script" not in text
    assert "<b>" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    page = words(text)
    assert "{{ 7 * 7 }} [[risk]]" in page
    assert '<i>&"' in page


def test_the_answer_follows_the_files(pages):
    page = words(pages["halves"][1])
    assert "On halves of the data, each read against its counterpart" in page
    page = words(pages["holdout"][1])
    assert "On the whole data, read against a holdout of 140 records" in page
    assert "marginal risk could not be measured" in words(pages["odd"][1])
    for folder, text in pages.values():
        assert not re.search(r"\b(is|are) safe\b", words(text))
        lead = read_run(folder).lead
        assert (lead.level if lead else None) == {"halves": 2, "holdout": 1, "odd": None}[folder.parent.name]


def an_interval(risk, low, high):
    for estimate in (each for level in risk["levels"] for each in level["estimates"]):
        if estimate["side"] == "marginal":
            estimate |= {"value": 0.035, "low": low, "high": high}


def test_answers_by_the_interval(pages, tmp_path):
    folder = pages["holdout"][0]
    said = {}
    for name, ends in {"above": (0.011, 0.059), "both": (-0.01, 0.08), "none": (None, None)}.items():
        place = altered(folder, tmp_path / name, risk_json=lambda risk, ends=ends: an_interval(risk, *ends))
        said[name] = " ".join(findings.in_short(read_run(place)))
    assert "3.5 percentage points more often than about people who are not" in said["above"]
    assert "there is no evidence that the release tells more" in said["both"]
    assert "cannot be told from chance" in said["none"] and "no evidence" not in said["none"]


def test_the_risk_may_be_understated_only_where_numbers_are_far(pages):
    run = read_run(pages["halves"][0]).runs[0]
    near = replace(run, numbers=13, matched=12, near=13)
    assert "understated" not in findings._reproduced([near])
    assert "within 1 % of their sampling error in 1 of 1" in findings._reproduced([near])
    assert "may be understated" in findings._reproduced([near, replace(near, near=12)])


def test_sentences_of_a_terminal_are_set_for_a_page():
    assert (
        formats.minus("a-1 (95 % interval -0.007 to +0.006), 1-2") == "a-1 (95 % interval \u22120.007 to +0.006), 1-2"
    )
    assert formats.minus("the level -9 and -0.5, at least -0.051") == "the level -9 and -0.5, at least \u22120.051"
    assert _coded("ask `outrisk prove <x>` & wait") == "ask <code>outrisk prove &lt;x&gt;</code> &amp; wait"
    assert _coded("one ` <b>") == "one ` &lt;b&gt;"


def test_what_is_undefined_never_reads_as_zero(pages, tmp_path):
    reason = "no synthetic record has WEAP >= tau"

    def undefined(risk):
        for estimate in (each for part in (*risk["folds"], *risk["levels"]) for each in part["estimates"]):
            estimate |= {"value": None, "low": None, "high": None, "standard_error": None, "reason": reason}

    def empty(rows):
        for row in rows:
            row["value"] = ""

    place = altered(pages["halves"][0], tmp_path / "run", risk_json=undefined, risk_csv=empty)
    text = rendered(place)
    page = Page(text)
    for row in contrasts(read_run(place), "tcap_undefined"):
        assert math.isnan(row.original.value)
    assert formats.UNDEFINED in page.table("TCAP, non-matches undefined, mean over all key sets")[0].values()
    assert "does not mean a low risk" in words(text) and reason in words(text)
    sizes = [cell for section, _, rows in page.tables if section == "keysizes" for row in rows for cell in row]
    assert "0.000" not in sizes and formats.UNDEFINED in sizes
    assert formats.share(math.nan) == formats.signed(math.nan) == formats.error(math.nan) == formats.UNDEFINED
    assert formats.interval(math.nan, 0.1) == formats.UNDEFINED


def test_an_interrupted_study_says_so(pages, tmp_path):
    def cut(manifest):
        manifest |= {"status": "interrupted", "runs_done": 2, "runs_planned": 6}

    def none(risk):
        risk["folds"], risk["levels"] = [], []

    place = altered(pages["halves"][0], tmp_path / "some", manifest_json=cut)
    assert "interrupted after 2 of 6 planned runs" in words(rendered(place))
    place = altered(pages["halves"][0], tmp_path / "none", manifest_json=cut, risk_json=none)
    page = words(rendered(place))
    assert "nothing can be said yet" in page and "missing evidence" in page
    assert "No run has finished" in told(place)


def test_a_failed_refit_is_said_and_heads_the_largest_differences(pages, tmp_path):
    def failed(risk):
        nothing = {"mae": None, "mse": None, "largest_difference": None, "failures": ["no convergence"]}
        risk["folds"][0]["runs"][0] |= nothing

    def undefined(rows):
        first = next(row for row in rows if row["output"] == "everybody" and row["fold"] == "whole")
        first |= {"refit": "", "difference": "", "matched": "false"}
        extra = [
            row | {"label": f"{row['label']} {i}"} for i in range(6) for row in rows if row["output"] == "everybody"
        ]
        rows[:] = sorted([*rows, *extra], key=lambda row: (row["fold"] != "whole", row["run"]))

    place = altered(pages["halves"][0], tmp_path / "run", risk_json=failed, matched_csv=undefined)
    page = words(rendered(place))
    assert "In 1 run the released analysis could not be refitted" in page
    assert "no convergence" in page
    found = numbers(read_run(place))
    assert found.largest[0]["difference"] == found.largest[0]["refit"] == formats.UNDEFINED
    assert found.largest[0]["matched"] is False
    assert math.isnan(next(row for row in found.summary if row["output"] == "everybody")["largest"])


def test_the_error_over_generations_is_left_out_where_nothing_had_to_be_evolved(pages, tmp_path):
    assert 'id="generations"' in pages["halves"][1]

    def at_once(risk):
        for run in (run for fold in risk["folds"] for run in fold["runs"]):
            run["generations"] = 0

    text = rendered(altered(pages["halves"][0], tmp_path / "run", risk_json=at_once))
    assert 'id="generations"' not in text
    headings = re.findall(r"<h2>(\d+)\.", text)
    assert headings == [str(i) for i in range(1, len(headings) + 1)]


def test_what_was_slow_is_said(pages, tmp_path):
    place = altered(
        pages["odd"][0],
        tmp_path / "run",
        manifest_json=lambda manifest: manifest.update(slow=[{"output": "Cox", "refits": 1200, "seconds": 20.0}]),
    )
    assert "“Cox” has no additive form" in rendered(place)


def told(folder) -> str:
    stream = io.StringIO()
    summary(folder, Console(file=stream, width=100))
    return stream.getvalue()


@pytest.mark.parametrize("name", STUDIES)
def test_terminal_summary_fits_and_names_both_conventions(pages, name):
    folder = pages[name][0]
    lines = told(folder).splitlines()
    assert all(len(line) <= 100 for line in lines if not line.startswith(("Report:", "Note:")))
    results = read_run(folder)
    ended = " ".join(" ".join(lines).partition("Report: ")[2].split())
    assert ended.startswith(str(folder / "report.html")) and ended.endswith(" ".join(results.decision.sentence.split()))
    rows = [line for line in lines if " undefined  " in line or " as zero " in line]
    assert len(rows) == 2 * len(results.risk.folds)
    for fold, first, second in zip(results.risk.folds, rows[::2], rows[1::2], strict=True):
        for line, measure in ((first, "tcap_undefined"), (second, "tcap_zero")):
            assert formats.share(find(fold.estimates, measure, "original").value) in line


def test_same_files_give_the_same_bytes(pages, tmp_path):
    folder, text = pages["holdout"]
    place = altered(folder, tmp_path / "run")
    assert rendered(place) == text
    assert not [path for path in place.iterdir() if path.name.startswith((".report", ".details"))]


def test_many_numbers_render_in_seconds(pages, tmp_path):
    def many(rows):
        everybody = [row for row in rows if row["output"] == "everybody" and row["fold"] == "whole"]
        rows[:] = [row | {"output": f"table {i}"} for row in everybody for i in range(2500)]

    place = altered(pages["halves"][0], tmp_path / "run", matched_csv=many)
    assert len(pd.read_csv(place / "matched.csv", usecols=["run"])) > 100_000
    start = time.process_time()
    path = render(place).parent / "details.html"
    assert time.process_time() - start < 10
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
        ("differencing.csv", "larger,smaller\na,b\n", "differencing.csv cannot be read"),
        ("risk.csv", "twice", "risk.csv cannot be read: a measure"),
        ("study.yaml", "a: [", "study.yaml cannot be read"),
        ("study.yaml", "- a", "not a mapping"),
    ],
)
def test_broken_directories_are_refused_in_one_line(pages, tmp_path, name, content, said):
    place = altered(pages["halves"][0], tmp_path / "run")
    (place / "report.html").unlink()
    if content == "twice":
        lines = (place / name).read_text().splitlines()
        content = "\n".join([*lines, lines[-1]]) + "\n"
    (place / name).unlink()
    if content is not None:
        (place / name).write_text(content)
    with pytest.raises(ConfigError, match=re.escape(said)) as caught:
        render(place)
    assert "\n" not in str(caught.value)
    assert not (place / "report.html").exists()


def test_a_directory_that_is_not_there():
    with pytest.raises(ConfigError, match="not a run directory"):
        render(Path("no-such-run"))


def test_matplotlib_waits_until_it_is_needed():
    code = "import sys, outrisk.report.pages.study_page, outrisk.report.terminal; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_numbers_that_round_to_nothing_have_no_sign():
    assert formats.share(0.0002) == "<0.001"
    assert formats.signed(0.0002) == formats.signed(-0.0002) == formats.share(-0.0002) == "0.000"
    assert formats.signed(0.0005) == "+0.001" or formats.signed(0.0006) == "+0.001"
    assert formats.share(0.0) == "0.000"
    assert formats.points(-0.00021) == "−0.02"
    assert formats.error(0) == "0"
    assert formats.file_name("C:\\Users\\me\\data.csv") == formats.file_name("/home/me/data.csv") == "data.csv"


def test_figures_are_legible_on_a_telephone(pages):
    """As wide as a screen of 400 px without its margins, no text is smaller than 10 px."""
    text = pages["halves"][1]
    drawings = re.findall(r'<svg[^>]*viewBox="0 0 ([\d.]+) [^>]*>(.*?)</svg>', text, flags=re.DOTALL)
    assert len(drawings) > 2
    for width, body in drawings:
        sizes = [float(size) for size in re.findall(r"font(?:-size)?: (?:bold )?([\d.]+)px", body)]
        assert sizes and min(sizes) * (400 - 2 * 16) / float(width) >= 10


@pytest.mark.parametrize("kind", FIGURES)
def test_figures_of_measures_are_legible_on_a_telephone(kind):
    names = ["measure", "target", "original", "holdout", "synthetic", "difference", "low", "high", "worst_case",
             "original_low", "original_high", "check_1way", "check_2way"]  # fmt: skip
    row = ["a measure", "a target of a very long name indeed", 0.4, 0.2, 0.3, 0.2, 0.1, 0.3, 0.9, 0.3, 0.5, True, True]
    table = {"columns": names, "rows": [row] * 3, "unit": "share", "caption": "people disclosed"}
    drawing = FIGURES[kind](table, "some")
    sizes = [float(size) for size in re.findall(r"font(?:-size)?: (?:bold )?([\d.]+)px", drawing.body)]
    assert sizes and min(sizes) * (400 - 2 * 16) / drawing.size[0] >= 10


def test_every_acronym_is_explained_where_it_stands_first(pages):
    page = words(pages["halves"][1])
    for acronym in ("TCAP", "MAE", "DCAP", "WEAP"):
        first = re.search(rf"\b{acronym}\b", page).start()
        around = page[max(0, first - 60) : first + 80]
        assert re.search(r"\b(probability|error)\b", around), around
    terms = json.loads((pages["halves"][0] / "risk.json").read_text())["terms"]
    assert set(terms) == {"NNAA", "DCR"}
    text = pages["halves"][1]
    assert all(f"<dt>{name}</dt><dd>{escape(meaning)}</dd>" in text for name, meaning in terms.items())


def test_run_files_read_back_are_written_the_same(pages, tmp_path):
    """What is read is what was written, byte for byte: a schema that lost or reordered a column would show."""
    for folder, _ in pages.values():
        there = {name: kind for name, kind in TABLES.items() if name != "given.csv" or (folder / name).exists()}
        for name, kind in there.items():
            rows = read_rows(folder / name, kind)
            write_rows(tmp_path / name, kind, rows)
            assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), name
        for name, kind in {"risk.json": schema.Risk, "manifest.json": schema.Manifest}.items():
            write_json(tmp_path / name, read_document(folder / name, kind))
            assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), name
        assert json.loads((folder / "manifest.json").read_text())["status"] == "complete"


def _break_off(path):
    with whole(path) as draft:
        draft.write_text("half of it")
        raise KeyError("broken off")


def test_a_file_is_whole_or_not_there(tmp_path):
    write_rows(tmp_path / "findings.csv", schema.Finding, [])
    before = (tmp_path / "findings.csv").read_bytes()
    with pytest.raises(AttributeError):
        write_rows(tmp_path / "findings.csv", schema.Finding, [None])
    with pytest.raises(KeyError):
        _break_off(tmp_path / "findings.csv")
    assert (tmp_path / "findings.csv").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["findings.csv"]


def test_the_columns_are_those_that_the_docs_say():
    docs = Path(__file__).parents[2] / "docs"
    text = re.sub(r"\s+", " ", (docs / "run-files.md").read_text(encoding="utf-8"))
    for name, kind in TABLES.items():
        if kind is not schema.Measure:
            assert f"`{', '.join(field.name for field in fields(kind))}`" in text, name
    for field in fields(schema.Measure):
        assert re.search(rf"[`, ]{field.name}[`, ]", text), field.name
