"""What tests of counts leave of their tables, held against trying all tables; and what certain claims make of it."""

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest

import outrisk
from outrisk.assess.told_by_statistics import programme_with_statistics, told_by_statistics
from outrisk.codebook import Codebook, Variable
from outrisk.errors import ProveError
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata
from outrisk.outputs import REGISTRY, release, released
from outrisk.outputs.of_one_table.described import described_tables
from outrisk.outputs.of_one_table.tables_that_fit import Printed, tables_that_fit
from outrisk.outputs.of_one_table.told_together import tables_told
from outrisk.outputs.smooth.hypothesis_test import OF_TEST
from outrisk.prove.programme import programme
from outrisk.reconstruct.best_guesses import best_guesses

CODEBOOK = Codebook((Variable("area", "integer", (1, 2, 3)), Variable("ill", "integer", (0, 1))))
ROUNDED = {"kind": "frequencies", "by": ["area", "ill"], "margins": True, "protection": {"round_to": 5}}
CHI2 = {"kind": "test", "test": "chi-square", "variable": "ill", "by": ["area"], "statistics": ["statistic", "n"]}
EXACT = {"kind": "test", "test": "fisher", "variable": "ill", "by": ["area"], "statistics": ["p", "n"]}

NAME = "chi-square test of ill by area"


def built(*entries):
    return [REGISTRY[e["kind"]](**e).build(CODEBOOK, at)[0] for at, e in enumerate(entries, 1)]


def people(seed):
    """Records in three areas, of one of which nobody, or everybody, is ill."""
    rng = np.random.default_rng(seed)
    ill = np.array([0, int(rng.integers(3, 9)), int(rng.integers(3, 9))])
    size = rng.integers(9, 15, 3)
    codes = [(area, int(at < ill[area])) for area in range(3) for at in range(size[area])]
    return Microdata(CODEBOOK, np.array(codes, dtype=np.uint16))


@pytest.mark.parametrize("seed", range(30))
def test_tables_that_fit_are_all_that_do(seed):
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 4, (2, 3))
    low = np.maximum(true - rng.integers(0, 3, (2, 3)), 0).astype(float)
    high = true + rng.integers(0, 3, (2, 3)).astype(float)
    rows, whole = true.sum(axis=1).astype(float), np.array(float(true.sum()))
    sums = (((0,), rows - rng.integers(0, 2), rows + 1), ((), whole, whole))[: seed % 3]
    fitting = tables_that_fit(Printed(low, high, sums, (), True))
    ranges = [range(int(a), int(b) + 1) for a, b in zip(low.ravel(), high.ravel(), strict=True)]
    every = [np.array(each).reshape(2, 3) for each in product(*ranges)]
    over = [tuple({0, 1} - set(kept)) for kept, _, _ in sums]
    expected = [
        table
        for table in every
        if all(
            (least <= table.sum(axis=axes)).all() and (table.sum(axis=axes) <= most).all()
            for axes, (_, least, most) in zip(over, sums, strict=True)
        )
    ]
    np.testing.assert_array_equal(fitting, expected)
    assert any((table == true).all() for table in fitting)
    assert tables_that_fit(Printed(low, high, (), (), True), most=0) is None


@pytest.mark.parametrize(("entry", "seed"), [*((CHI2, seed) for seed in range(3)), (EXACT, 1)])
def test_ranges_are_those_of_all_tables_that_give_the_test(entry, seed):
    data, (table, chi2) = people(seed), built(ROUNDED, entry)
    printed, tested = release(table, data), release(chi2, data)
    (told,), left_out = told_by_statistics(CODEBOOK, [printed, tested])
    assert told.name == f"table area x ill with {chi2.name}" and list(left_out) == [chi2.name]
    cells = [printed.labels.index(label) for label in told.labels]
    ranges = [range(int(printed.low[k]), int(printed.high[k]) + 1) for k in cells]
    fitting = []
    for counts in product(*ranges):
        if sum(counts) == len(data):
            codes = np.repeat(np.indices((3, 2)).reshape(2, -1).T, counts, axis=0).astype(np.uint16)
            other = Microdata(CODEBOOK, codes)
            numbers, margins = chi2.refit(other), table.refit(other)
            fits = (margins >= printed.low).all() and (margins <= printed.high).all()
            if fits and abs(numbers[0] - tested.low[0]) <= 0.0005 * 1.1:
                fitting.append(counts)
    low, high = np.min(fitting, axis=0), np.max(fitting, axis=0)
    np.testing.assert_array_equal(told.low, low)
    np.testing.assert_array_equal(told.high, high)


