"""What every kind of released output offers, and what they share: subsets and tables over supports."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from outrisk.codebook import Codebook, Variable, format_value
from outrisk.errors import EvolveError, ExpressionError, OutputError
from outrisk.expressions import Expression, read_expression
from outrisk.microdata import Microdata, decode
from outrisk.problem.analysis import Analysis, RecordCounts
from outrisk.problem.blocks import Joint, Mask, joint_of
from outrisk.problem.counts import middle
from outrisk.problem.released import Part, Released

if TYPE_CHECKING:
    from outrisk.outputs.tables.as_given import Sheet

Array = NDArray[np.float64]


class Output(Analysis, Protocol):
    """An analysis whose numbers are released.

    `publish` says what is printed of exact values (k,): from where to where each may lie, both the same for a plain
    number. `parts` are the totals that the evolution works on, at given published values. `sheet`: how the printed
    numbers of a table lie to its protection; None for another kind. `printed` (k,): which numbers are published at all.
    An output is a dataclass, which its importance is set on.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def sheet(self) -> Sheet | None: ...  # noqa: D102
    @property
    def printed(self) -> NDArray[np.bool_]: ...  # noqa: D102
    def publish(self, values: Array) -> tuple[Array, Array]: ...  # noqa: D102
    def parts(self, values: Array) -> tuple[Part, ...]: ...  # noqa: D102


@dataclass(frozen=True)
class Common:
    """What is true of an output unless its kind says otherwise (see `Analysis` and `Output`)."""

    codebook: Codebook
    name: str
    importance: float = field(default=1.0, kw_only=True)

    if TYPE_CHECKING:  # its kind says, by a property or a field

        @property
        def labels(self) -> list[str]: ...  # noqa: D102

    @property
    def decimals(self) -> NDArray[np.int64]:
        """Its numbers are whole."""
        return np.zeros(len(self.labels), np.int64)

    @property
    def notes(self) -> str:
        """What was computed, in words."""
        return ""

    @property
    def where(self) -> str:
        """The records it was computed on: all."""
        return ""

    @property
    def table(self) -> tuple[str, ...]:
        """It is no table of counts or shares."""
        return ()

    @property
    def explains(self) -> bool:
        """It has no response."""
        return False

    @property
    def effort(self) -> Mapping[str, float]:
        """It has no slow path."""
        return {}

    def add_effort(self, more: Mapping[str, float]) -> None:
        """Add what its slow path has taken in another process."""

    @property
    def sought(self) -> NDArray[np.bool_]:
        """A search can bring all of its numbers (k,) nearer."""
        return np.ones(len(self.labels), dtype=np.bool_)

    @property
    def sheet(self) -> Sheet | None:
        """It has no protection."""
        return None

    def refits(self, many: Sequence[Microdata], start: Array | None = None) -> Iterator[Array | OutputError]:
        """The refit of each of several sets of records, or why there is none, as it is asked for."""
        for data in many:
            try:
                yield self.refit(data, start)
            except OutputError as error:
                yield error

    @property
    def printed(self) -> NDArray[np.bool_]:
        """All of its numbers (k,) are printed."""
        return np.ones(len(self.labels), dtype=np.bool_)

    def refit(self, data: Microdata, start: Array | None = None) -> Array:
        """Its kind says."""
        raise NotImplementedError

    def publish(self, values: Array) -> tuple[Array, Array]:
        """Plainly rounded, the same number from and to; an undefined one may be all."""
        rounded = np.array([np.round(value, at) for value, at in zip(values, self.decimals, strict=True)], dtype=float)
        undefined = ~np.isfinite(rounded)
        return np.where(undefined, -np.inf, rounded), np.where(undefined, np.inf, rounded)

    def check(self, low: Array, high: Array) -> None:
        """Any numbers can come from it."""

    def counts(self, low: Array, high: Array) -> Iterable[RecordCounts]:
        """It says nothing about numbers of records."""
        return ()

    def counts_first(self, low: Array, high: Array, proves: bool = False) -> Released | None:
        """Its parts tell all counts as they are."""
        return None

    def implied(self, low: Array, high: Array) -> Sequence[Released]:
        """It says nothing besides."""
        return ()


def _level(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("write a level as text (in quotes, if YAML reads it otherwise) or a number")
    return format_value(value)


Level = Annotated[str, BeforeValidator(_level)]  # in a study file 58 means the level '58'


def listed(value: object) -> object:
    """One name where a list of names is expected."""
    return [value] if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(listed)]  # in a study file one name, or a list


