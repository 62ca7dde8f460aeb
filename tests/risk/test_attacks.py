"""Classifier attacks: tables solved by hand, twins from the definitions, failures and refusals."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

from outrisk.errors import RiskError
from outrisk.risk import CLASSIFIERS, attack, cap
from outrisk.risk.attacks import learners as module

KEYS = ("a", "b")
record = st.tuples(*(st.sampled_from(("v", "w", "x", None)) for _ in KEYS), st.sampled_from(("no", "perhaps", "yes")))
tables = st.lists(record, min_size=1, max_size=15)
originals = tables.filter(lambda rows: len({row[-1] for row in rows}) > 1)


def frame(rows):
    return pd.DataFrame(rows, columns=[*KEYS, "target"], dtype=object)


def rows_of(result):
    return result.frame.set_index("classifier")


def people(n, seed, noise=0.1):
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 4, (n, 2))
    target = np.where(rng.random(n) < noise, rng.integers(0, 3, n), keys[:, 0] % 3)
    return pd.DataFrame(np.column_stack([keys, target]).astype(str), columns=[*KEYS, "target"])


@settings(max_examples=30, deadline=None)
@given(originals, tables, tables)
def test_fr_nn_and_the_dummies_agree_with_their_definitions(original, synthetic, holdout):
    names = ["fr_nn", "zero_rule", "uniform"]
    rows = rows_of(
        attack(frame(original), frame(synthetic), frame(holdout), keys=KEYS, target="target", classifiers=names)
    )
    for side, attacked in (("original", original), ("holdout", holdout)):
        right = dict.fromkeys(names, 0.0)
        targets = [row[-1] for row in synthetic]
        for person in attacked:
            apart = [sum(person[j] != row[j] for j in range(2)) for row in synthetic]
            near = [row[-1] for row, distance in zip(synthetic, apart, strict=True) if distance == min(apart)]
            right["fr_nn"] += person[-1] == max(sorted(near), key=near.count)
            right["zero_rule"] += person[-1] == max(sorted(targets), key=targets.count)
            right["uniform"] += (person[-1] in targets) / len(set(targets))
        for name in names:
            assert rows.loc[name, f"accuracy_{side}"] == pytest.approx(right[name] / len(attacked))
        assert (rows[f"n_{side}"] == len(attacked)).all()
    gcap = cap(frame(original), frame(synthetic), keys=KEYS, target="target").per_set.loc[0, "R_GCAP_first"]
    assert rows.loc["fr_nn", "accuracy_original"] == pytest.approx(gcap)
    assert rows["difference"].to_list() == pytest.approx(
        (rows["accuracy_original"] - rows["accuracy_holdout"]).to_list()
    )
    assert ((rows["low"] <= rows["difference"]) & (rows["difference"] <= rows["high"])).all()


def test_every_classifier_learns_a_plain_rule():
    rows = rows_of(attack(people(300, 1), people(300, 2), people(200, 3), keys=KEYS, target="target"))
    assert tuple(rows.index) == CLASSIFIERS
    assert (rows.loc[:"ensemble", ["accuracy_original", "accuracy_holdout"]] > 0.85).all(axis=None)
    assert rows.loc["uniform", "accuracy_original"] == pytest.approx(1 / 3)
    assert (rows.loc[:"ensemble", "low"] < 0.03).all() and (rows.loc[:"ensemble", "high"] > -0.03).all()
    assert (rows["reason"] == "").all() and (rows["note"] == "").all()


def test_seed_order_of_classifiers_and_records_do_not_matter():
    original, synthetic = people(80, 1, 0.5), people(80, 2, 0.5)
    whole = rows_of(attack(original, synthetic, keys=KEYS, target="target", seed=4))
    names = ["ensemble", "random_forest"]
    few = rows_of(
        attack(original[::-1], synthetic.sort_values("target"), keys=KEYS, target="target", classifiers=names, seed=4)
    )
    assert list(few.index) == names
    pd.testing.assert_frame_equal(few, whole.loc[names])
    assert whole["difference"].isna().all()
    assert set(whole["reason"]) == {"no holdout"}


def test_the_random_forest_is_that_of_scikit_learn():
    original, synthetic = people(120, 1, 0.6), people(150, 2, 0.6)
    model = RandomForestClassifier(random_state=9)
    codes = module.shuffled(synthetic.astype(int).to_numpy(), 9)
    synthetic = pd.DataFrame(codes, columns=synthetic.columns).astype(str)
    model.fit(pd.get_dummies(synthetic[list(KEYS)]).astype(np.float32).to_numpy(), synthetic["target"])
    expected = model.score(pd.get_dummies(original[list(KEYS)]).astype(np.float32).to_numpy(), original["target"])
    rows = rows_of(attack(original, synthetic, keys=KEYS, target="target", classifiers=["random_forest"], seed=9))
    assert rows.loc["random_forest", "accuracy_original"] == pytest.approx(expected)


def test_weights_stand_for_repeated_records_and_sparse_for_dense(monkeypatch):
    original, synthetic = people(100, 1, 0.5), people(200, 2, 0.5)
    weighted = rows_of(attack(original, synthetic, keys=KEYS, target="target"))
    monkeypatch.setattr(module, "_WEIGHTED", ())
    monkeypatch.setattr(module, "_DENSE", ())
    repeated = rows_of(attack(original, synthetic, keys=KEYS, target="target"))
    names = ["naive_bayes", "svm", "logistic_regression"]  # which of many equal neighbours k_nearest takes is open
    assert repeated.loc["k_nearest", "accuracy_original"] == pytest.approx(0.5, abs=0.1)
    assert weighted.loc[names, "accuracy_original"].to_list() == repeated.loc[names, "accuracy_original"].to_list()


def test_a_large_table_trains_the_svm_on_a_sample(monkeypatch):
    monkeypatch.setattr(module, "SVM_RECORDS", 50)
    row = rows_of(attack(people(60, 1), people(80, 2), keys=KEYS, target="target", classifiers=["svm"])).loc["svm"]
    assert row["n_synthetic"] == 50
    assert row["note"] == "trained on 50 of 80 records, drawn at random"
    assert row["accuracy_original"] > 0.7


def test_one_class_fails_some_classifiers_and_stops_none():
    synthetic = frame([("v", "v", "yes"), ("w", "w", "yes")])
    original = frame([("v", "v", "yes"), ("w", "w", "no"), ("x", "x", "yes")])
    rows = rows_of(attack(original, synthetic, original, keys=KEYS, target="target"))
    for name in ("svm", "logistic_regression"):
        assert math.isnan(rows.loc[name, "accuracy_original"]) and math.isnan(rows.loc[name, "difference"])
        assert rows.loc[name, "reason"].startswith("ValueError: ") and "class" in rows.loc[name, "reason"]
    assert rows.loc["ensemble", "note"] == "without svm, logistic_regression, which failed"
    others = rows.drop(index=["svm", "logistic_regression"])
    assert others["accuracy_original"].to_list() == pytest.approx([2 / 3] * len(others))


def test_every_classifier_failing_is_told(monkeypatch):
    def die(*_):
        raise MemoryError

    monkeypatch.setattr(module, "_model", die)
    names = ["naive_bayes", "svm", "k_nearest", "random_forest", "logistic_regression"]
    rows = rows_of(attack(people(20, 1), people(20, 2), keys=KEYS, target="target", classifiers=names))
    assert set(rows["reason"]) == {"MemoryError: MemoryError"}
    assert rows["accuracy_original"].isna().all()


def test_warnings_of_training_are_noted(monkeypatch):
    import warnings

    model = module._model

    def warn(*arguments):
        warnings.warn("did not converge\nsee the manual", stacklevel=1)
        warnings.warn("an option will go", FutureWarning, stacklevel=1)
        return model(*arguments)

    monkeypatch.setattr(module, "_model", warn)
    row = rows_of(attack(people(20, 1), people(20, 2), keys=KEYS, target="target", classifiers=["naive_bayes"])).iloc[0]
    assert row["note"] == "did not converge"


def test_levels_that_no_synthetic_record_has_are_all_alike():
    synthetic = people(60, 2)
    original = people(40, 1).replace({"b": {"3": "7"}})
    other = people(40, 1).replace({"b": {"3": "zzz"}})
    holdout = frame([("77", "88", "1"), ("99", None, "0")])
    first = attack(original, synthetic, keys=KEYS, target="target").frame["accuracy_original"]
    second = attack(other, synthetic, holdout, keys=KEYS, target="target").frame["accuracy_original"]
    assert first.to_list() == second.to_list()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classifiers": ["svm", "oracle"]}, "no classifier 'oracle'; known: .*fr_nn"),
        ({"classifiers": []}, "give a list with at least one"),
        ({"classifiers": "svm"}, "classifiers 'svm'"),
        ({"target": "b"}, "among the keys"),
        ({"synthetic": people(5, 1)[:0]}, "synthetic: no records"),
        ({"synthetic": people(5, 1).astype({"a": int})}, "column 'a' holds numbers in synthetic and text in original"),
        ({"holdout": people(5, 1).assign(target=None)}, "missing in every record of holdout"),
    ],
)
def test_refusals(change, message):
    arguments = {"original": people(9, 1), "synthetic": people(9, 2), "keys": KEYS, "target": "target"} | change
    with pytest.raises(RiskError, match=message):
        attack(**arguments)


def test_ordinal_keys_are_their_numbers_standardised():
    """Naive Bayes by hand: two normal distributions, on a key whose text sorts otherwise than its numbers."""
    train = pd.DataFrame({"a": ["2", "4", "10", "12"], "target": ["x", "x", "y", "y"]})
    asked = pd.DataFrame({"a": ["6", "8", "3", "11"], "target": ["x", "y", "x", "y"]})
    result = attack(asked, train, keys=["a"], target="target", classifiers=["naive_bayes"], encoding="ordinal")
    assert result.frame["accuracy_original"].item() == 1  # the distributions meet at 7
    assert result.rows[0].note == "keys as numbers"
    missing = asked.assign(a=["6", None, "3", "11"])  # the mean, 7: either is as likely
    one = attack(missing, train, keys=["a"], target="target", classifiers=["naive_bayes"], encoding="ordinal")
    assert one.frame["accuracy_original"].item() in (0.75, 1.0)
    names = train.assign(a=list("pqrs"))
    by_position = attack(names, names, keys=["a"], target="target", classifiers=["svm"], encoding="ordinal")
    assert by_position.frame["accuracy_original"].item() == 1
    with pytest.raises(RiskError, match="encoding 'onehot'; known"):
        attack(asked, train, keys=["a"], target="target", encoding="onehot")
