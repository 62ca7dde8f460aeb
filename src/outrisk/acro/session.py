"""A finalised ACRO folder read back: results.json of acro 1.x and 0.4.x, or results.xlsx; its configuration."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from outrisk.acro.command import read_command
from outrisk.appetite import Appetite
from outrisk.errors import ConfigError, first_line
from outrisk.readers.source import Grid, Source, read_source_of_values
from outrisk.readers.values import source_of
from outrisk.readers.workbook import acro_blocks

OWN = "-DONT_RELEASE"  # ends the names of what a tool adds for checkers
_CHECK_NAMES = {"threshold": "MinimumThresholdCheck", "p-ratio": "PPercentCheck", "nk-rule": "NKCheck"}  # 0.4.x
_LARGEST = 50_000_000


@dataclass(frozen=True)
class Result:
    """One output of a session. failed: what its summary says of checks that it fails; cells: (row, column) of data
    cells by check that they fail, from 0.
    """

    key: str
    type: str
    method: str
    mitigation: str = "none"
    base: int | None = None
    status: str = ""
    command: str = ""
    comments: tuple[str, ...] = ()
    exception: str = ""
    failed: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    cells: Mapping[str, frozenset[tuple[int, int]]] = field(default_factory=dict)
    dof: float | None = None
    dependent: tuple[str, ...] = ()
    independent: tuple[str, ...] = ()

    @property
    def flagged(self) -> frozenset[tuple[int, int]]:
        """Cells that fail a check for which cells are suppressed."""
        names = ("MinimumThresholdCheck", "NKCheck", "PPercentCheck", "PresenceOfZeroCheck", "RequiredZeroCheck")
        return frozenset(cell for name in names for cell in self.cells.get(name, ()))

    @property
    def below_threshold(self) -> bool:
        """Whether all flagged cells are flagged for their number of records."""
        few = {cell for name in ("MinimumThresholdCheck", "PresenceOfZeroCheck") for cell in self.cells.get(name, ())}
        return self.flagged <= few


@dataclass(frozen=True)
class Session:
    """A folder: its outputs in order, the version of acro, the configuration."""

    folder: Path
    version: str
    results: tuple[Result, ...]
    config: Mapping[str, Any]
    workbook: bool = False

    @property
    def appetite(self) -> Appetite:
        """The environment's rules, as far as OutRisk knows them; ConfigError for values that no rule can have."""
        known = {name: value for name, value in self.config.items() if name in Appetite.model_fields}
        try:
            return Appetite.model_validate(known)
        except ValueError as error:
            raise ConfigError(f"{self.folder / 'config.json'}: {first_line(error)}") from None

    @property
    def files(self) -> list[Path]:
        """The files that it is read from."""
        own = [self.folder / name for name in ("results.json", "results.xlsx", "config.json")]
        listed = [self.folder / file for each in self.results for file in each.files]
        return [path for path in dict.fromkeys([*own, *listed]) if path.is_file()]

    def source(self, result: Result, file: str = "") -> Source:
        """The cells of an output, or of one of its files."""
        return source_of(file or result.files[0], self.folder, result.key)[0]


def read_session(folder: Path) -> Session:
    """The session of a folder; ConfigError, in one line, for what is none."""
    if not folder.is_dir():
        raise ConfigError(f"{folder}: {'not a folder' if folder.exists() else 'no such folder'}; give a folder of ACRO")
    config = _json(folder / "config.json") if (folder / "config.json").is_file() else {}
    if not isinstance(config, Mapping):
        raise ConfigError(f"{folder / 'config.json'}: not the configuration of ACRO: no mapping")
    if (folder / "results.json").is_file():
        document = _json(folder / "results.json")
        if not isinstance(document, Mapping) or not isinstance(document.get("results"), Mapping):
            raise ConfigError(f"{folder / 'results.json'}: not the results of ACRO: no mapping 'results' in it")
        results = tuple(_result(folder, str(key), entry) for key, entry in document["results"].items())
        return Session(folder, str(document.get("version", "")), results, config)
    if (folder / "results.xlsx").is_file():
        return Session(folder, "", tuple(_of_workbook(folder / "results.xlsx")), config, workbook=True)
    raise ConfigError(f"{folder}: neither results.json nor results.xlsx in it; give a folder that ACRO finalised")


def _json(path: Path) -> Any:
    try:
        if path.stat().st_size > _LARGEST:
            raise ConfigError(f"{path}: {path.stat().st_size:,} bytes are too many for a session")
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not a text in UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not JSON: {first_line(error)}") from None


