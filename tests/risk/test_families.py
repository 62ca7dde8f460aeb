"""All families on coded tables: the rows are those of the public functions on the decoded data frames."""

import math

import numpy as np
import pandas as pd
import pytest

from outrisk.codebook import Codebook, Variable
from outrisk.errors import RiskError
from outrisk.microdata import Microdata
from outrisk.reasons import REASONS, sentence
from outrisk.risk import attack, cap, disclosure, key_sets, privacy_metrics
from outrisk.risk.attribution import nearest as hamming
from outrisk.risk.attribution.over_key_sets import score_coding
from outrisk.risk.coding.classes import code_microdata, cross
from outrisk.risk.families import BUILT_IN, FAMILIES, Family, Question, measure, register, rows_of
from outrisk.risk.privacy import METRICS
from outrisk.risk.privacy.metrics import metric_rows
from outrisk.risk.privacy.registry import UNTRAINED
from outrisk.risk.rows import COLUMNS, Row, frame, mean_row, of_scores

KEYS, TARGET = ("age", "area", "job"), "ill"
CODEBOOK = Codebook(
    (
        Variable("age", "integer", tuple(range(10)), missing=True),
        Variable("area", "categorical", ("n", "w", "s", "e"), missing=True),
        Variable("job", "categorical", ("a", "b", "c")),
        Variable("ill", "categorical", ("yes", "no")),
    )
)
SETS = tuple(key_sets(KEYS, [2, 3]))


def drawn(seed, n=90):
    rng = np.random.default_rng(seed)
    return Microdata(CODEBOOK, np.column_stack([rng.integers(0, size, n) for size in (11, 5, 3, 2)]).astype(np.uint16))


def coded(holdout=True, synthetic=None):
    fold = code_microdata({"original": drawn(1)} | ({"holdout": drawn(3)} if holdout else {}), CODEBOOK.names)
    return fold.beside(drawn(2) if synthetic is None else synthetic)


def frames(holdout=True):
    return [drawn(seed).frame() for seed in ((1, 2, 3) if holdout else (1, 2))]


def question(**changes):
    return Question(**{"keys": KEYS, "target": TARGET, "key_sets": SETS, "groups": 10, "seed": 3, **changes})


def same(found, expected):
    pd.testing.assert_frame_equal(frame(found), frame(expected))


@pytest.mark.parametrize("holdout", [True, False])
def test_rows_are_those_of_the_decoded_data_frames(holdout):
    tables, asked = coded(holdout), question(classifiers=("naive_bayes", "fr_nn", "zero_rule"), metrics=UNTRAINED)
    common = {"keys": list(KEYS), "target": TARGET}
    found = {name: rows_of(FAMILIES[name], tables, asked) for name in BUILT_IN}
    result = cap(*frames(holdout), **common, key_sizes=[2, 3], codebook=CODEBOOK, groups=10, seed=3)
    same(found["cap"], result.rows)
    same(found["synthpop"], disclosure(*frames(holdout), **common, codebook=CODEBOOK, groups=10, seed=3).rows)
    same(
        found["attacks"],
        attack(*frames(holdout), **common, classifiers=asked.classifiers, codebook=CODEBOOK, seed=3).rows,
    )
    table = privacy_metrics(*frames(holdout), **common, codebook=CODEBOOK, metrics=UNTRAINED, seed=3)
    expected = metric_rows(table, KEYS, TARGET, tables.lengths)
    same([row for row in found["privacy"] if row.reason != "trained_not_asked"], expected)
    assert [row.measure for row in found["privacy"]] == [metric.row_name for metric in METRICS.values()]


@pytest.mark.parametrize("seed", range(4))
def test_numbers_side_by_side_subtract(seed):
    """Also where a measure is undefined on some key sets of one side: a small holdout, and 2 to 4 synthetic records."""
    fold = code_microdata({"original": drawn(1), "holdout": drawn(3, 12)}, CODEBOOK.names)
    asked = question(classifiers=("zero_rule", "fr_nn"), metrics=UNTRAINED, key_sets=tuple(key_sets(KEYS, [1, 2, 3])))
    rows = measure(fold.beside(drawn(seed, n=2 + seed % 3)), asked)
    compared = [row for row in rows if not math.isnan(row.difference)]
    assert len(compared) > 30
    (partly,) = [row for row in rows if row.measure == "tcap_undefined" and row.size]
    assert 0 < partly.defined < partly.sets == 7
    for row in compared:
        assert row.original - row.holdout == pytest.approx(row.difference, abs=1e-12), row
        assert math.isnan(row.low) or row.low <= row.difference + 1e-12 <= row.high + 1e-9, row


def test_every_missing_number_has_a_reason_of_the_list():
    for holdout in (True, False):
        for row in measure(coded(holdout, drawn(7, n=2)), question(metrics=("CRP", "HiddR"))):
            assert row.reason in REASONS or not row.reason
            alone = not math.isnan(row.synthetic)
            compared = not math.isnan(row.difference) or alone
            assert compared or row.reason or not math.isnan(row.original), row
    with pytest.raises(ValueError, match="reason 'none'"):
        Row(family="x", measure="y", reason="none")
    assert sentence("timed_out", "5") == "timed out after 5 s"
    assert sentence("no_match", "holdout") == "no attacked record has its keys in the synthetic data (holdout)"
    assert sentence("") == ""


