"""The report's answer in words, and what limits it; evidence only, the decision is the output checker's."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from outrisk.records.results import LEADING, Results, find, marginal
from outrisk.records.schema import Estimate, Level, Run
from outrisk.report import formats

_TCAP = "targeted correct attribution probability (TCAP)"
_DIFFERENCE = "TCAP, original less holdout"  # which is not the marginal risk of the verdict
_COUNTING = {
    LEADING: "leaving out synthetic records whose keys nobody has",
    "tcap_zero": "counting synthetic records whose keys nobody has as wrong",
}
_MOST_WORDS = 60  # of a sentence on page one


@dataclass(frozen=True)
class Figure:
    """A headline number with what it is and how to read it."""

    name: str
    value: str
    note: str


def in_short(results: Results) -> list[str]:
    """The answer, one paragraph an item."""
    return [_unbroken(paragraph) for paragraph in _paragraphs(results)]


def briefly(results: Results) -> list[str]:
    """The answer in two or three paragraphs: what is certain first, then what was measured."""
    said = [assessed(results)]
    if results.risk.outright:
        said.append(formats.sentences(results.risk.outright, _MOST_WORDS) or results.risk.outright)
    if not results.runs:
        return [*said, _paragraphs(results)[-1]]
    return [_unbroken(paragraph) for paragraph in (*said, _risk(results)[0])]


def _unbroken(text: str) -> str:
    """Without line breaks inside numbers such as `1.2e-05` and `66.6 %`."""
    return re.sub(r"(?<=\de)-(?=\d)", "\N{NON-BREAKING HYPHEN}", text.replace(" %", "\N{NO-BREAK SPACE}%"))


def _paragraphs(results: Results) -> list[str]:
    if not results.runs:
        return [
            assessed(results),
            "No run has finished, so nothing can be said yet about how well the released numbers can be reproduced or "
            "about the risk of releasing them. That is missing evidence, not evidence of a low risk.",
        ]
    return [assessed(results), _reproduced(results.runs), *_risk(results), _decision(results)]


def headlines(results: Results) -> list[Figure]:
    """The numbers beside the answer; none where no run has finished."""
    if not results.runs:
        return []
    complete = sum(run.matched == run.numbers for run in results.runs)
    total = len(results.runs)
    figures = [
        Figure(
            "Runs that reproduced every released number",
            f"{complete} of {total}",
            f"at printed precision; {_near(results.runs)}",
        )
    ]
    lead = results.lead
    if lead is None:
        own = find(next(fold for fold in results.risk.folds if fold.runs).estimates, LEADING, "original")
        note = f"{_TCAP}, non-matches undefined; 95 % interval {formats.interval(own.low, own.high)}"
        figures.append(Figure("Attributions right about people in the data", formats.share(own.value), note))
        figures.append(Figure(_DIFFERENCE, "not measured", "there is no holdout"))
        return figures
    original, holdout = (find(lead.estimates, LEADING, side) for side in ("original", "holdout"))
    both = f"{formats.share(original.value)} / {formats.share(holdout.value)}"
    figures.append(
        Figure("Attributions right, people in the data / holdout", both, f"{_TCAP}, {formats.CONVENTIONS[LEADING]}")
    )
    for measure, words in formats.CONVENTIONS.items():
        found = marginal(lead, measure)
        note = f"95 %: {formats.interval(found.low, found.high, sign=True)}"
        figures.append(Figure(f"{_DIFFERENCE}, {words}", formats.signed(found.value), note))
    return figures


def warnings(results: Results) -> list[str]:
    """What a reader must know before the numbers."""
    manifest, found = results.manifest, []
    if manifest.runs_done < manifest.runs_planned:
        done = f"{manifest.runs_done} of {formats.plural(manifest.runs_planned, 'planned run')}"
        found.append(
            f"The study's time limit of {formats.seconds(manifest.time_limit or 0)} ended it after {done}: how many "
            "there are was decided by the speed of the machine. The report covers the finished runs only; with a "
            "longer limit the same command goes on."
            if manifest.late
            else f"This study was interrupted after {done}. The report covers the finished runs only."
        )
    cut = [run for run in results.runs if run.stop == "time"]
    if cut:
        found.append(
            f"{formats.plural(len(cut), 'run')} of {len(results.runs)} ended at the time limit of "
            f"{formats.seconds(manifest.run_time_limit or 0)}: how near they came to the released numbers was decided "
            "by the speed of the machine, and will differ another time."
        )
    failed = [run for run in results.runs if math.isnan(run.mae) or math.isinf(run.mae)]
    if failed:
        found.append(
            f"In {formats.plural(len(failed), 'run')} the released analysis could not be refitted on the synthetic "
            "data: its error is undefined, and its risk figures are not those of data that reproduce the release. "
            + next((f"The first reason given: {why}." for run in failed for why in run.failures), "")
        )
    return found


def assessed(results: Results) -> str:
    """What was assessed, and what an intruder is taken to know, in two sentences."""
    risk = results.risk
    numbers = formats.plural(sum(output.numbers for output in risk.outputs), "released number")
    kinds = formats.names(sorted({output.kind for output in risk.outputs}))
    records, whose = _records(results), f" of {risk.whose}" if risk.whose else ""
    if not risk.outputs:
        return f"The study “{results.manifest.study}” was to assess released outputs; none has been assessed yet."
    return (
        f"The study “{results.manifest.study}” assesses {formats.plural(len(risk.outputs), 'output')} ({kinds}; "
        f"{numbers}){f' computed from {records:,} records{whose}' if records else ''}. An intruder is taken to know "
        f"{formats.names(risk.keys)} of a person, and to want to learn {risk.wanted}."
    )


def _records(results: Results) -> int | None:
    whole = [fold.n_original for fold in results.risk.folds if fold.fold == "whole"]
    data = [source.records for source in results.manifest.inputs if source.what == "data"]
    return whole[0] if whole else data[0] if data else None


def _reproduced(runs: Sequence[Run]) -> str:
    complete = [run for run in runs if run.matched == run.numbers]
    start = "Using nothing but the released numbers and the codebook, synthetic data were made in "
    start += formats.plural(len(runs), "run") + ". "
    worst = max((run.mae for run in runs if math.isfinite(run.mae)), default=math.nan)
    mae = f"mean absolute error (MAE) of {formats.error(worst)}" + (" at most" if len(runs) > 1 else "")
    if len(complete) == len(runs):
        every = "In every run they" if len(runs) > 1 else "They"
        return f"{start}{every} reproduce all released numbers at their printed precision, with a {mae}."
    least = min((run for run in runs if run.matched < run.numbers), key=lambda run: run.matched / run.numbers)
    how_many = f"Of these, {len(complete):,}" if complete else "Not one of these"
    return (
        f"{start}{how_many} reproduced all released numbers at their printed precision; in the worst run "
        f"{least.matched:,} of {least.numbers:,} numbers were reproduced (MAE up to {formats.error(worst)}); "
        f"{_near(runs)}. {_left(runs)} (see [[extrapolation]])."
    )


def _left(runs: Sequence[Run]) -> str:
    """What it means for the risk that not all numbers are at their digits."""
    if all(run.near == run.numbers for run in runs):
        return (
            "Nearer than that, no change of the risk was found where it was looked for (docs/reproduced.md); what "
            "this study's own runs say of it is in the figures"
        )
    return (
        "Data that come closer to the released numbers may give away more, so the risk stated here may be understated"
    )


def _near(runs: Sequence[Run]) -> str:
    """In how many runs all numbers are within 1 % of their sampling error."""
    near = sum(run.near == run.numbers for run in runs)
    return f"within 1 % of their sampling error in {near:,} of {len(runs):,}"


def _risk(results: Results) -> list[str]:
    lead = results.lead
    if lead is None:
        return [_without_holdout(results)]
    held = results.folds_of(lead.level)[0]
    if lead.level == 1:
        place = f"On the whole data, read against a holdout of {held.n_holdout:,} records"
    else:
        place = f"On {formats.level_name(lead.level)}, each read against its counterpart as the holdout"
    others = [level for level in results.risk.levels if level.level > lead.level and results.folds_of(level.level)]
    shown = {measure: _above(marginal(lead, measure)) for measure in _COUNTING}
    paragraphs: list[str] = []
    for measure in sorted(_COUNTING, key=lambda measure: not shown[measure]):  # evidence of a risk comes first
        start = f"{place}" if not paragraphs else "The same"
        said = f"{start}, {_COUNTING[measure]}: {compare(lead, measure)}"
        if paragraphs and len(set(shown.values())) > 1:
            said += " The two ways of counting do not agree; a risk that one of them shows is not undone by the other."
        paragraphs.append(said + "".join(_other(level, measure) for level in others))
    return paragraphs


def compare(level: Level, measure: str) -> str:
    """One sentence or two on original against holdout, in percentage points, as far as the interval allows."""
    original, holdout = (find(level.estimates, measure, side) for side in ("original", "holdout"))
    found = marginal(level, measure)
    if math.isnan(found.value):
        why = found.reason or "no reason given"
        return f"the difference of TCAP is undefined ({why}); that does not mean a low risk."
    right = (
        f"{formats.points(original.value)} % of attributions are right about people in the data, and "
        f"{formats.points(holdout.value)} % about people who are not"
    )
    difference = f"{formats.points(found.value)} percentage points"
    if math.isnan(found.low) or math.isnan(found.high):
        why = found.reason or "no reason given"
        return f"{right}. The difference, {difference}, has no interval ({why}), so it cannot be told from chance."
    limits = f"95 % interval {formats.points(found.low)} to {formats.points(found.high)}"
    if _above(found):
        return (
            f"the synthetic data are right about people in the data {difference} more often than about people who are "
            f"not ({limits}): {right}."
        )
    room = f" A difference of up to {formats.points(found.high)} points is not ruled out." if found.high > 0 else ""
    return (
        "by this measure there is no evidence that the release tells more about the people in the data than about "
        "people who are not: "
        f"{right}; the difference is {difference} ({limits}).{room}"
    )


def _other(level: Level, measure: str) -> str:
    found, place = marginal(level, measure), formats.level_name(level.level)
    if math.isnan(found.value):
        return f" On {place} the difference is undefined ({found.reason or 'no reason given'})."
    limits = f"interval {formats.points(found.low)} to {formats.points(found.high)}"
    if math.isnan(found.low) or math.isnan(found.high):
        limits = "no interval"
    above = ", wholly above 0" if _above(found) else ""
    return f" On {place} the difference is {formats.points(found.value)} points ({limits}{above})."


def _without_holdout(results: Results) -> str:
    fold = next(fold for fold in results.risk.folds if fold.runs)
    own, base = (find(fold.estimates, measure, "original") for measure in (LEADING, "baseline"))
    if math.isnan(own.value):
        said = f"How often attributions are right is undefined ({own.reason or 'no reason given'})."
    else:
        said = f"Attributions made with the synthetic data are right for {formats.points(own.value)} %."
        if not math.isnan(base.value):
            said += f" Guessing from the distribution of {results.risk.wanted} alone would be right for "
            said += f"{formats.points(base.value)} %."
    return (
        "The marginal risk could not be measured, because these runs have no holdout: no people of the same "
        f"population who were left out of the data. {said} How much of this the release tells about the people in the "
        "data, and how much holds for anybody in the population, cannot be told apart without a holdout."
    )


def _decision(results: Results) -> str:
    return (
        f"This is evidence on one kind of risk: learning {results.risk.wanted} about a person "
        "from these keys. "
        "Whether the output can be released is the output checker's decision; [[reading]] lists what is not covered."
    )


def _above(estimate: Estimate) -> bool:
    return estimate.low > 0
