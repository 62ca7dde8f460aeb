"""Tables of few variables in the place of one of all say the same: of claims, of proofs, and of best guesses."""

from dataclasses import replace

import numpy as np
import pytest

from outrisk.codebook import Codebook, Variable
from outrisk.errors import ProveError
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, Magnitudes, Quantiles, Regression, release
from outrisk.outputs.regression.release import Release
from outrisk.problem.blocks import Mask, joint_over
from outrisk.prove import certain_claims, nearby, programme, solver
from outrisk.prove.arranged import Arranger
from outrisk.prove.budget import Budget
from outrisk.prove.certain_claims import certain_values
from outrisk.prove.junction_tree import junction_tree
from outrisk.prove.proofs import smallest_proofs
from outrisk.reconstruct import best_guesses

CODEBOOK = Codebook(
    (
        Variable("age", "integer", tuple(range(20, 28))),
        Variable("area", "integer", (1, 2, 3)),
        Variable("sex", "integer", (1, 2)),
        Variable("ill", "integer", (0, 1)),
        Variable("pay", "integer", (1, 2, 5)),
        Variable("job", "integer", (1, 2, 3)),
        Variable("wed", "integer", (1, 2)),
    )
)
KEYS = ("age", "area", "sex")
ILL = CODEBOOK.index("ill")


def table(name, *by, **more):
    return Frequencies(CODEBOOK, name, by, **more)


RELEASES = {
    "two variables with the target": [table("j", "age", "job", "ill"), table("w", "area", "wed", "ill")],
    "in a row": [table("j", "sex", "job", "ill"), table("w", "job", "wed"), table("p", "wed", "pay", "area")],
    "in a circle": [table("a", "job", "wed"), table("b", "wed", "pay", "age"), table("c", "pay", "job", "ill")],
    "means": [
        Magnitudes(CODEBOOK, "m", "pay", ("job", "ill"), ("count", "mean")),
        table("w", "wed", "age", "ill"),
        table("j", "job", "sex"),
    ],
    "medians": [Quantiles(CODEBOOK, "q", "pay", ("area",), (0.5,)), table("p", "pay", "ill"), table("w", "wed", "ill")],
    "a regression": [
        Regression(CODEBOOK, "l", "ols", "ill ~ age + C(job)", Release(("coefficients", "n"), 4)),
        table("w", "wed", "area", "ill"),
        table("s", "sex", "ill"),
    ],
}
RULE = Mask(joint_over([ILL, CODEBOOK.index("wed")], CODEBOOK.sizes), np.array([True, True, True, False]))


def records(seed, n):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, size, n) for size in CODEBOOK.sizes], axis=1)
    codes[:, ILL] *= codes[:, CODEBOOK.index("age")] > 3  # some have one answer in every data set that fits
    codes[:, CODEBOOK.index("job")] *= codes[:, ILL]
    codes[:, CODEBOOK.index("wed")] *= 1 - codes[:, ILL]  # as the rule says
    return Microdata(CODEBOOK, codes.astype(np.uint16))


@pytest.fixture
def always(monkeypatch):
    """Tables apart also where all variables crossed are few kinds."""
    monkeypatch.setattr(programme, "_CROSSED", -1)
    monkeypatch.setattr(programme, "_SMALLER", 0)


def both(data, name, share=1.0, rules=(), **more):
    """The programme of all variables crossed, and that of tables apart."""
    m = round(share * len(data))
    known = {each: data.codes[:m, CODEBOOK.index(each)].astype(np.int64) for each in KEYS}
    released = [release(one, data) for one in RELEASES[name]]
    crossed = programme.programme(CODEBOOK, released, len(data), known, ["ill"], rules, crossed=True)
    return crossed, programme.programme(CODEBOOK, released, len(data), known, ["ill"], rules, **more)


