"""Metrics of nearest distances. Y is the table attacked, Z the synthetic one, u a distance scaled to [0, 1].

Sources: Trudslev, Lissandrini, Rodriguez, Boegsted and Dell'Aglio, A Review of Privacy Metrics for Privacy-Preserving
Synthetic Data Generation (arXiv 2507.11324), here 'the review', and what it cites. Each metric's `paper` variant is the
review's printed form; where that contradicts its own aim (1 = no privacy), the default is what the text asks for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from outrisk.errors import RiskError
from outrisk.risk.coding.classes import HOLDOUT, ORIGINAL
from outrisk.risk.intervals.scores import Score, joined, mean, share, student, undefined, wilson
from outrisk.risk.neighbours.exact import Floats, nearest, ties
from outrisk.risk.privacy.columns import Encoding
from outrisk.risk.privacy.context import SLACK, TIE, Context
from outrisk.risk.privacy.entropy import Entropy

ONEHOT, GOWER, FAMD = Encoding("onehot"), Encoding("gower"), Encoding("famd")
NO_OTHER = "one record has no other to be near to"
TO_SYNTHETIC, TO_REAL = "real_to_synthetic", "synthetic_to_real"
_DRAWS = 200
_TURNED: dict[str, Callable[[Any], Any]] = {
    "ratio": lambda r: r,
    "risk": lambda r: 1 / (1 + r),
    "sigmoid": lambda r: 1 / (1 + np.exp(-r)),
    "one_minus_sigmoid": lambda r: 1 / (1 + np.exp(r)),
}


def _scaled_nearest(
    context: Context, attacked: str, released: str, encoding: Encoding, bounds: str
) -> tuple[Floats, dict[str, float], tuple[str, ...]]:
    """u of each attacked record: its nearest distance between the least and the greatest, over all pairs or nearest.

    The holdout is put on the original's scale, so that both read alike; what lies beyond it is 0 or 1.
    """
    distance = context.nearest(encoding, attacked, released)[:, 0]
    choose("bounds", bounds, ("pairs", "nearest"))
    scale = ORIGINAL if attacked == HOLDOUT else attacked
    reference = context.nearest(encoding, scale, released)[:, 0]
    low = float(reference.min())
    high = context.farthest(encoding, scale, released) if bounds == "pairs" else float(reference.max())
    counts = {"least distance": low, "greatest distance": high}
    if high - low <= TIE:
        return np.zeros(len(distance)), counts, ("all distances are equal: u is taken as 0",)
    return np.clip((distance - low) / (high - low), 0.0, 1.0), counts, ()


def _noted(score: Score, notes: tuple[str, ...]) -> Score:
    return Score(score.value, score.n, score.interval, score.counts, score.records, score.reason, notes)


def cvp(
    context: Context, attacked: str, released: str, encoding: Encoding = ONEHOT, threshold: float = 0.2,
    strict: bool = False, bounds: str = "pairs",
) -> Score:  # fmt: skip
    """Close value probability: share of y with u <= threshold (strict: below it)."""
    u, counts, notes = _scaled_nearest(context, attacked, released, encoding, bounds)
    close = u < threshold - SLACK if strict else u <= threshold + SLACK
    return _noted(share(close, attacked, **counts), notes)


def dvp(
    context: Context, attacked: str, released: str, encoding: Encoding = ONEHOT, threshold: float = 0.8,
    bounds: str = "pairs",
) -> Score:  # fmt: skip
    """Distant value probability turned round: 1 - share of y with u >= threshold."""
    u, counts, notes = _scaled_nearest(context, attacked, released, encoding, bounds)
    return _noted(share(u < threshold - SLACK, attacked, **counts), notes)


def nsnd(
    context: Context, attacked: str, released: str, encoding: Encoding = ONEHOT, bounds: str = "pairs",
    risk: bool = True,
) -> Score:  # fmt: skip
    """Nearest synthetic neighbour distance: 1 - mean u; risk=False: mean u, the review's eq. 21, low when close."""
    u, counts, notes = _scaled_nearest(context, attacked, released, encoding, bounds)
    return _noted(mean(1 - u if risk else u, attacked, **counts), notes)


