"""Whether outputs that are already released are of the same people, and the same values, as those that are new."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from outrisk.config import Study
from outrisk.errors import ConfigError, OutRiskError
from outrisk.load import Earlier, StudyData
from outrisk.microdata import Microdata
from outrisk.outputs.base import Subset, release


def check_earlier(study: Study, data: StudyData) -> None:
    """ConfigError, naming the study and what does not fit, where an earlier one is of other values or other people.

    What counts are the variables that its outputs use. People are compared where the earlier study has data: how many
    they are, and how often each combination of these variables occurs. It may be of some of the people here (see
    `Study.within`), and its codebook may lack values that nobody of these has; then its numbers must be the same here.
    """
    for earlier in data.earlier:
        if earlier.records is not None:
            for why in _unlike(study, data.original, earlier, earlier.records):
                raise _error(study, earlier, why)
        elif earlier.study.file.records not in (None, len(data.original)):
            n = earlier.study.file.records
            why = f"it is of {n:,} records, and here there are {len(data.original):,}: other people; {_IN_ONE_FILE}"
            raise _error(study, earlier, why)


_IN_ONE_FILE = (
    "put the people of both into one file, with a variable (in the codebook) that says who was in which release, and "
    "give each study its 'data: where'"
)
_UNDER_ANOTHER_NAME = "give it another name in one of the two studies"


def _unlike(study: Study, new: Microdata, earlier: Earlier, old: Microdata) -> Iterator[str]:
    """What does not fit, in words, and the way out."""
    codebook, where, columns = new.codebook, earlier.study.within, list[np.ndarray]()
    for name in earlier.used:
        one, other = old.codebook[name].labels, codebook[name].labels
        here, there = {label: at for at, label in enumerate(other)}, set(one)
        strange = [label for label in one if label not in here]
        if strange or one != [label for label in other if label in there]:
            strange = strange or ["in another order"]
            yield f"the values of '{name}' are not the same in both codebooks ({strange[0]}); {_UNDER_ANOTHER_NAME}"
            return
        columns.append(np.array([here[label] for label in one])[old.codes[:, old.codebook.index(name)]])
    some = new.take(Subset(codebook, where, "data").select(new.frame()).index.to_numpy()) if where else new
    if len(old) != len(some):
        of = f"where {where} " if where else ""
        yield f"it is of {len(old):,} records, and {of}here there are {len(some):,}: other people; {_IN_ONE_FILE}"
        return
    here_too = some.codes[:, [codebook.index(name) for name in earlier.used]]
    apart = _apart(np.column_stack(columns), here_too) if columns else 0
    coded = [name for name in earlier.used if _coding(study, name) != _coding(earlier.study, name)]
    same = [at for at, name in enumerate(earlier.used) if name not in coded]
    if apart and coded and not (same and _apart(np.column_stack(columns)[:, same], here_too[:, same])):
        name = coded[0]
        yield (
            f"'{name}' is {_coding(earlier.study, name) or 'a column'} there and {_coding(study, name) or 'a column'} "
            f"here, which differ for {apart:,} of {len(old):,} records; {_UNDER_ANOTHER_NAME}"
        )
    elif apart:
        yield f"{apart:,} of {len(old):,} records differ in {', '.join(earlier.used)}: other people; {_IN_ONE_FILE}"
    elif where or any(old.codebook[name] != codebook[name] for name in earlier.used):
        yield from _other_numbers(new, earlier, old)


def _coding(study: Study, name: str) -> str:
    """The expression that a study makes a variable by; '' where it is a column as it stands."""
    return study.file.data.derive.get(name, "") if study.file.data is not None else ""


def _apart(one: np.ndarray, other: np.ndarray) -> int:
    """Records without a counterpart of the same values among the others, whatever the order."""
    cells, place = np.unique(np.vstack([one, other]), axis=0, return_inverse=True)
    side = np.repeat([1, -1], [len(one), len(other)])
    gap = np.bincount(place.reshape(-1), weights=side, minlength=len(cells))
    return int(np.abs(gap).sum() / 2)


def _other_numbers(new: Microdata, earlier: Earlier, old: Microdata) -> Iterator[str]:
    """Where an output has another number here than it was released with."""
    try:
        there = earlier.study.outputs(old.codebook)
        for was, now in zip(there, earlier.study.outputs(new.codebook), strict=True):
            one, other = release(was, old), release(now, new)
            places = {label: at for at, label in enumerate(other.labels)}
            for at, label in enumerate(one.labels):
                same = places.get(label)
                if same is None or not (one.low[at] == other.low[same] and one.high[at] == other.high[same]):
                    yield (
                        f"'{label}' of '{was.name}' is another number with the values of this codebook; describe the "
                        "variables as that study does"
                    )
                    return
    except OutRiskError as error:
        yield str(error)


def _error(study: Study, earlier: Earlier, why: str) -> ConfigError:
    return ConfigError(f"{earlier.study.path}: what is already released does not fit {study.path.name}: {why}")
