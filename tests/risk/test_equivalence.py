"""Equivalence classes: hand-counted tables, dense against sorted, data frames against codes, refusals."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outrisk.codebook import Codebook, Variable
from outrisk.errors import RiskError
from outrisk.microdata import Microdata
from outrisk.risk import Coding, code_frames, code_microdata, cross

CODEBOOK = Codebook(
    (
        Variable("area", "categorical", ("north", "south", "west")),
        Variable("age", "integer", (20, 30, 40), missing=True),
        Variable("ill", "categorical", ("no", "yes")),
    )
)
records = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 1)), min_size=1, max_size=25)


def microdata(rows):
    return Microdata(CODEBOOK, np.array(rows, dtype=np.uint16))


def tallies(equivalence, coding, keys, target, table):
    """Counts by the labels of keys and target, read back through each record's cell."""
    at = coding.rows()[table]
    columns = [coding.names.index(name) for name in (*keys, target)]
    found = Counter()
    for cell, row in zip(equivalence.records[table], range(at.start, at.stop), strict=True):
        labels = tuple(coding.labels[j][coding.columns[j][row]] for j in columns)
        found[labels] = int(equivalence.counts[table][cell])
    return found


def test_counts_of_small_tables_are_made_once_and_of_their_own_coding():
    coding = code_microdata({"original": microdata([(0, 1, 0), (1, 2, 1), (0, 1, 1)])}, CODEBOOK.names)
    once = cross(coding, ("area", "age"), "ill")
    assert cross(coding, ("area", "age"), "ill") is once
    assert cross(coding, ("age", "area"), "ill") is not once
    assert cross(coding, ("area", "age"), "ill", dense=True) is not once
    beside = coding.beside(microdata([(2, 0, 1)]))
    assert cross(beside, ("area", "age"), "ill").n_records("synthetic") == 1
    assert once.shares("original").tolist() == [0.5, 0.5, 1.0]
    with pytest.raises(RiskError, match="expected a list"):
        cross(coding, "area", "ill")


def test_counts_of_many_key_sets_are_not_all_kept(monkeypatch):
    monkeypatch.setattr("outrisk.risk.coding.classes._KEPT_SETS", 1)
    coding = code_microdata({"original": microdata([(0, 1, 0), (1, 2, 1)])}, CODEBOOK.names)
    first, second = (cross(coding, (key,), "ill") for key in ("area", "age"))
    assert cross(coding, ("area",), "ill") is first
    assert cross(coding, ("age",), "ill") is not second


def same(left, right):
    assert np.array_equal(left.cell_class, right.cell_class)
    assert np.array_equal(left.cell_target, right.cell_target)
    for table in left.counts:
        assert np.array_equal(left.counts[table], right.counts[table])
        assert np.array_equal(left.class_counts[table], right.class_counts[table])
        assert np.array_equal(left.records[table], right.records[table])


def test_counts_by_hand():
    synthetic = pd.DataFrame({"area": ["n", "n", "s"], "ill": ["yes", "yes", "no"]})
    original = pd.DataFrame({"area": ["n", "n", "w", "n"], "ill": ["no", "yes", "no", "no"]})
    equivalence = cross(code_frames({"synthetic": synthetic, "original": original}, ["area", "ill"]), ["area"], "ill")
    # Cells in the order of the sorted levels: (n, no), (n, yes), (s, no), (w, no).
    assert equivalence.cell_class.tolist() == [0, 0, 1, 2]
    assert equivalence.cell_target.tolist() == [0, 1, 0, 0]
    assert equivalence.counts["synthetic"].tolist() == [0, 2, 1, 0]
    assert equivalence.counts["original"].tolist() == [2, 1, 0, 1]
    assert equivalence.class_counts["original"].tolist() == [3, 0, 1]
    assert equivalence.class_totals("original").tolist() == [3, 3, 0, 1]
    assert equivalence.records["original"].tolist() == [0, 1, 3, 0]


