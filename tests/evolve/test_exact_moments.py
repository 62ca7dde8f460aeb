"""Published means and standard deviations of a start, of tables that cross: refitted with pandas."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from outrisk.codebook import Codebook, Variable
from outrisk.evolve.agreeing_sums import Changes, agreeing
from outrisk.evolve.exact_moments import with_moments
from outrisk.evolve.loop import evolve
from outrisk.evolve.order_statistics import with_quantiles
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, Magnitudes, Quantiles, release
from outrisk.outputs.tables.protection import Protection
from outrisk.problem.blocks import Mask, joint_over

AGES = (17.5, 22.0, 27.0, 32.0, 37.0, 42.0)  # those of a well-known survey: the first lies beside the others


def people(n, seed, ages=tuple(range(16, 90))):
    rng = np.random.default_rng(seed)
    codebook = Codebook(
        (
            Variable("sex", "categorical", ("f", "m")),
            Variable("job", "categorical", tuple("abcd")),
            Variable("region", "categorical", tuple("nesw")),
            Variable("age", "float" if ages == AGES else "integer", ages),
            Variable("wage", "integer", tuple(range(0, 200_000, 50))),
        )
    )
    sex, job, region = rng.integers(0, 2, n), rng.integers(0, 4, n), rng.integers(0, 4, n)
    age = np.clip(rng.normal(len(ages) * (0.35 + 0.05 * job), len(ages) / 4, n), 0, len(ages) - 1)
    wage = np.minimum(rng.lognormal(9.5 + 0.1 * job, 0.6, n), 199_950) // 50
    return Microdata(codebook, np.stack([sex, job, region, age, wage], axis=1).astype(np.uint16))


def shuffled(data, variable, seed):
    """The same people, of whom each job's have their values anew."""
    rng, codes = np.random.default_rng(seed), data.codes.copy()
    for job in range(4):
        there = np.flatnonzero(codes[:, 1] == job)
        codes[there, variable] = codes[rng.choice(there, len(there)), variable]
    return codes


def tables(data, value, digits=6):
    by = (("sex", "job"), ("job", "region"), ("sex",), ())
    return [
        Magnitudes(data.codebook, f"t{at}", value, of, ("mean", "sd"), digits=(digits, digits))
        for at, of in enumerate(by)
    ]


def moments(data, codes, value):
    """Means and standard deviations by pandas, of each table."""
    frame = Microdata(data.codebook, codes).frame()
    frame[value] = pd.to_numeric(frame[value])
    return pd.concat(
        [
            frame.groupby(by)[value].agg(["mean", "std"])
            for by in (["sex", "job"], ["job", "region"], ["sex"], lambda _: 0)
        ]
    ).to_numpy()


@pytest.mark.parametrize(("value", "ages"), [("age", tuple(range(16, 90))), ("age", AGES), ("wage", AGES)])
@pytest.mark.parametrize("n", [1_000, 5_000])
def test_crossed_means_and_standard_deviations_are_met_to_six_digits(value, ages, n):
    data = people(n, 1, ages)
    variable = data.codebook.index(value)
    problem = Problem(data.codebook, n, tuple(release(output, data) for output in tables(data, value)))
    codes = shuffled(data, variable, 2)
    before, (was, wanted) = codes.copy(), (moments(data, each, value) for each in (codes, data.codes))
    with_moments(problem, codes, np.random.default_rng(3))
    assert (np.abs(was - wanted) > 5e-7).mean() > 0.9
    np.testing.assert_allclose(moments(data, codes, value), wanted, atol=5.1e-7, rtol=0)
    others = np.arange(5) != variable
    np.testing.assert_array_equal(codes[:, others], before[:, others])
    assert (codes != before).any(axis=1).mean() < 0.7


def test_published_quantiles_stay_as_they_are():
    data = people(3_000, 4)
    quartiles = Quantiles(data.codebook, "q", "wage", ("job",), (0.25, 0.5, 0.75))
    crossed = [Magnitudes(data.codebook, by, "wage", (by,), ("mean", "sd"), digits=(2, 2)) for by in ("sex", "region")]
    problem = Problem(data.codebook, 3_000, tuple(release(output, data) for output in (*crossed, quartiles)))
    codes = shuffled(data, 4, 5)
    with_quantiles(problem, codes)
    before = [each.recompute(Microdata(data.codebook, codes)).matched for each in problem.released]
    with_moments(problem, codes, np.random.default_rng(6))
    assert all(each.recompute(Microdata(data.codebook, codes)).matched.all() for each in problem.released)
    assert before[-1].all()
    assert not np.concatenate(before[:-1]).any()


