"""A holdout of people who are in the data is told; one of other people, however alike they are, is not."""

import numpy as np
import pandas as pd
import pytest

import outrisk
from outrisk.assess.look.alike_holdout import alike_holdout
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata


def drawn(n, seed, sizes):
    rng = np.random.default_rng(seed)
    book = Codebook(tuple(Variable(f"v{at}", "integer", tuple(range(size))) for at, size in enumerate(sizes)))
    return Microdata(book, np.stack([rng.integers(0, size, n) for size in sizes], axis=1).astype(np.uint16))


def joined(one, other):
    return Microdata(one.codebook, np.vstack([one.codes, other.codes]))


@pytest.mark.parametrize("sizes", [(2, 3), (4, 5, 6), (40, 30, 20), (90, 90, 90, 90)])
@pytest.mark.parametrize("n", [7, 60, 800, 20_000])
def test_other_people_of_the_population_are_not_taken_for_those_of_the_data(sizes, n):
    for seed in range(8):
        for many in (n // 2 + 1, n, 3 * n):
            assert not list(alike_holdout(drawn(n, seed, sizes), drawn(many, 100 + seed, sizes)))
    assert not list(alike_holdout(drawn(n, 1, sizes), None))


@pytest.mark.parametrize("n", [60, 800, 20_000])
def test_people_of_the_data_are_told(n):
    sizes = (90, 90, 90, 90)
    data = drawn(n, 1, sizes)
    part = data.take(np.arange(n // 2))
    half = [(joined(part, drawn(n // 2, 2, sizes)), "50 % of")] if n > 60 else []
    for holdout, said in ((data.take(np.arange(n)[::-1]), "All"), (part, "All"), *half):
        (found,) = alike_holdout(data, holdout)
        assert found.what.startswith(f"{said} {len(holdout):,} records of the holdout stand in the data")
        assert not found.certain


def test_the_very_same_records_are_told_where_all_are_alike():
    data = drawn(500, 1, (2, 3))
    (found,) = alike_holdout(data, data.take(np.arange(500)[::-1]))
    assert "All 500 records" in found.what


def test_a_verdict_says_that_its_holdout_is_the_data():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.integers(18, 80, 400), "area": rng.choice([*"abcd"], 400)})
    frame["ill"] = np.where(rng.random(400) < 0.3, "yes", "no")
    made = outrisk.assess(
        frame,
        [outrisk.Frequencies(["area", "ill"])],
        keys=["age", "area"],
        target="ill",
        holdout=frame.copy(),
        runs=1,
        folds=[1],
        privacy={"metrics": []},
        quiet=True,
    )
    assert "risks may read lower than they are" in made.sentence
    assert "holdout like the data" in set(made.findings["rule"])
