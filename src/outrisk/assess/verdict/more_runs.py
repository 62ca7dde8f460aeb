"""Whether more runs would change what a verdict rests on (`study: {runs: enough}`).

What more runs narrow is the search's chance. They are asked for by how wide the limits are, not by what was found, but
where that would stay the same between limits half as wide again: ending as soon as limits at 95 % happen to clear the
margin would make them too narrow for what they promise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from outrisk.assess.verdict.by_level import LevelRisk

_WIDER = 1.5  # times as wide as they are, limits have to say the same of the margin
WORTH = 0.15  # of the widest standard error that more runs must take away to be worth it


def are_enough(levels: Sequence[LevelRisk], margin: float) -> bool:
    """Whether the runs are enough: there is no holdout, which more of them would not mend; or wider limits
    would say the same of the margin; or nearly all of the limits' width comes from the people, not from the search.
    """
    return not levels or _is_settled(levels[0], margin) or narrowed_by_runs(levels[0]) <= WORTH


def _is_settled(lead: LevelRisk, margin: float) -> bool:
    """Whether some key set's risk is above the margin, or all are below it, between wider limits."""
    differences = lead.found.difference[[lead.found.measures.index(name) for name in lead.judged]]
    limits = [lead.limits_of(measure)[:2] for measure in lead.judged]
    low, high = (np.array(each) for each in zip(*limits, strict=True))
    below, above = (differences + _WIDER * (limit - differences) for limit in (high, low))
    return bool((above > margin).any() or (below < margin).all())


def narrowed_by_runs(lead: LevelRisk) -> float:
    """What endless runs would take away of the widest standard error, from 0 to 1; 1 where nothing is known of it."""
    judged = [lead.found.measures.index(name) for name in lead.judged]
    error, share = lead.found.standard_error[judged], lead.found.runs_share[judged]
    if lead.runs < 2 or not np.nanmax(error, initial=0.0) > 0.0:
        return 1.0
    return float(1.0 - np.nanmax(error * np.sqrt(np.maximum(1.0 - share, 0.0))) / np.nanmax(error))
