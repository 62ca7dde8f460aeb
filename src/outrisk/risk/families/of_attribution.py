"""TCAP and DCAP, means over key sets and for all keys, with jackknife intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from outrisk.risk.attribution.over_key_sets import MEASURES, attribution_rows, score_coding
from outrisk.risk.coding.classes import SIDES, Coding
from outrisk.risk.families.question import Family, Question
from outrisk.risk.rows import Row


def _rows(coding: Coding, question: Question) -> Sequence[Row]:
    scores = question.scores
    if scores is None:
        groups = min(question.groups, *(coding.lengths[side] for side in SIDES if side in coding.lengths))
        sets = list(dict.fromkeys([*question.sets, question.keys]))
        scores = score_coding(coding, sets, question.target, question.tau, groups if groups > 1 else 0, question.seed)
    n_original, n_holdout = (coding.lengths.get(side, 0) for side in SIDES)
    rows = attribution_rows(scores, question.sets, question.keys)
    return [replace(row, n_original=n_original, n_holdout=n_holdout) for row in rows]


FAMILY = Family("attribution", "Correct attribution (TCAP, DCAP)", _rows, lambda question: MEASURES[:-1])
