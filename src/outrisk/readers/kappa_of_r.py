"""Cohen's kappa as R's vcd, psych and irr print it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from outrisk.outputs.smooth.agreement import Weights
from outrisk.outputs.smooth.hypothesis_test import Statistic
from outrisk.readers.found_tests import FoundTest, Number
from outrisk.readers.printed_number import read_printed

_OF_VCD = re.compile(r"\s*value\s+ASE\s+z\s+Pr\(>\|z\|\).*")
_OF_PSYCH = re.compile(r"\s*lower\s+estimate\s+upper\s*")
_OF_IRR = re.compile(r"\s*Cohen's Kappa for 2 Raters \(Weights: (unweighted|equal|squared)\)\s*")
_WEIGHTS: dict[str, Weights] = {"unweighted": "none", "equal": "linear", "squared": "quadratic"}
_OTHER_LIMITS = "limits of a weighted kappa of psych are by an error of its own; they are left out"
_BY_ERROR = "z and p of vcd are by the asymptotic error, those of the output by the error without agreement; left out"


def kappas_of_r(lines: Sequence[str]) -> dict[int, FoundTest]:
    """All in a text, by their lines. Which weights a weighted one of vcd or psych has, they do not say."""
    found: dict[int, FoundTest] = {}
    for at, line in enumerate(lines):
        if _OF_VCD.fullmatch(line):
            found |= _rows(lines, at, ("kappa", "standard error", "", "", "lower limit", "upper limit"), (_BY_ERROR,))
        elif _OF_PSYCH.fullmatch(line):
            found |= _rows(lines, at, ("lower limit", "kappa", "upper limit"), ())
        elif said := _OF_IRR.fullmatch(line):
            found[at] = _of_irr(lines[at + 1 : at + 10], _WEIGHTS[said[1]])
    return found


def _rows(
    lines: Sequence[str], at: int, names: Sequence[Statistic | str], notes: tuple[str, ...]
) -> dict[int, FoundTest]:
    """A row without weights and one with some, below their heads."""
    found: dict[int, FoundTest] = {}
    subjects = next((each[1] for line in lines[at:] if (each := re.search(r"Number of subjects = (\d+)", line))), "")
    for place in (at + 1, at + 2):
        said = re.match(r"\s*(unweighted|weighted)(?: kappa)?\s+(.+)", lines[place] if place < len(lines) else "", re.I)
        if not said:
            continue
        read = {name: read_printed(text) for name, text in zip(names, said[2].split(), strict=False) if name}
        numbers = {name: Number.of(each) for name, each in read.items() if each is not None}
        if subjects and (n := read_printed(subjects)):
            numbers["n"] = Number.of(n)
        alone: Weights | None = "none" if said[1].casefold() == "unweighted" else None
        if alone is None and not notes:  # of psych
            numbers = {name: each for name, each in numbers.items() if "limit" not in name}
            notes = (_OTHER_LIMITS,)
        found[place] = FoundTest(("kappa",), numbers, notes=notes, weights=alone)  # type: ignore[arg-type]
    return found


def _of_irr(lines: Sequence[str], weights: Weights) -> FoundTest:
    """Its z is by the error without agreement, and p by that z."""
    names: dict[str, Statistic] = {"Subjects": "n", "Kappa": "kappa", "z": "z", "p-value": "p"}
    numbers: dict[Statistic, Number] = {}
    for line in lines:
        name, _, text = (part.strip() for part in line.partition("="))
        number = read_printed(text) if name in names else None
        if number is not None:
            numbers[names[name]] = Number.of(number)
    return FoundTest(("kappa",), numbers, weights=weights)