@pytest.mark.parametrize("seed", range(20))
def test_a_junction_tree_has_every_set_and_agrees_on_what_is_shared(seed):
    rng = np.random.default_rng(seed)
    sets = [frozenset(rng.choice(9, rng.integers(1, 4), replace=False).tolist()) for _ in range(rng.integers(1, 8))]
    root = frozenset(rng.choice(9, rng.integers(0, 4), replace=False).tolist())
    tables = junction_tree(root, sets, lambda some: 3.0 ** len(some))
    assert root <= tables[0].variables and tables[0].parent == -1
    assert all(any(each <= one.variables for one in tables) for each in sets)
    before = tables[0].variables
    for at, one in enumerate(tables[1:], 1):
        assert one.parent < at and one.shared == one.variables & before <= tables[one.parent].variables
        assert not one.variables <= tables[one.parent].variables
        before |= one.variables
    assert before == root.union(*sets)


@pytest.mark.parametrize("share", [1.0, 0.7])
@pytest.mark.parametrize("rules", [(), (RULE,)], ids=["", "rule"])
@pytest.mark.parametrize("name", RELEASES)
def test_claims_are_those_of_all_variables_crossed(name, rules, share, always):
    data = records(3, 30)
    crossed, apart = both(data, name, share, rules)
    assert apart.further and len(apart.codes) < len(crossed.codes)
    if name == "a regression":  # in whole numbers it takes half a minute
        crossed, apart = (replace(of, integer=0) for of in (crossed, apart))
    truth = data.codes[: len(apart.groups), ILL]
    for fitting in (None, data.codes[: len(apart.groups)]):
        one, other = (certain_values(of, "ill", fitting=fitting if of is apart else None) for of in (crossed, apart))
        assert one.state == other.state == "complete"
        assert (one.possible == other.possible).all() and (one.value == other.value).all()
        told = other.value >= 0
        assert (other.value[told] == truth[told]).all()


@pytest.mark.parametrize(("name", "seed"), [("two variables with the target", 3), ("in a circle", 2), ("in a row", 2)])
def test_a_proof_takes_as_few_outputs_as_one_of_all_variables_crossed(name, seed, always):
    sizes = []
    for of in both(records(seed, 12), name):
        claims = certain_values(of, "ill")
        proofs = smallest_proofs(of, "ill", claims, Budget())
        assert claims.proved and all(each.smallest.all() for each in proofs)
        sizes.append({person: len(each.outputs) for each in proofs for person in each.people.tolist()})
    assert sizes[0] == sizes[1] and len(set(sizes[0].values())) > 1


@pytest.mark.parametrize("share", [1.0, 0.7])
@pytest.mark.parametrize("rules", [(), (RULE,)], ids=["", "rule"])
@pytest.mark.parametrize("name", RELEASES)
def test_best_guesses_are_those_of_all_variables_crossed(name, rules, share, always, monkeypatch):
    monkeypatch.setattr(best_guesses, "_FALL", 1e-13)
    monkeypatch.setattr(best_guesses, "_STEPS", (5_000, 20_000))
    monkeypatch.setattr(best_guesses, "settled", lambda of: None)  # which say what whole numbers do, and differ in it
    monkeypatch.setattr(best_guesses, "narrowed", lambda of: of)
    one, other = (best_guesses.best_guesses(of, "ill") for of in both(records(5, 80), name, share, rules))
    assert np.abs(one.chances - other.chances).max() < 2e-3
    assert one.chances.std() > 0.05


def test_people_outside_the_register_are_those_of_all_variables_crossed(monkeypatch):
    data = records(4, 40)
    found = []
    for arrange in (Arranger.apart, Arranger.crossed):
        monkeypatch.setattr(Arranger, "apart", arrange)
        of, _ = both(data, "in a row", 0.6)
        found.append((len(of.codes), certain_values(of, "ill").possible, best_guesses.best_guesses(of, "ill").chances))
    assert found[0][0] < found[1][0]
    assert (found[0][1] == found[1][1]).all() and np.abs(found[0][2] - found[1][2]).max() < 0.02


