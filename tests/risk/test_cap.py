"""The CAP family: hand-solved tables, slow twins from the definitions, the jackknife against deleting records."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from outrisk.codebook import Codebook, Variable
from outrisk.errors import RiskError
from outrisk.microdata import Microdata
from outrisk.risk import (
    MEASURES,
    Attribution,
    Estimate,
    attribution_over_original,
    average,
    baseline,
    cap_original,
    code_frames,
    code_microdata,
    combine,
    cross,
    dcap,
    key_sets,
    marginal,
    score,
    targeted_attribution,
    tcap,
    weap,
)
from outrisk.risk.intervals.jackknife import deal

SIZES = (3, 3, 2, 3)
NAMES = ("a", "b", "c", "target")
CODEBOOK = Codebook(
    tuple(Variable(name, "categorical", tuple("vwxyz"[:size])) for name, size in zip(NAMES, SIZES, strict=True))
)
record = st.tuples(*(st.integers(0, size - 1) for size in SIZES))
tables = st.lists(record, min_size=1, max_size=30)
varied = st.lists(record, min_size=6, max_size=30).filter(lambda rows: len({row[-1] for row in rows}) > 1)
taus = st.sampled_from([1.0, 0.8, 0.6, 0.5, 0.3])


def frame(rows, names=("key", "target")):
    return pd.DataFrame(rows, columns=list(names))


def microdata(rows):
    return Microdata(CODEBOOK, np.array(rows, dtype=np.uint16).reshape(-1, len(SIZES)))


# --- slow twins: loops over records, straight from the definitions ---


def mean(values):
    return sum(values) / len(values) if values else math.nan


def share(rows, record, key):
    """Share of the rows with the record's key that have its target; None without such a row."""
    targets = [row[-1] for row in rows if key(row) == key(record)]
    return targets.count(record[-1]) / len(targets) if targets else None


def slow(synthetic, attacked, positions, tau):
    def key(row):
        return tuple(row[j] for j in positions)

    certain = [record for record in synthetic if share(synthetic, record, key) >= tau]
    found = [share(attacked, record, key) for record in certain]
    guesses = [share(synthetic, record, key) for record in attacked]
    targets = [row[-1] for row in attacked]
    return {
        "tcap_undefined": mean([value for value in found if value is not None]),
        "tcap_zero": mean([value or 0.0 for value in found]),
        "dcap": mean([value or 0.0 for value in guesses]),
        "baseline": sum((targets.count(target) / len(targets)) ** 2 for target in set(targets)),
    }


# --- tables solved by hand ---


def test_certain_right_certain_wrong_uncertain_and_no_match():
    synthetic = frame([("right", 1), ("right", 1), ("wrong", 1), ("unsure", 0), ("unsure", 1), ("absent", 0)])
    original = frame([("right", 1), ("wrong", 0), ("wrong", 0), ("unsure", 1), ("other", 1)])
    assert weap(synthetic, keys=["key"], target="target").tolist() == [1, 1, 1, 0.5, 0.5, 1]
    result = tcap(original, synthetic, keys=["key"], target="target")
    assert result.original == Attribution(correct=2.0, matched=3, certain=4, n_synthetic=6)
    assert result.original.tcap_undefined == 2 / 3
    assert result.original.tcap_zero == 2 / 4
    assert result.original.reason == ""
    assert result.baseline == (3 / 5) ** 2 + (2 / 5) ** 2
    assert result.mean_weap == 5 / 6
    assert math.isnan(result.marginal)
    assert result.reason == "no holdout"
    differential = dcap(original, synthetic, keys=["key"], target="target").original
    assert differential.dcap == (1 + 0 + 0 + 0.5 + 0) / 5
    assert differential.dcap_matches == 1.5 / 4
    assert differential.non_matches == 1
    counts = cross(code_frames({"synthetic": synthetic, "original": original}, ["key", "target"]), ["key"], "target")
    variant = attribution_over_original(counts)
    assert (variant.undefined_all_matches, variant.zero_all, variant.undefined_weap_matches) == (1 / 4, 1 / 5, 1 / 3)
    assert cap_original(counts) == 1.0


