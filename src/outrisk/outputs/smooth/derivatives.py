"""What outputs that are smooth functions of totals share: derivatives and precision, and checks of what is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.base import Array, joint_for
from outrisk.problem.blocks import Joint, Mask, Model, Term

Numbers = Callable[[NDArray[Any]], NDArray[Any]]  # totals (b, m), real or complex, -> published numbers (b, k)
STEP = 1e-20  # imaginary step: no difference is taken, so it may be as small as this


def derivatives(numbers: Numbers, totals: Array) -> Array:
    """Derivatives (k, m) of published numbers in the totals (m,); 0 where they are not defined.

    By complex steps (Squire and Trapp, SIAM Review 40, 1998), exact to rounding: `numbers` must be made of functions
    that numpy extends to complex numbers.
    """
    with np.errstate(all="ignore"):
        slopes = numbers(totals[None, :] + 1j * STEP * np.eye(len(totals))).imag.T / STEP
    return np.where(np.isfinite(slopes), slopes, 0.0)


def precision_of(jacobian: Array, variance: Array, decimals: NDArray[np.int64]) -> Array:
    """Diagonal precision (k, k) by the delta method: 1 / (sampling variance + variance of rounding).

    `variance` (m,) is that of the totals.
    """
    rounding = 10.0 ** (-2.0 * decimals) / 12.0
    return np.diag(1.0 / (jacobian**2 @ variance + rounding))


def decimals_of(
    given: int | Mapping[str, int], statistics: Sequence[str], counts: Sequence[str], default: int, output: str
) -> dict[str, int]:
    """Decimals of each statistic: counts have none, the others the one number or their own; OutputError if unknown."""
    if isinstance(given, int):
        return {name: 0 if name in counts else given for name in statistics}
    unknown = sorted(set(given) - set(statistics))
    if unknown:
        raise OutputError(
            f"output '{output}': decimals for '{unknown[0]}', which is not released; statistics are {list(statistics)}"
        )
    return {name: 0 if name in counts else given.get(name, default) for name in statistics}


def complete(codebook: Codebook, names: Sequence[str], output: str) -> tuple[Mask, ...]:
    """Masks that leave out records with a missing value in any of the variables."""
    return tuple(
        Mask(joint_for(codebook, [name], output), np.arange(codebook[name].size) < len(codebook[name].values))
        for name in names
        if codebook[name].missing
    )


def sums_of(joint: Joint, rows: Array, masks: tuple[Mask, ...]) -> Model:
    """A model of nothing but totals: each record adds the row (joint.size, totals) of its level."""
    return sums_of_terms([Term(joint, np.arange(rows.shape[1]), rows)], masks)


def sums_of_terms(terms: Sequence[Term], masks: tuple[Mask, ...]) -> Model:
    """The same where totals depend on different variables: each record adds a row of each term to its columns."""
    joint = terms[0].joint
    return Model(
        family="none",
        coefficients=np.zeros((0, 0)),
        place=joint,
        response=np.zeros(joint.size),
        extra=tuple(terms),
        masks=masks,
    )


def groups_of(codebook: Codebook, by: Sequence[str]) -> list[tuple[Any, ...]]:
    """Values of some variables in every combination of theirs, a group each; one empty group without variables."""
    return list(product(*(codebook[name].values for name in by)))


def value_of_event(codebook: Codebook, event: str, given: str, output: str) -> object:
    """The value of a variable that counts as an event: the one that is given; else 1, or the last of two levels."""
    variable = codebook[event]
    by_label = dict(zip(variable.labels, variable.values, strict=False))
    if given:
        if given not in by_label:
            raise OutputError(
                f"output '{output}': event_value {given!r} is not a value of '{event}'; "
                f"values are {list(by_label)[:20]}"
            )
        return by_label[given]
    usual = len(variable.values) <= 2 if not variable.numeric else set(variable.values) <= {0, 1}
    if not usual:
        raise OutputError(f"output '{output}': say with 'event_value' which value of '{event}' counts")
    return 1 if variable.numeric else variable.values[-1]


def check_names(codebook: Codebook, names: Sequence[str], output: str, numeric: bool = False) -> None:
    """OutputError for a variable that the codebook lacks, or that is no number where numbers are needed."""
    for name in names:
        if name not in codebook:
            raise OutputError(f"output '{output}': no variable '{name}'; variables are {codebook.names}")
        if numeric and not codebook[name].numeric:
            raise OutputError(
                f"output '{output}': '{name}' is categorical and a number is needed; "
                "derive one, or make it numeric in the codebook"
            )


def check_range(
    output: str, labels: Sequence[str], low: Array, high: Array, least: Array, most: Array, why: str
) -> None:
    """OutputError that names the first number whose range [low, high] lies outside [least, most] (all (k,))."""
    wrong = (high < least) | (low > most)
    if wrong.any():
        at = int(np.argmax(wrong))
        value = f"{low[at]:g}" if low[at] == high[at] else f"{low[at]:g} to {high[at]:g}"
        raise OutputError(f"output '{output}': {labels[at]} is {value}; {why}")


Decimals = Annotated[int, Field(ge=0, le=12)] | dict[str, Annotated[int, Field(ge=0, le=12)]]
