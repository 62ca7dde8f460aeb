"""Disclosure measures: what synthetic data give away about the people behind them, whatever tool made the data."""

from outrisk.risk.attacks.attack import CLASSIFIERS, AttackResult, attack
from outrisk.risk.attribution.definitions import (
    Attribution,
    AttributionOverOriginal,
    DifferentialAttribution,
    attribution_over_original,
    baseline,
    cap_original,
    differential_attribution,
    key_sets,
    mean_weap,
    targeted_attribution,
)
from outrisk.risk.attribution.family import CapResult, cap
from outrisk.risk.attribution.one_key_set import DcapResult, TcapResult, dcap, tcap, weap
from outrisk.risk.attribution.over_key_sets import MEASURES, Scores, average, marginal, score
from outrisk.risk.coding.classes import SIDES, Coding, Equivalence, code_frames, code_microdata, cross
from outrisk.risk.intervals.jackknife import Estimate, combine
from outrisk.risk.privacy import Encoding, privacy_metric, privacy_metrics
from outrisk.risk.synthpop.disclosure import Disclosure, disclosure
from outrisk.risk.synthpop.options import RiskWarning
from outrisk.risk.synthpop.targets import MultiDisclosure, multi_disclosure

__all__ = [
    "CLASSIFIERS",
    "MEASURES",
    "SIDES",
    "AttackResult",
    "Attribution",
    "AttributionOverOriginal",
    "CapResult",
    "Coding",
    "DcapResult",
    "DifferentialAttribution",
    "Disclosure",
    "Encoding",
    "Equivalence",
    "Estimate",
    "MultiDisclosure",
    "RiskWarning",
    "Scores",
    "TcapResult",
    "attack",
    "attribution_over_original",
    "average",
    "baseline",
    "cap",
    "cap_original",
    "code_frames",
    "code_microdata",
    "combine",
    "cross",
    "dcap",
    "differential_attribution",
    "disclosure",
    "key_sets",
    "marginal",
    "mean_weap",
    "multi_disclosure",
    "privacy_metric",
    "privacy_metrics",
    "score",
    "targeted_attribution",
    "tcap",
    "weap",
]
