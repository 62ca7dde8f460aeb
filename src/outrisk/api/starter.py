"""Begin a study: an inferred codebook and a starter study, for a person to correct."""

from __future__ import annotations

import os
from pathlib import Path

import yaml

from outrisk.codebook import Codebook, codebook_to_dict
from outrisk.errors import ConfigError
from outrisk.microdata import infer_codebook, read_table

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


def start_study(data: Path, out: Path | None, force: bool) -> tuple[Path, Path]:
    """Write a commented study and codebook for a data file: their paths. ConfigError if a file is in the way."""
    study = out or data.with_suffix(".yaml")
    codebook_file = study.with_name(f"{study.stem}.codebook.yaml")
    if not study.parent.is_dir():
        raise ConfigError(f"{study.parent}: no such directory; make it, or give another --out")
    for file in (study, codebook_file):
        if file.exists() and not force:
            raise ConfigError(f"{file} exists; give --force to replace it, or another --out")
    codebook, guesses = infer_codebook(read_table(data), source=str(data))
    if len(codebook.variables) < 2:
        raise ConfigError(f"{data}: one column only; a study needs a key and a target")
    target, keys = _guess_roles(codebook)
    text = _STUDY.format(
        study=study,
        name="".join(c if c.isalnum() or c in "._-" else "-" for c in study.stem).lstrip("._-") or "study",
        data=_quote(str(data if study.parent == Path() else _relative(data, study.parent))),
        codebook=_quote(codebook_file.name),
        first=_quote(keys[0]),
        target=_quote(target),
        keys=", ".join(_quote(key) for key in keys),
        sizes=", ".join(str(size) for size in range(min(3, len(keys)), len(keys) + 1)),
    )
    study.write_text(text, encoding="utf-8")
    codebook_file.write_text(_commented(codebook, guesses), encoding="utf-8")
    return study, codebook_file


def _guess_roles(codebook: Codebook) -> tuple[str, list[str]]:
    """The last variable with few values as target, up to six others with more than one value as keys."""
    varying = [variable for variable in codebook.variables if variable.size > 1] or list(codebook.variables)
    target = min(reversed(varying), key=lambda variable: (variable.size > 10, 0))
    keys = [variable.name for variable in codebook.variables if variable.name != target.name][:6]
    return target.name, keys


def _commented(codebook: Codebook, guesses: dict[str, str]) -> str:
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
