"""A verdict in words: the sentence, what led to it, and what would settle or change it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from outrisk.assess.look.contributions import DOMINANCE
from outrisk.assess.look.finding import NOT_SAID, NOT_SEEN, Found, everybody_of, people, plural
from outrisk.assess.verdict.more_runs import WORTH, narrowed_by_runs
from outrisk.records.schema import (
    CANNOT_TELL,
    DISCLOSIVE,
    FOUND,
    NOT_FOUND,
    NOT_REPRODUCED,
    READS_LOWER,
    Limit,
    NotReproduced,
    Unmet,
    in_words,
)

if TYPE_CHECKING:
    from outrisk.assess.verdict.decide import Evidence

_STANDS = {"above": "above the margin", "below": "below the margin", "open": "on both sides of the margin"}
_NAMED = 6  # outputs of a line


@dataclass(frozen=True, eq=False)
class Facts:
    """What is to be said. broken: findings about people that do not lead to 'disclosive'. whole: what folds say."""

    evidence: Evidence
    verdict: str
    people: int
    certain: Sequence[Found]
    broken: Sequence[Found]
    limits: Sequence[Limit]
    up_to: float
    whole: str


def sentence(facts: Facts) -> str:
    """The verdict with its number; then what is proved to a stronger intruder, rules of the environment that are broken
    besides, outputs that no rule can read, and where everybody knows more than the study says.
    """
    said = {
        DISCLOSIVE: _disclosive,
        FOUND: _found,
        NOT_REPRODUCED: _not_reproduced,
        NOT_FOUND: _not_found,
        CANNOT_TELL: _cannot_tell,
    }[facts.verdict](facts)
    if facts.evidence.beyond:
        said = f"{said} {facts.evidence.beyond}"
    if facts.broken:
        rules = ", ".join(dict.fromkeys(finding.rule for finding in facts.broken))
        said = f"{said} The direct look has {plural(len(facts.broken), 'further finding')} ({rules})."
    if unseen := [finding.output for finding in facts.evidence.findings if finding.rule == NOT_SEEN]:
        said = f"{said} The direct look could not read {plural(len(unseen), 'output')} (“{unseen[0]}”)."
    first = {finding.rule: finding.what.partition(":")[0] for finding in reversed(_not_said(facts))}
    if first:
        also = "; ".join(f"{what[0].lower()}{what[1:]}" for what in first.values())
        said = f"{said} {READS_LOWER}: {also}."
    return said


def _not_said(facts: Facts) -> list[Found]:
    return [finding for finding in facts.evidence.findings if finding.rule in NOT_SAID]


def _disclosive(facts: Facts) -> str:
    evidence = facts.evidence
    if not facts.certain:
        return f"Disclosive: {evidence.proved[1]}"
    allowed = f", more than the {evidence.appetite.people:,} of the appetite" if evidence.appetite.people else ""
    if len(evidence.proved[0]):
        allowed = f". {evidence.proved[1]} Together that is {people(facts.people)}{allowed}"
    old = [finding for finding in facts.certain if finding.already == finding.people]
    new = [finding for finding in facts.certain if finding.already < finding.people]
    if not old:
        return f"Disclosive: {_told(new, 'the release tells', evidence)}{allowed}."
    if new:
        first = _told(new, "the new outputs, with what is already released, tell", evidence)
        return f"Disclosive: {first}; by itself {_told(old, 'what is already released tells', evidence)}{allowed}."
    return (
        f"Disclosive by what is already released: {_told(old, 'it tells', evidence)}; the direct look finds nothing "
        f"that the new outputs add to this{allowed}."
    )


def _told(findings: Sequence[Found], tells: str, evidence: Evidence) -> str:
    """What leads to 'disclosive', and where."""
    said = []
    if certain := [finding for finding in findings if finding.certain]:
        about = ", ".join(dict.fromkeys(finding.about or "a value" for finding in certain))
        said.append(f"{tells} {about} of {_people(certain)} {_how_surely(certain, evidence)}")
    if others := [finding for finding in findings if not finding.certain]:
        rules = ", ".join(dict.fromkeys(finding.rule for finding in others))
        said.append(f"it breaks rules of the environment ({rules}) for {_people(others)}")
    outputs = list(dict.fromkeys(finding.output for finding in findings))
    more = f" and {len(outputs) - 1:,} more" if len(outputs) > 1 else ""
    return f"{', and '.join(said)} (“{outputs[0]}”{more})"


def _people(findings: Sequence[Found]) -> str:
    return people(len(everybody_of(findings)))


def _how_surely(certain: Sequence[Found], evidence: Evidence) -> str:
    near = f"to within {100 * evidence.appetite.safe_pratio_p:g} %"
    dominated = [finding.rule == DOMINANCE for finding in certain]
    return near if all(dominated) else f"for certain or {near}" if any(dominated) else "for certain"


def _found(facts: Facts) -> str:
    above = max((limit for limit in facts.limits if limit.says == "above"), key=lambda limit: limit.low)
    return (
        f"Marginal risk found: {words(above, facts.evidence.target)} {number(above.difference)} more for people in the "
        f"data than for people who are not (at least {number(above.low)}; the margin is {above.margin:g})."
    )


def _not_found(facts: Facts) -> str:
    sets = len(facts.evidence.levels[0].sets)
    return (
        f"No marginal risk found, up to {rounded_up(facts.up_to)}: at {plural(sets, 'key set')}, what the release "
        f"tells of people in the data is at most {rounded_up(facts.up_to)} more than what it tells of people who are "
        f"not (the margin is {facts.evidence.appetite.margin:g})."
    )


def _not_reproduced(facts: Facts) -> str:
    missed = facts.evidence.missed
    first = missed[0]
    more = f" and {plural(len(missed) - 1, 'other output')}" if len(missed) > 1 else ""
    return (
        f"Not reproduced: the synthetic data did not reach “{first.output}”{more} (in the worst run {first.matched:,} "
        f"of {first.numbers:,} numbers of it at their digits, {first.near:,} to 1 % of their sampling error), so the "
        "risk that was measured may be less than what the release gives away."
    )


def _cannot_tell(facts: Facts) -> str:
    evidence = facts.evidence
    if not evidence.runs_done:
        return "Cannot tell: no run has finished."
    if not facts.limits:
        return (
            "Cannot tell: there is no holdout, so what the release tells of people in the data cannot be told from "
            "what it tells of anybody."
        )
    widest = max((limit for limit in facts.limits if limit.says != "below"), key=lambda limit: _height(limit.high))
    others = {finding.advice for finding in _not_said(facts)}  # which do not narrow the limits
    advice = next((each for each in settle(facts) if each not in others), "")
    return (
        f"Cannot tell: {words(widest, evidence.target)} {number(widest.difference)} more for people in the data than "
        f"for people who are not, but anything from {number(widest.low)} to {number(widest.high)} agrees with the "
        f"runs, and the margin is {widest.margin:g}.{' ' + advice if advice else ''}"
    )


def _height(value: float) -> float:
    return math.inf if math.isnan(value) else value


def words(limit: Limit, target: str) -> str:
    """What a marginal risk is of, as the start of a sentence that goes on with its number."""
    keys = limit.keys.replace("+", ", ")
    place = f"knowing {keys}, " if keys else "on average over key sets, "
    return {
        "attribution": f"{place}what the release tells of {target} is worth",
        "existence": f"{place}what the release tells of whether anybody has such keys is worth",
        "dcap": f"{place}{target} is guessed rightly with a probability that is by",
        "register": f"knowing {keys} of everybody, {target} is guessed rightly for a share of people that is by",
        "estimate_mean": f"{place}the mean of the people shown estimates {target} for a share of people that is by",
        "estimate_median": f"{place}the median of the people shown estimates {target} for a share of people that is by",
        "right": f"{place}all that the release shows agrees with {target} of a share of people that is by",
    }.get(
        limit.measure, f"knowing all keys, {target} is inferred rightly run after run for a share of people that is by"
    )


def reasons(facts: Facts) -> Iterator[str]:
    """What led to the verdict and what else was found, the worst first."""
    for finding in facts.certain:
        yield f"{finding.output}: {finding.what}"
    if len(facts.evidence.proved[0]):
        yield facts.evidence.proved[1]
    if facts.evidence.beyond:
        yield facts.evidence.beyond
    order = {"above": 0, "open": 1, "below": 2}
    short = ", but not all outputs were reproduced" if facts.evidence.missed else ""
    for limit in sorted(facts.limits, key=lambda limit: order[limit.says]):
        yield (
            f"{limit.measure}, {limit.over}{f' ({limit.keys})' if limit.keys else ''}: {number(limit.original)} for "
            f"people in the data, {number(limit.holdout)} for people who are not; difference "
            f"{number(limit.difference)} ({number(limit.low)} to {rounded_up(limit.high)}); "
            f"{_STANDS[limit.says]} {limit.margin:g}{short * (limit.says != 'above')}"
        )
    yield from _missed(facts.evidence.missed)
    yield from (finding.what for finding in _not_said(facts))
    for finding in facts.broken:
        yield f"{finding.output} ({finding.rule}): {finding.what}"


def _missed(missed: Sequence[NotReproduced]) -> Iterator[str]:
    """A line for each reason, with the outputs that it is the reason of."""
    alike: dict[str, list[NotReproduced]] = {}
    for each in missed:
        alike.setdefault(each.why.removeprefix(f"output {each.output!r}: "), []).append(each)
    for why, outputs in alike.items():
        names, most = [each.output for each in outputs], max(each.runs for each in outputs)
        said = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
        were = "was not reproduced in" if len(names) == 1 else "were not reproduced in up to"
        yield f"{said} {were} {plural(most, 'run')}: {why}"


def settle(facts: Facts) -> Iterator[str]:
    """What would settle the verdict, or change it; then numbers that no data set has."""
    yield from _settle(facts)
    yield from (f"{each.output}, {each.number}: {each.why}." for each in _contrary(facts))


def _contrary(facts: Facts) -> list[Unmet]:
    return [each for each in facts.evidence.unmet if each.reason == "conflict"]


def _settle(facts: Facts) -> Iterator[str]:
    evidence = facts.evidence
    if facts.verdict == DISCLOSIVE:
        new = [finding for finding in facts.certain if finding.already < finding.people]
        yield from dict.fromkeys(finding.advice for finding in new if finding.advice)
        if not new and facts.certain:
            yield "Leaving the new outputs out, or changing them, does not change what is already released."
    yield from (finding.advice for finding in _not_said(facts))
    if {each.output for each in evidence.missed} - {each.output for each in _contrary(facts)}:
        yield (
            "A longer search would settle what is not reproduced (study file, evolve: patience or generations; where a "
            "run_time_limit ended runs, a longer one)."
        )
    if not evidence.levels:
        yield "A holdout, or folds of 2 (study: folds: [1, 2]), would let the marginal risk be measured."
        return
    lead = evidence.levels[0]
    if any(limit.says == "open" for limit in facts.limits):
        if lead.runs < 2:
            yield "More runs than 1 would show, and narrow, what comes from the search's chance."
        elif (narrower := narrowed_by_runs(lead)) > WORTH:
            yield (
                f"More runs than {lead.runs} (study: runs) would narrow the widest limits, by up to "
                f"{100 * narrower:.0f} %: so much of them is the search's chance."
            )
        if lead.not_crossed:
            yield (
                f"A holdout that can be crossed with the data would narrow the limits; this one cannot: "
                f"{lead.not_crossed}."
            )
        elif lead.level > 2:
            yield "Fewer, larger folds (study: folds: [1, 2]) would narrow the limits."
        else:
            yield (
                "A holdout, or more people, would narrow the limits: they rest on "
                f"{in_words((lead.n_original, lead.n_holdout), lead.whose)}."
            )
    if lead.level > 1 and facts.verdict == FOUND:
        yield "A holdout of people of the same population would say how much of this holds for all records together."
    if facts.verdict == NOT_FOUND:
        yield "Another output released beside these would change what they tell together: assess them together."
        yield f"A margin below {rounded_up(facts.up_to)} would not be met."


def number(value: float) -> str:
    """To three decimals; what rounds to nothing has no sign."""
    return f"{value:z.3f}"


def rounded_up(value: float) -> str:
    """To three decimals, never below the value."""
    if not math.isfinite(value):
        return number(value)
    return f"{math.ceil(value * 1000 - 1e-9) / 1000:z.3f}"
