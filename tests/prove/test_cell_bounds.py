"""Bounds of cells that are not printed: those of hand-solved tables, and of an enumeration of all data sets."""

from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest

from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, Magnitudes, release
from outrisk.outputs.tables.protection import Protection
from outrisk.prove import cell_bounds
from outrisk.prove.budget import Budget
from outrisk.prove.cell_bounds import audit
from outrisk.prove.programme import programme

BOOK = Codebook(
    (
        Variable("area", "integer", (1, 2, 3)),
        Variable("sex", "integer", (1, 2)),
        Variable("ill", "integer", (0, 1)),
    )
)
KINDS = np.indices(BOOK.sizes).reshape(3, -1).T
GUARDED = Protection(threshold=3)


def records(counts):
    """Records of so many of each kind, area slowest."""
    return Microdata(BOOK, np.repeat(KINDS, np.ravel(counts), axis=0).astype(np.uint16))


def bounds(found, name):
    table = next(each for each in found.tables if each.table.name == name)
    return {label: (low, high) for label, low, high in zip(table.table.labels, table.low, table.high, strict=True)}


def test_a_withheld_cell_that_a_margin_gives_back_and_two_that_it_does_not():
    data = records([[[20, 2], [0, 0]], [[1, 2], [0, 0]], [[15, 30], [0, 0]]])
    table = Frequencies(BOOK, "t", ("area", "ill"), margins=True, protection=GUARDED)
    found = audit(BOOK, [release(table, data)], len(data), every=True)
    told = bounds(found, "t")
    assert told["area=1, ill=1"] == (2, 2)  # 22 - 20
    assert told["area=2, ill=0"] == (1, 1) and told["area=2, ill=1"] == (2, 2)  # 36 - 20 - 15; then 3 - 1
    alone = audit(BOOK, [release(Frequencies(BOOK, "t", ("area", "ill"), protection=GUARDED), data)], len(data))
    assert bounds(alone, "t")["area=1, ill=1"] == (1, 2)
    assert not alone.tables[0].recovered.any()


def test_which_outputs_say_it():
    data = records([[[20, 2], [5, 9]], [[8, 7], [6, 5]], [[15, 30], [11, 12]]])
    withheld = Frequencies(BOOK, "w", ("area", "ill"), where="sex == 1", protection=GUARDED)
    whole = Frequencies(BOOK, "all", ("area", "ill"))
    women = Frequencies(BOOK, "women", ("area", "ill"), where="sex == 2")
    other = Frequencies(BOOK, "other", ("sex",))
    released = [release(one, data) for one in (withheld, other, whole, women)]
    (found,) = [each for each in audit(BOOK, released, len(data), crosses=False).tables if each.recovered.any()]
    assert found.recovered.sum() == 1 and found.low[found.recovered] == [2]
    assert set(found.outputs) == {"all", "women"} and found.irreducible


def test_a_table_that_was_not_released_is_recovered_from_its_margins():
    data = records([[[4, 0], [0, 3]], [[0, 0], [9, 5]], [[0, 0], [0, 0]]])
    tables = [Frequencies(BOOK, " x ".join(by), by) for by in combinations(BOOK.names, 2)]
    found = audit(BOOK, [release(one, data) for one in tables], len(data), small=5)
    (cross,) = found.tables
    assert (cross.table.name, cross.table.output) == ("area x sex x ill", "")
    told = dict(zip(cross.table.labels, cross.low, strict=True))
    some = {cross.table.labels[q]: cross.low[q] for q in np.flatnonzero(cross.recovered)}
    assert some == {"area=1, sex=1, ill=0": 4, "area=1, sex=2, ill=1": 3}
    assert told["area=2, sex=2, ill=0"] <= 9


def numbers_of(table, cube):
    """The counts of a table (with sex == 2 as the only condition) in data sets (d, 3, 2, 2), by sums of numpy."""
    axes = tuple(1 + at for at, name in enumerate(BOOK.names) if name not in table.by)
    cells = (cube[:, :, 1:] if table.where else cube).sum(axis=axes)
    if table.margins:
        for axis in range(1, cells.ndim):
            cells = np.concatenate([cells, cells.sum(axis=axis, keepdims=True)], axis=axis)
    return cells.reshape(len(cube), -1)


def enumerated(data, released):
    """Counts (d, kinds) of every data set of as many people that fits, by trying all."""
    n = len(data)
    sets = np.array([np.bincount(some, minlength=12) for some in combinations_with_replacement(range(12), n)])
    cube = sets.reshape(-1, 3, 2, 2)
    for one in released:
        numbers = numbers_of(one.output, cube)
        good = ((numbers >= one.low) & (numbers <= one.high)).all(axis=1)
        cube = cube[good]
    return cube


def small_study(seed):
    rng = np.random.default_rng(seed)
    data = records(np.bincount(rng.integers(0, 12, int(rng.integers(4, 7))), minlength=12))
    pool = [
        Frequencies(BOOK, "as", ("area", "sex")),
        Frequencies(BOOK, "ai", ("area", "ill"), margins=True, protection=GUARDED),
        Frequencies(BOOK, "si", ("sex", "ill"), protection=Protection(threshold=2, withhold_zeros=True)),
        Frequencies(BOOK, "some", ("area", "ill"), where="sex == 2"),
        Frequencies(BOOK, "round", ("area", "ill"), protection=Protection(round_to=3)),
        Frequencies(BOOK, "a", ("area",)),
    ]
    chosen = [pool[at] for at in rng.choice(len(pool), 3, replace=False)]
    if any(one.where for one in chosen) and not (data.codes[:, 1] == 1).any():
        chosen = [one for one in chosen if not one.where]
    return data, [release(one, data) for one in chosen]