@pytest.mark.parametrize("seed", [1, 5])
def test_a_search_holds_to_what_an_exact_test_tells(seed):
    data = people(seed)
    margins = [{"kind": "frequencies", "by": [name]} for name in ("area", "ill")]
    exact = [release(each, data) for each in built(*margins, EXACT)]
    told = tables_told(CODEBOOK, exact)
    assert [each.name for each in told] == [f"table area with table ill with {exact[-1].name}"]
    problem = Problem(CODEBOOK, len(data), tuple(exact), told=told)
    for last in evolve(problem, preset("fast"), np.random.default_rng(1)):  # noqa: B007
        pass
    assert last.stop == "matched" and last.number < 60


@pytest.mark.parametrize("seed", [1, 5])
def test_a_search_holds_to_the_table_that_a_test_leaves_alone(seed):
    data = people(seed)
    margins = [{"kind": "frequencies", "by": [name]} for name in ("area", "ill")]
    tests = CHI2, {**CHI2, "statistics": ["p"], "decimals": 1}
    fine, coarse = ([release(each, data) for each in built(*margins, test)] for test in tests)
    tables = [described_tables(CODEBOOK, printed)[0] for printed in (fine, coarse)]
    assert len(tables[0].fitting) == 1 < len(tables[1].fitting)
    (told,) = tables_told(CODEBOOK, fine)
    np.testing.assert_array_equal(told.low, told.high)
    assert not tables_told(CODEBOOK, coarse)  # a search has a slope of it
    problem = Problem(CODEBOOK, len(data), tuple(fine), told=(told,))
    assert next(evolve(problem, preset("fast"), np.random.default_rng(1))).stop == "matched"


def test_what_says_no_more_makes_no_table():
    data = people(1)
    exact, coarse = {**ROUNDED, "protection": {}}, {**CHI2, "statistics": ["p"], "decimals": 0}
    of_some = {**ROUNDED, "where": "area < 3"}
    for entries in ([exact, CHI2], [ROUNDED, coarse], [coarse], [of_some, {**CHI2, "statistics": ["p"]}]):
        assert told_by_statistics(CODEBOOK, [release(each, data) for each in built(*entries)]) == ([], {})


