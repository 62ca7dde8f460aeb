"""Records that a study changes before outputs are computed: merged levels, numbers cut off, records left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from outrisk.codebook import Codebook, format_value
from outrisk.config import DataSection
from outrisk.expressions import read_expression
from outrisk.microdata import as_text, typed, unlisted

_NOTE = "outrisk: changed"  # in the attributes of a data frame, which its copies and parts keep
_ENDS = re.compile(r"\b(minimum|maximum)\(")  # by which a number is cut off


@dataclass(frozen=True)
class Changed:
    """How many records have another value of a variable than in the file, or are left out for it, and `how`, as the
    end of a sentence: `counts as 'Other'`.
    """

    name: str
    records: int
    how: str


def changed_by(section: DataSection, file: pd.DataFrame, rows: pd.DataFrame, codebook: Codebook) -> tuple[Changed, ...]:
    """What `merge`, `known`, and `derive` of a column, also under another name, change.

    file: the records as they are in the file, (n, columns); rows: the same with what is derived. A number is cut off
    where it lies beyond all that is derived by more than others change (rounding), which is less than a step of the
    codebook's values: a change of unit cuts off nothing.
    """
    found = list[Changed]()
    for name in (*section.merge, *section.known):
        strange = unlisted(codebook[name], rows[name], section.missing_values)
        level = section.merge.get(name, "")
        alone = len(set(as_text(rows[name][strange]))) + bool(level and (as_text(rows[name]) == level).any()) == 1
        how = f"counts as '{level}'" if level else "is not in the codebook, so that they are left out,"
        if not (level and alone):  # which is another name of one level
            found.append(Changed(name, int(strange.sum()), how))
    found += _cut_off(section, file, rows, codebook)
    return tuple(each for each in found if each.records)


def noted(frame: pd.DataFrame, changed: Sequence[Changed]) -> pd.DataFrame:
    """The records, which say of themselves what has been `changed` in them."""
    frame = frame.copy(deep=False)
    frame.attrs[_NOTE] = [[each.name, each.records, each.how] for each in changed]  # which Parquet can hold
    return frame


def noted_in(frame: pd.DataFrame) -> tuple[Changed, ...]:
    """What records say has been changed in them before; of a part of them, as many records at most."""
    return tuple(
        Changed(str(name), min(int(records), len(frame)), str(how)) for name, records, how in frame.attrs.get(_NOTE, ())
    )


def _cut_off(section: DataSection, file: pd.DataFrame, rows: pd.DataFrame, codebook: Codebook) -> Iterator[Changed]:
    for name, of in _sources(section, file, codebook):
        before, after = (
            pd.to_numeric(typed(frame[[each]], codebook, section.missing_values)[each], errors="coerce").to_numpy(float)
            for frame, each in ((file, of), (rows, name))
        )
        values = np.asarray(codebook[name].values, dtype=float)
        step = float(np.diff(values).max(initial=0.0)) * (1 - 1e-9)
        inside = (after >= values[0] - step) & (after <= values[-1] + step)
        if not inside.any():
            continue
        least, most = after[inside].min(), after[inside].max()
        rounding = np.abs(after - before)[inside & (before >= least) & (before <= most)].max(initial=-np.inf)
        step = max(step, (most - least) / 50)  # of a codebook that is finer than what is derived
        slack = min(2.0 * rounding, step) + 1e-9 * abs(most)
        cut = ((before < least - slack) | (before > most + slack)) & inside
        if cut.any() and 0.0 <= rounding <= step:
            ends = [(cut & (before > most), most, values[-1]), (cut & (before < least), least, values[0])]
            # what they come to, unless that is another's value
            at = [to if (after[here] == to).all() else end for here, to, end in ends if here.any()]
            other = "" if of == name else f"'{of}' "
            yield Changed(name, int(cut.sum()), f"is {other}cut off at {' and '.join(map(format_value, at))}")


def _sources(section: DataSection, file: pd.DataFrame, codebook: Codebook) -> Iterator[tuple[str, str]]:
    """Derived numbers, each with the column that it may be a shorter range of: that of its name, or the only column
    that it is derived from by `minimum` or `maximum`.
    """
    for name, text in section.derive.items():
        if name not in codebook or not codebook[name].numeric:
            continue
        of = {name} if name in file.columns else set(read_expression(text).columns.values())
        if len(of) == 1 and of <= set(file.columns) and (name in of or _ENDS.search(text)):
            yield name, of.pop()
