"""Variables that follow from another beside it, of which no rule says that they do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from outrisk.assess.look.finding import UNTIED, Found
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output, release
from outrisk.outputs.conditions.banded import banded_in
from outrisk.problem.blocks import Mask, variables
from outrisk.problem.determined import determined

_SHOWN = 20  # rules that the advice names


def untied(
    outputs: Sequence[Output], original: Microdata, rules: Sequence[Mask], asked: Sequence[str]
) -> Iterator[Found]:
    """Variables of the codebook that follow from another in all records, as bands of a number do, where rules do not
    say so, and outputs, or outputs and those `asked` about (keys and target), are of both: what outputs say of the one
    is not told of the other then, and risks may read lower than they are.
    """
    codebook = original.codebook
    told = {codebook.names[each.variable] for each in determined(rules, codebook.sizes)}
    found = [each for each in banded_in(original) if each.name not in told]
    used = [(output.name, used_by(output, original)) for output in outputs] if found else []
    known = set(asked).union(*(variables_of for _, variables_of in used))
    for each in found:
        first = next((name for name, variables_of in used if variables_of & {each.name, each.of}), "")
        if first and {each.name, each.of} <= known:
            what = (
                f"In all records {each.said}, and no rule of the study says so: synthetic data mix them, what outputs "
                "tell by the one is not told of the other, and risks may read lower than they are."
            )
            more = ", ..." if len(each.rules) > _SHOWN else ""
            said = ", ".join(map(_quoted, each.rules[:_SHOWN]))
            rest = f", and {each.left}" if each.left else ""
            advice = f"If everybody knows it, add to the study: rules: [{said}{more}]{rest}."
            yield Found(UNTIED, False, first, 0, 0, what, "", advice)


def used_by(output: Output, data: Microdata) -> set[str]:
    """The variables that an output uses."""
    return {data.codebook.names[j] for block in release(output, data).blocks for j in variables(block)}


def _quoted(rule: str) -> str:
    return f'"{rule}"' if '"' not in rule else f"'{rule}'"