def test_outputs_are_used_that_all_variables_crossed_leave_out():
    data = records(6, 2_000)
    released = [release(one, data) for one in (*RELEASES["means"], table("j2", "age", "job", "ill"))]
    known = {each: data.codes[:, CODEBOOK.index(each)].astype(np.int64) for each in KEYS}
    crossed, apart = (
        programme.programme(CODEBOOK, released, len(data), known, ["ill"], (), 400, crossed)
        for crossed in (True, False)
    )
    assert crossed.left_out and not apart.left_out and apart.n_columns <= 400
    fewer, more = (certain_values(of, "ill", fitting=data.codes) for of in (crossed, apart))
    assert (fewer.possible >= more.possible).all() and more.proved >= fewer.proved
    told = more.value >= 0
    assert told.any() and (more.value[told] == data.codes[told, ILL]).all()


def test_an_output_that_would_make_tables_too_large_stands_alone_and_says_less(always):
    data = records(7, 40)
    crossed, apart = both(data, "in a circle")
    _, alone = both(data, "in a circle", most_columns=apart.n_columns - 1)
    assert "same people" in " ".join(alone.left_out.values()) and not apart.left_out
    whole, weaker = certain_values(apart, "ill"), certain_values(alone, "ill")
    assert (weaker.possible >= whole.possible).all() and not weaker.sharp
    assert (certain_values(crossed, "ill").possible == whole.possible).all()


def test_numbers_that_no_data_set_has_are_said_to_be(always):
    data, other = records(1, 30), records(2, 30)
    known = {each: data.codes[:, CODEBOOK.index(each)].astype(np.int64) for each in KEYS}
    released = [release(one, data if one.name == "j" else other) for one in RELEASES["two variables with the target"]]
    of = programme.programme(CODEBOOK, released, 30, known, ["ill"])
    assert of.further
    with pytest.raises(ProveError, match="no data set fits"):
        certain_values(of, "ill")


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_large_programmes_of_tables_apart_come_to_the_same(share, always, monkeypatch):
    data = records(8, 300)
    of = replace(both(data, "two variables with the target", share)[1], integer=0)
    plain = certain_values(of, "ill")
    codes = data.codes[: len(of.groups)]
    monkeypatch.setattr(solver, "MANY", 10)
    monkeypatch.setattr(solver, "WIDE", 1)
    by_columns = certain_values(of, "ill", fitting=codes)
    for module in (nearby, certain_claims):
        monkeypatch.setattr(module, "ENTRIES", 100)
    seen, refute = [], nearby.Nearby.refute
    monkeypatch.setattr(nearby.Nearby, "refute", lambda self, *a: (seen.append(1), refute(self, *a))[1])
    near = certain_values(of, "ill", fitting=codes)
    assert seen and plain.proved
    for each in (by_columns, near):
        assert (each.possible == plain.possible).all()


def test_a_median_by_one_key_is_used_where_the_register_says_how_many_they_are():
    data = records(9, 40)
    released = [release(one, data) for one in (Quantiles(CODEBOOK, "q", "pay", ("sex",), (0.5,)), table("p", "area"))]
    known = {each: data.codes[:, CODEBOOK.index(each)].astype(np.int64) for each in KEYS}
    for m in (40, 25):
        part = {name: codes[:m] for name, codes in known.items()}
        of = programme.programme(CODEBOOK, released, 40, part, ["pay"])
        assert ("q" in of.left_out) == (m < 40)  # of people outside nobody knows the sex


def mask(one, other, fits):
    """A rule about two variables, by their codes."""
    joint = joint_over([CODEBOOK.index(one), CODEBOOK.index(other)], CODEBOOK.sizes)
    levels = np.ndindex(CODEBOOK[one].size, CODEBOOK[other].size)
    return Mask(joint, np.array([fits(*each) for each in levels]))


AREA_SAYS_WED = mask("area", "wed", lambda area, wed: area > 0 or wed == 0)


