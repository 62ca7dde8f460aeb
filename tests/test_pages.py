"""The pages for people: links that hold, acronyms that are explained, commands for every system, a site that builds."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
TEMPLATES = sorted((ROOT / "src" / "outrisk" / "report" / "templates").rglob("*.html"))
NAMES = {  # of people, programs and machines; words that are marks in files
    *("AMD", "CHECK", "ConfigError", "CPython", "DeLong", "EPYC", "HiGHS", "MacKinnon", "McFadden", "McNemar"),
    *("MIT", "OutRisk", "OutRiskError"),
    *("OpenSAFELY", "PowerShell", "SDMetrics", "TENURE", "VERSION", "VisionofBritain", "macOS"),
}  # fmt: skip


def module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def prose(path):
    """The text of a page without code, addresses, tags and template commands."""
    text = path.read_text(encoding="utf-8")
    for pattern in (r"```.*?```", r"`[^`]*`", r"\]\([^)]*\)", r"\{[{%#].*?[%}#]\}", r"<[^>]+>", r"www\.\S+"):
        text = re.sub(pattern, " ", text, flags=re.DOTALL)
    return text


def test_the_glossary_is_that_of_the_code():
    made = module(DOCS / "make_glossary.py")
    assert made.PAGE.read_text(encoding="utf-8") == made.page(), "run: make docs"


def test_every_acronym_of_every_page_is_in_the_glossary():
    rows = [line.split("|") for line in (DOCS / "glossary.md").read_text(encoding="utf-8").splitlines()]
    known = {row[1].strip() for row in rows if len(row) > 1}
    words = {word for term in known for word in re.findall(r"\w+", term)} | NAMES
    for path in (*PAGES, ROOT / "README.md", *TEMPLATES):
        found = set(re.findall(r"\b\w*[A-Z]\w*[A-Z]\w*\b", prose(path)))
        unknown = {word for word in found if not {word, word.removesuffix("s")} & words and "_" not in word}
        assert not unknown, f"{path.name}: {sorted(unknown)}; add them to SHORT in docs/make_glossary.py and run it"


def test_links_of_the_readme_and_the_pages_hold():
    for path in (ROOT / "README.md", *PAGES):
        text = re.sub(r"```.*?```|`[^`]*`", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for address, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", text):
            if not address.startswith(("http", "mailto")):
                there = path.parent / address if address else path
                assert there.exists(), (path.name, address)
                assert not anchor or there.suffix != ".md" or anchor in anchors(there), (path.name, address, anchor)


def anchors(page):
    """What the heads of a page are linked by."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in re.findall(r"^#+ (.*)$", text, re.M)}


def test_pages_that_the_code_names_are_there():
    for path in (ROOT / "src").rglob("*.py"):
        for page in re.findall(r"\bdocs/([\w-]+\.md)", path.read_text(encoding="utf-8")):
            assert (DOCS / page).exists(), (path.name, page)


def test_every_make_line_has_one_for_windows():
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
    targets = next(line for line in lines if line.startswith(".PHONY: ")).split()[1:]
    page = (DOCS / "installation.md").read_text(encoding="utf-8")
    for target in set(targets) - {"clean", "picture"}:
        row = next((line for line in page.splitlines() if f"`make {target}`" in line), "")
        assert ".venv\\Scripts\\" in row, target


def test_every_page_has_its_place_on_the_site():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    nav = set(re.findall(r"[\w-]+\.md", text))
    assert {path.name for path in PAGES} == nav
    assert yaml.safe_load(text)["theme"]["font"] is False


@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="mkdocs is not installed")
def test_the_site_builds_and_calls_no_network(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) >= len(PAGES)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe)[^>]*src=\"?(https?:[^\s\">]+)", text)
        loaded += re.findall(r"<link[^>]*rel=\"?(?:stylesheet|preconnect|preload)[^>]*href=\"?(https?:[^\s\">]+)", text)
        assert not loaded, (page.name, loaded)
    shutil.rmtree(tmp_path / "site")


def test_benchmarks_are_written_where_they_belong():
    made = module(ROOT / "benchmarks" / "write_page.py")
    text = made.PAGE.read_text(encoding="utf-8")
    found = made.printed(text)
    assert set(found) <= set(made.BENCHMARKS)
    changed = made.written(text, {"engine": "one\n\n```\n2 s\n```", "attacks": "two"})
    assert made.printed(changed) == {"engine": "one\n\n```\n2 s\n```", "attacks": "two"}
    assert made.written(changed, found) == text
    helpers = {"census", "write_page", "beside"}  # the last needs another checkout
    assert {path.stem for path in (ROOT / "benchmarks").glob("*.py")} - helpers == set(made.BENCHMARKS)
