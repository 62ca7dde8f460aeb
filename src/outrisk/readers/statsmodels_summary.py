"""Summaries of statsmodels: as printed text, as HTML, as CSV (its own, or the files of ACRO)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from outrisk.errors import OutputError
from outrisk.outputs.regression.sandwich import Estimator
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.printed_instruments import of_iv2sls
from outrisk.readers.printed_mixed import of_statsmodels as of_mixed
from outrisk.readers.rows_of_shape import near_maximum
from outrisk.readers.source import Source

_COLUMNS = {
    "coef": "coefficients",
    "coef.": "coefficients",
    "std err": "standard_errors",
    "std.err.": "standard_errors",
    "p>|z|": "p_values",
    "p>|t|": "p_values",
    "p": "p_values",
    "p-value": "p_values",
    "pvalue": "p_values",
    "pvalues": "p_values",
    "log hr": "coefficients",
    "log hr se": "standard_errors",
}
_SINGLE = {
    "no. observations": "n",
    "num. events": "events",
    "log-likelihood": "log_likelihood",
    "pseudo r-squ.": "pseudo_r2",
    "pseudo r-squared": "pseudo_r2",
    "r-squared": "r2",
}
_KINDS = {
    "logit": "logit",
    "probit": "probit",
    "ols": "ols",
    "poisson": "poisson",
    "mnlogit": "mnlogit",
    "ph reg": "cox",
    "ph": "cox",
    "negativebinomial": "negbin",
    "iv2sls": "iv",
    "quantreg": "quantreg",
}
_FAMILIES = {  # of a GLM, what it is by which link
    "binomial": {"logit": "logit", "probit": "probit"},
    "gaussian": {"identity": "ols"},
    "poisson": {"log": "poisson"},
}
_MODELS = {*_KINDS, "mixedlm", "wls", "glm", "orderedmodel"}
_HAZARDS = re.compile(r"log HR\s+log HR SE\s+HR\s+t\s+P>\|t\|\s+\[0\.\d+\s+0\.\d+\]\s*$")  # limits are of HR
_LABELS = r"Dep\. Variable|Dependent [Vv]ariable|Model Family|Link Function|Model|No\. Observations|Covariance Type|"
_LABELS += r"Num\. events|Num strata|Ties|"
_PAIR = re.compile(rf"(?<!Adj\. )(?<!Df )\b({_LABELS}Log-Likelihood|Pseudo R-squ(?:\.|ared)|R-squared):\s+(\S+)")
_UNREAD = {  # what a summary says of a model and no output has, by a pattern
    "tests of the residuals, their skewness and kurtosis, and the condition number": r"\bOmnibus\b",
    "the bandwidth and the sparsity": r"\bSparsity:",
    "Pearson's chi-squared and the deviance": r"\bPearson chi2\b",
}
_FOLLOWING = {"z", "t", "hr"}  # columns that follow from others
_LIMIT = re.compile(r"\[?(0\.\d+)\]?")


def recognises(source: Source) -> bool:
    """Whether the text has a table with `coef` and `std err`, or one of log hazard ratios."""
    return any(
        re.search(r"\bcoef\b\.?\W+std\s?\.?err\b", line, re.I) or _HAZARDS.search(line) for line in source.lines
    ) or any(_header(row) for table in source.tables for row in table)


def read(source: Source, model: int | None = None) -> Coefficients:
    """Coefficients and what is said of the model; OutputError where there is no table of them."""
    rows = [_trimmed(row) for row in _rows(source)]
    at = [number for number, row in enumerate(rows) if _header(row)]
    facts = dict(_facts(source, rows))
    kind = facts.get("model", "").casefold()
    if len(at) > 1 and kind != "mnlogit":
        raise OutputError(f"{source.name}: it has {len(at)} tables of coefficients; give each output its own file")
    header = [cell.strip().casefold() for cell in rows[at[0]]]
    limits = [number for number, cell in enumerate(header) if _LIMIT.fullmatch(cell)]
    names = {number: _COLUMNS[cell] for number, cell in enumerate(header) if cell in _COLUMNS}
    if len(limits) == 2 and "log hr" not in header:
        names |= dict(zip(limits, ("lower", "upper"), strict=True))
    found, outcomes = [], list[str]()
    for number, start in enumerate(at):
        equation = _coefficients(rows[start + 1 :], len(header), names)
        found += equation
        # a summary2 counts the outcomes from 0, whatever they are called
        outcome = f"#{number + 1}" if "coef." in header else rows[start][0].strip()
        outcomes += [outcome] * len(equation)
    level = 1 - 2 * float(_LIMIT.fullmatch(header[limits[0]])[1]) if len(limits) == 2 else 0.95  # type: ignore[index]
    single = {_SINGLE[name]: text for name, text in facts.items() if name in _SINGLE}
    ordered = kind == "orderedmodel"
    if facts.get("model family", "").casefold() == "negativebinomial":
        raise OutputError(
            f"{source.name}: it is a GLM of the family NegativeBinomial, whose alpha is set, not estimated, which is "
            "not known; fit it by statsmodels' NegativeBinomial"
        )
    robust, linear = facts.get("covariance type", "").casefold(), kind in ("ols", "wls")
    weighted = kind == "wls"
    kind = _kind(facts, source.name)
    random = of_mixed(source.text, source.name)
    if random:
        kind, single, robust = "mixed", random.single, "nonrobust"
    if kind == "iv":
        single |= of_iv2sls(source.text)
        robust = "nonrobust"  # it knows no others
    passed = [cell.strip() for cell in rows[at[0]][1:] if not _is_known(cell)]
    expected = "model family" in facts
    if expected and kind == "probit" and robust == "nonrobust":
        robust = ""  # by the expected information, which is neither
    always_t = kind == "mnlogit" and "coef." in header  # the heading of its summary2, whatever p-values are by
    return Coefficients(
        tuple(near_maximum(found) if ordered else found),
        single=single,
        level=round(level, 6),
        significant=3,
        kind=kind,
        weighted=weighted,
        expected=expected,
        response=facts.get("dep. variable", facts.get("dependent variable", "")),
        robust=robust,
        covariance=covariance_of(robust, linear),
        clustered=robust == "cluster",
        distribution="normal" if "p>|z|" in header else "t" if "p>|t|" in header and not always_t else "",
        outcomes=tuple(outcomes) if kind == "mnlogit" else (),
        ties=facts.get("ties", "").casefold(),
        stratified="num strata" in facts,
        ordered=ordered,
        distances=ordered,
        unread=(
            *(what for what, pattern in _UNREAD.items() if re.search(pattern, source.text)),
            *(f"the column '{cell}'" for cell in passed),
            *(random.unread if random else ()),
        ),
        absorb=(random.groups,) if random and random.groups else (),
        levels=(random.levels,) if random and random.levels else (),
        method=random.method if random else "",
        by=random.program if random else "statsmodels" if kind in ("iv", "quantreg") else "",
    )


def _kind(facts: Mapping[str, str], place: str) -> str:
    """The kind of the model that a summary names, '' where it names none or may be of several; OutputError for a model,
    a family or a link that no regression here has.
    """
    model = facts.get("model", "")
    if model and model.casefold() not in _MODELS:
        raise OutputError(
            f"{place}: its model is {model}, which is not known; known are OLS, WLS, Logit, Probit, Poisson, "
            "MNLogit, NegativeBinomial, OrderedModel, PHReg, QuantReg, and GLM of Binomial, Poisson and Gaussian"
        )
    family, link = facts.get("model family", ""), facts.get("link function", "")
    if not family:
        return _KINDS.get(model.casefold(), "ols" if model.casefold() == "wls" else "")
    links = _FAMILIES.get(family.casefold())
    if links is None or (link and link.casefold() not in links):
        raise OutputError(
            f"{place}: it is a GLM of the family {family} by the link {link or 'unsaid'}, which is not known; known "
            "are Binomial by Logit or Probit, Poisson by Log, Gaussian by Identity"
        )
    return links[link.casefold()] if link else next(iter(links.values()))


def _is_known(cell: str) -> bool:
    """Whether a column is read, follows from those that are, or has no name."""
    name = cell.strip().casefold()
    return name in {*_COLUMNS, *_FOLLOWING, ""} or _LIMIT.fullmatch(name) is not None or "=" in name


def covariance_of(of_statsmodels: str, linear: bool) -> Estimator:
    """The covariance of a study that statsmodels' is; '' where there is none. Of others than OLS and WLS, `linear`, its
    HC1 is HC0.
    """
    known: dict[str, Estimator] = {"hc0": "HC0", "hc1": "HC1" if linear else "HC0", "cluster": "CR1S"}
    return known.get(of_statsmodels.casefold(), "")


def _coefficients(rows: Sequence[list[str]], width: int, names: dict[int, str]) -> list[tuple[str, dict[str, str]]]:
    """The rows below a header, up to the first that is none of them: name and texts by part (`names`: of columns)."""
    found = []
    for row in (_joined(row, width) for row in rows):
        texts = {part: row[number].strip() for number, part in names.items() if number < len(row)}
        if not row[0].strip() or len(row) != width or not re.search(r"\d|nan|inf", texts.get("coefficients", "")):
            break
        found.append((row[0].strip(), texts))
    return found


def _trimmed(row: Sequence[str]) -> list[str]:
    """A row without empty cells at its end."""
    kept = list(row)
    while len(kept) > 1 and not kept[-1].strip():
        kept.pop()
    return kept


def _joined(row: list[str], width: int) -> list[str]:
    """A row whose first cells are one: statsmodels does not quote a name with a comma."""
    extra = len(row) - width
    return [", ".join(cell.strip() for cell in row[: extra + 1]), *row[extra + 1 :]] if extra > 0 else row


def _header(row: Sequence[str]) -> bool:
    cells = [cell.strip().casefold() for cell in row]
    return bool({"coef", "coef.", "log hr"} & set(cells)) and bool({"std err", "std.err.", "log hr se"} & set(cells))


def _rows(source: Source) -> Iterator[list[str]]:
    """Rows of cells, of whatever form."""
    if source.tables:
        for table in source.tables:
            yield from table
    elif any("," in line or ";" in line for line in source.lines if re.search(r"\bcoef\b", line)):
        yield from source.grid
    else:
        yield from _printed_rows(source.lines)


def _printed_rows(lines: Sequence[str]) -> Iterator[list[str]]:
    width = 0
    for line in lines:
        text = re.sub(r"[─━═-]{5,}|={5,}", "", line).rstrip()
        if _HAZARDS.search(text):
            cells = re.split(r"\s{2,}", re.sub(r"(?<=\S)\s+(?!HR|SE)", "  ", text.strip()))
            width = len(cells)
            yield ["", *cells]
        elif re.search(r"\bcoef\b\.?\s+std\s?\.?err", text, re.I):
            text = re.sub(r"\s+(\[0\.\d+)\s+(0\.\d+\])", r"  \1  \2", text)  # of narrow columns
            before, coef, after = re.split(r"(?i)\b(coef\b\.?)", text, maxsplit=1)
            cells = re.split(r"\s{2,}", f"{coef}{re.sub(r'(?i)std err', 'std err', after.rstrip())}")
            width = len(cells)
            yield [before.strip(), *cells]
        elif width and text.strip():
            parts = text.rsplit(None, width)
            yield parts if len(parts) == width + 1 else [text]
        elif width and not line.strip():
            yield [""]


def _facts(source: Source, rows: Sequence[Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Pairs of a label and its value."""
    for row in rows:
        for label, value in pairwise(row):
            if label.strip().endswith(":"):
                yield label.strip().rstrip(":").casefold(), value.strip()
    if not source.tables:
        for line in source.lines:
            for label, value in _PAIR.findall(line):
                if "," not in value[:1]:
                    yield label.casefold(), value.rstrip(",")
