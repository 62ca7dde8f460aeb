"""Page one of the report: short, whole, legible, and its files beside it."""

import json
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
from pages import Page, altered, words

from outrisk.records.files import write_rows
from outrisk.records.results import read_run
from outrisk.records.schema import Contribution, Finding
from outrisk.report import formats
from outrisk.report.drawing import COLOURS, INK
from outrisk.report.page_one import beside_margin, each_output
from outrisk.report.page_one.told_outright import _said
from outrisk.report.pages.study_page import render

STUDIES = ("halves", "holdout", "odd")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MOST_WORDS, MOST_PAGES = 900, 2


@pytest.fixture(scope="module")
def firsts(assessed):
    return {name: (folder, (folder / "report.html").read_text(encoding="utf-8")) for name, folder in assessed.items()}


@pytest.fixture(scope="module")
def crowded(assessed, tmp_path_factory):
    """A run directory with many outputs of long names and many long findings."""
    place = tmp_path_factory.mktemp("crowded") / "run"

    def outputs(risk):
        risk["outputs"] = [
            each | {"name": f"{each['name']} {'of many people in this place ' * 5}{i}"}
            for i in range(10)
            for each in risk["outputs"]
        ]

    altered(assessed["halves"], place, risk_json=outputs)
    long = "value of people is told for certain to anybody who knows this and that of them, " * 4
    row = Finding("same answer", True, "an output of a long name " * 4, 9, 1234, long, "a=1", long, "ill")
    columns = {name: [getattr(row, name)] * 60 for name in vars(row)}
    pd.DataFrame(columns).to_csv(place / "findings.csv", index=False)
    return place, render(place).read_text(encoding="utf-8")


