"""Rows of a table of models side by side: estimates, what is in brackets, reference levels, numbers of the model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from outrisk.errors import OutputError
from outrisk.readers.cells_of_models import REFERENCE, REFERENCE_NAME, ends_of, p_value, plain, with_brackets
from outrisk.readers.heads_of_columns import bare, beside, name_of_row
from outrisk.readers.printed_number import is_withheld, read_printed
from outrisk.readers.printed_tables import is_number, without_span

_SINGLE = {
    **dict.fromkeys(("n", "observations", "num. obs.", "num.obs.", "no. observations", "no. obs."), "n"),
    **dict.fromkeys(("number of observations", "no. of observations", "nobs"), "n"),
    **dict.fromkeys(("total n", "n obs", "obs.", "sample size", "no. of obs.", "no."), "n"),
    **dict.fromkeys((f"no. of {who}" for who in ("participants", "patients", "subjects", "people", "persons")), "n"),
    **dict.fromkeys(("r2", "r-squared", "r²", "r^2", "r squared"), "r2"),
    **dict.fromkeys(("log likelihood", "log-likelihood", "ll"), "log_likelihood"),
    **dict.fromkeys(("pseudo r2", "pseudo r-squared", "pseudo r²", "mcfadden r2"), "pseudo_r2"),
}
_FITS = re.compile(  # no more than their names, as `children` and `score` are variables
    r"(?i)adj(?:usted|\.)? ?r(?:2|²|\^2|[ -]?sq).*|r-squared adj\.?|r2 .*|aic|bic|akaike inf.*|bayesian inf.*|deviance|"
    r"residual std.*|rmse|f(?:[ -]?stat.*)?|chi(?:[ -]?(?:2|²|\^2|sq).*)?|(?:wald|lr|score)(?: \(.*\))? test.*|wald|"
    r"max\. possible.*|df(?:[ .(].*)?|theta|sigma|c-index|concordance|num\. events|events|num\. groups.*|"
    r"icc(?:[ (].*)?|mean (?:of )?(?:the )?dep.*|dep\w*\.? var\w*\.? mean|control (?:group )?mean|"
    r"(?:n(?:o\.|umber)? (?:of )?)?clusters"
)
_NAMED = {"SE": "standard_errors", "p-value": "p_values", "statistic": "statistic"}  # a row below estimates
_DASHES = "[—–-]{1,3}"
_STARS_ONLY = re.compile(r"[*†‡+]+|n\.?s\.?|[+−-]{1,3}")
BRACKETED = re.compile(r"[(\[{].*[)\]}]\s*[*†‡+]*")


def _is_reference(cell: str, others: Sequence[str]) -> bool:
    """Whether a cell says that its row is the reference; a dash, where no other model has an estimate in the row."""
    if re.fullmatch(_DASHES, cell):
        return not any(map(is_estimate, others))
    return REFERENCE.fullmatch(cell) is not None


def is_estimate(cell: str) -> bool:
    """Whether a cell is a number, perhaps with something in brackets behind it, and not itself in brackets."""
    number, _ = with_brackets(cell)
    return not BRACKETED.fullmatch(cell) and read_printed(number, "," in number and "." not in number) is not None


def is_named_error(name: str) -> bool:
    """Whether the name of a row says that it has the standard errors of the row above."""
    return beside(bare(name)) == "SE" and not re.match(r"(?i)\(?(?:rob|clust)", name)


@dataclass
class Rows:
    """Rows as they are met: texts by part of the model in the column `at`; `second`: what brackets have, by their
    opening sign.
    """

    place: str
    at: int
    second: Mapping[str, str]
    rows: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    single: dict[str, str] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    limits: bool = False
    named: bool = False  # rows of standard errors say so, without brackets
    closed: bool = False  # a number of the model stands below its terms

    def take(self, row: Sequence[str]) -> None:
        """Take a row."""
        name, cell = name_of_row(row[0]).rstrip(":"), without_span(row[self.at])
        called = plain(name).casefold()
        part = _NAMED.get(beside(bare(name)), "") if not re.match(r"(?i)\(?(?:rob|clust)", name) else ""
        if not name:
            self._below(cell)
        elif is_named_error(name) and self.rows and self.named and (not cell or is_number(cell)):
            self._below(f"({cell})" if cell else "", part)
        elif part and self.rows and all(BRACKETED.fullmatch(each) for each in map(without_span, row[1:]) if each):
            self._below(cell, part)
        elif (called in _SINGLE or _FITS.fullmatch(called)) and (len(called) > 1 or not cell or is_number(cell)):
            self._fit(called, name, cell)
        elif self.closed and any(BRACKETED.search(each) for each in row[1:] if is_estimate(each) or each):
            raise OutputError(
                f"{self.place}: '{name}' stands below numbers of the model, as where models stand below each other; "
                "give each a table of its own"
            )
        elif (self.closed and cell) or (
            cell and not is_number(with_brackets(cell)[0]) and re.fullmatch(r"(?i)yes|no|y|n|✓|x|included", cell)
        ):
            self.others.append(f"{name}: {cell}"[:60])
        else:
            self._term(name, cell, [each for at, each in enumerate(row) if at and at != self.at])

    def _fit(self, called: str, name: str, cell: str) -> None:
        if called in _SINGLE and cell:
            if _SINGLE[called] in self.single:
                raise OutputError(f"{self.place}: '{name}' stands there twice; give each table of models by itself")
            self.closed = self.closed or bool(self.rows)
            self.single[_SINGLE[called]] = cell.partition(" (df")[0]
        elif cell:
            self.others.append(name)

    def _term(self, name: str, cell: str, others: Sequence[str]) -> None:
        texts = dict[str, str]()
        bare = REFERENCE_NAME.sub("", name)
        if (bare != name and not is_number(with_brackets(cell)[0])) or (cell and _is_reference(cell, others)):
            texts["reference"] = cell or "Ref."
            name = bare
        elif cell and re.fullmatch(_DASHES, cell):
            texts["elsewhere"] = "yes"
        elif cell and _STARS_ONLY.fullmatch(cell) and not is_withheld(cell):
            raise OutputError(f"{self.place}: '{name}' has {cell!r} and no number; a table of signs alone is not read")
        elif cell and re.fullmatch(r"[*†‡]+", cell):
            raise OutputError(
                f"{self.place}: '{name}' has {cell!r} alone, stars without a number or a withheld one; write 'withheld'"
            )
        elif cell:
            number, behind = with_brackets(cell)
            texts["coefficients"] = number
            self.rows.append((bare, texts))
            if behind:
                self._put(behind)
            return
        elif any(others):
            texts["elsewhere"] = "yes"
        self.rows.append((name, texts))

    def _below(self, cell: str, named: str = "") -> None:
        """Take what stands below an estimate; `named`: the part that its row says it is."""
        if not cell:
            return
        if self.closed and BRACKETED.fullmatch(cell):
            raise OutputError(
                f"{self.place}: {cell[:40]!r} stands below numbers of the model, as where models stand below each "
                "other; give each a table of its own"
            )
        if not self.rows or "coefficients" not in self.rows[-1][1]:
            if REFERENCE.fullmatch(cell):
                return
            raise OutputError(f"{self.place}: {cell[:40]!r} stands below no estimate")
        if not BRACKETED.fullmatch(cell) and not re.fullmatch(r"[tzp] [=<] .*", cell):
            raise OutputError(
                f"{self.place}: {cell[:40]!r} stands below that of '{self.rows[-1][0]}' without brackets or name"
            )
        self._put(cell, named)

    def _put(self, cell: str, named: str = "") -> None:
        """Take what is in brackets."""
        name, texts = self.rows[-1]
        inner = re.sub(r"[*†‡+]+$", "", cell.strip()).strip().strip("()[]{}").strip()
        part = named or self.second.get(cell.strip()[:1], "")
        if known := re.fullmatch(r"([tzp]) ([=<]) (.*)", inner):
            part, inner = (
                ("p_values" if known[1] == "p" else "statistic"),
                known[3] if known[2] == "=" else f"<{known[3]}",
            )
        ends = ends_of(inner)
        if ends is not None and part not in ("limits", "") and (part in texts or "lower" in texts):
            raise OutputError(f"{self.place}: '{name}' has {cell[:40]!r} beside another number in brackets")
        if ends is not None:
            texts["lower"], texts["upper"] = ends
            self.limits = True
            return
        if part == "limits":
            raise OutputError(f"{self.place}: the limits of '{name}' are {cell[:40]!r}, which are not two numbers")
        if not part:
            raise OutputError(
                f"{self.place}: what stands in brackets at '{name}', {cell[:40]!r}, it does not say: standard errors, "
                "t, z or p; write it in a line below the table, as 'Standard errors in parentheses'"
            )
        if part in texts:
            raise OutputError(f"{self.place}: '{name}' has two numbers in brackets of which only one is told")
        texts[part] = p_value(inner) if part == "p_values" else inner
