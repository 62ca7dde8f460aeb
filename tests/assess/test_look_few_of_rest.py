"""Values of a few people that totals leave of withheld cells or of several parts, held against all data with the same
print.
"""

from functools import reduce
from itertools import combinations_with_replacement

import numpy as np
import pytest

from outrisk.appetite import Appetite
from outrisk.assess.look import look
from outrisk.assess.look.of_few_left import few_left
from outrisk.assess.look.printed import Numbers
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import REGISTRY
from outrisk.records.schema import MINUS

AREAS = ("a", "b", "c", "d")
SUPPORTS = (tuple(range(13)), tuple(range(-4, 9)), (0, 1, 2), (0, 5, 6, 7, 30, 100))
SHARE = 0.1


def numbers_of(values, statistic, top):
    """A statistic of sets of values (b, n), by its definition."""
    values = np.minimum(values, top)
    n, total = values.shape[1], values.sum(axis=1)
    with np.errstate(all="ignore"):
        sd = values.std(axis=1, ddof=1) if n > 1 else np.full(len(values), np.nan)
        return {
            "count": np.full(len(values), float(n)),
            "sum": total,
            "mean": total / n,
            "sd": sd,
            "se": sd / np.sqrt(n),
            "cv": sd / (total / n),
            "hhi": (values**2).sum(axis=1) / total**2,
        }[statistic]


def fit(values, own, statistics, decimals, top):
    """Which sets of values (b, n) are printed as their own (n,)."""
    fits = np.ones(len(values), bool)
    for statistic in statistics:
        number, true = numbers_of(values, statistic, top), numbers_of(own[None], statistic, top)[0]
        digits = 0 if statistic in ("count", "sum") else decimals
        if np.isfinite(true):
            fits &= np.abs(number - np.round(true, digits)) <= 0.5 * 10.0**-digits * (1 + 1e-6)
        else:
            fits &= ~np.isfinite(number)
    return fits


def every(support, n):
    return np.array(list(combinations_with_replacement(support, n)), dtype=float).reshape(-1, n)


def random_release(seed):
    """A table of areas of which some are withheld, or outputs on some areas, and one of all of them."""
    rng = np.random.default_rng(seed)
    support, missing = SUPPORTS[rng.integers(4)], bool(rng.integers(2))
    book = Codebook(
        (Variable("area", "categorical", AREAS), Variable("pay", "integer", support, missing=missing)),
    )
    sizes = [int(rng.integers(2, 5)), *rng.integers(0, 3, 2).tolist(), int(rng.integers(1, 4))]
    rows = [(at, rng.integers(len(support))) for at, size in enumerate(sizes) for _ in range(size)]
    rows += [(int(rng.integers(4)), len(support))] * int(missing and rng.integers(3))
    codes = np.array(rows, dtype=np.uint16)
    person = rng.integers(0, len(codes), len(codes)) if rng.random() < 0.2 else None
    person = None if person is None else np.unique(person, return_inverse=True)[1]
    data, decimals = Microdata(book, codes, person=person), int(rng.integers(0, 4))
    below_0 = support[0] < 0
    statistics = [("count", "mean", "sd"), ("count", "sum", "sd"), ("count", "mean", "se"), ("mean", "sd")]
    statistics += [] if below_0 else [("count", "mean", "cv"), ("count", "sum", "hhi")]
    chosen = statistics[rng.integers(len(statistics))]
    top = float(support[rng.integers(1, len(support))]) if rng.random() < 0.2 else np.inf
    return data, chosen, decimals, top, int(rng.integers(2, 5)), bool(rng.integers(2))


def outputs_of(data, chosen, decimals, top, threshold, withheld):
    """Its entries, built."""
    protection = {} if np.isinf(top) else {"top_code": top}
    summary = {"kind": "magnitudes", "value": "pay", "decimals": decimals, "protection": protection}
    shape = summary | {"kind": "shape", "statistics": [each for each in chosen if each in ("cv", "hhi")]}
    own = summary | {
        "statistics": [{"se": "standard error"}.get(each, each) for each in chosen if each not in ("cv", "hhi")]
    }
    entries = [own, shape] if shape["statistics"] else [own]
    if withheld:
        entries += [each | {"by": ["area"], "protection": protection | {"threshold": threshold}} for each in entries]
    else:
        entries += [
            each | {"where": f"area == '{area}'", "name": f"{area} {each['kind']}"}
            for each in entries
            for area in "abc"
        ]
    return [
        one for at, each in enumerate(entries, 1) for one in REGISTRY[each["kind"]](**each).build(data.codebook, at)
    ]


