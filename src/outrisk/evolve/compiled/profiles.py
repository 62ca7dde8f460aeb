"""Compiled: models as tables of what each kind of record adds to their residuals, where the kinds are few.

Climbing then reads a change of the residuals off two rows, where it would else work out a record's contribution to
every total. The totals of such models are taken afresh after climbing.
"""

from __future__ import annotations

import numpy as np

from outrisk.evolve.compiled.layout import FIRST, FORM, KIND, MODEL, NUMBERS, PROFILE, SIZE, WHOLE, Array, Codes, Plan
from outrisk.evolve.compiled.record import entries_of, entry
from outrisk.evolve.compiled.sums import add_all, work_of


# fmt: off
@entry
def profiles_of(plan, forms):
    """What each kind of record adds to the residuals of the models that have a table of them, flat, a row a kind."""
    code, floats, flags, design_cols, design_vals = plan.code, plan.floats, plan.flags, plan.cols, plan.vals
    profiles = np.zeros(plan.extent[6])
    record = np.zeros((1, len(plan.sizes)), np.uint16)
    eta, slack, curvature, x_cols, x_vals = work_of(plan)
    cols, vals = np.empty(plan.extent[2], np.int64), np.empty(plan.extent[2])
    for b in plan.blocks:
        if code[b + KIND] != MODEL or code[b + WHOLE] < 0:
            continue
        whole, form, numbers = code[b + WHOLE], code[b + FORM], code[b + NUMBERS]
        kinds = 1
        for e in range(code[whole]):
            kinds *= plan.sizes[code[whole + 1 + 2 * e]]
        for kind in range(kinds):
            for e in range(code[whole]):
                j = code[whole + 1 + 2 * e]
                record[0, j] = kind // code[whole + 2 + 2 * e] % plan.sizes[j]
            filled = entries_of(
                code, floats, flags, design_cols, design_vals, b, record, np.int64(0), 1.0, eta, slack, curvature,
                x_cols, x_vals, cols, vals, np.int64(0),
            )
            at = code[b + PROFILE] + kind * numbers
            found = profiles[at : at + numbers]
            for f in range(filled):
                at = form + cols[f] * numbers
                value, row = vals[f], forms[at : at + numbers]
                for q in range(numbers):
                    found[q] += value * row[q]
    return profiles


def afresh(plan: Plan, codes: Codes, totals: Array) -> None:
    """Work out the totals of all models that have profiles, in place."""
    code = plan.code
    blocks = [b for b in plan.blocks if code[b + KIND] == MODEL and code[b + WHOLE] >= 0]
    for b in blocks:
        totals[code[b + FIRST] : code[b + FIRST] + code[b + SIZE]] = 0.0
    if blocks:
        add_all(plan, np.array(blocks), codes, 1.0, totals)
