"""The kinds of error a user can meet; each message names the place, the value and the way out."""

import difflib
from collections.abc import Iterable


class OutRiskError(Exception):
    """Base of all errors that are a user's to mend; the command line prints one line and exits with code 2."""


class ConfigError(OutRiskError):
    """A study file, or an option on the command line, that cannot be carried out."""


class CodebookError(OutRiskError):
    """A codebook that contradicts itself, or a variable that it does not know."""


class ExpressionError(OutRiskError):
    """An expression that is not of the grammar, or has no value; whoever reads the expression names its place."""


class DataError(OutRiskError):
    """Microdata that cannot be read, or that do not fit their codebook."""


class OutputError(OutRiskError):
    """A released output that cannot be defined or computed on these data."""


class RiskError(OutRiskError):
    """Keys, target or data on which no disclosure measure is defined."""


class EvolveError(OutRiskError):
    """Settings or released numbers with which no evolution can start."""


class ProveError(OutRiskError):
    """A question about every data set that fits a release which cannot be put, or released numbers that none fits."""


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """What a name may have been meant to be, as the end of a message; empty where nothing comes near."""
    names = list(known)
    near = [each for each in names if each.casefold() == str(name).casefold()]  # a name in other letters is none
    near = near or difflib.get_close_matches(str(name), names, n=1)
    return f"; did you mean '{near[0]}'?" if near else ""


def first_line(error: BaseException) -> str:
    """What an error of another library says, in one line; its kind where it says nothing."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
