"""What prints of regressions with instrumental variables say of these: R's ivreg, Stata's ivregress, statsmodels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.regression.instrumental import split_instruments
from outrisk.outputs.regression.instrumental_entry import InstrumentalEntry
from outrisk.outputs.regression.two_stage_fit import LARGE_SAMPLE
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.printed_number import read_printed
from outrisk.readers.r_call import Call
from outrisk.readers.r_model import OfModel, to_digits
from outrisk.readers.remarks import remark
from outrisk.readers.same_model import hold_weight
from outrisk.readers.term_names import CONSTANTS

_NUMBER = r"(-?[\d,]*\.?\d+(?:e[-+]?\d+)?)"
_ERROR = re.compile(r"Residual standard error:\s+(\S+)\s+on\s+(\d+|Inf)\s+degrees of freedom")
_FIT = {"residual_sd": _ERROR, "r2": re.compile(r"Multiple R-[Ss]quared:\s+(-?[\d.]+)"),
        "r2_adjusted": re.compile(r"Adjusted R-squared:\s+(-?[\d.]+)")}  # fmt: skip
_DIAGNOSTIC = re.compile(r"^(Weak instruments(?: \((.+?)\))?|Wu-Hausman|Sargan)\s+(\S+)\s+(\S+)\s+(\S+)\s", re.M)
_TESTS = ("first_stage_f", "wu_hausman", "sargan")
_Z, _OF_Z = 1.959964, 1e-5  # errors, and how exactly
_FIRST = re.compile(r"(Robust|HAC)?\s*\n\s*Variable \|(?:\s+R-sq\.){3}\s+F\(.*\n.*\n((?:.*\|.*\n)+)")
_OF_IVREG2 = r"^\s*Total \((?:un)?centered\) SS|^\s*(?:In|Ex)cluded instruments:|^\s*\S.*\bCentered R2\s*="
OF_FIRST_STAGES = "the regressions of first stages, each an output of kind: ols"
_LEVEL = re.compile(r"(?:\d+[bn]*|i)\.(\w+)")


@dataclass
class Instruments:
    """What a print says: terms as it names them, whether it divides by n - K, texts of other numbers by part, the F of
    first stages with their columns, and what else is printed, in words.
    """

    endogenous: tuple[str, ...] = ()
    instruments: tuple[str, ...] = ()
    small: bool = False
    single: dict[str, str] = field(default_factory=dict)
    first_stages: tuple[tuple[str, str], ...] = ()
    unread: list[str] = field(default_factory=list)


def of_ivreg(
    text: str, called: Call, rows: Sequence[tuple[str, dict[str, str]]], model: OfModel, place: str
) -> Coefficients:
    """R's summary of an ivreg, of AER or of the package ivreg. It does not say whether a covariance was given."""
    method = called.arguments.get("method", "OLS").strip("\"'")
    if method not in ("OLS", "2SLS"):
        raise OutputError(f"{place}: it is an ivreg by the method '{method}', which is not known; 2SLS is")
    terms = split_instruments(called.formula, place) if called.formula else None
    found = {part: said[1] for part, pattern in _FIT.items() if (said := pattern.search(text))}
    single = to_digits(found, text)
    unread, error = list(model.unread), _ERROR.search(text)
    estimated = sum(read_printed(texts.get("coefficients", "")) is not None for _, texts in rows)
    wald = re.search(rf"Wald test:\s+{_NUMBER} on \d+( and \d+)? DF", text)
    if error and error[2] != "Inf":
        single["n"] = str(int(error[2]) + estimated)
    if wald:
        single |= to_digits({"f" if wald[2] else "wald": wald[1]}, text)
    firsts = []
    for what, column, _, _, statistic in _DIAGNOSTIC.findall(text):
        if statistic != "NA" and what.startswith("Weak"):
            firsts.append((column, statistic))
        elif statistic != "NA":
            single[{"Wu-Hausman": "wu_hausman", "Sargan": "sargan"}[what]] = statistic
    kept = [part for part in ("coefficients", "standard_errors", "p_values") if part != "p_values" or not _by_z(text)]
    if _by_z(text):
        unread.append("p-values by the normal distribution, where ivreg has t")
    return Coefficients(
        tuple((name, {part: texts[part] for part in kept if part in texts}) for name, texts in rows),
        single=single,
        own_digits=True,
        kind="iv",
        response=called.response,
        subset=called.subset,
        of_all=bool(called.function) and not called.subset,
        unweighted=bool(called.function) and not model.weighted,
        weighted=model.weighted,
        weight=model.weight,
        unread=tuple(unread),
        by="ivreg",
        endogenous=terms.endogenous if terms else (),
        instruments=tuple(_terms(terms.instruments)) if terms else (),
        first_stages=tuple(firsts),
    )


def _by_z(text: str) -> bool:
    return bool(re.search(r"Std\. Error\s+z value", text))