def authenticity(
    context: Context, attacked: str, released: str, encoding: Encoding = ONEHOT, per: str = "real", risk: bool = True
) -> Score:
    """Authenticity (Alaa et al., 2022) turned round: 1 - share of y whose nearest other y is nearer than any z.

    per 'synthetic': over z, of its nearest y (the lowest-numbered of tied ones). risk=False: authenticity itself.
    """
    choose("per", per, ("real", "synthetic"))
    if context.tables.n_records(attacked) < 2:
        return undefined(NO_OTHER)
    if per == "real":
        own = context.nearest(encoding, attacked, attacked)[:, 0]
        authentic, table = own < context.nearest(encoding, attacked, released)[:, 0] - TIE, attacked
    else:
        to_real = context.nearest(encoding, released, attacked)[:, 0]
        geometry = context.geometry(encoding)
        start, end, rows = geometry.points(released), geometry.points(attacked), context.scored(released)
        closest = ties(start, end, to_real + TIE, rows=rows, pace=context.pace).first
        own = nearest(end, end, 1, True, closest, context.pace)[:, 0]
        authentic, table = own < to_real - TIE, released
    return share(~authentic if risk else authentic, table)


def identifiability(
    context: Context, attacked: str, released: str, encoding: Encoding = ONEHOT, entropy: str = "divide",
    capped: bool = False, tie: float = TIE,
) -> Score:  # fmt: skip
    """Identifiability score (Yoon et al., 2020): share of y with a z nearer, by more than `tie`, than any other y.

    entropy (see `Entropy`): columns are divided by their entropy in the original, so that those with few values count
    more, as the review's text asks; 'multiply', 'pointwise' (two readings of its formula), 'none'.
    """
    choose("entropy", entropy, ("divide", "multiply", "pointwise", "none"))
    if context.tables.n_records(attacked) < 2:
        return undefined(NO_OTHER)
    weighed = encoding if entropy == "none" else replace(encoding, entropy=Entropy(entropy, capped=capped))
    to_synthetic = context.nearest(weighed, attacked, released)[:, 0]
    return share(to_synthetic < context.nearest(weighed, attacked, attacked)[:, 0] - tie, attacked)


def nndr(
    context: Context, attacked: str, released: str, encoding: Encoding = FAMD, side: str = TO_REAL, form: str = "risk"
) -> Score:
    """Nearest neighbour distance ratio: 1 - mean of d1 / d2, the distances of z to its nearest and second nearest y.

    0 / 0 is 1: no record stands out. form 'ratio': the mean ratio; 'paper': the same with 1 for every d1 = 0, as
    printed, which scores a copy as the opposite of what is almost one. side 'real_to_synthetic': of y to two z.
    """
    choose("form", form, ("risk", "ratio", "paper"))
    start, end = sides(side, attacked, released)
    if context.tables.n_records(end) < 2:
        return undefined("one record has no second nearest")
    one, two = context.nearest(encoding, start, end, k=2).T
    ratio = np.divide(one, two, out=np.ones(len(one)), where=two > TIE)
    if form == "paper":
        ratio = np.where(one <= TIE, 1.0, ratio)
    return mean(1 - ratio if form == "risk" else ratio, start)


def dcr(
    context: Context, attacked: str, released: str, encoding: Encoding = FAMD, side: str = TO_SYNTHETIC,
    form: str = "risk",
) -> Score:  # fmt: skip
    """Distance to closest record: 1 / (1 + d), d the mean distance of y to its nearest z; form 'distance': d itself.

    1 / (1 + d) is the review's 1 - sigmoid(ln d); form 'log10' is the same with the base of its code. side
    'synthetic_to_real' (its code): of z to its nearest y.
    """
    choose("form", form, ("risk", "distance", "log10"))
    start, end = sides(side, attacked, released)
    distance = context.nearest(encoding, start, end)[:, 0]
    d, n = float(distance.mean()), len(distance)
    low, high = student(d, float(distance.std(ddof=1)) / math.sqrt(n), n - 1) if n > 1 else (math.nan, math.nan)
    low = max(0.0, low)
    counts = {"mean distance": d, "median distance": float(np.median(distance)), "at distance 0": _zeros(distance)}
    if form == "distance":
        return Score(d, n, (low, high), counts, {start: distance})
    exponent = 1.0 if form == "risk" else 1 / math.log(10)

    def turned(x: Any) -> Any:
        return 1 / (1 + x**exponent)

    return Score(turned(d), n, (turned(high), turned(low)), counts, {start: turned(distance)})


