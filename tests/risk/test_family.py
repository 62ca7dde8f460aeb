"""The CAP family over key sets: slow twins from the definitions, tables solved by hand, intervals, refusals."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outrisk.codebook import Codebook, Variable
from outrisk.errors import RiskError
from outrisk.risk import cap, code_frames, cross, tcap
from outrisk.risk.attribution import nearest as hamming
from outrisk.risk.attribution.nearest import nearest_keys, same_keys
from outrisk.risk.intervals.closed import RunningMeans, interval, sample

KEYS = ("a", "b", "c")
LEVELS = (*"vwxyz", None)
record = st.tuples(*(st.sampled_from(LEVELS) for _ in KEYS), st.sampled_from(("no", "perhaps", "yes", None)))
tables = st.lists(record, min_size=1, max_size=20)
originals = tables.filter(lambda rows: len({row[-1] for row in rows}) > 1)
known = tables.filter(lambda rows: any(row[-1] is not None for row in rows))


def frame(rows, keys=KEYS):
    return pd.DataFrame(rows, columns=[*keys, "target"], dtype=object)


def level(value):
    """The order of levels: text, then missing."""
    return (value is None, value or "")


def slow_scores(attacked, synthetic, positions, nearest):
    """For each attacked record: distance, CAP and the three R; None without a match."""
    found = []
    for person in attacked:
        apart = [sum(person[j] != row[j] for j in positions) for row in synthetic]
        least = min(apart) if nearest else 0
        targets = [row[-1] for row, distance in zip(synthetic, apart, strict=True) if distance == least]
        if not targets:
            found.append(None)
            continue
        most = max(map(targets.count, targets))
        tied = sorted({value for value in targets if targets.count(value) == most}, key=level)
        right = person[-1] in tied
        share = targets.count(person[-1]) / len(targets)
        found.append((least, share, float(right), right / len(tied), float(person[-1] == tied[0])))
    return found


def mean(values):
    return sum(values) / len(values) if values else math.nan


def share(rows, person, positions):
    """Share of the rows with the person's keys that have its target; None without such a row."""
    targets = [row[-1] for row in rows if all(row[j] == person[j] for j in positions)]
    return targets.count(person[-1]) / len(targets) if targets else None


def slow(attacked, synthetic, positions, tau):
    exact = slow_scores(attacked, synthetic, positions, nearest=False)
    near = slow_scores(attacked, synthetic, positions, nearest=True)
    weap = [share(synthetic, row, positions) for row in synthetic]
    found = [
        share(attacked, row, positions) for row, certainty in zip(synthetic, weap, strict=True) if certainty >= tau
    ]
    targets = [row[-1] for row in attacked]
    measures = {
        "mean_WEAP": mean(weap),
        "TCAP_undefined": mean([value for value in found if value is not None]),
        "TCAP_zero": mean([value or 0.0 for value in found]),
        "baseline": sum((targets.count(value) / len(targets)) ** 2 for value in set(targets)),
        "baseline_R": max(map(targets.count, targets)) / len(targets),
    }
    measures |= {"non_matches": exact.count(None), "mean_rho": mean([scores[0] for scores in near])}
    for i, name in enumerate(("{}", "R_{}_counted", "R_{}_shared", "R_{}_first"), start=1):
        measures[name.format("0CAP")] = mean([scores[i] if scores else 0.0 for scores in exact])
        measures[name.format("ICAP")] = mean([scores[i] for scores in exact if scores])
        measures[name.format("GCAP")] = mean([scores[i] for scores in near])
    return measures


@settings(max_examples=30, deadline=None)
@given(originals, known, known, st.sampled_from([1.0, 0.6]))
def test_every_key_set_agrees_with_the_definitions(original, synthetic, holdout, tau):
    result = cap(
        frame(original), frame(synthetic), frame(holdout), keys=KEYS, target="target", key_sizes=[1, 2, 3], tau=tau
    )
    rows = {(row["keys"], row["attacked"]): row for row in result.per_set.to_dict("records")}
    assert len(rows) == 14
    for size in (1, 2, 3):
        for positions in combinations(range(3), size):
            keys = tuple(KEYS[j] for j in positions)
            for side, attacked in (("original", original), ("holdout", holdout)):
                for name, expected in slow(attacked, synthetic, positions, tau).items():
                    assert rows[keys, side][name] == pytest.approx(expected, abs=1e-12, nan_ok=True), (keys, side, name)


