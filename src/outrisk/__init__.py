"""OutRisk: is this statistical output safe to release?

`check`, `prove`, `follow`, `assess`, `measure`, `teach` and `init` do the work; the objects named like the kinds of a
study file say what is to be released. All are loaded when they are first used, so that `import outrisk` is quick.
"""

from __future__ import annotations

import importlib
import os
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# numba takes settings from .numba_config.yaml in the current folder, by which it could be made to load code from there;
# what the environment says goes before
for _setting in ("NUMBA_CACHE_DIR", "NUMBA_CACHE_LOCATOR_CLASSES"):
    os.environ.setdefault(_setting, "")

if TYPE_CHECKING:
    from outrisk.api.assessed import Assessed as Assessed
    from outrisk.api.followed import follow as follow
    from outrisk.api.lessons import teach as teach
    from outrisk.api.looking import check as check
    from outrisk.api.measuring import measure as measure
    from outrisk.api.output_kinds import IV as IV
    from outrisk.api.output_kinds import OLS as OLS
    from outrisk.api.output_kinds import Correlations as Correlations
    from outrisk.api.output_kinds import Cox as Cox
    from outrisk.api.output_kinds import Crosstab as Crosstab
    from outrisk.api.output_kinds import Custom as Custom
    from outrisk.api.output_kinds import Fitted as Fitted
    from outrisk.api.output_kinds import Frequencies as Frequencies
    from outrisk.api.output_kinds import Histogram as Histogram
    from outrisk.api.output_kinds import Logit as Logit
    from outrisk.api.output_kinds import Magnitudes as Magnitudes
    from outrisk.api.output_kinds import Margins as Margins
    from outrisk.api.output_kinds import Mixed as Mixed
    from outrisk.api.output_kinds import MNLogit as MNLogit
    from outrisk.api.output_kinds import Mode as Mode
    from outrisk.api.output_kinds import NegBin as NegBin
    from outrisk.api.output_kinds import OLogit as OLogit
    from outrisk.api.output_kinds import OProbit as OProbit
    from outrisk.api.output_kinds import Poisson as Poisson
    from outrisk.api.output_kinds import Probit as Probit
    from outrisk.api.output_kinds import Proportions as Proportions
    from outrisk.api.output_kinds import Quantiles as Quantiles
    from outrisk.api.output_kinds import Rates as Rates
    from outrisk.api.output_kinds import Shape as Shape
    from outrisk.api.output_kinds import Standardised as Standardised
    from outrisk.api.output_kinds import Survival as Survival
    from outrisk.api.output_kinds import Test as Test
    from outrisk.api.output_kinds import Univariate as Univariate
    from outrisk.api.proving import prove as prove
    from outrisk.api.starter import init as init
    from outrisk.api.studies import assess as assess
    from outrisk.codebook import Codebook as Codebook
    from outrisk.errors import OutRiskError as OutRiskError
else:
    from outrisk import assess, prove, teach

_KINDS = "outrisk.api.output_kinds"
_PLACES = {
    "check": "outrisk.api.looking",
    "follow": "outrisk.api.followed",
    "measure": "outrisk.api.measuring",
    "init": "outrisk.api.starter",
    "Assessed": "outrisk.api.assessed",
    "Codebook": "outrisk.codebook",
    "OutRiskError": "outrisk.errors",
    "Fitted": _KINDS,
    "Crosstab": _KINDS,
}


def __getattr__(name: str) -> Any:
    if name == "__all__":  # which kinds there are is known once they are loaded
        return __dir__()
    if name not in _PLACES and (not name[:1].isupper() or name not in _kinds()):
        raise AttributeError(f"module 'outrisk' has no attribute '{name}'")
    return getattr(importlib.import_module(_PLACES.get(name, _KINDS)), name)


def __dir__() -> list[str]:
    return sorted({"assess", "prove", "teach", "__version__", *_PLACES, *_kinds()})


def _kinds() -> list[str]:
    """The names of the kinds of output, with those registered from outside the package."""
    return list(importlib.import_module(_KINDS).kinds())


class _Callable(ModuleType):
    """A package that is also a function: `outrisk.assess(...)` beside the modules `outrisk.assess.run` and so on."""

    _function: tuple[str, str]

    @property
    def __wrapped__(self) -> Any:
        place, name = self._function
        return getattr(importlib.import_module(place), name)

    def __call__(self, *values: Any, **given: Any) -> Any:
        return self.__wrapped__(*values, **given)


if not TYPE_CHECKING:
    for _package, _function in (
        (assess, ("outrisk.api.studies", "assess")),
        (prove, ("outrisk.api.proving", "prove")),
        (teach, ("outrisk.api.lessons", "teach")),
    ):
        _package.__class__ = _Callable
        _package._function = _function