def _result(folder: Path, key: str, entry: Any) -> Result:
    place = f"{folder / 'results.json'}: '{key}'"
    if not isinstance(entry, Mapping):
        raise ConfigError(f"{place} is no mapping")
    properties, fair = _mapping(entry.get("properties")), _mapping(entry.get("fair"))
    files, cells = list[str](), dict[str, set[tuple[int, int]]]()
    listed = entry.get("files", [])
    for file in listed if isinstance(listed, list) else []:
        name = file.get("name") if isinstance(file, Mapping) else file
        if not isinstance(name, str) or not name or Path(name).name != name or "\\" in name or name in (".", ".."):
            raise ConfigError(f"{place} names a file {str(name)[:60]!r}; a file lies in the folder itself")
        files.append(name)
        sdc = _mapping(file.get("sdc")) if isinstance(file, Mapping) else {}
        for check, found in _mapping(sdc.get("cells")).items():
            cells.setdefault(_CHECK_NAMES.get(str(check), str(check)), set()).update(_cells(found))
    base, dof = properties.get("round_base"), properties.get("dof")
    return Result(
        key=key,
        type=str(entry.get("type", "")),
        method=str(properties.get("method", "")),
        mitigation=str(properties.get("mitigation", "none")),
        base=base if isinstance(base, int) and not isinstance(base, bool) and base > 1 else None,
        status=str(entry.get("status", "")),
        command=str(entry.get("command", "")),
        comments=_texts(entry.get("comments")),
        exception=str(entry.get("exception", "") or "").strip(),
        failed=_failed(str(entry.get("summary", "") or "")),
        files=tuple(files),
        cells={name: frozenset(found) for name, found in cells.items()},
        dof=float(dof) if isinstance(dof, int | float) and not isinstance(dof, bool) else None,
        dependent=_texts(fair.get("dependent")),
        independent=_texts(fair.get("independent")),
    )


def _failed(summary: str) -> tuple[str, ...]:
    """Checks that a summary says are failed, each with what it says of it, as `MinimumThresholdCheck: 6 cells` of
    'MinimumThresholdCheck: fail - 6 cells may need suppressing'; acro 0.4.x writes 'fail; p-ratio: 5 cells ...'.
    """
    found = re.findall(r"(\w+Check): fail\b[\s-]*(.*?)(?=[A-Z][a-zA-Z]+ : |\w+Check:|\n|$)", summary)
    if not found and summary.strip().startswith("fail;"):
        parts = [part.partition(":") for part in summary.strip()[5:].split(";") if part.strip()]
        found = [(_CHECK_NAMES.get(name.strip(), name.strip()), what) for name, _, what in parts]
    said = [(name, what.strip().rstrip(".").removesuffix(" may need suppressing")) for name, what in found]
    return tuple(dict.fromkeys(f"{name}: {what}" if what else name for name, what in said))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _texts(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    return tuple(str(each) for each in values)


def _cells(found: Any) -> set[tuple[int, int]]:
    pairs = found if isinstance(found, list) else []
    return {
        (int(pair[0]), int(pair[1]))
        for pair in pairs
        if isinstance(pair, list) and len(pair) == 2 and all(isinstance(each, int) for each in pair)
    }


def _of_workbook(path: Path) -> list[Result]:
    """Outputs of the xlsx form: what its first sheet lists, and what each sheet's block of checks says."""
    source = read_source_of_values(path)
    by_name = {sheet.title: (number, sheet.grid) for number, sheet in enumerate(source.sheets, start=1)}
    if "description" not in by_name:
        raise ConfigError(f"{path}: no sheet 'description' in it; it is no workbook of ACRO")
    found = []
    for row in by_name["description"][1][1:]:
        name, command = row[0], row[1] if len(row) > 1 else ""
        if not name:
            continue
        if name not in by_name:
            found.append(Result(name, "custom", "", command=command))
            continue
        number, grid = by_name[name]
        regression = any(cell.strip() in ("Dep. Variable:", "No. Observations:") for row in grid for cell in row)
        kind = "regression" if regression else "table"
        method = command.partition("(")[0].rpartition(".")[2]
        cells = {} if regression else _flagged(acro_blocks(grid), command)
        found.append(
            Result(
                name,
                kind,
                method,
                "suppress" if cells else "none",
                command=command,
                files=(f"{path.name}#{number}",),
                cells=cells,
            )
        )
    return found


def _flagged(blocks: list[Grid], command: str) -> dict[str, frozenset[tuple[int, int]]]:
    """Cells that a sheet's block of checks says to fail one, by check."""
    if len(blocks) < 2:
        return {}
    k = max(1, len(read_command(command).rows))
    body = [row[k:] for row in blocks[0] if any(cell.strip() == "ok" or "Check" in cell for cell in row[k:])]
    found: dict[str, set[tuple[int, int]]] = {}
    for number, row in enumerate(body):
        for at, cell in enumerate(row):
            for check in re.findall(r"\w+Check", cell):
                found.setdefault(check, set()).add((number, at))
    return {name: frozenset(cells) for name, cells in found.items()}
