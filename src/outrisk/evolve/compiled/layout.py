"""The flat form of blocks that the compiled loops read (built in plan.py).

All blocks are laid out in one integer array, `code`, because the loops spend their time reading it: a few arrays are
several times faster than a structure of many.

From a block's address: kind, first total, number of totals, address of the joint of its place, number of masks, address
of the masks (each: address of its joint, offset in `flags`), variable of the weight (-1: none) and offset of the
weights in `floats`. Then for a TALLY: offset in `cells` (-1: the level is the cell), offset of the values in `floats`
(-1: all are 1), and its shape: BARE count (no cells, values, masks or weight), MAPPED (no masks or weight) or GENERAL.
For a MODEL: family, number of equations (a shape's too), number of columns, number and address of its terms, number and
address of its extra terms, position among its totals of the information (-1: none), of the log-likelihood (-1: none)
and of the extra columns, offset of the response in `floats`, offset of its form (see problem.py), number of published
numbers, offset of its residuals, whether its score is summed by levels (see sums.py), address of a joint over all its
variables (-1: too large a one), offset of its profiles (see linear_map.py), address of its clock: of a Cox model
address of its joint, offset in `floats` of the cell at each level, number of cells, and whether events have moments of
their own; position of the meat among its totals (-1: none) and address of the joint of its clusters (-1: each record is
one).

A term: address of its joint, offset in `floats` of its part of the linear predictor (equation after equation), first
design entry, entries a level, first bin (see sums.py), number of levels. Every level of a term has the same number of
entries (a reference level's are zeros): the loops run the same length for each record, which the processor can foresee.

A joint: number of variables, then variable and stride of each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.uint16]  # (n_records, n_variables); of one width, so that all is compiled once

TALLY, MODEL = 0, 1
KIND, FIRST, SIZE, PLACE, MASKS, MASK_AT, WEIGHT, WEIGHT_AT, HEADER = range(9)
CELL, VALUE, SHAPE = range(HEADER, HEADER + 3)
GENERAL, MAPPED, BARE = range(3)
FAMILY, EQUATIONS, COLUMNS, TERMS, TERM_AT, EXTRAS, EXTRA_AT = range(HEADER, HEADER + 7)
INFORMATION, LIKELIHOOD, EXTRA, RESPONSE, FORM, NUMBERS, RESIDUAL, BINNED = range(HEADER + 7, HEADER + 15)
WHOLE, PROFILE, CLOCK, MEAT, CLUSTERS = range(HEADER + 15, HEADER + 20)
TERM = 6  # integers a term
FAMILIES = {  # those with a shape last
    "none": 0, "ols": 1, "logit": 2, "probit": 3, "poisson": 4, "mnlogit": 5, "cox": 6, "sign": 7, "ologit": 8,
    "oprobit": 9, "negbin": 10,
}  # fmt: skip


class Plan(NamedTuple):
    """All blocks flattened, for p variables and m totals."""

    sizes: NDArray[np.int64]  # (p,) support sizes
    numeric: NDArray[np.uint8]  # (p,) 1 where the values have an order
    active: NDArray[np.int64]  # variables that any output depends on
    var_ptr: NDArray[np.int64]  # (p + 1,) into var_blocks
    var_blocks: NDArray[np.int64]  # addresses of the blocks that depend on each variable
    blocks: NDArray[np.int64]  # (B,) addresses of all blocks
    mark_ptr: NDArray[np.int64]  # (p + 1,) into marks
    marks: NDArray[np.int64]  # values of each variable at which a count begins or ends: those around a quantile
    rule_ptr: NDArray[np.int64]  # (p + 1,) into rules
    rules: NDArray[np.int64]  # addresses of the rules on each variable, each laid out as a mask
    extent: NDArray[np.int64]  # totals; most design entries, total entries, equations, numbers of a model; bins
    code: NDArray[np.int64]
    floats: NDArray[np.float64]
    flags: NDArray[np.uint8]
    cells: NDArray[np.int32]
    cols: NDArray[np.int32]
    vals: NDArray[np.float64]
