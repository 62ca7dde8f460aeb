"""decision.md: a decision on one page of Markdown, for the log of decisions."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from outrisk.assess.look.finding import plural
from outrisk.records.schema import VERDICTS, Decision, PeopleCount, with_number

_MOST_REASONS, _MOST_OUTPUTS = 12, 12


def log_entry(decision: Decision, people: tuple[PeopleCount, ...], when: str, made_by: str) -> str:
    """The page; whoever decides fills in the last lines."""
    return "\n".join(_lines(decision, people, when, made_by)) + "\n"


def _lines(decision: Decision, people: tuple[PeopleCount, ...], when: str, made_by: str) -> Iterator[str]:
    held = decision.held_against
    yield f"# {_text(decision.study)}: {with_number(decision.verdict, decision.up_to)}"
    yield ""
    yield f"**{_text(decision.sentence)}**"
    yield ""
    yield f"- Assessed: {when}, {made_by}"
    yield f"- Question: {_text(decision.target)} of a person whose {_text(', '.join(decision.keys))} are known"
    yield (
        f"- Held against: margin {held.margin:g} ({', '.join(held.measures)}); people told for certain: "
        f"{held.people:,}{' (or by rules that are not certain)' * held.rules_are_disclosive}; intruder: {held.intruder}"
    )
    if decision.basis:
        basis = decision.basis
        why = f"; the holdout is not crossed: {_text(basis.not_crossed)}" if basis.not_crossed else ""
        why += f"; {_text(basis.divided_anew)}" if basis.divided_anew else ""
        yield (
            f"- Measured on {basis.measured_on}, "
            f"{basis.key_sets:,} key sets, {plural(basis.runs, 'run')}{', crossed' * basis.crossed}{why}"
        )
    for title, lines in (
        ("Why", _first(decision.reasons, _MOST_REASONS)),
        ("What would settle or change it", decision.settle),
        ("What folds say about the whole", (decision.halves,) if decision.halves else ()),
        ("Other intruders", decision.intruders),
    ):
        if lines:
            yield from ("", f"## {title}", "")
            yield from (f"- {_text(line)}" for line in lines)
    yield from _outputs(decision)
    yield from _people(people, decision)
    yield from ("", "## Decision", "", "OutRisk gives evidence; the output checker decides.", "")
    yield from ("- Decision:", "- By:", "- Date:", "- Grounds:")


def _outputs(decision: Decision) -> Iterator[str]:
    yield from ("", "## By output", "", "| output | verdict | why |", "| --- | --- | --- |")
    worst_first = sorted(decision.outputs, key=lambda output: VERDICTS.index(output.verdict))
    for output in worst_first[:_MOST_OUTPUTS]:
        yield f"| {_text(output.name)} | {with_number(output.verdict, output.up_to)} | {_text(output.reason)} |"
    if len(worst_first) > _MOST_OUTPUTS:
        yield f"| and {len(worst_first) - _MOST_OUTPUTS:,} more | | decision.json |"


def _first(lines: tuple[str, ...], most: int) -> tuple[str, ...]:
    more = len(lines) - most
    return (*lines[:most], f"and {more:,} more (decision.json)") if more > 0 else lines


def people_level(people: tuple[PeopleCount, ...], decision: Decision) -> int:
    """The level whose people are told: that of the verdict, else the largest folds."""
    return decision.basis.level if decision.basis else min(row.level for row in people)


def _people(people: tuple[PeopleCount, ...], decision: Decision) -> Iterator[str]:
    if not people:
        return
    whose = "Records" if decision.basis and decision.basis.original_of else "People"
    yield from ("", f"## {whose} whose value is inferred rightly in at least 90 % of the runs", "")
    yield "| | in the data | not in the data | beyond that (95 % interval) |"
    yield "| --- | --- | --- | --- |"
    for row in (row for row in people if row.level == people_level(people, decision)):
        beyond = row.reason
        if not math.isnan(row.beyond):
            beyond = f"{row.beyond:z,.0f} ({row.beyond_low:z,.0f} to {row.beyond_high:z,.0f})"
        yield (
            f"| {_text(row.group)}, {row.inference} | {row.right_original:,} of {row.people_original:,} | "
            f"{row.right_holdout:,} of {row.people_holdout:,} | {beyond} |"
        )


def _text(text: str) -> str:
    """Names of variables and outputs come from files: nothing of them is read as Markdown or HTML."""
    plain = " ".join(text.split())
    return re.sub(r"[\\`*\[\]<>#|!]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", plain)  # an underscore within a name is one
