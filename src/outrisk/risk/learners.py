"""scikit-learn's classifiers on coded keys, set up for nominal data."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outrisk.errors import first_line

NAIVE_BAYES, SVM, K_NEAREST = "naive_bayes", "svm", "k_nearest"
RANDOM_FOREST, LOGISTIC_REGRESSION = "random_forest", "logistic_regression"
LEARNERS = (NAIVE_BAYES, SVM, K_NEAREST, RANDOM_FOREST, LOGISTIC_REGRESSION)
SVM_ROWS = 5_000  # its time grows with the square of the distinct records and more
_WEIGHTED = (NAIVE_BAYES, SVM, LOGISTIC_REGRESSION)  # a weight means to them the same as repeated records


@dataclass(frozen=True, eq=False)
class Training:
    """Synthetic records and the key combinations to guess for; code sizes[j] of key j = a level no record has."""

    keys: NDArray[np.int32]  # (n_records, n_keys)
    targets: NDArray[np.int32]  # (n_records,)
    queries: NDArray[np.int32]  # (n_queries, n_keys)
    sizes: tuple[int, ...]  # levels of each key among the records


@dataclass(frozen=True, eq=False)
class Guess:
    """Guessed target for each query, or why there is none."""

    targets: NDArray[Any] | None  # (n_queries,)
    n_trained: int
    note: str = ""
    reason: str = ""


def learn(name: str, training: Training, seed: int) -> Guess:
    """Fit one of LEARNERS and guess; a failure, and a warning, are told in the result."""
    table = np.column_stack([training.keys, training.targets])
    weights = None
    note = ""
    if name in _WEIGHTED:
        table, counts = np.unique(table, axis=0, return_counts=True)
        if name == SVM and len(table) > SVM_ROWS:
            chosen = np.random.default_rng(seed).choice(len(table), SVM_ROWS, replace=False)
            note = f"trained on {SVM_ROWS:,} of {len(table):,} distinct records, drawn at random"
            table, counts = table[chosen], counts[chosen]
        weights = counts.astype(float)
    trained = int(len(table) if weights is None else weights.sum())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            encode, model = _model(name, training.sizes, seed)
            features, queries = encode(table[:, :-1]), encode(training.queries)
            model.fit(features, table[:, -1], **({} if weights is None else {"sample_weight": weights}))
            targets = np.asarray(model.predict(queries))
        except Exception as error:  # whatever a classifier dies of is told in its row
            return Guess(None, trained, note, f"{type(error).__name__}: {first_line(error)}")
    notes = [note, *(first_line(warning.message) for warning in caught if isinstance(warning.message, Warning))]
    return Guess(targets, trained, "; ".join(dict.fromkeys(filter(None, notes))))


def _model(name: str, sizes: tuple[int, ...], seed: int) -> tuple[Any, Any]:
    """Encoding of the keys, and the classifier; scikit-learn is imported only here, it takes long."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import CategoricalNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.svm import SVC

    if name == NAIVE_BAYES:
        return np.asarray, CategoricalNB(min_categories=[size + 1 for size in sizes])
    if name == K_NEAREST:
        return np.asarray, KNeighborsClassifier(n_neighbors=5, metric="hamming", algorithm="brute")
    dummies = OneHotEncoder(categories=[np.arange(size) for size in sizes], handle_unknown="ignore", dtype=np.float32)
    dummies.fit(np.zeros((1, len(sizes)), dtype=np.int32))
    if name == SVM:
        return dummies.transform, SVC(kernel="rbf", random_state=seed)
    if name == LOGISTIC_REGRESSION:
        return dummies.transform, LogisticRegression(max_iter=1_000)
    return dummies.transform, RandomForestClassifier(n_estimators=100, random_state=seed)
