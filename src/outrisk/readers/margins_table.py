"""Margins as programs print them: Stata's margins, statsmodels' get_margeff, R's marginaleffects and margins."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from outrisk.codebook import Codebook, format_value
from outrisk.errors import OutputError
from outrisk.outputs.regression.marginal_effects import Margins
from outrisk.outputs.regression.margins_entry import MarginsEntry
from outrisk.readers.printed_number import as_given, decimals_of, is_undefined, read_printed
from outrisk.readers.remarks import remark
from outrisk.readers.source import Source
from outrisk.readers.term_names import CONSTANTS, levels_of, read_term

_PARTS = ("margins", "standard_errors", "p_values")
_COLUMNS = {"confidence_limits": ("lower", "upper")}
_TITLE = re.compile(r"(Logit|Probit|Poisson|NegativeBinomial\w*|GeneralizedPoisson) Marginal Effects")
_OF_STATSMODELS = {"Logit": "logit", "Probit": "probit", "Poisson": "poisson", "NegativeBinomial": "negbin"}
_HEADS = {
    "margins": "dy/dx; ame; estimate; margin; predicted; prediction; adjusted prediction",
    "standard_errors": "std. err.; se; std.error; std err; standard error",
    "p_values": "pr(>|z|); p; p.value; p>|z|; pr(>|t|); p-value",
    "lower": "conf. int. low; lower; conf.low; 2.5 %; ci_low; [0.025",
    "upper": "cont. int. hi.; conf. int. hi.; upper; conf.high; 97.5 %; ci_high; 0.975]",
}
_NAMED = {name: part for part, names in _HEADS.items() for name in names.split("; ")}
_IGNORED = {"z", "t", "statistic", "s.value", "s", "df", "predicted_lo", "predicted_hi", "rowid", "by"}
_EXPRESSIONS = {
    r"Pr\(([\w~.]+)\), predict\((?:pr)?\)": ("logit", "probit"),
    r"Predicted number of (?:events|[\w~.]+), predict\(n?\)": ("poisson", "negbin"),
    r"Linear prediction, predict\((?:xb)?\)": ("ols",),
}
_OTHERWISE = {  # above a table of Stata's: what it says, and what it is then of
    r"\b(Unconditional|Linearized|Jackknife|Bootstrap)\b": "errors that are not by the delta method",
    r"(?m)^\s*(Over)\s*:": "margins within groups of records",
    r"(Subpop\. no\. obs|Population size)": "records of a survey's subpopulation, or weighted by its design",
}
_SLOPES = {"dy/dx", "mean(dy/dx)", ""}  # contrasts of R's marginaleffects that are derivatives
_Row = tuple[str, tuple[str, ...], dict[str, str]]  # names joined by ':', a level of each or none, and its numbers


@dataclass(frozen=True)
class _Table:
    """Rows by what they are of, each with its texts; and what is said above them: model, n, errors, means."""

    predictions: bool
    rows: list[_Row]
    said: dict[str, Any] = field(default_factory=dict)
    columns: bool = False  # rows are design columns


def entries_of_margins(source: Source, entry: MarginsEntry, codebook: Codebook, place: str) -> MarginsEntry:
    """The entry with the numbers of a table; OutputError where it is of another model, at other values, or of other
    errors than the entry says.
    """
    text = source.text
    if _TITLE.search(text):
        table = _of_statsmodels(source, place)
    elif re.search(r"Delta-method|Number of obs", text):
        table = _of_stata(text, place)
    else:
        table = _of_cells(source, entry, codebook, place)
    _hold(table, entry, place)
    _hold_response(table, entry, codebook, place)
    return _filled(_asked(table, entry, codebook, place), table, codebook, place)


def _of_statsmodels(source: Source, place: str) -> _Table:
    text = source.text
    kind, at = _TITLE.search(text), re.search(r"At:\s+(\w+)", text)
    method = re.search(r"Method:\s+(\w+)", text)
    if method and method[1] != "dydx":
        raise OutputError(f"{place}: its method is {method[1]}, and effects are derivatives (dydx); give these")
    rows: list[_Row] = []
    for line in text.splitlines():
        cells = re.split(r"\s+", line.strip())
        if len(cells) > 6 and all(read_printed(cell) or is_undefined(cell) for cell in cells[-6:]):
            values = dict(
                zip(("margins", "standard_errors", "z", "p_values", "lower", "upper"), cells[-6:], strict=True)
            )
            rows.append((" ".join(cells[:-6]), (), values))
    said: dict[str, Any] = {"model": [_OF_STATSMODELS.get(kind[1] if kind else "", kind[1] if kind else "")]}
    if at and at[1] not in ("overall", "mean"):
        raise OutputError(f"{place}: its effects are at {at[1]}; known are 'overall' and 'mean'")
    said["at_means"] = bool(at and at[1] == "mean")
    return _Table(False, rows, said, columns=True)


def _of_stata(text: str, place: str) -> _Table:
    heads = [line for line in text.splitlines() if "|" in line and re.search(r"(?i)std\. err\.", line)]
    if len(heads) != 1:
        raise OutputError(f"{place}: it has {len(heads)} tables of margins; give one alone")
    head = heads[0].partition("|")[2]
    effects = "dy/dx" in head
    if not effects and "Margin" not in head:
        raise OutputError(f"{place}: its numbers are {head.split()[0]}, which are neither dy/dx nor margins")
    above, _, below = text.partition(heads[0])
    return _Table(not effects, list(_rows_of_stata(below, place)), _said_by_stata(above, head, place))


def _rows_of_stata(below: str, place: str) -> Iterator[_Row]:
    """Rows below a heading are its levels, up to an empty one."""
    parts, header = ("margins", "standard_errors", "z", "p_values", "lower", "upper"), ""
    for line in below.splitlines():
        left, bar, right = (each.strip() for each in line.partition("|"))
        cells = right.split()
        if not bar or re.search(r"\((?:base|omitted|empty|not estimable)\)", right):
            continue
        if not left or not cells:
            header = left
        elif len(cells) != len(parts):
            raise OutputError(
                f"{place}: the row {left!r} has {len(cells)} numbers, and {len(parts)} are known: {right}"
            )
        else:
            values = dict(zip(parts, cells, strict=True))
            yield (header.replace("#", ":"), tuple(left.split("#")), values) if header else (left, (), values)


def _said_by_stata(above: str, head: str, place: str) -> dict[str, Any]:
    said: dict[str, Any] = {}
    n = re.search(r"Number of obs\s*=\s*([\d,]+)", above)
    if n:
        said["n"] = n[1].replace(",", "")
    vce = re.search(r"Model VCE\s*:\s*(\w+)", above)
    if vce:
        said["robust"] = vce[1] == "Robust"
    expression = re.search(r"Expression\s*:\s*(.+)", above)
    if expression:
        found = [(re.fullmatch(form, expression[1].strip()), kinds) for form, kinds in _EXPRESSIONS.items()]
        known = [kinds for match, kinds in found if match]
        said["response"] = next((match[1] for match, _ in found if match and match.groups()), "")
        if not known:
            raise OutputError(f"{place}: its expression is {expression[1].strip()!r}, which is no margin that is known")
        said["model"] = list(known[0])
    for form, of in _OTHERWISE.items():
        if stated := re.search(form, above):
            raise OutputError(f"{place}: it says {stated[1]!r}, and has {of}; these are not known")
    values = re.split(r"(?im)^\s*at\s*(?::|(?=\s{2}))", above, maxsplit=1)
    at = re.findall(r"(?m)=\s*[\d.,e+-]+[^\S\n]*(\(\w+\))?[^\S\n]*$", values[1]) if len(values) > 1 else []
    said["at_means"] = bool(at) and set(at) == {"(mean)"}
    if len(values) > 1 and not said["at_means"]:
        raise OutputError(
            f"{place}: its margins are at values of variables, which are not known; give those over records"
        )
    if by := re.search(r"P>\|([tz])\|", head):
        said["distribution"] = {"t": "t", "z": "normal"}[by[1]]
    level = re.search(r"\[(\d+(?:\.\d+)?)%", head)
    if level:
        said["level"] = float(level[1]) / 100.0
    return said


def _of_cells(source: Source, entry: MarginsEntry, codebook: Codebook, place: str) -> _Table:
    grid = source.grid
    heads = [cell.strip() for cell in grid[0]] if grid else []
    parts = [_NAMED.get(head.casefold(), "") for head in heads]
    if "margins" not in parts:
        raise OutputError(
            f"{place}: no table of margins is known in it; known are those of Stata's margins, statsmodels' "
            "get_margeff, R's marginaleffects and margins, and a CSV with the columns label and value"
        )
    names = [head for head, part in zip(heads, parts, strict=True) if not part and head.casefold() not in _IGNORED]
    term = next((at for at, head in enumerate(heads) if head.casefold() in ("term", "factor", "")), None)
    contrast = heads.index("contrast") if "contrast" in heads else None
    by = [head for head in names if head in codebook]
    if term is not None and by:
        raise OutputError(
            f"{place}: its effects are at values of {', '.join(by)}, or by them; known are averages over all records"
        )
    others = [head for head in names if head and head not in by and head not in ("term", "factor", "contrast")]
    if others:
        remark(place, f"columns {', '.join(map(repr, others))} are none of margins and are left out")
    said = _said_by_r(heads, parts, entry, place)
    rows = []
    for cells in grid[1:]:
        values = {part: cell for part, cell in zip(parts, cells, strict=True) if part}
        if term is None:
            rows.append((":".join(by), tuple(cells[heads.index(name)] for name in by), values))
        elif contrast is not None and " - " in cells[contrast]:
            level = re.sub(r"mean\((.*?)\)", r"\1", cells[contrast]).split(" - ")
            rows.append((cells[term].strip(), (level[0].strip(), level[1].strip()), values))
        elif contrast is not None and cells[contrast].strip().casefold() not in _SLOPES:
            raise OutputError(
                f"{place}: the contrast of '{cells[term].strip()}' is {cells[contrast].strip()!r}, which is neither "
                "dY/dX nor a difference of two levels; give avg_slopes() as it is"
            )
        else:
            rows.append((cells[term].strip(), (), values))
    if term is None and by:
        remark(place, f"predictions are taken to be of everybody at each level of {', '.join(by)}, not of those by it")
    statsmodels = "dy/dx" in [head.casefold() for head in heads]
    return _Table(term is None, rows, said, columns=statsmodels and entry.factors != "levels")


def _said_by_r(heads: Sequence[str], parts: list[str], entry: MarginsEntry, place: str) -> dict[str, Any]:
    """By which distribution R has p-values and limits; its errors are taken out of `parts` where they are by another
    information.
    """
    names = {head.casefold() for head in heads}
    if "dy/dx" in names:  # statsmodels
        return {}
    expected = entry.model in ("probit", "negbin") and not (entry.covariance or entry.cluster)
    if expected and set(parts) & {"standard_errors", "p_values", "lower", "upper"}:
        remark(place, f"R's standard errors of a {entry.model} are by the expected information, and left out with what "
                      "follows from them")  # fmt: skip
        parts[:] = [part if part == "margins" else "" for part in parts]
    if not set(parts) & {"p_values", "lower", "upper"} or "df" in names:
        return {}
    by_t = names & {"t", "pr(>|t|)", "p>|t|"}
    return {"distribution": "t" if by_t else "normal"} if entry.model == "ols" else {}


def _hold(table: _Table, entry: MarginsEntry, place: str) -> None:
    """OutputError where the table says otherwise than the entry."""
    said = table.said
    if "model" in said and entry.model not in said["model"]:
        raise OutputError(
            f"{place}: its margins are of a {' or '.join(said['model'])}, the output says model: {entry.model}"
        )
    if "at_means" in said and said["at_means"] != entry.at_means:
        how = "at the means" if said["at_means"] else "averages over records"
        raise OutputError(f"{place}: its margins are {how}, the output says at_means: {str(entry.at_means).lower()}")
    robust = bool(entry.covariance or entry.cluster)
    if "robust" in said and said["robust"] != robust:
        how = "robust" if said["robust"] else "by the model"
        raise OutputError(f"{place}: its standard errors are {how}, the output says otherwise; correct its covariance")
    usual = "t" if entry.model == "ols" else "normal"
    if "distribution" in said and said["distribution"] != (entry.distribution or usual):
        raise OutputError(
            f"{place}: its p-values and limits are by the {said['distribution']} distribution; give the output "
            f"distribution: {said['distribution']}"
        )
    if "level" in said and abs(said["level"] - entry.level) > 1e-9:
        raise OutputError(
            f"{place}: its limits are at {100 * said['level']:g} %, the output says level: {entry.level:g}"
        )
    if table.columns and "factors" not in entry.model_fields_set:
        raise OutputError(
            f"{place}: statsmodels' effects do not say whether dummy=True; give the output factors: columns (with it), "
            "or factors: slopes"
        )
    if not table.rows:
        raise OutputError(f"{place}: no row of margins is in it")


def _hold_response(table: _Table, entry: MarginsEntry, codebook: Codebook, place: str) -> None:
    """OutputError where the table is of another variable; a line where it names none."""
    said, ours = table.said.get("response", ""), entry.formula.partition("~")[0].strip().strip("`")
    if not said or said == ours:
        return
    if said in codebook:
        raise OutputError(f"{place}: its response is {said}, that of the output's formula {ours}")
    remark(place, f"the response {said!r} is no variable and is taken for {ours}")


def _asked(table: _Table, entry: MarginsEntry, codebook: Codebook, place: str) -> MarginsEntry:
    """The entry with what the table has margins of, where it does not say it."""
    asked = "predictions" if table.predictions else "dydx"
    other = "dydx" if table.predictions else "predictions"
    if getattr(entry, other):
        raise OutputError(f"{place}: the table has {'margins' if table.predictions else 'dy/dx'} alone, the output "
                          f"also {other}; make two outputs of it")  # fmt: skip
    if getattr(entry, asked):
        return entry
    names: list[str] = []
    for name, levels, _ in table.rows:
        if table.predictions:
            names.append("*" if name.casefold() in CONSTANTS else name)
        else:
            names.append(_factor(name, levels, codebook, place)[0])
    return entry.model_copy(update={asked: tuple(dict.fromkeys(names))})


def _factor(name: str, levels: Sequence[str], codebook: Codebook, place: str) -> tuple[str, str]:
    """The variable and the level ('' of a number) that a row of effects is of."""
    if levels and name in codebook:
        return name, _level(name, levels[0], codebook, place)
    term = read_term(name, codebook, codebook.names, place)
    if len(term) != 1:
        raise OutputError(f"{place}: '{name}' is of several variables, whose effects are of one each")
    return term[0]


def _level(name: str, text: str, codebook: Codebook, place: str) -> str:
    found = levels_of(codebook[name], text)
    if len(found) != 1:
        known = ", ".join(format_value(value) for value in codebook[name].values[:20])
        raise OutputError(f"{place}: {text!r} is no level of '{name}'; levels are {known}{codebook[name].if_merged}")
    return found[0]


def _filled(entry: MarginsEntry, table: _Table, codebook: Codebook, place: str) -> MarginsEntry:
    parts = [part for part in _PARTS if all(part in values for *_, values in table.rows)]
    if all({"lower", "upper"} <= set(values) for *_, values in table.rows):
        parts.append("confidence_limits")
    if "n" in table.said:
        parts.append("n")
    if "release" in entry.model_fields_set:
        absent = [part for part in entry.release if part not in parts]
        if absent:
            raise OutputError(f"{place}: the table has no {absent[0]}; it has {', '.join(parts)}")
        parts = [part for part in parts if part in entry.release]
    changes: dict[str, Any] = {"release": tuple(parts)}
    texts = {
        part: [values[each] for *_, values in table.rows for each in _COLUMNS.get(part, (part,))]
        for part in parts
        if part != "n"
    }
    if "decimals" not in entry.model_fields_set:
        changes["decimals"] = {part: decimals_of([read_printed(t) for t in each]) for part, each in texts.items()}
    made = type(entry).model_validate({**entry.model_dump(exclude_unset=True), **changes, "values": None})
    (built,) = made.build(codebook, 1)
    return made.model_copy(update={"values": _values(built, made, table, codebook, place)})


def _values(built: Margins, entry: MarginsEntry, table: _Table, codebook: Codebook, place: str) -> dict[str, Any]:
    """The numbers by the output's labels."""
    names = [each.label for each in built.quantities.all]
    by_name: dict[str, dict[str, str]] = {}
    for name, levels, texts in table.rows:
        label = _label(name, levels, table, built, codebook, place)
        if label not in names:
            raise OutputError(
                f"{place}: its row '{label}' is none of the output's margins, which are {'; '.join(names[:20])}"
            )
        if label in by_name:
            raise OutputError(f"{place}: '{label}' stands there twice; keep one")
        by_name[label] = texts
    absent = [each for each in names if each not in by_name]
    if absent:
        raise OutputError(f"{place}: the table has no row of '{absent[0]}'; correct what is asked, or the reference")
    percent = f"{100 * entry.level:g} %"
    suffixes = {"margins": "", "standard_errors": ": standard error", "p_values": ": p-value",
                "lower": f": lower {percent}", "upper": f": upper {percent}"}  # fmt: skip
    places, values = dict(zip(built.labels, built.decimals.tolist(), strict=True)), dict[str, Any]()
    for label, texts in by_name.items():
        for part, suffix in suffixes.items():
            if f"{label}{suffix}" in places and part in texts:
                number = read_printed(texts[part])
                if number is None:
                    values[f"{label}{suffix}"] = "undefined" if is_undefined(texts[part]) else "withheld"
                else:
                    values[f"{label}{suffix}"] = as_given(number, places[f"{label}{suffix}"])
    if "n" in entry.release:
        values["number of records"] = int(table.said["n"])
    return values


def _label(name: str, levels: tuple[str, ...], table: _Table, built: Margins, codebook: Codebook, place: str) -> str:
    if table.columns:
        columns = built.regression.columns
        if name in columns:
            return f"dy/dx: {name}"
        of = read_term(name, codebook, built.regression.variables, place)
        same = [each for each in columns if read_term(each, codebook, built.regression.variables, place) == of]
        return f"dy/dx: {same[0] if len(same) == 1 else name}"
    if table.predictions:
        if name.casefold() in CONSTANTS:
            return "margin"
        pairs = zip(name.split(":"), levels, strict=True)
        return "margin: " + ", ".join(f"{each} = {_level(each, text, codebook, place)}" for each, text in pairs)
    variable, level = _factor(name, levels, codebook, place)
    if len(levels) == 2:  # a contrast
        designs = built.quantities.designs
        base = format_value(codebook[variable].values[designs.reference(variable)])
        if _level(variable, levels[1], codebook, place) != base:
            raise OutputError(f"{place}: '{variable}' is compared with {levels[1]}, the output's reference is {base}")
    return f"dy/dx: {variable} = {level}" if level else f"dy/dx: {variable}"
