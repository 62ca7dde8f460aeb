"""Claims refuted near a data set that fits are those that a programme of all groups refutes, and no others."""

from dataclasses import replace

import numpy as np
import pytest

from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, Magnitudes, Quantiles, release
from outrisk.prove import certain_claims, nearby
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
ILL, PAY = (CODEBOOK.index(name) for name in ("ill", "pay"))
OUTPUTS = {
    "tables": [Frequencies(CODEBOOK, "a", ("area", "ill", "pay")), Frequencies(CODEBOOK, "b", ("age", "sex", "ill"))],
    "means": [Magnitudes(CODEBOOK, "m", "pay", ("area",), ("mean",)), Frequencies(CODEBOOK, "s", ("age", "ill"))],
    "medians": [Quantiles(CODEBOOK, "q", "pay", ("area",), (0.5,)), Frequencies(CODEBOOK, "c", ("age", "ill"))],
}


def records(seed, n=150):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, size, n) for size in CODEBOOK.sizes], axis=1)
    codes[:, ILL] *= codes[:, CODEBOOK.index("age")] > 14  # some have one answer in every data set that fits
    return Microdata(CODEBOOK, codes.astype(np.uint16))


def asked(data, outputs, share=1.0):
    m = round(share * len(data))
    known = {name: data.codes[:m, CODEBOOK.index(name)].astype(np.int64) for name in KEYS}
    of = programme(CODEBOOK, [release(one, data) for one in outputs], len(data), known, ["ill"])
    codes = data.codes[:m].astype(np.int64)
    at = [CODEBOOK.index(name) for name in of.unknown]
    kind = np.ravel_multi_index(tuple(codes[:, at].T), tuple(CODEBOOK.sizes[j] for j in at))
    return replace(of, integer=0), kind, codes[:, ILL]


@pytest.fixture
def used(monkeypatch):
    """Let so few counts go at a time that the studies here have many; how often claims were refuted so."""
    found = []
    plain = Nearby._most_claims

    def counted(self, free, outside, claims):
        people = plain(self, free, outside, claims)
        found.append(0 if people is None else int((claims & (people > 0.9999)).sum()))
        return people

    monkeypatch.setattr(Nearby, "_most_claims", counted)
    for module in (nearby, certain_claims):
        monkeypatch.setattr(module, "ENTRIES", 900)
    return found


@pytest.mark.parametrize("share", [1.0, 0.6])
@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("seed", range(3))
def test_claims_are_those_of_programmes_of_all_groups(seed, name, share, used, monkeypatch):
    of, kind, truth = asked(records(seed), OUTPUTS[name], share)
    near = [certain_values(of, "ill", fitting=fitting) for fitting in (kind, None)]
    assert sum(used) > 3
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
    of, kind, _ = asked(records(1), OUTPUTS["tables"])
    wrong = np.roll(kind, 1)
    claims, right = certain_values(of, "ill", fitting=wrong), certain_values(of, "ill", fitting=kind)
    assert (claims.possible == right.possible).all() and sum(used) > 10
