"""Whom a release follows: what is planted is found, what everybody could infer is not, and nobody is named."""

import numpy as np
import pandas as pd
import pytest

import outrisk
from outrisk.assess.following import Question, _changed, _chosen, _claimed, _flagged
from outrisk.codebook import Codebook, Variable
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata

KEYS = ["area", "group", "sex"]
BOOK = Codebook(tuple(Variable(name, "integer", tuple(range(4))) for name in ("a", "b", "t")))


def people(n, seed):
    """Nobody is in area 5 and group 4 but those who are planted; who is in group 0 is never ill."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"area": rng.integers(0, 5, n), "group": rng.integers(0, 4, n), "sex": rng.integers(1, 3, n)})
    frame["ill"] = ((rng.random(n) < 0.4) & (frame["group"] > 0)).astype(int)
    return frame


def base():
    return [{"kind": "frequencies", "by": by} for by in (["area", "sex"], ["group", "ill"], ["sex", "ill"])]


def planted(seed):
    frame = people(500, seed)
    frame.loc[:2, ["area", "group", "ill"]] = 5, 4, 1
    return frame, [*base(), {"kind": "frequencies", "name": "area 5", "by": ["group", "ill"], "where": "area == 5"}]


def test_three_people_of_one_area_are_followed_and_a_rule_that_all_know_is_not():
    frame, outputs = planted(1)
    found = outrisk.follow(frame, outputs, keys=KEYS, target="ill", workers=1)
    assert found.followed >= 3 and found.tried >= found.followed
    assert "followed" in found.sentence and found.by_keys["people_followed"].max() >= 3
    plain = outrisk.follow(people(500, 2), base(), keys=KEYS, target="ill", workers=1)
    assert plain.followed == 0


def test_the_same_seed_finds_the_same():
    frame, outputs = planted(3)
    first, second = (
        outrisk.follow(frame, outputs, keys=KEYS, target="ill", runs=2, workers=workers, seed=4) for workers in (1, 2)
    )
    assert first.sentence == second.sentence
    pd.testing.assert_frame_equal(first.by_keys, second.by_keys)


def records(rows):
    return Microdata(BOOK, np.array(rows, dtype=np.uint16))


def question(rows):
    return Question(records(rows), (), ("a", "b"), "t", preset("fast"))


def test_small_classes_of_one_value_that_enough_runs_infer_are_flagged():
    rows = [[0, 0, 1], [0, 0, 1], [1, 0, 2], [1, 1, 1], *[[2, 2, 3]] * 11, [3, 3, 0]]
    asked = question(rows)
    right, wrong = records([*rows[:4], [3, 3, 0]]), records([[0, 0, 1], [0, 0, 2], [3, 3, 0]])
    found = {(each.keys, tuple(each.rows), each.value) for each in _flagged(asked, [right] * 9 + [wrong])}
    assert found == {
        (("a",), (0, 1), 1),
        (("a", "b"), (2,), 2),
        (("a",), (15,), 0),
        (("b",), (3,), 1),
    }  # eleven alike are too many; a = 1 holds two values; by b alone, 0 holds two
    assert {each.keys for each in _flagged(asked, [right] * 8 + [wrong] * 2)} == {("a",)}  # 15 alone is left


def test_classes_of_a_round_share_nobody_and_their_values_change():
    asked = question([[0, 0, 1], [0, 0, 1], [1, 0, 2], [3, 3, 0]])
    flagged = _flagged(asked, [asked.original])
    chosen = _chosen(flagged, [], [], 2)
    rows = np.concatenate([each.rows for each in chosen])
    assert len(set(rows)) == len(rows) and sorted(rows) == [0, 1, 2, 3]
    changed, new = _changed(asked, chosen, np.random.default_rng(0))
    assert (changed.codes[:, :2] == asked.original.codes[:, :2]).all()
    assert (changed.codes[:, 2] != asked.original.codes[:, 2]).all()
    assert all(_claimed(asked, each, value, [changed] * 5) for each, value in zip(chosen, new, strict=True))
    assert not any(_claimed(asked, each, each.value, [changed] * 5) for each in chosen)
    assert _chosen(flagged, chosen, chosen, 2) == []


@pytest.mark.parametrize("given", [{"runs": 0}, {"rounds": 0}])
def test_numbers_that_cannot_be(given):
    with pytest.raises(outrisk.OutRiskError, match="whole number from 1"):
        outrisk.follow(people(50, 1), base(), keys=KEYS, target="ill", **given)