def _given(values: object) -> object:
    if values is None or isinstance(values, str | list | tuple):
        return values
    if isinstance(values, Mapping):
        return {format_value(label): value for label, value in values.items()}
    raise ValueError(
        "write a list in the order of the labels, a mapping of labels to values, or the name of a CSV file"
    )


Given = Annotated[Any, BeforeValidator(_given)]  # released values in a study file; None where there are none


class Entry(BaseModel):
    """What all entries under `outputs:` in a study file have in common.

    A kind of output has an entry of its own, with a `kind` (a Literal of its names) and `build`, and a line in
    `outputs.REGISTRY`; or it is given to `outputs.register`. positional: arguments that may go without their name in
    Python, in this order.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    positional: ClassVar[tuple[str, ...]] = ()

    kind: str
    name: str = ""
    where: str = ""
    importance: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    values: Given = None

    @property
    def runs(self) -> str:
        """The code that it runs and that comes with the study; '' for none."""
        return ""

    def build(self, codebook: Codebook, position: int) -> Sequence[Output]:
        """The outputs of this entry, the `position`-th (from 1) of its study; OutputError if there can be none."""
        raise NotImplementedError


def release(output: Output, data: Microdata, refit: Callable[[Output, Microdata], Array] | None = None) -> Released:
    """The output as it would be released from these records; OutputError where its subset holds none of them. refit:
    what gives its numbers (k,) of the records, where that is not its own refit.
    """
    where = output.where
    if where and Subset(data.codebook, where, output.name).select(data.frame()).empty:
        raise OutputError(f"output '{output.name}': where: {where!r} holds for no record of the data; widen it")
    return released(output, *output.publish(output.refit(data) if refit is None else refit(output, data)))


def released(output: Output, low: Array, high: Array | None = None) -> Released:
    """An output with published numbers, each a value or a range (k,).

    OutputError if their number is wrong, or if one cannot come from this analysis.
    """
    labels = output.labels
    high = low if high is None else high
    low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    for given in (low, high):
        if len(given) != len(labels):
            raise OutputError(f"output '{output.name}': {len(given)} values given for {len(labels)} published numbers")
    wrong = np.isnan(low) | np.isnan(high) | (low > high)
    if wrong.any():
        raise OutputError(f"output '{output.name}': the value of {labels[int(np.argmax(wrong))]} is not a number")
    output.check(low, high)
    return Released(output, low, high, output.parts(middle(low, high)))


def both(*conditions: str) -> str:
    """All of some conditions of `where`, those that are empty left out, as one."""
    some = [each for each in conditions if each]
    return " and ".join(f"({each})" for each in some) if len(some) > 1 else "".join(some)


def record_counts(labels: Sequence[str], label: str, low: Array, high: Array) -> Iterable[RecordCounts]:
    """The number of records that an output used, where it is one of the published numbers (k,) under this label."""
    if label in labels:
        at = labels.index(label)
        yield RecordCounts((), low[at], high[at])


@dataclass(frozen=True)
class Subset:
    """The records that an output was computed on: those where an expression holds (all, if it is empty)."""

    codebook: Codebook
    where: str
    output: str

    @cached_property
    def variables(self) -> list[str]:
        """Codebook variables named in the expression, in codebook order."""
        if not self.where:
            return []
        named = self._expression.columns.values()
        unknown = self._expression.unknown(self.codebook.names)
        if unknown or not named:
            raise OutputError(
                f"output '{self.output}': where: {self.where!r} names "
                f"{unknown or 'no variable'}; variables are {self.codebook.names}"
            )
        try:
            refuse_stray(self._expression, self.codebook)
        except ExpressionError as error:
            raise OutputError(f"output '{self.output}': where: {self.where!r} {error}") from None
        return [name for name in self.codebook.names if name in named]

    @cached_property
    def _expression(self) -> Expression:
        try:
            return read_expression(self.where)
        except ExpressionError as error:
            raise OutputError(f"output '{self.output}': where: {self.where!r} {error}") from None

    def masks(self) -> tuple[Mask, ...]:
        """The subset as a table over the supports of its variables (at most one mask)."""
        if not self.where:
            return ()
        joint = joint_for(self.codebook, self.variables, self.output)
        include = self.holds(support_frame(self.codebook, joint))
        if not include.any():
            raise OutputError(
                f"output '{self.output}': where: {self.where!r} holds for no value of the codebook; widen it"
            )
        return (Mask(joint, include),)

    def select(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The rows of a decoded data frame that belong to the subset."""
        return frame[self.holds(frame)] if self.where else frame

    def complete(self, data: Microdata, names: Sequence[str]) -> pd.DataFrame:
        """These columns of its decoded records that lack no value of them; OutputError if there are none."""
        frame = self.select(data.frame())[list(names)].dropna()
        if frame.empty:
            raise OutputError(f"output '{self.output}': no records to compute it on; see 'where' and missing values")
        return frame

    def excludes(self, name: str, levels: Collection[str]) -> bool:
        """Whether no record of the subset can have one of these levels of a variable, in any data."""
        return bool(self.where) and not self.levels(name) & set(levels)

    def levels(self, name: str) -> set[str]:
        """The levels of a variable that records of the subset may have, as labels, without the missing one."""
        named = {*self.variables, name}
        joint = joint_for(self.codebook, [each for each in self.codebook.names if each in named], self.output)
        return set(map(format_value, self.select(support_frame(self.codebook, joint))[name]))

    def holds(self, frame: pd.DataFrame) -> NDArray[np.bool_]:
        """Which rows of a decoded data frame belong to the subset, (rows,)."""
        if not self.where:
            return np.ones(len(frame), np.bool_)
        columns = {
            name: frame[name].astype(object) if isinstance(frame[name].dtype, pd.CategoricalDtype) else frame[name]
            for name in self.variables
        }
        try:
            holds = np.asarray(self._expression.evaluate(pd.DataFrame(columns)))
        except ExpressionError as error:
            raise OutputError(f"output '{self.output}': where: {self.where!r} {error}") from None
        if holds.dtype != bool or holds.shape != (len(frame),):
            raise OutputError(
                f"output '{self.output}': where: {self.where!r} is not true or false for each record (as age >= 27 is)"
            )
        return holds


