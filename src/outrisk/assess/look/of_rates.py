"""Rates of which few people have the event, one person makes the cell, or few make up most of a sum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from outrisk.appetite import Appetite
from outrisk.assess.look.contributions import dominance
from outrisk.assess.look.finding import Found, Rows, counted, named, people, plural
from outrisk.assess.look.told import cell_rows
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output
from outrisk.outputs.tables.magnitudes import Magnitudes
from outrisk.outputs.tables.rates import Rates
from outrisk.problem.released import half_digit


@dataclass(frozen=True, eq=False)
class Cell:
    """A cell that is not withheld: its label, its records, those of them that add to its numerator, and whether what is
    printed would be another number if one did.
    """

    label: str
    rows: Rows
    events: Rows
    shows: bool


def of_rates(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """Cells of a table of rates in which fewer than `safe_threshold` people have the event, nobody has, all have, or
    one person is; and sums per another that few people make up.

    Numerators count as told where they are not printed: rates tell whether there are any, their limits how many.
    """
    if not isinstance(output, Rates):
        return
    cells = _cells(output, data)
    yield from few_events(output, output.numerator, cells, data, appetite, _given_away(output))
    names = output.sums.names
    tells = output.numerator in names or [len(data.codebook[name].values) for name in names] == [2]
    yield from same_answers(output, output.numerator, output.by, cells, data, names[0] if tells else "")
    for sums, told in _sums(output):
        for finding in dominance(sums, data, appetite):
            yield finding if told else replace(finding, certain=False, about="")


def few_events(
    output: Output, numerator: str, cells: Sequence[Cell], data: Microdata, appetite: Appetite, more: str
) -> Iterator[Found]:
    """Cells in which some people add to the numerator, but fewer than `safe_threshold`; `more` to be said of them."""
    few = [each for each in cells if 0 < data.people(each.events) < appetite.safe_threshold]
    if few:
        few.sort(key=lambda each: data.people(each.events))
        yield Found.of(
            "small cells",
            False,
            output.name,
            len(few),
            np.concatenate([each.events for each in few]),
            f"{plural(len(few), 'cell')} of {len(cells):,} rest{'s' * (len(few) == 1)} on fewer than "
            f"{appetite.safe_threshold} {counted(data)} that add to {numerator}{more}.",
            named([f"{each.label}: {data.people(each.events):,}" for each in few]),
            "Merge levels, or withhold these cells.",
        )


def _cells(output: Rates, data: Microdata) -> list[Cell]:
    """Those that hold somebody and are not withheld."""
    rows = cell_rows(output.cells, data)
    adds = output.sums.adds(data.take(rows))
    rows, adds = rows[np.isfinite(adds)], adds[np.isfinite(adds)]
    codes = [data.codes[rows, data.codebook.index(name)].astype(np.intp) for name in output.by]
    place = np.ravel_multi_index(tuple(codes), output.cells.shape) if codes else np.zeros(len(rows), np.intp)
    numerators = np.asarray(np.bincount(place, adds, len(output.cells.labels)), dtype=np.float64)
    hidden = output.protection.hides(numerators)
    variable = data.codebook[output.denominator]
    time = np.array([*variable.values, *[0.0] * variable.missing])[data.codes[rows, data.codebook.index(variable.name)]]
    shown = _shows(output, np.asarray(np.bincount(place, time, len(output.cells.labels)), dtype=np.float64))
    return [
        Cell(label, rows[place == at], rows[(place == at) & (adds > 0)], bool(shown[at]))
        for at, label in enumerate(output.cells.labels)
        if (place == at).any() and not hidden[at]
    ]


def _shows(output: Rates, time: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether one event more would be printed, in cells with so much time (cells,)."""
    if "numerator" in output.statistics:
        return np.ones(len(time), np.bool_)
    if "rate" not in output.statistics or not output.whole:
        return np.zeros(len(time), np.bool_)
    return np.asarray(output.per >= half_digit(output.digits["rate"]) * time)


def same_answers(
    output: Output,
    numerator: str,
    by: Sequence[str],
    cells: Sequence[Cell],
    data: Microdata,
    about: str,
    of_nobody: str = "it is 0, or false, for everybody",
) -> Iterator[Found]:
    """Cells in which nobody adds to the numerator, all do, or one person is; `about`: the variable that this tells,
    of_nobody: what holds in cells of the first kind.
    """
    nobody = [each for each in cells if each.shows and not len(each.events)]
    alone = [each for each in cells if len(each.events) and data.people(each.rows) == 1]
    everybody = [each for each in cells if len(each.events) == len(each.rows) and each not in alone]
    who = " and ".join(by) or "that they are in the table"
    for found, certain, what in (
        (nobody, True, of_nobody),
        (alone, True, "one person makes up the rate"),
        (everybody, False, "it is above 0, or true, for everybody: told to whoever knows how many they are"),
    ):
        if found:
            rows = np.concatenate([each.rows for each in found])
            number = people(data.people(rows))
            told = f"is told for certain to anybody who knows {who}" if certain else "may be told"
            yield Found.of(
                "same answer",
                certain,
                output.name,
                len(found),
                rows,
                f"{numerator} of {number} {told}: {plural(len(found), 'cell')} in which {what}.",
                named([f"{each.label}: {people(data.people(each.rows))}" for each in found]),
                "Merge these cells with others, or withhold them.",
                about if certain else "",
            )


def _given_away(output: Rates) -> str:
    hidden = "numerator" not in output.statistics and "limits" in output.statistics
    return "; how many they are is not printed, but limits may give it away" if hidden else ""


def _sums(output: Rates) -> Iterator[tuple[Magnitudes, bool]]:
    """The sums that a rate is made of, as tables of their own, and whether they are printed; numerators that count
    records are none.
    """
    for role, variable in (("numerator", output.numerator), ("denominator", output.denominator)):
        if variable not in output.codebook or variable in output.by or set(output.codebook[variable].values) <= {0, 1}:
            continue
        digits = int(output.digits.get(role, 0))
        sums = Magnitudes(
            output.codebook, output.name, variable, output.by, ("sum",), output.where, output.weight, (digits,)
        )
        yield sums, role in output.statistics