@settings(max_examples=12, deadline=None)
@given(originals, known, known, st.sampled_from([1.0, 0.5]))
def test_means_and_marginals_follow_from_the_key_sets(original, synthetic, holdout, tau):
    result = cap(
        frame(original), frame(synthetic), frame(holdout), keys=KEYS, target="target", key_sizes=[1, 2], tau=tau
    )
    per_set = result.per_set
    for row in result.summary.itertuples():
        part = per_set[per_set["attacked"] == row.attacked]
        values = part[row.measure][(part["size"].astype(str) == row.size) | (row.size == "all")].dropna()
        assert row.n_defined == len(values)
        assert row.mean == pytest.approx(values.mean(), nan_ok=True)
        assert row.sd == pytest.approx(values.std(ddof=0), nan_ok=True, abs=1e-12)
        assert row.sd_sample == pytest.approx(values.std(), nan_ok=True, abs=1e-12)
        assert bool(row.reason) == (len(values) == 0)
    for row in result.marginal.itertuples():
        sides = [per_set[per_set["attacked"] == side].set_index("keys") for side in ("original", "holdout")]
        chosen = (sides[0]["size"].astype(str) == row.size) | (row.size == "all")
        both = pd.DataFrame([side[row.measure][chosen] for side in sides]).T.dropna()
        assert row.n_both == len(both)
        assert row.marginal == pytest.approx((both.iloc[:, 0] - both.iloc[:, 1]).mean(), nan_ok=True)
        assert bool(row.reason) == (math.isnan(row.low) or math.isnan(row.high))
        if not row.reason:
            assert -1 <= row.low <= row.marginal + 1e-12
            assert row.marginal - 1e-12 <= row.high <= 1
        if math.isnan(row.marginal):
            assert row.reason


def test_nearest_records_by_hand():
    original = frame([("v", "v", "v", "yes"), ("w", "w", "w", "no")])
    synthetic = frame([("v", "v", "z", "yes"), ("v", "z", "v", "no"), ("v", "v", "x", "yes"), ("z", "z", "z", "no")])
    row = cap(original, synthetic, keys=KEYS, target="target").per_set.iloc[0]
    # the first person has three neighbours at distance 1 (2 of 3 say yes), the second all four at 3 (2 of 4 say no)
    assert (row["mean_rho"], row["max_rho"], row["non_matches"]) == (2.0, 3, 2)
    assert row["GCAP"] == pytest.approx((2 / 3 + 2 / 4) / 2)
    assert (row["R_GCAP_counted"], row["R_GCAP_shared"], row["R_GCAP_first"]) == (1.0, 0.75, 1.0)
    assert row["0CAP"] == 0
    assert math.isnan(row["ICAP"])
    assert "ICAP: no attacked record has its keys in the synthetic data" in row["reason"]


def test_missing_keys_agree_with_missing_keys_only():
    original = frame([(None, "v", "v", "yes"), ("v", "v", "v", "no")])
    synthetic = frame([(None, "v", "v", "yes"), ("w", "v", "v", "no")])
    row = cap(original, synthetic, keys=KEYS, target="target").per_set.iloc[0]
    assert row["non_matches"] == 1
    assert row["GCAP"] == pytest.approx((1 + 1 / 2) / 2)


def test_many_levels_and_many_queries():
    """More levels than a byte holds, more distinct people than one block of the search."""
    rng = np.random.default_rng(5)
    rows = [[(*map(int, rng.integers(0, 400, 3)), int(rng.integers(0, 3))) for _ in range(1_500)] for _ in range(2)]
    original, synthetic = (frame(table) for table in rows)
    coding = code_frames({"synthetic": synthetic, "original": original}, [*KEYS, "target"])
    equivalence = cross(coding, KEYS, "target")
    near = nearest_keys(equivalence, coding, KEYS, same_keys(equivalence))
    table, people = (np.array(part) for part in (rows[1], rows[0]))
    classes = equivalence.cell_class[equivalence.records["original"]]
    for i in range(0, 1_500, 50):
        apart = (table[:, :3] != people[i, :3]).sum(axis=1)
        targets = table[apart == apart.min(), 3]
        assert near.distance[classes[i]] == apart.min()
        assert near.size[classes[i]] == len(targets)
        assert near.hits[equivalence.records["original"][i]] == (targets == people[i, 3]).sum()


