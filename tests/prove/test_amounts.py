"""Certain claims about amounts of many values: by column generation, in bands, one person's means first."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from outrisk.codebook import Codebook, Variable
from outrisk.errors import ProveError
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, Magnitudes, release
from outrisk.prove import by_columns, solver
from outrisk.prove.budget import Budget
from outrisk.prove.certain_claims import certain_values
from outrisk.prove.programme import programme
from outrisk.prove.proofs import smallest_proofs
from outrisk.prove.settled import settled
from outrisk.prove.solver import Solver

PAY = (0, 10, 20, 40, 50, 80, 90)
BANDS = np.array([0, 1, 2, 3, 3, 4, 4])


def book(pay=PAY):
    return Codebook(
        (Variable("area", "integer", (1, 2, 3)), Variable("sex", "integer", (1, 2)), Variable("pay", "integer", pay))
    )


def records(seed, n, pay=PAY):
    rng, codebook = np.random.default_rng(seed), book(pay)
    codes = np.stack([rng.integers(0, size, n) for size in codebook.sizes], axis=1)
    return Microdata(codebook, codes.astype(np.uint16))


def asked(data, outputs):
    released = [release(output, data) for output in outputs]
    known = {name: data.codes[:, at].astype(np.int64) for at, name in enumerate(("area", "sex"))}
    return programme(data.codebook, released, len(data), known, ["pay"]), released


def means(data, *by, statistics=("mean",)):
    return Magnitudes(data.codebook, "+".join(by), "pay", by, statistics)


def enumerated(outputs, released, data):
    """The values of the target that each person has in some data set that fits, (n, levels)."""
    found = np.zeros((len(data), len(PAY)), np.bool_)
    for values in product(range(len(PAY)), repeat=len(data)):
        codes = data.codes.copy()
        codes[:, 2] = values
        guess = Microdata(data.codebook, codes)
        if all(one.is_matched(output.refit(guess)).all() for one, output in zip(released, outputs, strict=True)):
            found[np.arange(len(data)), values] = True
    return found


@pytest.mark.parametrize("seed", range(4))
def test_claims_about_bands_are_those_of_an_enumeration(seed):
    data = records(seed, 4)
    outputs = [means(data, "area"), means(data, "sex"), Frequencies(data.codebook, "n", ("area",))]
    of, released = asked(data, outputs)
    can = enumerated(outputs, released, data)
    banded = np.stack([can[:, band == BANDS].any(axis=1) for band in range(BANDS.max() + 1)], axis=1)
    for fitting in (None, data.codes):
        claims = certain_values(of, "pay", fitting=fitting, bands=BANDS)
        assert claims.state == "complete" and claims.sharp
        assert (claims.possible == banded).all()
        wanted = np.where(banded.sum(axis=1) == 1, banded.argmax(axis=1), -1)
        assert claims.value.tolist() == wanted.tolist()
        in_parts = certain_values(replace(of, integer=0), "pay", fitting=fitting, bands=BANDS)
        assert in_parts.state == "complete" and (in_parts.possible >= banded).all()
        assert ((in_parts.value == wanted) | (in_parts.value == -1)).all()
        exact = certain_values(of, "pay", fitting=fitting)
        assert (exact.possible == can).all()
        assert exact.proved <= claims.proved


def test_a_proof_about_a_band_names_its_outputs():
    codes = np.array([[0, 0, 3], [0, 1, 4], [1, 0, 1], [1, 1, 6], [2, 0, 2]], dtype=np.uint16)
    data = Microdata(book(), codes)
    of, _ = asked(data, [means(data, "area"), means(data, "sex")])
    claims = certain_values(of, "pay", bands=BANDS)
    told = claims.value >= 0
    assert (claims.value[told] == BANDS[codes[told, 2]]).all() and claims.value[4] == 2
    proofs = smallest_proofs(of, "pay", claims, Budget(), BANDS)
    assert any(each.outputs == ("area",) and 4 in each.people and each.smallest.all() for each in proofs)


MANY = tuple(range(0, 5_000, 10))


@pytest.mark.parametrize("seed", range(8))
def test_the_mean_of_one_person_is_settled_and_nothing_is_that_is_not_true(seed):
    data = records(seed, 9, MANY)
    outputs = [means(data, "area", "sex", statistics=("count", "mean")), means(data, "area", statistics=("sum",))]
    of, _ = asked(data, outputs)
    found = settled(of)
    truth = np.zeros((len(of.sizes), of.n_kinds))
    np.add.at(truth, (of.groups, data.codes[:, 2]), 1)
    assert (found.counts[~found.open] == truth[~found.open]).all()
    assert (truth[found.open].ravel() <= found.left.most).all()
    assert not found.open[of.sizes == 1].any()
    claims = certain_values(of, "pay", Budget(1e6))
    alone = of.sizes[of.groups] == 1
    assert (claims.value[alone] == data.codes[alone, 2]).all()
    told = claims.value >= 0
    assert (claims.value[told] == data.codes[told, 2]).all()


@pytest.mark.parametrize("seed", range(4))
def test_column_generation_finds_what_all_columns_at_once_do(seed, monkeypatch):
    data = records(seed, 40, MANY[:150])
    of, _ = asked(data, [means(data, "area", statistics=("mean", "sd")), means(data, "sex")])
    rng = np.random.default_rng(seed)
    few = rng.permutation(of.n_counts)[:30]
    objectives = [rng.random(of.n_counts), np.isin(np.arange(of.n_counts), few).astype(float), np.zeros(of.n_counts)]
    at_once = Solver(replace(of, integer=0), Budget())
    assert at_once.by_columns is None
    monkeypatch.setattr(solver, "MANY", 1)
    known = np.unique(of.groups * of.n_kinds + data.codes[:, 2].astype(np.int64))
    for start in (np.zeros(0, np.int64), known):
        some = Solver(replace(of, integer=0), Budget())
        some.known = start
        for objective in objectives:
            whole, found = at_once.maximise(objective), some.maximise(objective)
            assert some.bound(found) == pytest.approx(at_once.bound(whole), abs=1e-5)
            sums = of.matrix @ found.x
            slack = 1e-6 * (1 + abs(sums))
            assert (sums >= of.low - slack).all() and (sums <= of.high + slack).all()
            assert (found.x >= -1e-9).all() and (found.x <= of.most + 1e-9).all()
        assert some.by_columns.here.sum() < of.matrix.shape[1]


def test_few_kinds_of_records_beside_many_constraints_are_solved_for_at_once(monkeypatch):
    monkeypatch.setattr(solver, "MANY", 1)
    of, _ = asked(records(1, 40, MANY[:50]), [means(records(1, 40, MANY[:50]), "area")])
    rows, columns = of.matrix.shape
    for wide, by in ((columns / rows, True), (columns / rows + 1, False)):
        monkeypatch.setattr(solver, "WIDE", wide)
        assert (Solver(replace(of, integer=0), Budget()).by_columns is not None) == by
    monkeypatch.setattr(solver, "WIDE", 10**9)
    for kinds, by in ((by_columns.KINDS - 1, False), (by_columns.KINDS, True)):
        data = records(1, 40, MANY[:kinds])
        of, _ = asked(data, [means(data, "area")])
        assert of.n_kinds == kinds and (Solver(replace(of, integer=0), Budget()).by_columns is not None) == by


def test_numbers_that_contradict_each_other_are_found_out_by_columns_too(monkeypatch):
    monkeypatch.setattr(solver, "MANY", 1)
    data, others = records(1, 40, MANY[:150]), records(2, 40, MANY[:150])
    outputs = [means(data, "area", statistics=("count", "mean"))]
    _, released = asked(data, outputs)
    known = {name: others.codes[:, at].astype(np.int64) for at, name in enumerate(("area", "sex"))}
    of = replace(programme(data.codebook, released, 40, known, ["pay"]), integer=0)
    with pytest.raises(ProveError, match="no data set fits"):
        Solver(of, Budget()).maximise(np.zeros(of.n_counts))


def test_a_budget_that_is_over_gives_up_and_says_so(monkeypatch):
    monkeypatch.setattr(solver, "MANY", 1)
    data = records(1, 40, MANY[:150])
    of, _ = asked(data, [means(data, "area")])
    of = replace(of, integer=0)
    found = Solver(of, Budget(work=1.0)).maximise(np.ones(of.n_counts))
    assert found.status == 1 and found.x is None
    assert by_columns.MANY > 1
    claims = certain_values(of, "pay", Budget(work=1.0))
    assert claims.state == "stopped early" and claims.proved == 0


def test_counts_are_taken_as_any_numbers_once_all_branches_find_nothing():
    """What nothing is found for is charged in full, or the next such programme is searched as long, and the next."""
    relaxed = list[bool]()
    for seed in range(6):
        data = records(seed, 40)
        of, _ = asked(data, [means(data, "area"), means(data, "sex", statistics=("mean", "sd"))])
        few = Solver(of, Budget(work=4.0 * of.matrix.nnz), relaxes=True)  # a branch or two
        found, paid = few.maximise(np.ones(of.n_counts)), 4.0 * of.matrix.nnz - few.budget.work
        assert found.x is not None and few.bound(found) >= len(data) - 1e-6  # all of whom are in some data set
        relaxed.append(not few.whole)
        firm = Solver(of, Budget(work=4.0 * of.matrix.nnz))
        assert (firm.maximise(np.ones(of.n_counts)).x is None) == relaxed[-1] and firm.whole
        assert paid >= (2.0 if relaxed[-1] else 1.0) * of.matrix.nnz
    assert any(relaxed) and not all(relaxed)
