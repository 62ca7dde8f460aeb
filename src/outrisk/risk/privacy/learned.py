"""Metrics of a trained classifier: detection, membership inference. Seeded; all else deterministic.

Sources as in `by_distance`. Features: numbers and one 0/1 column a level.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from outrisk.errors import RiskError
from outrisk.risk.coding.classes import HOLDOUT, ORIGINAL
from outrisk.risk.coding.with_numbers import Tables
from outrisk.risk.intervals.scores import Score, student, undefined, wilson
from outrisk.risk.neighbours.exact import Floats, Pace, Positions
from outrisk.risk.privacy.by_distance import ONEHOT, choose
from outrisk.risk.privacy.columns import Encoding
from outrisk.risk.privacy.context import Context

_FOLDS = 5
_MOST_LEVELS = 255
_Flags = NDArray[np.bool_]


def dmlp(
    context: Context, attacked: str, released: str, folds: int = _FOLDS, layers: tuple[int, ...] = (100, 50),
    form: str = "auc",
) -> Score:  # fmt: skip
    """Detection by a multilayer perceptron: AUC of telling y from z, mean over stratified folds.

    A high AUC means that Z is *unlike* Y: this is detection, and no privacy can be read from it; the review takes
    1 - AUC as risk (form 'one_minus_auc'). Interval: of the AUC over all records (DeLong, 1988).
    """
    from sklearn.model_selection import StratifiedKFold
    from threadpoolctl import threadpool_limits

    choose("form", form, ("auc", "one_minus_auc"))
    rows = [context.tables.rows[table][context.scored(table)] for table in (attacked, released)]
    if min(map(len, rows)) < 2 * folds:
        return undefined(f"fewer than {2 * folds} records in a table, for {folds} folds")
    real = np.repeat([True, False], [len(table) for table in rows])
    x = _features(context.tables, np.concatenate(rows))
    deviation = x.std(axis=0)
    x = (x - x.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    areas, errors = [], []
    splits = StratifiedKFold(folds, shuffle=True, random_state=context.seed).split(x, real)
    with threadpool_limits(1):  # its products are too small for threads to pay
        for fold, (train, test) in enumerate(splits):
            context.pace.check(fold / folds)
            guess = _perceptron(x[train], real[train], x[test], layers, context.seed + fold, context.pace)
            area, error = auc(guess[real[test]], guess[~real[test]])
            areas.append(area)
            errors.append(error)
    value, n = float(np.mean(areas)), len(real)
    low, high = student(value, math.sqrt(float(np.square(errors).sum())) / folds, n - 2)
    low, high = max(0.0, low), min(1.0, high)
    if form == "one_minus_auc":
        return Score(1 - value, n, (1 - high, 1 - low), {"AUC": value})
    return Score(value, n, (low, high), {"folds": folds})


def _perceptron(x: Floats, y: _Flags, asked: Floats, layers: tuple[int, ...], seed: int, pace: Pace) -> Floats:
    """Probability of y, trained with early stopping on a tenth of the records; the clock is looked at each epoch."""
    from sklearn.metrics import log_loss
    from sklearn.model_selection import train_test_split
    from sklearn.neural_network import MLPClassifier

    x, check, y, truth = train_test_split(x, y, test_size=0.1, random_state=seed, stratify=y)
    model = MLPClassifier(layers, random_state=np.random.RandomState(seed))
    best, patience, guess = math.inf, 0, np.full(len(asked), 0.5)
    for _ in range(300):
        pace.check()
        model.partial_fit(x, y, classes=[False, True])
        loss = log_loss(truth, model.predict_proba(check)[:, 1], labels=[False, True])
        if loss < best - 1e-4:
            best, patience, guess = loss, 0, model.predict_proba(asked)[:, 1]
        else:
            patience += 1
            if patience == 10:
                break
    return np.asarray(guess)


def mir(
    context: Context, attacked: str, released: str, members: str = "synthetic", folds: int = _FOLDS,
    threshold: float = 0.5, form: str = "recall",
) -> Score:  # fmt: skip
    """Membership inference risk: recall, the share of y that a classifier takes for members; gradient boosting.

    members 'synthetic', which needs a holdout: the intruder trains on synthetic records as members against people
    known not to be (folds of the holdout, as many of each), and asks about y. The same share among the holdout people
    kept out of the training stands beside it; the difference is what membership gives away. 'real', the review's:
    trains on 70 % of y against z and asks about the other 30 %, five times: without non-members it is detection.
    Its code returns 1 - recall (form 'one_minus_recall').
    """
    choose("members", members, ("synthetic", "real"))
    choose("form", form, ("recall", "one_minus_recall"))
    if members == "real":
        return _detected(context, attacked, released, folds, threshold, form)
    if HOLDOUT not in context.tables.rows:
        raise RiskError("needs a holdout: real records that the synthetic data were not made from")
    if context.tables.n_records(HOLDOUT) < 2 * folds:
        return undefined(f"fewer than {2 * folds} holdout records, for {folds} folds")
    memo = ("mir", released, folds)
    if memo not in context.memo:
        context.memo[memo] = _member_probabilities(context, released, folds)
    flagged = (context.memo[memo][attacked] >= threshold).mean(axis=0)
    share, n = float(flagged.mean() if form == "recall" else 1 - flagged.mean()), len(flagged)
    return Score(share, n, wilson(share * n, n), {"called members": float(flagged.sum())}, {attacked: flagged})


def _member_probabilities(context: Context, released: str, folds: int) -> dict[str, Floats]:
    """Of original records by each fold's model, (folds, n); of holdout records by the one not trained on them, (1, n).

    Each model is trained on the other folds of the holdout and as many synthetic records.
    """
    rng = np.random.default_rng([context.seed, 1])
    rows = {table: context.tables.rows[table][context.scored(table)] for table in (ORIGINAL, HOLDOUT)}
    features = {table: _features(context.tables, at) for table, at in rows.items()}
    synthetic = context.tables.rows[released]
    parts = np.array_split(rng.permutation(len(rows[HOLDOUT])), folds)
    found = {ORIGINAL: np.empty((folds, len(rows[ORIGINAL]))), HOLDOUT: np.empty((1, len(rows[HOLDOUT])))}
    for fold, kept in enumerate(parts):
        context.pace.check(fold / folds)
        others = np.concatenate([part for i, part in enumerate(parts) if i != fold])
        size = min(len(others), len(synthetic))
        members = _features(context.tables, rng.permutation(synthetic)[:size])
        x = np.concatenate([members, features[HOLDOUT][rng.permutation(others)[:size]]])
        asked = np.concatenate([features[ORIGINAL], features[HOLDOUT][kept]])
        guess = _boosted(x, np.repeat([True, False], size), asked, context.seed + fold)
        found[ORIGINAL][fold], found[HOLDOUT][0, kept] = np.split(guess, [len(rows[ORIGINAL])])
    return found


def _detected(context: Context, attacked: str, released: str, splits: int, threshold: float, form: str) -> Score:
    from sklearn.model_selection import train_test_split

    rows = [context.tables.rows[table][context.scored(table)] for table in (attacked, released)]
    if min(map(len, rows)) < 10:
        return undefined("fewer than 10 records in a table")
    x = _features(context.tables, np.concatenate(rows))
    real = np.repeat([True, False], [len(table) for table in rows])
    shares, tested = [], 0
    for split in range(splits):
        context.pace.check(split / splits)
        train, test = train_test_split(
            np.arange(len(x)), test_size=0.3, stratify=real, random_state=context.seed + split
        )
        found = _boosted(x[train], real[train], x[test[real[test]]], context.seed) >= threshold
        shares.append(float(found.mean()))
        tested = len(found)
    recall = float(np.mean(shares))
    value = recall if form == "recall" else 1 - recall
    return Score(value, tested, wilson(value * tested, tested), {"splits": splits, "recall": recall})


def _boosted(x: Floats, y: _Flags, asked: Floats, seed: int) -> Floats:
    """Probability of y, by gradient boosting with the settings of LightGBM (100 trees of 31 leaves, rate 0.1)."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # with more, its threads wait for one another on a busy machine: 30 times slower
        model = HistGradientBoostingClassifier(early_stopping=False, random_state=seed).fit(x, y)
        return np.asarray(model.predict_proba(asked)[:, 1])


