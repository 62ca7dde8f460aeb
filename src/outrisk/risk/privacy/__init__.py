"""The privacy metrics for synthetic data of the review by Trudslev and others (arXiv 2507.11324), and two more."""

from outrisk.risk.privacy.columns import Encoding
from outrisk.risk.privacy.encodings import ENCODINGS
from outrisk.risk.privacy.registry import METRICS, VARIANTS, Metric
from outrisk.risk.privacy.run import privacy_metric, privacy_metrics
from outrisk.risk.privacy.score import Score

__all__ = ["ENCODINGS", "METRICS", "VARIANTS", "Encoding", "Metric", "Score", "privacy_metric", "privacy_metrics"]
