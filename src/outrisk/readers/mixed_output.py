"""Printed summaries of R's linear mixed models: lme4, lmerTest, nlme, plm's random model, and broom.mixed's table."""

from __future__ import annotations

import re
from collections.abc import Sequence

from outrisk.errors import OutputError
from outrisk.outputs.regression.mixed import split_random
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.printed_mixed import Random
from outrisk.readers.printed_number import read_printed
from outrisk.readers.source import Source

_NUMBER = r"(-?[\d,]*\.?\d+(?:e[-+]?\d+)?)"
_LME4 = re.compile(r"^(?:Generalized l|L)inear mixed model fit by", re.M)
_NLME = re.compile(r"^Linear mixed-effects model fit by", re.M)
_PLM = re.compile(r"^(Oneway|Twoways).*Random Effect Model", re.M)
_COLUMNS = {
    "estimate": "coefficients",
    "value": "coefficients",
    "std. error": "standard_errors",
    "std.error": "standard_errors",
    "pr(>|t|)": "p_values",
    "pr(>|z|)": "p_values",
    "p-value": "p_values",
    "p.value": "p_values",
    "conf.low": "lower",
    "conf.high": "upper",
}
_HEAD = re.compile(r"Estimate|Value|Std\. ?Error|df|DF|[tz][ -]value|Pr\(>\|[tz]\|\)|p-value")
_OF_PEOPLE = "quantiles of the residuals, the least and the greatest of which are of single people"
_SLOPES = "a random intercept of one variable is known"


def recognises(source: Source) -> bool:
    """Whether it is one of these."""
    return _is_tidy(source) or any(each.search(source.text) for each in (_LME4, _NLME, _PLM))


def read(source: Source, model: int | None = None) -> Coefficients:
    """The model; OutputError where it has other random effects, weights, or residuals that are not alike."""
    place = source.name
    if _is_tidy(source):
        return _tidy(source)
    text = source.text
    kind = next(each for each in (_LME4, _NLME, _PLM) if each.search(text))
    make = {_LME4: _of_lme4, _NLME: _of_nlme, _PLM: _of_plm}[kind]
    found, formula, after = make(text, place)
    rows = _rows(text, after, place)
    left = _of_other_errors(text)
    if left:
        found.unread.append(left)
        kept = {"coefficients"}
        rows = [(name, {part: each for part, each in texts.items() if part in kept}) for name, texts in rows]
    subset = re.search(r"^\s*Subset:\s*(.+?)\s*$", text, re.M)
    return Coefficients(
        tuple(rows),
        single=found.single,
        own_digits=True,
        kind="mixed",
        response=formula.partition("~")[0].strip(),
        robust="nonrobust",
        unread=tuple(found.unread),
        absorb=(found.groups,) if found.groups else (),
        levels=(found.levels,) if found.levels else (),
        method=found.method,
        by=found.program,
        subset=subset[1] if subset else "",
    )


def _of_other_errors(text: str) -> str:
    """What is left out where standard errors are not those of the model, with their p-values; '' where they are."""
    if "Kenward-Roger" in text:
        return "standard errors and p-values of Kenward and Roger"
    given = re.search(r"variance-covariance matrix supplied:\s*(.+?)\s*$", text, re.M)
    return f"standard errors and p-values by {given[1]}" if given else ""


