import json

import numpy as np
import pytest
import statsmodels.api as sm

from outrisk import datasets
from outrisk.datasets.sars import sars_codebook, sars_like, specification
from outrisk.errors import DataError
from outrisk.microdata import from_frame


@pytest.fixture(scope="module")
def population():
    return sars_like()


def test_the_seed_decides():
    assert sars_like(500, 3).equals(sars_like(500, 3))
    assert not sars_like(500, 3).equals(sars_like(500, 4))
    assert datasets.load("sars_like", n=10, seed=1).equals(sars_like(10, 1))


def test_ranges_are_checked():
    for options in ({"n": 0}, {"n": 10**12}, {"seed": -1}):
        with pytest.raises(DataError, match=r"sars_like: (n|seed) is"):
            sars_like(**options)


def test_values_are_those_of_the_source(shared):
    source = json.loads((shared / "data" / "sars_shape" / "spec.json").read_text())
    ours = {
        name: entry["value"] for name, entry in specification().items() if isinstance(entry, dict) and "value" in entry
    }
    margins = {
        name: entry["value"]
        for name, entry in source["marginals"].items()
        if isinstance(entry, dict) and "value" in entry
    }
    assert ours["n"] == source["n"]
    assert ours["coefficients"] == source["published_coefficients"]["whole"]["original"]
    assert {name: entry["codes"] for name, entry in ours["variables"].items()} == {
        variable["name"]: variable.get("codes", {}) for variable in source["variables"]
    }
    assert {name: entry["description"] for name, entry in ours["variables"].items()} == {
        variable["name"]: variable["description"] for variable in source["variables"]
    }
    assert ours["AREAP"] == margins["AREAP"]["counts"]
    assert ours["ETHGROUP"] == margins["ETHGROUP"]["shares"]
    assert ours["not_white_by_AREAP"] == margins["ETHGROUP_by_AREAP"]
    assert ours["SEX"] == margins["SEX"]
    for name, share in (("AGE", "share"), ("LTILL_by_AGE", "share_yes"), ("MSTATUS_by_AGE", "shares")):
        assert ours[name] == [[band["low"], band["high"], band[share]] for band in margins[name]]


def test_only_values_with_their_sources():
    for name, entry in specification().items():
        if name not in ("title", "status_words", "acknowledgement"):
            assert set(entry) == {"status", "source", "value"}, name
            assert any(word in entry["status"] for word in specification()["status_words"]), name


def test_shape(population):
    spec, codebook = specification(), sars_codebook()
    assert len(population) == 50_357
    assert list(population) == codebook.names == ["AGE", "AREAP", "ETHGROUP", "LTILL", "MSTATUS", "SEX", "TENURE"]
    assert codebook.sizes == [96, 7, 10, 2, 5, 2, 2]
    assert len(from_frame(population, codebook)) == 50_357
    assert (population["LTILL"] == "1").mean() == pytest.approx(0.131, abs=0.01)
    assert (population["TENURE"] == "1").mean() == pytest.approx(0.327, abs=0.01)
    assert (population["MSTATUS"][population["AGE"] < 16] == "1").all()
    for name in ("AREAP", "SEX"):
        weights = spec[name]["value"]
        for code, weight in weights.items():
            share = weight / sum(weights.values())
            deviation = (population[name] == code).mean() - share
            assert abs(deviation) < 4 * np.sqrt(share * (1 - share) / 50_357), (name, code)


def test_a_refit_lies_within_sampling_error(population):
    expected = specification()["coefficients"]["value"]
    columns = [
        np.ones(len(population)) if name == "const"
        else population["AGE"] if name == "AGE"
        else population[name.split("_")[0]] == name.split("_")[1]
        for name in expected
    ]  # fmt: skip
    design = np.column_stack(columns).astype(float)
    fit = sm.Logit((population["TENURE"] == "1").astype(float), design).fit(disp=0)
    z = (np.asarray(fit.params) - np.array(list(expected.values()))) / np.asarray(fit.bse)
    assert np.abs(z).max() < 4
    assert 0.5 < np.mean(z**2) < 2
