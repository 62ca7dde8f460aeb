"""Every deterministic metric against its definition, and what must leave it as it is."""

import math

import numpy as np
import pandas as pd
import pytest
import twins
from hypothesis import given, settings
from hypothesis import strategies as st

from outrisk.risk import Encoding, privacy_metric
from outrisk.risk.coding.with_numbers import read
from outrisk.risk.privacy.context import Context
from outrisk.risk.privacy.registry import METRICS

ONEHOT = Encoding("onehot")
KEYS, TARGET = ["u", "c"], "d"
TWINS = {
    "CVP": (twins.cvp, {}), "DVP": (twins.dvp, {}), "NSND": (twins.nsnd, {}), "Auth": (twins.auth, {}),
    "ID": (twins.identifiable, {"entropy": "none"}), "NNDR": (twins.nndr, {"encoding": ONEHOT}),
    "DCR": (twins.dcr, {"encoding": ONEHOT}), "MDCR": (twins.mdcr, {}), "NNAA": (twins.nnaa, {}),
    "CRP": (twins.crp, {}), "HitR": (twins.hitr, {}),
    "ZCAP": (lambda frames: twins.cap(frames, KEYS, TARGET, False), {}),
    "GCAP": (lambda frames: twins.cap(frames, KEYS, TARGET, True), {}),
    "AIR": (lambda frames: twins.air(frames, KEYS, TARGET), {}),
}  # fmt: skip


@st.composite
def tables(draw):
    """Two tables of few values: ties, duplicates, constant columns, unequal sizes, one-sided levels, missing values."""
    values = {
        "u": st.sampled_from([0.0, 1.0, 1.5, 4.0]) | st.just(math.nan),
        "v": st.integers(-3, 3).map(float),
        "c": st.sampled_from(["a", "b", None]),
        "d": st.sampled_from(["p", "q", "r"]),
        "e": st.just("only"),
    }
    frames = {}
    for table in ("original", "synthetic"):
        size = draw(st.integers(2, 9))
        levels = dict(values)
        if table == "synthetic":
            levels["d"] = st.sampled_from(["p", "q", "new"])
        frames[table] = pd.DataFrame(
            {name: draw(st.lists(value, min_size=size, max_size=size)) for name, value in levels.items()}
        ).astype({"u": float, "v": float, "c": object, "d": object, "e": object})
    if draw(st.booleans()):
        frames["synthetic"] = frames["original"].copy()
    return frames


def measure(frames, name, **parameters):
    context = Context(read(frames), keys=tuple(KEYS), target=TARGET)
    return METRICS[name].function(context, "original", "synthetic", **{**TWINS[name][1], **parameters})


@settings(max_examples=30, deadline=None)
@given(tables())
def test_metrics_agree_with_their_definitions(frames):
    for name, (twin, _) in TWINS.items():
        found, expected = measure(frames, name), twin(frames)
        assert found.value == pytest.approx(expected, abs=1e-9, nan_ok=True), name
        assert bool(found.reason) == math.isnan(found.value)
        for scores in found.records.values():
            assert len(scores) in {len(frame) for frame in frames.values()}


@settings(max_examples=10, deadline=None)
@given(tables(), st.sampled_from([["c", "d", "e"], ["u", "v"], ["v"], ["e"]]))
def test_tables_of_categories_or_of_numbers_alone(frames, columns):
    alone = {table: frame[columns] for table, frame in frames.items()}
    for name, (twin, _) in TWINS.items():
        if name not in ("ZCAP", "GCAP", "AIR"):
            assert measure(alone, name).value == pytest.approx(twin(alone), abs=1e-9, nan_ok=True), name


@settings(max_examples=12, deadline=None)
@given(tables(), st.randoms(use_true_random=False))
def test_metrics_do_not_depend_on_order_names_or_origin(frames, random):
    """Row order, names of categories, and a constant added to a numeric column change nothing."""
    changed = {}
    for table, frame in frames.items():
        order = list(range(len(frame)))
        random.shuffle(order)
        changed[table] = frame.iloc[order].reset_index(drop=True).assign(
            v=lambda x: x["v"] + 64, d=lambda x: x["d"].map({"p": "zz", "q": "new", "r": "a", "new": "q"})
        )  # fmt: skip
    for name in TWINS:
        was, now = measure(frames, name).value, measure(changed, name).value
        assert now == pytest.approx(was, abs=1e-9, nan_ok=True), name


@pytest.mark.parametrize("name", TWINS)
def test_a_copy_is_as_risky_as_can_be_and_other_data_are_less(name):
    rng = np.random.default_rng(5)

    def people(n):
        return pd.DataFrame(
            {
                "u": rng.normal(size=n), "v": rng.normal(size=n), "c": rng.choice(list("ab"), n),
                "d": rng.choice(list("pqr"), n), "e": "only",
            }
        )  # fmt: skip

    original, other = people(300), people(300)
    copy = measure({"original": original, "synthetic": original.copy()}, name).value
    independent = measure({"original": original, "synthetic": other}, name).value
    assert copy == pytest.approx(1.0)
    assert independent <= copy if name in ("CVP", "DVP") else independent < copy


@pytest.mark.parametrize("encoding", ["pca", "famd"])
def test_projections_on_all_dimensions_keep_the_distances_of_their_columns(encoding):
    """Nothing is lost with as many dimensions as the columns have: DCR is that of the scaled indicators."""
    rng = np.random.default_rng(2)
    frames = [pd.DataFrame({"u": rng.normal(size=40), "c": rng.choice(list("abc"), 40)}) for _ in range(2)]
    found = privacy_metric("DCR", *frames, encoding=Encoding(encoding, k=4), form="distance").value
    z = [((frame["u"] - frames[0]["u"].mean()) / frames[0]["u"].std(ddof=0)).to_numpy() for frame in frames]
    shares = frames[0]["c"].value_counts(normalize=True)
    cost = 1 / (shares * (1 - shares)) if encoding == "pca" else 1 / shares
    least = []
    for x, level in zip(z[0], frames[0]["c"], strict=True):
        apart = [(x - y) ** 2 + (level != other) * (cost[level] + cost[other])
                 for y, other in zip(z[1], frames[1]["c"], strict=True)]  # fmt: skip
        least.append(math.sqrt(min(apart)))
    assert found == pytest.approx(np.mean(least), abs=1e-9)


def test_two_geometries_are_kept_and_a_third_is_made_again():
    rng = np.random.default_rng(1)
    frames = {
        table: pd.DataFrame({"v": rng.normal(size=50), "c": rng.choice(["a", "b"], 50)})
        for table in ("original", "synthetic")
    }
    context = Context(read(frames))
    first, famd, gower = Encoding("onehot"), Encoding("famd"), Encoding("gower")
    geometry, near = context.geometry(first), context.nearest(first, "original", "synthetic")
    context.geometry(famd)
    assert context.geometry(first) is geometry  # asked for last
    context.geometry(gower)
    assert [encoding.name for encoding, *_ in context._geometries] == ["onehot", "gower"]
    context.geometry(famd)
    assert context.geometry(first) is not geometry
    assert np.array_equal(context.nearest(first, "original", "synthetic"), near)
