"""The rules of an environment that outputs are held against."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Measure = Literal["attribution", "existence", "dcap", "right"]
MEASURES: tuple[Measure, ...] = get_args(Measure)
Intruder = Literal["codebook", "register"]


def _listed(given: object) -> object:
    return (given,) if isinstance(given, str) else given


class Appetite(BaseModel):
    """An environment's rules for output checking, by ACRO's names and with its defaults (acro 1.0.2).

    safe_threshold: fewest records of a cell. safe_dof_threshold: fewest residual degrees of freedom of a model.
    safe_nk_n, safe_nk_k: the n largest contributions of a cell make up at most the share k of its total.
    safe_pratio_p: what is left without the two largest contributions is at least this share of the largest.
    survival_safe_threshold: fewest records at risk, and fewest events between two published times.
    zeros_are_disclosive: whether a group in which a value does not occur is reported.

    What a verdict is held against (docs/verdict.md has the reasons of the defaults). margin: the largest marginal risk
    that is accepted, of each of the measures in `measure`. people: the largest number of people told for certain that
    is accepted. rules_are_disclosive: whether people of findings that are not certain (small cells and the like) count
    among these. intruder: who is asked about, `codebook` (knows the codebook and the release) or `register` (knows
    everybody's keys, too).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    safe_threshold: int = Field(default=10, ge=1)
    safe_dof_threshold: int = Field(default=10, ge=0)
    safe_nk_n: int = Field(default=2, ge=1)
    safe_nk_k: float = Field(default=0.9, gt=0, le=1)
    safe_pratio_p: float = Field(default=0.1, ge=0)
    survival_safe_threshold: int = Field(default=10, ge=1)
    zeros_are_disclosive: bool = True
    margin: float = Field(default=0.05, ge=0, lt=1, allow_inf_nan=False)
    measure: Annotated[tuple[Measure, ...], BeforeValidator(_listed), Field(min_length=1)] = (
        "attribution",
        "existence",
    )
    people: int = Field(default=0, ge=0)
    rules_are_disclosive: bool = False
    intruder: Intruder = "codebook"