def _of_lme4(text: str, place: str) -> tuple[Random, str, str]:
    """What it says, its formula, and the heading of its coefficients."""
    if text.lstrip().startswith("Generalized"):
        raise OutputError(f"{place}: it is a generalized linear mixed model (glmer), which is not known; lmer is")
    if re.search(r"^\s*Weights:", text, re.M):
        raise OutputError(f"{place}: it is a fit by lmer with weights, which are not known")
    if re.search(r"^\s*Offset:", text, re.M):
        raise OutputError(f"{place}: it is a fit by lmer with an offset, which is not known")
    said = re.search(r"^Formula:\s*(.+?)^\s*(?:Data|Subset|Control|REML|AIC|Random)\b", text + "\nData", re.M | re.S)
    formula, groups = split_random(" ".join(said[1].split()) if said else "", place)
    found = Random("lmerTest" if "lmerModLmerTest" in text.replace("\n", "") else "lme4", groups=groups)
    found.method = "reml" if re.search(r"fit by REML", text) else "ml"
    criterion = re.search(rf"^REML criterion at convergence:\s*{_NUMBER}", text, re.M)
    if criterion and (number := read_printed(criterion[1])):
        ends = [-(number.value + sign * number.half) / 2.0 for sign in (1.0, -1.0)]
        found.single["log_likelihood"] = f"{ends[0]:.12g} to {ends[1]:.12g}"
    fits = re.search(r"^\s*AIC +BIC +logLik.*\n(.+)$", text, re.M)
    if fits:
        found.single |= dict(zip(("aic", "bic", "log_likelihood"), fits[1].split(), strict=False))
    variances = re.search(rf"^ *\S+ +\(Intercept\) +{_NUMBER} +{_NUMBER}\s*$", text, re.M)
    rest = re.search(rf"^ *Residual +{_NUMBER} +{_NUMBER}\s*$", text, re.M)
    if not variances or not rest:
        raise OutputError(f"{place}: its variances are not printed; give the summary() of the model")
    found.single |= {"variance_u": variances[1], "sigma_u": variances[2], "variance_e": rest[1], "residual_sd": rest[2]}
    counts = re.search(r"Number of obs:\s*(\d+),\s*groups:\s*\S+,\s*(\d+)", text)
    if counts:
        found.single["n"], found.levels = counts[1], counts[2]
    found.unread = [_OF_PEOPLE] * ("Scaled residuals:" in text)
    found.unread += ["correlations of coefficients"] * ("Correlation of Fixed Effects" in text)
    return found, formula, "Fixed effects:"


def _of_nlme(text: str, place: str) -> tuple[Random, str, str]:
    effects = re.search(r"^Random effects:\s*\n\s*Formula:\s*~\s*(.+?)\s*\|\s*(.+?)\s*$", text, re.M)
    other = re.search(r"^(Correlation Structure|Variance function|\s*Structure):?.*$", text, re.M)
    if other or not effects or effects[1] != "1" or not re.fullmatch(r"[\w.]+", effects[2]):
        said = other[0].strip() if other else effects[0].split("\n")[-1].strip() if effects else "random effects"
        raise OutputError(f"{place}: it has {said}, which is not known; {_SLOPES}")
    found = Random("nlme", "reml" if "fit by REML" in text else "ml", effects[2])
    fits = re.search(r"^\s*AIC +BIC +logLik\s*\n(.+)$", text, re.M)
    if fits:
        found.single |= dict(zip(("aic", "bic", "log_likelihood"), fits[1].split(), strict=False))
    spread = re.search(rf"^StdDev:\s+{_NUMBER}\s+{_NUMBER}", text, re.M)
    if spread:
        found.single |= {"sigma_u": spread[1], "residual_sd": spread[2]}
    n, levels = (re.search(rf"^Number of {what}:\s*(\d+)", text, re.M) for what in ("Observations", "Groups"))
    found.single |= {"n": n[1]} if n else {}
    found.levels = levels[1] if levels else ""
    found.unread = [_OF_PEOPLE] * ("Within-Group Residuals" in text)
    found.unread += ["correlations of coefficients"] * (" Correlation:" in text)
    formula = re.search(r"^Fixed effects:\s*(.+?)\s*$", text, re.M)
    return found, formula[1] if formula else "", "Fixed effects:"


