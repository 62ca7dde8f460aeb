"""Released outputs: one file a kind. The registry says which entry of a study file makes which outputs."""

from outrisk.outputs.base import Output, release, released
from outrisk.outputs.conditions.rules import Rule, read_rules
from outrisk.outputs.given import released_as_given
from outrisk.outputs.regression.entry import Logit, RegressionEntry, logit_from_terms
from outrisk.outputs.regression.regression import Regression
from outrisk.outputs.regression.release import Release
from outrisk.outputs.smooth.correlations import Correlations, CorrelationsEntry
from outrisk.outputs.smooth.custom import Custom, CustomEntry
from outrisk.outputs.smooth.survival import Survival, SurvivalEntry
from outrisk.outputs.tables.frequencies import Frequencies, FrequenciesEntry, UnivariateEntry
from outrisk.outputs.tables.histogram import Histogram, HistogramEntry
from outrisk.outputs.tables.magnitudes import Magnitudes, MagnitudesEntry
from outrisk.outputs.tables.mode import Mode, ModeEntry
from outrisk.outputs.tables.quantiles import Quantiles, QuantilesEntry

AnyEntry = (
    RegressionEntry
    | FrequenciesEntry
    | UnivariateEntry
    | MagnitudesEntry
    | QuantilesEntry
    | ModeEntry
    | HistogramEntry
    | CorrelationsEntry
    | SurvivalEntry
    | CustomEntry
)
REGISTRY: dict[str, type[AnyEntry]] = {
    "logit": RegressionEntry,
    "probit": RegressionEntry,
    "poisson": RegressionEntry,
    "ols": RegressionEntry,
    "mnlogit": RegressionEntry,
    "frequencies": FrequenciesEntry,
    "univariate": UnivariateEntry,
    "magnitudes": MagnitudesEntry,
    "quantiles": QuantilesEntry,
    "mode": ModeEntry,
    "histogram": HistogramEntry,
    "correlations": CorrelationsEntry,
    "survival": SurvivalEntry,
    "custom": CustomEntry,
}

__all__ = [
    "REGISTRY",
    "AnyEntry",
    "Correlations",
    "CorrelationsEntry",
    "Custom",
    "CustomEntry",
    "Frequencies",
    "FrequenciesEntry",
    "Histogram",
    "HistogramEntry",
    "Logit",
    "Magnitudes",
    "MagnitudesEntry",
    "Mode",
    "ModeEntry",
    "Output",
    "Quantiles",
    "QuantilesEntry",
    "Regression",
    "RegressionEntry",
    "Release",
    "Rule",
    "Survival",
    "SurvivalEntry",
    "UnivariateEntry",
    "logit_from_terms",
    "read_rules",
    "release",
    "released",
    "released_as_given",
]
