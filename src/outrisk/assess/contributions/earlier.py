"""Whether outputs that are already released are of the same variables and the same people as those that are new."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from outrisk.config import Study
from outrisk.errors import ConfigError
from outrisk.load import StudyData, load_study_data
from outrisk.microdata import Microdata
from outrisk.outputs.base import release
from outrisk.problem.blocks import variables


def check_earlier(study: Study, data: StudyData) -> None:
    """ConfigError, naming the study and what does not fit, where an earlier one is of other variables or other people.

    What counts are the variables that its outputs use. People are compared where the earlier study has data: how many
    they are, and how often each combination of these variables occurs.
    """
    for earlier in study.earlier:
        if earlier.path == study.path:  # of the same session, and so of these records
            continue
        if earlier.file.data is not None:
            _compare(study, data.original, earlier, load_study_data(earlier).original)
        elif earlier.file.records not in (None, len(data.original)):
            raise _unlike(
                study, earlier, f"it is of {earlier.file.records:,} records, and here there are {len(data.original):,}"
            )


def _compare(study: Study, new: Microdata, earlier: Study, old: Microdata) -> None:
    for name in _used(earlier, old):
        if name not in new.codebook.names:
            known = ", ".join(new.codebook.names[:8])
            raise _unlike(study, earlier, f"its outputs are on '{name}', which is no variable here ({known})")
        one, other = old.codebook[name].labels, new.codebook[name].labels
        if one != other:
            strange = next(iter(sorted(set(one) ^ set(other))), "in another order")
            raise _unlike(study, earlier, f"the values of '{name}' are not the same in both codebooks ({strange})")
    if len(old) != len(new):
        raise _unlike(study, earlier, f"it is of {len(old):,} records, and here there are {len(new):,}: other people")
    names = _used(earlier, old)
    apart = _apart(old, new, names)
    if apart:
        raise _unlike(study, earlier, f"{apart:,} of {len(new):,} records differ in {', '.join(names)}: other people")


def _used(earlier: Study, data: Microdata) -> list[str]:
    """The variables of the earlier outputs."""
    names = data.codebook.names
    found = {
        names[at]
        for output in earlier.outputs(data.codebook)
        for block in release(output, data).blocks
        for at in variables(block)
    }
    return [name for name in names if name in found]


def _apart(old: Microdata, new: Microdata, names: Sequence[str]) -> int:
    """Records without a counterpart of the same values in the other data, whatever the order."""
    columns = [data.codes[:, [data.codebook.index(name) for name in names]].astype(np.int64) for data in (old, new)]
    cells, place = np.unique(np.vstack(columns), axis=0, return_inverse=True)
    side = np.repeat([1, -1], [len(old), len(new)])
    gap = np.bincount(place.reshape(-1), weights=side, minlength=len(cells))
    return int(np.abs(gap).sum() / 2)


def _unlike(study: Study, earlier: Study, why: str) -> ConfigError:
    return ConfigError(
        f"{earlier.path}: what is already released does not fit {study.path.name}: {why}; assess together what is of "
        "the same variables and people"
    )