def test_interval_is_that_of_agresti_and_caffo():
    """7 of 10 right against 2 of 8: add one success and one failure to each, then Wald."""
    low, high = interval(
        sample(np.repeat([1.0, 0.0], [7, 3]), np.ones(10)), sample(np.array([1.0, 0.0]), np.r_[2, 6.0])
    )
    p, q = 8 / 12, 3 / 10
    margin = 1.959963984540054 * math.sqrt(p * (1 - p) / 12 + q * (1 - q) / 10)
    assert (low, high) == pytest.approx((p - q - margin, p - q + margin))


def test_interval_agrees_with_the_bootstrap_over_records():
    rng = np.random.default_rng(3)

    def people(n, noise):
        keys = rng.integers(0, [6, 4, 3], (n, 3))
        target = np.where(rng.random(n) < noise, rng.integers(0, 3, n), keys.sum(axis=1) % 3)
        return pd.DataFrame(np.column_stack([keys, target]).astype(str), columns=[*KEYS, "target"])

    original, synthetic, holdout = people(600, 0.3), people(150, 0.3), people(500, 0.6)

    def marginal(first, second):
        return marginals(cap(first, synthetic, second, keys=KEYS, target="target", key_sizes=[2, 3], groups=0))

    result = marginal(original, holdout)
    draws = pd.DataFrame(
        [
            marginal(original.iloc[rng.integers(0, 600, 600)], holdout.iloc[rng.integers(0, 500, 500)])["marginal"]
            for _ in range(100)
        ]
    )
    for name in ("0CAP", "ICAP", "GCAP", "R_0CAP_shared", "R_ICAP_first", "R_GCAP_counted"):
        width = result.loc[name, "high"] - result.loc[name, "low"]
        assert width == pytest.approx(2 * 1.96 * draws[name].std(), rel=0.3), name
        assert result.loc[name, "low"] < result.loc[name, "marginal"] < result.loc[name, "high"]
    assert result.loc["TCAP_zero", "reason"] == "no interval: no jackknife groups"


def marginals(result):
    """Over all key sets, by measure."""
    return result.marginal[result.marginal["size"] == "all"].set_index("measure")


def test_no_interval_reads_as_certain():
    """All alike on both sides: the closed interval keeps a width, the jackknife's is withheld."""
    original = frame([("v", "v", "v", "yes")] * 4 + [("w", "w", "w", "no")] * 4)
    rows = marginals(cap(original, original, original, keys=KEYS, target="target"))
    assert rows.loc["0CAP", "marginal"] == 0
    assert rows.loc["0CAP", "low"] < -0.1 < 0.1 < rows.loc["0CAP", "high"]
    assert math.isnan(rows.loc["TCAP_zero", "low"])
    assert rows.loc["TCAP_zero", "reason"] == "no interval: every jackknife group gives the same value"
    one = marginals(cap(original, original, original.head(1), keys=KEYS, target="target"))
    assert one.loc["TCAP_zero", "reason"] == "no interval: no jackknife groups"
    alone = cap(original, original, keys=KEYS, target="target").marginal
    assert set(alone["reason"]) == {"no holdout"}
    assert alone[["holdout", "marginal", "low", "high"]].isna().all(axis=None)
    assert (alone["original"] == 1).all()


def test_tcap_has_an_interval_and_a_baseline():
    rng = np.random.default_rng(8)
    data = pd.DataFrame(rng.integers(0, 3, (300, 4)).astype(str), columns=[*KEYS, "target"])
    original, holdout = data[:150], data[150:]
    result = tcap(original, original, holdout, keys=KEYS, target="target", tau=0.5)
    assert result.low < result.marginal < result.high
    assert result.interval_reason == ""
    assert 0.3 < result.baseline < 0.4
    rows = marginals(cap(original, original, holdout, keys=KEYS, target="target", tau=0.5))
    assert (result.marginal, result.low, result.high) == tuple(rows.loc["TCAP_undefined", ["marginal", "low", "high"]])
    alone = tcap(original, original, keys=KEYS, target="target")
    assert (math.isnan(alone.low), alone.interval_reason) == (True, "no holdout")