def pages_in_print(path, folder) -> int:
    pdf = folder / "page.pdf"
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
    command += [f"--user-data-dir={folder / 'profile'}", f"--print-to-pdf={pdf}", path.resolve().as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return len(re.findall(rb"/Type\s*/Page\b", pdf.read_bytes()))


@pytest.mark.parametrize("name", STUDIES)
def test_it_is_short(firsts, name):
    assert 100 < len(words(firsts[name][1]).split()) <= MOST_WORDS


def test_it_stays_short_however_much_there_is_to_say(crowded):
    said = words(crowded[1]).split()
    assert len(said) <= MOST_WORDS


def test_it_breaks_no_sentence_off(crowded, assessed, tmp_path):
    """A rule is told once, with its worst finding in whole sentences; an ellipsis shortens names alone."""
    assert words(crowded[1]).count("certain · ") == 1
    rules = [
        Finding(rule, False, f"table {at}", at, 9, "Two cells hold few people.", "a", "Merge levels.")
        for rule in ("small cells", "dominance", "leverage")
        for at in range(1, 6)
    ]
    place = altered(assessed["halves"], tmp_path / "run")
    pd.DataFrame([vars(row) for row in rules]).to_csv(place / "findings.csv", index=False)
    page = words(render(place).read_text(encoding="utf-8"))
    assert "…" not in page
    assert page.count("Two cells hold few people. Merge levels.") == 3
    assert "small cells: 4 further outputs or pairs of them" in page


def test_of_what_is_too_long_to_be_said_it_is_told_what_is_certain():
    row = Finding("same answer", True, "a table", 15, 35, f"Told{' at length' * 30}.", "", "Merge.", "ill")
    assert _said(row, 1.0)["cells"] == "their ill (same answer, 15 cells)"
    assert _said(replace(row, certain=False, about=""), 1.0)["cells"] == "same answer, 15 cells"


def test_nothing_certain_is_only_counted(assessed, tmp_path):
    """Every rule that finds something certain is told, and of which variables and outputs it tells the most people."""
    rules = ("same answer", "extreme values", "leverage", "difference of outputs", "dominance")
    rows = [Finding(rule, True, f"first {rule}", 1, 3, "Told.", "", "Merge.", "ill") for rule in rules]
    rows += [Finding("same answer", True, f"table {at}", 1, 10 + at, "Told.", "", "Merge.", "age") for at in range(6)]
    rows += [Finding("small cells", False, "another", 1, 5, "Few.", "", "Merge.")]
    place = altered(assessed["halves"], tmp_path / "run")
    pd.DataFrame([vars(row) for row in rows]).to_csv(place / "findings.csv", index=False)
    page = words(render(place).read_text(encoding="utf-8"))
    assert all(f"first {rule}: Told." in page for rule in rules)
    also = "Also age of 15 people (table 5), age of 14 people (table 4) and 4 further findings"
    assert f"{also} (table 3, table 2, table 1 and table 0)" in page
    assert "1 further finding" in page and len(page.split()) <= MOST_WORDS


def test_an_output_is_disclosive_by_the_worst_that_it_or_a_pair_with_it_tells():
    rows = [
        Finding("difference of outputs", True, "a minus b", 1, 2, "Told."),
        Finding("same answer", True, "a", 1, 40, "Told."),
        Finding("small cells", False, "a", 1, 3, "Few."),
    ]
    assert [each_output.found(rows, name) for name in ("a", "b", "c")] == [
        "difference of outputs: 2 people, and 1 more certain",
        "difference of outputs: 2 people",
        "",
    ]


def test_of_more_outputs_than_there_is_room_for_those_with_most_to_say_are_shown(firsts, monkeypatch):
    """By verdict, then those with findings, then by what may be found at most: not as the study lists them."""
    clear = [(f"clear {at}", "no marginal risk found, up to 0.001", "", 0.001) for at in range(8)]
    told = [
        ("most", "no marginal risk found, up to 0.030", "", 0.03),
        ("cells", "no marginal risk found, up to 0.002", "small cells: 3 people", 0.002),
        ("open", "cannot tell", "", 0.0),
        ("told", "disclosive", "same answer: 4 people", 0.0),
    ]
    rows = [
        each_output.OutputRow(name, 1, "all", verdict, "", worst, "", up_to)
        for name, verdict, worst, up_to in (*clear, *told)
    ]
    monkeypatch.setattr(each_output, "output_rows", lambda results: rows)
    shown = each_output.content(read_run(firsts["halves"][0]))["rows"]
    assert [row.name for row, _ in shown] == ["told", "open", "cells", "most", "clear 0", "clear 1", "clear 2"]


def test_a_long_reason_is_its_last_clause_or_its_first():
    assert formats.brief("3 of 9 numbers (all of them): why it is so", 9) == "3 of 9 numbers: why it is so"
    assert formats.brief("knowing all of its variables: at most 0.025", 5) == "at most 0.025"
    assert formats.brief("3 of 9 numbers: further away than one unit of it", 5) == "3 of 9 numbers"
    assert formats.brief("one clause that is longer than that", 5) == ""


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")
def test_it_prints_on_two_pages(firsts, crowded, tmp_path):
    assert pages_in_print(firsts["halves"][0] / "report.html", tmp_path) <= MOST_PAGES
    assert pages_in_print(crowded[0] / "report.html", tmp_path) <= MOST_PAGES


@pytest.mark.parametrize("name", STUDIES)
def test_it_is_balanced_fetches_nothing_and_links_to_what_is_there(firsts, name):
    folder, text = firsts[name]
    page = Page(text)
    details = (folder / "details.html").read_text(encoding="utf-8")
    ids = Counter(value for _, attribute, value in page.attributes if attribute == "id")
    assert not [each for each, times in ids.items() if times > 1]
    for tag, attribute, value in page.attributes:
        assert tag not in ("script", "link", "iframe", "object", "embed", "img", "base")
        assert not attribute.startswith("on")
        if attribute in ("href", "src", "xlink:href", "action", "data", "srcset"):
            file, _, section = value.partition("#")
            assert (folder / file).exists() if file else section in ids, value
            assert file != "details.html" or not section or f'id="{section}"' in details, value
    assert not re.search(r"https?://|@import|url\((?!#)", text)
    links = {value for _, attribute, value in page.attributes if attribute == "href"}
    assert {"details.html", "findings.csv", "risk.csv", "matched.csv"} <= links
    assert not re.search(r"\bnan\b|\bNone\b|\bsafe\b", words(text))


def test_its_figure_is_legible_on_a_telephone_and_follows_a_dark_screen(firsts):
    text = firsts["halves"][1]
    (width, body) = re.search(r'<svg[^>]*viewBox="0 0 ([\d.]+) [^>]*>(.*?)</svg>', text, flags=re.DOTALL).groups()
    sizes = [float(size) for size in re.findall(r"font(?:-size)?: (?:bold )?([\d.]+)px", body)]
    inside = 400 - 2 * 16  # the page's margins
    assert sizes and min(sizes) * inside / float(width) >= 10
    assert "var(--ink)" in body and "var(--paper)" in body
    assert not [colour for colour in (INK, *COLOURS.values(), "#ffffff") if colour.lower() in body.lower()]
    assert "@media screen and (prefers-color-scheme: dark)" in text


def test_its_figures_stand_beside_it(firsts):
    folder, text = firsts["halves"]
    for end, start in ((".svg", b"<svg"), (".png", b"\x89PNG")):
        (file,) = re.findall(rf'href="(figures/[\w-]+{re.escape(end)})"', text)
        assert (folder / file).read_bytes().startswith(start)
    drawing = (folder / "figures" / "marginal-risk.svg").read_text(encoding="utf-8")
    assert "var(" not in drawing and INK in drawing and 'xmlns="http://www.w3.org/2000/svg"' in drawing


def test_what_it_says_of_an_output_is_what_the_files_say(firsts):
    folder, text = firsts["halves"]
    (rows,) = [rows for section, _, rows in Page(text).tables if section == "outputs"]
    shown = {row[0]: row for row in rows[1:]}
    decided = {each["name"]: each for each in json.loads((folder / "decision.json").read_text())["outputs"]}
    matched = pd.read_csv(folder / "matched.csv")
    matched = matched[matched.level == 2]
    assert set(shown) == set(decided) == set(matched.output)
    for name, group in matched.groupby("output"):
        least = group.groupby(["fold", "run"]).matched.agg(["sum", "size"]).sort_values("sum").iloc[0]
        every = least["sum"] == least["size"]
        assert shown[name][2] == ("all" if every else f"{least['sum']} of {least['size']}")
        assert int(shown[name][1]) == least["size"]
        assert shown[name][3].startswith(decided[name]["verdict"].removesuffix("x"))


def test_its_verdict_is_that_of_the_decision_and_its_people_those_of_the_file(firsts):
    folder, text = firsts["halves"]
    decision = json.loads((folder / "decision.json").read_text())
    page = words(text)
    assert re.sub(r"\s+", " ", decision["sentence"]) in page
    assert decision["settle"][0].split(".")[0][:60] in page
    people = pd.read_csv(folder / "people.csv")
    people = people[(people.level == decision["basis"]["level"]) & (people.inference == "certain")].set_index("group")
    (rows,) = [rows for section, _, rows in Page(text).tables if section == "people"]
    for row in rows[1:]:
        assert (int(row[1]), int(row[2])) == tuple(people.loc[row[0], ["people_original", "right_original"]])


def test_a_directory_without_a_decision_still_has_a_page(firsts, tmp_path):
    place = altered(firsts["holdout"][0], tmp_path / "run")
    for name in ("decision.json", "people.csv", "marginal.csv"):
        (place / name).unlink()
    page = words(render(place).read_text(encoding="utf-8"))
    assert "On the whole data, read against a holdout" in page and "TCAP" in page


def test_remarks_on_how_numbers_were_read_are_counted_and_stand_in_the_details(firsts, tmp_path):
    said = [f"[outputs 1.values] one.csv: p of variable {number} is left out" for number in range(3)]
    place = altered(firsts["halves"][0], tmp_path / "run", manifest_json=lambda each: each.update(remarks=said))
    first = words(render(place).read_text(encoding="utf-8"))
    assert "3 remarks on how printed numbers were read, and on what was left out" in first and said[0] not in first
    details = words((place / "details.html").read_text(encoding="utf-8"))
    assert all(text in details for text in said)


def test_an_interrupted_study_says_so(firsts, tmp_path):
    def cut(manifest):
        manifest |= {"status": "interrupted", "runs_done": 2, "runs_planned": 6}

    def none(risk):
        risk["folds"], risk["levels"] = [], []

    place = altered(firsts["halves"][0], tmp_path / "none", manifest_json=cut, risk_json=none)
    (place / "decision.json").unlink()
    page = words(render(place).read_text(encoding="utf-8"))
    assert "interrupted after 2 of 6 planned runs" in page and "Not measured" in page


def test_an_output_says_how_many_numbers_are_near_where_not_all_are_at_their_digits():
    def rows(*runs):
        return [
            SimpleNamespace(fold="1", run=number, matched=matched, near=near)
            for number, run in enumerate(runs)
            for matched, near in run
        ]

    at, near, far = (True, True), (False, True), (False, False)
    assert each_output._reproduced(rows([at, at], [at, at])) == "all"
    assert each_output._reproduced(rows([at, at], [at, near])) == "1 of 2; all within 1 %"
    assert each_output._reproduced(rows([near, near, at], [at, at, far])) == "1 of 3; 2 within 1 %"


@pytest.mark.parametrize("reproduced", [True, False])
def test_a_mark_is_explained_where_it_stands(assessed, tmp_path, reproduced):
    place = tmp_path / "run"
    shutil.copytree(assessed["halves"], place)
    name = read_run(place).risk.outputs[0].name
    at = ("attribution", "mean over key sets", "", 0.01, 0.0, 0.02, 0.005)
    rows = [Contribution(name, "adds", *at, reproduced), Contribution("", "emerges", *at, True)]
    write_rows(place / "contributions.csv", Contribution, rows)
    render(place)
    text = (place / "report.html").read_text(encoding="utf-8")
    assert ("+0.020)*</td>" in text) == ("* Not all numbers were reproduced" in text) == (not reproduced)


def test_a_row_whose_key_set_is_too_long_to_name_says_how_many_keys_it_has():
    """ "4 more" without a name before it is more than nothing that a reader sees."""

    def label(keys):
        return beside_margin._label(SimpleNamespace(measure="attribution", over="worst key set", keys=keys))

    assert label("age+children") == "attribution, worst key set (age, children)"
    assert label("age+yrs_married+educ") == "attribution, worst key set (age, 2 more)"
    assert label("yrs_married+children+religious+educ") == "attribution, worst key set (4 keys)"
