"""Study files: YAML -> a validated study. Unknown keys are refused, with the place named."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializeAsAny,
    ValidationError,
    ValidationInfo,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from outrisk.appetite import Appetite
from outrisk.codebook import Codebook, codebook_from_dict
from outrisk.errors import (
    CodebookError,
    ConfigError,
    EvolveError,
    ExpressionError,
    OutRiskError,
    did_you_mean,
    first_line,
)
from outrisk.evolve.settings import Settings, preset
from outrisk.expressions import read_expression
from outrisk.microdata import MISSING_VALUES
from outrisk.outputs import REGISTRY, Entry, Output, Rule, read_rules, released_as_given
from outrisk.outputs.base import both
from outrisk.problem.released import Released
from outrisk.readers.remarks import kept
from outrisk.readers.values import files_of, resolve
from outrisk.tabular import Written

# sections of a study that go with data
_PATHS = {"path", "acro", "values", "function"}  # keys whose values are paths relative to the study file
_OF_DATA = ("privacy", "attacks", "appetite", "intruder", "register", "contributions", "released")
_BLANK = "???"  # what `outrisk init` could not know
_MOST_RUNS = 1_000
ENOUGH = "enough"  # runs: as many as the verdict needs
_LONGEST = 10**8  # seconds, three years: a timer takes no more than 292 years
_LARGEST = 2**63  # whole number in a file
_MOST_EXPRESSIONS = 1_000  # rules, derived columns
_MOST_NODES = 1_000_000  # entries of a YAML file, those that aliases repeat counted each time


def _entry(value: object, read: object, context: ValidationInfo) -> Entry:
    """An entry of a study by its kind."""
    if isinstance(value, Entry):
        return value
    if not isinstance(value, Mapping):
        raise PydanticCustomError("model_type", "write a mapping of keys to values")
    kind = value.get("kind")
    model = REGISTRY.get(kind) if isinstance(kind, str) else None
    if model is None:
        raise PydanticCustomError("unknown_kind", "it needs a kind")
    return model.model_validate(value, context=context.context)


OutputEntry = Annotated[SerializeAsAny[Entry], WrapValidator(_entry)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DataSection(_Section):
    """Where records come from, how a CSV is written, and what is done to them before anything else.

    In this order: `missing` (codes of a column that mean missing) and `years` (dates become their year), then rows
    `where`, then `derive` (new column: an expression), then `drop`, then `columns` (the only ones kept), at last what
    the codebook does not list: `merge` (it counts as this level of a column), `known` (its records are left out).
    `person` and `household` are columns that say whose records are whose; they are no variables.
    """

    path: str = ""
    package: Literal["", "statsmodels", "outrisk"] = ""
    dataset: str = ""
    options: dict[str, int] = Field(default_factory=dict)
    sep: str = ""
    decimal: str = ""
    encoding: str = ""
    missing: dict[str, tuple[str | int | float, ...]] = Field(default_factory=dict)
    years: tuple[str, ...] = ()
    where: str = ""
    derive: dict[str, str] = Field(default_factory=dict, max_length=_MOST_EXPRESSIONS)
    drop: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    merge: dict[str, str] = Field(default_factory=dict)
    known: tuple[str, ...] = ()
    person: str = ""
    household: str = ""
    missing_values: tuple[str, ...] = MISSING_VALUES

    @model_validator(mode="after")
    def _one_source(self) -> DataSection:
        if bool(self.path) == bool(self.package):
            raise ValueError("give either 'path', or 'package' and 'dataset'")
        if bool(self.package) != bool(self.dataset):
            raise ValueError("'package' and 'dataset' go together")
        if self.written and not self.path:
            raise ValueError("'sep', 'decimal' and 'encoding' go with 'path'")
        _ = self.written.checked()
        for place, text in (("where", self.where), *((f"derive {name}", text) for name, text in self.derive.items())):
            try:
                _ = read_expression(text) if text or place != "where" else None
            except ExpressionError as error:
                raise ValueError(f"{place}: {text!r} {error}") from None
        return self

    @property
    def rounded(self) -> list[str]:
        """Columns that are rounded before anything is computed."""
        return [name for name, text in self.derive.items() if "round(" in text]

    @property
    def written(self) -> Written:
        """How the file is written, as far as the study says it."""
        return Written(self.sep, self.decimal, self.encoding)


class EvolveSection(_Section):
    """The evolution: a preset, its seed, and settings of the preset that are changed."""

    preset: Literal["fast", "paper"] = "fast"
    seed: int = Field(default=1, ge=0)
    start: str | None = None
    population: int | None = None
    generations: int | None = None
    patience: int | None = None
    fitness: Literal["mse", "chi2"] | None = None
    crowding: int | None = None

    def settings(self) -> Settings:
        """The preset with the given changes."""
        changes = {
            name: value for name, value in self.model_dump(exclude={"preset", "seed"}).items() if value is not None
        }
        return preset(self.preset, **changes)


def _positive(runs: object) -> object:
    if runs == ENOUGH:
        return runs
    numbers = [*runs, *runs.values()] if isinstance(runs, dict) and runs else [runs]
    if any(isinstance(each, bool) or not isinstance(each, int) or not 1 <= each <= _MOST_RUNS for each in numbers):
        raise ValueError(
            f"write a whole number from 1 to {_MOST_RUNS:,}, or one for each level of folds, as in {{1: 10, 2: 5}}; "
            f"or '{ENOUGH}'"
        )
    return runs


class StudySection(_Section):
    """Folds and runs. `runs` is one number, or one a level of folds, or 'enough': as many as the verdict needs. Time
    limits, in seconds: of the study, after which what has ended is reported, and of a run's evolution, which then ends
    where it is.
    """

    runs: Annotated[Literal["enough"] | int | dict[int, int], BeforeValidator(_positive)] = 3
    folds: tuple[int, ...] = (1, 2)
    time_limit: float | None = Field(default=None, gt=0, le=_LONGEST)
    run_time_limit: float | None = Field(default=None, gt=0, le=_LONGEST)

    @model_validator(mode="after")
    def _levels(self) -> StudySection:
        for level in self.folds:
            if level < 1 or level & (level - 1):
                raise ValueError(f"folds: {level} is not 1, 2, 4, 8, ...: folds are made by halving")
        if not self.folds or len(set(self.folds)) < len(self.folds):
            raise ValueError(f"folds: {list(self.folds)} must list one or more different levels")
        if isinstance(self.runs, dict) and set(self.runs) != set(self.folds):
            raise ValueError(
                f"runs: gives {sorted(self.runs)} and folds: gives {sorted(self.folds)}; they must name the same levels"
            )
        return self

    def runs_at(self, level: int, most: int) -> int:
        """How many runs each fold of a level gets; `most`, at most, where as many as are enough are asked for."""
        if isinstance(self.runs, dict):
            return self.runs[level]
        return most if isinstance(self.runs, str) else self.runs


def _names(given: object) -> object:
    if given != "all" and not (isinstance(given, list | tuple) and all(isinstance(name, str) for name in given)):
        raise ValueError("write 'all', or a list of names")
    return given


Names = Annotated[Literal["all"] | tuple[str, ...], BeforeValidator(_names)]


class PrivacySection(_Section):
    """Privacy metrics of the best candidate of every run; `metrics` by default all but those that train classifiers."""

    metrics: Names | None = None
    sample: int | None = Field(default=1_000, ge=2)
    time_limit: float = Field(default=20.0, gt=0, le=_LONGEST)


class AttacksSection(_Section):
    """Classifiers trained on the best candidate of every run; written as `all` or a list, these are their names."""

    classifiers: Names = ()
    encoding: Literal["nominal", "ordinal"] = "nominal"

    @model_validator(mode="before")
    @classmethod
    def _names_alone(cls, given: object) -> object:
        return given if isinstance(given, dict | AttacksSection) else {"classifiers": _names(given)}


def _share_of_people(given: object) -> object:
    if given != "all" and not (isinstance(given, int | float) and not isinstance(given, bool) and 0 < given <= 1):
        raise ValueError("write 'all', or the share of people in the register, above 0 and at most 1")
    return given


class RegisterSection(_Section):
    """What the intruder with a register knows: `keys` (default: the study's) of everybody in the data, or of a share
    of them, drawn at random.
    """

    keys: tuple[str, ...] = ()
    known_for: Annotated[Literal["all"] | float, BeforeValidator(_share_of_people)] = "all"

    @property
    def share(self) -> float:
        """The share of the people in the data that the register holds."""
        return 1.0 if self.known_for == "all" else float(self.known_for)


class ContributionsSection(_Section):
    """What each output adds to the risk of all; `runs` on the release of each subset of outputs.

    leave_one_out: by default for few outputs, where there may be a risk to be shared. shapley: of at most eight.
    """

    leave_one_out: bool | None = None
    shapley: bool = False
    runs: int = Field(default=1, ge=1, le=_MOST_RUNS)


class StudyFile(_Section):
    """The content of a study file."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    source: str = ""
    acro: str = ""
    data: DataSection | None = None
    holdout: DataSection | None = None
    records: int | None = Field(default=None, ge=1)
    codebook: str = ""
    outputs: tuple[OutputEntry, ...] = Field(min_length=1)
    released: tuple[str, ...] = ()
    rules: tuple[str, ...] = Field(default=(), max_length=_MOST_EXPRESSIONS)
    keys: tuple[str, ...] = Field(default=(), min_length=1)
    target: str = ""
    key_sizes: tuple[int, ...] = ()
    target_within: float | None = Field(default=None, ge=0, lt=1)
    tau: float = Field(default=1.0, gt=0, le=1)
    appetite: Appetite = Appetite()
    intruder: tuple[Literal["codebook", "register"], ...] = Field(default=("codebook", "register"), min_length=1)
    register_: RegisterSection = Field(
        default=RegisterSection(), alias="register"
    )  # pydantic has a `register` of its own
    privacy: PrivacySection = PrivacySection()
    attacks: AttacksSection = AttacksSection()
    contributions: ContributionsSection = ContributionsSection()
    evolve: EvolveSection = EvolveSection()
    study: StudySection = StudySection()

    @model_validator(mode="after")
    def _data_or_values(self) -> StudyFile:
        given = [entry.values is not None for entry in self.outputs]
        if self.data is None:
            if not all(given):
                bare = f"outputs {given.index(False) + 1}"
                raise ValueError(f"'data' is missing; add it, or give every output its 'values' ({bare} has none)")
            if not self.codebook:
                raise ValueError("'codebook' is missing; add it: without 'data' it cannot be inferred")
            if self.holdout is not None:
                raise ValueError("'holdout' goes with 'data'; a study of released values has neither")
            given_here = {name.rstrip("_") for name in self.model_fields_set}
            asked = [name for name in _OF_DATA if name in given_here]
            if asked:
                raise ValueError(f"'{asked[0]}' goes with 'data'; without them no risk is measured")
            return self
        if self.records is not None:
            raise ValueError("'records' goes with released values; the 'data' are counted")
        if self.holdout is not None and (self.holdout.person or self.holdout.household):
            raise ValueError("'person' and 'household' stand in 'data', and hold for the 'holdout', too")
        if "codebook" not in self.intruder or len(set(self.intruder)) < len(self.intruder):
            raise ValueError("[intruder] names 'codebook', which is always assessed, and perhaps 'register', each once")
        if "register" not in self.intruder and "register_" in self.model_fields_set:
            raise ValueError("[register] goes with intruder: [codebook, register]; keep both or neither")
        if self.appetite.intruder not in self.intruder:
            raise ValueError("[appetite] intruder: register goes with intruder: [codebook, register]; give both")
        missing = [name for name in ("keys", "target") if not getattr(self, name)]
        if missing:
            raise ValueError(f"'{missing[0]}' is missing; add it")
        return self


def _important(output: Output, importance: float) -> Output:
    return output if output.importance == importance else replace(output, importance=importance)


@dataclass(frozen=True)
class Study:
    """A study file with the place it was read from; `trust`: whether code of the study's own may be run.

    earlier: studies whose outputs are already released; theirs come before its own, under their names. within: which of
    the records of the study that they were released before its outputs are of ('' for all).
    """

    file: StudyFile
    path: Path
    trust: bool = False
    earlier: tuple[Study, ...] = ()
    within: str = ""

    @property
    def folder(self) -> Path:
        """Relative paths in the study file start here."""
        return self.path.parent

    @property
    def key_sizes(self) -> tuple[int, ...]:
        """Sizes of key sets; by default from 3 (or fewer, if there are fewer keys) to all."""
        keys = len(self.file.keys)
        return tuple(sorted(set(self.file.key_sizes))) or tuple(range(min(3, keys), keys + 1))

    @property
    def register_keys(self) -> tuple[str, ...]:
        """What the register holds of everybody; by default the keys."""
        return self.file.register_.keys or self.file.keys

    def codebook(self) -> Codebook | None:
        """The codebook that the study names, if it does."""
        return read_codebook(self.folder / self.file.codebook) if self.file.codebook else None

    def outputs(self, codebook: Codebook) -> list[Output]:
        """All outputs, those already released first, in the order of the files; each has a name of its own."""
        own = [output for _, built in self._built(codebook) for output in built]
        outputs = [*self.outputs_of_earlier(codebook), *own]
        names = [output.name for output in outputs]
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None:
            raise ConfigError(f"{self.path.name}: two outputs are called '{repeated}'; give each its own 'name'")
        return outputs

    def outputs_of_earlier(self, codebook: Codebook) -> list[Output]:
        """Outputs already released, named after their studies; ConfigError where they cannot be those of a codebook."""
        found = []
        for study in self.earlier:
            try:
                outputs = study.outputs(codebook)
            except OutRiskError as error:
                raise ConfigError(f"{study.path}, already released, does not fit {self.path.name}: {error}") from None
            named = [replace(output, name=f"{study.file.name}: {output.name}") for output in outputs]
            found += named
        return found

    def released(self, codebook: Codebook) -> list[Released]:
        """All outputs with the values that the study gives."""
        _ = self.outputs(codebook)
        return [
            released
            for entry, built in self._built(codebook)
            for released in released_as_given(built, entry.values, self.folder)
        ]

    def given(self, codebook: Codebook) -> dict[str, Released]:
        """The outputs that the study gives values of, by name; the others are computed from its data."""
        own = {
            released.name: released
            for entry, built in self._built(codebook, given=True)
            for released in released_as_given(built, entry.values, self.folder)
        }
        outputs = {output.name: output for output in self.outputs_of_earlier(codebook)}
        before = {
            f"{study.file.name}: {name}": released
            for study in self.earlier
            for name, released in study.given(codebook).items()
        }
        return {name: replace(released, output=outputs[name]) for name, released in before.items()} | own

    @property
    def files_of_values(self) -> list[Path]:
        """Files that released numbers are read from."""
        found = (files_of(entry.values, self.folder) for entry in self.file.outputs)
        return [*dict.fromkeys(path for paths in found for path in paths)]

    @property
    def files_of_functions(self) -> list[Path]:
        """Python files with the study's own functions."""
        found = (entry.runs.rpartition(":")[0] for entry in self.file.outputs)
        return [*dict.fromkeys(self.folder / place for place in found if place.endswith(".py"))]

    @property
    def files(self) -> list[Path]:
        """All files that it comes from, those of studies already released among them."""
        sections = (self.file.data, self.file.holdout)
        names = [self.file.codebook, *(section.path for section in sections if section is not None)]
        own = [self.path, *(self.folder / name for name in names if name)]
        own += [*self.files_of_values, *self.files_of_functions]
        return [path for path in [*own, *(path for study in self.earlier for path in study.files)] if path.is_file()]

    def seen(self, path: Path) -> str:
        """A path as it is written in the study file: relative to its folder."""
        try:
            return Path(os.path.relpath(path, self.folder)).as_posix()
        except ValueError:  # another drive
            return path.as_posix()

    def refuse_code(self) -> None:
        """ConfigError where an output runs code that comes with the study, and is not trusted to."""
        for position, entry in enumerate(self.file.outputs, start=1):
            if entry.runs and not self.trust:
                raise ConfigError(
                    f"{self.path}: [outputs {position}] runs {entry.runs!r}, code that comes with the study; "
                    "read it, and give --trust if it may run (in Python, give the function itself)"
                )

    def _built(self, codebook: Codebook, given: bool = False) -> list[tuple[OutputEntry, list[Output]]]:
        """The entries with their outputs; `given`: of those alone that the study gives values of. Of outputs that would
        have one name, those of a subset are called after it.
        """
        self.refuse_code()
        built = [
            (entry, self._of_subset(entry).build(codebook, position))
            for position, written in enumerate(self.file.outputs, start=1)
            for entry in resolve(written, codebook, position, self.folder)
        ]
        names = Counter(output.name for _, outputs in built for output in outputs)

        def called(entry: OutputEntry, output: Output) -> Output:
            apart = names[output.name] > 1 and not entry.name and output.where
            return replace(output, name=f"{output.name} where {output.where}") if apart else output

        return [
            (entry, [_important(called(entry, output), entry.importance) for output in outputs])
            for entry, outputs in built
            if entry.values is not None or not given
        ]

    def _of_subset(self, entry: OutputEntry) -> OutputEntry:
        if not self.within:
            return entry
        return entry.model_copy(update={"where": both(self.within, entry.where)})

    def remarks(self, codebook: Codebook) -> tuple[str, ...]:
        """How released numbers were read from the files that print them, and what was left out, each in a line."""
        with kept() as said:
            for position, entry in enumerate(self.file.outputs, start=1):
                resolve(entry, codebook, position, self.folder)
        return tuple(text.replace(f"{self.folder}{os.sep}", "") for text in said)

    def rules(self, codebook: Codebook) -> tuple[Rule, ...]:
        """The plausibility rules."""
        return read_rules(codebook, self.file.rules)

    def resolved(self) -> dict[str, Any]:
        """The study as carried out, defaults filled in, for study.yaml."""
        document = self.file.model_dump(mode="json", by_alias=True)
        if self.file.data is None:  # neither keys nor target are needed
            document = {name: value for name, value in document.items() if value or name not in ("keys", "target")}
            document = {name: value for name, value in document.items() if name not in _OF_DATA}
        if self.file.keys:
            document["key_sizes"] = list(self.key_sizes)
        if "register" in document.get("intruder", ()):
            document["register"]["keys"] = list(self.register_keys)
        else:
            document.pop("register", None)
        document["study"]["runs"] = self.file.study.runs  # JSON would turn its levels into text
        document["evolve"] = {"preset": self.file.evolve.preset, "seed": self.file.evolve.seed} | {
            name: value
            for name, value in asdict(self.file.evolve.settings()).items()
            if name in EvolveSection.model_fields
        }
        return document

    def stored(self, place: Path, codebook: Codebook) -> dict[str, Any]:
        """As `resolved`, such that it can be carried out from the folder `place`, where the codebook lies beside it.

        Paths are as seen from there, and released numbers that were read from other programs' files stand in it.
        """
        document = self.resolved()
        outputs = []
        for position, entry in enumerate(self.file.outputs, start=1):
            of_file = isinstance(entry.values, str)
            for each in resolve(entry, codebook, position, self.folder) if of_file else [entry]:
                outputs.append(each.model_dump(mode="json", by_alias=True))
        for section in (*outputs, document, document.get("data") or {}, document.get("holdout") or {}):
            for key in _PATHS & section.keys():
                if isinstance(section[key], str) and "\n" not in section[key]:
                    section[key] = self._seen_from(place, section[key])
        document["released"] = [self._seen_from(place, each) for each in document.get("released", ())]
        return document | {"outputs": outputs} | ({"codebook": "codebook.yaml"} if self.file.codebook else {})

    def _seen_from(self, place: Path, text: str) -> str:
        """A path relative to the study's folder, relative to another; as it is where nothing is there to be found."""
        bare = text.rpartition("#")[0] or text.rpartition(":")[0]  # table.xlsx#2, file.py:function
        bare = bare if (self.folder / bare).exists() else bare.rpartition("#")[0]  # paper.docx#2#1
        if (
            not text
            or Path(text).is_absolute()
            or not any((self.folder / each).exists() for each in (text, bare) if each)
        ):
            return text
        try:
            return Path(os.path.relpath((self.folder / text).absolute(), place.absolute())).as_posix()
        except ValueError:  # another drive
            return text


def _blank(part: object, place: str) -> str:
    """Where a study has something that is still to be filled in; '' where it has not."""
    if isinstance(part, Mapping):
        items: list[tuple[str, object]] = [(f".{name}", each) for name, each in part.items()]
    elif isinstance(part, list | tuple):
        items = [(f" {number}", each) for number, each in enumerate(part, start=1)]
    else:
        return place.strip(". ") if part == _BLANK else ""
    return next((found for more, each in items if (found := _blank(each, place + more))), "")


def read_study(
    path: Path,
    seed: int | None = None,
    trust: bool = False,
    time_limit: float | None = None,
    run_time_limit: float | None = None,
    released: Sequence[Path] = (),
) -> Study:
    """Read and check a study file; ConfigError in one line names the place.

    `seed` and the time limits (seconds) take the place of the file's; `released` comes to what the file says is
    already released. Nothing that the file says is run, but for the functions of `custom` outputs where `trust` allows.
    """
    document = _read_yaml(path)
    places = (
        ("evolve", "seed", seed),
        ("study", "time_limit", time_limit),
        ("study", "run_time_limit", run_time_limit),
    )
    for name, key, value in places:
        if value is not None and isinstance(document, dict):
            section = document.setdefault(name, {})
            if isinstance(section, dict):
                section[key] = value
    if released and isinstance(document, dict):
        names = [os.path.relpath(each.resolve(), path.resolve().parent) for each in released]
        given = document.get("released", [])
        document["released"] = [*given, *names] if isinstance(given, list) else given
    return study_of(document, path, trust)


def is_study(path: Path) -> bool:
    """Whether a YAML file is a study: a mapping with outputs. ConfigError where it cannot be read."""
    document = _read_yaml(path)
    return isinstance(document, dict) and "outputs" in document


def study_of(document: object, path: Path, trust: bool = False) -> Study:
    """A study of the content of a study file; ConfigError in one line names the place. `path` is its own."""
    try:
        file = StudyFile.model_validate(document, context={"folder": path.parent})
        file.evolve.settings()
    except ValidationError as error:
        way = "" if isinstance(document, dict) else f"; of a file of records, 'outrisk init {path.name}' writes one"
        raise ConfigError(f"{path}: {_explain(error, document)}{way}") from None
    except EvolveError as error:
        raise ConfigError(f"{path}: {error}") from None
    blank = _blank(document, "")
    if blank:
        raise ConfigError(f"{path}: [{blank}] is still {_BLANK}: it could not be known; fill it in, or take it out")
    study = Study(file, path, trust, tuple(_beside(file, path, each) for each in _earlier(file, path, trust)))
    study.refuse_code()
    return study


def _earlier(file: StudyFile, path: Path, trust: bool) -> tuple[Study, ...]:
    """The studies already released, each once, with those that were before them."""
    found: dict[Path, Study] = {}
    waiting = [(path.parent / name) for name in file.released]
    while waiting:
        place = waiting.pop(0)
        known = place.resolve()
        if known == path.resolve():
            raise ConfigError(f"{path}: [released] names the study itself; name those that are already out")
        if known not in found:
            document = _read_yaml(place)
            before = document.pop("released", []) if isinstance(document, dict) else []
            found[known] = study_of(document, place, trust)
            waiting += [place.parent / str(name) for name in (before if isinstance(before, list) else [])]
    return tuple(found.values())


def _beside(file: StudyFile, path: Path, earlier: Study) -> Study:
    """An earlier study, of some of the records where it has `where` and the same source as a study that has none."""
    one, other = file.data, earlier.file.data
    if one is None or other is None or one.where or not other.where:
        return earlier
    here, there = (
        (each.path and (place.parent / each.path).resolve(), each.package, each.dataset, each.options)
        for place, each in ((path, one), (earlier.path, other))
    )
    return replace(earlier, within=other.where) if here == there else earlier


def read_codebook(path: Path) -> Codebook:
    """Read a codebook file; ConfigError or CodebookError in one line names it."""
    document = _read_yaml(path)
    try:
        return codebook_from_dict(document)
    except CodebookError as error:
        raise CodebookError(f"{path}: {str(error).removeprefix('codebook: ')}") from None


class _Loader(yaml.SafeLoader):
    """YAML's safe loader, which refuses a key that is given twice in one mapping (YAML would quietly keep the last)."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if (key.tag, key.value) in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"key '{key.value}' is given twice", key.start_mark
                    )
                seen.add((key.tag, key.value))
        return super().construct_mapping(node, deep)

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        """A whole number of 64 bits: larger ones cannot be computed with, nor always be written."""
        text = str(self.construct_scalar(node))
        if len(text) > 100 or abs(number := int(super().construct_yaml_int(node))) > _LARGEST:
            shown = text if len(text) <= 20 else f"{text[:20]}..."
            raise yaml.constructor.ConstructorError(
                None, None, f"{shown} is too large for a number; put it in quotes if it is text", node.start_mark
            )
        return number


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)


def _loaded(text: str) -> object:
    """The content of a YAML document; YAMLError for one that aliases blow up beyond any study."""
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        if _size(node, {}) > _MOST_NODES:
            raise yaml.YAMLError(f"aliases make it more than {_MOST_NODES:,} entries; leave them out")
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _size(node: yaml.Node, known: dict[int, float]) -> float:
    """How many entries a node stands for, those of an alias each time; infinite where it contains itself."""
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = math.inf
    parts = node.value if isinstance(node, yaml.SequenceNode | yaml.MappingNode) else []
    flat = [part for each in parts for part in (each if isinstance(each, tuple) else (each,))]
    known[id(node)] = 1 + sum(_size(part, known) for part in flat)
    return known[id(node)]


def _read_yaml(path: Path) -> object:
    try:
        return _loaded(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not a text file in UTF-8; save it as UTF-8, in YAML") from None
    except (RecursionError, ValueError) as error:  # nested too deep; an impossible date
        raise ConfigError(f"{path}: not YAML: {first_line(error)}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = str(getattr(error, "problem", None) or error)
        slashes = "; write a path with / or between ' and '" if "escape" in problem else ""
        raise ConfigError(f"{path}: not YAML{where}: {problem}{slashes}") from None


_SECTIONS: dict[str, type[BaseModel]] = {
    "data": DataSection,
    "holdout": DataSection,
    "appetite": Appetite,
    "register": RegisterSection,
    "privacy": PrivacySection,
    "contributions": ContributionsSection,
    "evolve": EvolveSection,
    "study": StudySection,
}


_WORDS = {  # pydantic's kinds of fault in this project's words
    "tuple_type": "write a list",
    "too_short": "list at least one",
    "too_long": f"give at most {_MOST_EXPRESSIONS:,}",
    "string_type": "write text (in quotes, if YAML reads it otherwise)",
    "string_pattern_mismatch": "use letters, digits, '.', '_' and '-' only, a letter or digit first",
    "int_type": "write a whole number",
    "int_parsing": "write a whole number",
    "int_from_float": "write a whole number",
    "float_type": "write a number",
    "float_parsing": "write a number",
    "dict_type": "write a mapping of keys to values",
    "model_type": "write a mapping of keys to values",
    "model_attributes_type": "write a mapping of keys to values",
}


_ALSO_CALLED = {  # what other programs call a kind of output
    **dict.fromkeys(("crosstab", "crosstable", "crosstabs", "xtab", "table", "contingency", "counts"), "frequencies"),
    **dict.fromkeys(("tabulate", "tab", "shares", "percentage", "percentages", "percent"), "frequencies"),
    **dict.fromkeys(("logistic", "logisticregression", "binomial", "glm"), "logit"),
    **dict.fromkeys(("multinomial", "mlogit", "multinom", "multinomiallogit"), "mnlogit"),
    **dict.fromkeys(("ordered", "orderedlogit", "ordinal", "polr", "plum", "proportionalodds"), "ologit"),
    **dict.fromkeys(("orderedprobit",), "oprobit"),
    **dict.fromkeys(("nbreg", "negativebinomial", "glmnb", "nb2"), "negbin"),
    **dict.fromkeys(
        ("margin", "marginaleffects", "ame", "avgslopes", "avgpredictions", "getmargeff", "mfx"), "margins"
    ),
    **dict.fromkeys(("linear", "regression", "lm", "leastsquares", "reghdfe", "feols", "panel", "fixedeffects"), "ols"),
    **dict.fromkeys(("2sls", "tsls", "ivreg", "ivregress", "ivreg2", "instrumentalvariables"), "iv"),
    **dict.fromkeys(("lmer", "xtreg", "multilevel", "randomeffects", "randomintercept"), "mixed"),
    **dict.fromkeys(("mean", "means", "sum", "sums", "pivot", "pivottable", "aggregate"), "magnitudes"),
    **dict.fromkeys(("summary", "summaries", "summarize", "describe", "descriptive", "descriptives"), "magnitudes"),
    **dict.fromkeys(("rate", "incidence", "incidencerate", "strate", "stptime", "pyears", "ratio", "ratios"), "rates"),
    **dict.fromkeys(("standardisedrates", "standardizedrates", "dsr", "asr", "asmr", "smr", "sir"), "standardised"),
    **dict.fromkeys(("dstdize", "istdize", "ageadjust", "ageadjusted", "ageadjustdirect"), "standardised"),
    **dict.fromkeys(("proportion", "prevalence", "prevalences", "ciproportions", "binomtest"), "proportions"),
    **dict.fromkeys(("binomialtest", "binomconfint", "proportionconfint"), "proportions"),
    **dict.fromkeys(
        ("associations", "riskratio", "relativerisk", "riskdifference", "oddsratio", "cs", "cc"), "association"
    ),
    **dict.fromkeys(("mantelhaen", "mantelhaenszel", "cmh", "epi2by2", "twobytwo", "2x2"), "association"),
    **dict.fromkeys(("skewness", "kurtosis", "gini", "ginicoefficient", "inequality", "ineqdeco"), "shape"),
    **dict.fromkeys(("hhi", "herfindahl", "concentration", "concentrationratio", "cv"), "shape"),
    **dict.fromkeys(("median", "medians", "percentiles"), "quantiles"),
    **dict.fromkeys(("kaplanmeier", "km", "survfunc", "survivalcurve"), "survival"),
    **dict.fromkeys(
        ("coxph", "phreg", "stcox", "coxregression", "proportionalhazards", "hazardratio", "hazard"), "cox"
    ),
    **dict.fromkeys(("hist", "bars", "density"), "histogram"),
    **dict.fromkeys(("covariance", "covariances", "corr"), "correlations"),
    **dict.fromkeys(("ttest", "chisq", "chisquare", "chisquared", "chisqtest", "chi2", "anova", "oneway"), "test"),
    **dict.fromkeys(("ranksum", "wilcoxon", "wilcoxtest", "mannwhitney", "mannwhitneyu", "kruskal"), "test"),
    **dict.fromkeys(("fisher", "fishertest", "fisherexact", "exact", "mcnemar", "mcnemartest", "mcc"), "test"),
    **dict.fromkeys(("paired", "pairedt", "pairedttest", "ttestrel", "signrank", "signedrank", "signedranks"), "test"),
}

_OF_SURVEYS = {  # of programs for surveys, behind 'svy': kinds with a design
    **dict.fromkeys(("ciprop", "prop", "proportion", "proportions"), "proportions"),
    **dict.fromkeys(("mean", "means", "by"), "magnitudes"),
    **dict.fromkeys(("reg", "regress", "regression"), "ols"),
    **dict.fromkeys(("glm", "logit", "logistic"), "logit"),
    "poisson": "poisson",
}


def _explain(error: ValidationError, document: object) -> str:
    """The first fault of a study file, in one line."""
    if not isinstance(document, dict):
        return "a study file is a mapping with name, data (or values in the outputs), outputs, keys and target"
    unknown = [fault for fault in error.errors() if fault["type"] == "extra_forbidden"]
    fault = unknown[0] if unknown else error.errors()[0]
    place = fault["loc"][:-1] if unknown else fault["loc"]
    inside = _place(place)
    if unknown:
        names, known = (
            sorted({str(each["loc"][-1]) for each in unknown if each["loc"][:-1] == place}),
            _known(place, document),
        )
        return (
            f"{f'[{inside}] has ' if inside else ''}unknown keys {names}; known: {known}{did_you_mean(names[0], known)}"
        )
    if fault["type"] == "missing":
        return f"'{inside}' is missing; add it"
    if fault["type"] == "unknown_kind":
        given = fault["input"].get("kind", "") if isinstance(fault["input"], dict) else ""
        letters = "".join(filter(str.isalnum, str(given).casefold()))
        of_survey = _OF_SURVEYS.get(letters.removeprefix("svy")) if letters.startswith("svy") else None
        usual = of_survey or _ALSO_CALLED.get(letters)
        by = " with design: {weights: ...}" * bool(of_survey)
        meant = f"; did you mean '{usual}'{by}?" if usual else did_you_mean(given, REGISTRY)
        none = f"; {given!r} is none of them{meant}" if given else ""
        return f"[{inside}] needs a kind, one of {sorted(REGISTRY)}{none}"
    message = fault["msg"].removeprefix("Value error, ").replace("Input should", "it must")
    if not place:
        return message
    whole_section = fault["type"] == "value_error" and place[-1] in _SECTIONS
    value = "" if whole_section else f" {_shown(fault['input'])}:"
    return f"[{inside}]{value} {_WORDS.get(fault['type'], message)}"


def _known(place: Sequence[int | str], document: dict[str, Any]) -> list[str]:
    """Keys of the section at a place."""
    if not place:
        return sorted(field.alias or name for name, field in StudyFile.model_fields.items())
    if place[0] == "outputs":
        return sorted(_fields_of(REGISTRY[document["outputs"][place[1]]["kind"]], place[2:]))
    return sorted(_SECTIONS[str(place[0])].model_fields)


def _fields_of(model: type[BaseModel], inside: Sequence[int | str]) -> Collection[str]:
    """Fields of a model, or of the model that stands in one of its fields, as `design`."""
    field = model.model_fields.get(str(inside[0])) if inside else None
    models = (field.annotation, *get_args(field.annotation)) if field else ()
    of = next((each for each in models if isinstance(each, type) and issubclass(each, BaseModel)), None)
    return model.model_fields if of is None else _fields_of(of, inside[1:])


def _shown(value: object) -> str:
    text = repr(value)
    return f"is {text}" if len(text) <= 60 else f"is {text[:57]}..."


def _place(parts: Sequence[int | str]) -> str:
    """Where a fault is, such as 'outputs 1.by': entries of a list count from 1."""
    words = [str(part) if isinstance(part, str) else f"{part + 1}" for part in parts]
    return ".".join(words).replace("outputs.", "outputs ", 1)
