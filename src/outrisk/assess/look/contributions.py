"""Sums, means, quantiles and modes that one or few people decide: small cells, dominance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outrisk.appetite import Appetite
from outrisk.assess.look.as_cells import known_of_cells
from outrisk.assess.look.finding import Found, Rows, counted, named, people, plural
from outrisk.assess.look.once import some
from outrisk.assess.look.printed import Numbers, sum_kind
from outrisk.assess.look.told import cell_rows, rows_in
from outrisk.assess.look.top_codes import most_above, open_from
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output
from outrisk.outputs.smooth.shape import Shape
from outrisk.outputs.tables.cells import Cells
from outrisk.outputs.tables.histogram import Histogram
from outrisk.outputs.tables.magnitudes import Magnitudes
from outrisk.outputs.tables.mode import Mode
from outrisk.outputs.tables.protection import UNPROTECTED
from outrisk.outputs.tables.quantiles import Quantiles

Array = NDArray[np.float64]
Summary = Magnitudes | Quantiles | Mode | Shape
DOMINANCE = "dominance"
_KINDS = (Magnitudes, Quantiles, Mode)


@dataclass(frozen=True, eq=False)
class Cell:
    """One cell of a summary: its label and the values (n,) of its records, ascending; in their order their weights
    (n,), which records they are (n,), and the person of each (n,).
    """

    label: str
    values: Array
    weights: Array
    rows: Rows
    owner: Rows

    @cached_property
    def people(self) -> int:
        """How many people the records are of."""
        return len(np.unique(self.owner))

    @cached_property
    def by_person(self) -> tuple[Array, Rows]:
        """What each person contributes, without its sign, the largest first; and whose each record is in this order."""
        parts = np.abs(self.values * self.weights)
        if self.people == len(parts):  # which takes less
            order, rank = np.lexsort((self.owner, -parts)), np.arange(len(parts))
            rank[order] = np.arange(len(parts))
            return parts[order], rank
        _, owner = np.unique(self.owner, return_inverse=True)
        parts = np.bincount(owner, weights=parts).astype(np.float64)
        order = np.argsort(-parts, kind="stable")
        return parts[order], np.argsort(order)[owner]


def cells_of(output: Summary, data: Microdata) -> list[Cell]:
    """The cells of a summary that hold somebody and are not withheld."""
    cells, top = output.cells, output.protection.top_code
    key = id(cells.codebook), cells.by, cells.where, cells.weight, cells.value, top
    _, found = some(data, key, lambda: (cells, _every_cell(cells, top, data)))
    hidden = output.protection.hides(np.array([len(cell.values) for cell in found], dtype=np.float64))
    return [cell for cell, withheld in zip(found, hidden, strict=True) if not withheld]


def _every_cell(cells: Cells, top: float | None, data: Microdata) -> list[Cell]:
    """Those that hold somebody."""
    rows, codebook = cell_rows(cells, data), data.codebook
    variable, of = codebook[cells.value], data.codes[rows]
    support = np.array(variable.values if variable.numeric else range(len(variable.values)), dtype=np.float64)
    support = support if top is None or not variable.numeric else np.minimum(support, float(top))
    which = of[:, codebook.index(cells.value)]
    codes = tuple(of[:, codebook.index(name)].astype(np.intp) for name in cells.by)
    place = np.ravel_multi_index(codes, cells.shape) if codes else np.zeros(len(rows), dtype=np.intp)
    rank = np.unique(support, return_inverse=True)[1].astype(np.uint16)  # few, which takes less to sort
    order = np.lexsort((rank[which], as_small(place)))
    place, values, rows = place[order], support[which[order]], rows[order]
    weights = np.ones(len(rows))
    if cells.weight:
        weights = np.array(codebook[cells.weight].values, dtype=np.float64)[of[order, codebook.index(cells.weight)]]
    owner = rows if data.person is None else data.person[rows]
    start = np.flatnonzero(np.r_[True, place[1:] != place[:-1]]) if len(place) else np.zeros(0, np.intp)
    labels = cells.labels
    return [
        Cell(labels[place[low]], values[low:high], weights[low:high], rows[low:high], owner[low:high])
        for low, high in zip(start, [*start[1:], len(place)][: len(start)], strict=True)
    ]


def as_small(place: Rows) -> NDArray[np.integer[Any]]:
    """Places as small numbers, where they are few, which takes less to sort."""
    return place.astype(np.uint16) if place.max(initial=0) <= np.iinfo(np.uint16).max else place


def few_records(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """Cells of a summary, and bars of a histogram, of fewer than `safe_threshold` records."""
    if isinstance(output, Histogram):
        found = _bars(output, data)
    elif isinstance(output, (*_KINDS, Shape)):
        found = [(cell.label, cell.rows, cell.people) for cell in cells_of(output, data)]
    else:
        return
    few = [each for each in found if 0 < each[2] < appetite.safe_threshold]
    small = sorted((number, label) for label, _, number in few)
    if small:
        yield Found.of(
            "small cells",
            False,
            output.name,
            len(small),
            np.concatenate([rows for _, rows, _ in few]),
            f"{plural(len(small), 'cell')} of {len(found):,} rest{'s' * (len(small) == 1)} on fewer than "
            f"{appetite.safe_threshold} {counted(data)}.",
            named([f"{label}: {number:,}" for number, label in small]),
            "Merge levels, or withhold these cells.",
        )


def _bars(output: Histogram, data: Microdata) -> list[tuple[str, Rows, int]]:
    """Records, and how many people, of the occupied bars that are printed as they are, or as a share."""
    plain = replace(output, show="counts", weight="", digits=None, protection=UNPROTECTED)
    counts = plain.refit(data)
    (tally,) = plain.parts(counts)[0].blocks
    rule = output.protection
    hidden = rule.hides(counts) | (output.show == "counts" and rule.round_to is not None)
    bars = [(at, rows_in(tally, [at], data)) for at in np.flatnonzero((counts > 0) & ~hidden).tolist()]
    return [(output.labels[at], rows, data.people(rows)) for at, rows in bars]


def dominance(output: Output, data: Microdata, appetite: Appetite, numbers: Numbers | None = None) -> Iterator[Found]:
    """Sums and means of which few people make up most: the (n, k) rule and the p % rule, on absolute values.

    (n, k): the n largest contributions are more than the share k of the total. p %: what is left without the two
    largest is less than the share p of the largest, so that the second can tell the largest to within p: where the
    printed digits, a top code, or weights that may be others do not blur that and no value is below 0 it is certain.
    A mean is a sum to whoever has its number of records: from the output itself, or from others (`numbers`). Of a mean
    alone nothing is certain: 12.25 of 8 records leaves 96 beside 2, of 4 it leaves 47.
    People: the fewest who break the rule.
    """
    if not isinstance(output, Magnitudes) or not {"mean", "sum"} & set(output.statistics):
        return
    cells = cells_of(output, data)
    of = output.codebook, output.value, output.protection.top_code, output.where
    cap, above = open_from(*of), most_above(*of)
    digits = dict(zip(output.shown, output.decimals[: len(output.shown)].tolist(), strict=True))
    blurs = [_blur(cell, output, digits) for cell in cells]
    if numbers is not None and not output.weight and any("p %" in broken_rules(cell, appetite) for cell in cells):
        most = known_of_cells(numbers, sum_kind(output), output.by, data)[1]
        place = {label: at for at, label in enumerate(output.cells.labels)}
        blurs = [
            min(blur, float(most[place[cell.label]] - cell.values.sum()))
            for blur, cell in zip(blurs, cells, strict=True)
        ]
    blurs = [blur + weight_capped(cell, cap) * above for blur, cell in zip(blurs, cells, strict=True)]
    yield from dominated(output.name, output.value, cells, blurs, appetite)


def dominated(
    output: str, value: str, cells: Sequence[Cell], blurs: Sequence[float], appetite: Appetite
) -> Iterator[Found]:
    """Cells that break a rule of dominance, of which a sum is told to within a blur each (cells,)."""
    each = zip(cells, blurs, strict=True)
    found = [(cell, rules, blur) for cell, blur in each if (rules := broken_rules(cell, appetite))]
    within = [row[:2] for row in found if "p %" in row[1] and _is_told(row[0], row[2], appetite.safe_pratio_p)]
    if within:
        what = (
            f"{value} of {people(len(within))} can be worked out to within {100 * appetite.safe_pratio_p:g} % "
            f"by the second largest contributor of the cell ({plural(len(within), 'cell')}; p % rule)."
        )
        yield _dominated(output, within, appetite, value, what)
    others = [row[:2] for row in found if row[:2] not in within]
    if others:
        what = (
            f"In {plural(len(others), 'cell')} few people make up most of {value}: the (n, k) rule with "
            f"n = {appetite.safe_nk_n} and k = {appetite.safe_nk_k:g}, or the p % rule with p = "
            f"{appetite.safe_pratio_p:g}, is broken."
        )
        yield _dominated(output, others, appetite, "", what)


def _dominated(output: str, rows: list[tuple[Cell, list[str]]], appetite: Appetite, about: str, what: str) -> Found:
    rows = sorted(rows, key=lambda row: len(row[0].values))
    return Found.of(
        DOMINANCE,
        bool(about),
        output,
        len(rows),
        np.concatenate(
            [_largest(cell, 1 if "p %" in rules else _fewest(cell, appetite.safe_nk_k)) for cell, rules in rows]
        ),
        what,
        named([f"{cell.label}: {plural(len(cell.values), 'record')}, {' and '.join(rules)}" for cell, rules in rows]),
        "Merge these cells with others, withhold them (and a second cell of the row where totals are printed), or "
        "top-code the variable.",
        about,
    )


def weight_capped(cell: Cell, cap: float) -> float:
    """How much records of the largest contributor weigh that have a top code; cap: see `open_from`."""
    if not len(cell.values) or cell.values[-1] < cap:
        return 0.0
    capped = (cell.by_person[1] < 1) & (cell.values >= cap)
    return float(cell.weights[capped].sum())


def is_capped(cell: Cell, cap: float) -> bool:
    """Whether what the largest contributor has is a top code, or is made of such; cap: see `open_from`."""
    return weight_capped(cell, cap) > 0.0


def _largest(cell: Cell, number: int) -> Rows:
    """The records of the people who contribute most."""
    return cell.rows[cell.by_person[1] < number]


def _fewest(cell: Cell, share: float) -> int:
    """How many of the largest contributions make up more than a share of the total."""
    part = np.cumsum(cell.by_person[0])
    return int(np.argmax(part > share * part[-1])) + 1


def _blur(cell: Cell, output: Magnitudes, decimals: Mapping[str, int]) -> float:
    """To within how much the sum of a cell is printed, or its mean beside its records; of a weighted one nobody knows
    the weight of another, and so not the value, where there are several.
    """
    if output.weight and len(set(output.codebook[output.weight].values)) > 1:
        return np.inf
    rounding = output.protection.half_of_sums
    counted = "count" in output.shown and output.protection.round_to is None
    halves = [
        0.5 * 10.0**-digits * cell.weights.sum() if statistic == "mean" else max(0.5 * 10.0**-digits, rounding)
        for statistic, digits in decimals.items()
        if statistic == "sum" or (statistic == "mean" and counted)
    ]
    return float(min(halves, default=np.inf))


def _is_told(cell: Cell, blur: float, share: float) -> bool:
    """Whether the printed number, less the second largest contribution, is the largest to within a share of it."""
    part = cell.by_person[0]
    return len(part) > 1 and bool((cell.values >= 0).all()) and part[2:].sum() + blur < share * part[0]


def broken_rules(cell: Cell, appetite: Appetite) -> list[str]:
    """Which dominance rules a cell breaks; none where its total is 0."""
    part = cell.by_person[0]
    total = float(part.sum())
    if total <= 0:
        return []
    rules = {
        "(n, k)": float(part[: appetite.safe_nk_n].sum()) / total > appetite.safe_nk_k,
        "p %": float(part[2:].sum()) / float(part[0]) < appetite.safe_pratio_p,
    }
    return [name for name, is_broken in rules.items() if is_broken]


def all_alike(
    output: str, value: str, cells: Sequence[Cell], data: Microdata, certain: bool = True, near: bool = False
) -> Found:
    """The finding of cells in which everybody has the same value of a variable, or expression; near: of some it is told
    to within the share of the p % rule alone.
    """
    cells = sorted(cells, key=lambda cell: len(cell.values))
    who = np.concatenate([cell.rows for cell in cells])
    how = f"is told{', or to within the share of the p % rule,' * near} for certain" if certain else "may be told"
    return Found.of(
        "same answer",
        certain,
        output,
        len(cells),
        who,
        f"{value} of {people(data.people(who))} {how}: "
        f"{plural(len(cells), 'cell')} in which everybody has the same value.",
        named([f"{cell.label}: {people(cell.people)}" for cell in cells]),
        "Merge these cells with others, or withhold them.",
        value if certain and value in data.codebook else "",
    )
