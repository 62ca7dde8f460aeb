"""The suite of risk measures for the best candidate of every run: result rows of all families (measures.csv)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from outrisk.errors import RiskError
from outrisk.risk.attacks.attack import CLASSIFIERS, check_encoding, choose_classifiers
from outrisk.risk.attacks.learners import NOMINAL
from outrisk.risk.privacy.registry import METRICS, UNTRAINED, choose_metrics


@dataclass(frozen=True)
class Suite:
    """What the study asks of the suite."""

    metrics: tuple[str, ...] = UNTRAINED  # privacy metrics that are measured
    sample: int | None = 1_000  # records of each table that these are asked about; None: all
    time_limit: float = 20.0  # seconds: of a privacy metric for each table attacked, of GCAP
    attacks: tuple[str, ...] = ()  # classifiers that are trained
    encoding: str = NOMINAL  # of the keys that these learn from


def metric_names(names: Sequence[str]) -> tuple[str, ...]:
    """Privacy metrics of these names as they are written; RiskError for one that is not known."""
    return tuple(metric.name for metric in choose_metrics(names)) if names else ()


def make_suite(
    metrics: Sequence[str] | str | None,
    sample: int | None,
    time_limit: float,
    attacks: Sequence[str] | str,
    encoding: str = NOMINAL,
) -> Suite:
    """The suite with metrics and classifiers by their names, 'all' for all; None for the metrics without training.

    RiskError names what is not known.
    """
    chosen = METRICS if metrics == "all" else UNTRAINED if metrics is None else metrics
    trained = CLASSIFIERS if attacks == "all" else attacks
    try:
        names = metric_names(list(chosen))
    except RiskError as error:
        raise RiskError(f"[privacy.metrics] {error}") from None
    try:
        check_encoding(encoding)
        return Suite(names, sample, time_limit, choose_classifiers(list(trained)) if trained else (), encoding)
    except RiskError as error:
        raise RiskError(f"[attacks] {error}") from None
