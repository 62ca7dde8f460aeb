"""Load the records that a study names: original, holdout, and the codebook of both."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from outrisk import datasets
from outrisk.changed import Changed, changed_by, noted, noted_in
from outrisk.codebook import Codebook, Variable
from outrisk.config import DataSection, Study
from outrisk.errors import ConfigError, DataError, ExpressionError, OutRiskError
from outrisk.expressions import Expression, read_expression
from outrisk.grammar import named_in
from outrisk.microdata import (
    FEW,
    MISSING_VALUES,
    Microdata,
    encode,
    from_frame,
    gaps_of,
    infer_codebook,
    typed,
    unlisted,
)
from outrisk.outputs.base import joint_for, release, support_frame
from outrisk.outputs.conditions.derived import derived_in
from outrisk.outputs.conditions.rules import Rule, rules_that_fit
from outrisk.problem.blocks import breaks_rule, variables
from outrisk.propose.inferred import infer
from outrisk.tabular import read_table
from outrisk.tabular.recoded import with_gaps, with_years
from outrisk.whose import Alike, alike_by, whose_records

_LOG = logging.getLogger("outrisk")


@dataclass(frozen=True, eq=False)
class Earlier:
    """A study whose outputs are already released: its codebook, its records if it has data of its own, and the
    variables that its outputs use.
    """

    study: Study
    codebook: Codebook
    records: Microdata | None
    used: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class StudyData:
    """Records of a study; `guesses` tell what was guessed where the codebook was inferred (else empty). `alike`: what
    looks as if it told people or households apart, where the study does not say whose records are whose. `changed`:
    values that it changes before outputs are computed.
    """

    original: Microdata
    holdout: Microdata | None
    guesses: dict[str, str]
    earlier: tuple[Earlier, ...] = ()
    alike: Alike | None = None
    changed: tuple[Changed, ...] = ()


def load_study_data(study: Study) -> StudyData:
    """Read, derive, subset and encode; every fault is one line that names its place."""
    file = study.file
    if file.data is None:
        raise ConfigError(
            f"{study.path}: risk is measured against the original records, and the study has no 'data'; add them, "
            f"or make teaching data from its released values: outrisk teach {study.path}"
        )
    codebook = study.codebook()
    sections = {"data": file.data}
    if file.holdout:
        whose = {"person": file.data.person, "household": file.data.household}
        sections["holdout"] = file.holdout.model_copy(update=whose)
    files = {what: _read(section, study.folder, what) for what, section in sections.items()}
    whole = {what: _rows_of(frame, sections[what], codebook, what) for what, frame in files.items()}
    frames = {what: _columns_of(frame, sections[what], codebook, what) for what, frame in whole.items()}
    missing = {"data": file.data.missing_values}
    if file.holdout:
        missing["holdout"] = file.holdout.missing_values
    found = encode_frames(frames, codebook, missing, named_by(study), study, whole)
    changed = _changed(files["data"], whole["data"], file.data, found.original.codebook)
    return replace(found, changed=(*found.changed, *changed))


def _changed(file: pd.DataFrame, rows: pd.DataFrame, section: DataSection, codebook: Codebook) -> tuple[Changed, ...]:
    """What a section changes; rows: the records with what it derives."""
    as_it_is = _rows_of(file, section.model_copy(update={"derive": {}}), codebook, "data")
    return changed_by(section, as_it_is, rows, codebook)


def _earlier_of(study: Study) -> Iterator[Earlier]:
    """What is already released, but for what is of the same session."""
    for each in study.earlier:
        if each.path == study.path:
            continue
        try:
            if each.file.data is not None:
                records = load_study_data(replace(each, within="")).original
                codebook, given = records.codebook, each.given(records.codebook)
                released = [given.get(output.name) or release(output, records) for output in each.outputs(codebook)]
            else:
                named = each.codebook()
                assert named is not None  # a study without data names one
                records, codebook, released = None, named, each.released(named)
        except OutRiskError as error:
            raise ConfigError(f"{each.path}, already released: {error}") from None
        used = {codebook.names[j] for one in released for block in one.blocks for j in variables(block)}
        yield Earlier(each, codebook, records, tuple(name for name in codebook.names if name in used))


def public_rules(study: Study, *records: Microdata | None, taught: bool = False) -> tuple[Rule, ...]:
    """What is known of all records: the rules of a study that the first of them keep, and what its derived columns
    follow from, where they do so in all of these records (an age band may come from ages that the codebook rounds); and
    rules of studies already released that hold here. What was to be known and is not true is logged. Of data that are
    `taught`, all rules of the study must hold.
    """
    there = [each for each in records if each is not None]
    codebook, apart = there[0].codebook, list[str]()
    said = study.rules(codebook)
    untrue = {} if taught else records_breaking(said, there[0])
    for rule in said:
        if rule.position in untrue:
            _LOG.warning("%s %r is not used: %s records break it", rule.place, rule.text, f"{untrue[rule.position]:,}")
    found = [rule for rule in said if rule.position not in untrue]
    for each in (study, *study.earlier):
        section = each.file.data
        derived = derived_in(codebook, section.derive, section.missing_values) if section else {}
        holds = {name: rule for name, rule in derived.items() if rule is not None and _holds(rule, there)}
        found += holds.values()
        apart += [name for name in derived if name not in holds]
    for each in study.earlier:
        if not each.within:  # else they were said of some of the people
            found += [rule for rule in rules_that_fit(codebook, each.file.rules) if _holds(rule, there)]
    if apart:
        _LOG.warning(
            "%s: does not follow from other variables by the values of the codebook; taken as a variable of its own",
            ", ".join(dict.fromkeys(apart)),
        )
    return tuple(found)


def records_breaking(rules: Sequence[Rule], original: Microdata) -> dict[int, int]:
    """How many records break each rule that some do, by its position."""
    found = {rule.position: int(breaks_rule([rule.mask], original.codes).sum()) for rule in rules}
    return {position: broken for position, broken in found.items() if broken}


def _holds(rule: Rule, records: Sequence[Microdata]) -> bool:
    return not any(rule.broken(each) for each in records)


def encode_frames(
    frames: Mapping[str, pd.DataFrame],
    codebook: Codebook | None,
    missing_values: Mapping[str, Sequence[str]],
    named: str = "",
    study: Study | None = None,
    whole: Mapping[str, pd.DataFrame] | None = None,
) -> StudyData:
    """Encode the records of 'data' and, where there is one, 'holdout'; without a codebook it is inferred from both.

    It is written beside the results and counts as public: columns that tell of single people stay out of it, unless
    the text `named` has their names (see `propose.inferred.infer`). What is released before a `study` and uses other
    variables has them as it describes them. `whole`: the records with all columns of the files.
    """
    guesses: dict[str, str] = {}
    whole = frames if whole is None else whole
    section = study.file.data if study is not None else None
    person, household = (section.person, section.household) if section is not None else ("", "")
    whose = whose_records(frames, person, household, missing_values)
    if codebook is None:
        no_variables = [name for name in (person, household) if name and not named_in(named, [name])]
        frames = {name: frame.drop(columns=no_variables) for name, frame in frames.items()}
        inferred = infer(_one_frame(frames), named, missing_values["data"], "data")
        codebook, guesses = inferred.codebook, inferred.guesses
        frames = {name: inferred.fitted(frame, missing_values[name]) for name, frame in frames.items()}
        if inferred.left_out:
            _LOG.info(
                "columns %s point at single people, or have no values, and stay out of the codebook, which counts as "
                "public; 'outrisk init' writes one that points at nobody",
                ", ".join(inferred.left_out),
            )
    alike = None
    if study is not None and not (person or household):
        asked = (*study.file.keys, study.file.target)
        alike = alike_by(_one_frame(whole), asked, missing_values["data"], codebook.names)
    earlier = tuple(_earlier_of(study)) if study is not None else ()
    for each in earlier:
        before = each.study.file.data
        if before is not None and (before.person or before.household) and not (person or household):
            said = f"person: {before.person}" if before.person else f"household: {before.household}"
            raise ConfigError(
                f"{each.study.path}, already released, says whose records are whose ({said}), and this study does not; "
                "add it to its 'data'"
            )
        further = [_for_all(each, name, codebook) for name in each.used if name not in codebook]
        codebook = Codebook((*codebook.variables, *further))
        frames = {
            what: _with_columns(frame, each, codebook, missing_values[what], what) for what, frame in frames.items()
        }
    found = {
        name: replace(from_frame(frame, codebook, missing_values[name], name), **vars(whose[name]))
        for name, frame in frames.items()
    }
    return StudyData(found["data"], found.get("holdout"), guesses, earlier, alike, noted_in(frames["data"]))


def _one_frame(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(frames.values(), ignore_index=True) if len(frames) > 1 else frames["data"]


def _for_all(earlier: Earlier, name: str, codebook: Codebook) -> Variable:
    """A variable of an earlier study; a whole number that it derives from numbers of this codebook has all values that
    these can give, or none where they may be missing, as it may have had some of the people alone.
    """
    variable, section = earlier.codebook[name], earlier.study.file.data
    if section is None or name not in section.derive or variable.kind != "integer":
        return variable
    text = section.derive[name]
    of = sorted(set(read_expression(text).columns.values()))
    if not all(each in codebook and codebook[each].numeric for each in of):
        return variable
    frame = support_frame(codebook, joint_for(codebook, of, name))
    found = pd.to_numeric(pd.Series(read_expression(text).evaluate(frame), index=frame.index)).dropna()
    values = tuple(sorted({*variable.values, *found[found % 1 == 0].astype(int).tolist()}))
    return replace(variable, values=values, missing=variable.missing or any(codebook[each].missing for each in of))


def _with_columns(
    frame: pd.DataFrame, earlier: Earlier, codebook: Codebook, missing_values: Sequence[str], source: str
) -> pd.DataFrame:
    """Records with the columns that an earlier study uses, derived as it derives them where there are none."""
    section = earlier.study.file.data
    derive = section.derive if section else {}
    for name in earlier.used:
        if name in frame.columns:
            continue
        if name not in derive:
            raise ConfigError(
                f"{earlier.study.path}: what is already released does not fit: its outputs are on '{name}', and "
                f"[{source}] has no such column; add it there"
            )
        readable = typed(frame, codebook, missing_values)
        column = _derived(readable, derive[name], f"{earlier.study.path}: derive {name}", codebook, missing_values)
        frame = frame.assign(**{name: column})
    try:
        for name in earlier.used:
            encode(codebook[name], frame[name], missing_values, source)
    except DataError as error:
        raise ConfigError(f"{earlier.study.path}, already released, is of other values: {error}") from None
    return frame


def named_by(study: Study) -> str:
    """What a study says of columns, as text: all that is written in it but kinds and names."""
    return " ".join(_texts(study.file.model_dump(include={"outputs", "rules", "keys", "target", "register_"})))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            if name not in ("kind", "name"):
                yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)


def exactly(frame: pd.DataFrame, codebook: Codebook | None) -> Microdata:
    """Records with every value as it is, never to be written; a codebook is inferred where there is none, of columns
    that have values.
    """
    if codebook is None:
        frame = frame.loc[:, [not gaps_of(frame[name], MISSING_VALUES).all() for name in frame.columns]]
    return from_frame(frame, codebook or infer_codebook(frame, few=FEW)[0])


def _read(section: DataSection, folder: Path, source: str) -> pd.DataFrame:
    """All columns and records that a section names, as they are."""
    return read_table(folder / section.path, section.written) if section.path else _load(section, source)


def recoded(frame: pd.DataFrame, section: DataSection, codebook: Codebook | None, source: str) -> pd.DataFrame:
    """Records as a section of a study has them, in the order that `DataSection` says."""
    return _columns_of(_rows_of(frame, section, codebook, source), section, codebook, source)


def recoded_and_noted(frame: pd.DataFrame, section: DataSection, codebook: Codebook, source: str) -> pd.DataFrame:
    """The same, with a note of what that changes (see `changed.noted`)."""
    rows = _rows_of(frame, section, codebook, source)
    return noted(_columns_of(rows, section, codebook, source), _changed(frame, rows, section, codebook))


def _rows_of(frame: pd.DataFrame, section: DataSection, codebook: Codebook | None, source: str) -> pd.DataFrame:
    frame = with_gaps(frame, section.missing, source)
    frame = with_years(frame, section.years, section.missing_values, source)
    return _subset(frame, section, codebook, source) if section.where or section.derive else frame


def _columns_of(frame: pd.DataFrame, section: DataSection, codebook: Codebook | None, source: str) -> pd.DataFrame:
    """The columns that are wanted, with what says whose records are whose."""
    for key, names in (("drop", section.drop), ("columns", section.columns)):
        if len(set(names)) < len(names):
            raise ConfigError(f"[{source}] {key}: {list(names)} names a column twice; name each once")
        absent = [name for name in names if name not in frame.columns]
        if absent:
            raise ConfigError(f"[{source}] {key}: no column '{absent[0]}'; columns are {list(frame.columns)}")
    whose = [name for name in (section.person, section.household) if name in frame.columns]
    frame = frame.drop(columns=[name for name in section.drop if name not in whose])
    frame = frame[list(dict.fromkeys([*section.columns, *whose]))] if section.columns else frame
    frame = frame.reset_index(drop=True) if section.drop or section.columns else frame
    return _listed_only(frame, section, codebook, source) if section.merge or section.known else frame


def _subset(frame: pd.DataFrame, section: DataSection, codebook: Codebook | None, source: str) -> pd.DataFrame:
    """Rows by `where`, new columns by `derive`."""
    readable = typed(frame, codebook, section.missing_values)
    if section.where:
        keep = _evaluate(readable, section.where, f"[{source}] where", codebook, section.missing_values)
        if pd.api.types.is_bool_dtype(keep.dtype):
            keep = keep.fillna(False).astype(bool)
        if keep.dtype != bool:
            raise ConfigError(f"[{source}] where: {section.where!r} is not true or false for each record")
        frame, readable = frame[keep.to_numpy()], readable[keep.to_numpy()]
        if frame.empty:
            raise DataError(f"[{source}] where: {section.where!r} leaves no records; text needs quotes, numbers none")
    frame = frame.reset_index(drop=True)
    readable = readable.reset_index(drop=True)
    for name, expression in section.derive.items():
        column = _derived(readable, expression, f"[{source}] derive {name}", codebook, section.missing_values)
        frame, readable = frame.assign(**{name: column}), readable.assign(**{name: column})
    return frame


def _listed_only(frame: pd.DataFrame, section: DataSection, codebook: Codebook | None, source: str) -> pd.DataFrame:
    """Values that the codebook does not list: another level in their place (`merge`), or their records left out."""
    if codebook is None:
        raise ConfigError(f"[{source}] 'merge' and 'known' go by what the codebook lists; name one")
    for name in (*section.merge, *section.known):
        if name not in codebook or name not in frame.columns:
            raise ConfigError(f"[{source}] merge, known: no column '{name}' in the data and in the codebook")
    for name, level in section.merge.items():
        if codebook[name].numeric or level not in codebook[name].values:
            raise ConfigError(f"[{source}] merge: {level!r} is no level of '{name}' in the codebook; add it there")
        other = unlisted(codebook[name], frame[name], section.missing_values)
        frame = frame.assign(**{name: frame[name].astype(object).where(~other, level)})
    strange = [unlisted(codebook[name], frame[name], section.missing_values) for name in section.known]
    frame = frame[~np.any(strange, axis=0)].reset_index(drop=True) if strange else frame
    if frame.empty:
        raise DataError(f"[{source}] known: no record has values of the codebook in all of {list(section.known)}")
    return frame


def _derived(
    frame: pd.DataFrame, expression: str, place: str, codebook: Codebook | None, missing_values: Sequence[str]
) -> pd.Series:
    """A new column: what is true or false is 1 or 0."""
    column = _evaluate(frame, expression, place, codebook, missing_values)
    return column.astype("int64") if column.dtype == bool else column


def _evaluate(
    frame: pd.DataFrame, expression: str, place: str, codebook: Codebook | None, missing_values: Sequence[str]
) -> pd.Series:
    try:
        read = read_expression(expression)
        result = read.evaluate(frame)
        _refuse_stray(read, frame, codebook, missing_values)
    except ExpressionError as error:
        raise ConfigError(f"{place}: {expression!r} {error}; columns are {list(frame.columns)}") from None
    if not isinstance(result, pd.Series):
        raise ConfigError(f"{place}: {expression!r} does not give a value for each record")
    return result


def _refuse_stray(
    expression: Expression, frame: pd.DataFrame, codebook: Codebook | None, missing_values: Sequence[str]
) -> None:
    """ExpressionError where text is compared with a number, or a category with what is in neither codebook nor data."""
    numbers = [name for name in expression.columns.values() if pd.api.types.is_numeric_dtype(frame[name].dtype)]

    def can_be(name: str, value: object) -> bool:
        if name in numbers:
            return not isinstance(value, str)
        listed = codebook[name].values if codebook is not None and name in codebook else None
        if isinstance(value, str) and (listed is None or value in listed or value in missing_values):
            return True
        return pd.api.types.is_datetime64_any_dtype(frame[name].dtype) or bool((frame[name] == value).any())

    if stray := expression.stray(can_be, numbers):
        words = "are numbers" if stray[0] in numbers else "have none such"
        raise ExpressionError(
            f"compares '{stray[0]}' with {stray[1]}, and its values {words}: text needs quotes, numbers none"
        )


def _load(section: DataSection, source: str) -> pd.DataFrame:
    if section.package == "outrisk":
        if section.dataset not in datasets.DATASETS:
            raise ConfigError(
                f"[{source}] no dataset '{section.dataset}' in outrisk; there are {sorted(datasets.DATASETS)}"
            )
        try:
            return datasets.load(section.dataset, **section.options)
        except TypeError as error:
            raise ConfigError(f"[{source}] options {dict(section.options)}: {error}") from None
    import statsmodels.datasets as library

    module = getattr(library, section.dataset, None)
    if module is None or not hasattr(module, "load_pandas"):
        known = sorted(name for name, each in vars(library).items() if hasattr(each, "load_pandas"))
        raise ConfigError(f"[{source}] no dataset '{section.dataset}' in statsmodels; there are {known}")
    if section.options:
        raise ConfigError(f"[{source}] options {dict(section.options)}: datasets of statsmodels take none")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # loaders of old data sets warn about their own file format
        frame: pd.DataFrame = module.load_pandas().data
    return frame
