"""Released outputs: one file a kind. The registry says which entry of a study file makes which outputs."""

from outrisk.outputs.base import Output, release, released
from outrisk.outputs.correlations import Correlations, CorrelationsEntry
from outrisk.outputs.custom import Custom, CustomEntry
from outrisk.outputs.frequencies import Frequencies, FrequenciesEntry
from outrisk.outputs.logit import Logit, LogitEntry, logit_from_terms
from outrisk.outputs.survival import Survival, SurvivalEntry

REGISTRY: dict[
    str,
    type[LogitEntry] | type[FrequenciesEntry] | type[CorrelationsEntry] | type[SurvivalEntry] | type[CustomEntry],
] = {
    "logit": LogitEntry,
    "frequencies": FrequenciesEntry,
    "correlations": CorrelationsEntry,
    "survival": SurvivalEntry,
    "custom": CustomEntry,
}

__all__ = [
    "REGISTRY",
    "Correlations",
    "CorrelationsEntry",
    "Custom",
    "CustomEntry",
    "Frequencies",
    "FrequenciesEntry",
    "Logit",
    "LogitEntry",
    "Output",
    "Survival",
    "SurvivalEntry",
    "logit_from_terms",
    "release",
    "released",
]