def check(seed):
    """How many findings a random release has; AssertionError for one that other data with the same print break."""
    data, chosen, decimals, top, threshold, withheld = random_release(seed)
    support = np.array(data.codebook["pay"].values, dtype=float)
    known = data.codes[:, 1] < len(support)
    outputs = outputs_of(data, chosen, decimals, top, threshold, withheld)
    found = list(few_left(outputs, Numbers.of(outputs, data), data, Appetite(), True))
    for each in (each for each in found if each.certain):
        assert known[each.who].all()
        groups = [np.sort(support[data.codes[known & (data.codes[:, 0] == at), 1]]) for at in range(4)]
        sizes = [len(group) for group in groups]
        printed = [at for at in range(4) if sizes[at] and f"area={AREAS[at]}" not in each.places]
        if not withheld:
            printed = [AREAS.index(name[0]) for name in each.output.split(MINUS)[1:]]
        rest = [row for row in np.flatnonzero(known) if data.codes[row, 0] not in printed]
        left = every(support, len(rest))
        own = np.sort(support[data.codes[rest, 1]])
        parts = []
        for at in printed:
            sets = every(support, sizes[at])
            parts.append(np.minimum(sets[fit(sets, groups[at], chosen, decimals, top)], top))
        sums = [np.unique(np.stack([part.sum(axis=1), (part**2).sum(axis=1)], axis=1), axis=0) for part in parts]
        totals = reduce(lambda one, other: np.unique((one[:, None] + other[None]).reshape(-1, 2), axis=0), sums)
        whole = np.concatenate([*(groups[at] for at in printed), own])
        capped = np.minimum(left, top)
        pairs = np.stack([capped.sum(axis=1), (capped**2).sum(axis=1)], axis=1)
        pairs, place = np.unique(pairs, axis=0, return_inverse=True)
        fits = np.array([_may_be(totals + one, whole, chosen, decimals, top) for one in pairs])[place.ravel()]
        left = left[fits]
        assert (left == own).all(axis=1).any()
        share = SHARE if "within the share" in each.what else 0.0
        order = np.argsort(support[data.codes[rest, 1]], kind="stable")
        told = [at for at, row in enumerate(np.array(rest)[order]) if row in each.who]
        assert len(told) == len(each.who)
        if "to who has another" in each.what:
            for at in told:
                assert any(_beside(left, own, mine, at, share) for mine in range(len(own)) if mine != at)
            continue
        assert (np.abs(left[:, told] - own[told]).max(axis=0) <= share * np.abs(own[told]) + 1e-9).all()
    return len(found)


def _may_be(totals, whole, chosen, decimals, top):
    """Whether some sums and sums of squares (b, 2) may be those of what is printed of all."""
    n, (total, squares) = len(whole), totals.T
    with np.errstate(all="ignore"):
        sd = np.sqrt(np.maximum(squares - total**2 / n, 0.0) / (n - 1))
        of = {"sum": total, "mean": total / n, "sd": sd, "se": sd / np.sqrt(n), "cv": sd / (total / n)}
        of |= {"hhi": squares / total**2, "count": np.full(len(total), float(n))}
    fits = np.ones(len(total), bool)
    for statistic in chosen:
        true, digits = numbers_of(whole[None], statistic, top)[0], 0 if statistic in ("count", "sum") else decimals
        if np.isfinite(true):
            fits &= np.abs(of[statistic] - np.round(true, digits)) <= 0.5 * 10.0**-digits * (1 + 1e-6) + 1e-9
    return fits.any()


def _beside(left, own, mine, at, share):
    """Whether all sets with the value of one have that of another, the others in order."""
    having = left[(left == own[mine]).any(axis=1)]
    others = np.array([np.delete(each, np.argmax(each == own[mine])) for each in having])
    place = at - (at > mine)
    return bool((np.abs(others[:, place] - own[at]) <= share * abs(own[at]) + 1e-9).all())


def test_what_is_called_certain_is_so_in_all_data_with_the_same_print():
    assert sum(check(seed) > 0 for seed in range(60)) > 5


def test_parts_whose_spread_is_not_printed_tell_nothing():
    assert check(20201) == 0


def whole_and_table(pays, threshold=10):
    """A hundred people in three areas, and some in the fourth, which is withheld."""
    rng = np.random.default_rng(1)
    book = Codebook((Variable("area", "categorical", AREAS), Variable("pay", "integer", tuple(range(1001)))))
    rows = [*((at % 3, pay) for at, pay in enumerate(rng.integers(50, 900, 100))), *((3, pay) for pay in pays)]
    data = Microdata(book, np.array(rows, dtype=np.uint16))
    return data, outputs_of(data, ("count", "mean", "sd"), 3, np.inf, threshold, True)


@pytest.mark.parametrize("pays", [[880, 820], [300, 700]])
def test_two_people_who_are_withheld_are_told_by_totals(pays):
    data, outputs = whole_and_table(pays)
    (found,) = [each for each in look(outputs, data, Appetite(), "pay") if each.certain and len(each.who) == 2]
    assert found.rule == "withheld cells recoverable" and found.who.tolist() == [100, 101]
    assert "pay of 2 people is told for certain, though not whose each is" in found.what
    assert "Withhold further cells" in found.advice


def test_many_people_who_are_withheld_are_not_told():
    data, outputs = whole_and_table([300, 500, 510, 640, 700, 810])
    assert not [each for each in look(outputs, data, Appetite(), "pay") if each.certain and each.about == "pay"]
