"""Few people: every data set is found, against an enumeration; the seven people, and what must go."""

from itertools import combinations_with_replacement, product
from pathlib import Path

import numpy as np
import pytest

from outrisk.codebook import Codebook, Variable
from outrisk.config import read_study
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, Magnitudes, Quantiles, release
from outrisk.outputs.tables.protection import Protection
from outrisk.prove.few_people import few_people
from outrisk.prove.what_must_go import what_must_go

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
BOOK = Codebook((Variable("sex", "integer", (1, 2)), Variable("age", "integer", (1, 2, 4, 7, 9))))


def small(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 4))
    data = Microdata(BOOK, np.stack([rng.integers(0, size, n) for size in BOOK.sizes], axis=1).astype(np.uint16))
    data.codes[0, 0] = 0  # the table of ages is of somebody
    pool = [
        Frequencies(BOOK, "sexes", ("sex",)),
        Magnitudes(BOOK, "means", "age", ("sex",), ("count", "mean"), digits=(0, 1)),
        Magnitudes(BOOK, "mean", "age", (), ("mean",), digits=(0,)),
        Quantiles(BOOK, "median", "age", (), (0.5,)),
        Quantiles(BOOK, "quartiles", "age", ("sex",), (0.25, 0.75)),
        Frequencies(BOOK, "ages", ("age",), "sex == 1", protection=Protection(threshold=2)),
    ]
    outputs = [pool[at] for at in rng.choice(len(pool), 3, replace=False)]
    return data, [release(output, data) for output in outputs]


def every(released, n):
    """All data sets that fit, by refits, as sorted tuples of codes."""
    kinds = list(product(range(2), range(5)))
    found = []
    for records in combinations_with_replacement(kinds, n):
        guess = Microdata(BOOK, np.array(records, dtype=np.uint16))
        refits = [one.recompute(guess) for one in released]
        defined = all(np.isfinite(each.numbers[each.released.known]).all() for each in refits)
        if defined and all(each.matched.all() for each in refits):
            found.append(records)
    return found


@pytest.mark.parametrize("seed", range(10))
def test_every_data_set_is_found(seed):
    data, released = small(seed)
    few = few_people(BOOK, released, len(data))
    found, ended = few.data_sets(np.ones(len(few.statistics), dtype=bool), most=3_000)
    assert ended
    ordered = [BOOK.names.index(name) for name in few.names]
    missing = [at for at in range(2) if at not in ordered]
    if missing:  # a variable that no output has
        pytest.skip("a variable is in no output")
    told = {tuple(sorted(tuple(few.kinds[kind][np.argsort(ordered)].tolist()) for kind in one)) for one in found}
    assert told == {tuple(sorted(records)) for records in every(released, len(data))}
    assert all(few.has(one).all() for one in found)


def seven():
    study = read_study(CONFIGS / "cacm.yaml")
    book = study.codebook()
    return few_people(book, study.released(book), 7, [rule.mask for rule in study.rules(book)])


def test_the_seven_people_are_the_only_ones():
    few = seven()
    found, ended = few.data_sets(np.ones(len(few.statistics), dtype=bool), most=2)
    assert ended and len(found) == 1
    ages = sorted(few.kinds[found[0]][:, few.names.index("age")].tolist())
    assert ages == [8, 18, 24, 30, 36, 66, 84]  # the solution of the article


def test_the_numbers_of_one_group_must_go_and_only_of_that_one():
    few = seven()
    data = few.data_sets(np.ones(len(few.statistics), dtype=bool))[0][0]
    found = what_must_go(few, data)
    assert found.complete and found.size == 1
    (answer,) = found.answers
    words = {each.words for each in few.statistics if each.about in answer}
    assert "race=B, sex=F: count = 3" in words and "race=B, sex=F: mean of age = 36.7" in words
    about = np.array([each.about for each in few.statistics])
    for group in range(about.max() + 1):
        proved = []
        for kind in np.unique(data):
            allowed = np.arange(len(few.kinds)) != kind
            other, ended = few.data_sets(about != group, allowed)
            assert len(other) or ended
            proved.append(not len(other))
        assert any(proved) == (group not in answer)


THREE = [(10, 12, 13), (13, 17, 18), (14, 20, 24), (17, 20, 24), (19, 20, 24)]  # docs/make_seven_people.py --single


@pytest.mark.parametrize("gone", THREE)
def test_three_single_numbers_are_enough(gone):
    """Without them each record is missing from a block that has all other numbers, by a refit with pandas."""
    few = seven().number_by_number()
    study = read_study(CONFIGS / "cacm.yaml")
    book = study.codebook()
    released = {one.name: one for one in study.released(book)}
    (data,), _ = few.data_sets(np.ones(len(few.statistics), dtype=bool))
    active = ~np.isin(np.arange(len(few.statistics)), gone)
    for kind in np.unique(data).tolist():
        (other,), _ = few.data_sets(active, np.arange(len(few.kinds)) != kind)
        assert kind not in other
        codes = np.zeros((7, len(book.names)), np.uint16)
        codes[:, [book.index(name) for name in few.names]] = few.kinds[other]
        refit = {name: one.recompute(Microdata(book, codes)).numbers for name, one in released.items()}
        for at, each in enumerate(few.statistics):
            assert at in gone or released[each.output].is_matched(refit[each.output])[each.number], each.words