@settings(deadline=None)
@given(records, records, st.sampled_from([("area",), ("age", "area"), ("area", "age")]))
def test_dense_sorted_and_frames_agree_with_a_plain_count(synthetic, original, keys):
    tables = {"synthetic": microdata(synthetic), "original": microdata(original)}
    coding = code_microdata(tables, CODEBOOK.names)
    dense, by_sorting = (cross(coding, keys, "ill", dense=dense) for dense in (True, False))
    same(dense, by_sorting)
    framed = code_frames({table: data.frame() for table, data in tables.items()}, CODEBOOK.names)
    from_frames = cross(framed, keys, "ill")
    for table, data in tables.items():
        names = [*keys, "ill"]
        plain = Counter(
            tuple(CODEBOOK[name].labels[row[CODEBOOK.index(name)]] for name in names) for row in data.codes.tolist()
        )
        assert tallies(dense, coding, keys, "ill", table) == plain
        assert tallies(from_frames, framed, keys, "ill", table) == plain
        assert dense.class_counts[table].sum() == len(data)


def test_many_keys_do_not_overflow():
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 60_000, (40, 6)).astype(np.int32)
    codes[20:] = codes[:20]  # so that every class holds two records, unless two codes collided
    target = np.array([0, 1] * 20, dtype=np.int32)
    labels = tuple(tuple(map(str, range(60_000))) for _ in range(6))
    coding = Coding(tuple("abcdeft"), (*labels, ("0", "1")), (*codes.T, target), {"synthetic": 40})
    equivalence = cross(coding, list("abcdef"), "t")  # 60,000^6 > 2^94 possible classes
    assert equivalence.class_counts["synthetic"].tolist() == [2] * 20
    assert np.array_equal(equivalence.records["synthetic"][:20], equivalence.records["synthetic"][20:])


def test_values_are_the_same_when_they_read_the_same():
    one = pd.DataFrame({"key": [1, 2, 3], "target": [0, 1, 0]})
    kinds = [
        pd.Series([1.0, 2.0, 3.0]),
        pd.Series(["1", "2", "3"]),
        pd.Series([1, 2, 3], dtype="Int64"),
        pd.Series([1, 2, 3], dtype="float32"),
        pd.Series(["1", "2", "3"], dtype="category"),
        pd.Series([1, "2", 3.0], dtype=object),
    ]
    for kind in kinds:
        coding = code_frames({"synthetic": one, "original": pd.DataFrame({"key": kind})}, ["key"])
        assert coding.columns[0].tolist() == [0, 1, 2, 0, 1, 2], kind.dtype
    single = pd.DataFrame({"key": pd.Series([0.1, 2.5], dtype="float32")})
    text = pd.DataFrame({"key": ["0.1", "2.50"]})
    assert code_frames({"synthetic": single, "original": text}, ["key"]).columns[0].tolist() == [0, 1, 0, 2]


def test_missing_values_are_one_level_of_their_own():
    synthetic = pd.DataFrame({"key": ["x", None, "", "NA"]})
    original = pd.DataFrame({"key": [np.nan, 1.0]})
    coding = code_frames({"synthetic": synthetic, "original": original}, ["key"])
    assert coding.labels == (("1", "x", "Missing"),)
    assert coding.columns[0].tolist() == [1, 2, 2, 2, 2, 0]
    named = code_frames({"synthetic": pd.DataFrame({"key": ["Missing", None]})}, ["key"])
    assert named.columns[0].tolist() == [0, 1]  # a value that reads 'Missing' is not a missing value


def test_refusals():
    frame = pd.DataFrame({"a": [1], "b": [2], "t": [3]})
    coding = code_frames({"synthetic": frame}, ["a", "b", "t"])
    for keys, target, message in [
        ([], "t", "at least one"),
        ("ab", "t", "expected a list"),
        (["a", "a"], "t", "'a'.*repeated"),
        (["a", "c"], "t", r"no variable 'c'; known: \['a', 'b', 't'\]"),
        (["a"], "u", "target: no variable 'u'; known"),
        (["a", "t"], "t", "target 't' is among the keys"),
    ]:
        with pytest.raises(RiskError, match=message):
            cross(coding, keys, target)
    with pytest.raises(RiskError, match="synthetic: no records"):
        code_frames({"synthetic": frame.iloc[:0]}, ["a"])
    with pytest.raises(RiskError, match="original: no column 'c'"):
        code_frames({"synthetic": frame.assign(c=1), "original": frame}, ["c"])
    with pytest.raises(RiskError, match="more than one column 'a'"):
        code_frames({"synthetic": pd.concat([frame, frame[["a"]]], axis=1)}, ["a"])
    other = Microdata(Codebook(CODEBOOK.variables[:2]), np.zeros((1, 2), dtype=np.uint16))
    with pytest.raises(RiskError, match="original: its codebook differs"):
        code_microdata({"synthetic": microdata([(0, 0, 0)]), "original": other}, ["area"])
