"""The page that goes with teaching data: what they reproduce, what they do not hold, how they were made."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from outrisk.records import files
from outrisk.records.schema import Bars, Relations, ReleasedOutput, Reproduced, Teaching, TeachingManifest
from outrisk.report import formats
from outrisk.report.compose import Head, Section, asset, compose, write_page

_CELL = re.compile(r"([^=,]+)=([^=]*), ([^=,]+)=([^=]*)")  # a number of a table of two variables
_MOST_COLUMNS = 12
_WIDTH, _HEIGHT = 200, 30  # of a picture
_NAMED = 3  # numbers that are missed, in the warning; the file has them all
_SHOWN = 60  # numbers of an output on the page; the file has them all
_STOPS = {
    "matched": "every number matched",
    "near": "with every number within 1 % of its sampling error, when nothing more was gained",
    "budget": "at the end of its budget",
    "stalled": "when nothing more was gained",
}
_INPUTS = {"study": "Study file", "values": "Released values", "data": "Data", "codebook": "Codebook"}
_SYNTHETIC = (
    "No record in these files was collected from a person. They were evolved to reproduce released numbers; whatever "
    "those numbers do not say is chance. Use them to learn methods, not to learn about people."
)
_MISSED = "Some results come out otherwise than they were released, by more than 1 % of their sampling error"
_COMPUTED = (
    "The released numbers below were computed by OutRisk from the study's own data. Hand these files on only if these "
    "numbers are cleared for release; `outrisk assess` measures what they give away."
)


@dataclass(frozen=True, eq=False)
class Page:
    """A directory of teaching data read back."""

    manifest: TeachingManifest
    teaching: Teaching
    study: dict[str, Any]
    codebook: dict[str, Any]
    reproduced: list[Reproduced]

    @property
    def matched(self) -> int:
        """Numbers that every copy reproduces at their released precision."""
        return sum(all(row.matched for row in copies) for copies in self.by_number.values())

    @property
    def near(self) -> int:
        """Numbers that every copy reproduces so, or to 1 % of their sampling error."""
        return sum(all(row.near for row in copies) for copies in self.by_number.values())

    @cached_property
    def by_number(self) -> dict[tuple[str, str], list[Reproduced]]:
        """Every released number, by output and label, in each copy."""
        found: dict[tuple[str, str], list[Reproduced]] = {}
        for row in self.reproduced:
            found.setdefault((row.output, row.label), []).append(row)
        return found

    @property
    def missed(self) -> str:
        """Numbers that are off by more than 1 % of their sampling error in a data set, in a sentence, or empty."""
        rows = [(output, _number(copies)) for (output, _), copies in self.by_number.items()]
        far = [
            f"{output}, {row['label']}: {row['released']} released, {row['refit']} here"
            for output, row in rows
            if not row["near"]
        ]
        more = [formats.plural(len(far) - _NAMED, "further number")] if len(far) > _NAMED else []
        return f"{_MISSED}: {'; '.join([*far[:_NAMED], *more])}." if far else ""

    @property
    def numbers(self) -> int:
        """Numbers of which something was released."""
        return sum(output.numbers for output in self.teaching.outputs)


def is_teaching(directory: Path) -> bool:
    """Whether `outrisk teach` wrote a directory."""
    return (directory / "teaching.json").is_file()


def render_teaching(directory: Path) -> Path:
    """Write `teaching.html` into a directory of teaching data from its other files, and return its path.

    ConfigError, in one line, where a file is missing or broken. Same files, same bytes.
    """
    page = _read(directory)
    return write_page(directory / "teaching.html", compose(_head(page), SECTIONS, page))


def _head(page: Page) -> Head:
    manifest = page.manifest
    return Head(
        title=f"Synthetic teaching data: {manifest.study}",
        heading=f"Synthetic teaching data: {manifest.study}",
        kicker=f"OutRisk {manifest.outrisk} · synthetic data for teaching · {manifest.started[:10]}",
        warnings=(
            ("Synthetic", _SYNTHETIC),
            *(("Not from a publication", _COMPUTED),) * page.teaching.computed,
            *(("Not all reproduced", page.missed),) * bool(page.missed),
        ),
        description="synthetic data",
    )


def teaching_summary(directory: Path, console: Console) -> None:
    """Print what was made, what it reproduces, what it lacks, and where the page is."""
    page = _read(directory)
    teaching, relations = page.teaching, page.teaching.relations
    made = (
        f"{formats.plural(len(teaching.copies), 'synthetic data set')} of {formats.plural(teaching.records, 'record')}"
    )
    met = f"{page.matched:,} of {formats.plural(page.numbers, 'released number')} reproduced (full refit)"
    lines = [f"{made}; {met}, {page.near:,} to 1 % of their sampling error"]
    lines += [f"Note: {page.missed}"] if page.missed else []
    lines += [f"Note: {failure}" for copy in teaching.copies[:1] for failure in copy.failures]
    if teaching.computed:
        lines.append(
            "Note: the numbers were computed from the study's data; hand these files on only if they are cleared"
        )
    pairs = len(relations.absent)
    if pairs:
        lines.append(f"{formats.plural(pairs, 'pair')} of variables {'shares' if pairs == 1 else 'share'} no output")
    if relations.unseen:
        lines.append(f"In no output: {formats.names(relations.unseen)}")
    lines.append(f"Page: {directory / 'teaching.html'}")
    for line in lines:
        console.print(escape(line), highlight=False, soft_wrap=True)


def _read(directory: Path) -> Page:
    return Page(
        files.read_document(directory / "manifest.json", TeachingManifest),
        files.read_document(directory / "teaching.json", Teaching),
        files.read_yaml(directory / "study.yaml"),
        files.read_yaml(directory / "codebook.yaml"),
        files.read_rows(directory / "reproduced.csv", Reproduced),
    )


def _summary(page: Page) -> dict[str, Any]:
    return {"teaching": page.teaching, "matched": page.matched, "near": page.near, "numbers": page.numbers}


def _copies(page: Page) -> dict[str, Any]:
    copies = [(copy, _STOPS.get(copy.stop, copy.stop)) for copy in page.teaching.copies]
    return {"teaching": page.teaching, "copies": copies}


def _numbers(page: Page) -> dict[str, Any]:
    return {**_copies(page), "outputs": [_output(output, page) for output in page.teaching.outputs]}


def _relations(page: Page) -> dict[str, Any]:
    names = list(page.codebook.get("variables", {}))
    chance = page.teaching.chance
    p_values = [] if chance is None else [_p_value(p) for p in chance.p_values]
    found = {"chance": chance, "p_first": p_values[0] if p_values else "", "p_others": p_values[1:]}
    return {"teaching": page.teaching, "relations": _relation_rows(page.teaching.relations, names)} | found


def _p_value(p: float) -> str:
    if math.isnan(p):
        return "undefined (only one of the groups has enough records)"
    return f"{p:.2g}" if p >= 0.001 else "below 0.001"


def _rules(page: Page) -> dict[str, Any]:
    broken = [sum(copy.broken[i] for copy in page.teaching.copies) for i in range(len(page.teaching.rules))]
    return {"rules": list(zip(page.teaching.rules, broken, strict=True))}


def _variables(page: Page) -> dict[str, Any]:
    variables = [_variable(name, entry) for name, entry in page.codebook.get("variables", {}).items()]
    pictures = {bars.name: _picture(bars) for bars in page.teaching.bars}
    first = page.teaching.copies[0].copy_number if page.teaching.copies else 1
    return {"variables": variables, "pictures": pictures, "first": first}


def _picture(bars: Bars) -> dict[str, Any]:
    """Bars of a variable, as rectangles, and in words."""
    most, total = max(bars.counts), sum(bars.counts)
    wide = max(3, min(14, _WIDTH // len(bars.counts)))
    heights = [round(_HEIGHT * count / most, 1) for count in bars.counts]
    said = [f"{label}: {formats.share(count / total)}" for label, count in zip(bars.labels, bars.counts, strict=True)]
    return {
        "width": wide * len(heights),
        "bar": wide - 1,
        "bars": [{"x": at * wide, "y": round(_HEIGHT - h + 2, 1), "height": h} for at, h in enumerate(heights)],
        "words": "; ".join(said),
    }


def _making(page: Page) -> dict[str, Any]:
    return {
        **_copies(page),
        "manifest": page.manifest,
        "settings": "; ".join(formats.flat(page.study.get("evolve") or {}, {"seed"})),
        "inputs": [(_INPUTS.get(source.what, source.what), source) for source in page.manifest.inputs],
        "study_file": next((each.name for each in page.manifest.inputs if each.what == "study"), "study.yaml"),
    }


def _output(output: ReleasedOutput, page: Page) -> dict[str, Any]:
    """One output with its numbers: those not reproduced first, then in their own order."""
    rows = [_number(copies) for (name, _), copies in page.by_number.items() if name == output.name]
    missed = [row for row in rows if not row["matched"]]
    shown = rows if len(rows) <= _SHOWN else [*missed, *(row for row in rows if row["matched"])][:_SHOWN]
    places = sorted({row["agrees"] for row in rows if row["matched"]})
    return {
        "output": output,
        "matched": len(rows) - len(missed),
        "near": sum(row["near"] for row in rows),
        "to": formats.names([_places(each) for each in places]) if places else "–",
        "rows": shown,
        "table": _cross_table(rows),
    }


def _cross_table(rows: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The numbers of an output as a table of two variables, where each is called 'a=1, b=2'; else None."""
    met = [_CELL.fullmatch(row["label"]) for row in rows]
    places = [found.groups() for found in met if found is not None]
    if len(places) < max(2, len(rows)) or len({(a, b) for a, _, b, _ in places}) > 1:
        return None
    lines, columns = (list(dict.fromkeys(place[at] for place in places)) for at in (1, 3))
    if len(columns) > _MOST_COLUMNS or len(lines) > _SHOWN:
        return None
    cells = {(place[1], place[3]): row for place, row in zip(places, rows, strict=True)}
    return {
        "rows_are": places[0][0],
        "columns_are": places[0][2],
        "columns": columns,
        "rows": [(line, [cells.get((line, column)) for column in columns]) for line in lines],
    }


