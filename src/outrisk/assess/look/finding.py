"""What a look at released outputs finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from outrisk.microdata import Microdata
from outrisk.records.schema import NOT_BOUNDED as NOT_BOUNDED
from outrisk.records.schema import Finding

Rows = NDArray[np.intp]  # positions of records in the data
NOBODY: Rows = np.zeros(0, dtype=np.intp)

NOT_SEEN = "not looked at"
DIFFERS = "differs from the data"
UNTIED = "not tied"
SEVERAL = "several records of one"
UNTRUE = "rules not true"
LIKE_DATA = "holdout like the data"
CHANGED = "data changed"
NOT_SAID = (
    UNTIED,
    SEVERAL,
    UNTRUE,
    LIKE_DATA,
    CHANGED,
)  # what is wrong with a study, so that risks may read lower than they are
_NO_RULE = (NOT_SEEN, DIFFERS, NOT_BOUNDED, *NOT_SAID)
_WRONG = {LIKE_DATA: "gives the wrong holdout", CHANGED: "changes values before outputs are computed"}
SHOWN = 8  # cells of an output that a finding names


@dataclass(frozen=True)
class Found(Finding):
    """A finding with the records that it is about, each once, or in the end the people by their numbers, where records
    say whose they are; before: those of them whom outputs that are already released are about. Who they are stays in
    the process: files have Finding. last: it stands behind others that are as certain.
    """

    who: Rows = field(default_factory=NOBODY.copy, repr=False, compare=False)
    last: bool = field(default=False, repr=False, compare=False)
    before: Rows = field(default_factory=NOBODY.copy, repr=False, compare=False)

    @property
    def new(self) -> Rows:
        """Whom it is about and what is already released is not."""
        return np.setdiff1d(self.who, self.before)

    @classmethod
    def of(
        cls,
        rule: str,
        certain: bool,
        output: str,
        cells: int,
        who: Rows,
        what: str,
        places: str = "",
        advice: str = "",
        about: str = "",
    ) -> Found:
        """The finding whose people are these records, in which some may stand several times."""
        rows = np.unique(who)
        return cls(rule, certain, output, cells, len(rows), what, places, advice, about, who=rows)


def everybody_of(findings: Sequence[Found]) -> Rows:
    """The records, or people, that any of the findings is about, each once."""
    return np.unique(np.concatenate([NOBODY, *(finding.who for finding in findings)]))


def named(places: list[str]) -> str:
    """The first cells, and how many more there are."""
    more = f"; and {len(places) - SHOWN:,} more" if len(places) > SHOWN else ""
    return "; ".join(places[:SHOWN]) + more


def counted(data: Microdata) -> str:
    """What a threshold is a number of: people where the study says whose records are whose, else records."""
    return "records" if data.person is None else "people"


def people(number: int) -> str:
    """A number of people in words."""
    return "1 person" if number == 1 else f"{number:,} people"


def plural(number: int, word: str) -> str:
    """A number with its noun."""
    return f"{number:,} {word}" + "s" * (number != 1)


def in_a_sentence(findings: Sequence[Finding], n_outputs: int) -> str:
    """What a look found, the worst first: certain things, then rules broken; never that a release is harmless."""
    certain = [finding for finding in findings if finding.certain]
    breaking = [finding for finding in findings if not finding.certain and finding.rule not in _NO_RULE]
    unseen = sum(finding.rule == NOT_SEEN for finding in findings)
    more = f" {plural(unseen, 'output')} could not be looked at." if unseen else ""
    differing = sum(finding.rule == DIFFERS for finding in findings)
    if differing:
        more = (
            f" Released numbers of {plural(differing, 'output')} differ from what the data give, and rules were held "
            f"against the data.{more}"
        )
    unsaid = ", ".join(dict.fromkeys(finding.rule for finding in findings if finding.rule in NOT_SAID))
    if unsaid:
        wrong = _WRONG.get(unsaid, "does not say what it should")
        more = f" The study {wrong} ({unsaid}): risks may read lower than they are.{more}"
    unbounded = any(finding.rule == NOT_BOUNDED for finding in findings)
    if unbounded:
        more = f" What outputs together say of some cells that they do not print was not looked at (not bounded).{more}"
    broken = ""
    if breaking:
        rules = ", ".join(dict.fromkeys(finding.rule for finding in breaking))
        outputs = len({finding.output for finding in breaking})
        who = "one output or pair of outputs breaks" if outputs == 1 else f"{outputs:,} outputs or pairs of them break"
        broken = f"{who} a rule ({rules})."
    if certain:
        worst = certain[0]
        others = plural(len(certain) - 1, "further finding")
        rest = f" There {'is' if len(certain) == 2 else 'are'} {others} of that kind." if len(certain) > 1 else ""
        rest += f" Besides, {broken}" if broken else ""
        if all(finding.already == finding.people for finding in certain):
            return (
                "The new outputs say nothing outright, for certain, that is not said already; what is already released "
                f"does (“{worst.output}”): {worst.what}{rest}{more}"
            )
        return f"The release says outright, for certain (“{worst.output}”): {worst.what}{rest}{more}"
    if broken:
        return f"The direct look found nothing that is certain about people who can be named, but {broken}{more}"
    looked, as_far = plural(n_outputs - unseen, "output"), ", as far as it could look," if unbounded else ""
    if unseen and unseen == n_outputs:
        return f"The direct look says nothing of this release.{more}"
    return (
        f"The direct look at {looked}{as_far} found no small cell, no group with one answer and no broken rule. It "
        f"looks at each output, at pairs that can be subtracted, at a whole less parts of it, and at what tables "
        f"together say of cells that they do not print; it proves nothing beyond that.{more}"
    )
