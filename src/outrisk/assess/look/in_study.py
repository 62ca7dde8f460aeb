"""All that a look finds in a study: in its outputs, in what it does not say, and beside its data."""

from __future__ import annotations

from collections.abc import Sequence

from outrisk.assess.look import Found, look
from outrisk.assess.look.alike_holdout import alike_holdout
from outrisk.assess.look.already_told import with_already
from outrisk.assess.look.data_changed import data_changed
from outrisk.assess.look.rules_not_true import not_true
from outrisk.assess.look.several_records import several_records
from outrisk.assess.look.unlike_data import with_differences
from outrisk.assess.look.untied import untied
from outrisk.config import Study
from outrisk.load import StudyData
from outrisk.outputs.base import Output
from outrisk.problem.blocks import Mask
from outrisk.problem.refit import Refit


def found_in_study(
    study: Study,
    data: StudyData,
    outputs: Sequence[Output],
    rules: Sequence[Mask],
    refits: Sequence[Refit],
    inside: bool = False,
) -> list[Found]:
    """The findings of `look` (with its `inside`), of what the study does not say, and of released numbers that differ
    from the data, as `refits` compare them; what is certain comes first, and of this what is not said by outputs that
    are already released, which are the first. rules: what is known of all records.
    """
    file, earlier = study.file, outputs[: len(study.outputs_of_earlier(data.original.codebook))]
    given = {refit.released.name for refit in refits}
    computed = [output for output in outputs if output.name not in given]
    looked = look(outputs, data.original, file.appetite, file.target, inside, rules)
    if earlier:
        looked = with_already(looked, look(earlier, data.original, file.appetite, file.target, inside, rules))
    found = [
        *looked,
        *untied(outputs, data.original, rules, (*file.keys, file.target, *study.register_keys)),
        *several_records(data.alike),
        *not_true(study, data.original),
        *alike_holdout(data.original, data.holdout),
        *data_changed(data.changed, computed, data.original),
    ]
    return with_differences(found, refits, file.data.rounded if file.data else ())
