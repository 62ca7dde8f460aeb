"""Which lines of a listing of SAS are of one regression: steps fit several, and pages break their tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from outrisk.readers.sas_listing import Step

_TITLES = re.compile(
    r"(?i)^\s*(?:Analysis of (?:Maximum Likelihood )?(?:Parameter )?Estimates|Parameter Estimates)\s*$"
)
_BARE = re.compile(r"^\s*Parameter\s+(?:Estimate\s+Error\s+t Value\s+Pr > \|t\|)")
_START = re.compile(r"^\s*(?:Model Information|Number of Observations Read\s+\d.*|Class Level Information)\s*$")
_MODEL = re.compile(r"^\s*Model: (\S+)\s*$")
_DEPENDENT = re.compile(r"^\s*Dependent Variable:\s*(\S+)(?:\s+(.*\S))?\s*$")
_CONTENT = re.compile(
    r"^\s*(?:Analysis of Variance|Response Profile|Criteria For Assessing.*|Model Fit Statistics|R-Square\s+Coeff.*)$"
)
_FITTING = ("REG", "GLM", "LOGISTIC", "GENMOD", "PHREG", "PROBIT", "SURVEYLOGISTIC", "SURVEYREG", "MIXED", "GLIMMIX")


@dataclass(frozen=True)
class SasFit:
    """A regression in a listing: the step that it is of, its lines, and its response where a line says it."""

    step: Step
    lines: tuple[str, ...]
    dependent: str = ""

    @property
    def text(self) -> str:
        """Its lines as one text."""
        return "\n".join(self.lines)

    @property
    def words(self) -> str:
        """What it is, in a few words."""
        response = re.search(r"(?:Response Variable|Dependent Variable)\s{2,}(?:\S*\.)?(\S+)", self.text)
        of = self.dependent or (response[1] if response else "")
        return f"{self.step.words}{f' of {of}' if of else ''}"


def fits_of(steps: Sequence[Step]) -> list[SasFit]:
    """The regressions of a listing that print coefficients, in their order."""
    return [each for step in steps if step.procedure in ("", *_FITTING) for each in _of_step(step)]


def titles_in(lines: Sequence[str]) -> list[int]:
    """The lines that a table of coefficients begins in."""
    return [at for at, line in enumerate(lines) if _TITLES.match(line) or _BARE.match(line)]


def _of_step(step: Step) -> Iterator[SasFit]:
    parts: list[tuple[str, list[str]]] = [("", [])]
    common: list[str] = []  # above the first response of PROC GLM, of all its fits
    content, model, above = False, "", ""  # above: the response that a line says since the last table
    for line in step.lines:
        label = _MODEL.match(line)
        if label and model not in ("", label[1]) and content:
            common, content, model = [], False, label[1]
            parts.append(("", [line]))
            continue
        model = label[1] if label else model
        dependent = _DEPENDENT.match(line)
        above = dependent[1] if dependent else above
        name, lines = parts[-1]
        if dependent and dependent[1] != name:
            if not name and not content:
                common = list(lines)
                parts[-1] = (dependent[1], [*lines, line])
                continue
            parts.append((dependent[1], [*(common if step.procedure == "GLM" else []), line]))
            content = False
            continue
        if content and _START.match(line) and _begins(step, line):
            common, content = [], False
            parts.append((above, [line]))
            continue
        lines.append(line)
        table = _TITLES.match(line) or _BARE.match(line) or (step.procedure and _CONTENT.match(line))
        content, above = content or bool(table), "" if table else above
    for name, lines in parts:
        if titles_in(lines):
            yield SasFit(step, tuple(lines), name)


def _begins(step: Step, line: str) -> bool:
    """Whether a line begins another fit: of what a procedure prints first."""
    first = "Number of Observations" if step.procedure == "REG" else "Model Information"
    return step.procedure in ("GLM", "") or first in line
