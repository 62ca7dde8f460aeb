"""Write a run directory: everything into a hidden folder beside it, which takes its name when it is whole."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from outrisk.codebook import Codebook, codebook_to_dict
from outrisk.errors import ConfigError
from outrisk.records import files


class RunDirectory:
    """A run directory in the making."""

    def __init__(self, final: Path, force: bool) -> None:
        self.final, self.force = final, force
        self.check()
        self.folder = final.parent / f".{final.name}.unfinished-{os.getpid()}"

    def check(self) -> None:
        """ConfigError if the directory is taken."""
        if self.final.exists() and not self.force:
            raise ConfigError(f"{self.final} exists; give --force to replace it, or another --out")
        if self.final.exists() and not _is_run(self.final):
            raise ConfigError(
                f"{self.final} exists and is not a run directory; --force does not replace it, give another --out"
            )

    @property
    def synthetic(self) -> Path:
        """Where the synthetic data go."""
        return self.folder / "synthetic"

    def open(self) -> None:
        """Make the folder; ConfigError if that is not allowed."""
        try:
            self.synthetic.mkdir(parents=True)
        except OSError as error:
            raise ConfigError(f"{self.final.parent}: cannot write there: {error.strerror}") from None

    def log(self, event: str, **particulars: object) -> None:
        """Add a line to log.jsonl."""
        line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **particulars}
        with (self.folder / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(files.plain(line)) + "\n")

    def rows(self, name: str, kind: type[Any], rows: Iterable[Any]) -> None:
        """Write a table: rows of a class of the schema."""
        files.write_rows(self.folder / name, kind, rows)

    def json(self, name: str, document: Any) -> None:
        """Write a document of the schema as JSON."""
        files.write_json(self.folder / name, document)

    def yaml(self, name: str, document: Mapping[str, Any]) -> None:
        """Write YAML."""
        files.write_yaml(self.folder / name, document)

    def codebook(self, codebook: Codebook) -> None:
        """Write codebook.yaml."""
        self.yaml("codebook.yaml", codebook_to_dict(codebook))

    def close(self, whole: bool) -> Path:
        """Give the folder its name; an unfinished study does not take the place of one that stands there."""
        place = self.final
        if not whole:
            number = 1
            while place.exists():
                place = self.final.with_name(f"{self.final.name}.interrupted-{number}")
                number += 1
        old = self.final.with_name(f".{self.final.name}.replaced-{os.getpid()}")
        if place.exists():
            place.rename(old)
        self.folder.rename(place)
        shutil.rmtree(old, ignore_errors=True)
        return place

    def discard(self) -> None:
        """Remove the unfinished folder."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _is_run(folder: Path) -> bool:
    return folder.is_dir() and ((folder / "manifest.json").is_file() or not any(folder.iterdir()))
