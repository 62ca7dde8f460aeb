"""Claims refuted near a data set that fits are those that a programme of all groups refutes, and no others."""

import logging
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import outrisk
from outrisk.codebook import Codebook, Variable
from outrisk.errors import ProveError
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, Magnitudes, Quantiles, release
from outrisk.prove import by_columns, certain_claims, nearby, solver
from outrisk.prove.certain_claims import certain_values
from outrisk.prove.nearby import Nearby
from outrisk.prove.programme import programme

CODEBOOK = Codebook(
    (
        Variable("age", "integer", tuple(range(20, 50))),
        Variable("area", "integer", (1, 2, 3, 4)),
        Variable("sex", "integer", (1, 2)),
        Variable("ill", "integer", (0, 1)),
        Variable("pay", "integer", (1, 2, 5)),
    )
)
KEYS = ("age", "area", "sex")
ILL = CODEBOOK.index("ill")
OUTPUTS = {
    "tables": [Frequencies(CODEBOOK, "a", ("area", "ill", "pay")), Frequencies(CODEBOOK, "b", ("age", "sex", "ill"))],
    "means": [Magnitudes(CODEBOOK, "m", "pay", ("area",), ("mean",)), Frequencies(CODEBOOK, "s", ("age", "ill"))],
    "medians": [Quantiles(CODEBOOK, "q", "pay", ("area",), (0.5,)), Frequencies(CODEBOOK, "c", ("age", "ill"))],
}

TABLE = [{"kind": "frequencies", "by": ["area", "ill"]}]
RULES = ("area == 2 or ill == 0", "area > 0 or ill == 0")  # broken by 20 people, and by none


def records(seed, n=150):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, size, n) for size in CODEBOOK.sizes], axis=1)
    codes[:, ILL] *= codes[:, CODEBOOK.index("age")] > 14  # some have one answer in every data set that fits
    return Microdata(CODEBOOK, codes.astype(np.uint16))


def asked(data, outputs, share=1.0):
    m = round(share * len(data))
    known = {name: data.codes[:m, CODEBOOK.index(name)].astype(np.int64) for name in KEYS}
    of = programme(CODEBOOK, [release(one, data) for one in outputs], len(data), known, ["ill"])
    return replace(of, integer=0), data.codes[:m], data.codes[:m, ILL]


@pytest.fixture
def used(monkeypatch):
    """Let so few counts go at a time that the studies here have many; how often claims were refuted so."""
    found = []
    plain = Nearby._most_claims

    def counted(self, free, outside, claims):
        counts = plain(self, free, outside, claims)
        people = np.zeros(claims.shape)
        if counts is not None:
            np.add.at(people.T, self.code, counts.reshape(len(free), -1).T)
        found.append(int((claims & (people > 0.9999)).sum()))
        return counts

    monkeypatch.setattr(Nearby, "_most_claims", counted)
    for module in (nearby, certain_claims):
        monkeypatch.setattr(module, "ENTRIES", 900)
    return found


@pytest.mark.parametrize("share", [1.0, 0.6])
@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("seed", range(3))
def test_claims_are_those_of_programmes_of_all_groups(seed, name, share, used, monkeypatch):
    of, codes, truth = asked(records(seed), OUTPUTS[name], share)
    for module in (nearby, certain_claims):
        monkeypatch.setattr(module, "ENTRIES", 900 if share == 1.0 else 400)
    near = [certain_values(of, "ill", fitting=fitting) for fitting in (codes, None)]
    assert sum(used) > 0
    calls = len(used)
    monkeypatch.setattr(certain_claims, "ENTRIES", 10**9)
    whole = certain_values(of, "ill")
    assert len(used) == calls
    for claims in near:
        assert claims.state == whole.state == "complete" and claims.sharp == whole.sharp
        assert (claims.value == whole.value).all() and (claims.possible == whole.possible).all()
        told = claims.value >= 0
        assert (claims.value[told] == truth[told]).all()
    if share == 1.0:
        assert 0 < whole.proved < 0.9 * len(truth)


def test_a_data_set_that_does_not_fit_is_not_started_from(used):
    of, codes, _ = asked(records(1), OUTPUTS["tables"])
    wrong = np.roll(codes, 1, axis=0)
    claims, right = certain_values(of, "ill", fitting=wrong), certain_values(of, "ill", fitting=codes)
    assert (claims.possible == right.possible).all() and sum(used) > 10


def test_a_data_set_beyond_the_most_that_there_can_be_is_not_started_from(used):
    of, codes, _ = asked(records(1), OUTPUTS["tables"])
    none = replace(of, most=np.where(of.kinds[np.arange(of.n_counts) % of.n_kinds, 0] == 1, 0.0, of.most))
    for fitting in (codes, None):
        with pytest.raises(ProveError, match="no data set fits"):
            certain_values(none, "ill", fitting=fitting)
    assert not used


def test_a_programme_of_few_constraints_goes_by_columns_from_a_data_set_that_fits(monkeypatch):
    of, codes, _ = asked(records(2), OUTPUTS["tables"], 0.5)
    monkeypatch.setattr(solver, "MANY", 10)
    monkeypatch.setattr(solver, "WIDE", 1)
    monkeypatch.setattr(certain_claims, "ENTRIES", 300)
    monkeypatch.setattr(nearby, "_IDLE", 0)
    taken, plain = [], by_columns.ByColumns.maximise
    monkeypatch.setattr(
        by_columns.ByColumns, "maximise", lambda self, *a: (taken.append(int(self.here.sum())), plain(self, *a))[1]
    )
    quick = certain_values(of, "ill", fitting=codes)
    assert taken and taken[0] < 0.8 * of.n_columns
    monkeypatch.setattr(solver, "WIDE", 10**9)
    calls, whole = len(taken), certain_values(of, "ill")
    assert len(taken) == calls and (quick.possible == whole.possible).all() and (quick.value == whole.value).all()


def test_a_rule_that_records_break_says_nothing(caplog):
    caplog.set_level(logging.WARNING, logger="outrisk")
    frame = pd.DataFrame({"area": [1, 1, 2, 2] * 20, "ill": [0, 1, 1, 0] * 20})
    told = {rule: outrisk.prove(frame, TABLE, keys=["area"], target="ill", rules=[rule]) for rule in RULES}
    assert "none of 80 people" in told["area == 2 or ill == 0"].sentence
    assert caplog.messages == ["[rules 1] 'area == 2 or ill == 0' is not used: 20 records break it"]
