"""Every case of ../shared/golden/privacy_metrics, through documented parameters."""

import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from golden import PARAMETERS, Golden, encoding

from outrisk.risk import Encoding, privacy_metric
from outrisk.risk.coding.with_numbers import read
from outrisk.risk.privacy import METRICS
from outrisk.risk.privacy.context import Context


@pytest.fixture(scope="module")
def golden(shared):
    return Golden(shared / "golden/privacy_metrics")


def row_to_row(frames):
    """Real row i belongs to synthetic row i."""
    n = len(frames[0])
    return np.where(np.arange(n) < len(frames[1]), np.arange(n), -1)


def test_every_formula_case(golden):
    contexts, wrong = {}, []
    for case in golden.formula:
        name, given = case["metric"], case["params"]
        if case["data"] not in contexts:
            frames = golden.frames(case["data"])
            contexts[case["data"]] = Context(
                read(dict(zip(("original", "synthetic"), frames, strict=True))), links=row_to_row(frames)
            )
        context = contexts[case["data"]]
        context.keys, context.target = tuple(given["keys"]) if "keys" in given else None, given.get("sensitive")
        parameters = PARAMETERS[name, case["variant"]] | encoding(case)
        found = METRICS[name].function(context, "original", "synthetic", **parameters)
        if case["expected"] is None:
            agrees = math.isnan(found.value) and found.reason
        else:
            agrees = abs(found.value - case["expected"]) <= case["tolerance"]
        for ours, theirs in (("hits", "TP"), ("misses", "FP"), ("false negatives", "FN")):
            if theirs in given and ours == "false negatives" and "f1" not in case["variant"]:
                continue
            agrees = agrees and (theirs not in given or found.counts[ours] == given[theirs])
        if "first_records" in case:
            agrees = agrees and np.allclose(found.records["original"][: len(case["first_records"])],
                                            case["first_records"], rtol=0, atol=1e-9)  # fmt: skip
        if not agrees:
            wrong.append((case["id"], found.value, case["expected"]))
    assert wrong == []
    assert len(golden.formula) == 1176


def reference_call(golden, case):
    """Tables and parameters that reproduce one deterministic case of the review's own code."""
    metric, raw = case["metric"], "raw" in case["variant"]
    real, synthetic = (golden.raw if raw else golden.labels)(case["data"])
    truth = list(real.select_dtypes("bool"))
    parameters = dict(METRICS[metric].parameters("reference"))
    if metric in ("AIR", "GCAP", "ZCAP"):
        target = case["params"]["sensitive"]
        parameters |= {"keys": [name for name in real if name != target], "target": target}
    if metric == "AIR":  # every float column after the first enters twice, truth values as 0/1
        floats = [name for name in real.select_dtypes("float") if name != target]
        parameters["encoding"] = Encoding("onehot_raw", weights=tuple((name, 2.0) for name in floats[1:]))
    if metric in ("AIR", "GCAP"):
        real, synthetic = (frame.astype(dict.fromkeys(truth, "int64")) for frame in (real, synthetic))
    if metric == "GCAP" and not raw:
        few = len(parameters["keys"]) <= 15  # scikit-learn searches a tree, and beyond in the order of the records
        parameters |= {"hamming": "columns", "neighbours": "sklearn" if few else "first"}
    if metric == "ID":  # the entropy of a column of truth values is taken as 0, which removes it
        parameters["encoding"] = Encoding("label_zscore", weights=tuple((name, 0.0) for name in truth))
    if metric == "HitR":
        binary = [name for name in real if set(real[name]) == {0, 1}]
        real, synthetic = (frame.astype(dict.fromkeys(binary, str)) for frame in (real, synthetic))
    return real, synthetic, parameters


def test_every_deterministic_case_of_the_reference_code(golden):
    wrong, checked = [], Counter()
    for case in golden.reference:
        if case["reproducible"]:
            real, synthetic, parameters = reference_call(golden, case)
            found = privacy_metric(case["metric"], real, synthetic, variant="reference", **parameters)
            checked[case["metric"]] += 1
            if not abs(found.value - case["expected"]) <= case["tolerance"]:
                wrong.append((case["id"], case["data"], case["variant"], found.value, case["expected"]))
    assert wrong == []
    assert sum(checked.values()) == 84


def test_unseeded_cases_of_the_reference_code_lie_in_their_bands(golden):
    wrong, runs = [], defaultdict(int)
    for case in golden.reference:
        if not case["reproducible"]:
            frames = (golden.raw if "raw" in case["variant"] else golden.labels)(case["data"])
            parameters = dict(METRICS[case["metric"]].parameters("reference"))
            if case["metric"] in ("DCR", "NNDR", "HiddR"):
                parameters["encoding"] = Encoding("famd" if "raw" in case["variant"] else "pca", k=2)
            if case["metric"] == "HiddR":
                parameters["links"] = row_to_row(frames)
            found = privacy_metric(case["metric"], *frames, **parameters)
            runs[case["metric"]] += 1
            if not abs(found.value - case["expected"]) <= case["tolerance"]:
                wrong.append((case["id"], case["data"], case["variant"], found.value, case["expected"]))
    assert wrong == []
    assert sum(runs.values()) == 36
