"""The pasted log of an estimation command of Stata."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from outrisk.errors import OutputError
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.printed_fixed_effects import of_stata
from outrisk.readers.printed_instruments import OF_FIRST_STAGES, of_ivregress, refuse_ivreg2, without_first_stages
from outrisk.readers.printed_mixed import of_stata as of_mixed
from outrisk.readers.printed_quantiles import STATA
from outrisk.readers.printed_quantiles import of_stata as of_quantile
from outrisk.readers.source import Source
from outrisk.readers.stata_session import Command, commands_of
from outrisk.readers.survey_designs import design_in

_RULE = re.compile(r"^-{5,}\+-{10,}\s*$")
_HEAD = re.compile(
    r"\|\s*(?:Robust\s*)?(Coefficient|Coef\.|Odds ratio|IRR|RRR|Haz\. ratio|exp\(b\))\s+(?:std\. err\.|Std\. Err\.)",
    re.I,
)
_RATIOS = ("odds ratio", "irr", "rrr", "haz. ratio", "exp(b)")
_KINDS = (  # of a title, which may be one of survey data
    (r"Logistic regression|Logit estimates", "logit"),
    (r"Multinomial logistic regression", "mnlogit"),
    (r"Probit regression|Probit estimates", "probit"),
    (r"Poisson regression", "poisson"),
    (r"(?:HDFE )?Linear regression(?:, absorbing indicators)?|Regression with robust standard errors", "ols"),
    (r"Fixed-effects \(within\) regression", "ols"),
    (r"Mixed-effects (?:ML|REML) regression|Random-effects GLS regression", "mixed"),
    (r"Instrumental variables \(?2SLS\)? regression", "iv"),
    (r"(?:Stratified )?Cox regr(?:ession|\.).*", "cox"),
    (r"Ordered logistic regression|Ordered logit estimates", "ologit"),
    (r"Ordered probit regression|Ordered probit estimates", "oprobit"),
    (r"Negative binomial regression", "negbin"),
    (STATA, "quantreg"),
)
_TITLE = re.compile(r"^[ \t]*([A-Z.\d][^=|\n]*?)[ \t]{2,}(?:Number of obs|No\. of obs)\b", re.M)
_ALONE = re.compile(r"^[ \t]*([A-Z][\w ()/,:-]*\bregr(?:ession|\.)(?: (?:with|--) [\w -]+| for [\w ]+)?)[ \t]*$", re.M)
_GLM = {("bernoulli", "logit"): "logit", ("bernoulli", "probit"): "probit", ("poisson", "log"): "poisson"}
_OF_EFFECTS = ("sigma_u", "sigma_e", "rho")  # rows below the coefficients of xtreg, and that of the absorbed of areg
_FACTS = {
    "n": r"(?:Number of obs|No\. of subjects)\s*=\s*([\d,]+)",
    "events": r"No\. of failures\s*=\s*([\d,]+)",
    "log_likelihood": r"^(?!Iteration).*Log (?:pseudo)?likelihood\s*=\s*(-?[\d.,]+)",
    "pseudo_r2": r"Pseudo R2\s*=\s*([\d.]+)",
    "r2": r"(?<!Adj )R-squared\s*=\s*([\d.]+)",
    "residual_sd": r"Root MSE\s*=\s*([\d.]+)",
}
_UNREAD = {  # what a log says of a model and no output has, by a pattern
    "sums of squares": r"^\s*Source \|\s+SS",
    "the test of all coefficients": r"Wald chi2",
    "deviance and Pearson's chi-squared": r"\(1/df\) Pearson",
    "the time at risk": r"Time at risk\s*=",
}
_OTHERWISE = {  # what a log says above its table of a fit that no output has, by a pattern
    r"^\s*Multiple-imputation est": "it combines imputations, which no output does; fit complete records",
    r"^\s*\(\s*1\)\s+\S.* = \S+\s*$": "it is fitted under constraints, which no output has; fit it without",
    r"\bPenalized log likelihood": "its likelihood is penalised, which no output has; fit it by logit",
}
_PARTS = (  # of a row, by the heads of its columns
    (r"std\. err\.", "standard_errors"),
    (r"(?<!\S)[tz](?!\S)", "statistic"),
    (r"P>\|[tz]\|", "p_values"),
    (r"(?<!\S)Beta(?!\S)", "beta"),
    (r"\[\d+(?:\.\d+)?% conf\. interval\]", "limits"),
)


def recognises(source: Source) -> bool:
    """Whether a line heads a table of coefficients."""
    return any(_HEAD.search(line) for line in source.lines)


def read(source: Source, model: int | None = None) -> Coefficients:
    """The regression; a log has one, apart from first stages above it."""
    lines = without_first_stages(source.text).splitlines()
    heads = [number for number, line in enumerate(lines) if _HEAD.search(line)]
    if len(heads) > 1:
        raise OutputError(f"{source.name}: it has {len(heads)} tables of coefficients; give each output its own text")
    head = _HEAD.search(lines[heads[0]])
    assert head is not None
    ratios = head[1].casefold() in _RATIOS
    level = re.search(r"\[(\d+(?:\.\d+)?)% conf", lines[heads[0]], re.I)
    columns = _columns(lines[heads[0]])
    rows, bases = list[tuple[str, dict[str, str]]](), list[str]()
    above = "\n".join(lines[: heads[0]])
    refuse_ivreg2("\n".join(lines), source.name)
    kind = _kind(above, source.name)
    _refuse_others(above, source.name)
    outcomes, base = list[str](), ""
    expanded = _expanded(above)
    bases += [f"{variable}={omitted}" for variable, omitted in expanded.values()]
    for outcome, name, cells in _rows_of_log(lines[heads[0] + 1 :], kind == "mnlogit"):
        if " ".join(cells) == "(base outcome)":
            base = outcome
            continue
        if cells[:1] and cells[-1] in ("(base)", "(empty)", "(omitted)"):
            bases += [name] if cells[-1] == "(base)" else []
            continue
        if name == "/lnalpha" and kind in ("negbin", ""):  # alpha itself stands below it
            continue
        stub, _, code = name.rpartition("_")
        name = f"{expanded[stub][0]}={code}" if stub in expanded else name
        rows.append((name, _parts(name, cells, columns, source.name)))
        outcomes += [outcome] if kind == "mnlogit" else []
    text = "\n".join(lines)
    absorbed, random = of_stata(text, source.name), of_mixed(text, source.name)
    single = _facts(above, text)
    robust = _errors(lines, heads[0])
    command = next((each for each in reversed(commands_of(above)) if each.said), Command("", ()))
    weighted = bool(command.weight or re.search(r"\(sum of wgt is|Population size\s*=", text))
    if command.weight.startswith("f") and kind in ("ols", "iv"):
        raise OutputError(
            f"{source.name}: it has frequency weights ({command.weight}), of which no linear regression is known; "
            "expand the records"
        )
    offset = re.search(r"^\s*(\S+)\s*\|\s+(?:1\s+)?\((?:exposure|offset)\)", text, re.M)
    if offset:
        raise OutputError(
            f"{source.name}: the model has an offset, {offset[1]}, which no output has; fit it without one"
        )
    unread = [what for what, pattern in _UNREAD.items() if re.search(pattern, text, re.M)]
    if weighted and single.pop("residual_sd", ""):
        unread.append("Root MSE, whose weights add up to the number of records")
    if kind == "ols" and robust != "nonrobust":
        unread.append("the F test, which is robust")
    if absorbed:
        kind, single, unread = "ols", single | absorbed.single, [*unread, *absorbed.unread]
        unread = [each for each in unread if each != "the F test, which is robust"]
    weight = re.fullmatch(r"\w+=(\w+)", command.weight)
    if random:
        kind, unread = "mixed", [*unread, *random.unread]
        single = {part: number for part, number in single.items() if part == "n"} | random.single
    instruments = of_ivregress(text) if kind == "iv" else None
    if instruments:
        single = {part: number for part, number in (single | instruments.single).items() if number != "."}
        unread = instruments.unread + [OF_FIRST_STAGES] * (len(lines) < len(source.lines))
    quantile = of_quantile(text) if kind == "quantreg" else None
    single |= quantile[1] if quantile else {}
    clusters = re.findall(r"adjusted for\s+(?:[\d,]+\s+clusters\s+in|clustering\s+on)\s+(\w+)", text)
    return Coefficients(
        tuple(rows),
        tuple(bases),
        single,
        exponentiated=ratios,
        errors_of_ratios=ratios,
        own_digits=True,
        level=float(level[1]) / 100 if level else 0.95,
        kind=kind,
        response="" if kind == "cox" else lines[heads[0]].partition("|")[0].strip(),
        subset=_subset(command, above),
        robust=robust,
        covariance="robust" if robust == "robust" else "",
        clustered="adjusted for" in text,
        cluster=clusters[0] if len(clusters) == 1 else "",
        ordered=any(name.startswith("/cut") for name, _ in rows),
        weighted=weighted,
        weight=weight[1] if weight else "",
        survey=design_in(text, source.name),
        outcomes=tuple(outcomes),
        base=base,
        ties=_ties(text, source.name) if kind == "cox" else "",
        strata=_strata(text) if kind == "cox" else (),
        stratified=bool(re.search(r"^\s*Stratified ", text, re.M)) and kind == "cox",
        unstratified=kind == "cox" and not re.search(r"^\s*Stratified |Strata variable", text, re.M),
        unread=tuple(unread),
        program=absorbed.program if absorbed else "",
        absorb=absorbed.names if absorbed else (random.groups,) if random and random.groups else (),
        levels=absorbed.levels if absorbed else (random.levels,) if random and random.levels else (),
        method=random.method if random else "",
        by=random.program if random else "ivregress" if instruments else "stata" if quantile else "",
        endogenous=instruments.endogenous if instruments else (),
        instruments=instruments.instruments if instruments else (),
        first_stages=instruments.first_stages if instruments else (),
        small=instruments.small if instruments else False,
        tau=quantile[0] if quantile else "",
    )


def _expanded(above: str) -> dict[str, tuple[str, str]]:
    """Variables whose levels the prefix `xi` made columns of, each with the one left out, by the beginning of their
    names: _Ireligion of _Ireligion_2.
    """
    found = re.findall(r"^i\.(\w+)\s+(_I\w+?)_\d+-\d+\s+\(naturally coded; \2_(\d+) omitted\)", above, re.M)
    return {stub: (variable, omitted) for variable, stub, omitted in found}


def _refuse_others(above: str, place: str) -> None:
    """OutputError for a fit that no output has, as the lines above its table say it."""
    for pattern, why in _OTHERWISE.items():
        if re.search(pattern, above, re.M):
            raise OutputError(f"{place}: {why}")


def _facts(above: str, text: str) -> dict[str, str]:
    """Texts of what is said of the whole model: the last above its table, or the first of all."""
    found = {
        fact: re.findall(pattern, above, re.M)[-1:] or re.findall(pattern, text, re.M)[:1]
        for fact, pattern in _FACTS.items()
    }
    return {fact: said[0] for fact, said in found.items() if said}


def _subset(command: Command, above: str) -> str:
    """Whom it is of, by the command and the group of a prefix `by`."""
    groups = re.findall(r"^\s*-> (\w+ = .+)$", above, re.M)[-1:]
    return " and ".join([*([command.subset] if command.subset else []), *groups])


def _kind(above: str, place: str) -> str:
    """The kind of the regression whose title stands above the table, '' where none does; OutputError for another."""
    if re.search(r"Dispersion\s*[:=]\s*constant", above):
        raise OutputError(
            f"{place}: its dispersion is constant (NB1), which is not known; fit it by nbreg, dispersion(mean)"
        )
    titles = _TITLE.findall(above)[-1:]
    alone = _ALONE.findall(above)
    for title in titles or alone[::-1]:
        for pattern, kind in _KINDS:
            if re.fullmatch(rf"(?:Survey: )?(?:{pattern})", title.strip()):
                return kind
    if re.search(r"^\s*Source \|\s+SS", above, re.M) and not titles and not alone:
        return "ols"
    title = (titles or alone[-1:] or [""])[0].strip()
    if title.startswith("Generalized linear model"):
        return _of_glm(above, place)
    if title:
        raise OutputError(
            f"{place}: its title is '{title}', of a model that is not known; known are those of regress, logit, "
            "logistic, probit, mlogit, ologit, oprobit, poisson, nbreg, stcox, areg, xtreg (fe, re), reghdfe, mixed, "
            "ivregress 2sls, qreg, and glm by the links of logit, probit and poisson"
        )
    return ""


def _of_glm(above: str, place: str) -> str:
    """The kind of a glm, by its family and link."""
    said = re.findall(r"(?:Variance|Link) function\s*:.*\[([^\]\n]+)\]", above)[-2:]
    family, link = [each.casefold() for each in said] if len(said) == 2 else ("", "")
    if (family, link) not in _GLM:
        raise OutputError(
            f"{place}: it is a glm of the family {family or 'unsaid'} by the link {link or 'unsaid'}, which is not "
            "known; known are Bernoulli by logit or probit, and Poisson by log"
        )
    return _GLM[family, link]


def _columns(head: str) -> tuple[str, ...]:
    """The parts of a row, in the order of the heads of its columns."""
    right = head.partition("|")[2]
    found = [(each.start(), part) for pattern, part in _PARTS if (each := re.search(pattern, right, re.I))]
    parts = [part for _, part in sorted(found)]
    ends = [end for part in parts for end in (("lower", "upper") if part == "limits" else (part,))]
    return ("coefficients", *ends)


def _parts(name: str, cells: Sequence[str], columns: Sequence[str], place: str) -> dict[str, str]:
    """Texts by part of a row; thresholds and a dispersion have neither statistic nor p-value, and the limits of a
    dispersion lie about its logarithm. OutputError for a row with other cells than its head.
    """
    parts = tuple(columns)
    if len(cells) == 4 and name.startswith("/"):
        parts = ("coefficients", "standard_errors", "lower", "upper")
    elif len(cells) == 4 and name == "alpha":
        parts = ("coefficients", "standard_errors")
    elif len(cells) != len(parts):
        raise OutputError(
            f"{place}: the row of {name} has {len(cells)} numbers, {' '.join(cells)[:60]!r}, and its head says "
            f"{len(parts)}; give it as Stata prints it"
        )
    return {part: cell for part, cell in zip(parts, cells, strict=False) if part not in ("statistic", "beta")}


def _errors(lines: Sequence[str], head: int) -> str:
    """How standard errors were computed: what stands above them in the log, 'nonrobust' for nothing, or OIM."""
    above = lines[head - 1].partition("|")[2].strip().casefold() if head else ""
    above = above or ("robust" if re.search(r"\bRobust\b", lines[head]) else "")
    return "nonrobust" if above in ("", "oim") else above


def _strata(text: str) -> tuple[str, ...]:
    """The variables of the strata, where the log names them below or above its table."""
    said = re.search(r"^\s*(?:Strata variables?:|Stratified by)\s+(.+?)\s*$", text, re.M)
    return tuple(re.findall(r"\w+", said[1])) if said else ()


def _ties(text: str, place: str) -> str:
    """How a Cox regression takes ties; OutputError where it is a way that is not known."""
    said = re.search(r"Cox regr(?:ession|\.) (?:with|--) (.+?)(?: method for ties)?\s*$", text, re.M | re.I)
    word = said[1].casefold() if said else "no ties"
    if word not in ("breslow", "efron", "no ties"):
        raise OutputError(
            f"{place}: ties are taken by '{said[1] if said else word}', which is not known; fit it by efron"
        )
    return "breslow" if word == "no ties" else word


def _rows_of_log(lines: Sequence[str], equations: bool) -> Iterator[tuple[str, str, list[str]]]:
    """Outcome, name and cells; a level under the name of its variable is named with it.

    With `equations` each rule begins one, whose outcome stands in the next line.
    """
    above, outcome, begins = "", "", False
    for line in lines:
        if re.match(r"^-{5,}", line) and not _RULE.match(line):
            return
        if _RULE.match(line):
            above, begins = "", equations
            continue
        left, bar, right = line.partition("|")
        left, cells = left.strip(), right.split()
        if not bar or left in _OF_EFFECTS or cells[-1:] == ["categories)"]:
            continue
        if begins:
            outcome, begins = left, False
            if cells:
                yield outcome, outcome, cells
        elif not cells:
            above = left
        elif above and not left:
            continue
        else:
            yield outcome, (_under(above, left) if above else left), cells


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
