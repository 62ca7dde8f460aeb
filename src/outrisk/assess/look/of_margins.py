"""Margins that rest on few people, and the outputs that would print the same numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from outrisk.appetite import Appetite
from outrisk.assess.look.finding import Found, Rows, counted, named, plural
from outrisk.assess.look.fits import degrees_of_freedom, few_behind, sample_of
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output
from outrisk.outputs.regression.marginal_effects import Margins
from outrisk.outputs.regression.margins_of_cells import as_regression, same_as

_FITTED = " A fitted value is then"  # which takes all coefficients


def printed_alike(outputs: Sequence[Output]) -> list[Output]:
    """Outputs, named as the margins that print the same: proportions and means of cells, differences of risks, linear
    regressions.
    """
    return [alike for each in outputs if isinstance(each, Margins) for alike in same_as(each)]


def of_margins(output: Output, data: Microdata, appetite: Appetite, target: str) -> Iterator[Found]:
    """What the regression behind margins rests on, none of whose coefficients is printed, so that nothing of it is
    certain; and levels that few people are of. What is printed as another output prints it (see `printed_alike`) is
    that output's.
    """
    if not isinstance(output, Margins):
        return
    alike = list(same_as(output))
    for rule in () if as_regression(output) is not None else (degrees_of_freedom, few_behind):
        for finding in rule(output.regression, data, appetite, target):
            if not (alike and finding.rule == "saturated model"):
                what = finding.what.partition(_FITTED)[0]
                yield replace(finding, certain=False, about="", what=what)
    yield from _few(output, data, appetite)


def _few(output: Margins, data: Microdata, appetite: Appetite) -> Iterator[Found]:
    """Levels at which margins are, or which others are compared with, of fewer than `safe_threshold` people."""
    rows, sample = sample_of(output.regression, data)
    if sample is None:
        return
    found: dict[str, Rows] = {}
    for _, key in (side for each in output.quantities.all for side in each.sides):
        levels = key[1] if key[0] == "levels" else ()
        inside, words = np.ones(len(rows), dtype=np.bool_), []
        for name, code in levels:  # type: ignore[attr-defined]
            inside &= data.codes[rows, data.codebook.index(name)] == code
            words.append(f"{name}={data.codebook[name].labels[code]}")
        if words and data.people(rows[inside]) < appetite.safe_threshold:
            found[", ".join(words)] = rows[inside]
    if found:
        numbers = sorted((data.people(who), label) for label, who in found.items())
        yield Found.of(
            "few people behind a margin",
            False,
            output.name,
            len(found),
            np.concatenate(list(found.values())),
            f"{plural(len(found), 'level')} at which margins are taken {'has' if len(found) == 1 else 'have'} fewer "
            f"than {appetite.safe_threshold} {counted(data)}; the fewest is {numbers[0][0]}.",
            named([f"{label}: {number:,}" for number, label in numbers]),
            "Merge these levels with others, or release no margins of them.",
        )
