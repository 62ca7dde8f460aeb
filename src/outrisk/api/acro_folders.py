"""Studies of ACRO sessions: `outrisk init --acro`, what is wrong with a folder, the annotated copy."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from outrisk.acro.folder_faults import Fault, folder_faults
from outrisk.acro.held_against_data import Verifier
from outrisk.acro.proposed import BLANK, Proposed
from outrisk.acro.proposed_entries import propose_entries
from outrisk.acro.session import Session, read_session
from outrisk.acro.study_of_session import coverage_text, in_short, quoted, study_text
from outrisk.api.not_over_inputs import check_outputs
from outrisk.codebook import Codebook, Kind, Variable, codebook_to_dict, grid
from outrisk.config import DataSection
from outrisk.errors import ConfigError
from outrisk.load import recoded
from outrisk.microdata import from_frame, infer_codebook
from outrisk.propose.one_column import Rules
from outrisk.propose.proposal import Wishes, naming, propose
from outrisk.tabular import Written, read_source
from outrisk.whole_files import write_text

_FINEST = 60_000  # points of a grid


def start_acro_study(
    folder: Path,
    data: Path | None,
    out: Path | None,
    force: bool,
    written: Sequence[str] = ("", "", ""),
    keys: Sequence[str] = (),
    target: str = "",
) -> tuple[list[Proposed], list[Path]]:
    """Write a study of an ACRO folder, its coverage and, with data, its codebook: the coverage and the files.

    With `data`, what is open is tried until the numbers agree. ConfigError for a folder that is none, or a file in the
    way.
    """
    session = read_session(folder)
    study = out or Path(f"{folder.resolve().name}.yaml")
    if study.is_dir() or not study.parent.is_dir():
        raise ConfigError(f"{study}: cannot be written there; name a file, as in --out study.yaml")
    codebook_file = study.with_name(f"{study.stem}.codebook.yaml")
    coverage = study.with_name(f"{study.stem}.coverage.md")
    files = [study, coverage, *([codebook_file] if data else [])]
    for file in files:
        if file.exists() and not force:
            raise ConfigError(f"{file} exists; give --force to replace it, or another --out")
    check_outputs(files, [*([data] if data else []), *session.files])
    prefix = _relative(folder, study.parent)
    proposed = propose_entries(session, f"{prefix}/")
    appetite = session.appetite.model_dump(exclude_unset=True)
    name = "".join(c if c.isalnum() or c in "._-" else "-" for c in study.stem).lstrip("._-") or "study"
    if data is None:
        why = "the records of the session; with --data it is filled in, and what is open is settled"
        lines = f"data: {{path: '{BLANK}'}}   # {why}\n"
        text = study_text(proposed, name, prefix, lines, keys, target, appetite, guessed=True)
    else:
        text, proposed, codebook = _with_data(
            session, proposed, data, study, written, keys, target, (name, prefix, appetite)
        )
        write_text(codebook_file, _codebook_text(codebook))
    write_text(study, text)
    write_text(coverage, coverage_text(proposed, folder.name))
    return proposed, files


def covered_in_short(proposed: Sequence[Proposed]) -> str:
    """How many outputs are assessed, need input, are not covered."""
    return in_short(proposed)


def _with_data(
    session: Session,
    proposed: list[Proposed],
    data: Path,
    study: Path,
    written: Sequence[str],
    keys: Sequence[str],
    target: str,
    facts: tuple[str, str, Any],
) -> tuple[str, list[Proposed], Codebook]:
    table = read_source(data, Written(*written))
    often = _standing_in(proposed, [str(name) for name in table.frame.columns])
    wishes = Wishes(tuple(keys), target, (), (), {}, Rules(session.appetite.safe_threshold, ""), often)
    found = propose(table, str(data), wishes)
    codebook, recoding = _finer(_of_numbers(found.codebook), found.data_section())
    section = DataSection(path="data frame", **recoding)
    public = from_frame(recoded(table.frame, section, codebook, "data"), codebook)
    plain, _ = infer_codebook(table.frame[codebook.names], source=str(data), few=20)
    verifier = Verifier(public, from_frame(table.frame, plain), study.parent)
    proposed = [verifier.verified(each) for each in proposed]
    name, prefix, appetite = facts
    source = {"path": _relative(data, study.parent), **_given(table.written), **recoding}
    lines = f"data: {quoted(source)}\ncodebook: {quoted(f'{study.stem}.codebook.yaml')}\n"
    roles = tuple(found.keys), found.target
    text = study_text(proposed, name, prefix, lines, *roles, appetite, guessed=not (keys and target))
    return text, proposed, codebook


def _standing_in(proposed: Sequence[Proposed], names: Sequence[str]) -> dict[str, int]:
    """How many outputs of a session each column is named by."""
    said = [
        str([value for entry in each.entries for key, value in entry.items() if key not in ("kind", "name", "values")])
        for each in proposed
    ]
    return {name: sum(bool(re.search(naming(name), text)) for text in said) for name in names}


def _finer(codebook: Codebook, recoding: dict[str, Any]) -> tuple[Codebook, dict[str, Any]]:
    """The codebook with grids as fine as `_FINEST` points allow: released numbers rest on them, and each is whole."""
    variables, derive = list(codebook.variables), dict(recoding.get("derive", {}))
    for at, variable in enumerate(variables):
        if variable.name not in derive or len(variable.values) < 2:
            continue
        low, high, step = variable.values[0], variable.values[-1], variable.values[1] - variable.values[0]
        while (high - low) / step * 10 < _FINEST:
            step = round(step / 10, 12)
        kind: Kind = "numeric" if step % 1 else variable.kind
        values = grid(low, high, step) if kind == "numeric" else tuple(map(int, grid(low, high, step)))
        variables[at] = replace(variable, kind=kind, values=values)
        name = variable.name if variable.name.isidentifier() else f"`{variable.name}`"
        derive[variable.name] = f"round({name} / {step:g}) * {step:g}"
    return Codebook(tuple(variables)), recoding | ({"derive": derive} if derive else {})


def _given(written: Written) -> dict[str, str]:
    shown = {"sep": written.sep, "decimal": written.decimal, "encoding": written.encoding}
    return {name: value for name, value in shown.items() if value}


def _of_numbers(codebook: Codebook) -> Codebook:
    """A codebook in which levels that are whole numbers are numbers: a session computes with them as such."""

    def numeric(variable: Variable) -> Variable:
        if variable.kind != "categorical" or not all(level.lstrip("-").isdigit() for level in variable.values):
            return variable
        values = sorted(int(level) for level in variable.values)
        if [str(value) for value in values] != sorted(variable.values, key=int):
            return variable
        return Variable(variable.name, "integer", tuple(values), variable.missing, variable.label)

    return Codebook(tuple(map(numeric, codebook.variables)))


def _codebook_text(codebook: Codebook) -> str:
    head = "# Proposed by 'outrisk init --acro'. CHECK: it counts as public; no value may point at somebody.\n"
    return head + yaml.safe_dump(codebook_to_dict(codebook), sort_keys=False, allow_unicode=True, width=110)


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()


def faults_of(folder: Path) -> tuple[str, list[Fault]]:
    """What is wrong with a folder by itself: a sentence, and the faults, the worst first."""
    session = read_session(folder)
    faults = folder_faults(session)
    n = len(session.results)
    if not faults:
        return f"Nothing was found in the {n} outputs of {folder.name}; that proves nothing beyond these rules.", faults
    rules = dict.fromkeys(fault.rule for fault in faults)
    counts = ", ".join(f"{rule}: {sum(fault.rule == rule for fault in faults)}" for rule in rules)
    return f"{len(faults)} findings in the {n} outputs of {folder.name}, without any data ({counts}).", faults