def _number(copies: Sequence[Reproduced]) -> dict[str, Any]:
    """One released number: as printed, as recomputed (the range over copies), and to which decimal they agree."""
    first = copies[0]
    low, high = (_printed(end, first.decimals) for end in (first.low, first.high))
    known = f"{low} or more" if math.isinf(first.high) else low if low == high else f"{low} to {high}"
    refits = sorted(row.refit for row in copies)
    undefined = any(math.isnan(refit) for refit in refits)
    more = first.decimals + 2 if first.decimals else 0
    ends = [_printed(end, more) for end in (refits[0], refits[-1])]
    agrees = math.nan if any(math.isnan(row.agrees) for row in copies) else min(row.agrees for row in copies)
    return {
        "label": first.label,
        "released": known,
        "refit": formats.UNDEFINED if undefined else formats.spread(ends),
        "matched": all(row.matched for row in copies),
        "near": all(row.near for row in copies),
        "agrees": agrees,
        "to": "no" if math.isnan(agrees) else _places(agrees),
    }


def _printed(value: float, decimals: int) -> str:
    return formats.fixed(value, decimals) if value <= 0 or math.isinf(value) else f"{value:,.{decimals}f}"


def _places(agrees: float) -> str:
    """To which decimal a number agrees, in words."""
    return formats.plural(int(agrees), "decimal") if agrees else "whole units"


