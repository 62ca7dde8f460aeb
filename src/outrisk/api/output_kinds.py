"""Released outputs as Python objects: the entries of a study file, with the same argument names."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from outrisk.errors import ConfigError, did_you_mean
from outrisk.outputs import REGISTRY, Entry


@dataclass(frozen=True)
class OutputEntry:
    """One entry under `outputs:` of a study: its kind, and what was given for it."""

    kind: str
    given: Mapping[str, Any]

    @property
    def document(self) -> dict[str, Any]:
        """The entry as a study file holds it."""
        return {"kind": self.kind, **self.given}

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(f'{name}={value!r}' for name, value in self.given.items())})"


@dataclass(frozen=True)
class FromSession:
    """A fitted model or a cross table of this session, and what is to be said of it beside."""

    source: object
    given: Mapping[str, Any]


class OutputKind:
    """Makes entries of one kind. ConfigError, in one line, for an argument that the kind does not have."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        model = REGISTRY[kind]
        names = [name for name in model.model_fields if name != "kind"]
        first = model.positional
        self.__doc__ = f"An entry of kind `{kind}` in a study: {model.__doc__}"
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in first]
            + [
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
                for name in sorted(names, key=lambda name: name in Entry.model_fields)
                if name not in first
            ]
        )
        self._first, self._names = first, names

    def __call__(self, *values: Any, **given: Any) -> OutputEntry:
        """The entry; see docs/outputs.md for what each argument means."""
        if len(values) > len(self._first):
            raise ConfigError(f"{self.kind}: {len(values)} values without a name; only {list(self._first)} need none")
        named = dict(zip(self._first, values, strict=False))
        for name in given:
            if name in named:
                raise ConfigError(f"{self.kind}: '{name}' is given twice")
            if name not in self._names:
                raise ConfigError(
                    f"{self.kind}: no argument '{name}'; known: {self._names}{did_you_mean(name, self._names)}"
                )
        return OutputEntry(self.kind, {name: _plain(value) for name, value in (named | given).items()})


def _plain(value: Any) -> Any:
    """What YAML would hold: a series becomes a mapping, an array a list."""
    if isinstance(value, pd.Series):
        return value.to_dict()
    return value.tolist() if hasattr(value, "tolist") else value


def kinds() -> dict[str, str]:
    """The kinds that studies know, by the names of their objects: Logit, ..., SomeKind for a kind some_kind."""
    names = {
        "ols": "OLS",
        "iv": "IV",
        "mnlogit": "MNLogit",
        "ologit": "OLogit",
        "oprobit": "OProbit",
        "negbin": "NegBin",
    }
    return {names.get(kind, kind.title().replace("_", "")): kind for kind in REGISTRY}


def __getattr__(name: str) -> OutputKind:
    known = kinds()
    if name not in known:
        raise AttributeError(f"module {__name__!r} has no attribute '{name}'")
    return OutputKind(known[name])


def Fitted(fit: object, **given: Any) -> FromSession:  # noqa: N802 - stands beside the kinds, named like one
    """A fitted model of statsmodels, with what the fit does not say: `where`, `name`, `release`, `decimals`, ..."""
    return FromSession(fit, given)


def Crosstab(table: object, **given: Any) -> FromSession:  # noqa: N802
    """A table by `pandas.crosstab`, with what it does not say: `where`, `name`, `weight`, `protection`, ...

    `decimals` of shares are the digits that they have in the table.
    """
    return FromSession(table, given)
