"""A run directory read back as plain results; docs/files.md describes the files."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import pandas as pd
import yaml
from pydantic import BaseModel, BeforeValidator, ValidationError

from outrisk.errors import ConfigError

LEADING = "tcap_undefined"  # the measure that the report's answer rests on; `tcap_zero` stands beside it

_TEXT = {"fold", "output", "label", "keys", "measure", "side", "reason"}
_COLUMNS = {
    "matched.csv": "level fold run output label released low high refit difference decimals matched",
    "trajectory.csv": "level fold run generation mse mae chi2 rate seconds matched",
    "snapshots.csv": "level fold run generation mse mae tcap_undefined_original tcap_undefined_holdout "
    "tcap_zero_original tcap_zero_holdout",
    "risk.csv": "level fold run key_size keys measure side value certain matched reason",
}

Number = Annotated[float, BeforeValidator(lambda value: math.nan if value is None else value)]
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
Held = Annotated[int | None, BeforeValidator(lambda value: value or None)]  # 0 records held out are no holdout
Record = TypeVar("Record", bound=BaseModel)


class Estimate(BaseModel, frozen=True):
    """A risk with its 95 % interval; NaN with a reason where it is not defined."""

    measure: str
    keys: str
    side: str
    value: Number
    standard_error: Number
    low: Number
    high: Number
    n_key_sets: int
    n_undefined: int
    reason: Text = ""


class Extrapolation(BaseModel, frozen=True):
    """The line of risk on error (MAE) and its value at zero error; NaN with a reason where it is refused."""

    measure: str
    side: str
    intercept: Number
    low: Number
    high: Number
    slope: Number
    correlation: Number
    n_points: int
    n_runs: int
    mae_from: Number
    mae_to: Number
    r_squared: Number
    measured: Number
    reason: Text = ""


class Run(BaseModel, frozen=True):
    """How one evolution ended; the errors are by refit."""

    run: int
    stop: str
    generations: int
    seconds: Number
    mae: Number
    mse: Number
    largest_difference: Number
    matched: int
    numbers: int
    failures: list[str] = []  # outputs that could not be refitted, and why


class Fold(BaseModel, frozen=True):
    """One part of the data attacked, and the holdout it is read against (None where there was none)."""

    level: int
    fold: str
    n_original: int
    n_holdout: Held = None
    holdout: Text = ""
    runs: list[Run]
    estimates: list[Estimate]
    extrapolation: list[Extrapolation]


class Level(BaseModel, frozen=True):
    """Averages over the folds of one level."""

    level: int
    n_folds: int
    estimates: list[Estimate]


class Output(BaseModel, frozen=True):
    """One released output."""

    name: str
    kind: str
    notes: Text = ""
    numbers: int
    withheld: int = 0
    importance: float = 1.0

    @property
    def words(self) -> str:
        """The notes, and how important it was taken to be if not as every other."""
        more = f"importance {self.importance:g} in the fitness" if self.importance != 1 else ""
        return "; ".join(text for text in (self.notes, more) if text)


class Risk(BaseModel, frozen=True):
    """risk.json."""

    outright: str = ""
    target: str
    keys: list[str]
    key_sizes: list[int]
    tau: float
    largest: int
    outputs: list[Output]
    folds: list[Fold]
    levels: list[Level]


class Input(BaseModel, frozen=True):
    """A file the run read, by digest."""

    what: str
    name: str
    sha256: Text = ""
    records: int | None = None


class Slow(BaseModel, frozen=True):
    """What an output without an additive form has taken, over all runs."""

    output: str
    refits: int
    seconds: Number


class Manifest(BaseModel, frozen=True):
    """manifest.json."""

    outrisk: str
    study: str
    status: str
    runs_done: int
    runs_planned: int
    started: Text = ""
    seconds: Number = math.nan
    seed: int | None = None
    workers: int | None = None
    peak_memory_mb: Number = math.nan
    versions: dict[str, str]
    inputs: list[Input]
    slow: list[Slow] = []


@dataclass(frozen=True, eq=False)
class Results:
    """Everything the report is made from: aggregates only."""

    directory: Path
    manifest: Manifest
    study: dict[str, Any]
    risk: Risk
    matched: pd.DataFrame
    trajectory: pd.DataFrame
    snapshots: pd.DataFrame
    scores: pd.DataFrame  # risk.csv

    @property
    def runs(self) -> list[Run]:
        """Finished runs of all folds."""
        return [run for fold in self.risk.folds for run in fold.runs]

    @property
    def lead(self) -> Level | None:
        """The level the answer rests on: the fewest (hence largest) folds with a holdout, defined marginals first."""
        held_out = {fold.level for fold in self.risk.folds if fold.n_holdout and fold.runs}
        levels = [level for level in self.risk.levels if level.level in held_out]
        return min(levels, key=lambda level: (math.isnan(marginal(level).value), level.level), default=None)

    def folds_of(self, level: int) -> list[Fold]:
        """Folds of a level with a finished run."""
        return [fold for fold in self.risk.folds if fold.level == level and fold.runs]


def find(estimates: Sequence[Estimate], measure: str, side: str, keys: str = "all") -> Estimate:
    """The estimate asked for; an undefined one, with the reason, where the files have none."""
    for estimate in estimates:
        if (estimate.measure, estimate.side, estimate.keys) == (measure, side, keys):
            return estimate
    nan, reason = math.nan, "not estimated in this run"
    return Estimate(
        measure=measure, keys=keys, side=side, value=nan, standard_error=nan, low=nan, high=nan,
        n_key_sets=0, n_undefined=0, reason=reason,
    )  # fmt: skip


def marginal(part: Fold | Level, measure: str = LEADING) -> Estimate:
    """Original minus holdout, averaged over all key sets."""
    return find(part.estimates, measure, "marginal")


def read(directory: Path) -> Results:
    """Read a run directory; ConfigError, in one line, where it is none or a file is missing or broken."""
    if not (directory / "manifest.json").is_file():
        raise ConfigError(
            f"{directory} is not a run directory (no manifest.json in it); give a directory that `outrisk assess` wrote"
        )
    return Results(
        directory=directory,
        manifest=read_json(directory / "manifest.json", Manifest),
        study=read_yaml(directory / "study.yaml"),
        risk=read_json(directory / "risk.json", Risk),
        matched=_read_csv(directory / "matched.csv"),
        trajectory=_read_csv(directory / "trajectory.csv"),
        snapshots=_read_csv(directory / "snapshots.csv"),
        scores=_read_csv(directory / "risk.csv"),
    )


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path} is missing; run `outrisk assess` again to complete the directory") from None
    except (OSError, UnicodeDecodeError) as error:
        raise broken(path, error) from error


def read_json(path: Path, kind: type[Record]) -> Record:
    """A JSON file as a record of this kind; ConfigError where it is missing or broken."""
    try:
        return kind.model_validate(json.loads(_read_text(path)))
    except ValidationError as error:
        first = error.errors()[0]
        raise broken(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    except ValueError as error:
        raise broken(path, error) from error


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML mapping; ConfigError where it is missing or broken."""
    try:
        found = yaml.safe_load(_read_text(path))
    except yaml.YAMLError as error:
        raise broken(path, error) from error
    if not isinstance(found, dict):
        raise broken(path, "not a mapping")
    return found


