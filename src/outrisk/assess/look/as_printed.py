"""Values that means, sums, quantiles and modes of a cell tell, as far as their digits and top codes go: of one person,
of people who are all alike, and the least and the largest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from outrisk.appetite import Appetite
from outrisk.assess.look.contributions import Array, Cell, Summary, all_alike, cells_of
from outrisk.assess.look.finding import NOBODY, Found, named, people, plural
from outrisk.assess.look.top_codes import is_near, open_from
from outrisk.codebook import format_value
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output
from outrisk.outputs.tables.errors_of_means import ERROR
from outrisk.outputs.tables.magnitudes import Magnitudes
from outrisk.outputs.tables.mode import Mode
from outrisk.outputs.tables.person_time import ENDS
from outrisk.outputs.tables.quantiles import Quantiles
from outrisk.problem.released import ROUNDING, half_digit

_ADVICE = "Merge these cells with others, or withhold them."
_KINDS = (Magnitudes, Quantiles, Mode)


def equal_values(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """Cells of a summary in which all have the same value, where its numbers show it.

    They do where one record makes the cell (or the records of one person), where a standard deviation of 0 (or an
    error, or limits, that show it) or equal least and largest values are printed, and where a mean is at an end of the
    values that count. What all records of a person come to is told where they make a cell. A mode tells the value of
    one person, or the most frequent one. Certain is what the digits leave no other value of, or others within the share
    of the p % rule alone; of those with the top code it is told that they have it or more.
    """
    if not isinstance(output, _KINDS):
        return
    value, cap, support = output.cells.value, _cap(output), _support(output)
    of_top = _told_of_top(output, appetite)
    found: dict[str, list[Cell]] = {}
    for cell in cells_of(output, data):
        how = _told(output, cell, support, cell.people == 1, appetite)
        top = cell.values[-1] >= cap
        how = {"exact": of_top, "near": "open", "own": "", "by one": "open"}.get(how, how) if top else how
        found.setdefault(how, []).append(cell)
    if "own" in found:
        yield _of_one_person(output, found["own"], data)
    if told := [*found.get("exact", ()), *found.get("near", ())]:
        yield all_alike(output.name, value, told, data, near="near" in found)
    if "capped" in found:
        yield at_the_top(output.name, value, cap, found["capped"], data)
    if "open" in found and not _is_rounded(output):
        yield all_alike(output.name, value, found["open"], data, certain=False)
    if "by one" in found:
        yield known_by_one(output.name, value, found["by one"], data)


def _told(output: Summary, cell: Cell, support: Array, one: bool, appetite: Appetite) -> str:
    """How the value of all records of a cell, or of `one` person, is told: 'exact', 'near' or 'open' (see `as_far_as`),
    'by one' to who has it, 'own' of what several records of a person come to; or ''.
    """
    (low, high), first = _mean(output, cell), float(cell.values[0])
    known = np.isfinite(low)
    if first != cell.values[-1]:
        return "own" if one and known else ""
    if one or _shows_none(output, cell, support):
        how = as_far_as(first, support, low, high, appetite) if known else ""
        alike = not one and isinstance(output, Magnitudes)  # that least and largest print the same leaves two values
        return "by one" if alike and how in ("", "open") else how
    if not isinstance(output, Magnitudes) or first not in support[[0, -1]] or len(support) < 2 or not known:
        return ""
    n = float(cell.weights.sum()) / max(float(cell.weights.min()), 1e-300)  # one record moves the mean by an n-th
    return as_far_as(first, support, first + (low - first) * n, first + (high - first) * n, appetite)


def as_far_as(value: float, support: Array, low: float, high: float, appetite: Appetite) -> str:
    """Whether no other value of the support lies from a low to a high end ('exact'), none that is further off than the
    share of the p % rule ('near'), or such ('open').
    """
    left = support[(support >= low) & (support <= high)]
    if (left == value).all():
        return "exact"
    return "near" if np.abs(left - value).max() < appetite.safe_pratio_p * abs(value) else "open"


def _support(output: Summary) -> Array:
    """The values that count, ascending; of a category their places."""
    if isinstance(output, Magnitudes | Quantiles):
        return np.unique(output.support)
    variable = output.codebook[output.cells.value]
    values = variable.values if variable.numeric else range(len(variable.values))
    return np.array(values, dtype=np.float64)


def _cap(output: Summary) -> float:
    """The top code, where larger values count as it."""
    return open_from(output.codebook, output.cells.value, output.protection.top_code, output.cells.where)


def _told_of_top(output: Summary, appetite: Appetite) -> str:
    """'near' where the top code leaves values within the share of the p % rule alone, else 'capped'."""
    of = output.codebook, output.cells.value, output.protection.top_code, output.cells.where
    return "near" if is_near(*of, appetite.safe_pratio_p) else "capped"


def _mean(output: Summary, cell: Cell) -> tuple[float, float]:
    """From where to where what is printed of a cell leaves its mean, of records that are alike; infinite where nothing
    tells it.
    """
    mean, total = float(cell.values[0]), float(cell.weights.sum())
    if isinstance(output, Quantiles):
        return _rounded(mean, float(half_digit(output.digits)))
    if not isinstance(output, Magnitudes):
        return mean, mean
    half, mean = output.half, float(cell.values @ cell.weights) / max(total, 1e-300)
    ends = [_rounded(mean, half["mean"])] if "mean" in half else []
    if "sum" in half and total > 0.0:
        low, high = _rounded(mean * total, half["sum"])
        low, high = low - 2.0 * output.protection.half_of_sums, high + 2.0 * output.protection.half_of_sums
        if not output.weight or mean == 0.0:
            ends.append((low / total, high / total))
        elif "count" in half and total > 2.0 * half["count"]:
            of = [end / weight for end in (low, high) for weight in _rounded(total, half["count"])]
            ends.append((min(of), max(of)))
    return max((low for low, _ in ends), default=-np.inf), min((high for _, high in ends), default=np.inf)


def _rounded(number: float, half: float) -> tuple[float, float]:
    """From where to where a number lies by its print."""
    printed = float(np.round(number / (2.0 * half)) * (2.0 * half))
    return printed - half * ROUNDING, printed + half * ROUNDING


def _is_rounded(output: Summary) -> bool:
    """Whether sums are printed as multiples, and no means."""
    return isinstance(output, Magnitudes) and bool(output.protection.round_to) and "mean" not in output.statistics


def _shows_none(output: Summary, cell: Cell, support: Array) -> bool:
    """Whether equal least and largest values, or a standard deviation of 0, or an error or limits beside it, are
    printed to digits at which one of the records with the next value would show.
    """
    if isinstance(output, Quantiles):
        return {0.0, 1.0} <= set(output.probabilities)
    if not isinstance(output, Magnitudes):
        return False
    n, total, least = len(cell.values), float(cell.weights.sum()), float(cell.weights.min())
    if n < 2 or total <= 1.0:
        return False
    one = float(np.diff(support).min(initial=np.inf)) * np.sqrt(
        max(least * (total - least), 0.0) / total / (total - 1.0)
    )
    unit = {"sd": 1.0, ERROR: 1.0 / np.sqrt(n), ENDS[1]: float(output.errors.quantile(n)) / np.sqrt(n)}
    return any(unit[each] * one > half for each, half in output.half.items() if each in unit)


def _of_one_person(output: Summary, cells: Sequence[Cell], data: Microdata) -> Found:
    value, many = output.cells.value, plural(len(cells), "cell")
    how = f"comes to is told for certain: {many} with the records of one person."
    return _told_of(output.name, value, cells, data, f"What {value}", how)


def at_the_top(output: str, value: str, top: float, cells: Sequence[Cell], data: Microdata) -> Found:
    """The finding of cells in which everybody has the top code: which value is not told, that it is no less is."""
    cells, many = sorted(cells, key=lambda cell: len(cell.values)), plural(len(cells), "cell")
    how = f"is told for certain to be {format_value(top)} or more, the top code: {many} in which everybody has it."
    return _told_of(output, value, cells, data, value, how, of_people=True)


def known_by_one(output: str, value: str, cells: Sequence[Cell], data: Microdata) -> Found:
    """The finding of cells that are shown to have one value, and not which: who has it knows that of the others."""
    how = "is told for certain to who knows that of one of them: the printed numbers show that all have the same in "
    return _told_of(output, value, cells, data, value, f"{how}{plural(len(cells), 'cell')}.")


def _told_of(
    output: str, value: str, cells: Sequence[Cell], data: Microdata, what: str, how: str, of_people: bool = False
) -> Found:
    """The finding of what is certain of all people in some cells, whose sizes are told in records, or `of_people`."""
    who = np.concatenate([cell.rows for cell in cells])
    sizes = [people(data.people(each.rows)) if of_people else plural(len(each.values), "record") for each in cells]
    places = named([f"{cell.label}: {size}" for cell, size in zip(cells, sizes, strict=True)])
    said = f"{what} of {people(data.people(who))} {how}"
    return Found.of("same answer", True, output, len(cells), who, said, places, _ADVICE, value)


def extremes(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """Least and largest values that fewer than `safe_threshold` people have; certain is what the digits leave one value
    of, or others within the share of the p % rule alone. A top code is none that anybody is known to have.
    """
    if not isinstance(output, Quantiles) or not {0.0, 1.0} & set(output.probabilities):
        return
    support, cap, half = _support(output), _cap(output), float(half_digit(output.digits))
    of_top = _told_of_top(output, appetite)
    found: dict[str, list[tuple[int, str, Cell, float]]] = {}
    for cell in cells_of(output, data):
        for probability, name, value in ((0.0, "least", cell.values[0]), (1.0, "largest", cell.values[-1])):
            number = data.people(cell.rows[cell.values == value])
            if probability in output.probabilities and number < appetite.safe_threshold:
                how = as_far_as(value, support, *_rounded(value, half), appetite)
                how = (of_top if how == "exact" else "capped") if value >= cap else how
                found.setdefault(how, []).append((number, f"{cell.label}: the {name} value", cell, value))
    if told := [*found.get("exact", ()), *found.get("near", ())]:
        yield _of_few(output, told, appetite, "those")
    if "open" in found:
        yield _of_few(output, found["open"], appetite, "to the printed digits those", certain=False)
    if "capped" in found:
        top = f"the top code, {format_value(cap)} or more,"
        yield _of_few(output, found["capped"], appetite, f"{top} and that", certain=False)


def _of_few(
    output: Quantiles,
    ends: Sequence[tuple[int, str, Cell, float]],
    appetite: Appetite,
    whose: str,
    certain: bool = True,
) -> Found:
    ends = sorted(ends, key=lambda each: each[:2])
    return Found.of(
        "extreme values",
        certain,
        output.name,
        len(ends),
        np.concatenate([NOBODY, *(cell.rows[cell.values == value] for _, _, cell, value in ends)]),
        f"{plural(len(ends), 'least or largest value')} of {output.value} {'is' if len(ends) == 1 else 'are'} "
        f"{whose} of fewer than {appetite.safe_threshold} people.",
        named([f"{text} is that of {people(number)}" for number, text, _, _ in ends]),
        "Give the 5 % and 95 % quantiles instead, or top-code the variable.",
        output.value if certain else "",
    )
