"""Released numbers of a study, in whatever form: the readers of files and pasted text, and what they make of an entry.

A reader is a module with `recognises(source)` and `read(source, model)`, and a line in `READERS`; or it is given to
`register`. What it reads, `Coefficients`, says by itself how it becomes an entry.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from pydantic import ValidationError

from outrisk.codebook import Codebook, format_value
from outrisk.errors import OutputError
from outrisk.outputs.base import Entry
from outrisk.outputs.given import LABEL_COLUMNS, read_file_of_values
from outrisk.outputs.regression.margins_entry import MarginsEntry
from outrisk.outputs.regression.regression_entry import FormulaEntry
from outrisk.outputs.smooth.correlations import CorrelationsEntry
from outrisk.outputs.smooth.hypothesis_test import HypothesisTestEntry
from outrisk.outputs.smooth.proportions import ProportionsEntry
from outrisk.outputs.smooth.shape import ShapeEntry
from outrisk.outputs.smooth.survival import SurvivalEntry
from outrisk.outputs.tables.frequencies import FrequenciesEntry
from outrisk.outputs.tables.magnitudes import MagnitudesEntry
from outrisk.outputs.tables.mode import ModeEntry
from outrisk.outputs.tables.rates import RatesEntry
from outrisk.outputs.tables.table_one import TableOneEntry
from outrisk.readers import (
    esttab,
    gtsummary,
    journal_table,
    linearmodels_output,
    mixed_output,
    modelsummary,
    quantile_output,
    r_output,
    ruled_text,
    spss_output,
    stata_log,
    statsmodels_summary,
)
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.cross_table import entries_of_cross_table
from outrisk.readers.entry_of_regression import entry_of_coefficients
from outrisk.readers.journal_columns import in_document
from outrisk.readers.knitted import as_console
from outrisk.readers.margins_table import entries_of_margins
from outrisk.readers.named_models import as_said
from outrisk.readers.printed_table_one import entries_of_table_one
from outrisk.readers.printed_tables import list_of_tables
from outrisk.readers.printed_test import entries_of_test
from outrisk.readers.proportions_table import entries_of_proportions
from outrisk.readers.r_session import of_all_tests, regression_of_session, table_of_session
from outrisk.readers.rates_table import entries_of_rates
from outrisk.readers.rows_of_shape import is_of_shape
from outrisk.readers.same_model import hold_words
from outrisk.readers.sas_correlations import correlations_of_listing, has_correlations
from outrisk.readers.sas_entries import entries_of_listing, has_tables
from outrisk.readers.sas_listing import names_procedure
from outrisk.readers.sas_models import has_regressions, regression_in_listing
from outrisk.readers.several_models import summary_among
from outrisk.readers.shape_table import entries_of_shape
from outrisk.readers.source import Source, one_of, one_sheet, one_table, read_source_of_values, text_source
from outrisk.readers.stata_choice import DescribedEntry
from outrisk.readers.stata_entries import entries_of_log, is_log
from outrisk.readers.stata_list import listed
from outrisk.readers.stata_matrices import entry_of_matrix, is_matrix
from outrisk.readers.stata_models import margins_in, regression_in, survey_in
from outrisk.readers.stata_proportions import has_proportions, table_of_log
from outrisk.readers.stata_session import text_of_log
from outrisk.readers.survey_table import entries_of_survey
from outrisk.readers.survival_table import entry_of_survival_table
from outrisk.readers.term_names import read_term

_SUFFIXES = {"standard error": "standard_errors", "p-value": "p_values", "exp(b)": "coefficients"}
_SINGLE = {
    "number of records": "n",
    "number of events": "events",
    "log-likelihood": "log_likelihood",
    "pseudo-R2": "pseudo_r2",
    "R2": "r2",
}


_OF_R = "which is not read; give write.csv(broom::tidy(model)), or the printed summary(model)"
_OF_SAS = (
    "SAS as ODS writes it, which is not read, as it says neither how categories are coded nor which event is modelled; "
    "give its listing (ODS LISTING), or a CSV with the columns term, estimate, std.error, p.value, with terms such as "
    "sexm for the level m of sex"
)
_ELSEWHERE = {  # what marks tables that no reader knows -> of what, and what to give instead
    r"\\hline|\\toprule": "LaTeX without its \\begin{tabular}; give all of the table",
    r"Dependent variable:": (
        "R's stargazer as text, of which one table alone is read; write it as HTML or LaTeX, or give "
        "write.csv(broom::tidy(model))"
    ),
    r"(?s)class=['\"]texreg|Num\. obs\..*Model 1|Model 1.*Num\. obs\.": f"R's texreg, {_OF_R}",
    r"(?i)\bParameter\b.*\bStandard\W*Error\b|\bAnalysis Of .*Parameter Est|\bStdErr\b.*\bProb[tz]\b": _OF_SAS,
    r"R-squared Adj\.": "statsmodels' summary_col as text, of which one table alone is read; give as_html() of it",
    r"(?s)^\s*-{10,}\s*\(1\).*(?:in parentheses|^N\s)": (
        "Stata's esttab as text, of which one table alone is read; write it by esttab using table.csv"
    ),
}


_BY_SAS = re.compile(r"\bPr\s*(?:>|&gt;)\s*Chi-?Sq\b|\bProbChiSq\b")  # of a Wald test, whose coding is not told
_MOST_HEADS = 6


class Reader(Protocol):
    """Reads the regressions of one program."""

    def recognises(self, source: Source) -> bool: ...  # noqa: D102
    def read(self, source: Source, model: int | None = None) -> Coefficients: ...  # noqa: D102


READERS: list[tuple[str, Reader]] = [  # the first that recognises a source reads it
    ("R's lme4, nlme, plm (random) and broom.mixed", mixed_output),
    ("linearmodels", linearmodels_output),
    ("R's quantreg", quantile_output),
    ("statsmodels", statsmodels_summary),
    ("Stata log", stata_log),
    ("R's gtsummary", gtsummary),
    ("R's modelsummary", modelsummary),  # which numbers models as esttab does
    ("tables of models in documents", journal_table),
    ("Stata esttab", esttab),
    ("R", r_output),
    ("SPSS", spss_output),
    ("esttab, texreg, stargazer and summary_col as text", ruled_text),
]


def register(name: str, reader: Reader) -> None:
    """Let a further reader look at every source, before the others."""
    READERS.insert(0, (name, reader))


def resolve(entry: Entry, codebook: Codebook, position: int, folder: Path) -> list[Entry]:
    """An entry whose values are those of its file or pasted text, by its own labels; the entry itself if it has none.

    The file's own reference levels, parts and digits become the entry's. More than one entry: margins of a table that
    are tables of their own. OutRiskError in one line names the place.
    """
    place = f"[outputs {position}.values]"
    try:
        return _resolved(entry, codebook, position, folder, place)
    except ValidationError as error:  # what a table says is no setting of an output
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        raise OutputError(f"{place}: the table's {where} cannot be that of an output: {fault['msg']}") from None


def _resolved(entry: Entry, codebook: Codebook, position: int, folder: Path, place: str) -> list[Entry]:
    if isinstance(entry, TableOneEntry) and entry.values is None:
        return entry.entries(codebook)
    if isinstance(entry.values, Mapping):
        return [_of_mapping(entry, entry.values, codebook, place)]
    if not isinstance(entry.values, str):
        return [entry]
    shares = isinstance(entry, FrequenciesEntry | ProportionsEntry | TableOneEntry)
    source, model = source_of(entry.values, folder, place, shares)
    place = f"{place} {source.name}" if "\n" not in entry.values else place
    if _by_label(source):
        if isinstance(entry, FormulaEntry) and len(built := entry.build(codebook, position)) == 1:
            cells = read_file_of_values(Path(source.name), built)[built[0].name]
            return [_of_mapping(entry, cells, codebook, place)]
        return [entry]
    if isinstance(entry, FormulaEntry) and has_regressions(source):
        table, entry = regression_in_listing(source, entry, codebook, place, model)
        return [entry_of_coefficients(table, entry, codebook, place)]
    if isinstance(entry, FormulaEntry):
        if (part := regression_of_session(source, entry, codebook, place, model)) is not source:
            source, model = part, None
        if (part := summary_among(source, entry, codebook, place, model)) is not source:
            source, model = part, None
        source = _of_models(regression_in(source, entry, codebook, place, model), model, place)
        return [entry_of_coefficients(read_coefficients(source, model, place), entry, codebook, place)]
    if words := source.words(model):
        hold_words(words, entry, _named(entry, codebook), codebook, place)
    return entries_of_table(source, entry, codebook, place, model)


def _named(entry: Entry, codebook: Codebook) -> list[str]:
    """Variables that an entry names anywhere; all of a table one, whose rows are of any."""
    said = " ".join(map(str, entry.model_dump(exclude={"values", "name"}).values()))
    return [
        name
        for name in codebook.names
        if isinstance(entry, TableOneEntry) or re.search(rf"\b{re.escape(name)}\b", said)
    ]


def source_of(values: str, folder: Path, place: str, percent: bool = False) -> tuple[Source, int | None]:
    """The file or the pasted text that values are in, and which model of it (behind '#'). `percent`: percentages of a
    sheet as they are shown, rather than as shares.
    """
    if "\n" in values:
        pasted = text_source(f"{place} the pasted text", values, _plain)
        return (one_table(pasted, "", place) if pasted.document else pasted), None
    name, which = parted(values, folder)
    source = _without_markup(read_source_of_values(folder / name))
    if source.pages and (len(which) > 1 or (which and not which[0].isdecimal())):
        source = replace(source, printed=tuple(source.pages), document="HTML")
    if source.document:
        table, model = _table_and_model(which, place)
        return one_table(source, table, place), model
    if len(which) > 1 or (which and not which[0].isdecimal()):
        raise OutputError(f"{place}: {name} has no table '{'#'.join(which)}'; say its number, as in '{name}#1'")
    number = int(which[0]) if which else None
    if source.sheets:
        return one_sheet(source, number, place, percent), None
    return (source, number) if which else (with_head(folder / name, source), None)


def parted(values: str, folder: Path) -> tuple[str, list[str]]:
    """The file of `FILE#TABLE#MODEL` or `FILE#NUMBER`, and what stands behind it; all of it where no such file is
    there.
    """
    name, which = values, list[str]()
    while not (folder / name).is_file() and "#" in name:
        name, _, last = name.rpartition("#")
        which.insert(0, last.strip())
    return (name, which) if (folder / name).is_file() or all(each.isdecimal() for each in which) else (values, [])


def _table_and_model(which: Sequence[str], place: str) -> tuple[str, int | None]:
    """Which table of a document, and which model of it."""
    if len(which) > 2 or (len(which) == 2 and not which[1].isdecimal()):
        raise OutputError(f"{place}: '#{'#'.join(which)}' is no table and model, as in '#2#1' or '#Table 2#1'")
    return which[0] if which else "", int(which[1]) if len(which) == 2 else None


def _without_markup(source: Source) -> Source:
    """A log of Stata as plain text, with decimal points; a document of R Markdown as a session."""
    plain = source.sheets or source.document
    return source if plain else replace(source, text=_plain(source.text))


def _plain(text: str) -> str:
    return as_console(text_of_log(text))


def with_head(path: Path, source: Source) -> Source:
    """A model's coefficients with its head, where that stands in a file beside it, as ACRO writes NAME_0 and NAME_1."""
    head = _head_of(path)
    if head is None:
        return source
    above = read_source_of_values(head)
    return Source(source.name, f"{above.text.rstrip()}\n{source.text}") if "Dep. Variable" in above.text else source