def test_partly_right_and_a_holdout():
    synthetic = frame([("x", 1), ("y", 0)])
    original = frame([("x", 1), ("x", 1), ("x", 1), ("x", 0), ("y", 0)])
    holdout = frame([("x", 0), ("x", 1)])
    result = tcap(original, synthetic, holdout, keys=["key"], target="target")
    assert result.original.tcap_undefined == (3 / 4 + 1) / 2
    assert result.holdout.tcap_undefined == 1 / 2
    assert result.holdout.tcap_zero == 1 / 4
    assert result.marginal == 7 / 8 - 1 / 2


def test_nobody_matches_is_undefined_and_not_zero():
    synthetic, original = frame([("x", 1), ("y", 0)]), frame([("p", 1), ("q", 0)])
    result = tcap(original, synthetic, keys=["key"], target="target").original
    assert math.isnan(result.tcap_undefined)
    assert result.tcap_zero == 0.0
    assert "has its keys in the table attacked" in result.reason
    differential = dcap(original, synthetic, keys=["key"], target="target").original
    assert (differential.dcap, differential.non_matches) == (0.0, 2)
    assert math.isnan(differential.dcap_matches)
    assert differential.reason


def test_nobody_certain_is_undefined_both_ways():
    synthetic, original = frame([("x", 1), ("x", 0)]), frame([("x", 1), ("x", 0)])
    result = tcap(original, synthetic, keys=["key"], target="target").original
    assert math.isnan(result.tcap_undefined)
    assert math.isnan(result.tcap_zero)
    assert result.reason == "no synthetic record has WEAP >= tau"


def test_one_synthetic_record():
    result = tcap(frame([("x", 1), ("x", 0)]), frame([("x", 1)]), keys=["key"], target="target")
    assert result.original == Attribution(correct=0.5, matched=1, certain=1, n_synthetic=1)


def test_all_equal():
    rows = frame([("x", 1)] * 4)
    counts = cross(code_frames({"synthetic": rows, "original": rows}, ["key", "target"]), ["key"], "target")
    assert targeted_attribution(counts) == Attribution(correct=4.0, matched=4, certain=4, n_synthetic=4)
    assert baseline(counts) == 1.0
    with pytest.raises(RiskError, match="constant target: 'target' is '1' in every record of original"):
        tcap(rows, rows, keys=["key"], target="target")
    with pytest.raises(RiskError, match="constant target"):
        score(microdata([(0, 0, 0, 1)] * 2), microdata([(0, 0, 0, 0)]), None, sets=[("a",)], target="target", groups=0)


def test_tau_one_means_exactly_one():
    many = 3_000_000
    nearly = frame([("x", 1)] * 3 + [("x", 0)])
    assert tcap(frame([("x", 1), ("x", 0)]), nearly, keys=["key"], target="target", tau=0.75).original.certain == 3
    assert tcap(frame([("x", 1), ("x", 0)]), nearly, keys=["key"], target="target", tau=0.7500001).original.certain == 0
    large = frame({"key": np.zeros(many, dtype=np.int8), "target": np.r_[np.ones(many - 1, np.int8), np.int8(0)]})
    assert tcap(frame([(0, 1), (0, 0)]), large, keys=["key"], target="target").original.certain == 0
    for tau in (0.0, 1.1, -1.0, math.nan):
        with pytest.raises(RiskError, match="tau is"):
            tcap(frame([("x", 1), ("x", 0)]), nearly, keys=["key"], target="target", tau=tau)


# --- against the slow twins ---


