"""`cap` against values counted by brute force (../shared/golden/cap/README.md) and published ones (../shared/data)."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest

from outrisk.risk import attack, cap, key_sets

TIES = ("counted", "shared", "first")  # in the order of the golden lists
PER_SET = {"n_original": "n_records", "cap_original": "CAP_self", "n_weap": "certain"}


@pytest.fixture(scope="module")
def cases(shared):
    return json.loads((shared / "golden/cap/cases.json").read_text())["cases"]


@pytest.fixture(scope="module")
def frame(shared):
    return cache(lambda name: pd.read_csv(shared / "golden/cap" / name, dtype=str))


@pytest.fixture(scope="module")
def measure(frame):
    @cache
    def measure(original, synthetic, keys, target, sizes, tau):
        return cap(frame(original), frame(synthetic), keys=keys, target=target, key_sizes=sizes, tau=tau)

    def of_case(case, keys, sizes):
        data = case["data"]
        return measure(
            data["original"], data["synthetic"], tuple(keys), case["target"], tuple(sizes), case.get("tau", 1.0)
        )

    return of_case


def near(expected, tolerance=1e-9):
    return pytest.approx(np.nan if expected is None else expected, rel=0, abs=tolerance, nan_ok=True)


def of_kind(cases, kind, number):
    found = [case for case in cases if case["kind"] == kind]
    assert len(found) == number
    return found


def test_each_key_set_of_hittmeir(cases, measure):
    for case in of_kind(cases, "hittmeir_per_key", 57):
        row = measure(case, case["keys"], [len(case["keys"])]).per_set.iloc[0]
        for name, expected in case["expected"].items():
            if name.startswith("R_"):
                assert [row[f"{name}_{ties}"] for ties in TIES] == near(expected), (case["id"], name)
            else:
                column = PER_SET.get(name, name.removeprefix("mean_") if "CAP" in name else name)
                assert row[column] == near(expected), (case["id"], name)


def test_each_key_set_of_tcap(cases, measure):
    for case in of_kind(cases, "tcap_per_key", 84):
        row, expected = measure(case, case["keys"], [len(case["keys"])]).per_set.iloc[0], case["expected"]
        assert row["certain"] - row["certain_matched"] == expected["n_non_match"]
        for name in ("n_synthetic", "n_weap", "mean_WEAP", "TCAP_undefined", "TCAP_zero"):
            assert row[PER_SET.get(name, name)] == near(expected[name]), (case["id"], name)


def assert_summary(row, expected, where):
    assert row["n_defined"] == expected["n_defined"], where
    for column, name in (("mean", "mean"), ("sd", "std_population"), ("sd_sample", "std_sample")):
        assert row[column] == near(expected[name]), (where, name)


def test_means_over_key_sets(cases, measure):
    for case in of_kind(cases, "hittmeir_all_keys_of_size", 9):
        result = measure(case, case["qi"], [case["key_size"]])
        rows, asked = result.summary.set_index(["measure", "size"]), 0
        assert len(result.per_set) == case["n_keys"]
        for name, expected in case["expected"].items():
            if "CAP" in name and name != "cap_original":
                for golden, ours in (("ties_count", "counted"), ("ties_expected", "shared"), ("ties_first", "first")):
                    name = name.replace(f"/{golden}", f"_{ours}")
                assert_summary(rows.loc[name.removeprefix("mean_"), "all"], expected, (case["id"], name))
                asked += 1
        assert asked == 12
    for case in of_kind(cases, "tcap_all_key_sets", 8):
        result, expected = measure(case, case["qi"], case["key_sizes"]), case["expected"]
        rows = result.summary.set_index(["measure", "size"])
        assert len(result.per_set) == expected["n_key_sets"]
        compared = {"TCAP_undefined", "TCAP_zero", "mean_WEAP"} & expected.keys()
        assert len(compared) >= 2
        for name in compared:
            assert_summary(rows.loc[name, "all"], expected[name], (case["id"], name))
        for size, of_size in expected.get("by_size", {}).items():
            for name, summary in of_size.items():
                assert_summary(rows.loc[name, size], summary, (case["id"], name, size))
        assert rows.loc[("TCAP_zero", "all"), "baseline"] == near(
            expected.get("baseline_sum_of_squared_target_shares", rows.loc[("TCAP_zero", "all"), "baseline"])
        )


def published(shared, name):
    folder = shared / "data" / name
    tables = json.loads((folder / "reference_values.json").read_text())["tables"]
    scenarios = {one["name"]: one for one in json.loads((folder / "codebook.json").read_text())["scenarios"]}
    return pd.read_csv(folder / f"{name}.csv", dtype=str), [(table, scenarios[table["scenario"]]) for table in tables]


@pytest.mark.parametrize(("name", "number"), [("cmc", 4), ("fertility", 2)])
def test_published_rows_of_the_original(shared, name, number):
    """Hittmeir et al.'s rows "Original", every key set and mean; the reference file gives percentages, 4 decimals."""
    data, tables = published(shared, name)
    assert len(tables) == number
    for table, scenario in tables:
        size = len(table["per_subset"][0]["keys"])
        result = cap(data, data, keys=scenario["keys"], target=scenario["target"], key_sizes=[size])
        rows = result.per_set.set_index("keys")
        assert len(rows) == len(table["per_subset"])
        for subset in table["per_subset"]:
            row = rows.loc[[tuple(subset["keys"])]].iloc[0]
            assert 100 * row["R_GCAP_first"] == near(subset["R"], 5.1e-5)
            cells = data.groupby([*subset["keys"], scenario["target"]]).size()
            assert row["R_GCAP_first"] == near(cells.groupby(level=subset["keys"]).max().sum() / len(data))
            assert 100 * row["GCAP"] == near(subset.get("mean_CAP", 100 * row["GCAP"]), 5.1e-5)
        mean = result.summary.set_index(["measure", "size"]).loc["R_GCAP_first", "all"]
        for statistic, column in (("mean", "mean"), ("sd", "sd")):
            assert 100 * mean[column] == near(table["recomputed"][statistic], 5.1e-5)
            assert 100 * mean[column] == near(table["published"][statistic], 0.051)


