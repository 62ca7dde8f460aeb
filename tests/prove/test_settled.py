"""What constraints settle by themselves is true of the data, and what is left has the same guesses."""

from itertools import combinations

import numpy as np
import pytest

from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, release
from outrisk.outputs.tables.protection import Protection
from outrisk.prove.programme import programme
from outrisk.prove.settled import settled
from outrisk.reconstruct import best_guesses as module

KEYS = ("area", "sex", "age")


def study(seed, levels=2, n=60, protection=None):
    rng = np.random.default_rng(seed)
    sizes = {"area": 4, "sex": 2, "age": 6, "ill": levels}
    book = Codebook(tuple(Variable(name, "integer", tuple(range(size))) for name, size in sizes.items()))
    data = Microdata(book, np.stack([rng.integers(0, size, n) for size in sizes.values()], axis=1).astype(np.uint16))
    guarded = {"protection": protection} if protection else {}
    released = [
        release(Frequencies(book, "+".join(by), (*by, "ill"), **guarded), data)
        for by in (*((one,) for one in KEYS), *combinations(KEYS, 2))
    ]
    known = {name: data.codes[:, book.index(name)].astype(np.int64) for name in KEYS}
    return programme(book, released, n, known, ["ill"]), data


@pytest.mark.parametrize("levels", [2, 3])
@pytest.mark.parametrize("protection", [None, Protection(threshold=3), Protection(round_to=3)])
@pytest.mark.parametrize("seed", range(5))
def test_what_is_settled_is_true_and_what_is_left_still_has_the_truth(seed, protection, levels):
    of, data = study(seed, levels, protection=protection)
    truth = np.zeros((len(of.sizes), of.n_kinds))
    np.add.at(truth, (of.groups, data.codes[:, 3]), 1)
    found = settled(of)
    assert found is not None
    assert (found.counts[~found.open] == truth[~found.open]).all()
    left, counts = found.left, truth[found.open].ravel()
    assert (counts <= left.most).all()
    sums = left.matrix @ counts
    assert (sums >= left.low - 1e-9).all() and (sums <= left.high + 1e-9).all()
    if protection is None:
        assert (~found.open).any()


def test_guesses_are_those_without_settling(monkeypatch):
    of, _ = study(1)
    quick = module.best_guesses(of, "ill").chances
    monkeypatch.setattr(module, "settled", lambda of: None)
    assert np.abs(module.best_guesses(of, "ill", slack=0.01).chances - quick).max() < 0.03


def test_numbers_of_other_people_settle_nothing():
    of, _ = study(1)
    others, _ = study(2)
    known = {name: np.asarray(study(1)[1].codes[:, at], np.int64) for at, name in enumerate(KEYS)}
    crossed = programme(of.codebook, others.released, 60, known, ["ill"])
    assert settled(crossed) is None
    assert module.best_guesses(crossed, "ill").contradicted