def _relation_rows(relations: Relations, names: list[str]) -> list[dict[str, Any]]:
    """For each variable the others by how their relation with it got into the data."""
    found: list[dict[str, Any]] = []
    for name in names:
        partners = {
            kind: [b if a == name else a for a, b in getattr(relations, kind) if name in (a, b)]
            for kind in ("direct", "partial", "ruled", "absent")
        }
        if name in relations.unseen or any(partners.values()):
            found.append({"name": name, "unseen": name in relations.unseen, **partners})
    return found


def _variable(name: str, entry: dict[str, Any]) -> dict[str, str]:
    """A variable of the codebook in words."""
    levels = entry.get("levels")
    if isinstance(levels, dict):
        values = "; ".join(f"{level} = {text}" if text else str(level) for level, text in levels.items())
    elif levels is not None or "values" in entry:
        listed = [formats.value(each) for each in levels or entry["values"]]
        values = ", ".join(listed if len(listed) <= 40 else [*listed[:20], "…", listed[-1]])
    else:
        values = f"{formats.value(entry['min'])} to {formats.value(entry['max'])}"
    missing = "; may be missing (an empty cell)" if entry.get("missing") else ""
    return {"name": name, "label": entry.get("label", ""), "kind": entry["kind"], "support": values + missing}


SECTIONS: list[Section[Page]] = [
    Section("answer", "In short", _summary, asset("teaching/summary.html")),
    Section("files", "The files", _copies, asset("teaching/files.html")),
    Section("reproduced", "Which released results the data reproduce", _numbers, asset("teaching/numbers.html")),
    Section("relations", "Which relations are not in the data", _relations, asset("teaching/relations.html")),
    Section("rules", "Plausibility rules", _rules, asset("teaching/rules.html")),
    Section("variables", "The variables", _variables, asset("teaching/variables.html")),
    Section("made", "How it was made", _making, asset("teaching/making.html")),
]
