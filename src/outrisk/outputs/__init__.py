"""Released outputs: one file a kind. The registry says which entry of a study file makes which outputs."""

from outrisk.outputs.base import Output, release, released
from outrisk.outputs.frequencies import Frequencies, FrequenciesEntry
from outrisk.outputs.logit import Logit, LogitEntry, logit_from_terms

REGISTRY: dict[str, type[LogitEntry] | type[FrequenciesEntry]] = {"logit": LogitEntry, "frequencies": FrequenciesEntry}

__all__ = [
    "REGISTRY",
    "Frequencies",
    "FrequenciesEntry",
    "Logit",
    "LogitEntry",
    "Output",
    "logit_from_terms",
    "release",
    "released",
]
