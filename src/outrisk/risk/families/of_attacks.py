"""Accuracy of classifiers trained on the synthetic data."""

from __future__ import annotations

from collections.abc import Sequence

from outrisk.risk.attacks.attack import attack_coding
from outrisk.risk.coding.classes import Coding
from outrisk.risk.families.question import Family, Question
from outrisk.risk.rows import Row


def _rows(coding: Coding, question: Question) -> Sequence[Row]:
    if not question.classifiers:
        return []
    asked = (question.keys, question.target, question.classifiers, question.seed, question.encoding)
    found = attack_coding(coding, *asked)
    return [row for row, _ in found]


FAMILY = Family("attacks", "Classifiers that guess the target", _rows, lambda question: question.classifiers)
