"""Certain claims against an enumeration of every data set, and on real people: none is ever wrong."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from outrisk.codebook import Codebook, Variable
from outrisk.errors import ProveError
from outrisk.microdata import Microdata, from_frame
from outrisk.outputs import REGISTRY, Frequencies, Magnitudes, Quantiles, release, released
from outrisk.outputs.regression.cox import Cox
from outrisk.outputs.regression.release import Release
from outrisk.outputs.smooth.correlations import Correlations
from outrisk.outputs.smooth.survival import Survival
from outrisk.outputs.tables.protection import Protection
from outrisk.prove import certain_claims, solver
from outrisk.prove.budget import Budget
from outrisk.prove.certain_claims import certain_records, certain_values
from outrisk.prove.programme import programme
from outrisk.prove.solver import Solver
from outrisk.prove.verified import Verifier

CODEBOOK = Codebook(
    (
        Variable("area", "integer", (1, 2, 3)),
        Variable("sex", "integer", (1, 2)),
        Variable("ill", "integer", (0, 1)),
        Variable("pay", "integer", (1, 2, 5)),
    )
)


def records(seed, n):
    rng = np.random.default_rng(seed)
    return Microdata(
        CODEBOOK, np.stack([rng.integers(0, size, n) for size in CODEBOOK.sizes], axis=1).astype(np.uint16)
    )


def known(data, names=("area", "sex")):
    return {name: data.codes[:, data.codebook.index(name)].astype(np.int64) for name in names}


def enumerated(outputs, released, data, name):
    """The value of each person that is the same in every data set that fits, by trying all; -1 where none is."""
    column = data.codebook.index(name)
    fits = []
    for values in product(range(data.codebook[name].size), repeat=len(data)):
        codes = data.codes.copy()
        codes[:, column] = values
        guess = Microdata(data.codebook, codes)
        if all(one.is_matched(output.refit(guess)).all() for one, output in zip(released, outputs, strict=True)):
            fits.append(values)
    found = np.array(fits)
    return np.where((found == found[0]).all(axis=0), found[0], -1)


RELEASES = {
    "two tables": [Frequencies(CODEBOOK, "a", ("area", "ill")), Frequencies(CODEBOOK, "s", ("sex", "ill"))],
    "the full table": [Frequencies(CODEBOOK, "all", ("area", "sex", "ill"), margins=True)],
    "shares": [Frequencies(CODEBOOK, "p", ("area", "ill"), show="row_percentages", digits=0)],
    "a subset": [Frequencies(CODEBOOK, "a", ("ill",), "area > 1"), Frequencies(CODEBOOK, "s", ("sex", "ill"))],
    "withheld": [Frequencies(CODEBOOK, "w", ("area", "ill"), margins=True, protection=Protection(threshold=3))],
    "rounded": [Frequencies(CODEBOOK, "r", ("sex", "ill"), protection=Protection(round_to=3))],
    "means": [
        Magnitudes(CODEBOOK, "m", "ill", ("area",), ("mean",)),
        Magnitudes(CODEBOOK, "n", "ill", ("sex",), ("sum",)),
    ],
}


@pytest.mark.parametrize("name", RELEASES)
@pytest.mark.parametrize("seed", range(4))
def test_claims_are_those_of_an_enumeration(name, seed):
    outputs, data = RELEASES[name], records(seed, 3 + seed % 4)
    released = [release(output, data) for output in outputs]
    of = programme(CODEBOOK, released, len(data), known(data), ["ill"])
    assert not of.left_out
    claims = certain_values(of, "ill")
    assert claims.state == "complete"
    assert claims.value.tolist() == enumerated(outputs, released, data, "ill").tolist()


CURVES = {
    "counts at every time": ((), ("survival", "at risk", "events")),
    "no events, but survival": ((), ("survival", "at risk")),
    "events up to a few": ((2.0,), ("events",)),
    "at risk and events": ((2.0, 5.0), ("at risk", "events", "log-rank")),
}


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("seed", range(6))
def test_numbers_of_records_in_survival_curves_prove_as_tables_do(name, seed):
    """Whoever knows when people were last seen is told which of them had the event."""
    data = records(seed, 3 + seed % 4)
    times, statistics = CURVES[name]
    output = Survival(CODEBOOK, "s", "pay", "ill", ("sex",), times, statistics, "1")
    of = programme(CODEBOOK, [release(output, data)], len(data), known(data, ("sex", "pay")), ["ill"])
    some = "its numbers are not linear in the records, but for numbers of records"
    assert dict(of.left_out) == ({} if "events" in statistics and "log-rank" not in statistics else {"s": some})
    claims = certain_values(of, "ill")
    assert claims.value.tolist() == enumerated([output], [release(output, data)], data, "ill").tolist()


@pytest.mark.parametrize("everybody", [False, True])
def test_numbers_of_people_in_a_cox_model_are_counts(everybody):
    data = records(3, 30)
    codes = data.codes.copy()
    ill = CODEBOOK.index("ill")
    codes[:, ill] = 1 if everybody else codes[:, ill]
    data = Microdata(CODEBOOK, codes)
    model = Cox(CODEBOOK, "c", "cox", "pay ~ C(sex)", Release(("coefficients", "n", "events")), status="ill")
    of = programme(CODEBOOK, [release(model, data)], len(data), known(data), ["ill"])
    assert dict(of.left_out) == {"c": "its numbers are not linear in the records, but for numbers of records"}
    claims = certain_values(of, "ill")
    assert (claims.value >= 0).sum() == (len(data) if everybody else 0)


@pytest.mark.parametrize("program", ["r", "stata", "spss"])
@pytest.mark.parametrize("seed", range(4))
def test_quantiles_of_three_values(seed, program):
    data = records(seed, 5)
    outputs = [
        Frequencies(CODEBOOK, "n", ("sex",)),
        Quantiles(CODEBOOK, "q", "pay", ("sex",), (0.0, 0.25, 0.5, 1.0), program=program),
        Magnitudes(CODEBOOK, "m", "pay", ("area",), ("mean",)),
    ]
    released = [release(output, data) for output in outputs]
    of = programme(CODEBOOK, released, 5, known(data), ["pay"])
    claims = certain_values(of, "pay")
    assert claims.value.tolist() == enumerated(outputs, released, data, "pay").tolist()


@pytest.mark.parametrize("seed", range(4))
def test_a_large_programme_of_quantiles_has_no_branches_and_claims_no_more(seed, monkeypatch):
    data = records(seed, 5)
    outputs = [
        Frequencies(CODEBOOK, "n", ("sex",)),
        Quantiles(CODEBOOK, "q", "pay", ("sex",), (0.0, 0.5, 1.0)),
        Magnitudes(CODEBOOK, "m", "pay", ("area",), ("mean",)),
    ]
    of = replace(programme(CODEBOOK, [release(one, data) for one in outputs], 5, known(data), ["pay"]), integer=0)
    assert Solver(of, Budget()).integer.any()
    monkeypatch.setattr(solver, "_BRANCHED", of.matrix.nnz - 1)
    assert not Solver(of, Budget()).integer.any()
    monkeypatch.setattr(certain_claims, "Verifier", lambda _: Verifier(None))  # which would search all data sets
    claims, truth = certain_values(of, "pay"), data.codes[:, CODEBOOK.index("pay")]
    assert claims.state == "complete" and not claims.sharp
    assert (
        np.isin(claims.value, [-1, *truth]).all()
        and (claims.value[claims.value >= 0] == truth[claims.value >= 0]).all()
    )
    assert claims.possible[np.arange(5), truth].all()


def test_real_people_none_wrong(shared):
    frame = pd.read_csv(shared / "data" / "census" / "acs_us" / "acs7.csv", dtype=str)
    frame = frame[frame.YEAR == "2019"].drop(columns="YEAR").sample(300, random_state=1).reset_index(drop=True)
    variables = tuple(Variable(name, "categorical", tuple(sorted(frame[name].unique()))) for name in frame)
    data = from_frame(frame, Codebook(variables))
    keys = [name for name in frame if name != "TENURE"]
    outputs = [
        Frequencies(data.codebook, " x ".join(some), (*some, "TENURE"))
        for ways in (1, 2)
        for some in combinations(keys, ways)
    ]
    of = programme(data.codebook, [release(one, data) for one in outputs], 300, known(data, keys), ["TENURE"])
    claims = certain_values(of, "TENURE")
    truth = data.codes[:, data.codebook.index("TENURE")]
    told = claims.value >= 0
    assert told.mean() > 0.5
    assert (claims.value[told] == truth[told]).all()


def test_a_register_of_other_people_is_found_out():
    data, others = records(1, 40), records(2, 40)
    outputs = [Frequencies(CODEBOOK, "areas", ("area", "ill")), Frequencies(CODEBOOK, "fine", ("ill",))]
    released = [release(output, data) for output in outputs]
    with pytest.raises(ProveError, match=r"no data set fits .* of \['areas'\] cannot all be: areas: area=1"):
        certain_values(programme(CODEBOOK, released, 40, known(others), ["ill"]), "ill")


def test_numbers_that_are_not_linear_are_left_out_and_named():
    data = records(3, 70)
    outputs = [
        Correlations(CODEBOOK, "together", ("pay", "ill")),
        Frequencies(CODEBOOK, "table", ("area", "ill")),
    ]
    of = programme(CODEBOOK, [release(one, data) for one in outputs], 70, known(data), ["ill"])
    assert set(of.left_out) == {"together"}
    alone = programme(CODEBOOK, [release(outputs[1], data)], 70, known(data), ["ill"])
    assert certain_values(of, "ill").value.tolist() == certain_values(alone, "ill").value.tolist()


def test_without_a_register_whole_records_are_proved():
    data = Microdata(CODEBOOK, np.array([[0, 0, 1, 0], [0, 0, 1, 0], [2, 1, 0, 2]], dtype=np.uint16))
    full = release(Frequencies(CODEBOOK, "all", ("area", "sex", "ill", "pay")), data)
    found = certain_records(programme(CODEBOOK, [full], 3))
    assert found.complete
    assert sorted(zip(found.kinds.tolist(), found.number.tolist(), strict=True)) == [
        ([0, 0, 1, 0], 2),
        ([2, 1, 0, 2], 1),
    ]
    margins = [release(Frequencies(CODEBOOK, name, (name,)), data) for name in CODEBOOK.names]
    found = certain_records(programme(CODEBOOK, margins, 3))
    assert not found.complete
    assert found.number.sum() < 3


def test_a_question_too_large_is_said(monkeypatch):
    data = records(4, 50)
    monkeypatch.setattr("outrisk.prove.programme.MOST_COLUMNS", 10)
    released = [release(Frequencies(CODEBOOK, "pay", ("sex", "pay", "ill")), data)]
    of = programme(CODEBOOK, released, 50, known(data), ["ill"])
    assert of.left_out == {"pay": "its variables make too many kinds of records"}
    with pytest.raises(ProveError, match=r"\['ill', 'pay', 'sex'\] make too many kinds"):
        programme(CODEBOOK, released, 50, known(data, ["area"]), ["ill", "pay", "sex", "area"])


def test_a_time_that_runs_out_proves_less_and_says_so():
    data = records(5, 60)
    released = [release(Frequencies(CODEBOOK, "all", ("area", "sex", "ill")), data)]
    of = programme(CODEBOOK, released, 60, known(data), ["ill"])
    in_full, cut = certain_values(of, "ill"), certain_values(of, "ill", budget=Budget(work=1.0))
    assert cut.proved == 0 or cut.value.tolist() == in_full.value.tolist()
    assert cut.state == "stopped early" or cut.proved == in_full.proved


def test_importance_does_not_matter():
    data = records(6, 30)
    table = Frequencies(CODEBOOK, "all", ("area", "sex", "ill"))
    values = [
        certain_values(programme(CODEBOOK, [release(one, data)], 30, known(data), ["ill"]), "ill").value.tolist()
        for one in (table, replace(table, importance=9.0))
    ]
    assert values[0] == values[1]


def test_what_was_ruled_out_can_be_found_again():
    """Counts that a refit refuses are ruled out one by one; where that takes too long, they are let in again."""
    data = records(1, 6)
    outputs = [Frequencies(CODEBOOK, "a", ("area",)), Frequencies(CODEBOOK, "i", ("ill",))]
    of = programme(CODEBOOK, [release(one, data) for one in outputs], len(data), known(data), ["ill"])
    solver, objective = Solver(of, Budget()), np.arange(of.n_counts, dtype=float)
    before = solver.maximise(objective)
    solver.exclude(before.x)
    second = solver.maximise(objective)
    assert not np.array_equal(np.round(second.x[: of.n_columns]), np.round(before.x[: of.n_columns]))
    assert second.fun >= before.fun
    solver.take_back()
    assert solver.maximise(objective).fun == before.fun and len(solver.rows) == 1


def test_a_study_of_withheld_numbers_alone_proves_nothing():
    entry = {
        **{"kind": "standardised", "event": "died", "over": "age", "method": "indirect", "per": 100},
        **{"reference": {"40": 1, "60": 2}, "statistics": ["n"]},
    }
    book = Codebook((Variable("age", "integer", (40, 60)), Variable("died", "integer", (0, 1))))
    (output,) = REGISTRY["standardised"](**entry).build(book, 1)
    withheld = released(output, np.array([-np.inf]), np.array([np.inf]))
    assert not certain_records(programme(book, [withheld], 9, wanted=book.names)).number.sum()
