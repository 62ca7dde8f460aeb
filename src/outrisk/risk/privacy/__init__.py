"""The privacy metrics for synthetic data of the review by Trudslev and others (arXiv 2507.11324), and two more."""

from outrisk.risk.intervals.scores import Score
from outrisk.risk.privacy.columns import Encoding
from outrisk.risk.privacy.encodings import ENCODINGS
from outrisk.risk.privacy.metrics import privacy_metric, privacy_metrics
from outrisk.risk.privacy.registry import METRICS, VARIANTS, Metric

__all__ = ["ENCODINGS", "METRICS", "VARIANTS", "Encoding", "Metric", "Score", "privacy_metric", "privacy_metrics"]
