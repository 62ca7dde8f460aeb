"""Bands of a number beside the number, of which no rule says that they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from outrisk.assess.look.finding import UNTIED, Found
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output, release
from outrisk.outputs.conditions.banded import banded_in
from outrisk.problem.blocks import Mask, variables
from outrisk.problem.determined import determined

_SHOWN = 20  # rules that the advice names


def untied(outputs: Sequence[Output], original: Microdata, rules: Sequence[Mask]) -> Iterator[Found]:
    """Variables of outputs that are bands of a number of the codebook in all records, where rules do not say so: what
    outputs say of the one is not told of the other then, and risks may read lower than they are.
    """
    codebook = original.codebook
    told = {codebook.names[each.variable] for each in determined(rules, codebook.sizes)}
    found = [each for each in banded_in(original) if each.name not in told]
    used = [(output.name, _used(output, original)) for output in outputs] if found else []
    for each in found:
        first = next((name for name, variables_of in used if each.name in variables_of), "")
        if first:
            what = (
                f"In all records '{each.name}' is the band of '{each.of}', and no rule of the study says so: synthetic "
                f"data mix them, what outputs tell by '{each.name}' is not told of '{each.of}', and risks may read "
                "lower than they are."
            )
            more = ", ..." if len(each.rules) > _SHOWN else ""
            said = ", ".join(map(_quoted, each.rules[:_SHOWN]))
            rest = f", and say likewise of which '{each.of}' {', '.join(each.rest)} are" if each.rest else ""
            advice = f"If everybody knows it, add to the study: rules: [{said}{more}]{rest}."
            yield Found(UNTIED, False, first, 0, 0, what, "", advice)


def _used(output: Output, data: Microdata) -> set[str]:
    return {data.codebook.names[j] for block in release(output, data).blocks for j in variables(block)}


def _quoted(rule: str) -> str:
    return f'"{rule}"' if '"' not in rule else f"'{rule}'"