def of_iv2sls(text: str) -> dict[str, str]:
    """What statsmodels' summary of an IV2SLS says beside what others say."""
    found = {}
    for part, name in (("r2_adjusted", r"Adj\. R-squared"), ("f", "F-statistic")):
        said = re.search(rf"{name}:\s+{_NUMBER}", text)
        if said:
            found[part] = said[1]
    return found


def refuse_ivreg2(text: str, place: str) -> None:
    """OutputError for a log of Stata's ivreg2 (or xtivreg2, ivreghdfe, which print with it)."""
    if re.search(_OF_IVREG2, text, re.M):
        raise OutputError(
            f"{place}: it is a print of ivreg2, or of what prints with it, which is not read; fit it by ivregress "
            "2sls, or write its coefficients as a CSV with the columns term, estimate and std.error"
        )


def without_first_stages(text: str) -> str:
    """A log of ivregress without the regressions that its option `first` prints above it."""
    return re.sub(r"^First-stage regressions *\n.*?(?=^Instrumental variables )", "", text, flags=re.M | re.S)


def of_ivregress(text: str) -> Instruments:
    """A log of Stata's ivregress 2sls, with the tests of `estat` below it."""
    found = Instruments(small=bool(re.search(r"\|.*\bt\s+P>\|t\|", text)))
    named = re.search(r"^\s*(?:Instrumented|Endogenous):\s+(.+?)\s*$", text, re.M)
    told = re.search(r"^\s*(?:Instruments|Exogenous):\s+(.+(?:\n {8,}\S.*)*)", text, re.M)
    found.endogenous = tuple(named[1].split()) if named else ()
    found.instruments = tuple(told[1].split()) if told else ()
    wald = re.search(rf"Wald chi2\(\d+\)\s*=\s*{_NUMBER}", text)
    test = re.search(rf"\bF\(\s*\d+\s*,\s*\d+\)\s*=\s*{_NUMBER}", text.partition("P>|")[0])
    found.single |= {"wald": wald[1]} if wald else {}
    found.single |= {"f": test[1]} if test else {}
    for part, pattern in (
        ("sargan", r"Sargan (?:\(score\) )?chi2\(\d+\)"),
        ("wu_hausman", r"Wu-Hausman F\([\d,\s]+\)"),
    ):
        said = re.search(rf"{pattern}\s*=\s*{_NUMBER}", text)
        found.single |= {part: said[1]} if said else {}
    some = re.search(r"^\. *estat +endog\w* +([^,\n]+?) *(?:,.*)?$", text, re.M)
    if some and set(some[1].split()) != set(found.endogenous):
        found.single.pop("wu_hausman", "")
        found.unread.append(f"the tests of {some[1]} alone")
    first = _FIRST.search(text)
    if first and not first[1]:
        rows = (line.partition("|") for line in first[2].splitlines())
        found.first_stages = tuple((name.strip(), cells.split()[3]) for name, _, cells in rows)
    others = {
        "Basmann's test": "Basmann chi2",
        "Durbin's test": "Durbin \\(score\\)",
        "sums of squares": r"Source \|\s+SS",
        "adjusted R2": r"Adj R-squared",
        "R2 and tests of first stages": "First-stage regression summary",
        "robust tests of endogeneity": r"Robust (?:score|regression)",
        "the score test of instruments": r"^\s*Score chi2",
    }
    found.unread += [what for what, pattern in others.items() if re.search(pattern, text, re.M)]
    return found


def _terms(text: str) -> list[str]:
    return [each.strip() for each in re.split(r"\+(?![^()]*\))", text) if each.strip()]


def instrumented(
    table: Coefficients, entry: InstrumentalEntry, codebook: Codebook, place: str
) -> tuple[InstrumentalEntry, Coefficients]:
    """The entry with what a print says of instruments, program and weight, where it does not say them itself; and the
    table, without tests and errors that are not known. OutputError where the two differ, or neither says them.
    """
    terms = split_instruments(entry.formula, place)
    own = terms.endogenous or entry.endogenous, terms.instruments or entry.instruments
    new: dict[str, Any] = {"formula": terms.formula, "endogenous": own[0], "instruments": own[1]}
    theirs = _named(table.endogenous, codebook), _named(table.instruments, codebook)
    for key, said, printed in (("endogenous", own[0], theirs[0]), ("instruments", _terms(own[1]), theirs[1])):
        if said and printed and not _alike(said, printed, key, terms.formula, theirs[0]):
            raise OutputError(
                f"{place}: the table has {' and '.join(printed)} as {key}, the output says {' and '.join(said)}; "
                "correct it"
            )
        if not said and not printed:
            raise OutputError(f"{place}: the table does not say its {key}; give the output its '{key}'")
        if not said:
            exogenous = {_bare(each) for each in _terms(terms.formula.partition("~")[2])}
            exogenous |= {name.partition("=")[0] for name, _ in table.rows}  # as Stata lists them
            rest = [each for each in printed if _bare(each) not in exogenous]
            new[key] = printed if key == "endogenous" else " + ".join(rest)
    for key, value in (("program", table.by), ("small", table.small)):
        given = getattr(entry, key) if key in entry.model_fields_set else None
        if given is not None and table.by and given != value:
            raise OutputError(f"{place}: the table is by {key}: {value}, the output says {given}; correct it")
        new |= {key: value} if table.by else {}
    hold_weight(table, entry.weight, codebook, place)
    if table.weighted and not entry.weight:
        if table.weight not in codebook:
            raise OutputError(
                f"{place}: the table is weighted, and by what it does not say; give the output its 'weight'"
            )
        new["weight"] = table.weight
    table = _errors(table, entry, codebook, new, place)
    return InstrumentalEntry.model_validate(entry.model_dump(exclude_unset=True) | new), table


