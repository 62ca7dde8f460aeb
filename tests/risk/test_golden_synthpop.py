"""The disclosure suite against values of R synthpop 1.9-0 (../shared/golden/synthpop/README.md)."""

import json
import math
from functools import cache

import numpy as np
import pandas as pd
import pytest

from outrisk.risk import disclosure, multi_disclosure

TOLERANCE = 1e-9
STEPS = {
    "excluded target": "excluded_target",
    "missing target": "missing_target",
    "missing in  keys": "missing_keys",
    "set to exclude": "listed",
    "over denom_lim": "over_denom_lim",
    "remaining": "remaining",
}
CASES = [f"S{i:02d}" for i in range(1, 55) if i not in range(48, 53)]
MULTI = [f"S{i}" for i in range(48, 53)]
DEFECTS = [f"SX0{i}" for i in range(1, 7)]


@pytest.fixture(scope="module")
def folder(shared):
    return shared / "golden/synthpop"


@pytest.fixture(scope="module")
def cases(folder):
    files = ("cases.json", "cases_defects.json")
    return {case["id"]: case for file in files for case in json.loads((folder / file).read_text())["cases"]}


@pytest.fixture(scope="module")
def frame(folder):
    """A data set with R's types: factors as categories in their order, numbers as numbers."""
    codebook = json.loads((folder / "codebook.json").read_text())

    @cache
    def read(file):
        described = codebook[file.split("_")[0]]
        factors = {
            name: np.atleast_1d(variable["levels"])
            for name, variable in described.items()
            if variable["type"] == "factor"
        }
        data = pd.read_csv(folder / file, dtype=dict.fromkeys(factors, str))
        return data.assign(**{name: pd.Categorical(data[name], levels) for name, levels in factors.items()})

    return read


def test_the_files_hold_the_cases_tested_here(cases):
    assert sorted(cases) == sorted(CASES + MULTI + DEFECTS)


@pytest.mark.parametrize("name", CASES + DEFECTS)
def test_disclosure_as_synthpop_prints_it(cases, frame, name):
    case = cases[name]
    found = disclosure(*tables(case, frame), keys=case["keys"], target=case["target"], **options(case))
    check(found, case.get("result_without_defect", case["result"]))


@pytest.mark.parametrize("name", MULTI)
def test_multi_disclosure_as_synthpop_prints_it(cases, frame, name):
    case = cases[name]
    given, expected, targets = case["options"], case["result"], case["targets"]
    per_target = {
        option: dict(zip(targets, given[name], strict=True))
        for option, name in (("use_target_na", "usetargetsNA"), ("ngroups_target", "ngroups_targets"))
        if isinstance(given[name], list)
    }
    if given["not_targetslev"]:
        per_target["not_target_levels"] = {
            t: [level] for t, level in zip(targets, given["not_targetslev"], strict=True) if level
        }
    found = multi_disclosure(
        *tables(case, frame),
        keys=case["keys"],
        targets=targets,
        measure=given["attrib_meas"],
        keep_values=given["cont_na"],
        denom_lim=given.get("denom_lim", 5),
        exclude_over_denom_lim=given.get("exclude_ov_denom_lim", False),
        **per_target,
    )
    for target in targets:
        result = found.results[target]
        check(result, expected["per_target"][target])
        assert 100 * result.mean["UiO"] == pytest.approx(expected["ident_orig_per_target"][target], rel=TOLERANCE)
        # R takes repU from the first synthetic table only; the mean is compared through the tables in `check`.
        first = result.identity["repU"].iloc[0]
        assert 100 * first == pytest.approx(expected["ident_syn_per_target"][target], rel=TOLERANCE)
    printed = expected["table_in_printed_order"]
    assert list(found.table["target"]) == [row["row_label"].split()[1] for row in printed]
    assert list(100 * found.table["original"]) == pytest.approx([row["attrib.orig"] for row in printed], rel=TOLERANCE)
    assert list(100 * found.table["synthetic"]) == pytest.approx([row["attrib.syn"] for row in printed], rel=TOLERANCE)
    assert list(found.table["check_1way"] != "") == [row["check1"] != "" for row in printed]
    assert list(found.table["check_2way"] > 0) == [row["check2"] != "" for row in printed]


def tables(case, frame):
    return frame(case["data"]["orig"]), [frame(file) for file in case["data"]["syn"]]


def options(case):
    given = case["options"]
    n_keys = given["ngroups_keys"]
    if n_keys is not None:  # R gives them in the order of the data; the case of the defect in that of the keys
        order = case["keys"]
        n_keys = dict(zip(order, n_keys if isinstance(n_keys, list) else [n_keys] * len(order), strict=True))
    triples = [given[name] or [] for name in ("exclude_keys", "exclude_keylevs", "exclude_targetlevs")]
    return {
        "keep_values": given["cont_na"],
        "use_target_na": given["usetargetNA"],
        "use_keys_na": given["usekeysNA"],
        "not_target_levels": given["not_targetlev"] or [],
        "exclude": list(zip(*triples, strict=True)),
        "ngroups_target": given["ngroups_target"],
        "ngroups_keys": n_keys,
        "denom_lim": given["denom_lim"],
        "exclude_over_denom_lim": given["exclude_ov_denom_lim"],
        "thresh_1way": given["thresh_1way"],
        "thresh_2way": given["thresh_2way"],
    }


def check(found, expected):
    assert list(found.keys) == expected["keys_in_data_order"]
    for part, name in ((found.identity, "ident"), (found.attribute, "attrib"), (found.cap, "allCAPs")):
        assert len(part) == len(expected[name])
        for row, values in zip(part.to_dict("records"), expected[name], strict=True):
            wanted = {measure: math.nan if value is None else value for measure, value in values.items()}
            percent = {measure: value if measure.endswith("denom") else 100 * value for measure, value in row.items()}
            assert percent == pytest.approx(wanted, rel=TOLERANCE, abs=0, nan_ok=True)
    for i, (one_way, two_way, steps) in enumerate(
        zip(expected["check_1way"], expected.get("check_2way", [[]]), expected["Nexclusions"], strict=True), start=1
    ):
        check_flags(found, i, [one_way] if one_way else [], two_way)
        own = found.exclusions[found.exclusions["synthesis"] == i].set_index("table")
        assert list(own.index) == list(steps)
        for table, counts in steps.items():
            assert {step: own.loc[table, column] for step, column in STEPS.items()} == counts


def check_flags(found, i, one_way, two_way):
    own = found.check_1way[found.check_1way["synthesis"] == i].drop(columns="synthesis")
    assert len(own) == len(one_way)
    for row, wanted in zip(own.to_numpy(), one_way, strict=True):
        names = ("Level", "All", "PctLevelAll", "totalDisclosive", "nLevelDis", "PctLevelDis")
        assert row[0] == wanted["Level"]
        assert list(row[1:]) == pytest.approx([wanted[name] for name in names[1:]], rel=TOLERANCE)
    own = found.check_2way[found.check_2way["synthesis"] == i]
    assert list(own["target_level"] + "|" + own["key_level"]) == [row["target_key_levs"] for row in two_way]
    for ours, theirs in (
        ("npairs", "npairs"),
        ("key", "key"),
        ("key_target_total", "key_target_total"),
        ("key_total", "key_total"),
    ):
        assert list(own[ours]) == [row[theirs] for row in two_way]
    shares = [row["PctTargetKeyLevel"] for row in two_way]
    assert list(own["pct_target_in_key_level"]) == pytest.approx(shares, rel=TOLERANCE)