@pytest.mark.parametrize("seed", range(20))
def test_bounds_are_those_of_an_enumeration(seed):
    data, released = small_study(seed)
    fits = enumerated(data, released)
    assert len(fits)
    exact = audit(BOOK, released, len(data), every=True)
    quick = audit(BOOK, released, len(data))
    assert not exact.not_asked
    for table, rough in zip(exact.tables, quick.tables, strict=True):
        axes = tuple(1 + at for at, name in enumerate(BOOK.names) if name not in table.table.variables)
        one = next((each for each in released if each.name == table.table.output), None)
        numbers = numbers_of(one.output, fits) if one else fits.sum(axis=axes).reshape(len(fits), -1)
        if one:
            numbers = numbers[:, [one.labels.index(label) for label in table.table.labels]]
        assert table.low.tolist() == numbers.min(axis=0).tolist(), table.table.name
        assert table.high.tolist() == numbers.max(axis=0).tolist(), table.table.name
        assert (rough.low <= table.low).all() and (rough.high >= table.high).all()
        assert table.sharp


def test_means_are_used_and_what_is_not_asked_is_said():
    data = records([[[4, 1], [2, 3]], [[2, 2], [9, 5]], [[1, 1], [1, 1]]])
    guarded = release(Frequencies(BOOK, "w", ("area", "ill"), protection=GUARDED), data)
    mean = release(Magnitudes(BOOK, "mean", "ill", ("area",), ("count", "mean"), digits=(0, 4)), data)
    found = audit(BOOK, [guarded, mean], len(data), crosses=False).tables[0]
    assert found.recovered.all() and found.outputs == ("mean",)
    stopped = audit(BOOK, [guarded, mean], len(data), budget=Budget(work=0.0))
    assert stopped.not_asked == {"w": "the work allowed was done"}


PAY = Codebook((*BOOK.variables, Variable("pay", "numeric", (-3e9, -1.0, 0.0, 1.0, 3e9))))


@pytest.mark.parametrize("pays", [(0, 0, 0, 1), (4, 4, 4, 3)], ids=["negative", "large"])
def test_sums_beside_a_table_where_the_number_of_records_is_not_known(pays):
    data = Microdata(PAY, np.array([(at % 2, 0, 0, pay) for at, pay in enumerate(pays)], np.uint16))
    sums = Magnitudes(PAY, "sum", "pay", ("area",), ("sum",), digits=(0,))
    outputs = (Frequencies(PAY, "w", ("area", "ill"), protection=GUARDED), sums)
    (cells,) = audit(PAY, [release(one, data) for one in outputs], None, crosses=False).tables
    assert (cells.low.tolist(), cells.high.tolist()) == ([2, 1], [2, 2])  # one person cannot make up the first sum


def test_a_mean_of_many_more_records_than_are_counted():
    data = records([[[3950, 20], [0, 0]], [[1000, 20], [0, 0]], [[0, 2], [0, 0]]])
    some = Frequencies(BOOK, "some", ("area",), where="ill == 1", protection=GUARDED)
    mean = Magnitudes(BOOK, "mean", "ill", (), ("mean",), digits=(4,))
    (cells,) = audit(BOOK, [release(one, data) for one in (some, mean)], None, crosses=False).tables
    assert (cells.low.tolist(), cells.high.tolist()) == ([1], [2])


def test_people_of_whom_nothing_is_known_take_no_memory():
    assert programme(BOOK, [], 10**15).groups.shape == (10**15,)


@pytest.mark.parametrize("known", [True, False], ids=["", "of any number"])
@pytest.mark.parametrize("seed", range(3))
def test_outputs_of_many_variables_are_used_together(seed, known, monkeypatch):
    book = Codebook(tuple(Variable(f"v{at}", "integer", (0, 1, 2)) for at in range(6)))
    rng = np.random.default_rng(seed)
    n = 12
    codes = rng.integers(0, 3, (n, 6)) * (rng.random((n, 6)) < 0.6)
    data = Microdata(book, codes.astype(np.uint16))
    outputs = [
        Frequencies(book, "w", ("v0", "v1"), protection=GUARDED),
        *(Frequencies(book, f"t{at}", (f"v{at}", f"v{at + 1}")) for at in range(1, 5)),
        Frequencies(book, "x", ("v0", "v3", "v4")),
    ]
    released = [release(one, data) for one in outputs]

    def asked(kinds, together):
        monkeypatch.setattr(cell_bounds, "MOST_KINDS", kinds)
        if together:
            monkeypatch.setattr(cell_bounds, "programme", lambda *some: programme(*some, crossed=True))
        return audit(book, released, n if known else None, first="v0", every=True, budget=Budget(1e9))

    few, crossed, all_ = asked(250, False), asked(250, True), asked(10**5, True)
    assert len(few.tables) == len(all_.tables) > 3 and not any(each.left_out for each in few.tables)
    assert any(each.left_out for each in crossed.tables)
    for one, other in zip(few.tables, all_.tables, strict=True):
        assert (one.low == other.low).all() and (one.high == other.high).all()
