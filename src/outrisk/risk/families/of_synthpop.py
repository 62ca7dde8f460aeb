"""Identity and attribute disclosure, and CAP, as R's synthpop defines them, with all keys."""

from __future__ import annotations

from collections.abc import Sequence

from outrisk.risk.coding.classes import Coding
from outrisk.risk.coding.variables import from_coding
from outrisk.risk.families.question import Family, Question
from outrisk.risk.rows import Row
from outrisk.risk.synthpop.disclosure import measure_target
from outrisk.risk.synthpop.margins import ALONE, MEASURES, row_name
from outrisk.risk.synthpop.options import make_options


def _rows(coding: Coding, question: Question) -> Sequence[Row]:
    options = make_options(question.keys)
    return measure_target(
        from_coding(coding), question.keys, question.target, options, groups=question.groups, seed=question.seed
    ).rows


FAMILY = Family(
    "synthpop",
    "Disclosure measures of synthpop",
    _rows,
    lambda question: (*map(row_name, MEASURES), *ALONE),
)