def _errors(
    table: Coefficients, entry: InstrumentalEntry, codebook: Codebook, new: dict[str, Any], place: str
) -> Coefficients:
    """The table, with the covariance of the output in `new` where the table says it; without the tests that are known
    of errors by the model alone.
    """
    told = entry.covariance or entry.cluster
    if told and table.robust == "nonrobust":
        raise OutputError(
            f"{place}: the standard errors of the table are those of the model, and the output has another covariance; "
            "correct it"
        )
    if not told and table.covariance:
        if table.clustered and table.cluster not in codebook:
            raise OutputError(f"{place}: its standard errors are by clusters; give the output its 'cluster'")
        new |= {"covariance": table.covariance} | ({"cluster": table.cluster} if table.clustered else {})
    covariance = table.covariance or entry.covariance or ("robust" if entry.cluster else "")
    single, firsts = dict(table.single), table.first_stages
    if covariance:
        gone = [part for part in _TESTS if single.pop(part, "") or (part == "first_stage_f" and firsts)]
        if gone:
            remark(place, f"{', '.join(gone)} are not assessed: of robust errors they are not known")
        firsts = ()
    if not table.covariance and table.robust not in ("", "nonrobust"):
        gone = [part for part in ("f", "wald") if single.pop(part, "")]
        if gone:
            remark(place, f"{', '.join(gone)} are not assessed: the errors are {table.robust}, in a way not known")
    if table.rows and not any(name.casefold() in CONSTANTS for name, _ in table.rows) and not entry.keep:
        gone = [part for part in ("f", "wald", "sargan") if single.pop(part, "")]
        if gone:
            remark(place, f"{', '.join(gone)} are not assessed: without a constant programs differ in them")
    if (
        new.get("weight", entry.weight)
        and table.by not in ("ivreg", "statsmodels", "")
        and single.pop("residual_sd", "")
    ):
        remark(place, "the residual standard deviation is not assessed: with weights its unit is not known")
    rows = table.rows
    if not table.by and entry.program not in LARGE_SAMPLE and _limits_by_z(rows):
        remark(
            place, "its confidence limits are not assessed: they are by the normal distribution, where p-values have t"
        )
        rows = tuple((name, {k: v for k, v in texts.items() if k not in ("lower", "upper")}) for name, texts in rows)
    return replace(table, rows=rows, single=single, first_stages=firsts, covariance=covariance)


def _limits_by_z(rows: Sequence[tuple[str, Mapping[str, str]]]) -> bool:
    """Whether limits lie 1.96 errors off, as the confint of AER's ivreg has them."""
    for _, texts in rows:
        low, high, error = (read_printed(texts.get(part, "")) for part in ("lower", "upper", "standard_errors"))
        if low is None or high is None or error is None or error.value <= 0.0:
            return False
        if abs((high.value - low.value) / 2.0 / error.value - _Z) > _OF_Z + (low.half + error.half) / error.value:
            return False
    return bool(rows)


def _named(names: Sequence[str], codebook: Codebook) -> tuple[str, ...]:
    """Terms of a formula from what a program names: '2.region' of Stata and 'region[T.south]' are C(region)."""
    found = []
    for name in names:
        level = _LEVEL.fullmatch(name) or re.fullmatch(r"(?:C\()?(\w+)\)?\[.*\]", name)
        plain = level[1] if level else name
        found.append(f"C({plain})" if level and plain in codebook else name)
    return tuple(dict.fromkeys(found))


def _alike(said: Sequence[str], printed: Sequence[str], key: str, formula: str, endogenous: Sequence[str]) -> bool:
    """Whether two lists of terms are the same; of instruments, the exogenous terms of the formula apart."""
    own, theirs = ({_bare(each) for each in names} for names in (said, printed))
    if key == "instruments":
        exogenous = {_bare(each) for each in _terms(formula.partition("~")[2])} - {_bare(each) for each in endogenous}
        own, theirs = own - exogenous, theirs - exogenous
    return own == theirs


def _bare(term: str) -> str:
    """A term without what makes a category of it, in whichever language."""
    return re.sub(
        r"[\s`]", "", re.sub(r"\b(?:C|factor|as\.factor)\(\s*`?([\w.]+)`?[^()]*(?:\([^()]*\))?\)", r"\1", term)
    )
