"""Numbers of a table of rates: what its rates are per, what its denominators were divided by, which limits it has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.tables.person_time import ENDS, Interval, Limits
from outrisk.outputs.tables.rates import RatesEntry
from outrisk.readers.arranged_cells import Arranged, Key
from outrisk.readers.printed_number import Printed, read_printed

_UNITS = tuple(10.0**power for power in range(8))  # that rates are per, where the table does not say it
_SEARCH = 1.3e-4  # of an event, by which R's uniroot, as epitools' pois.exact calls it, may miss a limit
_EXACT = 1e-6  # relative, of numbers at full precision


@dataclass(frozen=True)
class RatesFound:
    """Numbers of the cells of a table, by statistic."""

    cells: tuple[Mapping[str, Printed], ...]

    @classmethod
    def of(cls, arranged: Arranged) -> RatesFound:
        """Those of all cells and totals."""
        numbers: dict[Key, dict[str, Printed]] = {}
        for name, texts in arranged.texts.items():
            for key, text in texts.items():
                number = read_printed(text, arranged.comma)
                if number is not None and not number.below:
                    numbers.setdefault(key, {})[name] = number
        return cls(tuple(numbers.values()))

    def has(self, *names: str) -> list[list[Printed]]:
        """Cells that have all of these numbers."""
        return [[cell[name] for name in names] for cell in self.cells if all(name in cell for name in names)]

    def per(self, unit: float) -> bool:
        """Whether rates are events per `unit` of the denominator, as far as digits tell."""
        for events, time, rate in self.has("numerator", "denominator", "rate"):
            slack = rate.half * (time.value + time.half) + time.half * rate.value
            slack += 0.0 if events.decimals == 0 else unit * events.half
            if abs(rate.value * time.value - unit * events.value) > slack + _EXACT * unit * events.value:
                return False
        return True

    def fits(self, limits: Limits, unit: float, off_by: float = 0.0) -> bool:
        """Whether limits are these of the events, as far as digits tell: in each cell one time at risk gives the rate
        and both limits as they are printed. unit: rate times denominator per event; off_by: events by which limits may
        be off.
        """
        for cell in self.cells:
            events = cell["numerator"].value if "numerator" in cell else 0.0
            if events <= 0 or not all(end in cell for end in ENDS):
                continue
            lower, upper = limits.of(events)
            low, high = 0.0, math.inf  # of the rate per event
            for name, n, off in (("rate", events, 0.0), (ENDS[0], lower, off_by), (ENDS[1], upper, off_by)):
                if name in cell:
                    low = max(low, (cell[name].value - cell[name].half) / (n + off))
                    high = min(high, (cell[name].value + cell[name].half) / max(n - off, off_by, 1e-12))
            time = cell.get("denominator")
            if time is not None and "rate" in cell and time.value > time.half:
                low, high = max(low, unit / (time.value + time.half)), min(high, unit / (time.value - time.half))
            if low > high * (1 + _EXACT):
                return False
        return True

    def searched(self, level: float, unit: float) -> bool:
        """Whether limits are exact ones that were searched for, and are a little off."""
        exact = Limits("exact", level)
        return not self.fits(exact, unit) and self.fits(exact, unit, _SEARCH)


def unit_of(per: float | None, found: RatesFound, divided: bool, place: str) -> tuple[float, float]:
    """What rates are per, and by what the denominators were divided."""
    if not found.has("numerator", "denominator", "rate"):
        return per or 1.0, (per or 1.0) if divided else 1.0
    for unit, by in [(each, 1.0) for each in _UNITS] if per is None else [(per, 1.0), (per, per)]:
        if found.per(unit / by):
            return unit, by
    of = "so much of the denominator" if per is None else f"{per:g} of the denominator"
    raise OutputError(
        f"{place}: its rates are not its numerators per {of}; correct a number or 'per', or leave one of them "
        "out of the 'statistics'"
    )


def times(texts: Mapping[Key, str], power: int, comma: bool) -> dict[Key, str]:
    """Texts of numbers times a power of ten, with as many digits; other texts as they are."""
    found = {}
    for key, text in texts.items():
        number = read_printed(text, comma)
        shown = "" if number is None else f"{number.value * 10.0**number.decimals:.0f}e{power - number.decimals}"
        found[key] = shown if number is not None and not number.below else text
    return found


def interval_of(found: RatesFound, said: Interval | None, level: float, unit: float, place: str) -> Interval:
    """The first kind of limits that the printed events have, beginning with `said`."""
    kinds: tuple[Interval, ...] = get_args(Interval)
    for kind in kinds if said is None else (said, *kinds):
        if found.fits(Limits(kind, level), unit):
            return kind
    if found.searched(level, unit):
        return "exact"
    raise OutputError(
        f"{place}: its limits are neither {', '.join(kinds[:-1])} nor {kinds[-1]} limits of its numerators at "
        f"{100 * level:g} %; say its 'level', or leave limits out: statistics: [numerator, denominator, rate]"
    )


def around(entry: RatesEntry, codebook: Codebook) -> RatesEntry:
    """The entry with limits as ranges as wide as a search for them may miss."""
    (output,) = entry.build(codebook, 1)
    decimals = dict(zip(output.labels, output.decimals.tolist(), strict=True))
    values = dict(entry.values) if isinstance(entry.values, Mapping) else {}
    for label, value in values.items():
        cell, _, statistic = label.rpartition(": ")
        events = values.get(f"{cell}: numerator")
        if statistic not in ENDS or not isinstance(events, float) or value in ("withheld", "undefined", 0.0):
            continue
        ends = [float(each) for each in str(value).split(" to ")]
        of_events = Limits("exact", entry.level).of(events)[ENDS.index(statistic)]
        apart_ = _SEARCH * ends[-1] / float(of_events) + (0.5 * 10.0 ** -decimals[label] if len(ends) == 1 else 0.0)
        values[label] = f"{ends[0] - apart_:.12g} to {ends[-1] + apart_:.12g}"
    return entry.model_copy(update={"values": values})
