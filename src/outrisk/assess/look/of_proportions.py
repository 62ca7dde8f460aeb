"""Proportions behind which few people are, and groups in which everybody or nobody has the event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outrisk.appetite import Appetite
from outrisk.assess.look.finding import Found, Rows, counted, named, people, plural
from outrisk.assess.look.once import refit
from outrisk.assess.look.told import allowed, complete
from outrisk.codebook import format_value
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output
from outrisk.outputs.smooth.pairs_behind import Behind
from outrisk.outputs.smooth.proportions import Proportions
from outrisk.outputs.smooth.proportions_told import pairs_told

_NO_INFORMATION = np.zeros((0, 0))


@dataclass(frozen=True, eq=False)
class _Row:
    """A group and a value that is counted: its records, those of them that have the event, the pairs of numbers that
    what is printed leaves, and whether one more with the event, or one fewer, would print otherwise.
    """

    label: str
    value: Any
    rows: Rows
    events: Rows
    told: Behind
    more_shows: bool
    fewer_shows: bool

    @property
    def others(self) -> Rows:
        """The records without the event."""
        return np.setdiff1d(self.rows, self.events)


def of_proportions(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """Fewer than `safe_threshold` people with the event, or without it, behind a printed proportion; groups in which
    all have it, or none, and groups of one person.

    Numbers of people count as told where they are not printed: the finding says for how many of these cells they follow
    exactly from what is printed.
    """
    if not isinstance(output, Proportions) or set(output.statistics) == {"n"}:
        return
    if allowed(data.codebook, output, output.event).sum() < 2:  # `where` says it already
        return
    rows = list(_rows(output, data))
    yield from _few(output, rows, data, appetite)
    yield from _same(output, rows, data)


def _rows(output: Proportions, data: Microdata) -> Iterator[_Row]:
    """Rows of groups that hold somebody."""
    codebook = data.codebook
    inside = complete(data, output.where, output.name, output.variables)
    if not len(inside):
        return
    codes = data.codes[inside]
    place = np.zeros(len(inside), np.intp)
    for name in output.by:
        place = place * len(codebook[name].values) + codes[:, codebook.index(name)]
    of_event = codes[:, codebook.index(output.event)]
    told = pairs_told(output, *output.publish(refit(output, data)))
    more, fewer = (_shows(output, inside, place, of_event, change) for change in (1.0, -1.0))
    for at, label in enumerate(output.names):
        group, value = place == output.group[at], output.counted[at % len(output.counted)]
        if group.any():
            has = of_event == codebook[output.event].code_of[value]
            yield _Row(label, value, inside[group], inside[group & has], told[at], bool(more[at]), bool(fewer[at]))


def _shows(
    output: Proportions, inside: Rows, place: NDArray[np.intp], of_event: NDArray[np.integer], change: float
) -> NDArray[np.bool_]:
    """Whether so many events more of the same records would be printed, (rows,)."""
    (part,) = output.parts(np.zeros(len(output.labels)))
    n = np.bincount(place, minlength=len(output.groups)).astype(np.float64)
    event = output.codebook[output.event]
    events = [np.bincount(place[of_event == event.code_of[v]], minlength=len(n)) for v in output.counted]
    a = np.stack(events, axis=1).ravel().astype(np.float64)
    before, after = (
        output.publish(part.map.numbers(np.concatenate([np.clip(each, 0.0, n[output.group]), n]), _NO_INFORMATION))
        for each in (a, a + change)
    )
    apart = (after[0] != before[0]) | (after[1] != before[1])
    return np.asarray(apart.reshape(len(a), -1).any(axis=1))


def _few(output: Proportions, rows: Sequence[_Row], data: Microdata, appetite: Appetite) -> Iterator[Found]:
    """Cells of some people, but fewer than the threshold: with the event, and without it where levels are not all
    counted.
    """
    least, several, found = appetite.safe_threshold, len(output.counted) > 1, list[tuple[int, str, Rows, bool]]()
    for row in rows:
        value = format_value(row.value)
        cells = [(row.label if several else f"{row.label}, {output.event}={value}", row.events)]
        cells += [] if several else [(f"{row.label}, {output.event} not {value}", row.others)]
        found += [
            (data.people(members), label, members, row.told.certain)
            for label, members in cells
            if 0 < data.people(members) < least
        ]
    if not found:
        return
    found.sort(key=lambda each: each[0])
    exactly = sum(certain for *_, certain in found)
    cells_of = len(rows) if several else 2 * len(rows)
    told = f"of {exactly:,} of them what is printed tells exactly how many"
    if exactly in (0, len(found)):
        told = "what is printed tells exactly how many" if exactly else "what is printed does not tell exactly how many"
    yield Found.of(
        "small cells",
        False,
        output.name,
        len(found),
        np.concatenate([members for _, _, members, _ in found]),
        f"{plural(len(found), 'cell')} of {cells_of:,} behind the printed proportions "
        f"hold{'s' * (len(found) == 1)} fewer than {least} {counted(data)}; {told}.",
        named([f"{label}: {number:,}" for number, label, *_ in found]),
        "Merge levels, withhold these groups, or print fewer digits and no limits.",
    )


def _same(output: Proportions, rows: Sequence[_Row], data: Microdata) -> Iterator[Found]:
    """Groups in which everybody has the event, or nobody, where one person less, or more, would print otherwise."""
    alone = [each for each in rows if data.people(each.rows) == 1]
    everybody = [each for each in rows if each.fewer_shows and not len(each.others) and each not in alone]
    nobody = [each for each in rows if each.more_shows and not len(each.events) and each not in alone]
    hidden = [
        each
        for each in rows
        if each not in alone and each not in everybody + nobody and not (len(each.others) and len(each.events))
    ]
    who = " and ".join(output.by) or "that they are in the table"
    for found, certain, what in (
        (everybody, True, "everybody has it"),
        (nobody, True, "nobody has it"),
        (alone, True, "there is one person"),
        (
            hidden,
            False,
            "everybody has it, or nobody, though the printed digits would be the same with one who differs",
        ),
    ):
        if not found:
            continue
        members = np.unique(np.concatenate([each.rows for each in found]))
        two = len(data.codebook[output.event].values) == 2
        tells = certain and (two or found is everybody or (found is alone and any(len(each.events) for each in found)))
        values = " or ".join(format_value(v) for v in output.counted) if len(output.counted) < 3 else "each value"
        yield Found.of(
            "same answer",
            certain,
            output.name,
            len(found),
            members,
            f"{output.event} = {values} of {people(data.people(members))} "
            f"{f'is told for certain to anybody who knows {who}' if certain else 'may be told'}: "
            f"{plural(len(found), 'group')} in which {what}.",
            named([f"{each.label}: {people(data.people(each.rows))}" for each in found]),
            "Merge these groups with others, or withhold them.",
            output.event if tells else "",
        )
