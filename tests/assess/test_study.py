"""A whole assessment in process: what is computed, what is kept, and that it can be repeated."""

import math
from dataclasses import asdict
from threading import Event

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from outrisk.assess import summary
from outrisk.assess.backends import run_all
from outrisk.assess.run import perform
from outrisk.assess.study import Assessment, plan_jobs
from outrisk.assess.summary import matched_rows, risk_rows, summarise
from outrisk.codebook import Codebook, Variable
from outrisk.datasets import sars_codebook, sars_like
from outrisk.errors import OutputError, RiskError
from outrisk.evolve.settings import preset
from outrisk.microdata import from_frame, write_table
from outrisk.outputs import Frequencies, Logit, logit_from_terms
from outrisk.records.schema import Estimate
from outrisk.risk import tcap

TERMS = ["AGE", "AREAP", "LTILL", "MSTATUS", "SEX"]


def small(n=1200, runs=None, **changes):
    codebook = sars_codebook()
    data = from_frame(sars_like(n, 3), codebook)
    outputs = (
        logit_from_terms(codebook, "logit", "TENURE", TERMS[:1] + TERMS[2:], {}, decimals=3),
        Frequencies(codebook, "table", ("SEX", "TENURE")),
    )
    settings = {
        "original": data,
        "holdout": None,
        "outputs": outputs,
        "keys": ("AGE", "LTILL", "MSTATUS", "SEX"),
        "key_sizes": (2, 3),
        "target": "TENURE",
        "tau": 1.0,
        "settings": preset("fast"),
        "runs": runs or {1: 3, 2: 2},
        "seed": 4,
    }
    return Assessment(**{**settings, **changes})


def results_of(assessment, folder, workers=1):
    folder.mkdir(exist_ok=True)
    jobs = plan_jobs(assessment, workers)
    results = run_all(jobs, workers, Event(), None, lambda result: None)
    for result in results:
        write_table(result.synthetic, folder / result.job.file)
    return results


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("synthetic")
    assessment = small()
    return assessment, results_of(assessment, folder), folder


def test_every_fold_gets_its_runs_and_each_has_its_file(done):
    _, results, folder = done
    assert [(r.job.fold.name, r.job.run) for r in results] == [
        *(("whole", run) for run in (1, 2, 3)),
        *((fold, run) for fold in ("1", "2") for run in (1, 2)),
    ]
    assert len(list(folder.glob("*.csv"))) == 7


def test_matched_rows_agree_with_a_refit_of_the_written_file(done):
    _, results, folder = done
    rows = pd.DataFrame(matched_rows(results[0])).set_index("label")
    frame = pd.read_csv(folder / "level-1_fold-whole_run-1.csv", dtype=str)
    design = pd.DataFrame({"const": 1.0, "AGE": frame["AGE"].astype(float)})
    for name in ("LTILL", "MSTATUS", "SEX"):
        for code in sorted(frame[name].unique())[1:]:
            design[f"{name}_{code}"] = (frame[name] == code).astype(float)
    fitted = sm.Logit((frame["TENURE"] == "1").astype(float), design).fit(disp=0).params
    np.testing.assert_allclose(rows.loc[fitted.index, "refit"].astype(float), fitted, atol=1e-7)
    counts = frame.groupby(["SEX", "TENURE"]).size()
    for (sex, tenure), count in counts.items():
        assert rows.loc[f"SEX={sex}, TENURE={tenure}", "refit"] == count
    assert rows["matched"].all()
    assert results[0].stop == "matched"


def test_risk_rows_agree_with_tcap_on_the_written_file(done):
    _, results, folder = done
    rows = pd.DataFrame(risk_rows(results[3]))
    frame = pd.read_csv(folder / "level-2_fold-1_run-1.csv", dtype=str)
    fold = results[3].job.fold
    for keys in (["AGE", "SEX"], ["AGE", "LTILL", "MSTATUS", "SEX"]):
        found = tcap(fold.original.frame(), frame, fold.holdout.frame(), keys=keys, target="TENURE")
        for side, attribution in (("original", found.original), ("holdout", found.holdout)):
            here = rows[(rows["keys"] == "+".join(keys)) & (rows["side"] == side)].set_index("measure")
            assert here.loc["tcap_undefined", "value"] == pytest.approx(attribution.tcap_undefined, abs=1e-12)
            assert here.loc["tcap_zero", "value"] == pytest.approx(attribution.tcap_zero, abs=1e-12)
    assert set(rows["keys"].str.count(r"\+") + 1) == {2, 3, 4}


