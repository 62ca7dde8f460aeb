"""Disclosure measures: what synthetic data give away about the people behind them, whatever tool made the data."""

from outrisk.risk.attacks import CLASSIFIERS, AttackResult, attack
from outrisk.risk.cap import (
    Attribution,
    AttributionOverOriginal,
    DifferentialAttribution,
    attribution,
    attribution_over_original,
    baseline,
    cap_original,
    differential_attribution,
    key_sets,
    mean_weap,
)
from outrisk.risk.disclosure import Disclosure, disclosure
from outrisk.risk.equivalence import Coding, Equivalence, code_frames, code_microdata, cross
from outrisk.risk.family import CapResult, cap
from outrisk.risk.jackknife import (
    MEASURES,
    SIDES,
    Estimate,
    Scores,
    average,
    combine,
    marginal,
    score,
)
from outrisk.risk.multi import MultiDisclosure, multi_disclosure
from outrisk.risk.options import RiskWarning
from outrisk.risk.privacy import Encoding, privacy_metric, privacy_metrics
from outrisk.risk.single import TcapResult, dcap, tcap, weap

__all__ = [
    "CLASSIFIERS",
    "MEASURES",
    "SIDES",
    "AttackResult",
    "Attribution",
    "AttributionOverOriginal",
    "CapResult",
    "Coding",
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
    "attribution",
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
    "tcap",
    "weap",
]
