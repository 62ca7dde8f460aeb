"""Tables of models side by side as journals, stargazer, texreg and `summary_col` print them: a column a model, an
estimate with stars, and in brackets behind or below it what the table says it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from outrisk.errors import OutputError
from outrisk.outputs.regression.release import Kind
from outrisk.readers.cells_of_models import REFERENCE, comma_of, plain, whole, with_brackets
from outrisk.readers.coefficients import Coefficients, unread
from outrisk.readers.heads_of_columns import bare, beside
from outrisk.readers.journal_columns import in_columns, read_columns
from outrisk.readers.journal_rows import BRACKETED, Rows, is_estimate, is_named_error
from outrisk.readers.level_of_limits import level_said
from outrisk.readers.named_models import as_said, kinds_named, response_named
from outrisk.readers.printed_number import read_printed
from outrisk.readers.printed_tables import PrintedTable
from outrisk.readers.remarks import remark
from outrisk.readers.source import Grid, Source

_SAYS = (  # what words of a table say that brackets have -> the part
    (r"standard errors?|\bs\.?e\.?s?\b|std\.? err", "standard_errors"),
    (r"confidence intervals?|\d ?% ?c\.?i\b|\bc\.?i\.? ", "limits"),
    (r"\bt[- ]?(?:statistics?|values?|ratios?|stats?)\b|\b[tz](?= (?:in|within|between)\b)", "statistic"),
    (r"\bz[- ]?(?:statistics?|values?|scores?|stats?)\b", "statistic"),
    (r"\bp[- ]?values?\b|\bp(?= (?:in|within|between)\b)", "p_values"),
)
_BRACKETS = r"(?:parenthes[ie]s|brackets)"
_ARE = r"(?:\s+(?:are|is|show|give|denote|represent|report|indicate|contain)s?\b[^.;\n]*)?"
_IN = rf"[^.;\n]*?\b(?:in|within|between)\s+(?:\w+\s+)?{_BRACKETS}{_ARE}|{_BRACKETS}[^.;\n]*"
_RATIOS: tuple[tuple[str, tuple[Kind, ...]], ...] = (
    (r"(?i:\bodds[ -]ratios?)|\b[ac]?ORs?\b", ("logit", "ologit", "mnlogit")),
    (r"(?i:\bhazards?[ -]ratios?)|\b[ac]?HRs?\b", ("cox",)),
    (r"(?i:\b(?:incidence[ -]rate|rate|risk|prevalence)[ -]ratios?)|\b[ac]?(?:IRR|RR|PR)s?\b", ("poisson", "negbin")),
    (r"(?i)\bexponentiated\b|\bexp ?\((?:b|beta|coef)", ()),
)
_NOT_RATIOS = r"(?i)\blog[ -]odds\b|\bcoefficients?\b(?! are exponentiated)|\bunstandardi[sz]ed\b|\blog\((?:or|hr)\)"
_SEVERAL_ERRORS = re.compile(  # behind ±
    r"\(?(?:\d[\d.,]*\s*[×x*·]?\s*(?:s\.?e|std|standard err)|(?:the )?(?:margin|half))"
)
_PLUS_MINUS = re.compile(r"^([-+]?[\d.,]*\d)\s*(?:±|\+/-)\s*([\d.,]*\d)$")


@dataclass(frozen=True)
class _Layout:
    """The head of a table (rows above `body`), its models' columns with the lines of their heads, and whether each
    stands above that column alone; heads of other columns of numbers (`passed`); lines of words below it.
    """

    grid: Grid
    body: int
    models: tuple[int, ...]
    heads: tuple[tuple[str, ...], ...]
    own: tuple[bool, ...]
    passed: tuple[str, ...]
    lines: tuple[str, ...]


def recognises(source: Source) -> bool:
    """Whether it is a table of a document or a page with columns of estimates and of what is in brackets."""
    table = _table(source)
    if table is None or any({"b", "sig."} <= {cell.casefold() for cell in row} for row in table.grid[:6]):  # of SPSS
        return False
    return in_columns(table.grid) is not None or _laid(table.grid) is not None


def read(source: Source, model: int | None = None) -> Coefficients:
    """The regression; `model` is its number where there are several."""
    table = _table(source)
    assert table is not None
    columns = in_columns(table.grid)
    if columns is not None:
        return read_columns(source, table, columns, model)
    layout = _laid(table.grid)
    assert layout is not None
    at = _chosen(layout, model, source.name, source.first_model)
    model = layout.models.index(at)
    head = " ".join(layout.heads[model])
    said = " . ".join(
        (table.caption, head, layout.grid[layout.body - 1][0] if layout.body else "", *layout.lines, *table.notes)
    )
    stargazer = any(re.search(r"Dependent variable", cell, re.I) for row in layout.grid[: layout.body] for cell in row)
    texreg = any(re.fullmatch(r"Num\. obs\.", plain(row[0])) for row in layout.grid)
    second = _in_brackets(said, source.name)
    if not second and (stargazer or texreg):
        remark(source.name, "numbers in brackets are read as standard errors, as stargazer and texreg write them")
        second = dict.fromkeys("([{", "standard_errors")
    if layout.passed:
        remark(
            source.name,
            f"columns that are no part of a regression are passed over: {', '.join(dict.fromkeys(layout.passed))}",
        )
    found = Rows(source.name, at, second, named=sum(is_named_error(row[0]) for row in layout.grid[layout.body :]) > 1)
    for row in layout.grid[layout.body :]:
        found.take(row)
    taken = _coefficients(found, said, head, layout.own[model])
    taken = replace(taken, kinds=taken.kinds or kinds_named(head), response=response_named(layout.heads[model]))
    return as_said(taken, table.caption, said, source.name)


def _table(source: Source) -> PrintedTable | None:
    if source.chosen is not None:
        return source.chosen
    return source.pages[0] if len(source.pages) == 1 else None


def _laid(grid: Grid) -> _Layout | None:
    """The layout of a table; None where no column has estimates with something in brackets, or stars."""
    grid = [
        row for row in ([_PLUS_MINUS.sub(r"\1 (\2)", plain(cell)) for cell in row] for row in whole(grid)) if any(row)
    ]
    if not grid or len(grid[0]) < 2:
        return None
    lines = [
        row
        for row in grid
        if row[0] and not any(row[1:]) and (len(row[0]) > 30 or re.search(rf"(?i){_BRACKETS}", row[0]))
    ]
    notes = [
        " ".join(filter(None, row)) for row in grid if re.match(r"(?i)\W*notes?\b|\*|[†‡]", row[0]) or _says_stars(row)
    ]
    kept = [
        row for row in grid if row not in lines and not re.match(r"(?i)\W*notes?\b", row[0]) and not _says_stars(row)
    ]
    body = next((at for at, row in enumerate(kept) if any(map(is_estimate, row[1:]))), len(kept))
    while 1 < body < len(kept) and kept[body - 1][0] and all(_of_reference(cell) for cell in kept[body - 1][1:]):
        body -= 1  # a heading or a reference level above the first estimate
    rows = kept[body:]
    width = len(grid[0])
    numbers = [at for at in range(1, width) if any(is_estimate(row[at]) for row in rows)]
    models = [at for at in numbers if not _beside(kept[:body], at)]
    named = [row[0] for row in rows if is_named_error(row[0])]
    bracketed = len(named) > 1 or any(
        BRACKETED.fullmatch(row[at]) or with_brackets(row[at])[1] for row in rows for at in models
    )
    if not models or not bracketed or not body:
        return None
    others = [at for at in range(1, width) if at not in models and _beside(kept[:body], at) != "difference"]
    if any(BRACKETED.fullmatch(row[at]) for row in rows for at in others):
        return None  # what is in brackets has columns of its own, without a head that says so
    heads = tuple(_head(kept[:body], at) for at in models)
    own = tuple(at == models[0] or all(row[at] or not _speaks_of_ratios(row) for row in kept[:body]) for at in models)
    told = [*(row[0] for row in lines), *notes]
    passed = tuple(_lowest(kept[:body], at) for at in numbers if at not in models)
    return _Layout(kept, body, tuple(models), heads, own, passed, tuple(dict.fromkeys(told)))


def _of_reference(cell: str) -> bool:
    return not cell or REFERENCE.fullmatch(cell) is not None


def _says_stars(row: Sequence[str]) -> bool:
    return any(re.search(r"p ?[<≤] ?[0.]", cell) for cell in row) and not any(map(is_estimate, row[1:]))


def _speaks_of_ratios(row: Sequence[str]) -> bool:
    return any(re.search(words, cell) for cell in row for words, _ in _RATIOS)


def _beside(rows: Sequence[Sequence[str]], at: int) -> str:
    """What a column has that is no model, '' of one that is."""
    return beside(bare(_lowest(rows, at)))


def _lowest(rows: Sequence[Sequence[str]], at: int) -> str:
    """The last line of a column's own head."""
    return next((row[at] for row in reversed(rows) if row[at]), "")


