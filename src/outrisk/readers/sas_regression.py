"""A regression that SAS prints (REG, GLM, LOGISTIC, GENMOD, PHREG) as coefficients: coding, event, facts, its table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from outrisk.errors import OutputError
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.printed_number import read_printed
from outrisk.readers.remarks import remark
from outrisk.readers.sas_classes import classes_of, hold_coding, with_names
from outrisk.readers.sas_fits import SasFit, titles_in
from outrisk.readers.sas_parameters import Row, rows_of

_FACT = r"^\s*{}\s{{2,}}(\S.*?)\s*$"
_SUMMARY = "Summary of the Number of Event and Censored Values"
_KINDS = {
    "binary logit": "logit",
    "binary probit": "probit",
    "binary normit": "probit",
    "generalized logit": "mnlogit",
}
_GENMOD = {
    ("binomial", "logit"): "logit",
    ("binomial", "probit"): "probit",
    ("poisson", "log"): "poisson",
    ("negative binomial", "log"): "negbin",
}
_REFUSED = {  # what a listing says of a fit that no output has, by a pattern
    r"(?i)^\s*(?:Likelihood Penalty|.*Firth)": "its likelihood is penalised (Firth), which no output has",
    r"^\s*Strata Summary\s*$|^\s*Conditional Analysis\s*$": "it is a conditional logit (STRATA), which no output has",
    r"(?i)GEE Model Information|GEE Parameter Estimates": "it is fitted by GEE (REPEATED), which no output has",
    r"^\s*Offset Variable\s{2,}": "the model has an offset, which no output has of a print",
    r"(?i)scale parameter was estimated by": "its scale is estimated (SCALE=), which no output has",
    r"^\s*(?:Step|Forward Selection: Step|Backward Elimination: Step|Stepwise Selection: Step)\s+\d+": (
        "it is chosen by steps, of which each prints a table; fit the model that was chosen alone"
    ),
    r"(?i)^\s*Restrict\w*\b.*\bEstimate|^\s*RESTRICT\s": "it is fitted under restrictions, which no output has",
    r"^\s*(?:Design Summary|Variance Estimation|Variance Adjustment)": "it is of a survey, which is not read of SAS",
    r"(?i)^\s*(?:Absorb\w* |.*\bABSORB\b)": "it absorbs effects (ABSORB), which is not read of SAS; fit them as CLASS",
    r"^\s*Frequency Variable\s{2,}|^\s*Freq(?:uency)?: ": "it has a FREQ statement; expand the records",
    r"(?i)heteroscedasticity[- ]consistent": "its standard errors are robust (HCC), which are not read; leave them out",
}
_UNREAD = {  # what is printed of a model and no output has, by a pattern
    "AIC, SC and -2 Log L of the constant alone": r"^\s*-2 L(?:og|OG) L\s+[\d.]+\s+[\d.]+",
    "likelihood ratio, score and Wald tests of all coefficients": r"Testing Global Null Hypothesis",
    "sums of squares and tests of effects": r"^\s*Source\s+DF\s+|Type (?:1|3|I|III) (?:SS|Analysis)",
    "Cox and Snell's R-Square": r"Max-rescaled R-Square",
    "concordance": r"Percent Concordant",
    "deviance and Pearson's chi-squared": r"^\s*(?:Scaled )?Deviance\s+\d+\s+[\d.]+",
    "the response profile, which tells how many have the event": r"^\s*Response Profile\s*$",
    "Hosmer and Lemeshow's test": r"Hosmer and Lemeshow",
    "least squares means": r"Least Squares Means",
}


@dataclass
class SasRegression:
    """A regression with what the codebook has to say of: the level that is modelled; status and what is censored."""

    table: Coefficients
    event: str = ""
    status: str = ""
    censored: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)


def regression_of(fit: SasFit, place: str) -> SasRegression:
    """The regression; OutputError, in one line, for one that is not read, and for what does not say its coding, its
    event or its reference level.
    """
    lines, text = fit.lines, fit.text
    for pattern, why in _REFUSED.items():
        if re.search(pattern, text, re.M):
            raise OutputError(f"{place}: the print of {fit.words}: {why}")
    kind = _kind(fit, place)
    event = _event(fit, kind, place)
    classes = classes_of(lines, place)
    what = f"{place}: the print of {fit.words}"
    rows, level, notes = rows_of(lines, titles_in(lines), kind == "mnlogit", what)
    scale = _without_scale(rows, kind, fit, place)
    classes = hold_coding(rows, classes, text, what)
    rows = with_names(rows, classes, what)
    written = [row for row in rows if not row.base and row.effect not in ("Scale", "Dispersion")]
    bases = [row.name for row in rows if row.base and "*" not in row.effect]
    bases += [f"{name}={each.reference}" for name, each in classes.found.items() if each.reference]
    unread = [what for what, pattern in _UNREAD.items() if re.search(pattern, text, re.M)]
    weight = _weight(fit)
    if weight and kind == "cox":
        raise OutputError(f"{what} is weighted by {weight}, which no Cox model of an output is")
    single = _single(fit, kind)
    if re.search(r"No intercept in model", text, re.I):
        single.pop("r2", "")
    if weight and single.pop("residual_sd", ""):
        unread.append("Root MSE, which is weighted")
    table = Coefficients(
        tuple((row.name, row.texts) for row in (*written, *scale)),
        tuple(bases),
        single,
        own_digits=True,
        level=level,
        kind=kind,
        response=_response(fit),
        robust="robust" if notes.robust else "nonrobust",
        weighted=bool(weight),
        weight=weight,
        unweighted=not weight,
        outcomes=tuple(row.outcome for row in written) if kind == "mnlogit" else (),
        base=_base_outcome(text) if kind == "mnlogit" else "",
        ties=_ties(fit, place) if kind == "cox" else "",
        strata=_strata(text) if kind == "cox" else (),
        stratified=kind == "cox" and bool(_strata(text)),
        unstratified=kind == "cox" and not _strata(text) and _SUMMARY in text,
        subset=fit.step.whom,
        unread=tuple(unread),
    )
    status, censored = _censored(fit, place) if kind == "cox" else ("", ())
    if kind == "cox" and _SUMMARY not in text:
        remark(
            place, f"the print has no '{_SUMMARY}', which says whether it is by STRATA; it is taken for the output's"
        )
    return SasRegression(table, event, status, censored, [*notes.left])


def _kind(fit: SasFit, place: str) -> str:
    """The kind of the regression; OutputError for one that is not known."""
    text, procedure = fit.text, fit.step.procedure
    link = re.search(_FACT.format("Link Function"), text, re.M)
    family = re.search(_FACT.format("Distribution"), text, re.M)
    model = re.search(_FACT.format("Model"), text, re.M)
    if procedure in ("REG", "GLM"):
        return "ols"
    if not procedure and re.search(r"\bt Value\s+Pr > \|t\|", text):
        if re.search(r"\bRoot MSE\b", text):
            return "ols"
        raise OutputError(
            f"{place}: the print does not say which procedure it is of, as a quantile regression has such a table too; "
            "give it with its head ('The REG Procedure') or the fit statistics above it"
        )
    if procedure == "PHREG" or (not procedure and re.search(r"^\s*Censoring Variable\s|Hazard$", text, re.M)):
        return "cox"
    if procedure == "GENMOD" or (not procedure and family and link):
        pair = (family[1].casefold(), link[1].casefold()) if family and link else ("", "")
        if pair in _GENMOD:
            return _GENMOD[pair]
        why = "; its errors have n below, fit it by PROC REG or GLM" if pair == ("normal", "identity") else ""
        raise OutputError(
            f"{place}: the print of {fit.words} is of the distribution {pair[0] or 'unsaid'} by the link "
            f"{pair[1] or 'unsaid'}, which is not known of GENMOD{why}; known are binomial by logit or probit, Poisson "
            "and negative binomial by log, with 'Model Information' above them"
        )
    if procedure in ("LOGISTIC", ""):
        said = model[1].casefold() if model else "binary logit" if re.search(r"Probability modeled is", text) else ""
        if said in _KINDS:
            return _KINDS[said]
        cumulative = "cumulative" in said or "Probabilities modeled are cumulated" in text
        why = (
            ": SAS models the chance of that level or one before it, whose slopes have the other sign"
            if cumulative
            else ""
        )
        raise OutputError(
            f"{place}: the print of {fit.words} is of the model {said or 'unsaid'}, which is not read{why}; known are "
            "binary logit and probit, and generalized logit, with 'Model Information' above them"
        )
    raise OutputError(f"{place}: the print of {fit.words} is not known; known are REG, GLM, LOGISTIC, GENMOD and PHREG")


def _event(fit: SasFit, kind: str, place: str) -> str:
    """The level of the response whose probability is modelled; '' of another kind of model."""
    if kind not in ("logit", "probit"):
        return ""
    text = " ".join(fit.text.split())
    found = re.findall(r"Probability modeled is (\S+?)\s?=\s?(.+?)\.(?=\s|$)", text)
    found += re.findall(r"modeling the probability that (\S+?)\s?=\s?(.+?)\.(?=\s|$)", text)
    if len(set(found)) != 1:
        raise OutputError(
            f"{place}: the print of {fit.words} does not say which level's probability is modelled ('Probability "
            "modeled is ...'), on which the sign of all coefficients depends; give it with its head"
        )
    return str(found[0][1]).strip("'\" ")


def _response(fit: SasFit) -> str:
    found = re.search(r"^\s*(?:Response|Dependent) Variable\s{2,}(\S+)", fit.text, re.M)
    said = re.search(r"(?:Probability modeled is|probability that)\s+([\w.]+)\s?=", fit.text)
    return fit.dependent or (found[1].rpartition(".")[2] if found else said[1] if said else "")


def _weight(fit: SasFit) -> str:
    """The variable of a WEIGHT statement; '' without one."""
    found = re.search(r"^\s*(?:Scale )?Weight Variable\s{2,}(\S+)|^\s*Weight:\s*(\S+)", fit.text, re.M)
    if not found and re.search(r"^\s*Sum of Weights", fit.text, re.M):
        return "a weight that it does not name"
    return (found[1] or found[2]).rpartition(".")[2] if found else fit.step.weight


def _single(fit: SasFit, kind: str) -> dict[str, str]:
    """Texts of what is said of the whole model."""
    text, found = fit.text, dict[str, str]()
    used = re.findall(r"^\s*Number of Observations Used\s+(\d[\d,]*)", text, re.M)
    used = used or re.findall(r"^\s*Number of Observations\s{2,}(\d[\d,]*)\s*$", text, re.M)
    if used and "Equivalent Missing Value Patterns" not in text:
        found["n"] = used[-1]
    likelihood = re.findall(r"^\s*-2 L(?:og|OG) L\s+(?:[\d.]+\s+)?([\d.]+)\s*$", text, re.M)
    full = re.findall(r"^\s*Full Log Likelihood\s+(-?[\d.]+)\s*$", text, re.M)
    if likelihood and kind in ("logit", "probit", "mnlogit", "cox"):
        found["log_likelihood"] = _halved(likelihood[-1])
    elif full:
        found["log_likelihood"] = full[-1]
    if kind == "ols":
        error = re.search(r"^\s*Root MSE\s+([\d.E+-]+)", text, re.M)
        square = re.search(r"\bR-Square\s+(\d?\.\d+)", text)
        glm = re.search(r"^\s*R-Square\s+Coeff Var\s+Root MSE\s+.*\n+\s*([\d.]+)\s+(\S+)\s+([\d.E+-]+)\s", text, re.M)
        found |= {"residual_sd": error[1]} if error else {"residual_sd": glm[3]} if glm else {}
        found |= {"r2": square[1]} if square else {"r2": glm[1]} if glm else {}
    if kind == "cox":
        found |= _events(text)
    return found


def _halved(text: str) -> str:
    """The log-likelihood, as far as -2 times it tells it."""
    printed = read_printed(text)
    if printed is None:
        return ""
    return f"{-(printed.value + printed.half) / 2:.12g} to {-(printed.value - printed.half) / 2:.12g}"


def _events(text: str) -> dict[str, str]:
    """How many have the event: the last row of the summary of events and censored values."""
    at = text.find(_SUMMARY)
    rows = re.findall(r"^.*?\s(\d+)\s+(\d+)\s+(\d+)\s+\d+\.\d+\s*$", text[at : at + 8000], re.M) if at >= 0 else []
    total = rows[-1] if rows else ()
    return {"events": total[1]} if total and int(total[1]) + int(total[2]) == int(total[0]) else {}


def _ties(fit: SasFit, place: str) -> str:
    found = re.search(_FACT.format("Ties Handling"), fit.text, re.M)
    word = found[1].casefold() if found else ""
    if not found:
        raise OutputError(
            f"{place}: the print of {fit.words} does not say how ties are taken ('Ties Handling'), which stands in its "
            "'Model Information'; give it with that"
        )
    if word not in ("breslow", "efron"):
        raise OutputError(f"{place}: the print of {fit.words} takes ties by '{found[1]}', which no output has")
    return word


def _strata(text: str) -> tuple[str, ...]:
    """Variables of a STRATA statement, over the columns of the summary of events."""
    found = re.search(r"^\s*Stratum\s+(\S.*?)\s+Total\s+Event\s+Censored", text, re.M)
    return tuple(found[1].split()) if found else ()


def _censored(fit: SasFit, place: str) -> tuple[str, tuple[str, ...]]:
    """The variable of who is censored, and the values that say so; '' where nobody is."""
    name = re.search(_FACT.format("Censoring Variable"), fit.text, re.M)
    values = re.search(_FACT.format(r"Censoring Value\(s\)"), fit.text, re.M)
    if re.search(r"^\s*Dependent Variable\s{2,}\(", fit.text, re.M):
        raise OutputError(f"{place}: the print of {fit.words} has times of entry, which no output has")
    return (name[1].split()[0], tuple(values[1].split())) if name and values else ("", ())


def _base_outcome(text: str) -> str:
    found = re.search(r"Logits modeled use \S+?\s?=\s?(.+?) as the reference category", " ".join(text.split()))
    return found[1].strip("'\" ") if found else ""


def _without_scale(rows: Sequence[Row], kind: str, fit: SasFit, place: str) -> list[Row]:
    """The dispersion of a negative binomial, as the readers call it; OutputError for a scale that is estimated."""
    found = list[Row]()
    for row in rows:
        if row.effect == "Dispersion" and kind == "negbin":
            texts: Mapping[str, str] = {part: each for part, each in row.texts.items() if part != "p_values"}
            found.append(Row("alpha", "", "alpha", texts))
        elif row.effect == "Scale" and kind != "negbin" and row.texts.get("coefficients") not in ("1.0000", "1"):
            raise OutputError(f"{place}: the print of {fit.words} has a scale that is estimated, which no output has")
    return found