@settings(max_examples=80, deadline=None)
@given(tables, varied, tables, taus)
def test_scores_agree_with_the_definitions(synthetic, original, holdout, tau):
    sets = key_sets(NAMES[:3], [1, 2, 3])
    data = [microdata(rows) for rows in (original, synthetic, holdout)]
    scores = score(*data, sets=sets, target="target", tau=tau, groups=0)
    for k, keys in enumerate(sets):
        positions = [NAMES.index(name) for name in keys]
        for side, attacked in (("original", original), ("holdout", holdout)):
            for measure, expected in slow(synthetic, attacked, positions, tau).items():
                found = scores.values[measure, side][k]
                assert found == pytest.approx(expected, abs=1e-12, nan_ok=True), (measure, side)
    for k, keys in enumerate(sets[-2:], start=len(sets) - 2):
        framed = tcap(*(each.frame() for each in data), keys=keys, target="target", tau=tau)
        assert framed.original == scores.attributions["original"][k]
        assert framed.holdout == scores.attributions["holdout"][k]
        assert framed.mean_weap == scores.mean_weap[k]


@settings(max_examples=40, deadline=None)
@given(tables, varied, varied, taus, st.integers(2, 6), st.integers(0, 3))
def test_replicates_are_the_measures_without_each_group(synthetic, original, holdout, tau, groups, seed):
    sets = key_sets(NAMES[:3], [1, 2])
    scores = score(
        *map(microdata, (original, synthetic, holdout)), sets=sets, target="target", tau=tau, groups=groups, seed=seed
    )
    for side, attacked in (("original", original), ("holdout", holdout)):
        for group, gone in enumerate(deal(len(attacked), groups, seed, side)):
            kept = [row for i, row in enumerate(attacked) if i not in gone]
            for k, keys in enumerate(sets):
                expected = slow(synthetic, kept, [NAMES.index(name) for name in keys], tau)
                for measure in MEASURES:
                    found = scores.replicates[measure, side][k, group]
                    assert found == pytest.approx(expected[measure], abs=1e-12, nan_ok=True), (measure, side)


@settings(deadline=None)
@given(tables, varied)
def test_identical_tables_and_permuted_records(synthetic, original):
    counts = cross(
        code_microdata({"synthetic": microdata(original), "original": microdata(original)}, NAMES),
        list("abc"),
        "target",
    )
    found = targeted_attribution(counts)
    assert found.correct == found.matched == found.certain
    tables_of = {"synthetic": microdata(synthetic), "original": microdata(original)}
    turned = {"synthetic": microdata(synthetic[::-1]), "original": microdata(original[::-1])}
    first, second = (
        targeted_attribution(cross(code_microdata(two, NAMES), ["a", "b"], "target")) for two in (tables_of, turned)
    )
    assert first == second


# --- groups, averages, intervals ---


def sample(seed, n=400):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, size, n) for size in SIZES]).astype(np.uint16)
    codes[:, 3] = np.where(rng.random(n) < 0.7, codes[:, 0], codes[:, 3])
    return Microdata(CODEBOOK, codes)


@pytest.fixture(scope="module")
def scores():
    return score(
        sample(2), sample(1, 60), sample(3), sets=key_sets(NAMES[:3], [2, 3]), target="target", groups=10, seed=4
    )


def test_groups_part_the_records_and_repeat():
    groups = deal(103, 10, 7, "original")
    assert sorted(len(rows) for rows in groups) == [10] * 7 + [11] * 3
    assert sorted(np.concatenate(groups)) == list(range(103))
    assert all(np.array_equal(a, b) for a, b in zip(groups, deal(103, 10, 7, "original"), strict=True))
    assert not np.array_equal(groups[0], deal(103, 10, 7, "holdout")[0])
    assert not np.array_equal(groups[0], deal(103, 10, 8, "original")[0])
    assert deal(103, 0, 7, "original") == []
    for groups in (1, -1, 104):
        with pytest.raises(RiskError, match="jackknife groups"):
            deal(103, groups, 7, "holdout")


def interval(value, variance, degrees):
    margin = student.ppf(0.975, degrees) * math.sqrt(variance)
    return pytest.approx((math.sqrt(variance), value - margin, value + margin), rel=1e-10)


def ends(estimate):
    return estimate.standard_error, estimate.low, estimate.high