def _head(rows: Sequence[Sequence[str]], at: int) -> tuple[str, ...]:
    """What stands above a column, also over several."""
    found = (next((row[left] for left in range(at, 0, -1) if row[left]), "") for row in rows)
    return tuple(dict.fromkeys(filter(None, found)))


def _chosen(layout: _Layout, model: int | None, name: str, say: str) -> int:
    if model is None and len(layout.models) > 1:
        names = ", ".join(f"{number} '{' '.join(head)[:40]}'" for number, head in enumerate(layout.heads, 1))
        raise OutputError(
            f"{name}: it has {len(layout.models)} models: {names}; say which one behind the table, as in '{say}'"
        )
    if not 1 <= (model or 1) <= len(layout.models):
        raise OutputError(f"{name}: no model {model}; it has {len(layout.models)}")
    return layout.models[(model or 1) - 1]


def _in_brackets(said: str, name: str) -> dict[str, str]:
    """What the words of a table say that single numbers are, by the bracket that opens; nothing where they say
    nothing. OutputError where they say several things.
    """
    near = " ".join(re.findall(rf"(?i){_IN}", said)).casefold()
    inside = [f"{text.casefold().strip()} " for text in re.findall(r"[(\[]([^()\[\]]*)[)\]]", said)]
    alone = [
        text
        for text in inside
        if any(re.fullmatch(rf"(?:robust |clustered |\d\d(?:\.\d)? ?% ?)?(?:{words})\W*", text) for words, _ in _SAYS)
    ]
    behind = re.findall(r"(?:±|\+/-)\s*([^;±]{,40})", said.casefold())
    if several := next((each for each in behind if _SEVERAL_ERRORS.match(each)), ""):
        raise OutputError(f"{name}: what stands behind ± is '{several[:30]}', no standard error; give limits or errors")
    alone += [each.split(".")[0].split(",")[0] for each in behind]
    near = f"{near} {' '.join(alone)} "
    found = list(dict.fromkeys(part for words, part in _SAYS if re.search(words, near)))
    if len(found) > 1 and (apart := _by_bracket(said)):
        return apart
    if len(found) > 1:
        raise OutputError(
            f"{name}: what its numbers in brackets are may be {' or '.join(found).replace('_', ' ')}; keep one of "
            "these in its caption and notes"
        )
    return dict.fromkeys("([{", found[0]) if found else {}


