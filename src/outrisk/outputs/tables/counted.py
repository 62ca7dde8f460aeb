"""Numbers of records that a table publishes, read off its labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from outrisk.codebook import Codebook
from outrisk.outputs.base import Array
from outrisk.problem.analysis import RecordCounts

TOTAL = "Total"  # how a margin is written in labels


def counts_of(
    codebook: Codebook, by: Sequence[str], labels: Sequence[str], low: Array, high: Array, ending: str = ""
) -> Iterator[RecordCounts]:
    """Cells and margins of a table by some variables; a cell that is not published may hold any number.

    low, high (k,): of the published numbers, named by `labels` (k,), of which those of records end on `ending`.
    """
    place = {label: k for k, label in enumerate(labels)}
    cells = {name: [f"{name}={label}" for label in codebook[name].labels] for name in by}
    for shown in product(*([True, False] for _ in by)):
        kept = tuple(name for name, keep in zip(by, shown, strict=True) if keep)
        levels = [cells[name] if name in kept else [f"{name}={TOTAL}"] for name in by]
        at = np.array([place.get((", ".join(cell) or "all") + ending, -1) for cell in product(*levels)])
        if (at < 0).all():
            continue
        shape = [len(cells[name]) for name in kept]
        least = np.maximum(np.where(at < 0, 0.0, low[at]), 0.0)
        most = np.where(at < 0, np.inf, high[at])
        yield RecordCounts(kept, least.reshape(shape), most.reshape(shape))
