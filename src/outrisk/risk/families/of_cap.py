"""The CAP family over key sets: 0CAP, ICAP, GCAP with the attacker's accuracy R, and TCAP."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

from outrisk.errors import RiskError
from outrisk.risk.attribution.family import cap_sets, measures, one_thread
from outrisk.risk.attribution.marginals import family_rows, tcap_scores
from outrisk.risk.attribution.over_key_sets import some
from outrisk.risk.coding.classes import HOLDOUT, Coding
from outrisk.risk.families.question import Family, Question
from outrisk.risk.neighbours.exact import Pace, TimedOutError
from outrisk.risk.rows import Row


def _rows(coding: Coding, question: Question) -> Sequence[Row]:
    """A GCAP whose search takes longer than the time limit is undefined with that reason, on all key sets alike."""
    why = ("", "")
    limit = question.time_limit
    pace = Pace(deadline=math.inf if limit is None else time.monotonic() + limit)
    asked = (coding, question.sets, question.keys, question.target, question.tau)
    try:
        per_set, means = cap_sets(*asked, check=pace.check)
    except RiskError as error:
        late = isinstance(error, TimedOutError)
        why = ("timed_out", f"{limit:g}") if late else ("failed", str(error))
        per_set, means = cap_sets(*asked, nearest=False)
    known = measures(nearest=not why[0])
    jackknife = None
    if HOLDOUT in coding.lengths and question.scores is not None:
        jackknife = some(question.scores, [question.scores.sets.index(chosen) for chosen in question.sets])
    elif HOLDOUT in coding.lengths:
        jackknife = tcap_scores(coding, question.sets, question.target, question.tau, question.groups, question.seed)
    with one_thread():
        rows = family_rows(per_set, known, question.target, means, jackknife)
    absent = [measure for measure in measures() if measure not in known]
    empty = [row for row in rows if row.measure == known[0]]
    return rows + [_undefined(row, measure, why) for row in empty for measure in absent]


def _undefined(like: Row, measure: str, why: tuple[str, str]) -> Row:
    """A row without a value, for the key sets of another."""
    row = Row(family=like.family, measure=measure, size=like.size, target=like.target, sets=like.sets)
    return replace(row, n_original=like.n_original, n_holdout=like.n_holdout, reason=why[0], detail=why[1])


FAMILY = Family("cap", "The CAP family over key sets", _rows, lambda question: measures())
