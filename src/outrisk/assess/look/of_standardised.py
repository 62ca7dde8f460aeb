"""Standardised rates of groups in which few people have the event, nobody has, all have, or one person is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from outrisk.appetite import Appetite
from outrisk.assess.look.finding import Found
from outrisk.assess.look.of_rates import Cell, few_events, same_answers
from outrisk.assess.look.once import refit
from outrisk.assess.look.told import complete
from outrisk.codebook import format_value
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output
from outrisk.outputs.smooth.standardised import Standardised
from outrisk.problem.influence import records_of_model

_NO_INFORMATION = np.zeros((0, 0))
_OF_NOBODY = ("n", "person-time", "expected")  # numbers that say nothing of events


def of_standardised(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """Groups with fewer events than `safe_threshold`, with none, with nothing else, or of one person.

    Events count as told where they are not printed, as those of rates do: a rate tells whether there are any, the
    limits or the standard error of a ratio how many. A group with no printed rate and no counts tells nothing.
    """
    if not isinstance(output, Standardised):
        return
    cells = _cells(output, data)
    numerator = f"{output.event} = {format_value(output.happened)}"
    yield from few_events(output, numerator, cells, data, appetite, _given_away(output))
    about = output.event if len(data.codebook[output.event].values) == 2 else ""
    yield from same_answers(output, numerator, output.by, [each for each in cells if each.shows], data, about)


def _cells(output: Standardised, data: Microdata) -> list[Cell]:
    """Groups that hold somebody, and of which something is printed."""
    codebook = data.codebook
    rows = complete(data, output.where, output.name, output.variables)
    codes = data.codes[rows]
    happened = codes[:, codebook.index(output.event)] == codebook[output.event].code_of[output.happened]
    place = np.zeros(len(rows), np.intp)
    for name in output.by:
        place = place * len(codebook[name].values) + codes[:, codebook.index(name)]
    numbers = refit(output, data) if len(rows) else np.full(len(output.labels), np.nan)
    of_events = np.array([each not in _OF_NOBODY for each in output.shown])
    printed = np.asarray((np.isfinite(numbers).reshape(len(output.names), -1) & of_events).any(axis=1))
    shows = _shows(output, data)
    return [
        Cell(label, rows[place == at], rows[(place == at) & happened], bool(shows[at]))
        for at, label in enumerate(output.names)
        if printed[at] and (place == at).any()
    ]


def _shows(output: Standardised, data: Microdata) -> NDArray[np.bool_]:
    """Whether one event more would be printed, in whichever stratum of a group, (groups,)."""
    (part,) = output.parts(np.zeros(len(output.labels)))
    totals = records_of_model(part.model, data.codes).totals(np.ones(len(data)))
    before = output.publish(part.map.numbers(totals, _NO_INFORMATION))
    size, strata = len(output.names), len(output.strata.labels)
    found = np.ones(size, np.bool_)
    for stratum in range(strata):
        more = totals.copy()
        more[stratum : size * strata : strata] += 1.0
        after = output.publish(part.map.numbers(more, _NO_INFORMATION))
        apart = (after[0] != before[0]) | (after[1] != before[1])
        found &= apart.reshape(size, -1).any(axis=1)
    return found


def _given_away(output: Standardised) -> str:
    """Whether how many they are follows from numbers of other kinds."""
    ratio = output.method == "indirect" and {"limits", "standard error"} & set(output.columns)
    crude = {"crude rate", "person-time" if output.time else "n"} <= set(output.columns)
    hidden = "events" not in output.columns and (ratio or crude)
    return "; how many they are is not printed, but the other numbers of the group may give it away" if hidden else ""