def test_average_and_its_interval(scores):
    for side in ("original", "holdout"):
        estimate = average(scores, "tcap_undefined", side)
        values = scores.values["tcap_undefined", side]
        assert np.isnan(values).tolist() == [False, True, True, False]  # no synthetic record is certain there
        replicates = (scores.replicates["tcap_undefined", side][0] + scores.replicates["tcap_undefined", side][3]) / 2
        assert estimate.value == pytest.approx((values[0] + values[3]) / 2)
        assert (estimate.n_key_sets, estimate.n_undefined, estimate.reason) == (2, 2, "")
        assert ends(estimate) == interval(estimate.value, 9 / 10 * ((replicates - replicates.mean()) ** 2).sum(), 9)
    assert len(average(scores, "dcap", "original").replicates_holdout) == 0


def test_marginal_adds_both_sides_variances(scores):
    for measure in MEASURES:
        one, other = (average(scores, measure, side) for side in ("original", "holdout"))
        estimate = marginal(scores, measure)
        assert estimate.value == pytest.approx(one.value - other.value)
        assert ends(estimate) == interval(estimate.value, one.standard_error**2 + other.standard_error**2, 9)


def test_marginal_takes_the_key_sets_where_both_are_defined():
    # By a the synthetic record is certain and met on both sides; by b the holdout has no match.
    synthetic = microdata([(0, 0, 0, 1)])
    original = microdata([(0, 0, 0, 1)] * 3 + [(0, 0, 0, 0)])
    holdout = microdata([(0, 1, 0, 1)] * 2 + [(0, 1, 0, 0)] * 2)
    scores = score(original, synthetic, holdout, sets=[("a",), ("b",)], target="target", groups=2)
    assert average(scores, "tcap_undefined", "original").n_key_sets == 2
    estimate = marginal(scores, "tcap_undefined")
    assert (estimate.value, estimate.n_key_sets, estimate.n_undefined) == (0.25, 1, 1)
    assert marginal(scores, "tcap_zero").value == (0.25 + 0.75) / 2
    assert scores.non_matches["holdout"].tolist() == [0, 4]


def test_a_replicate_that_is_undefined_takes_the_interval_with_it():
    synthetic = microdata([(0, 0, 0, 1)])
    original = microdata([(0, 0, 0, 1)] + [(1, 0, 0, 0)] * 5)  # one person alone has the key
    scores = score(original, synthetic, original, sets=[("a",)], target="target", groups=3)
    for estimate in (average(scores, "tcap_undefined", "original"), marginal(scores, "tcap_undefined")):
        assert not math.isnan(estimate.value)
        assert all(map(math.isnan, ends(estimate)))
        assert estimate.reason == "no interval: undefined without one of the jackknife groups"
    assert not math.isnan(average(scores, "tcap_zero", "original").low)


def test_undefined_everywhere_no_holdout_and_no_groups():
    synthetic, original = microdata([(0, 0, 0, 1)]), microdata([(1, 1, 1, 1), (1, 1, 1, 0)])
    scores = score(original, synthetic, None, sets=[("a",), ("a", "b")], target="target", groups=0)
    estimate = average(scores, "tcap_undefined", "original")
    assert math.isnan(estimate.value)
    assert (estimate.n_key_sets, estimate.n_undefined) == (0, 2)
    assert estimate.reason.startswith(
        "undefined in all 2 key sets, the first: no synthetic record with WEAP >= tau has"
    )
    for absent in (average(scores, "dcap", "holdout"), marginal(scores, "dcap")):
        assert math.isnan(absent.value)
        assert absent.reason == "no holdout"
    bare = average(scores, "dcap", "original")
    assert (bare.value, bare.reason) == (0.0, "no interval: no jackknife groups")
    assert math.isnan(bare.low)
    both = score(original, synthetic, original, sets=[("a",)], target="target", groups=0)
    assert marginal(both, "tcap_undefined").reason.endswith("(original)")


