"""Begin a study: a codebook that points at nobody and a starter study, for a person to correct."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import yaml

from outrisk.api.checks_of_arguments import check_count, check_file, check_frame, check_place, check_switch, several
from outrisk.api.not_over_inputs import check_outputs
from outrisk.appetite import Appetite
from outrisk.codebook import Codebook, codebook_to_dict, format_value
from outrisk.config import DataSection
from outrisk.errors import ConfigError
from outrisk.load import recoded_and_noted
from outrisk.microdata import MISSING_VALUES, from_frame
from outrisk.outputs.conditions.banded import banded_in
from outrisk.propose.one_column import Column, Rules
from outrisk.propose.proposal import Ask, Proposal, Wishes, propose, rare_levels
from outrisk.risk.coding.bands import bands_of
from outrisk.tabular import Table, Written, read_source
from outrisk.whole_files import write_text
from outrisk.whose import Alike, alike_by

Rare = Literal["", "keep", "merge", "drop"]
_ID = "an identifier"  # in why a column is left out
THRESHOLD = Appetite().safe_threshold
_STUDY = """\
# A starter study, written by 'outrisk init'. What is marked CHECK was guessed; correct it, then: outrisk assess {study}
name: {name}
{data}codebook: {codebook}
# holdout: {{path: other.csv}}   # records of the same population that were not used for the outputs, if there are any

# The released outputs.{outputs_check}
outputs:
{outputs}{example}{rules}
# What an intruder may know about a person, and what they want to learn.{roles_check}
keys: [{keys}]{key_reasons}
{target}
{within}key_sizes: [{sizes}]

evolve: {{preset: fast, seed: 1}}
study: {{runs: enough, folds: [1, 2]}}    # 2: each half in turn is the original, the other half its holdout
"""
_EXAMPLE = """\
  # - kind: logit
  #   formula: {target} ~ {first}          # a category written as a number: C({first})
  #   decimals: 4                          # digits after the point that are released
  #   where: {first} == ...                # if it was fitted on part of the records