def _of_plm(text: str, place: str) -> tuple[Random, str, str]:
    method = re.search(r"\((.+?)'s transformation\)", text)
    head = _PLM.search(text)
    if head is None or head[1] != "Oneway" or "(time)" in head[0] or method is None or method[1] != "Swamy-Arora":
        said = f"{method[1]}'s" if method and method[1] != "Swamy-Arora" else "of both effects, or of time"
        raise OutputError(f"{place}: it is plm's random model {said}, which is not known; Swamy-Arora's of groups is")
    call = " ".join(text.partition("Call:")[2].partition("Panel:")[0].split())
    index = re.search(r"index\s*=\s*(?:c\()?\s*[\"'](\w[\w.]*)", call)
    found = Random("plm", "gls", index[1] if index else "")
    panel = re.search(r"Panel:\s*n\s*=\s*(\d+),.*N\s*=\s*(\d+)", text)
    if panel:
        found.levels, found.single["n"] = panel[1], panel[2]
    for name, parts in (
        ("individual", ("variance_u", "sigma_u", "rho")),
        ("idiosyncratic", ("variance_e", "residual_sd")),
    ):
        numbers = re.search(rf"^{name}\s+(.+)$", text, re.M)
        if numbers:
            found.single |= dict(zip(parts, numbers[1].split(), strict=False))
    found.unread = ["theta, sums of squares, R2 and the test of all terms"] + [_OF_PEOPLE] * ("Residuals:" in text)
    formula = re.search(r"formula\s*=\s*([^,]+)", call)
    return found, formula[1] if formula else "", "Coefficients:"


def _rows(text: str, heading: str, place: str) -> list[tuple[str, dict[str, str]]]:
    """Names and texts by part of the coefficients below a heading."""
    lines = text.partition(heading)[2].splitlines()
    at = next((number for number, line in enumerate(lines) if _HEAD.findall(line)[1:]), None)
    if at is None:
        raise OutputError(f"{place}: its coefficients have no standard errors; give the summary() of the model")
    columns = [each.casefold().replace("std.error", "std. error") for each in _HEAD.findall(lines[at])]
    found = []
    for line in lines[at + 1 :]:
        cells = re.sub(r"<\s+", "<", line).split()
        while cells and re.fullmatch(r"[*.]+", cells[-1]):
            cells.pop()
        if len(cells) <= len(columns) or read_printed(cells[-1]) is None:
            break
        texts = dict(zip(columns, cells[-len(columns) :], strict=True))
        name = " ".join(cells[: -len(columns)])
        found.append((name, {_COLUMNS[each]: value for each, value in texts.items() if each in _COLUMNS}))
    return found


def _is_tidy(source: Source) -> bool:
    """Whether it is a table as broom.mixed's tidy() makes it."""
    header = {cell.strip().casefold() for cell in source.grid[0]} if source.delimited and source.grid else set()
    return {"effect", "term", "estimate"} <= header


def _tidy(source: Source) -> Coefficients:
    header = [cell.strip().casefold() for cell in source.grid[0]]
    rows, single, groups = list[tuple[str, dict[str, str]]](), dict[str, str](), set[str]()
    dfs = list[str]()
    for cells in source.grid[1:]:
        row = dict(zip(header, (cell.strip() for cell in cells), strict=False))
        if row.get("effect", "") == "fixed":
            rows.append((row["term"], {_COLUMNS[key]: row[key] for key in header if key in _COLUMNS and row[key]}))
            dfs.append(row.get("df", ""))
        elif row.get("effect", "") == "ran_pars":
            _parameter(row, single, groups, source.name)
    if len(groups) > 1:
        raise OutputError(f"{source.name}: it has groups by {' and '.join(sorted(groups))}; {_SLOPES}")
    return Coefficients(
        tuple(rows),
        single=single,
        own_digits=True,
        kind="mixed",
        robust="nonrobust",
        absorb=tuple(groups),
        by=_program(dfs),
    )


def _parameter(row: dict[str, str], single: dict[str, str], groups: set[str], place: str) -> None:
    term, group = row["term"], row.get("group", "")
    root = {"sd__(Intercept)": "sigma_u", "sd_(Intercept)": "sigma_u", "sd__Observation": "residual_sd"}
    root |= {"sd_Observation": "residual_sd", "var__(Intercept)": "variance_u", "var__Observation": "variance_e"}
    if term not in root:
        raise OutputError(f"{place}: it has {term}, which is not known; {_SLOPES}")
    single[root[term]] = row["estimate"]
    if root[term] in ("sigma_u", "variance_u"):
        groups.add(group)


def _program(dfs: Sequence[str]) -> str:
    """By the degrees of freedom: none, those of nlme, which are whole, or Satterthwaite's."""
    numbers = [number.value for each in dfs if (number := read_printed(each)) is not None]
    if not numbers:
        return "lme4"
    return "nlme" if all(value % 1 == 0.0 for value in numbers) else "lmerTest"