def _by_bracket(said: str) -> dict[str, str]:
    """What is in parentheses and what in brackets, where words tell them apart, each once; else nothing."""
    parts: dict[str, set[str]] = {"(": set(), "[": set()}
    for clause in re.split(r"[.;,\n]\s| and | while ", said.casefold()):
        told = {part for words, part in _SAYS if re.search(words, clause)}
        for opening, word in (("(", "parenthes"), ("[", "bracket")):
            if word in clause:
                parts[opening] |= told or {""}
    single = {opening: next(iter(told)) for opening, told in parts.items() if len(told) == 1}
    return single if len(single) == 2 and all(single.values()) and len({*single.values()}) == 2 else {}


def _coefficients(found: Rows, said: str, head: str, own: bool) -> Coefficients:
    known = [(name, texts) for name, texts in found.rows if "coefficients" in texts]
    if not known:
        raise OutputError(f"{found.place}: it has no coefficients of this model")
    ratios, kinds = _scale(said, head, own)
    comma = comma_of([texts for _, texts in known], ratios, found.place)
    numbers = [read_printed(texts["coefficients"], comma) for _, texts in known]
    above = all(number is not None and number.value > 0 for number in numbers)
    if ratios and not above:
        raise OutputError(f"{found.place}: it speaks of ratios, and not all of its estimates are above 0; correct one")
    rows, told = found.rows, list(found.others)
    if any("statistic" in texts for _, texts in rows):
        told.append("statistics in brackets")
        rows = [(name, {k: v for k, v in texts.items() if k != "statistic"}) for name, texts in rows]
    if ratios and any("standard_errors" in texts for _, texts in rows):
        told.append("standard errors beside ratios, of b or of exp(b)")
        rows = [(name, {k: v for k, v in texts.items() if k != "standard_errors"}) for name, texts in rows]
    return Coefficients(
        tuple(rows),
        single=found.single,
        exponentiated=bool(ratios),
        errors_of_ratios=above and not ratios,
        open_scale=above and not ratios,
        level=level_said(head) or level_said(said) if found.limits else None,
        own_digits=True,
        perhaps_profiled=found.limits,
        kinds=kinds if ratios else (),
        comma=comma,
        expected=True,
        headed=True,
        n_may_be_events=True,
        unread=(*unread(told, found.single),),
    )


def _scale(said: str, head: str, own: bool) -> tuple[bool, tuple[Kind, ...]]:
    """Whether estimates are exp(b), and of which models; by the head of the column, else by all words of the table. Of
    ratios that stand above a column to its left, perhaps over both (not `own`), it is not told.
    """
    if not own:
        return False, ()
    for text in (head, said):
        found = [kinds for words, kinds in _RATIOS if re.search(words, text)]
        plain_ = re.search(_NOT_RATIOS, text)
        if found and not plain_:
            return True, found[0] if len(found) == 1 else ()
        if plain_:
            return False, ()
    return False, ()
