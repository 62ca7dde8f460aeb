"""Values with the quantiles of classes that overlap: beside all data sets there are, and refitted by numpy."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from problems import published

from outrisk.codebook import Codebook, Variable
from outrisk.evolve.crossed_quantiles import with_crossed
from outrisk.evolve.loop import evolve
from outrisk.evolve.order_statistics import with_quantiles
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata
from outrisk.problem.blocks import Mask, joint_over
from outrisk.problem.quantile_places import METHODS, TYPES

SHARES = [0.0, 0.25, 0.5, 0.75, 1.0]
TABLE = {"kind": "frequencies", "by": ["sex", "job"]}


def quartiles(*by, **more):
    return {"kind": "quantiles", "value": "wage", "by": list(by), "quantiles": SHARES, **more}


def workers(n, seed=1, wages=None, missing=False):
    rng = np.random.default_rng(seed)
    wages = range(0, 200_000, 50) if wages is None else wages
    codebook = Codebook(
        (
            Variable("sex", "categorical", ("f", "m")),
            Variable("job", "categorical", tuple("abcdefgh")),
            Variable("wage", "integer", tuple(wages), missing=missing),
        )
    )
    drawn = np.clip(rng.lognormal(10.3, 0.5, n), 0, 199_950) / 200_000 * len(wages)
    if missing:
        drawn[::7] = len(wages)
    return Microdata(
        codebook, np.stack([rng.integers(0, 2, n), rng.integers(0, 8, n), drawn], axis=1).astype(np.uint16)
    )


def others_with_classes_of(data, seed=2):
    """The same people, but for their wages, which are those of others."""
    codes = data.codes.copy()
    known = codes[:, 2] < len(data.codebook["wage"].values)
    codes[known, 2] = workers(len(data), seed, data.codebook["wage"].values).codes[known, 2]
    return codes


def by_numpy(codes, data, by, program):
    """Quantiles of the classes there are, from codes alone."""
    values = np.array(data.codebook["wage"].values, float)
    known = codes[codes[:, 2] < len(values)]
    return [
        np.quantile(values[known[known[:, by] == level, 2]], SHARES, method=METHODS[TYPES[program]])
        for level in np.unique(known[:, by])
    ]


@pytest.mark.parametrize("program", ["r", "stata", "sas", "spss"])
@pytest.mark.parametrize("n", [40, 150])
@pytest.mark.parametrize("missing", [False, True])
def test_both_groupings_have_their_quantiles_and_classes_stay(program, n, missing):
    data = workers(n, missing=missing)
    problem = published(data, quartiles("sex", program=program), quartiles("job", program=program), TABLE)
    codes = others_with_classes_of(data)
    with_quantiles(problem, codes)
    before = codes.copy()
    assert not problem.released[0].recompute(Microdata(data.codebook, codes)).matched.all()
    with_crossed(problem, codes)
    assert all(each.recompute(Microdata(data.codebook, codes)).matched.all() for each in problem.released)
    for by in (0, 1):
        found, asked = (by_numpy(each, data, by, program) for each in (codes, data.codes))
        np.testing.assert_allclose(found, asked, atol=0.006)
    np.testing.assert_array_equal(codes[:, :2], before[:, :2])
    unknown = len(data.codebook["wage"].values)
    np.testing.assert_array_equal(codes[:, 2] == unknown, before[:, 2] == unknown)
    again = codes.copy()
    with_crossed(problem, again)
    np.testing.assert_array_equal(again, codes)


def test_a_run_on_both_groupings_is_done_at_its_start():
    """Output by output, the last undid the first: the runs ended with some quartiles off."""
    problem = published(workers(40), quartiles("sex"), quartiles("job"), TABLE)
    for seed in (1, 2):
        assert next(evolve(problem, preset("fast"), np.random.default_rng(seed))).stop == "matched"


def test_subsets_three_groupings_and_few_values():
    for wages in (None, range(8)):
        data, subset = workers(150, wages=wages), quartiles("job", where="sex == 'm'", quantiles=[0.5])
        problem = published(data, quartiles(), quartiles("sex"), quartiles("job"), subset, TABLE)
        codes = others_with_classes_of(data)
        with_quantiles(problem, codes)
        with_crossed(problem, codes)
        assert all(each.recompute(Microdata(data.codebook, codes)).matched.all() for each in problem.released)


def test_values_are_found_if_and_only_if_there_are_some():
    """Medians, least and largest values of classes of odd numbers lie on records: beside all data sets of six."""
    rng, none = np.random.default_rng(3), 0
    codebook = Codebook(
        (
            Variable("sex", "categorical", ("f", "m")),
            Variable("job", "categorical", ("a", "b")),
            Variable("wage", "integer", (0, 1, 5, 6)),
        )
    )
    asked = [quartiles(by, quantiles=[0.0, 0.5, 1.0]) for by in ("sex", "job")]
    every = np.array(list(product(range(4), repeat=6)), np.uint16)
    for _ in range(40):
        who = np.array([[0, 0], [0, 0], [0, 1], [1, rng.integers(0, 2)], [1, 1], [1, 1]])
        who[0, 1] = 1 - who[3, 1]  # three of each sex and job
        people = [np.column_stack([who, rng.integers(0, 4, 6)]).astype(np.uint16) for _ in range(2)]
        of = rng.choice([0, 1], 2, p=[0.3, 0.7]) * [0, 1]  # wages of either sex, and of jobs, may be those of others
        problems = [published(Microdata(codebook, each), *asked) for each in people]
        released = tuple(problems[number].released[at] for at, number in enumerate(of))
        problem = replace(problems[0], released=released)
        fits = np.ones(len(every), bool)
        for by, level in product((0, 1), (0, 1)):
            mine = who[:, by] == level
            fits &= (np.sort(every[:, mine], axis=1) == np.sort(people[of[by]][mine, 2])).all(axis=1)
        codes = np.column_stack([who, rng.integers(0, 4, 6)]).astype(np.uint16)
        before = codes.copy()
        with_crossed(problem, codes)
        if fits.any():
            assert (every[fits] == codes[:, 2]).all(axis=1).any()
        else:
            none += 1
            np.testing.assert_array_equal(codes, before)
    assert 5 < none < 35


def test_no_rule_is_broken():
    data = workers(60, wages=range(12))
    data.codes[data.codes[:, 0] == 0, 2] %= 6  # no woman earns more
    joint = joint_over((0, 2), data.codebook.sizes)
    rule = Mask(joint, (np.arange(24) < 6) | (np.arange(24) >= 12))
    problem = published(data, quartiles("job", program="stata"), quartiles("sex", program="stata"), TABLE)
    problem = replace(problem, rules=(rule,))
    codes = others_with_classes_of(data)
    codes[codes[:, 0] == 0, 2] %= 6
    with_crossed(problem, codes)
    assert (codes[codes[:, 0] == 0, 2] < 6).all()
    assert all(each.recompute(Microdata(data.codebook, codes)).matched.all() for each in problem.released)
