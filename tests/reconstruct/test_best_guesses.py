"""Best guesses with a register: hand-solved cases, iterative proportional fitting as a twin, what cannot be seen."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from outrisk.codebook import Codebook, Variable
from outrisk.errors import ProveError
from outrisk.microdata import from_frame
from outrisk.outputs import Frequencies, Magnitudes, read_rules, release
from outrisk.outputs.tables.protection import Protection
from outrisk.prove.programme import programme
from outrisk.reconstruct.best_guesses import best_guesses

BOOK = Codebook(
    (
        Variable("age", "integer", (0, 1, 2)),
        Variable("area", "categorical", ("n", "s")),
        Variable("ill", "integer", (0, 1)),
    )
)


def people(n: int, seed: int):
    rng = np.random.default_rng(seed)
    age, area = rng.integers(0, 3, n), rng.choice(["n", "s"], n)
    ill = (rng.random(n) < 0.2 + 0.3 * (age > 1) + 0.2 * (area == "s")).astype(int)
    return from_frame(pd.DataFrame({"age": age, "area": area, "ill": ill}), BOOK)


def guessed(data, outputs, keys=("age", "area"), slack=0.05, n=None):
    known = {name: data.codes[:, BOOK.index(name)].astype(np.int64) for name in keys}
    return best_guesses(programme(BOOK, outputs, n or len(data), known, ["ill"]), "ill", slack=slack)


def test_a_table_of_all_keys_gives_the_shares_of_its_cells():
    data = people(200, 1)
    found = guessed(data, [release(Frequencies(BOOK, "all", ("age", "area", "ill")), data)], slack=1e-3)
    frame = data.frame().assign(area=data.codes[:, 1])
    share = frame.groupby(["age", "area"]).ill.transform("mean").to_numpy()
    assert np.abs(found.chances[:, 1] - share).max() < 1e-3
    assert found.converged and found.missed < 1e-2


def test_one_way_tables_give_what_iterative_proportional_fitting_gives():
    data = people(300, 2)
    tables = [release(Frequencies(BOOK, by, (by, "ill")), data) for by in ("age", "area")]
    found = guessed(data, tables, slack=1e-3)
    counts = np.zeros((3, 2, 2))
    np.add.at(counts, tuple(data.codes.T.astype(int)), 1)
    fitted = np.repeat(counts.sum(axis=2)[:, :, None] / 2, 2, axis=2)
    for _ in range(2000):
        for axes in ((0, 2), (1, 2), (0, 1)):
            over = tuple({0, 1, 2} - set(axes))
            fitted *= counts.sum(axis=over, keepdims=True) / fitted.sum(axis=over, keepdims=True)
    share = fitted[:, :, 1] / fitted.sum(axis=2)
    assert np.abs(found.chances[:, 1] - share[data.codes[:, 0], data.codes[:, 1]]).max() < 1e-3


def test_a_value_that_the_release_forces_is_certain():
    """Nobody young is ill, and the one old person is: 3 people, two numbers."""
    data = from_frame(pd.DataFrame({"age": [0, 0, 2], "area": ["n", "s", "n"], "ill": [0, 0, 1]}), BOOK)
    found = guessed(data, [release(Frequencies(BOOK, "table", ("age", "ill")), data)])
    assert (found.chances[[0, 1, 2], [0, 0, 1]] > 0.95).all()


@pytest.mark.parametrize("protection", [Protection(threshold=5), Protection(round_to=5)])
def test_intervals_are_met_within(protection):
    data = people(150, 3)
    table = release(Frequencies(BOOK, "table", ("age", "ill"), protection=protection), data)
    means = release(Magnitudes(BOOK, "mean", "ill", ("area",)), data)
    found = guessed(data, [table, means])
    assert found.missed < 0.3
    assert np.allclose(found.chances.sum(axis=1), 1.0)


def test_the_target_column_cannot_reach_the_guesses():
    """A value planted on somebody, in a way that no released number shows, changes nothing."""
    data = people(100, 4)
    swapped = data.codes.copy()
    same = np.flatnonzero((swapped[:, 0] == swapped[0, 0]) & (swapped[:, 1] == swapped[0, 1]))
    one, other = next((i, j) for i, j in combinations(same, 2) if swapped[i, 2] != swapped[j, 2])
    swapped[[one, other], 2] = swapped[[other, one], 2]
    planted = type(data)(BOOK, swapped)
    outputs = [("age", "ill"), ("area", "ill")]
    found = [
        guessed(each, [release(Frequencies(BOOK, "+".join(by), by), each) for by in outputs]).chances
        for each in (data, planted)
    ]
    assert np.array_equal(*found)
    assert np.allclose(found[0][one], found[0][other])


def test_another_register_is_seen_to_contradict():
    data, others = people(100, 5), people(100, 6)
    table = release(Frequencies(BOOK, "table", ("age", "area", "ill")), data)
    assert not guessed(data, [table]).contradicted and guessed(others, [table]).contradicted


def test_rules_that_leave_nothing_are_refused():
    data = people(20, 7)
    rules = [rule.mask for rule in read_rules(BOOK, ["age < 2"])]
    known = {"age": data.codes[:, 0].astype(np.int64)}
    of = programme(BOOK, [release(Frequencies(BOOK, "t", ("age", "ill")), data)], 20, known, ["ill"], rules)
    with pytest.raises(ProveError, match="no value at all"):
        best_guesses(of, "ill")


def test_a_partial_register_leaves_the_others_free():
    """By hand: of 4 people 2 are in the register, both young; one of the 3 young is ill, and the old one is."""
    data = from_frame(pd.DataFrame({"age": [0, 0, 0, 2], "area": list("nnnn"), "ill": [0, 0, 1, 1]}), BOOK)
    table = release(Frequencies(BOOK, "table", ("age", "ill")), data)
    of = programme(BOOK, [table], 4, {"age": data.codes[:2, 0].astype(np.int64)}, ["ill"])
    found = best_guesses(of, "ill", slack=0.01)
    assert found.chances.shape == (2, 2) and found.missed < 0.05
    # x of the two are ill, and 1 - x young outside: entropies 2 h(x / 2) and that of outside shares (1 + x, 1 - x) / 2
    x = np.linspace(0.001, 0.999, 9999)
    inside = -2 * (x / 2 * np.log(x / 2) + (1 - x / 2) * np.log(1 - x / 2))
    kinds = [x, 1 - x, np.ones_like(x)]  # outside: young and well, young and ill, old and ill
    outside = -sum(k * np.log(np.maximum(k, 1e-300) / 2) for k in kinds)
    assert abs(found.chances[0, 1] - x[(inside + outside).argmax()] / 2) < 0.01


def test_nearly_everybody_in_the_register_is_nearly_as_good_as_all():
    data = people(200, 8)
    table = release(Frequencies(BOOK, "all", ("age", "area", "ill")), data)
    some = {name: data.codes[:199, BOOK.index(name)].astype(np.int64) for name in ("age", "area")}
    part = best_guesses(programme(BOOK, [table], 200, some, ["ill"]), "ill").chances
    assert np.abs(part - guessed(data, [table]).chances[:199]).max() < 0.05
