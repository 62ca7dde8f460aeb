"""Every privacy metric: what it measures, which way its score runs, and its variants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from outrisk.errors import RiskError
from outrisk.risk.intervals.scores import Score
from outrisk.risk.privacy import by_distance, inference, learned, matches
from outrisk.risk.privacy.columns import Encoding

RISKIER, SAFER = "larger = riskier", "smaller = riskier"
UNLIKE, ALIKE = "larger = more unlike (detection, no privacy)", "larger = more alike (detection, no privacy)"
DEFAULT, PAPER, REFERENCE = "default", "paper", "reference"
VARIANTS = (DEFAULT, PAPER, REFERENCE)


@dataclass(frozen=True, eq=False)
class Metric:
    """One metric; parameters of the default variant are the function's own."""

    name: str
    title: str
    measures: str  # one sentence
    function: Callable[..., Score]
    direction: str = RISKIER
    needs: tuple[str, ...] = ()  # of 'keys', 'links', 'holdout'
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # beside the default
    directions: Mapping[str, str] = field(default_factory=dict)  # of variants that run another way
    compared: bool = True  # whether the same value of the holdout means something
    trained: bool = False  # trains classifiers: seconds a table, so a study measures it only where asked

    @property
    def row_name(self) -> str:
        """Its name among the measures of all families; GCAP over key sets, of all records, is another number."""
        return "GCAP_review" if self.name == "GCAP" else self.name

    def parameters(self, variant: str) -> Mapping[str, Any]:
        """What a variant passes to the function; the metric's default form where it has no such variant."""
        if variant not in VARIANTS:
            raise RiskError(f"variant {variant!r}; known: {list(VARIANTS)}")
        return self.variants.get(variant, {})

    def runs(self, variant: str) -> str:
        """Direction of a variant."""
        return self.directions.get(variant, self.direction)