def test_the_summary_averages_what_the_rows_say(done):
    assessment, results, _ = done
    document = asdict(summarise(assessment, [r.job for r in results], results))
    rows = pd.DataFrame([row for r in results for row in risk_rows(r)])
    whole = document["folds"][0]
    estimate = {(e["measure"], e["keys"], e["side"]): e for e in whole["estimates"]}
    mine = rows[(rows["fold"] == "whole") & (rows["measure"] == "tcap_zero") & (rows["key_size"] < 4)]
    assert estimate["tcap_zero", "all", "original"]["value"] == pytest.approx(
        mine.groupby("run")["value"].mean().mean()
    )
    assert math.isnan(estimate["tcap_zero", "all", "marginal"]["value"])
    assert "no holdout" in estimate["tcap_zero", "all", "marginal"]["reason"]
    half = {(e["measure"], e["keys"], e["side"]): e for e in document["folds"][1]["estimates"]}[
        "dcap", "all", "marginal"
    ]
    assert half["low"] < half["value"] < half["high"]
    level = document["levels"][1]
    at = ("dcap", "all", "marginal")
    dcap = [
        e["value"]
        for fold in document["folds"][1:]
        for e in fold["estimates"]
        if (e["measure"], e["keys"], e["side"]) == at
    ]
    mean = next(e for e in level["estimates"] if (e["measure"], e["keys"], e["side"]) == ("dcap", "all", "marginal"))
    assert mean["value"] == pytest.approx(np.mean(dcap))
    margins = [fold["estimates"][level["estimates"].index(mean)] for fold in document["folds"][1:]]
    joined = math.sqrt(sum((each["high"] - each["low"]) ** 2 for each in margins)) / 2
    assert mean["high"] - mean["low"] == pytest.approx(joined)
    for alone, fold in zip(document["levels"][0]["estimates"], whole["estimates"], strict=True):  # a level of one fold
        assert (alone["low"], alone["high"]) == pytest.approx((fold["low"], fold["high"]), nan_ok=True)
    assert whole["runs"][0]["matched"] == whole["runs"][0]["numbers"] == 12
    assert document["outputs"][1]["notes"] == "counts by SEX, TENURE"
    assert document["folds"][1]["extrapolation"][0]["reason"]


def test_errors_of_snapshots_are_refits_and_fall(done):
    _, results, _ = done
    for result in results:
        errors = [row.mae for row in result.snapshots]
        assert errors[0] > 5 * errors[-1]
        assert result.snapshots[-1].generation == result.generations
        difference = np.concatenate([refit.numbers for refit in result.refits]) - result.job.problem.low
        assert errors[-1] == pytest.approx(np.abs(difference).mean())


def test_the_number_of_workers_does_not_change_the_result(done, tmp_path):
    assessment, results, folder = done
    again = results_of(assessment, tmp_path / "two", workers=2)
    for file in folder.glob("*.csv"):
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()
    for one, two in zip(results, again, strict=True):
        for first, second in zip(one.refits, two.refits, strict=True):
            np.testing.assert_array_equal(first.numbers, second.numbers)
        for at, values in one.scores.values.items():
            np.testing.assert_array_equal(values, two.scores.values[at])


def test_a_halted_run_is_not_kept(done, tmp_path):
    assessment, _, _ = done
    jobs = plan_jobs(assessment, 1)
    halt = Event()
    halt.set()
    assert run_all(jobs, 1, halt, None, lambda result: None) == []
    assert perform(jobs[0], halt) is None
    assert not list(tmp_path.iterdir())
    empty = asdict(summarise(assessment, jobs, []))
    assert empty["folds"] == () and len(empty["outputs"]) == 2