def test_combine_runs():
    sides = [sample(2), sample(3)]
    runs = [
        marginal(
            score(sides[0], sample(seed, 60), sides[1], sets=[("a", "b"), ("a", "c")], target="target", groups=10),
            "dcap",
        )
        for seed in range(5)
    ]
    alone = combine(runs[:1])
    assert (alone.value, *ends(alone)) == pytest.approx((runs[0].value, *ends(runs[0])))
    estimate = combine(runs)
    values = np.array([run.value for run in runs])
    means = [np.mean([getattr(run, f"replicates_{side}") for run in runs], axis=0) for side in ("original", "holdout")]
    sampling = sum(9 / 10 * ((rep - rep.mean()) ** 2).sum() for rep in means)
    between = values.var(ddof=1) / 5
    degrees = (sampling + between) ** 2 / (sampling**2 / 9 + between**2 / 4)
    assert estimate.value == pytest.approx(values.mean())
    assert ends(estimate) == interval(estimate.value, sampling + between, degrees)
    assert estimate.n_key_sets == 10

    nothing = Estimate(*[math.nan] * 4, 0, 2, np.empty(0), np.empty(0), "no match")
    partly = combine([*runs, nothing])
    assert ends(partly) == ends(estimate)
    assert partly.reason == "1 of 6 runs left out: no match"
    none = combine([nothing, nothing])
    assert math.isnan(none.value)
    assert none.reason == "undefined in all 2 runs: no match"
    with pytest.raises(RiskError, match="no runs"):
        combine([])
    with pytest.raises(RiskError, match="different sides or jackknife groups"):
        combine(
            [runs[0], marginal(score(sides[0], sample(1), sides[1], sets=[("a",)], target="target", groups=5), "dcap")]
        )


def test_the_interval_covers_the_sampling_of_records():
    # Standard error by jackknife against the spread over fresh samples; 40 samples leave about 11 % of noise.
    synthetic, sets = sample(1, 200), [("a", "b")]
    estimates = [
        average(score(sample(seed, 2000), synthetic, None, sets=sets, target="target"), "dcap", "original")
        for seed in range(10, 50)
    ]
    spread = np.std([estimate.value for estimate in estimates], ddof=1)
    assert 0.6 < np.mean([estimate.standard_error for estimate in estimates]) / spread < 1.6


def test_key_sets():
    assert key_sets(["a", "b", "c"], [2, 3]) == [("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]
    assert len(key_sets(list("abcdef"), [3, 4, 5, 6])) == sum(
        len(list(combinations("abcdef", k))) for k in (3, 4, 5, 6)
    )
    for sizes in ([0], [4], [1, 1]):
        with pytest.raises(RiskError, match="key sizes"):
            key_sets(["a", "b", "c"], sizes)
    with pytest.raises(RiskError, match="repeated"):
        key_sets(["a", "a"], [1])


def test_refusals():
    data, empty = sample(1), microdata([])
    for arguments, message in [
        ((data, data, None, [], "target"), "no key sets"),
        ((data, data, None, [("a", "target")], "target"), "among the keys"),
        ((data, data, None, [("a", "a")], "target"), "repeated"),
        ((data, data, None, [("z",)], "target"), "no variable 'z'"),
        ((data, data, None, [("a",)], "z"), "target: no variable 'z'"),
        ((data, empty, None, [("a",)], "target"), "synthetic: no records"),
        ((data, data, empty, [("a",)], "target"), "holdout: no records"),
        ((data, data, microdata([(0, 0, 0, 0)] * 5), [("a",)], "target"), "20 jackknife groups on the 5 records"),
        ((data, data, None, [("a",)], "target", 0.0), "tau is"),
    ]:
        with pytest.raises(RiskError, match=message):
            score(*arguments[:3], **dict(zip(("sets", "target", "tau"), arguments[3:], strict=False)))
    scores = score(data, data, None, sets=[("a",)], target="target")
    with pytest.raises(RiskError, match="no measure 'tcap'"):
        average(scores, "tcap", "original")
    with pytest.raises(RiskError, match="no side 'both'"):
        average(scores, "dcap", "both")
