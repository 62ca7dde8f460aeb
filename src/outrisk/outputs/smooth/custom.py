"""The slow path: numbers of any kind, by a function of the study's own that is called afresh for every data set."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field, PlainSerializer, PrivateAttr

from outrisk.codebook import Codebook
from outrisk.errors import OutputError, first_line
from outrisk.microdata import Microdata
from outrisk.outputs.base import Array, Common, Entry, Subset, joint_for, support_frame
from outrisk.outputs.smooth import derivatives as smooth
from outrisk.outputs.smooth.recount import Effort, Recount
from outrisk.problem.released import ModelPart

Function = Callable[[pd.DataFrame], Sequence[float]]
Named = Annotated[str | Function, PlainSerializer(lambda function: called(function), return_type=str)]
MAX_CELLS = 2_000  # one refit for each, to find how the numbers depend on it


@dataclass(frozen=True)
class Custom(Common):
    """Numbers by `call`, from a data frame of the `variables` (decoded, a missing value as NaN; `where` applied).

    `call` returns one number for each of `labels`, NaN for an undefined one, and depends on nothing but the records,
    in whatever order. As they then depend on no more than the counts over the joint of the variables, these counts are
    the totals: OutputError if there are more than 2,000. `spent` counts what the slow path has taken so far.
    """

    function: str
    call: Function
    variables: tuple[str, ...]
    published: tuple[str, ...]
    places: tuple[int, ...]
    where: str = ""
    spent: Effort = field(default_factory=Effort, compare=False)
    kind = "custom"

    def __post_init__(self) -> None:
        smooth.check_names(self.codebook, self.variables, self.name)
        for what, names in (("variables", self.variables), ("labels", self.published)):
            if not names or len(set(names)) < len(names):
                raise OutputError(f"output '{self.name}': {what}: {list(names)} must name one or more different ones")
        if len(self.places) != len(self.published):
            raise OutputError(
                f"output '{self.name}': {len(self.places)} decimals for {len(self.published)} labels; give one each, "
                "or one number for all"
            )
        cells = joint_for(self.codebook, self.variables, self.name).size
        if cells > MAX_CELLS:
            raise OutputError(
                f"output '{self.name}': the supports of {list(self.variables)} multiply to {cells:,} cells; at most "
                f"{MAX_CELLS:,} are possible without an additive form: band one of them"
            )
        self._subset.masks()

    @cached_property
    def _subset(self) -> Subset:
        return Subset(self.codebook, self.where, self.name)

    @property
    def labels(self) -> list[str]:
        """As the study gives them."""
        return list(self.published)

    @property
    def decimals(self) -> NDArray[np.int64]:
        """Digits after the point of each published number, shape (k,)."""
        return np.array(self.places, dtype=np.int64)

    @property
    def notes(self) -> str:
        """What was computed, in words."""
        where = f"; where {self.where}" if self.where else ""
        how = "by code that comes with the study, trusted and run; slow: computed afresh for every data set"
        return f"{self.function} of {', '.join(self.variables)}{where}; {how}"

    @property
    def effort(self) -> Mapping[str, float]:
        """Refits and seconds of the slow path so far."""
        return self.spent.row()

    def add_effort(self, more: Mapping[str, float]) -> None:
        """Add refits and seconds of another process."""
        self.spent.add(int(more["refits"]), more["seconds"])

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """The numbers by the function on the decoded records, shape (k,); OutputError if it fails."""
        frame = self._subset.select(data.frame())[list(self.variables)].reset_index(drop=True)
        if frame.empty:
            raise OutputError(f"output '{self.name}': no records to compute it on; see 'where'")
        try:
            found = np.asarray(self.call(frame), dtype=np.float64)
        except (Exception, SystemExit) as error:  # whatever the study's function raises
            raise OutputError(f"output '{self.name}': {self.function} fails: {first_line(error)}") from error
        if found.shape != (len(self.published),):
            raise OutputError(
                f"output '{self.name}': {self.function} gives numbers of shape {found.shape} for "
                f"{len(self.published)} labels; return one for each label"
            )
        return np.where(np.isfinite(found), found, np.nan)

    def parts(self, values: Array) -> tuple[ModelPart, ...]:
        """Counts over the joint of the variables."""
        joint = joint_for(self.codebook, self.variables, self.name)
        model = smooth.sums_of(joint, np.eye(joint.size), self._subset.masks())
        cells = support_frame(self.codebook, joint)
        published = np.asarray(values, dtype=np.float64)
        recount = Recount(self.call, cells, published, self.decimals, fixed=not self.where, effort=self.spent)
        return (ModelPart(model, recount, len(self.published)),)


def load_function(text: str, folder: Path, output: str) -> Function:
    """The function that a study names: 'path/to/file.py:name' (the path relative to `folder`) or 'module:name'."""
    place, _, name = text.rpartition(":")
    if not place or not name:
        raise OutputError(f"output '{output}': function: {text!r}; write path/to/file.py:name, or module:name")
    try:
        module = _load_file(folder / place) if place.endswith(".py") else importlib.import_module(place)
    except FileNotFoundError:
        raise OutputError(f"output '{output}': function: {folder / place}: no such file") from None
    except (Exception, SystemExit) as error:  # whatever the file does when it is read
        raise OutputError(f"output '{output}': function: {place} cannot be read: {first_line(error)}") from error
    function: Any = getattr(module, name, None)
    if not callable(function):
        raise OutputError(f"output '{output}': function: {place} has no function '{name}'")
    return function  # type: ignore[no-any-return]


def _load_file(path: Path) -> object:
    if not path.is_file():
        raise FileNotFoundError(path)
    name = f"study function {path.resolve()}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]  # else other processes would be sent the module's name, which says nothing to them
    return module


def called(function: str | Function) -> str:
    """A function as a file can name it; one of a Python session by its name alone."""
    return (
        function if isinstance(function, str) else f"{getattr(function, '__qualname__', 'a function')} of the session"
    )


class CustomEntry(Entry):
    """Numbers of the study's own function in a study file, by its path relative to that file; or of a function itself,
    in Python.
    """

    positional = ("function", "variables", "labels")

    kind: Literal["custom"]
    function: Named
    variables: tuple[str, ...]
    labels: tuple[str, ...]
    decimals: Annotated[int, Field(ge=0, le=12)] | tuple[Annotated[int, Field(ge=0, le=12)], ...] = 4
    _folder: Path = PrivateAttr(default=Path())

    @property
    def runs(self) -> str:
        """The study's own function; none where a session gives a function itself, which it trusts."""
        return self.function if isinstance(self.function, str) else ""

    def model_post_init(self, context: Any, /) -> None:
        """Keep the study file's folder (`folder` of the validation context), so that it need not be written out."""
        self._folder = Path((context or {}).get("folder", ""))

    def build(self, codebook: Codebook, position: int) -> list[Custom]:
        """The output of this entry, the `position`-th (from 1) of its study."""
        name = self.name or f"custom {position}"
        function = self.function
        call = load_function(function, self._folder, name) if isinstance(function, str) else function
        places = (self.decimals,) * len(self.labels) if isinstance(self.decimals, int) else self.decimals
        return [Custom(codebook, name, called(function), call, self.variables, self.labels, places, self.where)]
