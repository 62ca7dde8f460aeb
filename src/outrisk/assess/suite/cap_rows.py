"""The CAP family and the classifier attacks for the best candidate of a run: rows of cap.csv and attacks.csv."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

from threadpoolctl import threadpool_limits

from outrisk.assess.folds import Fold
from outrisk.errors import RiskError
from outrisk.microdata import Microdata
from outrisk.risk.attacks.attack import attack_coding
from outrisk.risk.attribution.family import cap_sets, measures
from outrisk.risk.attribution.marginals import marginal_frame, some
from outrisk.risk.attribution.over_key_sets import Scores
from outrisk.risk.coding.classes import HOLDOUT, ORIGINAL, SYNTHETIC, Coding, code_microdata
from outrisk.risk.neighbours.exact import Pace, TimedOutError

CAP_COLUMNS = [
    *["level", "fold", "run", "size", "measure", "original", "holdout", "marginal", "low", "high", "baseline"],
    *["n_sets", "n_both", "reason"],
]
ATTACK_COLUMNS = [
    *["level", "fold", "run", "measure", "original", "holdout", "marginal", "low", "high", "n_synthetic", "note"],
    "reason",
]


def code_fold(synthetic: Microdata, fold: Fold, keys: Sequence[str], target: str) -> Coding:
    """Keys and target of a candidate, its fold's original and, if there is one, its holdout."""
    tables = {SYNTHETIC: synthetic, ORIGINAL: fold.original}
    return code_microdata(tables | ({HOLDOUT: fold.holdout} if fold.holdout else {}), [*keys, target])


def cap_rows(
    coding: Coding, sets: Sequence[tuple[str, ...]], keys: Sequence[str], scores: Scores, time_limit: float
) -> list[dict[str, Any]]:
    """A row for each measure and size of key sets, and the size `all`: means over the key sets, as shares.

    `scores` are TCAP's of these and perhaps more key sets. GCAP's search may take `time_limit` seconds; a GCAP that
    takes longer is undefined with that reason, on all key sets alike.
    """
    reason = ""
    pace = Pace(deadline=time.monotonic() + time_limit)
    try:
        per_set, means = cap_sets(coding, sets, keys, scores.target, scores.tau, check=pace.check)
    except RiskError as error:
        reason = f"timed out after {time_limit:g} s" if isinstance(error, TimedOutError) else str(error)
        per_set, means = cap_sets(coding, sets, keys, scores.target, scores.tau, nearest=False)
    known = measures(nearest=not reason)
    jackknife = some(scores, [scores.sets.index(chosen) for chosen in sets]) if HOLDOUT in coding.lengths else None
    with threadpool_limits(1):
        found = marginal_frame(per_set, known, means, jackknife)
    rows = [{str(name): value for name, value in row.items()} for row in found.to_dict("records")]
    absent = [measure for measure in measures() if measure not in known]
    return rows + [
        {"size": size, "measure": measure, "original": math.nan, "reason": reason}
        for size in dict.fromkeys(found["size"])
        for measure in absent
    ]


def attack_rows(
    coding: Coding, keys: Sequence[str], target: str, classifiers: Sequence[str], seed: int
) -> list[dict[str, Any]]:
    """A row for each classifier, trained on the candidate: its accuracy on original and holdout, or why it has none."""
    if not classifiers:
        return []
    renamed = {"classifier": "measure", "difference": "marginal"}
    renamed |= {f"accuracy_{side}": side for side in (ORIGINAL, HOLDOUT)}
    try:
        found = attack_coding(coding, keys, target, classifiers, seed).rename(columns=renamed)
    except RiskError as error:
        return [{"measure": name, "original": math.nan, "reason": str(error)} for name in classifiers]
    return [{str(name): value for name, value in row.items()} for row in found.to_dict("records")]
