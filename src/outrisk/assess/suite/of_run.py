"""The suite of risk measures for the best candidate of every run, beside the headline measures of `summary`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from outrisk.assess.folds import Fold
from outrisk.assess.suite import privacy_rows as privacy
from outrisk.assess.suite import synthpop_rows as disclosure
from outrisk.assess.suite.cap_rows import ATTACK_COLUMNS, CAP_COLUMNS, attack_rows, cap_rows, code_fold
from outrisk.errors import RiskError
from outrisk.microdata import Microdata
from outrisk.risk.attacks.attack import CLASSIFIERS, choose_classifiers
from outrisk.risk.attribution.over_key_sets import Scores
from outrisk.risk.privacy import METRICS

COLUMNS: Mapping[str, list[str]] = {
    "disclosure": disclosure.COLUMNS,
    "cap": CAP_COLUMNS,
    "attacks": ATTACK_COLUMNS,
    "privacy": privacy.COLUMNS,
}


@dataclass(frozen=True)
class Suite:
    """What the study asks of the suite."""

    metrics: tuple[str, ...] = privacy.UNTRAINED  # privacy metrics that are measured
    sample: int | None = 1_000  # records of each table that these are asked about; None: all
    time_limit: float = 20.0  # seconds: of a privacy metric for each table attacked, of GCAP
    attacks: tuple[str, ...] = ()  # classifiers that are trained


def make_suite(
    metrics: Sequence[str] | str | None, sample: int | None, time_limit: float, attacks: Sequence[str] | str
) -> Suite:
    """The suite with metrics and classifiers by their names, 'all' for all; None for the metrics without training.

    RiskError names what is not known.
    """
    chosen = METRICS if metrics == "all" else privacy.UNTRAINED if metrics is None else metrics
    trained = CLASSIFIERS if attacks == "all" else attacks
    try:
        names = privacy.chosen_metrics(list(chosen))
    except RiskError as error:
        raise RiskError(f"[privacy.metrics] {error}") from None
    try:
        return Suite(names, sample, time_limit, choose_classifiers(list(trained)) if trained else ())
    except RiskError as error:
        raise RiskError(f"[attacks] {error}") from None


@dataclass(frozen=True, eq=False)
class Candidate:
    """The synthetic data that a run releases, and what they are measured against."""

    synthetic: Microdata
    fold: Fold
    first: bool  # whether its run is the fold's first
    keys: tuple[str, ...]
    key_sets: tuple[tuple[str, ...], ...]
    scores: Scores  # of all key sets
    groups: int  # of the jackknife
    seed: int


def measure(suite: Suite, candidate: Candidate, halted: Callable[[], bool]) -> dict[str, list[dict[str, Any]]]:
    """Rows of each file of COLUMNS; fewer files where the study was halted."""
    synthetic, fold, keys, target = candidate.synthetic, candidate.fold, candidate.keys, candidate.scores.target
    coding = code_fold(synthetic, fold, keys, target)
    steps: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "disclosure": lambda: disclosure.disclosure_rows(
            synthetic, fold, keys, target, candidate.groups, candidate.seed
        ),
        "cap": lambda: cap_rows(coding, candidate.key_sets, keys, candidate.scores, suite.time_limit),
        "attacks": lambda: attack_rows(coding, keys, target, suite.attacks, candidate.seed),
        "privacy": lambda: privacy.privacy_rows(
            synthetic,
            fold,
            keys,
            target,
            candidate.seed,
            suite.metrics,
            suite.sample,
            suite.time_limit,
            candidate.first,
        ),
    }
    return {name: step() for name, step in steps.items() if not halted()}
