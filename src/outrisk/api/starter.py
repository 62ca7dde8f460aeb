"""Begin a study: an inferred codebook and a starter study, for a person to correct."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import yaml

from outrisk.api.checks_of_frames import check_frame
from outrisk.codebook import Codebook, codebook_to_dict
from outrisk.errors import ConfigError
from outrisk.microdata import FEW, infer_codebook
from outrisk.tabular import read_table
from outrisk.whole_files import write_text

_STUDY = """\
# A starter study, written by 'outrisk init'. What is marked CHECK was guessed; correct it, then: outrisk assess {study}
name: {name}
data: {{path: {data}}}
codebook: {codebook}
# holdout: {{path: other.csv}}   # records of the same population that were not used for the outputs, if there are any

# The released outputs. CHECK: replace these by what is to be released.
outputs:
  - kind: frequencies
    by: [{first}, {target}]
  # - kind: logit
  #   formula: {target} ~ {first}          # a category written as a number: C({first})
  #   decimals: 4                          # digits after the point that are released
  #   where: {first} == ...                # if it was fitted on part of the records

# What an intruder may know about a person, and what they want to learn. CHECK.
keys: [{keys}]
target: {target}
key_sizes: [{sizes}]

evolve: {{preset: fast, seed: 1}}
study: {{runs: 5, folds: [1, 2]}}         # 2: each half in turn is the original, the other half its holdout
"""


@dataclass(frozen=True)
class Starter:
    """What a study can begin with; all of it is guessed from data, for a person to correct.

    `guesses` say what was guessed of each variable. The codebook counts as public: whatever it names, the reader of a
    study knows.
    """

    codebook: Codebook
    guesses: Mapping[str, str]
    keys: tuple[str, ...]
    target: str

    @property
    def codebook_text(self) -> str:
        """The codebook as YAML in which every guess is marked."""
        return _commented(self.codebook, self.guesses)

    def study_text(
        self, study: str = "study.yaml", data: str = "data.csv", codebook: str = "study.codebook.yaml"
    ) -> str:
        """The study as commented YAML, for files of these names."""
        stem = Path(study).stem
        return _STUDY.format(
            study=study,
            name="".join(c if c.isalnum() or c in "._-" else "-" for c in stem).lstrip("._-") or "study",
            data=_quote(data),
            codebook=_quote(codebook),
            first=_quote(self.keys[0]),
            target=_quote(self.target),
            keys=", ".join(_quote(key) for key in self.keys),
            sizes=", ".join(str(size) for size in range(min(3, len(self.keys)), len(self.keys) + 1)),
        )

    def __repr__(self) -> str:
        return f"{self.study_text()}\n{self.codebook_text}".rstrip()

    def write(self, study: str | Path, data: str | Path, force: bool = False) -> tuple[Path, Path]:
        """Write study and codebook for records in the file `data`: their paths. ConfigError if a file is in the way."""
        study, data = Path(study), Path(data)
        codebook = _checked(study, force)
        place = str(data if study.parent == Path() else _relative(data, study.parent))
        write_text(study, self.study_text(str(study), place, codebook.name))
        write_text(codebook, self.codebook_text)
        return study, codebook


def init(data: pd.DataFrame, *, keys: Sequence[str] = (), target: str = "") -> Starter:
    """A codebook inferred from data, and a study to correct.

    Parameters
    ----------
    data : the records (n, variables).
    keys, target : what an intruder knows of a person, and wants to learn; guessed where they are not given.

    Returns
    -------
    Starter : its `codebook` (for `outrisk.assess`), `guesses`, and `write(study, data)` for files.

    Examples
    --------
    >>> outrisk.init(df).codebook
    """
    check_frame(data, "data")
    return _start(data, "data", keys, target, FEW)


def start_study(data: Path, out: Path | None, force: bool) -> tuple[Path, Path]:
    """Write a commented study and codebook for a data file: their paths. ConfigError if a file is in the way."""
    study = out or (data.with_suffix(".yaml") if data.name else data)
    _checked(study, force)
    return _start(read_table(data), str(data), (), "").write(study, data, force)


def _checked(study: Path, force: bool) -> Path:
    """Where the codebook goes beside a study; ConfigError if one of them cannot be written."""
    if study.is_dir() or not study.name:
        raise ConfigError(f"{study} is a directory; name the file to write, as in --out {study / 'study.yaml'}")
    if not study.parent.is_dir():
        raise ConfigError(f"{study.parent}: no such directory; make it, or give another --out")
    codebook = study.with_name(f"{study.stem}.codebook.yaml")
    for file in (study, codebook):
        if file.exists() and not force:
            raise ConfigError(f"{file} exists; give --force to replace it, or another --out")
    return codebook


def _start(frame: pd.DataFrame, source: str, keys: Sequence[str], target: str, few: int = 0) -> Starter:
    codebook, guesses = infer_codebook(frame, source=source, few=few)
    if len(codebook.variables) < 2:
        raise ConfigError(f"{source}: one column only; a study needs a key and a target")
    unknown = [name for name in (*keys, *([target] if target else [])) if name not in codebook]
    if unknown:
        raise ConfigError(f"{source}: no column {unknown[0]!r}; columns are {codebook.names}")
    guessed, others = _guess_roles(codebook)
    target = target or next(name for name in (guessed, *others) if name not in keys)
    others = [name for name in (*others, guessed) if name != target]
    return Starter(codebook, guesses, tuple(keys) or tuple(others[:6]), target)


def _guess_roles(codebook: Codebook) -> tuple[str, list[str]]:
    """The last variable with few values as target, up to six others with more than one value as keys."""
    varying = [variable for variable in codebook.variables if variable.size > 1] or list(codebook.variables)
    target = min(reversed(varying), key=lambda variable: (variable.size > 10, 0))
    keys = [variable.name for variable in codebook.variables if variable.name != target.name][:6]
    return target.name, keys


def _commented(codebook: Codebook, guesses: Mapping[str, str]) -> str:
    """A codebook as YAML in which every guess is marked."""
    lines = [
        "# A codebook inferred by 'outrisk init': every kind and support below was GUESSED from the values seen.",
        "# CHECK each: a value that could occur but was not seen belongs in it too. The codebook counts as public.",
        "variables:",
    ]
    document = codebook_to_dict(codebook)["variables"]
    for name, entry in document.items():
        lines.append(f"  # CHECK {guesses[name]}")
        text = yaml.safe_dump({name: entry}, sort_keys=False, allow_unicode=True, default_flow_style=None, width=110)
        lines += [f"  {line}" for line in text.splitlines()]
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    """A YAML scalar, quoted where it must be."""
    return yaml.safe_dump(text, default_flow_style=True, width=10_000).removesuffix("\n").removesuffix("\n...")


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()