@pytest.mark.parametrize(("name", "number", "sets"), [("cmc", 4, 57), ("fertility", 2, 6)])
def test_fr_nn_and_the_zero_rule_of_the_original(shared, name, number, sets):
    """On the original itself radius 0 always matches: FR-NN's accuracy is R of the tables, key set by key set."""
    data, tables = published(shared, name)
    document = json.loads((shared / "data" / name / "reference_values.json").read_text())
    assert len(tables) == number
    asked = 0
    for table, scenario in tables:
        dummy = table.get("dummy") or document["dummy"][table["scenario"].removeprefix("hittmeir2020_")]
        found = []
        for subset in table["per_subset"]:
            keys, target = subset["keys"], scenario["target"]
            fr_nn, zero_rule, uniform = attack(
                data, data, keys=keys, target=target, classifiers=["fr_nn", "zero_rule", "uniform"]
            ).frame["accuracy_original"]
            r = cap(data, data, keys=keys, target=target).per_set["R_GCAP_first"].item()
            most = data.groupby([*keys, target]).size().groupby(level=keys).max().sum()
            assert (fr_nn, fr_nn) == (near(r), near(most / len(data)))
            assert 100 * fr_nn == near(subset["R"], 5.1e-5)
            assert 100 * zero_rule == near(dummy["recomputed"], 5.1e-5)
            assert 100 * zero_rule == near(dummy["published"], 0.051)
            assert uniform == near(1 / data[target].nunique())
            found.append(100 * fr_nn)
        asked += len(found)
        for statistic, value in (("mean", np.mean(found)), ("sd", np.std(found))):
            assert value == near(table["published"][statistic], 0.051)
    assert asked == sets


def test_no_classifier_beats_fr_nn_where_it_trains_on_what_it_attacks(shared):
    """On the original itself FR-NN guesses the most frequent target of each class: the largest accuracy there is."""
    data, tables = published(shared, "cmc")
    for table, scenario in tables[::2]:
        keys = table["per_subset"][0]["keys"]
        accuracy = attack(data, data, keys=keys, target=scenario["target"]).frame.set_index("classifier")[
            "accuracy_original"
        ]
        assert not accuracy.isna().any()
        assert accuracy["fr_nn"] == accuracy.max()
        assert 100 * accuracy["fr_nn"] == near(table["per_subset"][0]["R"], 5.1e-5)
        assert accuracy["random_forest"] > accuracy["zero_rule"] > accuracy["uniform"]


# Largest distance from the published mean and standard deviation, in percentage points: rounding alone where nothing is
# left to chance; the trees of a forest are; equally near records, of which 5 nearest takes some, and the ensemble's
# tie rule are not printed; nor is why the SVM differs on Fertility.
AGREES = {"naive_bayes": 0.051, "logistic_regression": 0.051, "fr_nn": 0.051, "random_forest": 0.4}
AGREES |= {"k_nearest": 4.0, "ensemble": 4.5, "svm": 0.1}
SMALL = {"svm": 6.1, "random_forest": 1.5}  # Fertility: 100 records, so that a record is a point


@pytest.mark.parametrize(("name", "number", "sets"), [("cmc", 4, 57), ("fertility", 2, 6)])
def test_classifiers_of_the_original_on_numbers(shared, name, number, sets):
    """Hittmeir et al.'s tables 6 to 11, rows "Original", with `encoding` ordinal; recipe in the reference file."""
    data, scenarios = published(shared, name)
    document = json.loads((shared / "data" / name / "reference_values.json").read_text())["classifiers"]
    assert len(document["rows"]) == number
    asked = 0
    for table in document["rows"]:
        scenario = next(scenario for _, scenario in scenarios if scenario["name"] == table["scenario"])
        found = []
        for keys in key_sets(scenario["keys"], [table["key_length"]]):
            result = attack(data, data, keys=keys, target=scenario["target"], encoding="ordinal")
            found.append(100 * result.frame.set_index("classifier")["accuracy_original"])
        asked += len(found)
        accuracy = pd.DataFrame(found)
        limits = AGREES | (SMALL if name == "fertility" else {})
        for classifier, values in table["published"].items():
            for statistic, ours in (("mean", accuracy[classifier].mean()), ("sd", accuracy[classifier].std(ddof=0))):
                where = (table["table"], classifier, statistic, ours)
                assert ours == pytest.approx(values[statistic], rel=0, abs=limits[classifier]), where
    assert asked == sets
