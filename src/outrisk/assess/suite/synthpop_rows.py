"""The disclosure suite for the best candidate of a run: rows of disclosure.csv."""

from __future__ import annotations

import math
from typing import Any

from outrisk.assess.folds import Fold
from outrisk.errors import RiskError
from outrisk.microdata import Microdata
from outrisk.risk.coding.variables import from_microdata
from outrisk.risk.synthpop.disclosure import measure_target
from outrisk.risk.synthpop.margins import MEASURES
from outrisk.risk.synthpop.options import make_options

COLUMNS = [
    *["level", "fold", "run", "measure", "original", "holdout", "marginal", "low", "high", "method", "baseline"],
    *["synthetic", "reason"],
]


def disclosure_rows(
    synthetic: Microdata, fold: Fold, keys: tuple[str, ...], target: str, groups: int, seed: int
) -> list[dict[str, Any]]:
    """A row for each measure: original beside holdout, in percent; for UiS, Dsyn and CAPs the synthetic data alone.

    Where the suite is not defined on the candidate, every measure is undefined with the reason.
    """
    tables = from_microdata(fold.original, synthetic, fold.holdout)
    try:
        result = measure_target(tables, keys, target, make_options(keys), groups=groups, seed=seed)
    except RiskError as error:
        return [{"measure": measure, "original": math.nan, "reason": str(error)} for measure in MEASURES]
    rows = [{str(name): value for name, value in row.items()} for row in result.marginal.to_dict("records")]
    mean = result.mean
    return rows + [{"measure": measure, "synthetic": mean[measure]} for measure in ("UiS", "Dsyn", "CAPs")]
