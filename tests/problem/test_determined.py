"""Variables that others determine: found in rules, and taken out of what outputs ask of records, exactly."""

from itertools import product

import numpy as np
import pytest
from pydantic import TypeAdapter

from outrisk.codebook import Codebook, Variable
from outrisk.config import OutputEntry
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata
from outrisk.outputs import release
from outrisk.outputs.conditions.derived import derived_in
from outrisk.problem.blocks import Mask, breaks_rule, joint_over, variables
from outrisk.problem.determined import determined, whole

CODEBOOK = Codebook(
    (
        Variable("age", "integer", tuple(range(40))),
        Variable("band", "integer", (0, 1, 2, 3)),
        Variable("area", "categorical", ("a", "b", "c", "d")),
        Variable("north", "categorical", ("0", "1")),
        Variable("old north", "categorical", ("0", "1")),
        Variable("time", "integer", tuple(range(1, 13))),
        Variable("ill", "categorical", ("0", "1")),
    )
)
DERIVE = {"band": "age // 10", "north": "area in ['a', 'b']", "old north": "(band >= 2) and (north == '1')"}
RULES = tuple(rule.mask for rule in derived_in(CODEBOOK, DERIVE).values())
ENTRIES = [
    {"kind": "frequencies", "by": ["band", "north", "ill"], "margins": True},
    {"kind": "frequencies", "by": ["band", "ill"], "show": "row_percentages", "where": "north == '1' and age > 4"},
    {"kind": "frequencies", "by": ["old north", "ill"], "protection": {"threshold": 5}},
    {"kind": "magnitudes", "value": "age", "by": ["band", "ill"], "statistics": ["mean", "sd"], "decimals": 1},
    {"kind": "magnitudes", "value": "band", "by": ["area"], "statistics": ["mean"], "decimals": 2},
    {"kind": "quantiles", "value": "age", "by": ["north"], "quantiles": [0.25, 0.5]},
    {"kind": "logit", "formula": "ill ~ age + C(band) + C(north)", "event": "1",
     "release": ["coefficients", "standard_errors", "log_likelihood"]},
    {"kind": "logit", "formula": "ill ~ age + C(band)", "event": "1", "where": "north == '1'", "covariance": "robust",
     "release": ["coefficients", "standard_errors"]},
    {"kind": "ols", "formula": "band ~ C(area) + C(ill)", "release": ["coefficients", "standard_errors"]},
    {"kind": "ols", "formula": "age ~ C(ill)", "cluster": "area", "release": ["coefficients", "standard_errors"]},
    {"kind": "cox", "formula": "time ~ band + age", "status": "ill", "event": "1", "strata": "north"},
    {"kind": "survival", "time": "time", "event": "ill", "by": "band", "times": [3, 6, 9]},
    {"kind": "correlations", "variables": ["age", "band", "time"]},
]  # fmt: skip


def people(n, seed):
    rng = np.random.default_rng(seed)
    age, area, time = rng.integers(0, 40, n), rng.integers(0, 4, n), rng.integers(0, 12, n)
    ill = (rng.random(n) < 0.2 + age / 80).astype(int)
    north = (area < 2).astype(int)
    band = age // 10
    codes = np.stack([age, band, area, north, (band >= 2) * north, time, ill], axis=1)
    return Microdata(CODEBOOK, codes.astype(np.uint16))


def problem_of(data, *entries):
    adapter = TypeAdapter(OutputEntry)
    outputs = [o for at, each in enumerate(entries, 1) for o in adapter.validate_python(each).build(CODEBOOK, at)]
    return Problem(CODEBOOK, len(data), tuple(release(output, data) for output in outputs), RULES)


def test_found_in_rules_one_by_another():
    found = {CODEBOOK.names[each.variable]: each for each in determined(RULES, CODEBOOK.sizes)}
    assert list(found) == ["band", "north", "old north"]
    assert {name: [CODEBOOK.names[j] for j in each.of.variables] for name, each in found.items()} == {
        "band": ["age"], "north": ["area"], "old north": ["age", "area"],
    }  # fmt: skip
    for (age, area), code in zip(product(range(40), range(4)), found["old north"].code, strict=True):
        assert code == (age >= 20 and area < 2)


@pytest.mark.parametrize(
    ("sizes", "pairs", "said"),
    [
        ((4, 2), {(0, 0), (1, 0), (2, 1), (3, 1)}, (1, [0, 0, 1, 1])),
        ((2, 4), {(0, 0), (0, 1), (1, 2), (1, 3)}, (0, [0, 0, 1, 1])),
        ((3, 3), {(0, 2), (1, 0), (2, 1)}, (1, [2, 0, 1])),  # each tells the other: the later one follows
        ((4, 2), {(0, 0), (1, 0), (2, 1)}, (1, [0, 0, 1, -1])),  # no record may have the last value
        ((4, 2), {(0, 0), (1, 0), (1, 1), (2, 1), (3, 1)}, None),
    ],
)
def test_which_follows_from_which(sizes, pairs, said):
    joint = joint_over((0, 1), sizes)
    mask = Mask(joint, np.array([pair in pairs for pair in product(*map(range, sizes))]))
    found = [(each.variable, each.code.tolist()) for each in determined([mask], sizes)]
    assert found == ([] if said is None else [said])