"""
_SAID = {
    "missing": "codes that mean missing",
    "years": "dates, of which only the year is kept",
    "derive": "rounded to the codebook's grid: released numbers are computed from these",
    "merge": "what the codebook does not list counts as this level",
    "known": "records with what the codebook does not list are left out",
}


def _rules_text(rules: Mapping[str, Sequence[str]]) -> str:
    """The rules of a study, under what they say."""
    if not rules:
        return ""
    lines = ["", "# What everybody knows of every record, so that no synthetic one is otherwise.", "rules:"]
    for said, those in rules.items():
        lines += [f"  # CHECK: {said}", *(f"  - {_quote(rule)}" for rule in those)]
    return "\n".join(lines) + "\n"


def _within(codebook: Codebook, target: str) -> str:
    """The line for a target that is measured in bands; empty for others."""
    bands = bands_of(codebook, target, None) if target else None
    if bands is None:
        return ""
    said = f"target_within: {bands.within:g}"
    return f"{said:38} # CHECK how near to the true {target} counts as right, as a share of it; 0: exactly it\n"


@dataclass(frozen=True)
class Starter:
    """What a study can begin with; all of it is guessed from data, for a person to correct.

    `guesses` say what was guessed of each variable, `left_out` why a column is in no codebook, `told` is what a person
    should see of all that, on a terminal: it may name levels that few people have, as nothing that is written does.
    The codebook counts as public: whatever it names, the reader of a study knows.
    """

    proposal: Proposal
    records: pd.DataFrame
    written: Written = field(default_factory=Written)

    @cached_property
    def codebook(self) -> Codebook:
        """The variables that point at nobody."""
        return self.proposal.codebook

    @property
    def guesses(self) -> Mapping[str, str]:
        """What was guessed of each variable."""
        return {column.name: column.why for column in self.proposal.columns if column.variable is not None}

    @property
    def left_out(self) -> Mapping[str, str]:
        """Why a column is in no codebook."""
        return {column.name: column.why for column in self.proposal.left_out}

    @property
    def keys(self) -> tuple[str, ...]:
        """What an intruder plausibly knows."""
        return tuple(self.proposal.keys)

    @property
    def target(self) -> str:
        """What is plausibly sensitive; empty where nothing is."""
        return self.proposal.target

    @property
    def data(self) -> pd.DataFrame:
        """The records as they fit the codebook: codes that mean missing, years, grids, merged levels. What that changes
        stands in the frame's attributes, so that it is a finding where they are assessed.
        """
        section = DataSection(path="data frame", **self.proposal.data_section())
        return recoded_and_noted(self.records, section, self.codebook, "data")

    @cached_property
    def rules(self) -> dict[str, tuple[str, ...]]:
        """What everybody knows of columns that follow from others, in these records."""
        found = banded_in(from_frame(self.data, self.codebook))
        return {f"{each.said}{f'; {each.left}' if each.left else ''}": each.rules for each in found}

    @cached_property
    def alike(self) -> Alike | None:
        """What looks as if it told people or households apart."""
        return alike_by(self.data, [*self.keys, self.target], MISSING_VALUES, self.codebook.names)

    @property
    def told(self) -> list[str]:
        """What a person should see, line by line."""
        told = [f"In all records {said}; rules of the study say so" for said in self.rules]
        if self.alike is not None:
            told += [
                f"Records with the same '{self.alike.name}' have the same {', '.join(self.alike.same)}: the study "
                "takes them for those of one person"
            ]
        copies, told_apart = int(self.records.duplicated().sum()), [n for n, why in self.left_out.items() if _ID in why]
        if copies and told_apart and self.alike is None:
            told += [
                f"Records alike in all columns, '{told_apart[0]}' too, to one before: {copies:,}; if they are copies, "
                "take them out: each counts as a person"
            ]
        return [*_told(self.proposal, len(self.records)), *told]

    @property
    def codebook_text(self) -> str:
        """The codebook as YAML in which every guess is marked."""
        return _commented(self.codebook, self.guesses)

    def study_text(
        self, study: str = "study.yaml", data: str = "data.csv", codebook: str = "study.codebook.yaml"
    ) -> str:
        """The study as commented YAML, for files of these names."""
        stem, proposal = Path(study).stem, self.proposal
        first, target = _quote(proposal.outputs[0].get("by", self.keys)[0]), _quote(self.target or "TARGET")
        guessed = [name for name, reason in proposal.keys.items() if reason != "as you said"]
        reasons = "; ".join(f"{name}: {proposal.keys[name]}" for name in guessed)
        known = f"target: {target}" + (
            "" if proposal.target_reason == "as you said" else f"   # {proposal.target_reason}"
        )
        return _STUDY.format(
            study=study,
            name="".join(c if c.isalnum() or c in "._-" else "-" for c in stem).lstrip("._-") or "study",
            data=_data_text({"path": data} | _given(self.written), proposal.data_section(), self.alike),
            codebook=_quote(codebook),
            outputs="".join(_entry_text(entry) for entry in proposal.outputs),
            outputs_check="" if proposal.given else " CHECK: replace these by what is to be released.",
            example="" if proposal.given else _EXAMPLE.format(first=first, target=target),
            rules=_rules_text(self.rules),
            roles_check=" CHECK." if guessed or proposal.target_reason != "as you said" else "",
            keys=", ".join(_quote(key) for key in self.keys),
            key_reasons=f"   # {reasons}" if reasons else "",
            within=_within(self.codebook, self.target),
            target=known if self.target else f"# target: ...   # CHECK: {proposal.target_reason}; name it",
            sizes=", ".join(str(size) for size in range(min(3, len(self.keys)), len(self.keys) + 1)),
        )

    def __repr__(self) -> str:
        return f"{self.study_text()}\n{self.codebook_text}".rstrip()

    def write(self, study: str | Path, data: str | Path, force: bool = False) -> tuple[Path, Path]:
        """Write study and codebook for records in the file `data`: their paths. ConfigError if a file is in the way."""
        check_switch(force, "force")
        study, data = check_place(study, "study"), check_place(data, "data")
        codebook = _checked(study, force)
        check_outputs((study, codebook), (data,))
        place = str(data if study.parent == Path() else _relative(data, study.parent))
        write_text(study, self.study_text(str(study), place, codebook.name))
        write_text(codebook, self.codebook_text)
        return study, codebook


def init(
    data: pd.DataFrame,
    *,
    keys: Sequence[str] = (),
    target: str = "",
    formulas: Sequence[str] = (),
    tables: Sequence[Sequence[str]] = (),
    missing: Mapping[str, Sequence[object]] | None = None,
    rare: Rare = "",
    threshold: int = THRESHOLD,
) -> Starter:
    """A codebook inferred from data that points at nobody, and a study to correct.

    Columns of identifiers and free text are left out, dates become years, numbers go on a grid with round ends, and
    levels of few people are not named.

    Parameters
    ----------
    data : the records (n, variables).
    keys, target : what an intruder knows of a person, and wants to learn; guessed where they are not given.
    formulas, tables : what is to be released: regressions, and the variables of each table. With them the codebook has
        only the variables that are named.
    missing : codes that mean missing, by column, those under '' of every column; without it those that look so.
    rare : what becomes of levels held by fewer than `threshold` people: 'merge' (they count as one level Other), 'drop'
        (their records are left out) or 'keep' (they are named in the codebook, which counts as public). Without it
        those of a `target` that is given are kept, and others merged.
    threshold : people that a level needs.

    Returns
    -------
    Starter : its `codebook` and the `data` that fit it (for `outrisk.assess`), `guesses`, `left_out`, and
        `write(study, data)` for files.

    Raises
    ------
    OutRiskError : in one line, for a name that is no column, or one that is wanted and points at single people.

    Examples
    --------
    >>> start = outrisk.init(df, keys=["age", "area"], target="ill")
    >>> outrisk.assess(start.data, [fit], keys=start.keys, target=start.target, codebook=start.codebook)
    """
    check_frame(data, "data")
    wishes = _wishes(keys, target, formulas, tables, missing, rare, threshold)
    return Starter(propose(Table(data), "data", wishes), data)


def start_study(
    data: Path,
    out: Path | None,
    force: bool,
    written: Sequence[str],
    ask: Callable[[str, Sequence[str], str], str] | None,
    **wishes: Any,
) -> tuple[Starter, Path, Path]:
    """Write a commented study and codebook for a data file: the starter and their paths.

    `written` are separator, decimal mark and encoding of a CSV (empty: found out), `wishes` arguments of `init`; `ask`
    (a question, the answers, the safe one) is asked where a person should decide. ConfigError if a file is in the way.
    """
    study = out or (data.with_suffix(".yaml") if data.name else data)
    check_outputs((study, _checked(study, force)), (data,))
    table = read_source(data, Written(*written))
    answers: Ask | None = ask
    starter = Starter(propose(table, str(data), _wishes(**wishes), answers), table.frame, table.written)
    return starter, *starter.write(study, data, force)


def _wishes(
    keys: Sequence[str],
    target: str,
    formulas: Sequence[str],
    tables: Sequence[Sequence[str]],
    missing: Mapping[str, Sequence[object]] | None,
    rare: Rare,
    threshold: int,
) -> Wishes:
    if rare not in ("", "keep", "merge", "drop"):
        raise ConfigError(f"rare: {rare!r} is none of keep, merge and drop")
    check_count(threshold, "threshold")
    if not isinstance(target, str):
        raise ConfigError(f"target is {target!r}; give the name of a column")
    if missing is not None and not isinstance(missing, Mapping):
        raise ConfigError(f"missing: is {missing!r}; write a mapping of columns to lists of codes")
    codes = {
        name: tuple(map(str, several(found, f"missing {name}".rstrip(), object)))
        for name, found in (missing or {}).items()
    }
    found = [several(table, f"tables {i}") for i, table in enumerate(several(tables, "tables", object), start=1)]
    return Wishes(
        several(keys, "keys"), target, several(formulas, "formulas"), tuple(found), codes, Rules(threshold, rare)
    )


def _checked(study: Path, force: bool) -> Path:
    """Where the codebook goes beside a study; ConfigError if one of them cannot be written."""
    check_file(study)
    codebook = study.with_name(f"{study.stem}.codebook.yaml")
    for file in (study, codebook):
        if file.exists() and not force:
            raise ConfigError(f"{file} exists; give --force to replace it (in Python force=True), or name another file")
    return codebook


def _told(proposal: Proposal, n: int) -> list[str]:
    """What a person should see of a proposal on a terminal."""
    columns = proposal.columns
    kept = [column for column in columns if column.variable is not None]
    lines = [f"{n:,} records, {len(columns)} columns; {len(kept)} go into the codebook, which counts as public."]
    reasons: dict[str, list[str]] = {}
    for column in proposal.left_out:
        reasons.setdefault(column.why, []).append(column.name)
    lines += [f"Left out: {', '.join(names)} ({why})" for why, names in reasons.items()]
    for column in kept:
        if column.rare:
            written = "written, as the target's" if column.name == proposal.target else "written"
            done = {"": written, "merge": f"merged into '{column.other}'", "drop": "their records left out"}
            held = rare_levels(column, proposal.threshold)
            if len(column.rare) == 1:
                done["merge"] = f"counted as '{column.other}', as codebook and report call it"
            lines.append(f"Levels of '{column.name}' {held}; {done[column.unlisted]} (--rare keep|merge|drop)")
        if "minimum(" in column.derive and column.variable is not None:
            ends = " and ".join(format_value(column.variable.values[at]) for at in (0, -1))
            lines.append(
                f"Numbers of '{column.name}' far out are cut off at {ends}; if the release has them as they are, widen "
                "its grid in the codebook and take its line out of 'derive'"
            )
        if column.doubtful:
            lines.append(
                f"Taken as values of '{column.name}': {', '.join(column.doubtful)}; "
                f"if they mean missing: --missing {column.name}={column.doubtful[0]}"
            )
    lines += _missing_codes(kept)
    lines.append("Keys: " + "; ".join(f"{name} ({reason})" for name, reason in proposal.keys.items()))
    none = f"none: {proposal.target_reason}; give --target before the study can run"
    lines.append(f"Target: {proposal.target} ({proposal.target_reason})" if proposal.target else f"Target: {none}")
    return lines


def _missing_codes(columns: Sequence[Column]) -> Iterator[str]:
    """Codes that are taken as missing: a line for all columns that have the same ones."""
    alike: dict[str, list[str]] = {}
    for column in columns:
        if column.missing:
            alike.setdefault(", ".join(column.missing), []).append(f"'{column.name}'")
    for codes, names in alike.items():
        of = f"{len(names)} columns, " if len(names) > 1 else ""
        yield f"Taken as missing in {of}{', '.join(names)}: {codes} (--missing says otherwise)"


def _given(written: Written) -> dict[str, str]:
    return {
        name: value
        for name, value in (("sep", written.sep), ("decimal", written.decimal), ("encoding", written.encoding))
        if value
    }


def _data_text(source: Mapping[str, str], recoding: Mapping[str, Any], alike: Alike | None) -> str:
    """The section `data`, in one line where nothing is recoded and each record is for itself."""
    if not recoding and alike is None:
        inside = ", ".join(f"{name}: {_quote(value)}" for name, value in source.items())
        return f"data: {{{inside}}}\n"
    lines = ["data:", *(f"  {name}: {_quote(value)}" for name, value in source.items())]
    for name, found in recoding.items():
        lines.append(f"  {name}:   # CHECK {_SAID[name]}")
        text = yaml.safe_dump(found, sort_keys=False, allow_unicode=True, width=110)
        lines += [f"    {line}" for line in text.splitlines()]
    if alike is not None:
        line, more = f"person: {_quote(alike.name)}", "household: ... if of people who live together"
        if alike.gaps:  # which is refused
            line, more = f"# {line}", f"{alike.gaps:,} records lack it; where: {alike.name}.notna()"
        lines.append(f"  {line:36} # CHECK: whose records are whose ({more})")
    return "\n".join(lines) + "\n"


def _entry_text(entry: Mapping[str, Any]) -> str:
    by = entry.get("by")
    lines = [f"kind: {entry['kind']}"]
    lines += [f"by: [{', '.join(_quote(name) for name in by)}]"] if by else []
    lines += [f"{name}: {_quote(value)}" for name, value in entry.items() if name not in ("kind", "by")]
    return "  - " + "\n    ".join(lines) + "\n"


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


def _quote(value: object) -> str:
    """A YAML scalar, quoted where it must be."""
    return (
        yaml.safe_dump(value, default_flow_style=True, width=10_000, allow_unicode=True)
        .removesuffix("\n")
        .removesuffix("\n...")
    )


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()
