"""Write a run directory: everything into a hidden folder beside it, which takes its name when it is whole."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from outrisk.codebook import Codebook, codebook_to_dict
from outrisk.errors import ConfigError

MATCHED = [
    "level", "fold", "run", "output", "label", "released", "low", "high", "refit", "difference", "decimals", "matched",
]  # fmt: skip
TRAJECTORY = ["level", "fold", "run", "generation", "mse", "mae", "chi2", "rate", "seconds", "matched"]
SNAPSHOTS = [
    *["level", "fold", "run", "generation", "mse", "mae"],
    *["tcap_undefined_original", "tcap_undefined_holdout", "tcap_zero_original", "tcap_zero_holdout"],
]
RISK = ["level", "fold", "run", "key_size", "keys", "measure", "side", "value", "certain", "matched", "reason"]


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
            file.write(json.dumps(plain(line)) + "\n")

    def table(self, name: str, columns: list[str], rows: Iterable[Mapping[str, Any]]) -> None:
        """Write a CSV; what is not defined is empty."""
        pd.DataFrame(list(rows), columns=columns).to_csv(self.folder / name, index=False, lineterminator="\n")

    def json(self, name: str, document: Mapping[str, Any]) -> None:
        """Write JSON; what is not defined is null."""
        (self.folder / name).write_text(json.dumps(plain(document), indent=1, allow_nan=False) + "\n", encoding="utf-8")

    def yaml(self, name: str, document: Mapping[str, Any]) -> None:
        """Write YAML."""
        text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)
        (self.folder / name).write_text(text, encoding="utf-8")

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


def plain(value: Any) -> Any:
    """A value as JSON can hold it: NaN and infinities become None, numpy scalars become Python's."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