def _head_of(path: Path) -> Path | None:
    head = path.with_name(f"{path.name.removesuffix('_1.csv')}_0.csv")
    return head if path.name.endswith("_1.csv") and head.is_file() else None


def files_of(values: object, folder: Path) -> list[Path]:
    """The file that the values of an entry are in, and a head beside it; none where they are in no file."""
    if not isinstance(values, str) or "\n" in values:
        return []
    path = folder / parted(values, folder)[0]
    return [each for each in (path, _head_of(path)) if each is not None and each.is_file()]


def _of_models(source: Source, number: int | None, place: str) -> Source:
    """The only table of a web page that has models; the page itself where statsmodels wrote it, or none has any.
    OutputError where several have: whose number is meant is not told.
    """
    if len(source.pages) < 2 or statsmodels_summary.recognises(source):
        return source
    known = [
        table
        for table in (one_of(source, table) for table in source.pages if not table.fault)
        if table.delimited and any(reader.recognises(table) for _, reader in READERS)
    ]
    if len(known) > 1:
        raise OutputError(
            f"{place}: it has {len(known)} tables of models, say which table, and which model of it, as in "
            f"'{known[0].first_model}': {list_of_tables(source.pages)}"
        )
    return known[0] if known else source


def read_coefficients(source: Source, model: int | None, place: str) -> Coefficients:
    """A regression, by the first reader that knows its form; OutputError where none does."""
    if _BY_SAS.search(
        " ".join(cell for row in source.grid[:_MOST_HEADS] for cell in row) if source.chosen else source.text
    ):
        raise OutputError(f"{place}: it looks like a table of {_OF_SAS}")
    for _, reader in READERS:
        if reader.recognises(source):
            table = source.chosen or (source.pages[0] if len(source.pages) == 1 else None)
            found = reader.read(source, model)
            found = in_document(found, table) if table is not None and reader is gtsummary else found
            said = "" if table is None else " . ".join((table.caption, *table.notes))
            return found if table is None else as_said(found, table.caption, said, place)
    for pattern, what in _ELSEWHERE.items():
        if re.search(pattern, source.text):
            raise OutputError(f"{place}: it looks like a table of {what}")
    raise OutputError(
        f"{place}: no table of coefficients is known in it; known are those of "
        f"{', '.join(name for name, _ in READERS)}, and a CSV with the columns label and value"
    )