def test_nothing_changes_that_a_table_counts_or_a_rule_forbids():
    data = people(500, 7)
    codes = shuffled(data, 3, 8)
    counted = [*tables(data, "age"), Frequencies(data.codebook, "n", ("age",))]
    problem = Problem(data.codebook, 500, tuple(release(output, data) for output in counted))
    found = codes.copy()
    with_moments(problem, found, np.random.default_rng(9))
    np.testing.assert_array_equal(found, codes)
    joint = joint_over([0, 3], data.codebook.sizes)
    include = ~np.isin(np.arange(joint.size), codes[:, 0].astype(int) * 74 + codes[:, 3])
    ruled = Problem(
        data.codebook, 500, tuple(release(output, data) for output in tables(data, "age")), (Mask(joint, ~include),)
    )
    with_moments(ruled, found, np.random.default_rng(9))
    assert np.isin(found[:, 0].astype(int) * 74 + found[:, 3], np.flatnonzero(~include)).all()


@pytest.mark.parametrize(
    "how",
    [
        {"weight": "age"},
        {"by": ("age",), "statistics": ("sd",)},
        {"value": "age", "protection": Protection(top_code=60)},
        {"where": "age > 40"},
    ],
)
def test_nothing_changes_that_a_table_weighs_or_groups_by_cuts_off_or_takes_a_subset_of(how):
    data = people(500, 12)
    codes = shuffled(data, 3, 13)
    codes[:, 3] = np.minimum(codes[:, 3], 40)
    plain = {"value": "wage", "by": ("sex",), "statistics": ("mean",), "digits": (4,)}
    other = Magnitudes(data.codebook, "other", **plain | how)
    outputs = [*tables(data, "age"), other]
    problem = Problem(data.codebook, 500, tuple(release(output, data) for output in outputs))
    found = codes.copy()
    with_moments(problem, found, np.random.default_rng(14))
    np.testing.assert_array_equal(found[:, 3], codes[:, 3])


def test_a_run_begins_with_what_a_search_does_not_come_to():
    data = people(800, 10)
    outputs = [*tables(data, "wage", 2), Frequencies(data.codebook, "n", ("sex", "job", "region"))]
    problem = Problem(data.codebook, 800, tuple(release(output, data) for output in outputs))
    first = next(iter(evolve(problem, preset("fast"), np.random.default_rng(1))))
    assert first.stop == "matched"
    assert all(each.recompute(Microdata(data.codebook, first.codes)).matched.all() for each in problem.released)


def test_sums_agree_with_all_rows_where_any_do_and_with_one_of_the_choices():
    rng = np.random.default_rng(11)
    for _ in range(20):
        rows = sparse.csr_matrix((rng.random((6, 12)) < 0.5).astype(float))
        there = 2 * rng.integers(-3, 4, 12)
        firm = np.zeros(12, np.bool_)
        firm[:2], there[:2] = True, 0
        wanted = np.repeat((rows @ there)[:, None], 2, axis=1).astype(float)
        chosen = wanted[0, 0]
        wanted[0] = -np.inf, np.inf
        changes = Changes(2, np.zeros(12), np.ones(12), np.tile([-8.0, 8.0], (12, 1)), firm)
        found = agreeing(rows, wanted, changes, {0: np.array([chosen, chosen + 50.0])})
        np.testing.assert_array_equal((rows @ found)[1:], wanted[1:, 0])
        assert (rows @ found)[0] in (chosen, chosen + 50.0)
        assert not found[firm].any() and not (found % 2).any() and np.abs(found).max() <= 8


@pytest.mark.parametrize("n", [40, 1_000])
def test_standard_deviations_without_means_are_met_too(n):
    data = people(n, 1)
    output = Magnitudes(data.codebook, "t", "age", ("job",), ("sd",), digits=(6,))
    problem = Problem(data.codebook, n, (release(output, data),))
    codes = shuffled(data, data.codebook.index("age"), 2)
    with_moments(problem, codes, np.random.default_rng(1))
    found, wanted = (
        pd.to_numeric(frame["age"]).groupby(frame["job"], observed=True).std().to_numpy()
        for frame in (Microdata(data.codebook, codes).frame(), data.frame())
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
