"""TCAP, WEAP, DCAP and their relatives against values counted by brute force (../shared/golden/cap/README.md)."""

import json
from collections import defaultdict
from functools import cache

import numpy as np
import pandas as pd
import pytest

from outrisk.risk import (
    attribution_over_original,
    baseline,
    cap_original,
    code_frames,
    cross,
    dcap,
    differential_attribution,
    key_sets,
    mean_weap,
    targeted_attribution,
    tcap,
    weap,
)

TOLERANCE = 1e-9


@pytest.fixture(scope="module")
def cases(shared):
    by_kind = defaultdict(list)
    for case in json.loads((shared / "golden/cap/cases.json").read_text())["cases"]:
        by_kind[case["kind"]].append(case)
    return by_kind


@pytest.fixture(scope="module")
def frame(shared):
    return cache(lambda name: pd.read_csv(shared / "golden/cap" / name, dtype=str))


@pytest.fixture(scope="module")
def measured(frame):
    """Every measure of one key set, by the names that the golden file gives them."""

    @cache
    def coding(original, synthetic):
        tables = {"original": frame(original), "synthetic": frame(synthetic)}
        return code_frames(tables, list(tables["original"].columns))

    @cache
    def measure(original, synthetic, keys, target, tau):
        counts = cross(coding(original, synthetic), keys, target)
        targeted, differential = targeted_attribution(counts, tau=tau), differential_attribution(counts)
        variant = attribution_over_original(counts, tau=tau)
        return {
            "n_original": differential.n_records,
            "non_matches": differential.non_matches,
            "mean_0CAP": differential.dcap,
            "mean_ICAP": differential.dcap_matches,
            "cap_original": cap_original(counts),
            "n_synthetic": targeted.n_synthetic,
            "n_weap": targeted.certain,
            "n_non_match": targeted.certain - targeted.matched,
            "mean_WEAP": mean_weap(counts),
            "TCAP_undefined": targeted.tcap_undefined,
            "TCAP_zero": targeted.tcap_zero,
            "over_original": {
                "n_match": variant.matched,
                "n_match_weap": variant.certain_matched,
                "undefined_all_matches": variant.undefined_all_matches,
                "zero_all": variant.zero_all,
                "undefined_weap_matches": variant.undefined_weap_matches,
            },
            "baseline": baseline(counts),
        }

    return lambda case, keys: measure(
        case["data"]["original"], case["data"]["synthetic"], tuple(keys), case["target"], case.get("tau", 1.0)
    )


def near(expected):
    return pytest.approx(np.nan if expected is None else expected, rel=0, abs=TOLERANCE, nan_ok=True)


def assert_fields(found, expected, case_id):
    compared = [name for name in expected if name in found]
    assert compared
    for name in compared:
        if isinstance(expected[name], dict):
            assert_fields(found[name], expected[name], case_id)
        else:
            assert found[name] == near(expected[name]), f"{case_id} {name}"


def assert_summary(values, expected, name):
    values = np.array(values, dtype=float)
    defined = values[~np.isnan(values)]
    assert len(defined) == expected["n_defined"], name
    for statistic, ddof in (("std_population", 0), ("std_sample", 1)):
        if expected[statistic] is not None:
            assert defined.std(ddof=ddof) == near(expected[statistic]), name
    assert (defined.mean() if len(defined) else np.nan) == near(expected["mean"]), name


def assert_summaries(rows, expected, case_id):
    for name in rows[0].keys() & expected.keys():
        if "mean" in expected[name]:
            assert_summary([row[name] for row in rows], expected[name], f"{case_id} {name}")
        else:
            assert_summaries([row[name] for row in rows], expected[name], f"{case_id} {name}")


@pytest.mark.parametrize(("kind", "number"), [("hittmeir_per_key", 57), ("tcap_per_key", 84)])
def test_each_key_set(cases, measured, kind, number):
    assert len(cases[kind]) == number
    for case in cases[kind]:
        assert_fields(measured(case, case["keys"]), case["expected"], case["id"])


def test_means_over_all_key_sets_of_one_size(cases, measured):
    assert len(cases["hittmeir_all_keys_of_size"]) == 9
    for case in cases["hittmeir_all_keys_of_size"]:
        sets = key_sets(case["qi"], [case["key_size"]])
        assert len(sets) == case["n_keys"]
        assert_summaries([measured(case, keys) for keys in sets], case["expected"], case["id"])


def test_means_over_all_key_sets_of_several_sizes(cases, measured):
    assert len(cases["tcap_all_key_sets"]) == 8
    for case in cases["tcap_all_key_sets"]:
        sets = key_sets(case["qi"], case["key_sizes"])
        rows = {keys: measured(case, keys) for keys in sets}
        expected = case["expected"]
        assert len(sets) == expected["n_key_sets"]
        assert_summaries(list(rows.values()), expected, case["id"])
        for size, by_size in expected.get("by_size", {}).items():
            assert_summaries([rows[keys] for keys in sets if len(keys) == int(size)], by_size, f"{case['id']} {size}")
        if "baseline_sum_of_squared_target_shares" in expected:
            found = {row["baseline"] for row in rows.values()}
            assert len(found) == 1
            assert found.pop() == near(expected["baseline_sum_of_squared_target_shares"])


def test_public_functions_on_frames(cases, frame):
    for case in cases["tcap_per_key"][::12]:
        original, synthetic = (frame(case["data"][side]) for side in ("original", "synthetic"))
        result = tcap(original, synthetic, keys=case["keys"], target=case["target"], tau=case["tau"])
        assert result.original.tcap_undefined == near(case["expected"]["TCAP_undefined"])
        assert result.mean_weap == near(case["expected"]["mean_WEAP"])
        assert weap(synthetic, keys=case["keys"], target=case["target"]).mean() == near(case["expected"]["mean_WEAP"])
    for case in cases["hittmeir_per_key"][::12]:
        original, synthetic = (frame(case["data"][side]) for side in ("original", "synthetic"))
        result = dcap(original, synthetic, keys=case["keys"], target=case["target"]).original
        assert result.dcap == near(case["expected"]["mean_0CAP"])