def refuse_stray(expression: Expression, codebook: Codebook) -> None:
    """ExpressionError where it compares a category with what is no level of it, or a number with text."""
    variables = {name: codebook[name] for name in expression.columns.values()}

    def can_be(name: str, value: object) -> bool:
        return not isinstance(value, str) if variables[name].numeric else value in variables[name].code_of

    if stray := expression.stray(can_be, [name for name, each in variables.items() if each.numeric]):
        raise ExpressionError(f"compares '{stray[0]}' with {stray[1]}; {_comparable(variables[stray[0]])}")


def _comparable(variable: Variable) -> str:
    """What a variable can be compared with, in words."""
    if variable.numeric:
        return f"the values of '{variable.name}' are numbers: write one without quotes"
    more = ", ..." if len(variable.values) > 20 else ""
    missing = f" (a missing one is isna({variable.name}))" if variable.missing else ""
    return f"the levels of '{variable.name}' are text: {', '.join(map(repr, variable.values[:20]))}{more}{missing}"


def joint_for(codebook: Codebook, names: Sequence[str], output: str) -> Joint:
    """The joint of an output's variables, with the output named if it is too large."""
    try:
        return joint_of(codebook, names)
    except EvolveError as error:
        raise OutputError(f"output '{output}': {error}") from None


def places_in(codebook: Codebook, names: Sequence[str], frame: pd.DataFrame) -> NDArray[np.int64]:
    """Where each decoded record without missing values is among all combinations of the values of some variables, (n,);
    the last variable runs fastest.
    """
    place = np.zeros(len(frame), dtype=np.int64)
    for name in names:
        values = pd.Index(codebook[name].values)
        place = place * len(values) + values.get_indexer(pd.Index(frame[name]))
    return place


def support_frame(codebook: Codebook, joint: Joint) -> pd.DataFrame:
    """Every combination of a joint's variables as a decoded data frame, in the joint's order."""
    sizes = [codebook.sizes[j] for j in joint.variables]
    levels = np.indices(sizes).reshape(len(sizes), -1) if sizes else np.zeros((0, 1), int)
    columns: dict[str, Any] = {
        codebook.variables[j].name: decode(codebook.variables[j], level)
        for j, level in zip(joint.variables, levels, strict=True)
    }
    return pd.DataFrame(columns, index=pd.RangeIndex(joint.size))
