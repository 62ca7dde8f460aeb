"""Tables by R's `modelsummary`: a column a model, a row a statistic, named in columns or bracketed below estimates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from outrisk.errors import OutputError
from outrisk.outputs.regression.sandwich import Estimator
from outrisk.readers.cells_of_models import ends_of, has_comma, p_value, plain, whole, with_brackets
from outrisk.readers.coefficients import Coefficients, unread
from outrisk.readers.printed_number import read_printed
from outrisk.readers.r_output import BROOM
from outrisk.readers.source import Grid, Source

_PASSED = {"statistic", "df.error", "df.residual", "stars", "s.value"}
_SINGLE = {"num.obs.": "n", "r2": "r2", "log.lik.": "log_likelihood"}
_OF_FIT = frozenset(
    {*_SINGLE, "r2 adj.", "aic", "bic", "f", "rmse", "std.errors", "r2 within", "r2 pseudo", "r2 tjur", "sigma"}
)
_TELLING = {"num.obs.", "log.lik.", "r2 adj.", "std.errors"}  # that other programs call otherwise
_MOST_IN_PATTERN = 6
_KNOWN: dict[str, Estimator] = {"hc0": "HC0", "hc1": "HC1"}


def recognises(source: Source) -> bool:
    """Whether it has a column of statistics such as estimate, or measures of fit by their names below its terms."""
    grid = _grid(source)
    if not grid or len(grid[0]) < 2:
        return False
    head = [cell.casefold() for cell in grid[0]]
    if {"term", "statistic"} <= set(head):
        at = head.index("statistic")
        return any(row[at].casefold() == "estimate" for row in grid[1:])
    below = {row[0].casefold() for row in grid[1:]}
    return head[0] in ("", "term") and bool(_TELLING & below)


def _grid(source: Source) -> Grid:
    grid = source.tables[0] if source.tables else source.grid
    return [[plain(cell) for cell in row] for row in whole(grid)]


def read(source: Source, model: int | None = None) -> Coefficients:
    """The regression; `model` is its number where there are several."""
    grid = _grid(source)
    head = [cell.casefold() for cell in grid[0]]
    if "group" in head or "response" in head or "y.level" in head:
        raise OutputError(
            f"{source.name}: it has groups of terms, such as the outcomes of a multinomial model; give what "
            "broom::tidy gives of it"
        )
    named = {"term", "statistic"} <= set(head)
    columns = [name for name in ("part", "term", "statistic") if name in head] if named else []
    places = {name: head.index(name) for name in columns} or {"term": 0}
    models = [at for at in range(len(head)) if at not in places.values()]
    if any(" / " in grid[0][at] for at in models):
        raise OutputError(
            f"{source.name}: each model has several columns; write the table with shape = term + statistic ~ model"
        )
    if model is None and len(models) > 1:
        raise OutputError(
            f"{source.name}: it has {len(models)} models; say which one behind the file's name, as in "
            f"'{source.first_model}' for {grid[0][models[0]]}"
        )
    if not 1 <= (model or 1) <= len(models):
        raise OutputError(f"{source.name}: no model {model}; it has {len(models)}")
    found = _Found(source.name, models[(model or 1) - 1])
    for row in grid[1:]:
        if "part" in places and row[places["part"]].casefold() == "gof":
            found.fit(row[places["term"]], row[found.at])
        elif named:
            found.named(row[places["term"]], row[places["statistic"]], row[found.at])
        else:
            found.below(row)
    return _coefficients(found, has_comma([row[found.at] for row in grid[1:]]))


@dataclass
class _Found:
    """Texts by term and part of the model in the column `at`, and its measures of fit, as rows are met; how these are
    `called` in the table.
    """

    place: str
    at: int
    rows: dict[str, dict[str, str]] = field(default_factory=dict)
    fits: dict[str, str] = field(default_factory=dict)
    called: dict[str, str] = field(default_factory=dict)
    last: str = ""

    def fit(self, name: str, cell: str) -> None:
        """Take a measure of fit."""
        if cell:
            self.fits[name.casefold()] = cell
            self.called[name.casefold()] = name

    def named(self, term: str, statistic: str, cell: str) -> None:
        """Take a cell whose statistic is named, perhaps by a pattern such as `{std.error} ({p.value})`."""
        if not statistic:
            self.fit(term, cell)
        elif not cell:
            return
        elif statistic.casefold() == "estimate":
            self._estimate(term, cell)
        elif statistic == "conf.int":
            self._limits(term, cell)
        elif "{" in statistic:
            self._by_pattern(term, statistic, cell)
        elif statistic in BROOM:
            self._put(term, BROOM[statistic], cell.strip("()[] "))
        elif statistic not in _PASSED:
            raise OutputError(f"{self.place}: the statistic '{statistic}' of '{term}' is not known; take it out")

    def below(self, row: Sequence[str]) -> None:
        """Take a row that names a term or a measure of fit, or stands below one in brackets."""
        name, cell = row[0], row[self.at]
        bracketed = [each for each in row[1:] if re.fullmatch(r"[(\[].*[)\]][*+]*", each)]
        if not any(row[1:]):
            return
        if not name and bracketed:
            if not cell:
                return
            if not cell.startswith("[") or ends_of(cell) is None:
                raise OutputError(
                    f"{self.place}: what stands below '{self.last}' in brackets, {cell[:40]!r}, it does not say; write "
                    "the table as CSV (output = 'table.csv'), which has the columns part, term, statistic"
                )
            self._limits(self.last, cell)
        elif name.casefold() in _OF_FIT or self.fits:
            self.fit(name, cell)
        else:
            self.last = name
            if cell:
                self._estimate(name, cell)

    def _estimate(self, term: str, cell: str) -> None:
        number, behind = with_brackets(cell)
        self._put(term, "coefficients", number)
        if behind and ends_of(behind) is not None:
            self._limits(term, behind)
        elif behind:
            raise OutputError(
                f"{self.place}: what stands behind the estimate of '{term}' in brackets, {behind[:40]!r}, it does not "
                "say; write it below, with statistic = 'std.error'"
            )

    def _limits(self, term: str, cell: str) -> None:
        ends = ends_of(cell)
        if ends is None:
            raise OutputError(f"{self.place}: the limits of '{term}' are {cell[:40]!r}, which are not two numbers")
        self._put(term, "lower", ends[0])
        self._put(term, "upper", ends[1])

    def _by_pattern(self, term: str, pattern: str, cell: str) -> None:
        names = re.findall(r"\{([\w.]+)\}", pattern)
        texts = re.split(r"\{[\w.]+\}", pattern)
        few = len(names) <= _MOST_IN_PATTERN  # as a search takes a power of them
        found = re.fullmatch("(.*?)".join(map(re.escape, texts)), cell) if few else None
        if found is None:
            raise OutputError(f"{self.place}: {cell[:40]!r} of '{term}' is not of the form {pattern!r}")
        for name, text in zip(names, found.groups(), strict=True):
            if name in BROOM and text.strip():
                self._put(term, BROOM[name], text.strip())

    def _put(self, term: str, part: str, text: str) -> None:
        texts = self.rows.setdefault(term, {})
        if texts.get(part, text) != text or (part == "coefficients" and part in texts):
            raise OutputError(f"{self.place}: '{term}' has two rows of the same statistic; keep one")
        texts[part] = p_value(text) if part == "p_values" else text


def _coefficients(found: _Found, comma: bool) -> Coefficients:
    rows = [(_term(name), texts) for name, texts in found.rows.items() if "coefficients" in texts]
    if not rows:
        raise OutputError(f"{found.place}: it has no coefficients of this model")
    numbers = [read_printed(texts["coefficients"], comma) for _, texts in rows]
    above = all(number is not None and number.value > 0 for number in numbers)
    robust, cluster = _errors(found.fits.get("std.errors", ""))
    if cluster and "&" in cluster:
        cluster = ""
    single = {part: found.fits[name] for name, part in _SINGLE.items() if name in found.fits}
    others = (called for name, called in found.called.items() if name not in _SINGLE)
    return Coefficients(
        tuple(rows),
        single=single,
        unread=unread(others, single),
        errors_of_ratios=above,
        level=None,
        own_digits=True,
        perhaps_profiled=robust in ("", "nonrobust"),
        robust=robust,
        covariance=_KNOWN.get(robust.casefold(), ""),
        clustered=robust == "by clusters",
        cluster=cluster,
        comma=comma,
        expected=True,
        open_scale=above,
        n_may_be_events=True,
    )


def _term(name: str) -> str:
    """A name with the sign of interactions that R has."""
    return re.sub(r"\s+×\s+", ":", name)


def _errors(text: str) -> tuple[str, str]:
    """How standard errors were computed, as the table says it, and by which clusters."""
    if text.casefold() in ("iid", "classical", "constant"):
        return "nonrobust", ""
    by = re.fullmatch(r"(?i)by:\s*(.+)", text)
    return ("by clusters", by[1]) if by else (text, "")
