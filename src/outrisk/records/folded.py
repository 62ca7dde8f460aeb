"""Findings that say the same of several outputs, read as one: the worst of them in full, the others named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from outrisk.records.schema import NOT_BOUNDED, Finding

_APART = re.compile(r"“[^”]*”|\([^()]*\)|(?<=knows )[^:]*|[\d.,]*\d")  # names, cells, who knows it, and numbers
_MANY = re.compile(r"\b(person|people|cells?|records?|groups?|outputs?|tables?)\b")


@dataclass(frozen=True)
class Folded:
    """Findings of the same rule, as certain, about the same variable, and of which as much is already released; those
    of the most people first.
    """

    findings: tuple[Finding, ...]

    @property
    def worst(self) -> Finding:
        """What is told in full."""
        return self.findings[0]

    @property
    def others(self) -> tuple[Finding, ...]:
        """Those that are named."""
        return self.findings[1:]

    @property
    def named(self) -> str:
        """Each of the others by its outputs, with its people: “a minus b” (3 people), “c” (1 person); an output of
        several findings stands once for each.
        """
        return ", ".join(f"“{each.output}”{_people(each)}" for each in self.others)


def folded(findings: Sequence[Finding]) -> list[Folded]:
    """All findings, those that say the same in one, in the order of the first of each. Certain ones are one where their
    sentence, up to what shows it, is the same but for names and numbers; others about people where their rule is, and
    so is what was not bounded; others about nobody where they say the very same.
    """
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for each in findings:
        groups.setdefault((each.rule, each.certain, each.about, _is_old(each), _said(each)), []).append(each)
    return [Folded(tuple(sorted(each, key=lambda one: -one.people))) for each in groups.values()]


def _is_old(finding: Finding) -> bool:
    """Whether outputs that are already released say it of everybody."""
    return 0 < finding.people == finding.already


def _said(finding: Finding) -> str:
    """What a finding tells, as far as others that tell it too are one with it."""
    if not finding.certain:
        return "" if finding.people or finding.rule == NOT_BOUNDED else finding.what
    plain = _MANY.sub("", _APART.sub("", finding.what))
    return " ".join(plain.partition(":")[0].split())


def _people(finding: Finding) -> str:
    return f" ({finding.people:,} {'person' if finding.people == 1 else 'people'})" if finding.people else ""
