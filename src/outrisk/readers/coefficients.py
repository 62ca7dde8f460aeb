"""A regression as a program prints it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from outrisk.outputs.regression.programs import Program
from outrisk.outputs.regression.release import Kind
from outrisk.outputs.regression.sandwich import Estimator
from outrisk.readers.survey_designs import PrintedDesign

_FOLLOWING = {  # measures of fit, in small letters -> what they follow from
    **{name: {"log_likelihood"} for name in ("aic", "bic")},
    **{name: {"r2", "n"} for name in ("f", "r2_a", "r2 adj.", "adj. r-squared", "adj. r-sq")},
    **{name: set[str]() for name in ("df_m", "p", "rank", "std.errors")},
    "chi2": {"log_likelihood", "pseudo_r2"},
}
BY_TERM = ("coefficients", "standard_errors", "p_values", "lower", "upper")


@dataclass(frozen=True)
class Coefficients:
    """A regression as a program prints it.

    rows: (name, texts by part of `BY_TERM`) of each coefficient. bases: names of reference levels that are listed.
    single: texts of n, events, log_likelihood, pseudo_r2, r2, residual_sd. exponentiated: estimates and limits are
    exp(b); errors_of_ratios: standard errors are those of exp(b), as Stata prints. significant: digits of numbers from
    10,000 on (0: all). own_digits: each number shows its own precision. exact: decimals that numbers at full precision
    are good for. profiled: the confidence limits are not estimate +- a multiple of the standard error.
    perhaps_profiled: they are not where R took them by itself, of models that it fits by iteration.
    kind, response: where the table says; kinds: which it may be of, any where there are none. last_reference: of
    counted contrasts (SPSS), the last level by default.
    robust: how the standard errors were computed, 'nonrobust' where the table says so, '' where it says nothing;
    covariance: the same as a study says it, '' where that is not known; clustered, cluster: whether by clusters, and
    of which variable. distribution: of p-values and limits, where it says so. weighted, weight:
    whether records are, and by which variable.
    outcomes, base: of a mnlogit, the outcome that each row's equation is of, and the base (see `equations_of`).
    status, event, strata, ties: of a Cox model, who has the event, the level of that which counts, variables whose
    levels are not compared, and how ties are taken. stratified: there are such variables, and it may not say which.
    ordered: it is of an ordered regression, of which kind it may not say; distances: its thresholds after the first are
    logarithms of distances. shape: once they are apart from the other rows (see `apart`), texts of the thresholds or
    the dispersion. expected: standard errors by the expected information, as R takes it, which is another of a probit,
    or a count with a dispersion.
    level: of the limits; None where the table does not say it.
    open_scale: estimates may be exp(b), which the table does not say. headed: levels stand below their variable, and
    rows without numbers are headings or reference levels (see `without_headings`); one with the part 'reference' is
    such a level, one with 'elsewhere' has cells of other tables. n_may_be_events: the n of a Cox model may be that of
    its events. unread: what else is printed of the model, in words, and follows from nothing that is read.
    program, absorb, levels: of fixed effects, which program printed it, the variables absorbed, where it names them,
    and texts of how many levels each has. method, by: of a mixed model, how and by which program it was fitted; its
    groups are in `absorb`. endogenous, instruments, first_stages, small: of a regression with instruments, its terms,
    as the program names them, the F of first stages (of which, '' where it is the only one, and its text), whether it
    divides by n - K; `by` is its program. tau: of
    which quantile it is, where it says that; its program is in `by`.
    subset: of whom it is, as the table says it, where these are not all. unweighted, unstratified: it says that it has
    no weights, or no strata. survey: the design of a survey that it is by, as far as it is printed. words: caption and
    notes of its table. of_all: its call is printed, and names no subset.
    """

    rows: tuple[tuple[str, Mapping[str, str]], ...]
    bases: tuple[str, ...] = ()
    single: Mapping[str, str] = field(default_factory=dict)
    exponentiated: bool = False
    errors_of_ratios: bool = False
    level: float | None = 0.95
    significant: int = 0
    own_digits: bool = False
    exact: int = 6
    profiled: bool = False
    kind: str = ""
    response: str = ""
    last_reference: bool = True
    robust: str = ""
    covariance: Estimator = ""
    clustered: bool = False
    cluster: str = ""
    distribution: str = ""
    weighted: bool = False
    weight: str = ""
    comma: bool = False
    outcomes: tuple[str, ...] = ()
    base: str = ""
    status: str = ""
    event: str = ""
    strata: tuple[str, ...] = ()
    stratified: bool = False
    ties: str = ""
    ordered: bool = False
    distances: bool = False
    shape: tuple[Mapping[str, str], ...] = ()
    expected: bool = False
    perhaps_profiled: bool = False
    kinds: tuple[Kind, ...] = ()
    open_scale: bool = False
    headed: bool = False
    n_may_be_events: bool = False
    unread: tuple[str, ...] = ()
    program: Program | Literal[""] = ""
    absorb: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    method: str = ""
    by: str = ""
    endogenous: tuple[str, ...] = ()
    instruments: tuple[str, ...] = ()
    first_stages: tuple[tuple[str, str], ...] = ()
    small: bool = False
    tau: str = ""
    subset: str = ""
    unweighted: bool = False
    unstratified: bool = False
    survey: PrintedDesign | None = None
    words: str = ""
    of_all: bool = False


def unread(fits: Iterable[str], single: Mapping[str, str]) -> tuple[str, ...]:
    """Measures of fit, by their names in a table, that are neither read nor follow from what is: `single`."""
    return tuple(name for name in fits if not _FOLLOWING.get(name.casefold(), {""}) <= {*single})
