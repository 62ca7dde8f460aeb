"""The table of privacy metrics: rows that fail, time out or are undefined say so; each stands beside its holdout."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from outrisk.codebook import Codebook, Variable
from outrisk.errors import RiskError
from outrisk.risk import Encoding, privacy_metric, privacy_metrics
from outrisk.risk.coding.with_numbers import read
from outrisk.risk.intervals.scores import joined, mean_interval, share, wilson
from outrisk.risk.privacy import METRICS, by_distance
from outrisk.risk.privacy.learned import _features, auc


def people(rng, n):
    z = rng.normal(size=n)
    return pd.DataFrame(
        {
            "age": np.round(45 + 12 * z),
            "income": np.round(np.exp(10 + 0.5 * z + rng.normal(size=n)), 2),
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice(list("abcde"), n),
            "ill": np.where(rng.random(n) < 1 / (1 + np.exp(-z)), "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def populations():
    rng = np.random.default_rng(11)
    return [people(rng, 400) for _ in range(3)]


KNOWN = {"keys": ["age", "sex", "region"], "target": "ill"}


@pytest.fixture(scope="module")
def table(populations):
    links = list(range(400))
    return privacy_metrics(*populations, **KNOWN, links=links, variants=("default", "paper", "reference"))


def test_every_metric_has_its_row_and_its_holdout(table):
    assert (table["status"] == "ok").all(), table[table["status"] != "ok"][["metric", "variant", "note"]]
    assert set(table["metric"]) == set(METRICS)
    assert table["value"].notna().all()
    assert (table.loc[~table["metric"].isin(["MIA", "HiddR"]), "holdout"].notna()).all()
    assert table["worst_case"].isna().all()
    defaults = table[table["variant"] == "default"]
    assert defaults["value"].between(0, 1).all()
    assert ((defaults["low"] <= defaults["value"]) & (defaults["value"] <= defaults["high"])).all()
    found = defaults.dropna(subset=["difference"])
    assert np.allclose(found["difference"], found["value"] - found["holdout"])
    assert ((found["difference_low"] <= found["difference"]) & (found["difference"] <= found["difference_high"])).all()


def test_two_samples_of_one_population_read_as_no_marginal_risk(table):
    found = table[table["variant"] == "default"].set_index("metric")
    for name in ("D-MLP", "NNAA", "MIR", "MIA", "Auth", "ID"):
        assert found.loc[name, "value"] == pytest.approx(0.5, abs=0.09), name
    attacked_alike = found.drop(index=["NNDR", "MDCR", "MIA", "HiddR"])
    assert (attacked_alike["difference_low"] < 0.02).all()


def test_a_leak_shows_beside_the_holdout(populations):
    original, _, holdout = populations
    found = privacy_metrics(original, original.copy(), holdout, **KNOWN, links=range(400)).set_index("metric")
    assert (found["status"] == "ok").all()
    for name in ("CRP", "NNAA", "HitR", "Auth", "HiddR", "MIA"):
        assert found.loc[name, "value"] >= 0.9, name
    assert (found.loc[["CRP", "NNAA", "HitR", "Auth", "ID", "DCR", "MIR"], "difference_low"] > 0.05).all()


def test_without_a_holdout_the_worst_case_stands_beside(populations):
    found = privacy_metrics(*populations[:2], **KNOWN).set_index("metric")
    undefined = found[found["status"] == "undefined"]
    assert undefined["note"].to_dict() == {
        "MIR": "needs a holdout", "MIA": "needs a holdout", "HiddR": "needs links from real to synthetic records",
    }  # fmt: skip
    assert undefined["value"].isna().all()
    kept = found.drop(index=undefined.index)
    assert kept["worst_case"].notna().all()
    assert kept["holdout"].isna().all()
    assert kept["difference"].isna().all()
    for name in ("CRP", "NNAA", "HitR", "Auth"):
        assert kept.loc[name, "worst_case"] > kept.loc[name, "value"]


def test_keys_that_are_not_given_are_told(populations):
    found = privacy_metrics(*populations[:2], metrics=["zcap", "CRP"])
    assert found["status"].tolist() == ["undefined", "ok"]
    assert found["note"][0] == "needs keys and a target"


def test_a_metric_that_fails_is_an_error_row_and_the_others_go_on(populations, monkeypatch):
    def broken(context, attacked, released):
        raise ZeroDivisionError("division by zero\nand more")

    monkeypatch.setitem(METRICS, "CRP", replace(METRICS["CRP"], function=broken))
    found = privacy_metrics(*populations[:2], metrics=["CRP", "HitR"])
    assert found["status"].tolist() == ["error", "ok"]
    assert found["note"][0] == "ZeroDivisionError: division by zero"
    assert math.isnan(found["value"][0])


def test_a_metric_out_of_time_says_so(populations):
    found = privacy_metrics(*populations[:2], metrics=["NNAA", "D-MLP", "CRP"], time_limit=0.0)
    assert found["status"].tolist() == ["timed out", "timed out", "ok"]
    assert found["note"][0] == "timed out after 0 s"
    assert found["value"][:2].isna().all()


def test_a_sample_of_records_is_asked_about_all_of_the_other_table(populations):
    whole = privacy_metrics(*populations, metrics=["Auth", "NNAA", "HitR", "GCAP", "AIR", "DCR"], **KNOWN)
    found = privacy_metrics(*populations, metrics=list(whole["metric"]), sample=100, **KNOWN)
    assert (found["n"] == 100).all()
    assert found["note"].str.contains("asked about a sample: 100 of 400 original records").all()
    assert (whole["low"] - 0.1 <= found["value"]).all()
    assert (found["value"] <= whole["high"] + 0.1).all()
    records = [privacy_metric("DCR", *populations, form="distance", sample=n).records["original"] for n in (100, None)]
    assert set(np.round(records[0], 9)) <= set(np.round(records[1], 9)), "distances are those to whole tables"


def test_progress_names_the_metric_and_ends_at_one(populations):
    heard = []
    privacy_metrics(*populations, metrics=["NNAA"], progress=lambda name, done: heard.append((name, done)))
    assert heard[-1] == ("NNAA", 1.0)


def test_per_record_scores_say_whose_they_are(populations):
    score = privacy_metric("Auth", *populations)
    assert score.records["original"].shape == (400,)
    assert score.records["original"].mean() == score.value
    assert privacy_metric("Auth", *populations, attacked="holdout").records["holdout"].shape == (400,)


def test_missing_numbers_are_said(populations):
    gappy = [frame.assign(age=frame["age"].where(frame["age"] > 40)) for frame in populations]
    found = privacy_metrics(*gappy, metrics=["CVP"])
    assert "missing numbers of age: median of the original and an indicator" in found["note"][0]


def test_the_codebook_says_what_is_numeric(populations):
    original, synthetic = (frame.astype(str) for frame in populations[:2])
    variables = [Variable("age", "integer", tuple(range(0, 121))), Variable("sex", "categorical", ("f", "m"))]
    by_text = privacy_metric("DCR", original[["age", "sex"]], synthetic[["age", "sex"]])
    by_book = privacy_metric("DCR", original, synthetic, codebook=Codebook(tuple(variables)))
    numeric = privacy_metric("DCR", *(frame[["age", "sex"]] for frame in populations[:2]))
    assert by_book.value == pytest.approx(numeric.value)
    assert by_text.value != pytest.approx(numeric.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metrics": ["DCRR"]}, "no metric 'DCRR'; known: "),
        ({"metrics": []}, "name at least one metric"),
        ({"variants": ["best"]}, "variant 'best'; known: "),
        ({"parameters": {"CVP": {"bound": 1}}}, "CVP: no parameter 'bound'; known: "),
        ({"sample": 1}, "sample 1: ask about at least 2 records"),
        ({"links": [0, 1]}, "links: give one whole number for each of the 400 original records"),
        ({"links": [400] * 400}, "links: positions run from 0 to 399"),
        ({"keys": ["age"], "target": "age"}, "target 'age' is among the keys"),
    ],
)
def test_refusals(populations, change, message):
    with pytest.raises(RiskError, match=message):
        privacy_metrics(*populations[:2], **change)


@pytest.mark.parametrize(
    ("value", "message"),
    [(math.inf, "column 'age' holds an infinite value"), ("old", "synthetic: column 'age' mixes numbers and text")],
)
def test_unfit_columns_are_refused(populations, value, message):
    original, synthetic = populations[0], populations[1].astype({"age": object})
    synthetic.loc[0, "age"] = value
    synthetic = synthetic if value == "old" else synthetic.astype({"age": float})
    with pytest.raises(RiskError, match=message):
        privacy_metrics(original, synthetic)


def test_text_is_no_number_whatever_the_codebook_says(populations):
    book = Codebook((Variable("age", "integer", tuple(range(0, 121))),))
    original = populations[0].astype({"age": object})
    original.loc[3, "age"] = "about 40"
    with pytest.raises(RiskError, match="original: column 'age' holds 'about 40', and its codebook says numbers"):
        privacy_metrics(original, populations[1], codebook=book)
    original.loc[3, "age"] = "NA"
    assert (
        "missing numbers of age" in privacy_metrics(original, populations[1], codebook=book, metrics=["CVP"])["note"][0]
    )


def test_a_column_that_identifies_is_told_where_it_cannot_be_written_out(populations):
    names = [pd.DataFrame({"x": range(4500), "name": [f"{table}{i}" for i in range(4500)]}) for table in "oos"]
    found = privacy_metrics(names[0], names[2], metrics=["DCR", "NNAA"]).set_index("metric")
    assert found["status"].to_dict() == {"DCR": "error", "NNAA": "ok"}
    assert "would write out 4,501 columns of levels" in found.loc["DCR", "note"]
    tables = read({"original": names[0], "synthetic": names[2]})
    assert _features(tables, tables.rows["original"]).shape == (4500, 256)


def test_undefined_metrics_say_why():
    constant = pd.DataFrame({"x": [1.0, 1.0, 1.0], "c": ["a", "a", "a"]})
    found = privacy_metrics(constant, constant.copy(), metrics=["MDCR", "CVP"]).set_index("metric")
    assert math.isnan(found.loc["MDCR", "value"])
    assert "median distance among the records themselves is 0" in found.loc["MDCR", "note"]
    assert found.loc["CVP", "value"] == 1
    assert "all distances are equal" in found.loc["CVP", "note"]
    single = privacy_metrics(constant[:1], constant[:1], metrics=["Auth", "NNAA", "NNDR"])
    assert single["status"].tolist() == ["undefined"] * 3


def test_intervals():
    low, high = wilson(0, 20)
    assert (low, high) == pytest.approx((0, 0.16113), abs=1e-5)
    assert wilson(20, 20)[1] == 1
    assert mean_interval(np.full(20, 1.0)) == wilson(20, 20), "equal scores are no certainty"
    assert share(np.array([True, False]), "original").value == 0.5
    # Newcombe (1998), table II, row (a): 56/70 - 48/80
    first, second = (56 / 70, wilson(56, 70)), (48 / 80, wilson(48, 80))
    assert joined((first[0], second[0]), (first[1], second[1]), -1) == pytest.approx((0.0524, 0.3339), abs=1e-4)


def test_auc_counts_pairs():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 5, 40).astype(float), rng.integers(1, 6, 30).astype(float)
    pairs = (a[:, None] > b).mean() + 0.5 * (a[:, None] == b).mean()
    area, error = auc(a, b)
    assert area == pytest.approx(pairs)
    psi = (a[:, None] > b) + 0.5 * (a[:, None] == b)
    assert error == pytest.approx(math.sqrt(psi.mean(1).var(ddof=1) / 40 + psi.mean(0).var(ddof=1) / 30))


def test_every_parameter_named_in_a_variant_exists():
    for metric in METRICS.values():
        for variant, parameters in metric.variants.items():
            known = metric.function.__code__.co_varnames[: metric.function.__code__.co_argcount]
            assert set(parameters) <= set(known), (metric.name, variant)
    assert by_distance.TO_REAL == "synthetic_to_real"


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        (Encoding("onehot", k=2), "encoding 'onehot' has no dimensions to keep"),
        (Encoding("famd", weights=(("age", 2.0),)), "encoding 'famd' takes no weights and no entropy"),
        (Encoding("famd", k=0), "famd: 0 dimensions; keep at least 1"),
        (Encoding("onehot", weights=(("wage", 2.0),)), "weights: no column 'wage' in the encoding"),
        (Encoding("twohot"), "no encoding 'twohot'; known: "),
        (Encoding("numeric_raw", columns=("sex",)), "takes numeric columns and there is none"),
    ],
)
def test_encodings_that_mean_nothing_are_refused(populations, encoding, message):
    with pytest.raises(RiskError, match=message):
        privacy_metric("DCR", *populations[:2], encoding=encoding)
