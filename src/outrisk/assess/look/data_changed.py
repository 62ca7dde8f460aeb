"""Values that the study changes before outputs are computed, which may not be what is released."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from outrisk.assess.look.finding import CHANGED, Found, plural
from outrisk.assess.look.untied import used_by
from outrisk.changed import Changed
from outrisk.microdata import Microdata
from outrisk.outputs.base import Output


def data_changed(changed: Sequence[Changed], computed: Sequence[Output], original: Microdata) -> Iterator[Found]:
    """What is `changed` of variables that outputs `computed` from the data use (records left out: of any), and what
    follows if the outputs to be released were computed from the data as they are.
    """
    used = set[str]().union(*(used_by(output, original) for output in computed)) if changed else set[str]()
    amiss = [each for each in changed if each.name in used or (computed and "left out" in each.how)]
    if amiss:
        said = " and ".join(f"{each.name} of {plural(each.records, 'record')} {each.how}" for each in amiss)
        what = (
            f"Outputs are computed from data in which {said.rstrip(',')}: of outputs that were computed from the data "
            "as they are, small cells, groups with one answer and dominance of these records are not seen, and risks "
            "may read lower than they are."
        )
        advice = (
            "Unless the outputs were computed so themselves, give the released numbers as 'values', or list the values "
            "in the codebook ('outrisk init --rare keep'; of a number a longer grid, and no line of it under 'derive')."
        )
        yield Found(CHANGED, False, "all outputs", 0, 0, what, "", advice)
