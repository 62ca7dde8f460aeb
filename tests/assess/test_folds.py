"""Folds by halving."""

import numpy as np
import pytest

from outrisk.assess.folds import make_folds
from outrisk.codebook import Codebook, Variable
from outrisk.errors import ConfigError
from outrisk.microdata import Microdata


def records(n):
    return Microdata(Codebook((Variable("id", "integer", tuple(range(n))),)), np.arange(n, dtype=np.uint16)[:, None])


def ids(data):
    return set(data.codes[:, 0].tolist())


def test_every_level_partitions_the_data_and_siblings_are_holdouts():
    data, outside = records(51), records(7)
    folds = make_folds(data, outside, [1, 2, 4], np.random.default_rng(0))
    assert [fold.name for fold in folds] == ["whole", "1", "2", "1.1", "1.2", "2.1", "2.2"]
    whole, halves, quarters = folds[0], folds[1:3], folds[3:]
    assert whole.original is data and whole.holdout is outside
    for part in (halves, quarters):
        assert set().union(*(ids(fold.original) for fold in part)) == ids(data)
        assert sum(len(fold.original) for fold in part) == len(data)
        for fold in part:
            assert not ids(fold.original) & ids(fold.holdout)
    assert [len(fold.original) for fold in halves] == [25, 26]
    assert ids(halves[0].original) == ids(halves[1].holdout)
    assert ids(quarters[2].original) | ids(quarters[3].original) == ids(halves[1].original)
    assert quarters[2].holdout_name == "fold 2.2"


def test_folds_do_not_depend_on_the_levels_asked_for():
    one = make_folds(records(40), None, [2], np.random.default_rng(5))[0]
    other = make_folds(records(40), None, [1, 2, 4], np.random.default_rng(5))[1]
    assert ids(one.original) == ids(other.original)


def test_more_folds_than_records_are_refused():
    with pytest.raises(ConfigError, match="4 folds of 7 records leave fewer than 2"):
        make_folds(records(7), None, [1, 4], np.random.default_rng(0))
