"""Values of a few people that means and standard deviations of two nested subsets leave, one taken from the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np

from outrisk.appetite import Appetite
from outrisk.assess.look.differences import group_in_words
from outrisk.assess.look.finding import Found, people, plural
from outrisk.assess.look.known import Known, shape
from outrisk.assess.look.nested import nested
from outrisk.assess.look.of_few_values import Summaries, Told, not_asked, sort_told, summaries_of
from outrisk.assess.look.of_sums import cells_left
from outrisk.assess.look.printed import Numbers, places
from outrisk.assess.look.sets_of_values import FEW, Ends, Work, sets_that_fit
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Output
from outrisk.outputs.conditions.pairs import Pair
from outrisk.outputs.tables.errors_of_means import ERROR
from outrisk.records.schema import MINUS, WITH

_ARITHMETIC = 1e-9  # of a sum of squares
_MOST_PAIRS = 1_000
_ADVICE = "Release only one of the two, or compute both on the same records."
_SPREAD = ("sd", ERROR)


def few_left(
    outputs: Sequence[Output], numbers: Numbers, data: Microdata, appetite: Appetite, inside: bool
) -> Iterator[Found]:
    """Cells of one record to a dozen that are left of a cell of a larger subset, of which one set of values alone has
    the sum and the sum of squares that are left; of several people, as far as these tell some of them.
    """
    groups = [each for each in summaries_of(outputs, numbers, data) if any(_spread(each))]
    alike = ((one, other) for one, other in permutations(groups, 2) if _are_alike(one, other))
    work = Work()
    for (larger, smaller), _ in zip(alike, range(_MOST_PAIRS), strict=False):
        if (pair := nested(numbers, larger.kind.where, smaller.kind.where)) is not None:
            yield from _left(larger, smaller, pair, numbers, data, appetite, inside, work)
    if work.left:
        yield not_asked(WITH.join(dict.fromkeys(each.name for each in groups)), work.left)


def _are_alike(one: Summaries, other: Summaries) -> bool:
    same = one.outputs[0].by == other.outputs[0].by and one.kind.what == other.kind.what
    return same and one.kind.top == other.kind.top


def _spread(group: Summaries) -> Iterator[tuple[str | float, tuple[Array, Array]]]:
    """Its standard deviations and errors, by cell."""
    return ((name, ends) for numbers in group.printed for name, ends in numbers.items() if name in _SPREAD)


def _left(
    larger: Summaries,
    smaller: Summaries,
    pair: Pair,
    numbers: Numbers,
    data: Microdata,
    appetite: Appetite,
    inside: bool,
    work: Work,
) -> Iterator[Found]:
    by, kind, told, one = larger.outputs[0].by, larger.kind, Told(), Told()
    rows = numbers.left(kind, [smaller.kind], data)
    sizes = shape(data.codebook, by)
    ends = larger.total[0] - smaller.total[1], larger.total[1] - smaller.total[0]
    known = Known(by, ends[0].reshape(sizes), ends[1].reshape(sizes), ())
    for left in cells_left(data, kind, by, rows, known) if len(rows) else ():
        if len(left.cell.rows) <= FEW and not work.is_done():
            at = int(places(data, by, left.cell.rows[:1])[0])
            sets = _sets(larger, smaller, at, len(left.cell.rows), (left.low, left.high), work)
            if sets is not None:
                sort_told(left.cell, sets, larger.support, larger.cap, data, appetite, told, one)
    group = group_in_words(data.codebook, pair, kind.where, smaller.kind.where)
    name = f"{larger.name}{MINUS}{smaller.name}"
    how = f"subtracting “{smaller.name}” from “{larger.name}” leaves ({group})"
    for each, whom in ((told, ", though not whose each is"), (one, " to who has another")):
        if each.cells:
            who = np.concatenate(each.rows)
            near = ", or to within the share of the p % rule," * each.near
            whom = whom if any(len(cell.rows) > 1 for cell in each.cells) else ""
            what = (
                f"{kind.what} of {people(data.people(who))} is told{near} for certain{whom}: their mean and standard "
            )
            what += f"deviation that {how} have no other values in {plural(len(each.cells), 'cell')}."
            named_ = each.places() if inside else ""
            yield Found.of("difference of outputs", True, name, len(each.cells), who, what, named_, _ADVICE, kind.what)


def _sets(larger: Summaries, smaller: Summaries, at: int, n: int, total: Ends, work: Work) -> Array | None:
    """All sets of n values (b, n) with the sum and the sum of squares that are left in a cell; None without any."""
    counts = [(int(each.records[0][at]), each.records[0][at] == each.records[1][at]) for each in (larger, smaller)]
    (first, sure), (second, also) = counts
    if not (sure and also and first - second == n and second):
        return None
    middle = (float(larger.total[0][at]) + float(larger.total[1][at])) / 2.0 / first
    whole, part = _squares(larger, at, first, middle), _squares(smaller, at, second, middle)
    if whole is None or part is None:
        return None
    slack = _ARITHMETIC * max(1.0, whole[1])
    squares = whole[0] - part[1] - slack, whole[1] - part[0] + slack
    sd = (0.0, np.inf)
    if n > 1:
        near, far = _squared(total[0] / n - middle, total[1] / n - middle)
        sd = _root((squares[0] - n * far) / (n - 1)), _root((squares[1] - n * near) / (n - 1))
    sets = sets_that_fit(larger.support, n, total, sd, work=work)
    if sets is None:
        return None
    found = ((sets - middle) ** 2).sum(axis=1)
    return np.asarray(sets[(found >= squares[0]) & (found <= squares[1])])


def _squares(group: Summaries, at: int, n: int, middle: float) -> Ends | None:
    """From where to where the squares of n values, each less some number, sum to; None where nothing tells it."""
    sd = (0.0, np.inf if n > 1 else 0.0)
    for name, (low, high) in _spread(group):
        times = 1.0 if name == "sd" else float(np.sqrt(n))
        if np.isfinite([low[at], high[at]]).all():
            sd = max(sd[0], float(low[at]) * times), min(sd[1], float(high[at]) * times)
    mean = float(group.total[0][at]) / n, float(group.total[1][at]) / n
    if not np.isfinite([sd[1], *mean]).all():
        return None
    near, far = _squared(mean[0] - middle, mean[1] - middle)
    return (n - 1) * sd[0] ** 2 + n * near, (n - 1) * sd[1] ** 2 + n * far


def _squared(low: float, high: float) -> Ends:
    """From where to where the square of a number lies."""
    return (0.0 if low <= 0.0 <= high else min(low**2, high**2)), max(low**2, high**2)


def _root(number: float) -> float:
    return float(np.sqrt(max(number, 0.0)))