def _by_label(source: Source) -> bool:
    """Whether it is a CSV of labels and values, in OutRisk's own form."""
    header = {cell.casefold() for cell in source.grid[0]} if source.delimited and source.grid else set()
    return bool(header & set(LABEL_COLUMNS)) and "value" in header


def _of_mapping(entry: Entry, cells: Mapping[str, Any], codebook: Codebook, place: str) -> Entry:
    """An entry whose values go by the names of another program, by its own labels; as it is where they do already."""
    if not isinstance(entry, FormulaEntry):
        return entry
    rows: dict[str, dict[str, str]] = {}
    single: dict[str, str] = {}
    for label, value in ((format_value(label), value) for label, value in cells.items()):
        name, _, suffix = label.rpartition(": ")
        side = suffix.partition(" ")[0]
        if label in _SINGLE:
            single[_SINGLE[label]] = str(value)
        elif name and suffix in _SUFFIXES:
            rows.setdefault(name, {})[_SUFFIXES[suffix]] = str(value)
        elif name and side in ("lower", "upper"):
            rows.setdefault(name, {})[side] = str(value)
        else:
            rows.setdefault(label, {})["coefficients"] = str(value)
    if entry.formula or (entry.response and entry.terms):
        (built,) = entry.build(codebook, 1)
        if set(cells) <= set(built.labels) or set(rows) <= set(built.coefficients):
            return entry
    try:
        for name in (each for each in rows if not is_of_shape(each, entry.kind)):
            read_term(name, codebook, codebook.names, place)
    except OutputError:
        return entry
    return entry_of_coefficients(Coefficients(tuple(rows.items()), single=single), entry, codebook, place)