def test_running_means_are_plain_means_of_samples_one_by_one():
    rng = np.random.default_rng(3)
    weights, parts, alone = rng.integers(1, 4, 6).astype(float), [RunningMeans(), RunningMeans()], []
    for part in (0, 0, 1):
        scores, counted = rng.random((3, 6)), rng.integers(0, 2, (3, 6)).astype(float)
        used = np.array([True, part == 1, False])
        parts[part].add(sample(scores, weights, counted), used)
        alone += [(m, sample(scores[m], weights, counted[m])) for m in np.flatnonzero(used)]
    for m in range(2):
        expected = [one for at, one in alone if at == m]
        found = RunningMeans.mean(parts, m)
        assert found.center == pytest.approx(np.mean([one.center for one in expected]))
        np.testing.assert_allclose(found.influence, np.mean([one.influence for one in expected], axis=0), atol=1e-15)
    assert RunningMeans.mean(parts, 2) is None


PEOPLE = frame([("v", "v", "v", "yes"), ("w", "w", "w", "no")])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": "a"}, "target 'a' is among the keys"),
        ({"keys": ("a", "b", "d")}, "keys: no variable 'd'"),
        ({"keys": "abc"}, "expected a list"),
        ({"target": "d"}, "target: no variable 'd'"),
        ({"synthetic": PEOPLE.drop(columns="b")}, "synthetic: no column 'b'"),
        ({"holdout": PEOPLE.drop(columns="target")}, "holdout: no column 'target'"),
        ({"original": PEOPLE[:0]}, "original: no records"),
        ({"holdout": PEOPLE[:0]}, "holdout: no records"),
        ({"original": PEOPLE[:1]}, "constant target"),
        ({"synthetic": PEOPLE.assign(target=None)}, "target 'target' is missing in every record of synthetic"),
        ({"original": PEOPLE.assign(target=np.nan)}, "target 'target' is missing in every record of original"),
        ({"synthetic": PEOPLE.to_numpy()}, "synthetic: expected a pandas data frame, found ndarray"),
        ({"synthetic": PEOPLE.assign(a=[1, 2])}, "column 'a' holds numbers in synthetic and text in original"),
        (
            {"synthetic": PEOPLE.assign(a=[True, False])},
            "column 'a' holds true or false in synthetic and text in original",
        ),
        ({"tau": 0}, "tau is 0"),
        ({"key_sizes": [4]}, "key sizes"),
        ({"key_sizes": []}, "key sizes"),
    ],
)
def test_refusals(change, message):
    arguments = {"original": PEOPLE, "synthetic": PEOPLE, "keys": KEYS, "target": "target"} | change
    with pytest.raises(RiskError, match=message):
        cap(**arguments)


def test_a_codebook_says_that_numbers_and_text_are_one_level():
    original = pd.DataFrame({"a": ["1", "2"], "target": ["yes", "no"]})
    synthetic = pd.DataFrame({"a": [1.0, 2.0], "target": ["yes", "no"]})
    with pytest.raises(RiskError, match="only if a codebook says so"):
        cap(original, synthetic, keys=["a"], target="target")
    codebook = Codebook(
        (
            Variable("a", "integer", (1, 2)),
            Variable("target", "categorical", ("no", "yes")),
            Variable("b", "integer", (1,)),
        )
    )
    assert cap(original, synthetic, keys=["a"], target="target", codebook=codebook).per_set.loc[0, "0CAP"] == 1
    # whole numbers that became floats because some are missing are still numbers
    gaps = pd.DataFrame({"a": [1.0, None, 2.0], "target": ["yes", "no", "no"]})
    assert cap(synthetic.astype({"a": int}), gaps, keys=["a"], target="target").per_set.loc[0, "0CAP"] == 1


@settings(max_examples=60, deadline=None)
@given(tables, tables, st.sampled_from([1, 2, 3]), st.sampled_from([1, 4, 2**22]))
def test_both_searches_for_the_nearest_find_the_same(synthetic, original, size, a_block):
    """By the keys that agree, and one query against all; in blocks of few queries too."""
    coding = code_frames({"synthetic": frame(synthetic), "original": frame(original)}, [*KEYS, "target"])
    equivalence = cross(coding, KEYS[:size], "target")
    exact, found = hamming.same_keys(equivalence), []
    for look_up in (0, math.inf):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(hamming, "_LOOKUP", look_up)
            patch.setattr(hamming, "_COUNTS_A_BLOCK", a_block)
            patch.setattr(hamming, "_QUERIES_A_CALL", min(a_block, 1024))
            found.append(hamming.nearest_keys(equivalence, coding, KEYS[:size], exact))
    for name in ("hits", "size", "top", "tied", "guess", "distance"):
        np.testing.assert_array_equal(getattr(found[0], name), getattr(found[1], name))
