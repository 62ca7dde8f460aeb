"""What R's printed summary of a model says beside its coefficients: of how many records it is, and how well it fits."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from outrisk.errors import OutputError
from outrisk.outputs.regression.release import Kind
from outrisk.readers.printed_fixed_effects import Absorbed, of_r
from outrisk.readers.printed_number import Printed, read_printed
from outrisk.readers.r_call import Call, hold

_RESIDUALS = re.compile(r"^(?:(?:Weighted|Deviance|Pearson|Working) )?[Rr]esiduals:", re.M)
_ERROR = re.compile(r"Residual standard error:\s+(\S+)\s+on\s+(\d+)\s+degrees of freedom")
_FAMILY = re.compile(r"\(Dispersion parameter for (.+?) family taken to be (\S+)\)")
_DEVIANCE = r"{} deviance:\s+(\S+)\s+on\s+(\d+)\s+degrees of freedom"
_DIGITS = 5  # of a deviance, the fewest that R prints of it
_OF_FIT = 4  # significant digits of sigma, R2 and F, at the least where no option makes them fewer
_FUNCTIONS = ("lm", "glm", "glm.nb", "svyglm", "ivreg")
_SLACK = 0.005  # of a log-likelihood, by which polr and glm.nb stop below the maximum
Ends = tuple[float, float]
_LINKS: dict[str, dict[str, Kind]] = {  # of a family, what a model by a link is
    "binomial": {"logit": "logit", "probit": "probit"},
    "poisson": {"log": "poisson"},
    "gaussian": {"identity": "ols"},
}


@dataclass
class OfModel:
    """`single`: texts of n, log_likelihood, pseudo_r2, r2, residual_sd; a range where what is printed is another number
    that tells it. `unread`: what else is printed, in words. `kinds`: which the model may be of. `robust`,
    `weighted`, `weight`: as of `Coefficients`.
    """

    single: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    kinds: tuple[Kind, ...] = ()
    robust: str = ""
    weighted: bool = False
    weight: str = ""
    absorbed: Absorbed | None = None
    instrumental: bool = False


def of_model(text: str, called: Call, rows: Sequence[tuple[str, Mapping[str, str]]], place: str) -> OfModel:
    """What a summary of lm, glm or glm.nb says of the model whose coefficients are `rows`; OutputError for a family, a
    link, an offset or a function that no regression here has.
    """
    absorbed = of_r(text, place)
    if not absorbed:
        hold(called, _FUNCTIONS, place)
    found = OfModel(absorbed=absorbed)
    call = " ".join(text.partition("Coefficients:")[0].split())
    estimated = sum(read_printed(texts.get("coefficients", "")) is not None for _, texts in rows)
    weights = re.search(r"\bweights\s*=\s*(?:(\w[\w.]*)\s*[,)])?", call)
    if weights:
        found.weighted, found.weight = True, weights[1] or ""
    if _RESIDUALS.search(text):
        found.unread.append("quantiles of the residuals, the least and the greatest of which are of single people")
    if absorbed:
        found.kinds, found.single, found.robust = ("ols",), absorbed.single, absorbed.robust
        found.unread += absorbed.unread
        return found
    linear, family = _ERROR.search(text), _FAMILY.search(text)
    if called.function == "ivreg":
        found.instrumental = True
        return found
    if linear:
        found.kinds = ("ols",)
        found.single["n"] = str(int(linear[2]) + estimated)
        squared = re.search(r"Multiple R-squared:\s+([\d.]+)", text)
        found.single |= to_digits({"residual_sd": linear[1]} | ({"r2": squared[1]} if squared else {}), text)
    elif family:
        _of_glm(found, text, family, call, estimated, place)
    return found


def of_deviance(text: str) -> dict[str, str]:
    """The log-likelihood that the residual deviance of a polr tells, as a range."""
    found = re.search(r"Residual Deviance:\s+(\S+)", text)
    ends = _ends(found[1]) if found else None
    return {"log_likelihood": _range(-ends[1] / 2 - _SLACK, -ends[0] / 2 + _SLACK)} if ends else {}


def _of_glm(found: OfModel, text: str, family: re.Match[str], call: str, estimated: int, place: str) -> None:
    """`estimated`: how many coefficients have a number."""
    name, dispersion = family[1].casefold(), family[2]
    if "svyglm(" in call or "Survey design:" in text:
        found.unread.append("the dispersion")
        return
    found.kinds, quasi = _kinds(name, call, place), name.startswith("quasi")
    if quasi:
        found.robust = f"scaled by a dispersion of {dispersion}"
    null, residual = (re.search(_DEVIANCE.format(of), text) for of in ("Null", "Residual"))
    if not null or not residual:
        return
    found.single["n"] = str(int(residual[2]) + estimated)
    said = re.search(r"^AIC:\s+(\S+)", text, re.M)
    aic = _ends(said[1]) if said else None
    if found.kinds == ("negbin",):
        doubled = re.search(r"2 x log-likelihood:\s+(\S+)", text)
        if doubled and (ends := _ends(doubled[1])):
            low, high = ends
            found.single["log_likelihood"] = _range(low / 2 - _SLACK, high / 2 + _SLACK)
        found.unread.append("deviances and Theta")
    elif found.kinds == ("poisson",) and aic and not quasi:
        low, high = aic
        found.single["log_likelihood"] = _range(estimated - high / 2, estimated - low / 2)
        found.unread.append("deviances")
    elif found.kinds and {*found.kinds} <= {"logit", "probit"}:
        _of_yes_or_no(found, null, residual, aic, estimated)
    else:
        found.unread.append("deviances, AIC and the dispersion")


def _of_yes_or_no(
    found: OfModel, null: re.Match[str], residual: re.Match[str], aic: Ends | None, estimated: int
) -> None:
    """The deviance of answers, one a record, is -2 log-likelihoods: what AIC says as well, else they are no such."""
    deviance, of_constant = _ends(residual[1], _DIGITS), _ends(null[1], _DIGITS)
    if not deviance or not of_constant:
        return
    low, high = -deviance[1] / 2, -deviance[0] / 2
    if aic:  # none of a quasi family
        low, high = max(low, estimated - aic[1] / 2), min(high, estimated - aic[0] / 2)
        if low > high:
            found.unread.append("deviances and AIC, which are not those of one answer a record")
            return
    found.single["log_likelihood"] = _range(low, high)
    below, above = of_constant
    if int(null[2]) == int(residual[2]) + estimated - 1 and below > 0:  # it has a constant
        found.single["pseudo_r2"] = _range(1 + 2 * low / below, 1 + 2 * high / above)


def _kinds(name: str, call: str, place: str) -> tuple[Kind, ...]:
    """Which kinds of regression a family, and its link where the call names it, may be."""
    if name.startswith("negative binomial"):
        if "glm.nb(" not in call:
            raise OutputError(
                f"{place}: it is a glm of the family {name}, whose theta is set, not estimated; fit it by glm.nb"
            )
        return ("negbin",)
    family = name.removeprefix("quasi")
    links = _LINKS.get(family)
    if links is None:
        raise OutputError(
            f"{place}: a glm of the family {name} is not known; known are binomial, poisson, gaussian and glm.nb"
        )
    said = re.search(rf"\b{name}\(\s*(?:link\s*=\s*)?[\"']?([\w/^]+)[\"']?", call)
    if said is None:
        bare = re.search(rf"\b{name}\b", call) is not None
        return tuple(links.values())[: 1 if bare else None]
    if said[1] not in links:
        raise OutputError(
            f"{place}: a glm of the family {name} by the link '{said[1]}' is not known; known is {', '.join(links)}"
        )
    return (links[said[1]],)


def _ends(text: str, significant: int = 0) -> Ends | None:
    """From where to where a printed number may lie that has at least so many significant digits (0: all that it shows);
    None for Inf and NA.
    """
    number = read_printed(text)
    if number is None:
        return None
    half = number.half
    if significant:
        half = max(half, 0.5 * 10.0 ** (len(str(int(abs(number.value)))) - significant))
    return number.value - half, number.value + half


def to_digits(printed: Mapping[str, str], text: str) -> dict[str, str]:
    """Sigma and R2 as ranges: R prints four significant digits of them unless its options say otherwise, and cuts off
    zeros at their end; what one of its measures of fit shows, all have.
    """
    beside = re.findall(r"(?:Adjusted R-squared|F-statistic|Wald test):\s+(-?\d\S*?)[,\s]", text)
    shown = [_significant(number) for each in [*printed.values(), *beside] if (number := read_printed(each))]
    found = {}
    for part, each in printed.items():
        number = read_printed(each)
        if number is None or not number.value:
            found[part] = each
            continue
        digits = max(_significant(number), min(_OF_FIT, max(shown, default=0)))
        half = 0.5 * 10.0 ** (math.floor(math.log10(abs(number.value))) + 1 - digits)
        found[part] = _range(number.value - half, number.value + half)
    return found


def _significant(number: Printed) -> int:
    """How many significant digits a number shows, zeros at its end apart."""
    if not number.value:
        return 0
    size = math.floor(math.log10(abs(number.value)))
    return len(
        f"{abs(number.value):.{max(0, min(15, size + number.decimals))}e}".partition("e")[0]
        .replace(".", "")
        .rstrip("0")
    )


def _range(low: float, high: float) -> str:
    return f"{low:.12g} to {high:.12g}"
