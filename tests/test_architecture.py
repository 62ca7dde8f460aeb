"""Imports point one way (who may import whom: docs/how-it-works.md)."""

import ast
from collections import Counter
from dataclasses import fields
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "outrisk"
BASE = {"errors", "codebook"}
ALLOWED = {
    "errors": set(),
    "whole_files": set(),
    "quiet_milp": set(),
    "reasons": set(),
    "codebook": {"errors"},
    "grammar": {"errors"},
    "expressions": {"errors", "grammar"},
    "tabular": {*BASE, "tabular"},
    "microdata": {*BASE, "whole_files"},
    "whose": {"errors", "microdata", "propose"},
    "propose": {*BASE, "grammar", "microdata", "outputs", "tabular", "propose"},
    "datasets": {*BASE, "datasets"},
    "problem": {*BASE, "microdata", "problem"},
    "result_row": {"reasons"},
    "records": {*BASE, "__version__", "result_row", "microdata", "problem", "records", "whole_files"},
    "side_by_side": {"errors", "records", "side_by_side"},
    "inner_code": set(),
    "evolve": {*BASE, "inner_code", "problem", "evolve", "quiet_milp"},
    "risk": {*BASE, "inner_code", "microdata", "reasons", "result_row", "risk"},
    "outputs": {*BASE, "expressions", "grammar", "microdata", "outputs", "problem", "tabular"},
    "appetite": set(),
    "reconstruct": {*BASE, "problem", "prove", "reconstruct"},
    "prove": {*BASE, "microdata", "problem", "prove", "quiet_milp"},
    "config": {*BASE, "expressions", "appetite", "microdata", "problem", "outputs", "evolve", "readers", "tabular"},
    "changed": {*BASE, "config", "expressions", "microdata"},
    "load": {
        *BASE,
        "changed",
        "expressions",
        "grammar",
        "microdata",
        "problem",
        "outputs",
        "config",
        "datasets",
        "propose",
        "tabular",
        "whose",
    },
    "assess": {
        *BASE,
        "changed",
        "appetite",
        "reasons",
        "result_row",
        "microdata",
        "problem",
        "prove",
        "outputs",
        "evolve",
        "reconstruct",
        "risk",
        "records",
        "config",
        "load",
        "side_by_side",
        "assess",
        "whose",
    },
    "teach": {
        *BASE,
        "__version__",
        "microdata",
        "problem",
        "prove",
        "outputs",
        "evolve",
        "records",
        "config",
        "load",
        "tabular",
        "teach",
        "whole_files",
        "side_by_side",
    },
    "report": {"errors", "reasons", "records", "report", "side_by_side", "whole_files"},
    "progress": {"evolve"},
    "readers": {*BASE, "grammar", "microdata", "outputs", "problem", "readers"},
    "acro": {*BASE, "appetite", "expressions", "microdata", "outputs", "problem", "prove", "readers", "acro"},
    "api": {
        "acro",
        *BASE,
        "__version__",
        "microdata",
        "config",
        "load",
        "outputs",
        "problem",
        "evolve",
        "prove",
        "risk",
        "assess",
        "teach",
        "report",
        "records",
        "progress",
        "readers",
        "tabular",
        "whole_files",
        "whose",
        "propose",
        "appetite",
        "api",
    },
    "cli": {"__version__", "errors", "api", "cli"},
    "__main__": {"cli"},
}


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module == "outrisk":
                yield from (alias.name for alias in node.names)
            elif node.module and node.module.startswith("outrisk."):
                yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("outrisk."))


@pytest.mark.parametrize("part", sorted(ALLOWED))
def test_imports_point_one_way(part):
    paths = sorted((PACKAGE / part).rglob("*.py")) or [PACKAGE / f"{part}.py"]
    for path in paths:
        assert set(imported(path)) <= ALLOWED[part], path


def test_every_part_is_listed():
    parts = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert parts - {"__init__"} == set(ALLOWED)


def test_nothing_in_evolve_can_hold_a_data_frame():
    """The evolution takes released numbers and a codebook: it knows neither microdata nor pandas."""
    for path in (PACKAGE / "evolve").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "pandas" not in text and "Microdata" not in text, path


def test_what_risk_exports_hides_no_module():
    """`import outrisk.risk.x as x` gives the module: nothing of that name is exported by the package."""
    import outrisk.risk

    modules = {path.stem for path in (PACKAGE / "risk").iterdir() if path.suffix == ".py" or path.is_dir()}
    assert not modules & set(outrisk.risk.__all__)


def test_no_file_name_stands_twice():
    """A line of code knows its room by the name of the file."""
    names = Counter(path.name for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")
    assert not [name for name, times in names.items() if times > 1]
    pages = Counter(path.name for path in PACKAGE.rglob("*.html"))
    assert not [name for name, times in pages.items() if times > 1]


def test_each_column_of_a_run_file_stands_once():
    """The columns of a file are the fields of one class: no other list of them, no mapping written by hand."""
    from outrisk.records import schema

    tables = (schema.Matched, schema.Step, schema.Snapshot, schema.Score, schema.Measure, schema.MeanOfRuns)
    columns = [{field.name for field in fields(kind)} for kind in (*tables, schema.Finding, schema.Difference)]
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            listed = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
            words = {each.value for each in listed if isinstance(each, ast.Constant) and isinstance(each.value, str)}
            assert all(len(words & each) <= max(4, len(each) // 2) for each in columns), (path, node.lineno, words)
    assert schema.Compared.__module__ == "outrisk.problem.refit" and schema.Row.__module__ == "outrisk.result_row"
