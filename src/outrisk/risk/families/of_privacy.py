"""The privacy metrics for synthetic data: a row for every metric, measured or with the reason why not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from outrisk.errors import RiskError
from outrisk.risk.coding.classes import Coding
from outrisk.risk.coding.with_numbers import from_coding
from outrisk.risk.families.question import Family, Question
from outrisk.risk.privacy.metrics import measure_tables, metric_rows
from outrisk.risk.privacy.registry import DEFAULT, METRICS
from outrisk.risk.rows import Row, joined


def _rows(coding: Coding, question: Question) -> Sequence[Row]:
    found: dict[str, Row] = {}
    try:
        if question.metrics:
            frame = measure_tables(
                from_coding(coding), keys=question.keys, target=question.target, metrics=question.metrics,
                sample=question.sample, time_limit=question.time_limit, seed=question.seed, threads=1,
                worst_case=question.worst_case,
            )  # fmt: skip
            found = {row.measure: row for row in metric_rows(frame, question.keys, question.target, coding.lengths)}
    except RiskError as error:
        found = {name: _without(question, name, "failed", str(error)) for name in _names(question.metrics)}
    return [found.get(name) or _without(question, name, _why_not(metric), "")
            for metric, name in zip(METRICS, _names(METRICS), strict=True)]  # fmt: skip


def _names(metrics: Iterable[str]) -> list[str]:
    return [METRICS[metric].row_name for metric in metrics]


def _without(question: Question, name: str, reason: str, detail: str) -> Row:
    metric = next(metric for metric in METRICS.values() if metric.row_name == name)
    place = Row(family="privacy", measure=name, keys=joined(question.keys), target=question.target, sets=1,
                direction=metric.runs(DEFAULT), reason=reason, detail=detail)  # fmt: skip
    return place


def _why_not(name: str) -> str:
    return "trained_not_asked" if METRICS[name].trained else "not_asked"


FAMILY = Family("privacy", "Privacy metrics for synthetic data", _rows, lambda question: _names(METRICS))
