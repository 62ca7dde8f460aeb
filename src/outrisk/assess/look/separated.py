"""Groups of a regression whose records all have one outcome, so that its coefficients run off: separated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outrisk.assess.look.finding import Found, Rows, named, people, plural
from outrisk.assess.look.fits import estimated
from outrisk.assess.look.groups import Span, groups_of
from outrisk.assess.look.told import Flags
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array
from outrisk.outputs.regression.cox import Cox
from outrisk.outputs.regression.fit import Sample
from outrisk.outputs.regression.hazards import Durations
from outrisk.outputs.regression.regression import Regression
from outrisk.outputs.regression.release import ORDERED

_NONE = 1e-9  # of a column, in a group


@dataclass(frozen=True, eq=False)
class _Group:
    label: str
    inside: NDArray[np.intp]  # places among the records
    outcome: float


def separated(output: Regression, sample: Sample, rows: Rows, data: Microdata) -> Iterator[Found]:
    """Groups that columns of a logit, probit, Poisson, negative binomial, multinomial or ordered regression tell apart,
    and that have one outcome, an end of those that there are: a coefficient is infinite then, printed as a large number
    with a larger standard error, and nothing else makes it so.

    Not certain where the coefficients of the group, or the constant, are not printed, and of a Cox model: whoever had
    the event alone at the end says nothing to it.
    """
    if output.kind == "ols":
        return
    y = sample.event if isinstance(sample, Durations) else sample.response
    found = _alike(output, y, rows, data)
    if not found:
        return
    design = estimated(output, sample)[0]
    design = design if output.kind != "cox" else np.column_stack([np.ones(len(y)), design])
    span, printed = Span(design), _printed(output, design)
    told: dict[tuple[bool, str, str], list[_Group]] = {}
    known = np.zeros((2, len(y)), dtype=np.bool_)  # of whom it is said already: perhaps, for certain
    for group in sorted(found, key=lambda group: -len(group.inside)):
        makes = span.of(group.inside)
        if makes is None:
            continue
        certain = bool(printed[np.abs(makes) > _NONE].all()) and output.kind != "cox"
        if not known[int(certain), group.inside].all():
            told.setdefault((certain, *_outcome(output, group.outcome)), []).append(group)
            known[: 1 + certain, group.inside] = True
    for (certain, outcome, about), groups in told.items():
        yield _finding(output, groups, rows, data, certain, outcome, about)


def _alike(output: Regression, y: Array, rows: Rows, data: Microdata) -> list[_Group]:
    """Groups of one outcome."""
    ends: Sequence[int]
    last = max(1, len(output.outcomes) - 1)
    ends = range(last + 1) if output.kind == "mnlogit" else (0, last)
    ends = (0,) if output.kind in ("poisson", "negbin", "cox") else ends
    found = []
    for groups in groups_of(output, rows, data):
        size = groups.sizes()
        for end in ends:
            has_it = groups.sizes(y == end)
            for at in np.flatnonzero((size > 0) & (size == has_it)).tolist():
                found.append(_Group(groups.labels[at], groups.inside(at), float(end)))
        if len(groups.labels) == 1 and found:
            break  # all records alike
    return found


def _printed(output: Regression, design: Array) -> Flags:
    """Which columns' coefficients are printed (k,); none, where the constant is not."""
    if output.kind == "mnlogit":
        return np.full(design.shape[1], bool(output.kept.all()))
    kept: Flags = output.kept_columns
    if output.kind == "cox":
        return np.asarray(np.r_[True, kept])
    if output.kind in ORDERED:  # its thresholds are its constant
        kept = np.r_[output.kept[-len(output.of_shape) :].all(), kept]
    constant = (design == 1.0).all(axis=0)
    return np.asarray(kept & kept[constant].all())


def _outcome(output: Regression, outcome: float) -> tuple[str, str]:
    """What all in a group are, in words, and the variable whose value that is, '' if it is several values."""
    if isinstance(output, Cox):
        return f"without the event{f' of {output.status}' if output.status else ''}", ""
    name, codebook = output.response.side.name, output.codebook
    joint, numbers = output.response.table()
    if len(joint.variables) == 1:
        variable = codebook.variables[joint.variables[0]]
        values = np.flatnonzero(numbers[: len(variable.values)] == outcome)
        if len(values) == 1:
            return f"{variable.name}={variable.labels[values[0]]}", variable.name
    if output.kind in ("logit", "probit"):
        return f"{'' if outcome else 'without '}the event ({output.response.notes or f'{name} = 1'})", ""
    return f"{name} = {outcome:g}", ""


def _finding(
    output: Regression, groups: list[_Group], rows: Rows, data: Microdata, certain: bool, outcome: str, about: str
) -> Found:
    who = np.concatenate([rows[each.inside] for each in groups])
    one = len(groups) == 1
    groups = sorted(groups, key=lambda group: len(group.inside))
    return Found.of(
        "same answer",
        certain,
        output.name,
        len(groups),
        who,
        f"{about or 'The response'} of {people(data.people(who))} {'is told for certain' if certain else 'may be told'}"
        f": {plural(len(groups), 'group')} in which everybody is {outcome}; "
        f"{'its coefficient is' if one else 'their coefficients are'} infinite, printed as "
        f"{'a large number with a larger standard error' if one else 'large numbers with larger standard errors'}.",
        named([f"{each.label}: {people(data.people(rows[each.inside]))}, all {outcome}" for each in groups]),
        "Merge these levels with others, or leave their records out; do not release the model as it is.",
        about if certain else "",
    )
