"""How well the target of people outside the data can be guessed from the same release: predictors of its own.

A predictor learns from the reconstruction (keys of the register, with the chance of each value of the target as the
weight of a record that has it), and gives chances for any keys. What it is right about is what the release says of the
population; what the reconstruction is right about beyond that, it says of the people behind it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from outrisk.risk.attribution.definitions import Floats

Codes = NDArray[np.int64]
MOST = 20_000  # people learnt from; beyond, drawn at random
_LIGHT = 1e-6  # records of less weight are left out


def predictors(keys: Codes, chances: Floats, queries: Codes, sizes: Sequence[int], seed: int) -> dict[str, Floats]:
    """Chances (m, levels) of the target for the keys of `queries` (m, k), by each predictor, rows sum to 1.

    keys (n, k): codes of people, `sizes` their supports; chances (n, levels) of their target. Logistic regression and
    naive Bayes take keys as categories, the random forest and gradient boosting as ordered codes; settings are
    scikit-learn's, but for forests of 25 trees with leaves of 10 records.
    """
    rng = np.random.default_rng(seed)
    some = rng.permutation(len(keys))[:MOST]
    keys, chances = keys[some], chances[some]
    levels = chances.shape[1]
    weight = chances.ravel()
    heavy = np.flatnonzero(weight > _LIGHT)
    records, weight = keys[heavy // levels], weight[heavy]
    values = heavy % levels
    if len(np.unique(values)) == 1:
        return {"the one value": np.tile(np.eye(levels)[values[0]], (len(queries), 1))}
    found: dict[str, Floats] = {}
    kinds, place = np.unique(queries, axis=0, return_inverse=True)
    models = _models(records, kinds, sizes, seed)
    with threadpool_limits(1):  # in this thread, now that the libraries are loaded: theirs wait for one another
        for name, model, features, asked in models:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a logistic regression that has not converged predicts as well
                model.fit(features, values, sample_weight=weight)
            guess = np.zeros((len(kinds), levels))
            guess[:, model.classes_] = model.predict_proba(asked)
            found[name] = guess[place.reshape(-1)]
    return found


def _models(records: Codes, queries: Codes, sizes: Sequence[int], seed: int) -> list[tuple[str, Any, Any, Any]]:
    """Each predictor, not yet fitted, with what it learns from and what it is asked; imports of scikit-learn wait."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import CategoricalNB
    from sklearn.preprocessing import OneHotEncoder

    encoder = OneHotEncoder(categories=[np.arange(size) for size in sizes], dtype=np.float32)
    dummies = encoder.fit(np.zeros((1, len(sizes)), np.int64)).transform
    forest = RandomForestClassifier(n_estimators=25, min_samples_leaf=10, random_state=seed)
    return [
        ("logistic regression", LogisticRegression(max_iter=1_000), dummies(records), dummies(queries)),
        ("naive Bayes", CategoricalNB(min_categories=list(sizes)), records, queries),
        ("random forest", forest, records, queries),
        ("gradient boosting", HistGradientBoostingClassifier(random_state=seed), records, queries),
    ]
