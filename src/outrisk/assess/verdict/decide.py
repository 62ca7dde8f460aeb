"""One of five verdicts, from what is certain, what was measured, and what was not reproduced."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from outrisk.appetite import Appetite
from outrisk.assess.look.finding import DIFFERS, NOBODY, NOT_SEEN, Found, Rows, everybody_of
from outrisk.assess.people import EVERYBODY
from outrisk.assess.verdict import wording
from outrisk.assess.verdict.by_level import PERMUTATIONS, LevelRisk
from outrisk.assess.verdict.from_folds import dose_of, of_the_whole
from outrisk.assess.verdict.of_outputs import of_outputs
from outrisk.records.schema import (
    CANNOT_TELL,
    DISCLOSIVE,
    FOUND,
    NOT_FOUND,
    NOT_REPRODUCED,
    Basis,
    Decision,
    Held,
    Limit,
    NotReproduced,
    PeopleCount,
    Unmet,
)

ABOVE, BELOW, OPEN = "above", "below", "open"
MEAN, ALL_KEYS, WORST, PEOPLE = "mean over key sets", "all keys", "worst key set", "people"


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that a verdict rests on. levels: that of the verdict first; none without a holdout. proved: records whose
    target the intruder of the appetite can prove, and that in words. guessed: what an intruder with a register
    guesses rightly, which counts where the appetite asks about this intruder. intruders: what is found of others than
    that of the codebook, in sentences. beyond: what is proved to them, where the appetite does not ask about them.
    """

    study: str
    target: str
    keys: tuple[str, ...]
    appetite: Appetite
    outputs: Mapping[str, tuple[str, ...]]  # name -> its variables but the target
    findings: Sequence[Found]
    levels: Sequence[LevelRisk]
    people: Sequence[PeopleCount]
    missed: tuple[NotReproduced, ...]
    runs_done: int
    proved: tuple[Rows, str] = (NOBODY, "")
    guessed: Limit | None = None
    intruders: tuple[str, ...] = ()
    unmet: tuple[Unmet, ...] = ()
    beyond: str = ""


def decide(evidence: Evidence) -> Decision:
    """The verdict, by the first of these that holds.

    Disclosive: findings that are certain, or proofs, concern more people than the appetite's. Marginal risk found: a
    lower limit is above the margin. Not reproduced: an output was missed by some run, so that risk is understated. No
    marginal risk found: every upper limit is below the margin. Cannot tell: all else.
    """
    certain = _told(evidence.findings, evidence.appetite, evidence.keys)
    people = len(np.union1d(everybody_of(certain), evidence.proved[0]))
    limits = limits_of(evidence)
    verdict = _verdict(evidence, people, limits)
    up_to = max(limit.high for limit in limits) if verdict == NOT_FOUND else math.nan
    dose = dose_of(evidence.levels, _shown_at(evidence, limits))
    broken = [finding for finding in evidence.findings if finding not in certain and finding.people]
    facts = wording.Facts(evidence, verdict, people, certain, broken, limits, up_to, of_the_whole(dose))
    return Decision(
        verdict=verdict,
        up_to=up_to,
        sentence=wording.sentence(facts),
        study=evidence.study,
        target=evidence.target,
        keys=evidence.keys,
        held_against=Held(
            evidence.appetite.margin,
            evidence.levels[0].judged if evidence.levels else evidence.appetite.measure,
            evidence.appetite.people,
            evidence.appetite.intruder,
            evidence.appetite.rules_are_disclosive,
        ),
        people=people,
        rules_broken=len(broken),
        reasons=tuple(wording.reasons(facts)),
        settle=tuple(wording.settle(facts)),
        basis=_basis(evidence.levels),
        limits=tuple(limits),
        not_reproduced=evidence.missed,
        halves=facts.whole,
        dose=tuple(dose),
        outputs=tuple(of_outputs(evidence, certain)),
        intruders=evidence.intruders,
        unmet=evidence.unmet,
    )


def are_disclosive(findings: Sequence[Found], appetite: Appetite, keys: Sequence[str]) -> bool:
    """Whether findings alone make a release disclosive, whatever the runs find."""
    return len(everybody_of(_told(findings, appetite, keys))) > appetite.people