def test_data_that_are_given_away_show_a_marginal_risk(tmp_path):
    """The keys almost name a person and the release is the table of everything: synthetic data that match it are the
    data.
    """
    rng = np.random.default_rng(0)
    codebook = Codebook(
        (
            Variable("age", "integer", tuple(range(60))),
            Variable("area", "integer", tuple(range(10))),
            Variable("ill", "categorical", ("0", "1")),
        )
    )
    frame = pd.DataFrame(
        {name: rng.integers(0, size, 800) for name, size in zip(codebook.names, codebook.sizes, strict=True)}
    )
    assessment = Assessment(
        original=from_frame(frame, codebook),
        holdout=None,
        outputs=(Frequencies(codebook, "all", ("age", "area", "ill")),),
        keys=("age", "area"),
        key_sizes=(2,),
        target="ill",
        tau=1.0,
        settings=preset("fast"),
        runs={2: 2},
        seed=1,
    )
    results = results_of(assessment, tmp_path)
    assert all(
        np.abs(np.concatenate([refit.numbers for refit in result.refits]) - result.job.problem.low).mean() < 0.1
        for result in results
    )
    for level in asdict(summarise(assessment, [r.job for r in results], results))["levels"]:
        found = {(e["measure"], e["side"]): e for e in level["estimates"] if e["keys"] == "largest"}
        assert found["tcap_undefined", "original"]["value"] > 0.9
        assert found["tcap_undefined", "holdout"]["value"] == pytest.approx(0.5, abs=0.15)
        assert found["tcap_undefined", "marginal"]["low"] > 0.2
        assert found["tcap_zero", "marginal"]["low"] > 0.4


def test_faults_of_the_study_show_before_any_run(tmp_path):
    with pytest.raises(RiskError, match="TENURE"):
        plan_jobs(small(keys=("AGE", "TENURE"), key_sizes=(2,)), 1)
    with pytest.raises(RiskError, match="5"):
        plan_jobs(small(key_sizes=(5,)), 1)
    codebook = sars_codebook()
    rare = Logit(codebook, "logit", "TENURE ~ C(ETHGROUP)", 4)
    with pytest.raises(OutputError, match=r"fold .* of 8"):
        plan_jobs(small(outputs=(rare,), runs={8: 1}), 1)


def rare(n_ill):
    """300 people of whom so many have a rare level, the last but one of them the event."""
    rng = np.random.default_rng(1)
    area = np.where(np.arange(300) < n_ill, "c", rng.choice(["a", "b"], 300))
    frame = pd.DataFrame({"area": area, "age": rng.integers(20, 30, 300), "ill": rng.integers(0, 2, 300)})
    frame.loc[: n_ill - 1, "ill"] = np.arange(n_ill) % 2
    codebook = Codebook(
        (
            Variable("area", "categorical", ("a", "b", "c")),
            Variable("age", "integer", tuple(range(20, 30))),
            Variable("ill", "integer", (0, 1)),
        )
    )
    logit = logit_from_terms(codebook, "illness", "ill", ["age", "area"], {}, decimals=3)
    return {
        "original": from_frame(frame, codebook),
        "outputs": (Frequencies(codebook, "table", ("area", "ill")), logit),
        "keys": ("area", "age"),
        "key_sizes": (2,),
        "target": "ill",
        "runs": {1: 1, 2: 1},
    }


def test_data_are_divided_anew_until_each_half_can_have_every_output():
    """Of four people with a level, two of whom are ill, half of all divisions leave a half without one or the other."""
    anew = dict[str, str]()
    for seed in (5, 6, 7):
        jobs = plan_jobs(small(**rare(4) | {"seed": seed}), 1)
        whole, *halves = {job.fold.name: job.fold for job in jobs}.values()
        assert [fold.name for fold in halves] == ["1", "2"] and not whole.divided_anew
        assert halves[0].original.codes.tolist() == halves[1].holdout.codes.tolist()
        anew[str(seed)] = halves[0].divided_anew
        again = plan_jobs(small(**rare(4) | {"seed": seed}), 1)
        assert [job.fold.original.codes.tolist() for job in again] == [job.fold.original.codes.tolist() for job in jobs]
    assert "" in anew.values()
    assert any(text.endswith("times, until each part could have 'illness'") for text in anew.values())


def test_what_no_half_can_have_is_refused_as_the_first_division_has_it():
    with pytest.raises(OutputError, match=r"'illness'.*\(in fold [12] of 2; fewer folds may do\)"):
        plan_jobs(small(**rare(2)), 1)


@pytest.mark.parametrize(("value", "error", "ends"), [(0.0, 0.0, None), (0.5, 1e-17, None), (0.5, 0.1, (0.3, 0.7))])
def test_an_interval_of_no_width_which_would_claim_certainty_is_none(value, error, ends):
    """Where every record scores 0, as of few people, no group of the jackknife differs from another."""
    low, high = ends or (value, value)
    found = Estimate("tcap_zero", "all", "original", value, error, low, high, 1, 0)
    (cut,) = summary._within([found])
    if ends:
        assert (cut.low, cut.high, cut.reason) == (*ends, "")
    else:
        assert np.isnan([cut.low, cut.high]).all() and "same value" in cut.reason and cut.value == value
