"""What prints of linear mixed models say of their random intercept: Stata's mixed and xtreg, re, and MixedLM."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.regression.mixed import split_random
from outrisk.outputs.regression.mixed_entry import MixedEntry
from outrisk.outputs.regression.variance_numbers import MixedProgram
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.printed_number import read_printed
from outrisk.readers.remarks import remark

_NUMBER = r"(-?[\d,]*\.?\d+(?:e[-+]?\d+)?)"
_MORE = "a random intercept of one variable is known"
_OF_SEARCH = 1e-4  # of a variance, by which statsmodels' search stops beside the maximum
_TERMS = re.compile(r"^\s*(sd|var|corr|cov)\(([^)]*)\)\s*\|\s*" + _NUMBER, re.M)


@dataclass
class Random:
    """What a print says: the program, how it was fitted, the groups ('' where it does not name them) and how many,
    texts of other numbers by part, and what else is printed, in words.
    """

    program: MixedProgram
    method: str = ""
    groups: str = ""
    levels: str = ""
    single: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)


def of_stata(text: str, place: str) -> Random | None:
    """What a log of mixed or xtreg, re says; None for another command. OutputError for random slopes, more levels of
    groups, and residuals that are not independent.
    """
    fitted = re.search(r"^\s*Mixed-effects (ML|REML) regression", text, re.M)
    gls = re.search(r"^\s*Random-effects GLS regression", text, re.M)
    if not fitted and not gls:
        return None
    found = Random("mixed" if fitted else "xtreg", fitted[1].casefold() if fitted else "gls")
    named = re.search(r"Group variable\s*(?:\(i\))?\s*:\s*(\S+)", text)
    count = re.search(r"Number of groups\s*=\s*([\d,]+)", text)
    found.groups, found.levels = (each[1] if each else "" for each in (named, count))
    if fitted:
        terms = {f"{what}({of.strip()})": number for what, of, number in _TERMS.findall(text)}
        wrong = next((each for each in terms if not re.fullmatch(r"(?:sd|var)\((?:_cons|Residual|e)\)", each)), "")
        if wrong or not named:
            raise OutputError(f"{place}: it has {wrong or 'groups within groups'}, which is not known; {_MORE}")
        for what, parts in (("var", ("variance_u", "variance_e")), ("sd", ("sigma_u", "residual_sd"))):
            for part, names in zip(parts, (("_cons",), ("Residual", "e")), strict=True):
                number = next((terms[f"{what}({each})"] for each in names if f"{what}({each})" in terms), "")
                found.single |= {part: number} if number else {}
        number = re.search(rf"Log (?:restricted-|pseudo)?likelihood\s*=\s*{_NUMBER}", text)
        found.single |= {"log_likelihood": number[1]} if number else {}
        found.unread = ["errors and limits of the variances, and the test against a linear model"]
    else:
        for part, name in (("sigma_u", "sigma_u"), ("residual_sd", "sigma_e"), ("rho", "rho")):
            number = re.search(rf"^\s*{name} \|\s+{_NUMBER}", text, re.M)
            found.single |= {part: number[1]} if number else {}
        found.unread = ["the R2 within, between and overall"]
    if re.search(r"Obs per group:", text):
        found.unread.append("the least, mean and largest number of records per group")
    return found


def of_statsmodels(text: str, place: str) -> Random | None:
    """What a summary of MixedLM says; None for another model. OutputError for random slopes and variance components."""
    if not re.search(r"\bModel:\s*MixedLM\b", text):
        return None
    of_variances = re.findall(r"^(\S.*?) (Var|Cov)\s+" + _NUMBER, text, re.M)
    if len(of_variances) != 1 or of_variances[0][1] != "Var":
        raise OutputError(f"{place}: it has several variances of random effects, which are not known; {_MORE}")
    if re.search(r"Converged:\s*No", text):
        remark(place, "its fit did not converge; numbers may be others than those of the largest likelihood")
    groups = "" if of_variances[0][0] == "Group" else of_variances[0][0]
    found = Random("statsmodels", groups=groups, single={"variance_u": of_variances[0][2]})
    facts = dict(re.findall(r"\b(Method|Scale|No\. Groups|No\. Observations|Log-Likelihood):\s*(\S+)", text))
    found.method, found.levels = facts.get("Method", "").casefold(), facts.get("No. Groups", "")
    for part, name in (("variance_e", "Scale"), ("n", "No. Observations"), ("log_likelihood", "Log-Likelihood")):
        found.single |= {part: facts[name]} if name in facts else {}
    for part, share in (("variance_u", _OF_SEARCH), ("variance_e", _OF_SEARCH / 10.0)):
        number = read_printed(found.single.get(part, ""))
        if number:
            ends = [number.value + sign * (number.half + share * number.value) for sign in (-1.0, 1.0)]
            found.single[part] = f"{max(ends[0], 0.0):.12g} to {ends[1]:.12g}"
    found.unread = ["the least, mean and largest number of records per group", "the error of the variance"]
    return found


def of_groups(table: Coefficients, entry: MixedEntry, codebook: Codebook, place: str) -> MixedEntry:
    """The entry with groups, method and program of a print, where it does not say them itself, and its formula without
    the groups. OutputError where the two differ, or the print names no variable.
    """
    formula, named = split_random(entry.formula, place)
    own = entry.groups or named
    theirs = table.absorb[0] if table.absorb else ""
    if own and theirs and own != theirs:
        raise OutputError(f"{place}: the table is of groups by {theirs}, the output says {own}; correct it")
    groups = own or theirs
    if groups not in codebook:
        said = f"groups by '{groups}', which is no variable" if groups else "no name of its groups"
        raise OutputError(f"{place}: the table has {said}; give the output its 'groups'")
    new = {"formula": formula, "groups": groups}
    for key, printed in (("method", table.method), ("program", table.by)):
        said = str(getattr(entry, key)) if key in entry.model_fields_set else ""
        if said and printed and said != printed:
            raise OutputError(f"{place}: the table is by {printed}, the output says {key}: {said}; correct it")
        new |= {key: printed} if printed and not said else {}
    numbers = [read_printed(table.single.get(part, "")) for part in ("sigma_u", "variance_u")]
    if any(number is not None and number.value == 0.0 for number in numbers):
        remark(place, "a singular fit: the variance between groups is 0, so that it is a linear regression")
    return MixedEntry.model_validate(entry.model_dump(exclude_unset=True) | new)