def entries_of_table(
    source: Source, entry: Entry, codebook: Codebook, place: str, number: int | None = None
) -> list[Entry]:
    """The entry with the cells of a cross table or of rates, the times of a survival table, or the numbers of a test;
    then its margins, or means.
    """
    tests = isinstance(entry, HypothesisTestEntry)
    if (
        not tests
        and names_procedure(source)
        and not (
            (isinstance(entry, DescribedEntry) and has_tables(source))
            or (isinstance(entry, CorrelationsEntry) and has_correlations(source))
        )
    ):
        raise OutputError(
            f"{place}: no table of a listing of SAS is read for kind: {entry.kind} in it; read are those of FREQ, "
            "MEANS, UNIVARIATE and CORR; give the table as CSV"
        )
    if isinstance(entry, SurvivalEntry):
        return [entry_of_survival_table(source, entry, codebook, place)]
    if isinstance(entry, HypothesisTestEntry):
        return entries_of_test(of_all_tests(source, entry.where, place), entry, codebook, place, number)
    if isinstance(entry, TableOneEntry):
        return entries_of_table_one(source, entry, codebook, place, number)
    if isinstance(entry, RatesEntry):
        return entries_of_rates(source, entry, codebook, place, number)
    if isinstance(entry, MagnitudesEntry | ProportionsEntry) and entry.design is not None:
        return entries_of_survey(survey_in(source, entry, place, number), entry, codebook, place)
    if isinstance(entry, ProportionsEntry):
        if has_proportions(source):
            source, entry = table_of_log(source, entry, codebook, place, number)
        return entries_of_proportions(source, entry, codebook, place)
    if isinstance(entry, MarginsEntry):
        return [entries_of_margins(margins_in(source, entry, codebook, place, number), entry, codebook, place)]
    if isinstance(entry, CorrelationsEntry) and has_correlations(source):
        return [correlations_of_listing(source, entry, codebook, place, number)]
    if isinstance(entry, CorrelationsEntry) and is_matrix(source):
        return [entry_of_matrix(source, entry, codebook, place, number)]
    if isinstance(entry, DescribedEntry) and has_tables(source):
        return entries_of_listing(source, entry, codebook, place, number)
    if isinstance(entry, DescribedEntry) and is_log(source):
        return entries_of_log(source, entry, codebook, place, number)
    if isinstance(entry, DescribedEntry | ModeEntry) and (rows := listed(source, number, place)) is not None:
        source, number = rows, None
    if isinstance(entry, ShapeEntry):
        return entries_of_shape(source, entry, codebook, place)
    if (part := table_of_session(source, entry, codebook, place, number)) is not source:
        source, number = part, None
    return entries_of_cross_table(source, entry, codebook, place, number)
