"""Released outputs: one file a kind. The registry says which entry of a study file makes which outputs."""

from outrisk.outputs.base import Output, release, released
from outrisk.outputs.frequencies import Frequencies, FrequenciesEntry
from outrisk.outputs.logit import Logit, LogitEntry, RegressionEntry, logit_from_terms
from outrisk.outputs.regression import Regression
from outrisk.outputs.regression_release import Release

REGISTRY: dict[str, type[RegressionEntry] | type[FrequenciesEntry]] = {
    "logit": RegressionEntry,
    "probit": RegressionEntry,
    "poisson": RegressionEntry,
    "ols": RegressionEntry,
    "mnlogit": RegressionEntry,
    "frequencies": FrequenciesEntry,
}

__all__ = [
    "REGISTRY",
    "Frequencies",
    "FrequenciesEntry",
    "Logit",
    "LogitEntry",
    "Output",
    "Regression",
    "RegressionEntry",
    "Release",
    "logit_from_terms",
    "release",
    "released",
]
