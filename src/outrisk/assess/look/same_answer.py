"""Groups of a released table whose people all have the same value of one of its variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from outrisk.appetite import Appetite
from outrisk.assess.look.finding import SHOWN, Found, named, people, plural
from outrisk.assess.look.of_bars import bars_told
from outrisk.assess.look.told import Flags, Told, allowed, complete, told_by, told_by_curves
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output
from outrisk.outputs.regression.cox import Cox
from outrisk.outputs.smooth.survival import Survival
from outrisk.outputs.tables.frequencies import Frequencies
from outrisk.outputs.tables.histogram import Histogram


def same_answer(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """For each variable of a table: the groups, by all its other variables, in which everybody has one value of it.

    Whoever knows the other values of a person in the table learns this one for certain. So it is with the event of
    survival curves (of two values) that tell how many had it at a time, and how many were last seen then; and where a
    Cox model is of nobody who had it not. A histogram is a table by bars.
    """
    if isinstance(output, Frequencies):  # of what `where` does not say already
        open_ = [name for name in output.by if allowed(output.codebook, output, name).sum() > 1]
        yield from in_table(told_by(output, data), output.name, open_, output.where, "", target)
    elif isinstance(output, Histogram):
        yield from _in_bars(output, data)
    elif isinstance(output, Survival) and len(data.codebook[output.event].values) == 2:
        way_out = "Publish fewer times, so that people between two of them have and have not had the event."
        yield from in_table(told_by_curves(output, data), output.name, [output.event], output.where, way_out)
    elif isinstance(output, Cox) and {"n", "events"} <= set(output.release.parts) and output.status:
        told = Told.whole(data, [output.status], complete(data, output.where, output.name, output.variables))
        yield from in_table(told, output.name, [output.status], output.where, "Leave its numbers of people out.")


def _in_bars(output: Histogram, data: Microdata) -> Iterator[Found]:
    """Cells all of whose records are in one bar, and bars all of whose records are in one cell. Where values may be in
    no bar, whoever knows the cell of a person does not know that they are in one.
    """
    bars = bars_told(output, data)
    told, axis = bars.of_printed, len(output.by)
    full = _alone(told, axis).any(axis=tuple(range(axis)))
    of_bars = "has the same value" if bars.single[full].all() else "is in the same bar"
    way_out = f"Merge cells or bars until each cell has several bars, or leave {output.value} out."
    if bars.possible.sum() > 1:
        for finding in in_table(told, output.name, [output.value], output.where, way_out, alike=of_bars):
            yield finding if bars.all_printed else replace(finding, certain=False, what=_if_in_a_bar(finding), about="")
    open_ = [name for name in output.by if allowed(output.codebook, output, name).sum() > 1]
    yield from in_table(told, output.name, open_, output.where)


def _if_in_a_bar(finding: Found) -> str:
    return f"{finding.what.replace('is told for certain', 'may be told')[:-1]}, of those who are in a bar."


def in_table(
    told: Told,
    output: str,
    names: Sequence[str],
    where: str = "",
    way_out: str = "",
    target: str = "",
    alike: str = "has the same value",
) -> Iterator[Found]:
    """The findings of one table about some of its variables; `way_out` of them, by default that of a table. alike: what
    everybody in a group has, or is.

    Those about others of people whose target is missing stand behind others.
    """
    for axis in (told.by.index(name) for name in names):
        alone = _alone(told, axis)
        if alone.any():
            found = _finding(told, axis, alone, output, where, way_out, alike=alike)
            yield replace(found, last=told.by[axis] != target and _is_missing(told, alone, target))


def _is_missing(told: Told, cells: Flags, target: str) -> bool:
    """Whether the target is missing in all of some cells."""
    if target not in told.by or not told.codebook[target].missing:
        return False
    at = np.nonzero(cells)[told.by.index(target)]
    return bool((at == len(told.codebook[target].values)).all())


def known_answer(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """Groups in which everybody whose target is known has one value of it, and some have none.

    The table shows that nobody has another: whoever knows the other values of a person in it learns this one, or that
    there is none.
    """
    if not isinstance(output, Frequencies) or target not in output.by or not data.codebook[target].missing:
        return
    axis = output.by.index(target)
    if allowed(output.codebook, output, target)[:-1].sum() < 2:  # `where` says it already
        return
    told = told_by(output, data)
    gone = np.take(told.counts, [-1], axis=axis) > 0
    known = np.delete(told.counts, -1, axis=axis)
    alone = (known > 0) & (known == known.sum(axis=axis, keepdims=True)) & gone
    alone &= told.shown.all(axis=axis, keepdims=True)
    if not alone.any():
        return
    cells = np.concatenate([alone, np.zeros_like(gone)], axis=axis)
    missing = np.concatenate([np.zeros_like(alone), alone.any(axis=axis, keepdims=True)], axis=axis)
    yield _finding(told, axis, cells, output.name, output.where, "", told.number(missing))


def _alone(told: Told, axis: int) -> Flags:
    """Cells that hold their whole group, where the table shows that all other cells of the group are empty.

    A missing value is no answer.
    """
    whole = told.counts.sum(axis=axis, keepdims=True)
    alone = (told.counts > 0) & (told.counts == whole) & told.shown.all(axis=axis, keepdims=True)
    if told.codebook[told.by[axis]].missing:
        alone[(slice(None),) * axis + (-1,)] = False
    return np.asarray(alone)


def _finding(
    told: Told,
    axis: int,
    alone: Flags,
    output: str,
    where: str,
    way_out: str,
    missing: int = 0,
    alike: str = "has the same value",
) -> Found:
    """The finding about groups that these cells make up, but for people whose value is missing."""
    name, others = told.by[axis], [each for each in range(len(told.by)) if each != axis]
    number = told.number(alone)
    variable = told.codebook[name]
    held = np.where(alone, told.people, 0).sum(axis=tuple(others))
    cells = np.argwhere(alone)
    cells = cells[np.argsort(told.people[alone], kind="stable")]  # of those who are fewest first, who are at most risk
    labels = variable.labels
    rarest = [at for at in np.argsort(held, kind="stable").tolist() if held[at]]
    values = ", ".join(f"{labels[at]}: {held[at]:,}" for at in rarest[:SHOWN]) + ", ..." * (len(rarest) > SHOWN)
    places = [
        f"{told.label(cell, others)}: {people(int(told.people[tuple(cell)]))}, all {name}={labels[cell[axis]]}"
        for cell in cells.tolist()
    ]
    who = " and ".join(", ".join(told.by[each] for each in others).rsplit(", ", 1)) or "that they are in the table"
    who += f" (where {where})" * bool(where)
    of_whom, also, unknown = f"{name} of {people(number)}", "", ""
    if missing:
        of_whom, also = f"Of {people(number)} {name}", f"whose {name} is known "
        unknown = f" It is missing of {people(missing)} in {'it' if len(cells) == 1 else 'them'}."
    return Found.of(
        "same answer",
        True,
        output,
        len(cells),
        told.who(alone),
        f"{of_whom} is told for certain to anybody who knows {who}: {plural(len(cells), 'group')} in which everybody "
        f"{also}{alike} ({values}).{unknown}",
        named(places),
        way_out or f"Merge groups until each holds more than one value of {name}, or leave {name} out of this table.",
        name,
    )


def empty_cells(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """Values of the target that a printed zero excludes for everybody in a group, which leaves several."""
    if not appetite.zeros_are_disclosive:
        return
    if isinstance(output, Frequencies) and target in output.by:
        told, may = told_by(output, data), allowed(output.codebook, output, target)
    elif isinstance(output, Histogram) and target == output.value:
        bars = bars_told(output, data)
        told, may = bars.of_printed, bars.possible
    elif isinstance(output, Histogram) and target in output.by:
        told, may = bars_told(output, data).of_printed, allowed(output.codebook, output, target)
    else:
        return
    axis = told.by.index(target)
    group = told.counts.sum(axis=axis, keepdims=True)
    several = (told.counts > 0).sum(axis=axis, keepdims=True) > 1
    possible = np.expand_dims(may, [each for each in range(told.counts.ndim) if each != axis])
    empty = (told.counts == 0) & several & told.shown & possible
    if told.codebook[target].missing:  # that nobody's value is missing excludes none
        empty[(slice(None),) * axis + (-1,)] = False
    if not empty.any():
        return
    inside = np.broadcast_to(group, told.counts.shape)
    number = told.number(np.broadcast_to(empty.any(axis=axis, keepdims=True), empty.shape))
    order = np.argsort(inside[empty], kind="stable")
    labels = told.codebook[target].labels
    others = [each for each in range(len(told.by)) if each != axis]
    places = [
        f"{told.label(cell, others)}: nobody has {target}={labels[cell[axis]]}"
        for cell in np.argwhere(empty)[order].tolist()
    ]
    yield Found.of(
        "values excluded",
        False,
        output.name,
        int(empty.sum()),
        told.who(np.broadcast_to(empty.any(axis=axis, keepdims=True), empty.shape)),
        f"{plural(int(empty.sum()), 'printed zero')} exclude{'s' * (int(empty.sum()) == 1)} a value of {target} for "
        f"{people(number)}.",
        named(places),
        "Merge levels, unless these values cannot occur in such a group.",
    )
