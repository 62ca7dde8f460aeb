"""Regressions out of Stata: a table by `esttab` as CSV, and the pasted log of an estimation command."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from outrisk.errors import OutputError
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.printed_number import read_printed
from outrisk.readers.source import Source

_RULE = re.compile(r"^-{5,}\+-{10,}\s*$")
_HEAD = re.compile(
    r"\|\s*(?:Robust\s*)?(Coefficient|Coef\.|Odds ratio|IRR|exp\(b\))\s+(?:std\. err\.|Std\. Err\.)", re.I
)
_RATIOS = ("odds ratio", "irr", "exp(b)")
_KINDS = (
    (r"^\s*Logistic regression", "logit"),
    (r"^\s*Probit regression", "probit"),
    (r"^\s*Poisson regression", "poisson"),
    (r"^\s*Source \|\s+SS", "ols"),
    (r"^\s*Linear regression", "ols"),
)
_FACTS = {
    "n": r"Number of obs\s*=\s*([\d,]+)",
    "log_likelihood": r"^(?!Iteration).*Log (?:pseudo)?likelihood\s*=\s*(-?[\d.,]+)",
    "pseudo_r2": r"Pseudo R2\s*=\s*([\d.]+)",
    "r2": r"(?<!Adj )R-squared\s*=\s*([\d.]+)",
}
_SINGLE = {
    "n": "n",
    "observations": "n",
    "ll": "log_likelihood",
    "log likelihood": "log_likelihood",
    "r2": "r2",
    "r-squared": "r2",
    "r-sq": "r2",
    "r2_p": "pseudo_r2",
    "pseudo r-squared": "pseudo_r2",
    "pseudo r-sq": "pseudo_r2",
    "pseudo r2": "pseudo_r2",
}
_OTHERS = {"aic", "bic", "chi2", "f", "r2_a", "adj. r-squared", "adj. r-sq", "df_m", "p", "rank"}


def recognises(source: Source) -> bool:
    """Whether it is a log with a table of coefficients, or cells under model numbers such as (1)."""
    return any(_HEAD.search(line) for line in source.lines) or _is_esttab(source)


def read(source: Source, model: int | None = None) -> Coefficients:
    """The regression; `model` is its number where a table by esttab has several."""
    return _log(source) if any(_HEAD.search(line) for line in source.lines) else _esttab(source, model)


def _is_esttab(source: Source) -> bool:
    return source.delimited and any(re.fullmatch(r"\(\d+\)", _bare(cell)) for cell in source.grid[0][1:])


def _bare(cell: str) -> str:
    """A cell without what esttab wraps it in: =\"...\"."""
    return cell.strip().removeprefix("=").strip().strip('"').strip()


# ---------------------------------------------------------------- esttab


def _esttab(source: Source, model: int | None) -> Coefficients:
    grid = [[_bare(cell) for cell in row] for row in source.grid]
    models = [number for number, cell in enumerate(grid[0]) if re.fullmatch(r"\(\d+\)", cell)]
    if model is None and len(models) > 1:
        raise OutputError(
            f"{source.name}: it has {len(models)} models; say which one behind the file's name, as in "
            f"'{source.name.rpartition('/')[2]}#1' for {grid[0][models[0]]}"
        )
    if model is not None and not 1 <= model <= len(models):
        raise OutputError(f"{source.name}: no model {model}; it has {len(models)}")
    at = models[(model or 1) - 1]
    notes = " ".join(" ".join(row) for row in grid if _is_note(row)).casefold()
    second = "standard_errors" if "standard errors in" in notes else "p_values" if "p-values in" in notes else ""
    body = [row for row in grid[1:] if not _is_note(row)]
    if not body:
        raise OutputError(f"{source.name}: it has a header and no coefficients")
    rows, bases, single = list[tuple[str, dict[str, str]]](), list[str](), dict[str, str]()
    response = body[0][at] if body and not body[0][0] and not _brackets(body[0][at]) else ""
    for row, after in zip(body, [*body[1:], [""] * len(grid[0])], strict=True):
        name, cell = row[0], row[at]
        if not name or name.casefold() in _OTHERS or not cell:
            continue
        if name.casefold() in _SINGLE:
            single[_SINGLE[name.casefold()]] = cell
            continue
        below = after[at] if not after[0] and _brackets(after[at]) else ""
        value = read_printed(cell)
        if re.match(r"\d+b", name) or (value is not None and value.value == 0 and below.strip("()[] ") in (".", "")):
            bases.append(name) if not re.match(r"\d*o\.", name) else None
        else:
            texts = {"coefficients": cell} | ({second: below} if second and below else {})
            rows.append((name, texts))
    if not rows:
        raise OutputError(f"{source.name}: it has no coefficients")
    ratios = "exponentiated" in notes
    return Coefficients(
        tuple(rows),
        tuple(bases),
        single,
        exponentiated=ratios,
        errors_of_ratios=ratios,
        response="" if " " in response else response,
        own_digits=True,
        comma=source.comma,
    )