_ZSCORE, _MINMAX = Encoding("onehot_zscore"), Encoding("onehot_minmax")
_FAMD2 = Encoding("famd", k=2)
_NEAREST = {"encoding": _ZSCORE, "bounds": "nearest"}

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "ZCAP", "zero CAP",
            "how often synthetic records with a person's keys have the person's target, nobody with those keys = 0",
            inference.zcap, needs=("keys",),
        ),
        Metric(
            "GCAP", "generalised CAP",
            "how often the synthetic records nearest in the keys have the person's target",
            inference.gcap, needs=("keys",),
            variants={REFERENCE: {"neighbours": "first", "hamming": "onehot"}},
        ),
        Metric(
            "AIR", "attribute inference risk",
            "how often the synthetic records nearest in the keys hit the person's target, rare records weighing more",
            inference.air, needs=("keys",),
            variants={
                PAPER: {"form": "record_f1", "tolerance": "synthetic", "encoding": _ZSCORE},
                REFERENCE: {
                    "form": "total_f1", "misses": False, "neighbours": "first", "weighting": "epsilon",
                    "encoding": Encoding("onehot_raw"),
                },
            },
        ),
        Metric(
            "CRP", "common rows proportion",
            "which share of the original's records are in the synthetic data as they are",
            matches.crp, variants={PAPER: {"form": "distinct"}, REFERENCE: {"form": "distinct"}},
        ),
        Metric(
            "CVP", "close value probability",
            "which share of the original's records have a synthetic one within a fifth of the largest distance",
            by_distance.cvp,
            variants={PAPER: {"encoding": _ZSCORE}, REFERENCE: {**_NEAREST, "strict": True}},
        ),
        Metric(
            "DVP", "distant value probability (turned round)",
            "which share of the original's records have a synthetic one within four fifths of the largest distance",
            by_distance.dvp, variants={PAPER: {"encoding": _ZSCORE}, REFERENCE: _NEAREST},
        ),
        Metric(
            "D-MLP", "detection by a multilayer perceptron",
            "how well a classifier tells original from synthetic records",
            learned.dmlp, UNLIKE, trained=True,
            variants={PAPER: {"form": "one_minus_auc"}, REFERENCE: {"form": "one_minus_auc"}},
            directions={PAPER: ALIKE, REFERENCE: ALIKE},
        ),
        Metric(
            "Auth", "authenticity (turned round)",
            "which share of the original's records have a synthetic one at least as near as the nearest other original",
            by_distance.authenticity,
            variants={PAPER: {"encoding": _ZSCORE}, REFERENCE: {"encoding": Encoding("numeric_zscore")}},
        ),
        Metric(
            "ID", "identifiability score",
            "which share of the original's records have a synthetic one nearer than the nearest other original, "
            "columns with few values weighing more",
            by_distance.identifiability,
            variants={
                PAPER: {"encoding": _ZSCORE, "entropy": "pointwise"},
                REFERENCE: {
                    "encoding": Encoding("label_zscore"), "entropy": "multiply", "capped": True, "tie": 1e-7,
                },
            },
        ),
        Metric(
            "NSND", "nearest synthetic neighbour distance (turned round)",
            "how near the nearest synthetic record is, on a scale from the farthest pair (0) to the nearest (1)",
            by_distance.nsnd,
            variants={PAPER: {"encoding": _ZSCORE, "risk": False}, REFERENCE: _NEAREST},
            directions={PAPER: SAFER},
        ),
        Metric(
            "NNDR", "nearest neighbour distance ratio (turned round)",
            "how much nearer synthetic records are to their nearest original than to the second nearest",
            by_distance.nndr,
            variants={PAPER: {"encoding": _FAMD2, "form": "paper"}, REFERENCE: {"encoding": _FAMD2}},
            directions={PAPER: SAFER},
        ),
        Metric(
            "DCR", "distance to closest record", "how near the nearest synthetic record is, as 1 / (1 + mean distance)",
            by_distance.dcr,
            variants={
                PAPER: {"encoding": _FAMD2, "form": "distance"},
                REFERENCE: {"encoding": _FAMD2, "side": "synthetic_to_real", "form": "log10"},
            },
            directions={PAPER: SAFER},
        ),
        Metric(
            "MDCR", "median distance to closest record",
            "how near the nearest synthetic record is in the median, against the nearest other original",
            by_distance.mdcr,
            variants={
                PAPER: {"encoding": _ZSCORE, "form": "sigmoid"},
                REFERENCE: {"encoding": _ZSCORE, "form": "one_minus_sigmoid"},
            },
            directions={PAPER: SAFER},
        ),
        Metric(
            "NNAA", "nearest neighbour adversarial accuracy (turned round)",
            "how often the nearest record is of the other table: 0.5 for two samples of one population, 1 for a copy",
            by_distance.nnaa,
            variants={PAPER: {"form": "paper"}, REFERENCE: {"encoding": Encoding("gower_pair")}},
        ),
        Metric(
            "MIR", "membership inference risk",
            "which share of the original's people a classifier takes for members, beside the same share of outsiders",
            learned.mir, needs=("holdout",), trained=True,
            variants={PAPER: {"members": "real"}, REFERENCE: {"members": "real", "form": "one_minus_recall"}},
            directions={PAPER: UNLIKE, REFERENCE: ALIKE},
        ),
        Metric(
            "MIA", "membership inference by distance",
            "how well nearness to the synthetic data tells the original's people from outsiders; 0.5 = not at all",
            learned.mia, needs=("holdout",), compared=False,
        ),
        Metric(
            "HiddR", "hidden rate", "which share of the original's records have their own synthetic record nearest",
            matches.hiddr, needs=("links",), compared=False,
            variants={
                PAPER: {"encoding": _FAMD2, "among": "first", "over": "synthetic"},
                REFERENCE: {"encoding": _FAMD2, "among": "first"},
            },
        ),
        Metric(
            "HitR", "hitting rate",
            "which share of the original's records have a synthetic one equal in categories and close in numbers",
            matches.hitr, variants={PAPER: {"form": "pairs"}},
        ),
    )
}  # fmt: skip


UNTRAINED = tuple(name for name, metric in METRICS.items() if not metric.trained)


def choose_metrics(names: Sequence[str] | None) -> list[Metric]:
    """The metrics of these names (any case), in the order given; all for None."""
    if names is None:
        return list(METRICS.values())
    known = {name.casefold(): metric for name, metric in METRICS.items()}
    unknown = [name for name in names if name.casefold() not in known]
    if unknown or not names:
        raise RiskError(f"no metric {unknown[0]!r}; known: {list(METRICS)}" if unknown else "name at least one metric")
    return list(dict.fromkeys(known[name.casefold()] for name in names))
