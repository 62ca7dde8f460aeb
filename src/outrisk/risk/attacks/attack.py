"""Classifier attacks: an intruder trains on the synthetic records and guesses people's target from their keys.

After Hittmeir, Mayer and Ekelhart (A baseline for attribute disclosure risk in synthetic data, CODASPY 2020), who also
give FR-NN (their Algorithm 3.1). The classifiers are scikit-learn's. By default keys are categories: a key counts as
equal or not, its codes as no numbers, and a level that no synthetic record has tells a classifier nothing, whichever
level it is; `encoding` ordinal takes keys as numbers, as these authors did.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from outrisk.codebook import MISSING, Codebook
from outrisk.errors import RiskError
from outrisk.risk.attacks.learners import ENCODINGS, LEARNERS, NOMINAL, ORDINAL, Guess, Training, learn
from outrisk.risk.attribution.definitions import Floats
from outrisk.risk.attribution.nearest import nearest_keys, one_of_each_class, same_keys
from outrisk.risk.coding.classes import SIDES, SYNTHETIC, Coding, Equivalence, Positions, cross
from outrisk.risk.coding.frames import code_tables
from outrisk.risk.rows import Row, joined, of_scores, sized

FR_NN, ENSEMBLE, ZERO_RULE, UNIFORM = "fr_nn", "ensemble", "zero_rule", "uniform"
MEMBERS = (*LEARNERS, FR_NN)
CLASSIFIERS = (*MEMBERS, ENSEMBLE, ZERO_RULE, UNIFORM)


@dataclass(frozen=True, eq=False)
class AttackResult:
    """How often each classifier trained on the synthetic data guesses the target; larger = riskier."""

    keys: tuple[str, ...]
    target: str
    frame: pd.DataFrame
    """One row a classifier: `accuracy_original` and `accuracy_holdout`, in [0, 1]; their `difference` with its 95 %
    interval `low`, `high` (Agresti and Caffo, 2000), above 0 = the synthetic data know more about the people behind
    them; `n_original`, `n_holdout`, `n_synthetic` (records trained on); `note`, what to know of the training; `reason`,
    why a value is NaN. Read an accuracy against those of `zero_rule` and `uniform`, which do not look at the keys."""
    rows: tuple[Row, ...]
    """The same as result rows; `baseline` is the accuracy of the zero rule."""


def attack(
    original: pd.DataFrame,
    synthetic: pd.DataFrame,
    holdout: pd.DataFrame | None = None,
    *,
    keys: Sequence[str],
    target: str,
    classifiers: Sequence[str] | None = None,
    encoding: str = NOMINAL,
    codebook: Codebook | None = None,
    seed: int = 0,
) -> AttackResult:
    """Train each of `classifiers` (by default all of CLASSIFIERS) on synthetic, score it on original and holdout.

    `fr_nn` guesses the most frequent target among all synthetic records at the least Hamming distance (ties: the first
    level); `ensemble` takes the majority vote of MEMBERS (ties: the first level); `zero_rule` always guesses the most
    frequent synthetic target; `uniform` guesses any synthetic target value alike, its accuracy is the expected one.
    encoding: 'nominal', a key is a category that is equal or not; 'ordinal', scikit-learn's classifiers learn from
    numbers (a number's value, whole numbers as text included, else the position of the level), standardised, with the
    settings of Hittmeir and others; `fr_nn` is the same under both.
    Missing values are a level of their own (ordinal: the mean). A classifier that fails is a row with NaN and its
    message in `reason`.
    RiskError or DataError where no measure is defined on the input. Same seed, same result, in any order of records.
    """
    chosen = choose_classifiers(classifiers)
    check_encoding(encoding)
    coding = code_tables(original, synthetic, holdout, keys, target, codebook)
    found = attack_coding(coding, keys, target, chosen, seed, encoding)
    return AttackResult(tuple(keys), target, _wide(found), tuple(row for row, _ in found))


def choose_classifiers(names: Sequence[str] | None) -> tuple[str, ...]:
    """The classifiers of these names, all for None; RiskError for one that is not known."""
    chosen = tuple(CLASSIFIERS if names is None else names)
    unknown = [name for name in chosen if name not in CLASSIFIERS]
    if unknown or not chosen or isinstance(names, str):
        told = f"no classifier {unknown[0]!r}" if unknown else "give a list with at least one"
        raise RiskError(f"classifiers {names!r}: {told}; known: {list(CLASSIFIERS)}")
    return tuple(dict.fromkeys(chosen))


def attack_coding(
    coding: Coding, keys: Sequence[str], target: str, chosen: Sequence[str], seed: int, encoding: str = NOMINAL
) -> list[tuple[Row, int]]:
    """Rows of tables under one coding ('synthetic', 'original', perhaps 'holdout'), and the records trained on."""
    equivalence = cross(coding, keys, target)
    asked = MEMBERS if ENSEMBLE in chosen else chosen
    training = (_training if encoding == NOMINAL else _ordinal)(coding, keys, target, equivalence)
    guesses = {name: learn(name, training, seed) for name in asked if name in LEARNERS}
    if FR_NN in asked:
        near = nearest_keys(equivalence, coding, keys, same_keys(equivalence))
        guesses[FR_NN] = Guess(near.guess, equivalence.n_records(SYNTHETIC))
    if ENSEMBLE in chosen:
        guesses[ENSEMBLE] = _vote({name: guesses[name] for name in MEMBERS})
    place = Row(family="attacks", measure="", keys=joined(keys), target=target, sets=1)
    by_chance = of_scores(place, _blind(ZERO_RULE, equivalence), equivalence).original
    rows = []
    for name in chosen:
        row = replace(place, measure=name, baseline=by_chance)
        if name in (ZERO_RULE, UNIFORM):
            guess = Guess(None, equivalence.n_records(SYNTHETIC))
            score: Floats | None = _blind(name, equivalence)
        else:
            guess = guesses[name]
            score = None if guess.targets is None else _right(guess.targets, equivalence)
        if score is None:
            row = replace(sized(row, equivalence.counts), reason="failed", detail=guess.reason)
        else:
            row = replace(of_scores(row, score, equivalence), defined=1)
        as_numbers = "keys as numbers" if encoding == ORDINAL and name in (*LEARNERS, ENSEMBLE) else ""
        row = replace(row, note="; ".join(filter(None, (as_numbers, guess.note))))
        rows.append((row, guess.n_trained))
    return rows


def _wide(found: Sequence[tuple[Row, int]]) -> pd.DataFrame:
    """`AttackResult.frame`."""
    return pd.DataFrame(
        {
            "classifier": row.measure,
            **{f"accuracy_{side}": getattr(row, side) for side in SIDES},
            "difference": row.difference,
            "low": row.low,
            "high": row.high,
            **{f"n_{side}": getattr(row, f"n_{side}") for side in SIDES},
            "n_synthetic": n_trained,
            "note": row.note,
            "reason": row.detail if row.reason == "failed" else row.sentence,
        }
        for row, n_trained in found
    )


def _training(coding: Coding, keys: Sequence[str], target: str, equivalence: Equivalence) -> Training:
    """Synthetic records, and the key combinations to guess for; levels unseen in the synthetic data become one."""
    rows = coding.rows()
    columns, sizes = [], []
    for key in keys:
        column = coding.columns[coding.names.index(key)]
        seen = np.unique(column[rows[SYNTHETIC]])
        position = np.full(int(column.max()) + 1, len(seen), dtype=np.int32)
        position[seen] = np.arange(len(seen))
        columns.append(position[column])
        sizes.append(len(seen))
    codes = np.stack(columns, axis=1)
    targets = coding.columns[coding.names.index(target)][rows[SYNTHETIC]]
    return Training(codes[rows[SYNTHETIC]], targets, codes[one_of_each_class(equivalence, coding)], tuple(sizes))


def _ordinal(coding: Coding, keys: Sequence[str], target: str, equivalence: Equivalence) -> Training:
    """Synthetic records and key combinations, and what each level of a key is as a number."""
    rows = coding.rows()
    codes = np.stack([coding.columns[coding.names.index(key)] for key in keys], axis=1)
    targets = coding.columns[coding.names.index(target)][rows[SYNTHETIC]]
    numbers = tuple(level_numbers(coding, key) for key in keys)
    sizes = tuple(map(len, numbers))
    return Training(codes[rows[SYNTHETIC]], targets, codes[one_of_each_class(equivalence, coding)], sizes, numbers)


def level_numbers(coding: Coding, key: str) -> Floats:
    """A number for each level, NaN for missing: its value where all levels are numbers, else its position."""
    if key in coding.values:
        return coding.values[key]
    labels = coding.labels[coding.names.index(key)]
    missing = np.array([label == MISSING for label in labels])
    try:
        found = np.array([math.nan if gone else float(label) for label, gone in zip(labels, missing, strict=True)])
    except ValueError:
        found = np.arange(len(labels), dtype=float)
    return np.where(missing, math.nan, found)


def check_encoding(encoding: str) -> None:
    """Refuse an encoding of the keys that is not known."""
    if encoding not in ENCODINGS:
        raise RiskError(f"encoding {encoding!r}; known: {list(ENCODINGS)}")


def _vote(guesses: dict[str, Guess]) -> Guess:
    """The target with the most votes for each class, the first level among tied ones; those that failed do not vote."""
    voters = {name: guess.targets for name, guess in guesses.items() if guess.targets is not None}
    if not voters:
        return Guess(None, 0, reason="all classifiers failed")
    votes = np.stack(list(voters.values()), axis=1)
    levels = np.unique(votes)
    counts = np.stack([(votes == level).sum(axis=1) for level in levels], axis=1)
    failed = [name for name in guesses if name not in voters]
    note = f"without {', '.join(failed)}, which failed" if failed else ""
    return Guess(levels[counts.argmax(axis=1)], max(guess.n_trained for guess in guesses.values()), note)


def _right(guesses: Positions | NDArray[np.int32], equivalence: Equivalence) -> Floats:
    """1 for the cells whose target is guessed, else 0; shape (n_cells,)."""
    return np.asarray(guesses[equivalence.cell_class] == equivalence.cell_target, dtype=float)


def _blind(name: str, equivalence: Equivalence) -> Floats:
    """Probability that a guess that does not look at the keys is right, shape (n_cells,)."""
    counts = np.bincount(equivalence.cell_target, weights=equivalence.counts[SYNTHETIC])
    each = np.zeros(len(counts))
    if name == ZERO_RULE:
        each[counts.argmax()] = 1.0
    else:
        each[counts > 0] = 1 / np.count_nonzero(counts)
    return each[equivalence.cell_target]