def _brackets(cell: str) -> bool:
    return bool(re.fullmatch(r"[\[(].*[\])]", cell))


def _is_note(row: Sequence[str]) -> bool:
    """Whether a row is text below the table."""
    text = row[0].casefold()
    return not any(row[1:]) and bool(re.search(r"in (parentheses|brackets)|\bp\s*<|exponentiated", text))


# ---------------------------------------------------------------- log


def _log(source: Source) -> Coefficients:
    lines = source.lines
    heads = [number for number, line in enumerate(lines) if _HEAD.search(line)]
    if len(heads) > 1:
        raise OutputError(f"{source.name}: it has {len(heads)} tables of coefficients; give each output its own text")
    head = _HEAD.search(lines[heads[0]])
    assert head is not None
    ratios = head[1].casefold() in _RATIOS
    level = re.search(r"\[(\d+(?:\.\d+)?)% conf", lines[heads[0]], re.I)
    rows, bases = list[tuple[str, dict[str, str]]](), list[str]()
    parts = ("coefficients", "standard_errors", "statistic", "p_values", "lower", "upper")
    for name, cells in _rows_of_log(lines[heads[0] + 1 :]):
        if cells[:1] and cells[-1] in ("(base)", "(empty)", "(omitted)"):
            bases += [name] if cells[-1] == "(base)" else []
            continue
        texts = {part: cell for part, cell in zip(parts, cells, strict=False) if part != "statistic"}
        rows.append((name, texts))
    text = "\n".join(lines)
    single = {}
    for fact, pattern in _FACTS.items():
        found = re.findall(pattern, text, re.M)
        if found:
            single[fact] = found[-1]
    above = "\n".join(lines[max(0, heads[0] - 2) : heads[0] + 1])
    return Coefficients(
        tuple(rows),
        tuple(bases),
        single,
        exponentiated=ratios,
        errors_of_ratios=ratios,
        own_digits=True,
        level=float(level[1]) / 100 if level else 0.95,
        kind=next((kind for pattern, kind in _KINDS if re.search(pattern, text, re.M)), ""),
        response=lines[heads[0]].partition("|")[0].strip(),
        robust="robust" if re.search(r"\bRobust\b", above) else "",
    )


def _rows_of_log(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Names and cells; a level under the name of its variable is named with it."""
    above = ""
    for line in lines:
        if re.match(r"^-{5,}", line) and not _RULE.match(line):
            return
        left, bar, right = line.partition("|")
        left, cells = left.strip(), right.split()
        if not bar:
            continue
        if not cells:
            above = left
        elif above and not left:
            continue
        else:
            yield (_under(above, left) if above else left), cells


def _under(above: str, level: str) -> str:
    """The name of a coefficient that stands as a level under its variables, such as '2' under 'religion#c.age'."""
    if level.casefold() == "_cons":
        return level
    parts = above.replace("##", "#").split("#")
    places = [number for number, part in enumerate(parts) if not part.startswith("c.")]
    levels = [level] if len(places) == 1 else level.split()
    if len(levels) != len(places):
        return level
    for place, each in zip(places, levels, strict=True):
        parts[place] = f"{parts[place].removeprefix('i.')}={each}"
    return "#".join(parts)