PAIRS = Codebook(
    (
        Variable("arm", "categorical", ("a", "b"), missing=True),
        Variable("pain", "categorical", ("no", "yes")),
        Variable("later", "categorical", ("no", "yes"), missing=True),
    )
)
CHANGED = {"kind": "test", "test": "mcnemar", "variable": "later", "paired": "pain", "statistics": ["statistic", "n"]}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("where", ["arm == 'a'", "arm != 'b'"])
def test_tables_by_group_bound_the_table_of_a_group(seed, where):
    """Of all tables of both pains in one arm: those with the counts that tables by arm have there, and the test."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, size, 60) for size in (3, 2, 3)], axis=1).astype(np.uint16)
    data = Microdata(PAIRS, codes)
    entries = [{"kind": "frequencies", "by": ["arm", name]} for name in ("pain", "later")]
    outputs = [
        REGISTRY[e["kind"]](**e).build(PAIRS, at)[0] for at, e in enumerate([*entries, {**CHANGED, "where": where}])
    ]
    (described,) = described_tables(PAIRS, [release(each, data) for each in outputs])
    mine = codes[(codes[:, 0] == 0) | ((codes[:, 0] == 2) & ("!=" in where))][:, 1:]
    own = np.zeros((2, 3), np.int64)
    np.add.at(own, tuple(mine.T), 1)
    own = own if described.by == ("pain", "later") else own.T
    chi2 = outputs[-1].refit(data)[0]
    expected = []
    for one, *rest in product(*[range(int(own.sum()) + 1)] * 3):  # no, no; no, yes; yes, no: the rest follows
        table = np.zeros((2, 3), np.int64)
        table[0, :2], table[1, 0] = (one, rest[0]), rest[1]
        table[0, 2] = own[0].sum() - table[0].sum()
        table[1, 1:] = own.sum(axis=0)[1:] - table[0, 1:]
        changed = table[0, 1] + table[1, 0]
        same = (table.sum(axis=0) == own.sum(axis=0)).all() and (table >= 0).all()
        if not same or table[:, :2].sum() != own[:, :2].sum() or not changed:
            continue
        if abs((table[0, 1] - table[1, 0]) ** 2 / changed - round(chi2, 3)) <= 0.0005 * (1 + 1e-9):
            expected.append(table)
    assert described.fitting.tolist() == sorted(each.tolist() for each in expected)
    assert any((each == own).all() for each in described.fitting)


def test_what_only_another_table_bounds_was_not_bounded_before():
    """Nothing is printed of b x ill: ranges that only another table's statistics give are no news of its own."""
    book = Codebook(tuple(Variable(name, "integer", (0, 1)) for name in ("a", "b", "ill")))
    data = Microdata(book, np.random.default_rng(1).integers(0, 2, (23, 3)).astype(np.uint16))
    entries = [
        {
            "kind": "test",
            "test": "chi-square",
            "variable": "a",
            "by": "b",
            "statistics": ["statistic", "n"],
            "decimals": 6,
        },
        {"kind": "test", "test": "signed-rank", "variable": "a", "paired": "b", "statistics": ["statistic", "z", "n"]},
        {"kind": "test", "test": "rank-sum", "variable": "ill", "by": "b", "statistics": ["statistic", "z"]},
    ]
    outputs = [REGISTRY[e["kind"]](**e).build(book, at)[0] for at, e in enumerate(entries)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tables = described_tables(book, [release(each, data) for each in outputs])
    assert len(tables) == 2 and all((each.low < each.high).all() for each in tables)


def test_claims_that_a_test_proves():
    data = people(4)
    frame = pd.DataFrame({name: data.codes[:, at] + (name == "area") for at, name in enumerate(CODEBOOK.names)})
    table = outrisk.Frequencies(by=["area", "ill"], margins=True, protection={"round_to": 5})
    test = outrisk.Test("chi-square", "ill", "area", statistics=["statistic"])
    asked = {"keys": ["area"], "target": "ill", "codebook": CODEBOOK}
    alone, both = (outrisk.prove(frame, outputs, **asked) for outputs in ([table], [table, test]))
    assert alone.certain.empty
    first = frame["area"] == 1
    assert both.certain["record"].tolist() == np.flatnonzero(first).tolist()
    assert set(both.certain["value"].astype(str)) == {"0"}
    assert set(both.by_outputs["outputs"]) == {f"table area x ill with {NAME}"}
    assert both.left_out[NAME] == "the range that it leaves each count of its table is used"
    assert both.cells["recovered"].sum() > alone.cells["recovered"].sum()
    assert set(both.cells["table"]) == set(alone.cells["table"])


def test_a_test_hides_no_cell_of_a_table_that_was_not_released():
    data = people(4)
    frame = pd.DataFrame({name: data.codes[:, at] + (name == "area") for at, name in enumerate(CODEBOOK.names)})
    margins, test = outrisk.Univariate(["area", "ill"]), outrisk.Test("chi-square", "ill", "area")
    asked = {"keys": ["area"], "target": "ill", "codebook": CODEBOOK}
    alone, both = (outrisk.prove(frame, outputs, **asked).cells for outputs in ([margins], [margins, test]))
    assert len(alone) and alone["cell"].tolist() == both["cell"].tolist()


def test_a_test_that_no_table_gives_is_refused():
    data, (table, chi2) = people(1), built(ROUNDED, CHI2)
    wrong = released(chi2, np.array([500.0, len(data)]))
    with pytest.raises(ProveError, match="no data set fits all the released numbers: what chi-square test of ill"):
        told_by_statistics(CODEBOOK, [release(table, data), wrong])


def test_many_known_cells_cost_nothing():
    low = np.full((20, 20), 7.0)
    high = low.copy()
    high[0, :8] += 2
    sums = (((0,), low.sum(axis=1), high.sum(axis=1)),)
    assert tables_that_fit(Printed(low, high, sums, (), True)).shape == (3**8, 20, 20)
    more = low.sum(axis=1) + 1
    assert len(tables_that_fit(Printed(low, low, (((0,), more, more),), (), True))) == 0


def test_best_guesses_of_a_register_use_tests():
    data = people(4)
    known = {"area": data.codes[:, 0].astype(np.int64)}
    outputs = [release(each, data) for each in built(ROUNDED, CHI2)]
    plain, told = (
        best_guesses(make(CODEBOOK, outputs, len(data), known, ["ill"]), "ill")
        for make in (programme, programme_with_statistics)
    )
    scores = [np.log(each.chances[np.arange(len(data)), data.codes[:, 1]]).mean() for each in (plain, told)]
    assert scores[1] > scores[0] and told.missed < 0.5
    assert (told.chances[data.codes[:, 0] == 0, 0] > 0.95).all()


@pytest.mark.parametrize("seed", range(40))
def test_the_truth_is_among_what_is_left_where_values_are_missing(seed):
    """Counts of records with a value (n of a test, counts beside means) are not those of all."""
    book = Codebook(
        (
            Variable("area", "integer", (1, 2), missing=True),
            Variable("ill", "integer", (0, 1), missing=True),
            Variable("pay", "numeric", (1.0, 2.0, 5.0), missing=True),
        )
    )
    rng = np.random.default_rng(seed)
    chances = ([0.45, 0.5, 0.05], [0.45, 0.5, 0.05], [0.3, 0.3, 0.3, 0.1])
    n = int(rng.integers(12, 40))
    data = Microdata(book, np.column_stack([rng.choice(len(p), n, p=p) for p in chances]).astype(np.uint16))
    entries = [
        ROUNDED | {"margins": bool(seed % 2), "protection": {"round_to": 3}},
        CHI2 | {"decimals": 1},
        {"kind": "frequencies", "by": ["area"], "where": "ill == 1"},
    ]
    if seed % 4 == 3:
        entries.append({"kind": "magnitudes", "value": "pay", "by": ["area", "ill"], "statistics": ["count"]})
    outputs = [
        release(one, data) for e in entries for one in REGISTRY[e["kind"]](**e).build(book, entries.index(e) + 1)
    ]
    tables, _ = told_by_statistics(book, outputs)
    for told in tables:
        true = told.output.refit(data)
        assert (told.low <= true).all() and (true <= told.high).all()


STAGED = Codebook(
    (
        Variable("stage", "categorical", ("i", "ii", "iii"), missing=True),
        Variable("later", "categorical", ("i", "ii", "iii")),
        Variable("dose", "numeric", (0.5, 1.0, 4.0)),
        Variable("ill", "integer", (0, 1)),
    )
)
ORDERED = [
    *({"test": "trend", "variable": "ill", "by": "stage", "scores": scores} for scores in ({}, {"stage": [0, 1, 5]})),
    {"test": "linear-by-linear", "variable": "stage", "by": "dose"},
    *({"test": test, "variable": "later", "paired": "stage"} for test in ("spearman", "kendall", "kappa", "mcnemar")),
    *({"test": "kappa", "variable": "later", "paired": "stage", "weights": each} for each in ("linear", "quadratic")),
    {"test": "pearson", "variable": "ill", "paired": "dose"},
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("entry", ORDERED, ids=lambda entry: " ".join(map(str, entry.values())))
def test_tables_of_orders_and_pairs_are_all_that_give_the_numbers(entry, seed):
    """Margins beside all that a test has: the tables that are left against those by refits of each that fits."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 12))
    codes = np.stack([rng.integers(0, size, n) for size in STAGED.sizes], axis=1).astype(np.uint16)
    if seed % 2:
        codes[:, 1] = np.minimum(codes[:, 0], 2)  # those who agree, and a correlation of 1
    data = Microdata(STAGED, codes)
    entry = {"kind": "test", "decimals": 3 + 7 * (seed > 1), **entry}
    names = [entry["variable"], entry.get("by") or entry["paired"]]
    tested = REGISTRY["test"](**{**entry, "statistics": OF_TEST[entry["test"]]}).build(STAGED, 1)[0]
    margins = [REGISTRY["frequencies"](kind="frequencies", by=[name]).build(STAGED, 1)[0] for name in names]
    printed = [release(each, data) for each in (*margins, tested)]
    (described,) = described_tables(STAGED, printed)
    at = [STAGED.index(name) for name in described.by]
    own = np.zeros([STAGED.sizes[j] for j in at], np.int64)
    np.add.at(own, tuple(codes[:, at].T), 1)
    every = tables_that_fit(described.printed)
    expected = []
    for table in every:
        other = np.zeros((n, len(STAGED.sizes)), np.uint16)
        other[:, at] = np.repeat(np.indices(own.shape).reshape(2, -1).T, table.ravel(), axis=0)
        found = tested.refit(Microdata(STAGED, other))
        low, high = printed[-1].low, printed[-1].high
        half = 0.5 * 10.0**-tested.decimals * 1.000001 + 1e-8
        untold = np.isinf(low) & np.isinf(high)
        if (untold | ((found >= low - half) & (found <= high + half))).all():
            expected.append(table)
    assert described.fitting.tolist() == [each.tolist() for each in expected]
    assert any((each == own).all() for each in described.fitting)
