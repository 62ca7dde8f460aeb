"""A row per output: its verdict and why, how well it was reproduced, and what it adds to the others."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from outrisk.records.results import Results
from outrisk.records.schema import VERDICTS, Contribution, Finding, Matched, with_number
from outrisk.report import formats
from outrisk.report.compose import Section, asset

_ROWS = 7
_WORDS = {"name": 6, "why": 9}  # of each where all rows are taken; more where there are fewer


@dataclass(frozen=True)
class OutputRow:
    """An output as page one shows it."""

    name: str
    numbers: int
    matched: str
    verdict: str
    why: str
    worst: str
    adds: str
    up_to: float


def content(results: Results) -> dict[str, Any]:
    """Rows of the outputs, the worst first: by verdict, then those with findings, then by what may be found at most."""
    rows = sorted(output_rows(results), key=lambda row: (_rank(row.verdict), not row.worst, -row.up_to))
    adding = [row for row in results.contributions if row.what in ("adds", "new outputs add")]
    place = place_of(results)
    together = [row for row in _at(results.contributions, place) if row.what in ("emerges", "new outputs add")]
    limit = len(rows) if len(rows) == _ROWS + 1 else _ROWS  # a line on one more would take as much
    shown, told = rows[:limit], {row.what: said(row) for row in together}
    room = {name: most * _ROWS // max(1, len(shown)) for name, most in _WORDS.items()}
    return {
        "rows": [(row, _short(row, room)) for row in shown],
        "left_out": _counted(rows[limit:]),
        "remarks": len(results.manifest.remarks),
        "decided": results.decision is not None,
        "adding": bool(adding),
        "place": place,
        "together": told,
        "marked": any(each.endswith("*") for each in (*(row.adds for row in shown), *told.values())),
    }


def _counted(rows: Sequence[OutputRow]) -> str:
    """How many outputs there is no room for, and of which verdict."""
    verdicts = Counter(row.verdict.partition(",")[0] for row in rows if row.verdict)
    said = ", ".join(f"{number:,} {verdict}" for verdict, number in verdicts.items())
    return formats.plural(len(rows), "further output") + (f" ({said})" if said else "") if rows else ""


def _short(row: OutputRow, room: Mapping[str, int]) -> dict[str, str]:
    """What there is room for: a name's first words; the reason whole, or in brief, or its worst finding's rule."""
    brief = row.worst if row.verdict == "disclosive" else formats.brief(row.why, room["why"])
    return {"name": formats.cut(row.name, room["name"]), "why": formats.sentences(row.why, room["why"]) or brief}


def output_rows(results: Results) -> list[OutputRow]:
    """Every output in the order of the study."""
    level = results.shown_level
    folds = results.folds_of(level) if level is not None else []
    matched = [row for fold in folds for row in results.matched(fold)]
    decided = {each.name: each for each in results.decision.outputs} if results.decision else {}
    added = {row.output: row for row in _at(results.contributions, place_of(results)) if row.what == "adds"}
    rows = []
    for output in results.risk.outputs:
        name, worst = output.name, found(results.findings or [], output.name)
        of = decided.get(name)
        rows.append(
            OutputRow(
                name=name,
                numbers=output.numbers,
                matched=_reproduced([row for row in matched if row.output == name]),
                verdict=with_number(of.verdict, of.up_to) if of else "",
                why=of.reason if of else worst,
                worst=worst,
                adds=said(added[name]) if name in added else "",
                up_to=of.up_to if of and of.up_to > 0.0 else 0.0,
            )
        )
    return rows


def place_of(results: Results) -> tuple[str, str, str] | None:
    """Measure, over and keys at which contributions are shown: those of the limit that the verdict turns on."""
    places = {(row.measure, row.over, row.keys) for row in results.contributions}
    limits = results.decision.limits if results.decision else ()
    known = [limit for limit in limits if (limit.measure, limit.over, limit.keys) in places]
    if not known:
        return min(places, default=None)
    turns = max(known, key=lambda limit: (limit.low > limit.margin, limit.high))
    return turns.measure, turns.over, turns.keys


def _at(rows: Sequence[Contribution], place: tuple[str, str, str] | None) -> list[Contribution]:
    return [row for row in rows if (row.measure, row.over, row.keys) == place]


def said(row: Contribution) -> str:
    """A contribution with its interval, and a mark where it rests on numbers that were not reproduced."""
    if math.isnan(row.value):
        return formats.UNDEFINED
    ends = f"{formats.signed(row.value)} ({formats.interval(row.low, row.high, sign=True)})"
    return ends if row.reproduced else f"{ends}*"


def _rank(verdict: str) -> int:
    return VERDICTS.index(verdict) if verdict in VERDICTS else len(VERDICTS)


def _reproduced(rows: list[Matched]) -> str:
    """The share of its numbers met in the run that met the fewest, in words; and how many are within 1 % of their
    sampling errors in the run that has the fewest of these.
    """
    if not rows:
        return formats.UNDEFINED
    runs: dict[tuple[str, int], list[Matched]] = {}
    for row in rows:
        runs.setdefault((row.fold, row.run), []).append(row)
    matched, near = (
        min(([getattr(row, what) for row in run] for run in runs.values()), key=lambda met: sum(met) / len(met))
        for what in ("matched", "near")
    )
    if all(matched):
        return "all"
    within = "all" if all(near) else f"{sum(near):,}"
    return f"{sum(matched):,} of {len(matched):,}; {within} within 1 %"


def found(findings: Sequence[Finding], output: str) -> str:
    """The first finding about an output, or a pair with it, in brief (they stand the worst first); and how many more
    are certain.
    """
    own = [finding for finding in findings if finding.concerns(output)]
    if not own:
        return ""
    more = sum(finding.certain for finding in own[1:])
    also = f", and {more:,} more certain" if more else ""
    return f"{own[0].rule}: {formats.plural(own[0].people, 'person')}{also}"


SECTION = Section("outputs", "Output by output", content, asset("one/outputs.html"))