def mia(context: Context, attacked: str, released: str, encoding: Encoding = ONEHOT) -> Score:
    """Membership inference by distance: AUC of telling original from holdout records by their nearest synthetic one.

    0.5 = no better than chance, above = the synthetic data lie nearer to the people they were made from. No training.
    Hilprecht, Haerterich and Bernau (2019). Interval: DeLong (1988).
    """
    if HOLDOUT not in context.tables.rows:
        raise RiskError("needs a holdout: real records that the synthetic data were not made from")
    near = {table: -context.nearest(encoding, table, released)[:, 0] for table in (attacked, HOLDOUT)}
    area, error = auc(near[attacked], near[HOLDOUT])
    n = len(near[attacked])
    low, high = student(area, error, n + len(near[HOLDOUT]) - 2)
    caught = near[attacked] > np.quantile(near[HOLDOUT], 0.99)
    counts = {"true positive rate at 1 % false positives": float(caught.mean())}
    return Score(area, n, (max(0.0, low), min(1.0, high)), counts, {attacked: near[attacked]})


def auc(positive: Floats, negative: Floats) -> tuple[float, float]:
    """Area under the ROC curve, a tie counting half, and its standard error (DeLong and others, 1988)."""
    from scipy.stats import rankdata

    m, n = len(positive), len(negative)
    ranks = rankdata(np.concatenate([positive, negative]))
    above = (ranks[:m] - rankdata(positive)) / n  # share of negatives below each positive
    below = 1 - (ranks[m:] - rankdata(negative)) / m
    variance = (above.var(ddof=1) / m if m > 1 else math.nan) + (below.var(ddof=1) / n if n > 1 else math.nan)
    return float(above.mean()), math.sqrt(variance)


def _features(tables: Tables, rows: Positions) -> Floats:
    """Numbers, indicators of missing ones, and a 0/1 column for each level (one for two levels), (n, m).

    Of a column with many levels the 255 most frequent in all tables together have one.
    """
    columns = [values[rows] for values in tables.numbers.values()] + [gap[rows] for gap in tables.gaps.values()]
    for j, name in enumerate(tables.names):
        if name not in tables.numbers:
            codes, levels = tables.coding.columns[j][rows], np.arange(len(tables.coding.labels[j]))
            if len(levels) > _MOST_LEVELS:
                levels = np.sort(np.argsort(-np.bincount(tables.coding.columns[j]), kind="stable")[:_MOST_LEVELS])
            columns += [codes == level for level in (levels[1:] if len(levels) == 2 else levels)]
    return np.column_stack(columns).astype(np.float32)
