"""scikit-learn's classifiers on coded keys: as categories, or (`ordinal`) as numbers on one scale."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outrisk.errors import first_line

Floats = NDArray[np.float64]

NAIVE_BAYES, SVM, K_NEAREST = "naive_bayes", "svm", "k_nearest"
RANDOM_FOREST, LOGISTIC_REGRESSION = "random_forest", "logistic_regression"
LEARNERS = (NAIVE_BAYES, SVM, K_NEAREST, RANDOM_FOREST, LOGISTIC_REGRESSION)
SVM_RECORDS = 10_000  # its time grows faster than the square of the records
_WEIGHTED = (NAIVE_BAYES, SVM, LOGISTIC_REGRESSION)  # a weight means to them the same as repeated records
_DENSE = (K_NEAREST, RANDOM_FOREST)  # several times faster on dense dummies
_DENSE_CELLS = 2**27  # 0.5 GiB
NOMINAL, ORDINAL = "nominal", "ordinal"
ENCODINGS = (NOMINAL, ORDINAL)  # of the keys


@dataclass(frozen=True, eq=False)
class Training:
    """Synthetic records and the key combinations to guess for; code sizes[j] of key j = a level no record has."""

    keys: NDArray[np.int32]  # (n_records, n_keys)
    targets: NDArray[np.int32]  # (n_records,)
    queries: NDArray[np.int32]  # (n_queries, n_keys)
    sizes: tuple[int, ...]  # levels of each key among the records
    numbers: tuple[Floats, ...] = ()  # what each code of key j is as a number, NaN for missing: the keys are ordinal


@dataclass(frozen=True, eq=False)
class Guess:
    """Guessed target for each query, or why there is none."""

    targets: NDArray[Any] | None  # (n_queries,)
    n_trained: int
    note: str = ""
    reason: str = ""


def learn(name: str, training: Training, seed: int) -> Guess:
    """Fit one of LEARNERS and guess; a failure, and a warning, are told in the result."""
    table, note = shuffled(np.column_stack([training.keys, training.targets]), seed), ""
    if name == SVM and len(table) > SVM_RECORDS:
        note = f"trained on {SVM_RECORDS:,} of {len(table):,} records, drawn at random"
        table = table[:SVM_RECORDS]
    n_trained, fit_options = len(table), {}
    if name in _WEIGHTED:
        table, counts = np.unique(table, axis=0, return_counts=True)
        fit_options = {"sample_weight": counts.astype(float)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            ordinal = bool(training.numbers)
            model = (_ordinal_model if ordinal else _model)(name, seed, training.sizes, n_trained)
            features: Any = table[:, :-1]
            queries: Any = training.queries
            if ordinal:
                features, queries = standardised(features, queries, training.numbers, fit_options.get("sample_weight"))
            elif name != NAIVE_BAYES:
                dense = name in _DENSE and (len(features) + len(queries)) * sum(training.sizes) <= _DENSE_CELLS
                features, queries = _dummies((features, queries), training.sizes, dense)
            targets = np.asarray(model.fit(features, table[:, -1], **fit_options).predict(queries))
        except Exception as error:  # whatever a classifier dies of is told in its row
            return Guess(None, n_trained, note, f"{type(error).__name__}: {first_line(error)}")
    told = [warning for warning in caught if issubclass(warning.category, (UserWarning, RuntimeWarning))]
    notes = [note, *(str(warning.message).partition("\n")[0] for warning in told)]
    return Guess(targets, n_trained, "; ".join(dict.fromkeys(filter(None, notes))))


def shuffled(table: NDArray[np.int32], seed: int) -> NDArray[np.int32]:
    """The records in random order, the same one whatever order they came in.

    k-nearest neighbours takes equally near records in their order: a table sorted by target would lead it astray.
    """
    return np.random.default_rng(seed).permutation(table[np.lexsort(table.T)])


def _model(name: str, seed: int, sizes: tuple[int, ...], n_records: int) -> Any:
    """The classifier, with scikit-learn's defaults but for these; its import, which takes long, waits until here."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import CategoricalNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC

    if name == NAIVE_BAYES:
        return CategoricalNB(min_categories=[size + 1 for size in sizes])
    if name == SVM:
        return SVC(random_state=seed)
    if name == K_NEAREST:  # on dummies the order of Euclidean distances is that of Hamming distances
        return KNeighborsClassifier(n_neighbors=min(5, n_records), algorithm="brute")
    if name == RANDOM_FOREST:
        return RandomForestClassifier(random_state=seed)
    return LogisticRegression(max_iter=1_000)


def standardised(
    records: NDArray[np.int32], queries: NDArray[np.int32], numbers: Sequence[Floats], weights: Floats | None
) -> list[Floats]:
    """Keys as numbers, centred and divided by the standard deviation (ddof 0) over the records; missing ones are 0."""
    scaled: list[list[Floats]] = [[], []]
    for j, of_level in enumerate(numbers):
        values = of_level[records[:, j]]
        known = ~np.isnan(values)
        weight = np.ones(len(values)) if weights is None else weights
        total = float(weight[known].sum()) or 1.0
        center = float(weight[known] @ values[known]) / total
        spread = math.sqrt(float(weight[known] @ np.square(values[known] - center)) / total) or 1.0
        for part, codes in zip(scaled, (records, queries), strict=True):
            part.append(np.nan_to_num((of_level[codes[:, j]] - center) / spread, nan=0.0))
    return [np.column_stack(part) for part in scaled]


def _ordinal_model(name: str, seed: int, sizes: tuple[int, ...], n_records: int) -> Any:
    """As in Hittmeir, Mayer and Ekelhart (2020), who took the defaults of scikit-learn 0.20.3.

    Of these, what has another default today: the width of the SVM's kernel, 10 trees.
    """
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC

    if name == NAIVE_BAYES:
        return GaussianNB()
    if name == SVM:
        return SVC(gamma="auto", random_state=seed)
    if name == K_NEAREST:
        return KNeighborsClassifier(n_neighbors=min(5, n_records))
    if name == RANDOM_FOREST:
        return RandomForestClassifier(n_estimators=10, random_state=seed)
    return LogisticRegression(max_iter=1_000)


def _dummies(tables: tuple[NDArray[np.int32], ...], sizes: tuple[int, ...], dense: bool) -> list[Any]:
    """0/1 columns for the levels of every key; all 0 for a level that no record has."""
    from sklearn.preprocessing import OneHotEncoder

    encoder = OneHotEncoder(
        categories=[np.arange(size) for size in sizes],
        handle_unknown="ignore",
        sparse_output=not dense,
        dtype=np.float32,
    ).fit(np.zeros((1, len(sizes)), dtype=np.int32))
    return [encoder.transform(table) for table in tables]
