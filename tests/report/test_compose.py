"""The one way to a page: sections are numbered where they stand, and refer to each other by name."""

import re

import pytest
from jinja2 import UndefinedError
from pages import altered

from outrisk.report.compose import Head, Section, compose
from outrisk.report.pages import study_page

HEAD = Head("Title <1>", "Heading", "kicker", warnings=(("Note", "see [[second]], not [[nowhere]] <b>"),))


def section(name, template="<p>{{ word }}</p>", content=lambda record: {"word": record}):
    return Section(name, name.capitalize(), content, template)


def test_numbers_follow_the_order_and_leave_out_what_has_nothing_to_show():
    parts = [section("first"), section("gone", content=lambda record: None), section("second"), section("third")]
    text = compose(HEAD, parts, "a & b")
    assert re.findall(r"<h2>(.*?)</h2>", text) == ["1. First", "2. Second", "3. Third"]
    assert text.count("<p>a &amp; b</p>") == 3
    assert "<title>Title &lt;1&gt;</title>" in text


def test_references_become_links_with_the_number_of_the_page():
    first = section(
        "first", "{{ ref('second', 'Section') }}; {{ text | referring }}", lambda _: {"text": "[[first]], [[x]]"}
    )
    for parts, number in (([first, section("second")], 2), ([section("second"), first], 1)):
        text = compose(HEAD, parts, "")
        assert f'<a href="#second">Section {number}</a>; <a href="#first">section {3 - number}</a>, [[x]]' in text
        assert f'see <a href="#second">section {number}</a>, not [[nowhere]] &lt;b&gt;' in text


def test_a_reference_to_a_section_that_is_not_there_is_an_error():
    with pytest.raises(LookupError, match="nowhere"):
        compose(HEAD, [section("first", "{{ ref('nowhere') }}")], "")
    with pytest.raises(UndefinedError):
        compose(HEAD, [section("first", "{{ misspelt }}")], "")


def test_a_toy_section_from_outside_the_package(assessed, tmp_path, monkeypatch):
    directory = altered(assessed["halves"], tmp_path / "run")
    before = re.findall(r"<h2>(.*?)</h2>", (study_page.render(directory).parent / "details.html").read_text())
    toy = Section(
        "toy", "A toy", lambda results: {"runs": len(results.runs)}, "<p>{{ runs }} runs: {{ ref('risk') }}</p>"
    )
    monkeypatch.setattr(study_page, "SECTIONS", [*study_page.SECTIONS[:1], toy, *study_page.SECTIONS[1:]])
    text = (study_page.render(directory).parent / "details.html").read_text()
    after = re.findall(r"<h2>(.*?)</h2>", text)
    assert any(heading.endswith(". A toy") for heading in after[:2]) and len(after) == len(before) + 1
    number = next(heading.split(".")[0] for heading in after if heading.endswith("Risk, original against holdout"))
    assert f'<p>6 runs: <a href="#risk">section {number}</a></p>' in text