def test_a_name_says_whose_measure_it_is():
    rows = measure(coded(), question(metrics=UNTRAINED, classifiers=("zero_rule",)))
    by_name = {}
    for row in rows:
        by_name.setdefault((row.measure, row.keys, row.size), set()).add(row.family)
    assert all(len(families) == 1 for families in by_name.values())
    names = {row.measure for row in rows}
    assert {"TCAP_synthpop", "DCAP_synthpop", "GCAP", "GCAP_review", "TCAP_zero"} <= names
    assert not names & {"TCAP", "DCAP"}


def test_a_gcap_that_takes_too_long_is_undefined_with_the_reason_and_the_rest_is_not():
    late = rows_of(FAMILIES["cap"], coded(), question(time_limit=-1.0))
    whole = {(row.measure, row.size): row for row in rows_of(FAMILIES["cap"], coded(), question())}
    assert {(row.measure, row.size) for row in late} == set(whole)
    gone = [row for row in late if "GCAP" in row.measure]
    assert len(gone) == 4 * 3  # with three ways to resolve ties, for two sizes and all
    assert {row.sentence for row in gone} == {"timed out after -1 s"} and all(math.isnan(row.original) for row in gone)
    rest = [row for row in late if "GCAP" not in row.measure]
    same(rest, [whole[row.measure, row.size] for row in rest])


def test_a_search_that_cannot_be_made_stops_nothing(monkeypatch):
    monkeypatch.setattr(hamming, "_FEW_LEVELS", 2)
    reason = "failed: 3 keys: at most 2 can be searched for the nearest; name fewer"
    rows = {row.measure: row for row in rows_of(FAMILIES["cap"], coded(), question(key_sets=()))}
    assert rows["GCAP"].sentence == reason and not math.isnan(rows["0CAP"].difference)
    (row,) = rows_of(FAMILIES["attacks"], coded(), question(classifiers=("fr_nn",)))
    assert (row.measure, row.sentence) == ("fr_nn", reason) and math.isnan(row.original)


def test_a_candidate_without_the_target_is_undefined_with_the_reason():
    keys, target = ("age", "job"), "area"
    synthetic = drawn(2)
    synthetic.codes[:, 1] = 4  # all missing
    rows = rows_of(FAMILIES["synthpop"], coded(synthetic=synthetic), Question(keys, target))
    assert {row.sentence for row in rows} == {
        "failed: synthetic: target 'area' is missing in every record; choose one that is known"
    }


def test_what_was_not_asked_for_or_failed_is_a_row_with_the_reason():
    rows = {row.measure: row for row in rows_of(FAMILIES["privacy"], coded(), question(metrics=("HiddR", "DCR")))}
    assert (rows["DCR"].reason, rows["HiddR"].sentence) == ("", "needs links from real to synthetic records")
    others = [row for name, row in rows.items() if name not in ("DCR", "HiddR")]
    assert {row.reason for row in others} == {"not_asked", "trained_not_asked"}
    assert "'privacy: {metrics: all}'" in rows["MIR"].sentence
    late = rows_of(FAMILIES["privacy"], coded(), question(metrics=("D-MLP", "CRP"), time_limit=1e-9))
    found = {row.measure: row for row in late}
    assert (found["D-MLP"].sentence, found["CRP"].reason) == ("timed out after 1e-09 s", "")
    broken = rows_of(FAMILIES["privacy"], coded(), Question(("age", "ill"), "ill", metrics=("DCR",)))
    (failed,) = [row for row in broken if row.reason == "failed"]
    assert "target 'ill' is among the keys" in failed.sentence


def test_known_scores_are_taken_as_they_are():
    tables, asked = coded(), question()
    scores = score_coding(tables, [*SETS, KEYS], TARGET, 1.0, 10, 3)
    for name in ("attribution", "cap"):
        same(rows_of(FAMILIES[name], tables, question(scores=scores)), rows_of(FAMILIES[name], tables, asked))


def test_means_of_several_tables_subtract():
    rows = [
        Row(family="x", measure="y", original=0.5, holdout=0.25, difference=0.25),
        Row(family="x", measure="y", original=1.0, reason="unmet"),
    ]
    found = mean_row(rows)
    assert (found.original, found.holdout, found.difference, found.reason) == (0.5, 0.25, 0.25, "unmet")


def test_a_measure_of_ones_own(monkeypatch):
    """Written as CONTRIBUTING.md shows it: a file with a family, and the line that registers it."""
    monkeypatch.setattr("outrisk.risk.families.FAMILIES", dict(FAMILIES))

    def rows(coding, question):
        counts = cross(coding, question.keys, question.target)
        found = (counts.class_totals("synthetic") > 0).astype(float)  # somebody synthetic has the person's keys
        row = Row(family="own", measure="met", keys="+".join(question.keys), target=question.target)
        return [of_scores(row, found, counts)]

    register(Family("own", "People whose keys are met", rows, lambda question: ["met"]))
    (own,) = [row for row in measure(coded(), question(key_sets=())) if row.family == "own"]
    (reference,) = [row for row in rows_of(FAMILIES["synthpop"], coded(), question()) if row.measure == "iS"]
    assert (own.original, own.holdout, own.low) == pytest.approx((reference.original, reference.holdout, reference.low))
    assert frame([own]).columns.tolist() == list(COLUMNS)
    with pytest.raises(RiskError, match="family 'own' is there already"):
        register(Family("own", "", rows, lambda question: []))
