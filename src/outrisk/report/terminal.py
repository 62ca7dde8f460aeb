"""A run directory's results in short, for the terminal."""

from __future__ import annotations

import math
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from outrisk.records.results import Results, find, marginal, read_run
from outrisk.records.schema import Fold
from outrisk.report import findings, formats
from outrisk.report.contrasts import NO_HOLDOUT
from outrisk.report.runs import fold_rows

_NAMED = 3  # numbers that are not met
_CONVENTIONS = {"tcap_undefined": "undefined", "tcap_zero": "as zero"}


def summary(directory: Path, console: Console) -> None:
    """Print errors reached, TCAP of original and holdout in both conventions, and where the report is.

    Fits 100 columns. Raises ConfigError as `render` does.
    """
    directory = Path(directory)
    results = read_run(directory)
    for warning in findings.warnings(results):
        console.print(f"[bold]Note:[/bold] {escape(warning)}", highlight=False)
    if results.risk.outright:
        console.print(escape(results.risk.outright), highlight=False)
    if results.runs:
        sizes = formats.names([str(size) for size in results.risk.key_sizes])
        _heading(console, "Released numbers reproduced from synthetic data (full refit; range over runs)")
        console.print(_errors(results))
        for line in _unmet(results):
            console.print(escape(line), highlight=False)
        _heading(console, f"Correct attribution (TCAP), mean over all sets of {sizes} keys")
        console.print(_risks(results))
        for line in _reasons(results):
            console.print(escape(line), highlight=False)
    else:
        console.print("No run has finished: nothing is known about the risk yet.", highlight=False)
    report = directory / "report.html"
    where = f"Report: {report}" if report.is_file() else f"No report yet; write it with: outrisk report {directory}"
    console.print(escape(where), highlight=False, soft_wrap=True)
    if results.decision:
        console.print(f"[bold]{escape(results.decision.sentence)}[/bold]", highlight=False)


def _heading(console: Console, text: str) -> None:
    console.print(f"[bold]{text}[/bold]", highlight=False)


def _table() -> Table:
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)


def _plain(text: str) -> str:
    """With the minus of the keyboard, which every terminal can print."""
    return text.replace("\N{MINUS SIGN}", "-").replace("∞", "infinite")


def _errors(results: Results) -> Table:
    table = _table()
    table.add_column("Fold", no_wrap=True)
    for name in ("Records", "Runs", "Error (MAE)", "At their digits", "Within 1 % of s.e."):
        table.add_column(name, justify="right")
    for row in fold_rows(results):
        table.add_row(escape(row["fold"]), row["records"], row["runs"], _plain(row["mae"]), row["matched"], row["near"])
    return table


def _unmet(results: Results) -> list[str]:
    """The numbers that are not met, each with the reason and what to do."""
    found = results.decision.unmet if results.decision else ()
    lines = [
        f"Not met: {each.output}, {each.number}: {each.refit:.6g} instead of {each.released:.6g} "
        f"({formats.fold_name(each.level, each.fold)}; in "
        f"{formats.plural(each.runs, 'run')}): {each.why}."
        for each in found[:_NAMED]
    ]
    return [*lines, "More numbers that are not met: decision.json, matched.csv."] if len(found) > _NAMED else lines


def _risks(results: Results) -> Table:
    table = _table()
    table.add_column("Fold", no_wrap=True)
    table.add_column("Non-matches", no_wrap=True)
    for name in ("Original", "Holdout", "Difference", "95 % interval"):
        table.add_column(name, justify="right", no_wrap=name != "95 % interval")
    for fold in _finished(results):
        for position, (measure, words) in enumerate(_CONVENTIONS.items()):
            original, holdout = (find(fold.estimates, measure, side) for side in ("original", "holdout"))
            found = marginal(fold, measure)
            table.add_row(
                "" if position else escape(formats.fold_name(fold.level, fold.fold)),
                words,
                formats.share(original.value),
                formats.share(holdout.value) if fold.n_holdout else "none",
                _plain(formats.signed(found.value)),
                _plain(formats.interval(found.low, found.high, sign=True)),
            )
    return table


def _reasons(results: Results) -> list[str]:
    """Why something in the table is undefined, each reason once with its folds."""
    folds: dict[str, list[str]] = {}
    for fold in _finished(results):
        for measure in _CONVENTIONS:
            for side in ("original", "holdout", "marginal"):
                found = find(fold.estimates, measure, side)
                if math.isnan(found.value) or math.isnan(found.low):
                    missing = side != "original" and not fold.n_holdout
                    reason = NO_HOLDOUT if missing else found.reason or "no reason given"
                    folds.setdefault(reason, []).append(formats.fold_name(fold.level, fold.fold))
    return [f"Undefined ({', '.join(dict.fromkeys(where))}): {reason}" for reason, where in folds.items()]


def _finished(results: Results) -> list[Fold]:
    return [fold for fold in results.risk.folds if fold.runs]