def _read_csv(path: Path) -> pd.DataFrame:
    columns = _COLUMNS[path.name].split()
    flag = path.name == "matched.csv"  # there `matched` is true or false, elsewhere a count
    text = [name for name in columns if name in _TEXT or (flag and name == "matched")]
    numbers = [name for name in columns if name not in text]
    if not path.is_file():
        _read_text(path)
    try:
        frame = pd.read_csv(
            path,
            usecols=columns,
            dtype=dict.fromkeys(text, "str") | dict.fromkeys(numbers, "float64"),
            keep_default_na=False,  # a label may well read "NA"
            na_values={name: ["", "nan", "NaN"] for name in numbers},
        )
        frame = frame.astype({"level": "int64", "run": "int64"})
    except (ValueError, OSError) as error:
        raise broken(path, error) from error
    if path.name == "risk.csv" and frame.duplicated(["level", "fold", "run", "keys", "measure", "side"]).any():
        raise broken(path, "a measure of a key set stands there twice")
    if flag:
        frame["matched"] = frame["matched"].str.lower() == "true"
    return frame


def broken(path: Path, why: object) -> ConfigError:
    """The error for a file that is not as docs/files.md says."""
    return ConfigError(f"{path} cannot be read: {' '.join(str(why).split())}; see docs/files.md for its format")
