"""Released outputs: one file a kind. The registry says which entry of a study file makes which outputs."""

from typing import get_args

from outrisk.outputs.base import Common, Entry, Output, release, released
from outrisk.outputs.conditions.rules import Rule, read_rules
from outrisk.outputs.given import released_as_given
from outrisk.outputs.plain_entry import entry_of
from outrisk.outputs.regression.cox import Cox
from outrisk.outputs.regression.cox_entry import CoxEntry
from outrisk.outputs.regression.instrumental import Instrumental
from outrisk.outputs.regression.instrumental_entry import InstrumentalEntry
from outrisk.outputs.regression.marginal_effects import Margins
from outrisk.outputs.regression.margins_entry import MarginsEntry
from outrisk.outputs.regression.mixed import Mixed
from outrisk.outputs.regression.mixed_entry import MixedEntry
from outrisk.outputs.regression.quantile_regression import QuantileRegression
from outrisk.outputs.regression.quantile_regression_entry import QuantileRegressionEntry
from outrisk.outputs.regression.regression import Regression
from outrisk.outputs.regression.regression_entry import Logit, RegressionEntry, logit_from_terms
from outrisk.outputs.regression.release import Release
from outrisk.outputs.smooth.association import Association, AssociationEntry
from outrisk.outputs.smooth.correlations import Correlations, CorrelationsEntry
from outrisk.outputs.smooth.custom import Custom, CustomEntry
from outrisk.outputs.smooth.hypothesis_test import HypothesisTest, HypothesisTestEntry
from outrisk.outputs.smooth.proportions import Proportions, ProportionsEntry
from outrisk.outputs.smooth.shape import Shape, ShapeEntry
from outrisk.outputs.smooth.standardised import Standardised, StandardisedEntry
from outrisk.outputs.smooth.survival import Survival, SurvivalEntry
from outrisk.outputs.tables.frequencies import Frequencies, FrequenciesEntry, UnivariateEntry
from outrisk.outputs.tables.histogram import Histogram, HistogramEntry
from outrisk.outputs.tables.magnitudes import Magnitudes, MagnitudesEntry
from outrisk.outputs.tables.mode import Mode, ModeEntry
from outrisk.outputs.tables.quantiles import Quantiles, QuantilesEntry
from outrisk.outputs.tables.rates import Rates, RatesEntry
from outrisk.outputs.tables.shares import counting
from outrisk.outputs.tables.table_one import TableOneEntry

REGISTRY: dict[str, type[Entry]] = {}  # the entry of each kind in a study file


def register(entry: type[Entry]) -> type[Entry]:
    """Make the kinds of an entry known to studies; ValueError for one that is known already. Returns the entry."""
    kinds = get_args(entry.model_fields["kind"].annotation)
    if not kinds:
        raise ValueError(f"{entry.__name__}: 'kind' must be a Literal of the kind's name")
    for kind in kinds:
        if REGISTRY.setdefault(kind, entry) is not entry:
            raise ValueError(f"there is a kind '{kind}' already: {REGISTRY[kind].__name__}")
    return entry


for _entry in (
    RegressionEntry,
    CoxEntry,
    MarginsEntry,
    MixedEntry,
    InstrumentalEntry,
    QuantileRegressionEntry,
    FrequenciesEntry,
    UnivariateEntry,
    MagnitudesEntry,
    RatesEntry,
    ProportionsEntry,
    StandardisedEntry,
    AssociationEntry,
    ShapeEntry,
    QuantilesEntry,
    ModeEntry,
    HistogramEntry,
    CorrelationsEntry,
    SurvivalEntry,
    HypothesisTestEntry,
    TableOneEntry,
    CustomEntry,
):
    register(_entry)

__all__ = [
    "REGISTRY",
    "Association",
    "AssociationEntry",
    "Common",
    "Correlations",
    "CorrelationsEntry",
    "Cox",
    "CoxEntry",
    "Custom",
    "CustomEntry",
    "Entry",
    "Frequencies",
    "FrequenciesEntry",
    "Histogram",
    "HistogramEntry",
    "HypothesisTest",
    "HypothesisTestEntry",
    "Instrumental",
    "InstrumentalEntry",
    "Logit",
    "Magnitudes",
    "MagnitudesEntry",
    "Margins",
    "MarginsEntry",
    "Mixed",
    "MixedEntry",
    "Mode",
    "ModeEntry",
    "Output",
    "Proportions",
    "ProportionsEntry",
    "QuantileRegression",
    "QuantileRegressionEntry",
    "Quantiles",
    "QuantilesEntry",
    "Rates",
    "RatesEntry",
    "Regression",
    "RegressionEntry",
    "Release",
    "Rule",
    "Shape",
    "ShapeEntry",
    "Standardised",
    "StandardisedEntry",
    "Survival",
    "SurvivalEntry",
    "TableOneEntry",
    "UnivariateEntry",
    "counting",
    "entry_of",
    "logit_from_terms",
    "read_rules",
    "register",
    "release",
    "released",
    "released_as_given",
]