def _told(findings: Sequence[Found], appetite: Appetite, keys: Sequence[str]) -> list[Found]:
    """The findings that count for 'disclosive': certain (or the environment's rules are to decide), and about something
    that the intruder is not taken to know already.
    """
    rules = appetite.rules_are_disclosive
    counting = [each for each in findings if each.certain or (rules and each.rule not in (NOT_SEEN, DIFFERS))]
    return [each for each in counting if each.people > 0 and each.about not in keys]


def _verdict(evidence: Evidence, people: int, limits: Sequence[Limit]) -> str:
    says = {limit.says for limit in limits}
    if people > evidence.appetite.people:
        return DISCLOSIVE
    if ABOVE in says:
        return FOUND
    if evidence.missed:
        return NOT_REPRODUCED
    return NOT_FOUND if says == {BELOW} else CANNOT_TELL


def limits_of(evidence: Evidence) -> list[Limit]:
    """The marginal risks that the verdict looks at, each beside the margin; none where there is no holdout.

    The worst key set is the one with the highest lower limit where that is above the margin, else the one with the
    highest upper limit: the one that the verdict turns on.
    """
    if not evidence.levels:
        return []
    lead, margin = evidence.levels[0], evidence.appetite.margin
    found = []
    for measure in lead.judged:
        low, high, _ = lead.limits_of(measure)
        each = slice(0, len(lead.sets))
        worst = int(np.argmax(low[each])) if low[each].max() > margin else int(np.argmax(high[each]))
        for over, k in ((WORST, worst), (ALL_KEYS, lead.all_keys), (MEAN, len(lead.sets))):
            found.append(_limit(lead, measure, over, k, margin))
    for row in evidence.people:
        if (row.level, row.inference, row.group) == (lead.level, "certain", EVERYBODY):
            found.append(_of_people(row, margin))
    if evidence.guessed is not None and evidence.appetite.intruder == "register":
        found.append(evidence.guessed)
    return found


def _limit(lead: LevelRisk, measure: str, over: str, k: int, margin: float) -> Limit:
    m = lead.found.measures.index(measure)
    low, high, chance = (float(each[k]) for each in lead.limits_of(measure))
    return Limit(
        measure=measure,
        over=over,
        keys="+".join(lead.sets[k].keys) if k < len(lead.sets) else "",
        original=float(lead.found.own[m, k]),
        holdout=float(lead.found.other[m, k]),
        difference=float(lead.found.difference[m, k]),
        low=low,
        high=high,
        chance=chance,
        margin=margin,
        says=says(low, high, margin),
    )


def _of_people(row: PeopleCount, margin: float) -> Limit:
    return Limit(
        measure="inferred rightly in 90 % of the runs",
        over=PEOPLE,
        keys="",
        original=row.share_original,
        holdout=row.share_holdout,
        difference=row.difference,
        low=row.low,
        high=row.high,
        chance=math.nan,
        margin=margin,
        says=says(row.low, row.high, margin),
    )


def says(low: float, high: float, margin: float) -> str:
    """Where the limits of a marginal risk stand beside the margin."""
    return ABOVE if low > margin else BELOW if high < margin else OPEN


def _shown_at(evidence: Evidence, limits: Sequence[Limit]) -> list[tuple[str, int]]:
    """Measures and columns whose change with the size of the data is shown: the mean, and the worst key set."""
    if not evidence.levels:
        return []
    lead = evidence.levels[0]
    names = ["+".join(each.keys) for each in lead.sets]
    return [
        (limit.measure, names.index(limit.keys) if limit.keys else len(names))
        for limit in limits
        if limit.over in (MEAN, WORST)
    ]


def _basis(levels: Sequence[LevelRisk]) -> Basis | None:
    if not levels:
        return None
    lead = levels[0]
    return Basis(
        level=lead.level,
        n_original=lead.n_original,
        n_holdout=lead.n_holdout,
        runs=lead.runs,
        crossed=lead.crossed,
        key_sets=len(lead.sets),
        permutations=PERMUTATIONS,
        not_crossed=lead.not_crossed,
        divided_anew=lead.divided_anew,
        original_of=lead.whose[0],
        holdout_of=lead.whose[1],
    )
