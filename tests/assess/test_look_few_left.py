"""Values that means and sds of nested subsets leave of a few people, held against all data with the same print."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from outrisk.appetite import Appetite
from outrisk.assess.look import look
from outrisk.assess.look.finding import NOT_BOUNDED
from outrisk.assess.look.of_few_left import few_left
from outrisk.assess.look.printed import Numbers
from outrisk.assess.look.sets_of_values import Work, sets_that_fit
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import REGISTRY

MOST = 12
CODEBOOK = Codebook((Variable("old", "integer", (0, 1)), Variable("age", "integer", tuple(range(MOST + 1)))))
WIDE = Codebook((Variable("old", "integer", (0, 1)), Variable("pay", "integer", tuple(range(1001)))))


def built(value, book, decimals, statistics=("count", "mean", "sd")):
    whole = {"kind": "magnitudes", "value": value, "statistics": list(statistics), "decimals": decimals}
    entries = [whole, whole | {"where": "old == 0"}]
    return [REGISTRY["magnitudes"](**each).build(book, at)[0] for at, each in enumerate(entries, 1)]


def data_of(book, young, old):
    return Microdata(book, np.array([*((0, each) for each in young), *((1, each) for each in old)], dtype=np.uint16))


@pytest.mark.parametrize("seed", range(30))
def test_what_is_called_certain_is_so_in_all_data_with_the_same_print(seed):
    rng = np.random.default_rng(seed)
    n, decimals = int(rng.integers(1, 3)), int(rng.integers(0, 4))
    young, old = np.sort(rng.integers(0, MOST + 1, 3)), np.sort(rng.integers(0, MOST + 1, n))
    outputs, data = built("age", CODEBOOK, decimals), data_of(CODEBOOK, young, old)
    sets = [np.array(list(combinations_with_replacement(range(MOST + 1), each)), dtype=float) for each in (3, n)]
    pairs = np.indices((len(sets[0]), len(sets[1]))).reshape(2, -1)
    others, left = sets[0][pairs[0]], sets[1][pairs[1]]
    fits = np.ones(len(left), bool)
    for values, own in ((np.hstack([others, left]), np.r_[young, old]), (others, young)):
        for number, true in ((values.mean(axis=1), own.mean()), (values.std(axis=1, ddof=1), own.std(ddof=1))):
            fits &= np.abs(number - np.round(true, decimals)) <= 0.5 * 10.0**-decimals * (1 + 1e-6)
    left = left[fits]
    found = list(few_left(outputs, Numbers.of(outputs, data), data, Appetite(), True))
    for each in found:
        share = 0.1 if "within the share" in each.what else 0.0
        told = each.who - 3
        if "to who has another" in each.what:
            assert n == 2 and any(
                np.abs(left[(left == old[1 - at]).any(axis=1)].sum(axis=1) - old.sum()).max() <= share * old[at]
                for at in told
            )
            continue
        assert (np.abs(left[:, told] - old[told]).max(axis=0) <= share * old[told]).all()
    if n == 1 and (left == old).all():
        assert found, "one value alone fits"


@pytest.mark.parametrize(("decimals", "near"), [(0, True), (3, False)])
def test_an_sd_tells_what_a_coarse_mean_does_not(decimals, near):
    rng = np.random.default_rng(1)
    data = data_of(WIDE, rng.integers(50, 400, 80), [777])
    assert not [
        each for each in look(built("pay", WIDE, 0, ("count", "mean")), data, Appetite(), "pay") if each.certain
    ]
    found = look(built("pay", WIDE, decimals), data, Appetite(), "pay", inside=True)[0]
    assert found.certain and found.rule == "difference of outputs" and found.who.tolist() == [80]
    assert ("within the share" in found.what) == near


def test_two_people_are_told_by_both():
    rng = np.random.default_rng(1)
    data = data_of(WIDE, rng.integers(50, 400, 30), [777, 350])
    outputs = built("pay", WIDE, 5)
    (found,) = few_left(outputs, Numbers.of(outputs, data), data, Appetite(), False)
    assert found.who.tolist() == [30, 31] and "though not whose each is" in found.what and not found.places


def test_work_on_many_cells_ends_and_the_cells_that_are_left_are_said(monkeypatch):
    monkeypatch.setattr(Work, "is_done", lambda work: bool(setattr(work, "left", work.left + 1)) or True)
    rng = np.random.default_rng(1)
    data = data_of(WIDE, rng.integers(50, 400, 30), [777, 350])
    outputs = built("pay", WIDE, 5)
    (found,) = few_left(outputs, Numbers.of(outputs, data), data, Appetite(), False)
    assert found.rule == NOT_BOUNDED and "which 1 cell of few records" in found.what


def test_beginnings_of_sets_are_work_too_where_they_are_too_many():
    work = Work()
    assert sets_that_fit(np.arange(500.0), 12, (2990.0, 3010.0), (140.0, 150.0), work=work) is None
    before = Work().values
    assert work.values < before and not work.is_done()
    work.values = -1
    assert work.is_done() and work.left == 1
