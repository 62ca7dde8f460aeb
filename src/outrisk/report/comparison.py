"""Two runs side by side, for the terminal: verdicts, findings, outputs and marginal risks with their difference."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from outrisk.errors import ConfigError
from outrisk.records.results import Results, read_run
from outrisk.records.schema import Contrast, Decision, Finding
from outrisk.report import formats

_NORMAL = 1.959963984540054  # of a 95 % interval
_SHOWN = 8


def compare(one: Path, other: Path, console: Console) -> None:
    """Print what differs from one run to the other.

    The runs are taken as independent: for releases of the same people the interval of a difference is wider than it
    need be. ConfigError where a directory is no run, has no decision, or the two ask about different things.
    """
    first, second = read_run(one), read_run(other)
    for line in differences_in_words(first, second, _decision(first), _decision(second)):
        console.print(escape(line), highlight=False, soft_wrap=True)
    rows = list(changes(first, second))
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in ("Marginal risk", one.name or "first", other.name or "second", "Difference", "95 % interval"):
        table.add_column(name, justify="left" if name == "Marginal risk" else "right")
    for label, before, after, low, high in rows:
        ends = formats.interval(low, high, sign=True)
        gap = round(after, 3) - round(before, 3)  # of the numbers beside it, as they are printed
        cells = (formats.signed(before), formats.signed(after), formats.signed(gap), ends)
        table.add_row(label, *(cell.replace("\N{MINUS SIGN}", "-") for cell in cells))
    if rows:
        console.print(table)
        console.print(
            "The runs are taken as independent; for releases of the same people `outrisk assess NEW.yaml --released "
            "OLD.yaml` is sharper.",
            highlight=False,
        )
    else:
        console.print("No marginal risk was measured at the same place in both.", highlight=False)


def _decision(results: Results) -> Decision:
    if results.decision is None:
        raise ConfigError(f"{results.directory} has no decision.json; assess the study again with this version")
    return results.decision


def differences_in_words(first: Results, second: Results, one: Decision, other: Decision) -> Iterator[str]:
    """Lines on both verdicts, the outputs that only one has, and findings that have come or gone."""
    if (one.target, set(one.keys)) != (other.target, set(other.keys)):
        raise ConfigError(
            f"{first.directory} asks about {one.target} by {', '.join(one.keys)}, {second.directory} about "
            f"{other.target} by {', '.join(other.keys)}: compare runs with the same target and keys"
        )
    yield f"{first.directory}: {one.sentence}"
    yield f"{second.directory}: {other.sentence}"
    names, said = list[list[str]](), list[list[str]]()
    for results, beside in ((first, second), (second, first)):
        called = f"{beside.manifest.study}: "  # as the one calls outputs of the other that it takes as already released
        names.append([output.name.removeprefix(called) for output in results.risk.outputs])
        said.append([f"{each.output}: {_itself(each)}".removeprefix(called) for each in results.findings or []])
    for what, (before, after) in {"output": names, "finding": said}.items():
        for gone, here, there in (("only", before, after), ("new", after, before)):
            place = first.directory if gone == "only" else second.directory
            apart = [each for each in here if each not in there]
            if apart:
                more = f"; and {len(apart) - _SHOWN} more" if len(apart) > _SHOWN else ""
                yield f"{formats.plural(len(apart), what)} only in {place}: {'; '.join(apart[:_SHOWN])}{more}"


def _itself(finding: Finding) -> str:
    """What a finding says, but for what is already released of it."""
    return finding.what.partition(" What is already released says")[0]


def changes(first: Results, second: Results) -> Iterator[tuple[str, float, float, float, float]]:
    """Marginal risks looked at in both verdicts: label, before, after, and 95 % limits of the difference."""
    before, after = ({_place(row): row for row in _leading(results)} for results in (first, second))
    measures = first.decision.held_against.measures if first.decision else ()
    worst = [
        (limit.measure, frozenset(limit.keys.split("+")))
        for results in (first, second)
        for limit in (results.decision.limits if results.decision else ())
        if limit.over == "worst key set"
    ]
    for measure, keys in dict.fromkeys([*((measure, frozenset([""])) for measure in measures), *worst]):
        one, other = before.get((measure, keys)), after.get((measure, keys))
        if one is None or other is None:
            continue
        label = f"{measure}, {one.keys.replace('+', ', ') or 'mean over key sets'}"
        margin = _NORMAL * math.hypot(one.standard_error, other.standard_error)
        gap = other.difference - one.difference
        yield label, one.difference, other.difference, gap - margin, gap + margin


def _leading(results: Results) -> list[Contrast]:
    basis = results.decision.basis if results.decision else None
    return [row for row in results.contrasts if basis is not None and row.level == basis.level]


def _place(row: Contrast) -> tuple[str, frozenset[str]]:
    return row.measure, frozenset(row.keys.split("+"))
