"""The report of a run directory: one self-contained HTML file that holds aggregates only."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from outrisk.report import differencing, findings, formats, tables
from outrisk.report.results import Results, read
from outrisk.report.suite import SuiteSection, suite_sections

_FIGURE_FOLDS = 2  # folds drawn in section 6; its table has them all
_RUNS_SHOWN = 20  # beyond, the list of runs is folded away under ranges by fold
_INTERVAL = "The intervals are for the sampling of the people attacked and for the variation between runs."
_NOT_SETTINGS = {"name", "kind", "notes", "decimals", "values", "labels", "importance"}  # stand elsewhere on the page,
_NOT_SETTINGS |= {"show", "margins", "closed", "protection", "exponentiate"}  # or in the notes
_LONGEST = 300  # characters of one setting
_INPUTS = {"study": "Study file", "data": "Data", "holdout": "Holdout", "codebook": "Codebook", "function": "Function"}


def render(directory: Path) -> Path:
    """Write `report.html` into a run directory from its other files, and return its path.

    Works for interrupted runs too. Raises ConfigError, in one line, where the directory is no run directory or one of
    its files is missing or broken; an earlier report is then left as it was. Same files, same bytes.
    """
    directory = Path(directory)
    results = read(directory)
    text = environment().from_string(asset("template.html")).render(_context(results))
    return write_page(directory / "report.html", text)


def write_page(path: Path, text: str) -> Path:
    """Write a page whole or not at all, and return its path."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def asset(name: str) -> str:
    """A file of this package as text."""
    return files("outrisk.report").joinpath(name).read_text(encoding="utf-8")


def environment() -> Environment:
    """Templates with the filters that write numbers for readers."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    shown = (formats.share, formats.signed, formats.points, formats.interval, formats.error, formats.count)
    more = (formats.seconds, formats.names, formats.plural, formats.level_name, formats.file_name, tables.stop)
    environment.filters.update({function.__name__: function for function in (*shown, *more)})
    return environment


def _context(results: Results) -> dict[str, Any]:
    lead = results.lead
    differences = differencing.read(results.directory)
    return {
        "css": Markup(asset("style.css")),  # our own file
        "manifest": results.manifest,
        "risk": results.risk,
        "lead": lead,
        "conventions": formats.CONVENTIONS,
        "paragraphs": findings.in_short(results),
        "headlines": findings.headlines(results),
        "warnings": findings.warnings(results) + [differences.warning] * bool(differences.warning),
        "differences": differences,
        "outputs": list(zip(results.risk.outputs, _definitions(results), strict=True)),
        "fold_rows": tables.fold_rows(results),
        "run_rows": tables.run_rows(results),
        "runs_shown": _RUNS_SHOWN,
        "numbers": tables.numbers(results),
        "contrasts": {
            (measure, keys): tables.contrasts(results, measure, keys)
            for measure in (*formats.CONVENTIONS, "dcap", "baseline")
            for keys in ("all", "largest")
        },
        "extrapolations": {measure: tables.extrapolation_rows(results, measure) for measure in formats.CONVENTIONS},
        "key_sizes": tables.key_size_rows(results, lead.level) if lead else _own_key_sizes(results),
        "riskiest": tables.riskiest(results, lead.level) if lead else [],
        "settings": _settings(results),
        "inputs": [(_INPUTS.get(source.what, source.what), source) for source in results.manifest.inputs],
        "study_file": next((each.name for each in results.manifest.inputs if each.what == "study"), "study.yaml"),
        "suite": _suite(results),
        "figures": {name: Markup(svg) for name, svg in _figures(results).items()},
    }


def _suite(results: Results) -> list[tuple[SuiteSection, Markup]]:
    """The sections on the suite of measures, and their HTML."""
    levels = [fold.level for fold in results.risk.folds if fold.runs]
    sections = suite_sections(results.directory, levels, results.lead.level if results.lead else None)
    template = environment().from_string
    shown = []
    for section in sections:
        rows = {
            table: Markup(template(asset("suite_table.html")).render(table=table))
            for table in (*section.tables, *section.folds)
        }
        html = template(asset(f"{section.name}.html")).render(
            section=section,
            tables=Markup(template(asset("suite_tables.html")).render(section=section, rows=rows)),
            interval=_INTERVAL,
            attacks=len(section.tables) > 1,
            sample=(results.study.get("privacy") or {}).get("sample"),
        )
        shown.append((section, Markup(html)))
    return shown


def _own_key_sizes(results: Results) -> list[dict[str, Any]]:
    levels = [fold.level for fold in results.risk.folds if fold.runs]
    return tables.key_size_rows(results, min(levels)) if levels else []


def _figures(results: Results) -> dict[str, str]:
    """Inline SVG by name; empty where there is nothing to draw."""
    from outrisk.report import figures  # matplotlib takes a second to import: only here

    drawn = {"error": figures.error_figure(results.trajectory, results.snapshots)}
    levels = [results.lead.level] if results.lead else sorted({fold.level for fold in results.risk.folds if fold.runs})
    folds = results.folds_of(levels[0])[:_FIGURE_FOLDS] if levels else []
    points = results.snapshots
    panels = [
        (
            formats.fold_name(fold.level, fold.fold),
            points[(points["level"] == fold.level) & (points["fold"] == fold.fold)],
            fold.extrapolation,
        )
        for fold in folds
    ]
    for measure in formats.CONVENTIONS:
        short = measure.removeprefix("tcap_")
        drawn[f"contrast_{short}"] = figures.contrast_figure(tables.contrasts(results, measure), f"contrast-{short}")
        drawn[f"extrapolation_{short}"] = figures.extrapolation_figure(panels, measure, f"extrapolation-{short}")
    return drawn


def _definitions(results: Results) -> list[str]:
    """How each output was defined in the study, without its numbers and what its notes say anyway."""
    given = results.study.get("outputs")
    outputs = results.risk.outputs
    if not isinstance(given, list) or len(given) != len(outputs):
        return [""] * len(outputs)
    return [
        "; ".join(text for text in flat(each, _skipped(each)) if text.split(": ", 1)[1] not in output.notes)
        if isinstance(each, dict)
        else ""
        for each, output in zip(given, outputs, strict=True)
    ]


def _skipped(output: dict[str, Any]) -> set[str]:
    limits = "confidence_limits" in (output.get("release") or ())
    return _NOT_SETTINGS if limits else _NOT_SETTINGS | {"level"}


def _settings(results: Results) -> list[tuple[str, str]]:
    """The sections of the study that say how it was carried out; paths and released values are not among them."""
    sections = [(name, results.study.get(name)) for name in ("privacy", "evolve", "study")]
    return [(name, "; ".join(flat(found, set()))) for name, found in sections if isinstance(found, dict)]


def flat(section: dict[str, Any], skip: set[str]) -> list[str]:
    """`name: value` for what is set."""
    found = []
    for name, value in section.items():
        if name in skip or value is None or value in ("", [], {}):
            continue
        items = [formats.value(item) for item in (value if isinstance(value, list) else [value])]
        text = ", ".join(formats.file_name(item) for item in items)
        found.append(f"{name}: {text if len(text) <= _LONGEST else text[:_LONGEST] + ' …'}")
    return found
