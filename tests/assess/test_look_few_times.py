"""Survival curves at a few times: whose event they tell for certain, against all data that print the same."""

import itertools

import numpy as np
import pytest

from outrisk.appetite import Appetite
from outrisk.assess.look import look
from outrisk.assess.look.told import told_by_curves
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, release
from outrisk.outputs.smooth.survival import Survival

MONTHS = (6, 12, 18, 24)
CODEBOOK = Codebook(
    (
        Variable("months", "integer", MONTHS),
        Variable("arm", "categorical", ("a", "b")),
        Variable("died", "integer", (0, 1)),
    )
)
KINDS = list(itertools.product(range(4), (0, 1)))  # month and event


def every(n):
    """Numbers of people (m, 4, 2) by month and event, of all data of n people."""
    found = []
    for bars in itertools.combinations(range(n + 7), 7):
        ends = (-1, *bars, n + 7)
        found.append([after - before - 1 for before, after in itertools.pairwise(ends)])
    return np.array(found).reshape(-1, 4, 2)


def numbers(of, times, statistics, places):
    """What a curve prints (m, k) of people (m, 4, 2), by hand."""
    events, at_risk = of[:, :, 1], of.sum(axis=2)[:, ::-1].cumsum(axis=1)[:, ::-1]
    survival = np.cumprod(1 - events / np.maximum(at_risk, 1), axis=1)
    printed, before = [], 0
    for time in times:
        column = {
            "survival": np.round(survival[:, time] + 1e-12, places),
            "at risk": at_risk[:, time],
            "events": events[:, before : time + 1].sum(axis=1),
        }
        printed += [column[name] for name in statistics]
        before = time + 1
    return np.array(printed).T


def people(of, arm=0):
    rows = [(month, arm, died) for (month, died), number in zip(KINDS, of.ravel(), strict=True) for _ in range(number)]
    return Microdata(CODEBOOK, np.array(rows, dtype=np.uint16).reshape(-1, 3))


@pytest.mark.parametrize("seed", range(4))
def test_what_is_called_certain_is_so_in_all_data_of_the_same_print(seed):
    """With everybody at risk at the first time all that is certain is told, but for what several curves exclude."""
    rng, told_alone, missed = np.random.default_rng(seed), 0, 0
    possible = {n: every(n) for n in range(1, 7)}
    for _ in range(60):
        of = possible[int(rng.integers(3, 6))]
        of = of[rng.integers(len(of))]
        times = sorted(rng.choice(4, int(rng.integers(1, 4)), replace=False).tolist())
        names = [("survival", "at risk"), ("survival", "at risk", "events"), ("at risk", "events"), ("events",)]
        statistics, places = names[rng.integers(4)], int(rng.integers(1, 4))
        digits = {"survival": places} if "survival" in statistics else 3
        curve = Survival(CODEBOOK, "s", "months", "died", (), tuple(MONTHS[t] for t in times), statistics, "", digits)
        shown = told_by_curves(curve, people(of)).shown.all(axis=1)
        mine = numbers(of[None], times, statistics, places)
        same = [
            each
            for n in possible
            for each in possible[n][(np.abs(numbers(possible[n], times, statistics, places) - mine) < 1e-9).all(axis=1)]
        ]
        for month in np.flatnonzero(of.sum(axis=1)):
            certain = min(np.array(same)[:, month].max(axis=0)) == 0
            if shown[month] and 0 in of[month]:
                assert certain, (of, times, statistics, places, month)
                told_alone += 1
            missed += bool(certain and not shown[month])
    assert told_alone > 30 and missed < told_alone


def test_numbers_of_people_beside_a_curve_tell_that_nobody_died():
    """1.000 of 12 people is everybody, of 3,000 it is not."""
    rows = [(month, 0, 0) for month in (0, 0, 1, 3)] + [(3, 0, 1)] * 8 + [(month, 1, 1) for month in range(4)] * 3
    curve = Survival(CODEBOOK, "s", "months", "died", ("arm",), (12, 24), ("survival",))
    table = Frequencies(CODEBOOK, "t", ("arm",))

    def said(data, *outputs):
        return [each for each in look(outputs, data, Appetite()) if each.certain and each.about == "died"]

    data = Microdata(CODEBOOK, np.array(rows, dtype=np.uint16))
    assert not said(data, curve) and not said(data, table)
    (found,) = said(data, curve, table)
    assert (found.output, found.people) == ("s with t", 3)  # of arm a, by month 12
    for at in range(3):  # another value of one of them is printed otherwise
        changed = data.codes.copy()
        changed[at, 2] = 1
        assert (release(curve, Microdata(CODEBOOK, changed)).low != release(curve, data).low).any()
    assert not said(Microdata(CODEBOOK, np.repeat(data.codes, 250, axis=0)), curve, table)