def test_what_several_rules_of_the_same_variables_say_together():
    joint = joint_over((0, 1), (4, 2))
    young = Mask(joint, np.array([level // 2 < 2 or level % 2 == 1 for level in range(8)]))  # 2 and 3 imply 1
    old = Mask(joint, np.array([level // 2 >= 2 or level % 2 == 0 for level in range(8)]))  # 0 and 1 imply 0
    assert determined([young], (4, 2)) == determined([old], (4, 2)) == ()
    assert [each.code.tolist() for each in determined([young, old], (4, 2))] == [[0, 0, 1, 1]]


def test_all_totals_stay_what_they_are():
    data, other = people(300, 1), people(200, 2)
    free = problem_of(data, *ENTRIES).searched
    tied = free.tied
    told = {each.variable for each in tied.determined}
    assert [CODEBOOK.names[j] for j in sorted(told)] == ["band", "north", "old north"]
    assert not told & {j for part in tied.parts for block in part.blocks for j in variables(block)}
    assert tied.free is free and tied.tied is tied and not tied.rules
    for records in (data, other):
        blank = records.codes.copy()
        blank[:, sorted(told)] = 0
        np.testing.assert_allclose(tied.totals(blank), free.totals(records.codes), rtol=1e-12, atol=1e-9)
        assert (tied.whole(blank) == records.codes).all()
        for one, same in zip(tied.sampling_errors(blank), free.sampling_errors(records.codes), strict=True):
            assert one == pytest.approx(same, rel=1e-9, nan_ok=True)


def test_other_rules_hold_for_what_tells_the_variable():
    rule = Mask(joint_over((1, 6), CODEBOOK.sizes), np.arange(8) != 7)  # nobody in the last band is ill
    data = people(100, 1)
    data.codes[data.codes[:, 1] == 3, 6] = 0
    problem = problem_of(data, ENTRIES[0])
    problem = Problem(CODEBOOK, len(data), problem.released, (*RULES, rule)).tied
    (left,) = problem.rules
    assert left.joint.variables == (0, 6)
    assert left.include.reshape(40, 2)[:, 1].tolist() == [age < 30 for age in range(40)]


@pytest.mark.parametrize(
    "entry",
    [
        {"kind": "ols", "formula": "age ~ C(ill)", "cluster": "band", "release": ["coefficients", "standard_errors"]},
        {"kind": "magnitudes", "value": "age", "by": ["ill"], "weight": "band"},
    ],
)
def test_clusters_and_weights_stay_variables_of_their_own(entry):
    tied = problem_of(people(100, 1), entry, ENTRIES[0]).tied
    assert "band" not in [CODEBOOK.names[each.variable] for each in tied.determined]
    assert not breaks_rule(tied.rules, people(50, 3).codes).any() and len(tied.rules)


@pytest.mark.parametrize("n", [20, 600, 3_000])
@pytest.mark.parametrize("start", ["uniform", "univariate", "released", "calibrated"])
def test_records_agree_in_every_generation_and_outputs_are_met(n, start):
    data = people(n, 5)
    problem = problem_of(data, ENTRIES[0], ENTRIES[3], {"kind": "univariate", "variables": ["time"]})
    for generation in evolve(problem, preset("fast", start=start, generations=60), np.random.default_rng(1)):
        assert not breaks_rule(RULES, generation.codes).any()
        if generation.number > 3:
            break
    refits = [output.recompute(Microdata(CODEBOOK, generation.codes)) for output in problem.released]
    assert all(refit.matched.all() for refit in refits) or n == 20 or start == "uniform"


def test_the_genetic_algorithm_keeps_them_too():
    problem = problem_of(people(200, 5), ENTRIES[0], ENTRIES[4])
    for start in ("uniform", "univariate"):
        settings = preset("paper", start=start, generations=5)
        errors = []
        for generation in evolve(problem, settings, np.random.default_rng(1)):
            assert not breaks_rule(RULES, generation.codes).any()
            errors.append(generation.errors.missed)
        assert errors[-1] < errors[0]


def test_values_that_follow_are_put_whatever_stood_there():
    data, those = people(50, 7), determined(RULES, CODEBOOK.sizes)
    assert whole(data.codes, ()) is data.codes
    wrong = data.codes.copy()
    wrong[:, 1] = 0
    assert (whole(wrong, those) == data.codes).all() and (wrong[:, 1] == 0).all()