def _zeros(distance: Floats) -> int:
    return int((distance <= TIE).sum())


def mdcr(
    context: Context, attacked: str, released: str, encoding: Encoding = ONEHOT, side: str = TO_SYNTHETIC,
    form: str = "risk",
) -> Score:  # fmt: skip
    """Median distance to closest record: 1 / (1 + r), r = median distance of y to its nearest z / to its nearest y.

    NaN where the latter median is 0. form 'ratio': r; 'sigmoid': 1 / (1 + exp(-r)), the review's, higher when farther;
    'one_minus_sigmoid'; 'numerator', 'denominator': the medians. Interval: 200 resamples of the records.
    """
    choose("form", form, ("risk", "ratio", "sigmoid", "one_minus_sigmoid", "numerator", "denominator"))
    start, end = sides(side, attacked, released)
    if context.tables.n_records(attacked) < 2:
        return undefined(NO_OTHER)
    above, below = context.nearest(encoding, start, end)[:, 0], context.nearest(encoding, attacked, attacked)[:, 0]
    top, bottom = float(np.median(above)), float(np.median(below))
    counts = {"median to synthetic" if start == attacked else "median to real": top, "median among themselves": bottom}
    if form in ("numerator", "denominator"):
        return Score(top if form == "numerator" else bottom, len(above), counts=counts)
    if bottom <= TIE:
        return undefined("the median distance among the records themselves is 0", len(above), **counts)
    turned = _TURNED[form]
    rng = np.random.default_rng([context.seed, len(above)])
    draws = []
    for _ in range(_DRAWS):
        rows = rng.integers(len(above), size=len(above))
        others = rows if start == attacked else rng.integers(len(below), size=len(below))
        draws.append((np.median(above[rows]), np.median(below[others])))
    drawn = turned(np.array([a / b if b > TIE else math.inf for a, b in draws]))
    interval = (float(np.quantile(drawn, 0.025)), float(np.quantile(drawn, 0.975)))
    return Score(float(turned(top / bottom)), len(above), interval, counts)


def nnaa(context: Context, attacked: str, released: str, encoding: Encoding = GOWER, form: str = "risk") -> Score:
    """Nearest neighbour adversarial accuracy (Yale et al., 2020) turned round: 1 - (left + right) / 2.

    left: share of y whose nearest other y is nearer than any z; right: of z whose nearest other z is nearer than any y.
    About 0.5 for two samples of one population, 1 for a copy. form 'paper': 1 - (left + right), without the half;
    'sum', 'accuracy' (half the sum), 'left', 'right'.
    """
    choose("form", form, ("risk", "paper", "sum", "accuracy", "left", "right"))
    if min(context.tables.n_records(table) for table in (attacked, released)) < 2:
        return undefined(NO_OTHER)
    apart = {
        table: context.nearest(encoding, table, other)[:, 0] > context.nearest(encoding, table, table)[:, 0] + TIE
        for table, other in ((attacked, released), (released, attacked))
    }
    left, right = (float(apart[table].mean()) for table in (attacked, released))
    halves = [wilson(int(apart[table].sum()), len(apart[table])) for table in (attacked, released)]
    low, high = joined((left, right), (halves[0], halves[1]), 1)
    turn, scale = {"risk": (1, -0.5), "paper": (1, -1.0), "sum": (0, 1.0), "accuracy": (0, 0.5)}.get(form, (0, 1.0))
    n, counts = len(apart[attacked]), {"left": left, "right": right}
    if form in ("left", "right"):
        return Score(counts[form], n, halves[form == "right"], counts)
    ends = sorted((turn + scale * low, turn + scale * high))
    records = {table: (~own).astype(float) for table, own in apart.items()} if form == "risk" else {}
    return Score(turn + scale * (left + right), n, (ends[0], ends[1]), counts, records)


def sides(side: str, attacked: str, released: str) -> tuple[str, str]:
    """From whose records to whose the distances run."""
    choose("side", side, (TO_SYNTHETIC, TO_REAL))
    return (attacked, released) if side == TO_SYNTHETIC else (released, attacked)


def choose(name: str, value: str, known: tuple[str, ...]) -> None:
    """Refuse a value of a parameter that means nothing."""
    if value not in known:
        raise RiskError(f"{name} {value!r}; known: {list(known)}")