def test_a_proof_rests_on_rules_about_tables_of_outputs_that_it_does_not_take(always):
    data = records(10, 12)
    codes = data.codes.copy()
    codes[codes[:, CODEBOOK.index("area")] == 0, CODEBOOK.index("wed")] = 0
    codes[codes[:, CODEBOOK.index("wed")] == 0, ILL] = 1  # so that the area says wed, and wed says ill
    data = Microdata(CODEBOOK, codes)
    rules = (AREA_SAYS_WED, mask("ill", "wed", lambda ill, wed: ill == 1 or wed == 1))
    known = {each: codes[:, CODEBOOK.index(each)].astype(np.int64) for each in KEYS}
    released = [release(one, data) for one in (table("s", "sex", "ill"), table("w", "wed", "job"))]
    found = []
    for crossed in (True, False):
        of = programme.programme(CODEBOOK, released, 12, known, ["ill"], rules, crossed=crossed)
        proofs = smallest_proofs(of, "ill", certain_values(of, "ill"), Budget())
        found.append({person: each.outputs for each in proofs for person in each.people.tolist()})
    assert of.further and found[0] == found[1] and () in found[1].values()


def test_rules_that_leave_nothing_by_way_of_another_table_are_refused(always):
    data = records(10, 12)
    rules = (AREA_SAYS_WED, mask("wed", "job", lambda wed, job: wed == 1))
    known = {each: data.codes[:, CODEBOOK.index(each)].astype(np.int64) for each in KEYS}
    released = [release(one, data) for one in (table("s", "sex", "ill"), table("w", "wed", "job"))]
    of = programme.programme(CODEBOOK, released, 12, known, ["ill"], rules)
    assert of.further
    with pytest.raises(ProveError, match="the rules leave some people"):
        best_guesses.best_guesses(of, "ill")


@pytest.mark.parametrize("share", [1.0, 0.7])
def test_a_median_is_used_where_an_output_in_another_table_says_of_how_many_it_is(share, always):
    data = records(11, 40)
    m = round(share * 40)
    known = {each: data.codes[:m, CODEBOOK.index(each)].astype(np.int64) for each in KEYS}
    outputs = [Quantiles(CODEBOOK, "q", "pay", ("job",), (0.5,)), table("w", "job", "wed"), table("j", "job", "ill")]
    for more in ([], [table("n", "job")]):
        released = [release(one, data) for one in (*outputs, *more)]
        of = programme.programme(CODEBOOK, released, 40, known, ["ill"])
        apart = {frozenset(each.outputs) for each in of.further_tables}
        assert ("q" in of.left_out) == (not more)  # no other output prints how many have a job
        assert any("q" in each for each in apart) and not any({"q", "n"} <= each for each in apart)


def test_claims_that_only_the_outputs_themselves_prove_are_in_no_proof():
    codes = np.array([[0, 0, 0, 0, 2, 0, 0], [1, 0, 0, 0, 0, 0, 0]], dtype=np.uint16)
    released = [release(Quantiles(CODEBOOK, "q", "pay", ("ill",), (0.5,)), Microdata(CODEBOOK, codes))]
    of = programme.programme(CODEBOOK, released, 2, {"age": codes[:, 0].astype(np.int64)}, ["ill"])
    claims = certain_values(of, "ill")
    assert claims.proved == 2 and smallest_proofs(of, "ill", claims, Budget()) == []


def test_outputs_for_whose_people_outside_there_is_no_room_are_left_out(monkeypatch):
    data = records(12, 30)
    known = {each: data.codes[:20, CODEBOOK.index(each)].astype(np.int64) for each in KEYS}
    released = [release(one, data) for one in RELEASES["two variables with the target"]]
    of = programme.programme(CODEBOOK, released, 30, known, ["ill"])
    monkeypatch.setattr(programme, "MOST_COLUMNS", of.n_registered)
    of = programme.programme(CODEBOOK, released, 30, known, ["ill"])
    assert set(of.left_out) == {"j", "w"} and "outside the register" in of.left_out["j"]
