"""What a printed regression releases: its parts, their decimals, and its numbers as the values of an entry."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from scipy import stats

from outrisk.errors import OutputError
from outrisk.outputs.regression.regression import Regression
from outrisk.outputs.regression.regression_entry import FormulaEntry
from outrisk.outputs.regression.release import COUNTS, INFERENCE, NUMBERS
from outrisk.readers.coefficients import Coefficients
from outrisk.readers.printed_fixed_effects import levels_of
from outrisk.readers.printed_number import Printed, as_given, decimals_of, is_undefined, is_withheld, read_printed
from outrisk.readers.remarks import remark

_ITERATED = ("logit", "probit", "poisson", "negbin", "ologit", "oprobit")  # whose limits R's confint profiles
_BY_IRLS = ("logit", "poisson")  # whose standard errors R takes one step before its search ends
_OF_IRLS = 3e-4  # of a standard error: of 400 fits of random designs by R's glm none was 2.9e-4 off
_COVERED = 0.1  # of half a last digit, as a check takes that for rounding
_TO = " to "  # between the ends of a range that a reader makes of a number


def parts_of(table: Coefficients, entry: FormulaEntry, place: str) -> list[str]:
    """What the table releases; where the study says it, that."""
    there = {part for texts in _texts(table) for part, text in texts.items() if text.strip()}
    there |= {"confidence_limits"} if {"lower", "upper"} <= there else set()
    there |= {part for part, text in table.single.items() if text.strip()}
    there |= {"levels"} if table.levels else set()
    there |= {"first_stage_f"} if table.first_stages else set()
    if entry.kind == "negbin":
        there.discard("pseudo_r2")  # against another dispersion, which is not known
    expected = table.expected and entry.kind in ("negbin", "probit") and not table.robust
    unknown = expected or (table.robust not in ("", "nonrobust") and (entry.kind == "cox" or not table.covariance))
    if "release" in entry.model_fields_set:
        if expected and set(INFERENCE) & set(entry.release):
            raise OutputError(
                f"{place}: its standard errors of a {entry.kind} are those of the expected information, which are not "
                "assessed; release neither them nor limits and p-values"
            )
        if unknown and set(INFERENCE) & set(entry.release):
            way = (
                ""
                if entry.kind == "cox"
                else "give the output its 'covariance', and its 'cluster' if there is one, or "
            )
            raise OutputError(
                f"{place}: its standard errors are {table.robust}{' by clusters' if table.clustered else ''}, and how "
                f"these are computed is not known; {way}release neither them nor limits and p-values"
            )
        return list(entry.release)
    if unknown:
        some = [part.replace("_", " ") for part in NUMBERS if part in there and part in INFERENCE]
        why = "they are by the expected information" if expected else f"they are {table.robust}, in a way not known"
        if some:
            remark(place, f"{' and '.join(some)} are not assessed: {why}")
        there -= set(INFERENCE)
    parts: list[str] = [part for part in NUMBERS if part in there]
    if table.perhaps_profiled and not table.profiled and entry.kind in _ITERATED and "confidence_limits" in parts:
        rest = [part for part in parts if part != "confidence_limits"]
        raise OutputError(
            f"{place}: R takes confidence limits of a {entry.kind} from the profile likelihood unless it is told "
            f"otherwise, which is not assessed; say what is, release: [{', '.join(rest)}], and look at the limits "
            f"yourself; or release: [{', '.join(parts)}], where they are Wald's (estimate ± 1.96 standard errors)"
        )
    if table.profiled and "confidence_limits" in parts:
        parts.remove("confidence_limits")
        raise OutputError(
            f"{place}: its confidence limits are no multiple of the standard errors (R's confint takes the profile "
            f"likelihood), which is not assessed; say what is, release: [{', '.join(parts)}], and look at them yourself"
        )
    return parts


def _texts(table: Coefficients) -> list[Mapping[str, str]]:
    """Texts by part of each row, those of thresholds or a dispersion last."""
    return [*(texts for _, texts in table.rows), *table.shape]


def printed_decimals(table: Coefficients, entry: FormulaEntry, parts: Sequence[str]) -> Any:
    """Decimals by part, as they are printed; where the study says them, those."""
    if "decimals" in entry.model_fields_set:
        return entry.decimals
    found = {}
    for part in parts:
        if part in COUNTS:
            continue
        sources = ("lower", "upper") if part == "confidence_limits" else (part,)
        texts = [texts.get(each, "") for texts in _texts(table) for each in sources]
        if part == "first_stage_f":
            texts += [text for _, text in table.first_stages]
        texts.append(table.single.get(part, ""))
        plain = [read_printed(text, table.comma) for text in texts if text.strip() and _TO not in text]
        ends = [read_printed(end) for text in texts if _TO in text for end in text.split(_TO)]
        found[part] = decimals_of(plain if any(plain) else ends, table.exact)
    return found


def with_values(
    table: Coefficients, model: FormulaEntry, built: Regression, order: Sequence[int | None], place: str
) -> FormulaEntry:
    """The entry with the numbers of the table; `order`: the row of each column of the design, None if it has none.

    What a table does not print of a threshold or a dispersion, as Stata no p-values, is withheld.
    """
    rows = [None if row is None else table.rows[row][1] for row in order]
    layout, values = built.release.layout(len(order) + len(table.shape)), list[Any]()
    for part, _ in layout:
        if part == "levels":
            for text in levels_of(table, built.release.absorbed):
                values.append(_value(table, part, text, built, len(values), place) if text else "withheld")
            continue
        if part == "first_stage_f":
            for text in _first_stages(table, built.release.endogenous, place):
                values.append(_value(table, part, text, built, len(values), place))
            continue
        if part == "confidence_limits":
            sources: tuple[str, ...] = ("lower", "upper")
        else:
            sources = (part,)
        for source in sources:
            if part in table.single:
                values.append(_value(table, part, table.single[part], built, len(values), place))
                continue
            for texts in rows:
                if texts is None:
                    values.append("withheld")
                    continue
                ratio = texts["coefficients"] if table.errors_of_ratios else ""
                value = _value(table, source, texts.get(source, ""), built, len(values), place, ratio)
                slack = _slack(table, source, texts) if table.expected and model.kind in _BY_IRLS else 0.0
                values.append(_widened(value, slack, int(built.decimals[len(values)])))
            for texts in table.shape:
                text = texts.get(source, "")
                none = is_withheld(text) or is_undefined(text)
                values.append("withheld" if none else _value(table, source, text, built, len(values), place))
    return model.model_copy(update={"values": values})


def _first_stages(table: Coefficients, names: Sequence[str], place: str) -> Sequence[str]:
    """Texts of the F of each first stage, in the order of the endogenous columns of these names."""
    if len(table.first_stages) != len(names):
        raise OutputError(
            f"{place}: it has the F of {len(table.first_stages)} first stages, the output has {len(names)} endogenous "
            "columns; say with 'release' what is released"
        )
    if len(names) == 1:
        return [table.first_stages[0][1]]
    texts = {_letters(name): text for name, text in table.first_stages}
    if set(texts) != {_letters(name) for name in names}:
        raise OutputError(
            f"{place}: it has first stages of {', '.join(name for name, _ in table.first_stages)}, the output has "
            f"{', '.join(names)} as endogenous columns; leave first_stage_f out of 'release'"
        )
    return [texts[_letters(name)] for name in names]


def _letters(column: str) -> str:
    """A column's name without marks, as R's 'factor(region)south' and formulaic's 'C(region)[T.south]' share."""
    return re.sub(r"\W", "", re.sub(r"\b(?:as\.factor|factor|C)\(|\[T\.", "", column))


def _value(
    table: Coefficients, part: str, text: str, built: Regression, at: int, place: str, ratio: str = ""
) -> float | str:
    """One number; of a standard error that is one of a ratio, `ratio` is that."""
    label = built.labels[at]
    if is_undefined(text):
        return "undefined"
    if _TO in text or text == "withheld":
        return text
    found = read_printed(text, table.comma)
    if found is None:
        if not text.strip():
            raise OutputError(f"{place}: no value for {label}; say with 'release' what is released")
        raise OutputError(f"{place}: the value of {label} is {text[:40]!r}, which is not a number")
    if part == "coefficients" and (found.bracketed or found.percent):
        raise OutputError(
            f"{place}: the value of {label} is {text[:40]!r}, {'in brackets' if found.bracketed else 'a percentage'}; "
            "write the number alone, a negative one with a minus"
        )
    decimals = int(built.decimals[at])
    if part in COUNTS:
        if found.value % 1 or found.value < 1:
            raise OutputError(f"{place}: the {label} is {text!r}; it is a whole number from 1")
        return found.value
    if part == "standard_errors" and ratio:
        return _error_of_b(found, read_printed(ratio, table.comma))
    if part in table.single:
        return _of_page(found, decimals)
    return as_given(found, decimals, table.significant, table.own_digits)


def _slack(table: Coefficients, part: str, texts: Mapping[str, str]) -> float:
    """How far R's stopping rule may leave a printed number from that of the maximum."""
    found = read_printed(texts.get(part, ""), table.comma)
    if found is None or found.below:
        return 0.0
    if part == "standard_errors":
        return _OF_IRLS * found.value
    if part == "p_values" and 0.0 < found.value < 1.0:
        z = float(stats.norm.isf(found.value / 2.0))
        return float(2.0 * stats.norm.pdf(z)) * z * _OF_IRLS
    if part in ("lower", "upper"):
        b = read_printed(texts.get("coefficients", ""), table.comma)
        if b is not None and table.exponentiated and found.value > 0 and b.value > 0:
            return _OF_IRLS * abs(math.log(found.value / b.value)) * found.value
        return 0.0 if b is None else _OF_IRLS * abs(found.value - b.value)
    return 0.0


def _widened(value: float | str, slack: float, decimals: int) -> float | str:
    """A number that may be so far from what it is of, as a range where its rounding does not cover that."""
    if not slack or (isinstance(value, str) and _TO not in value):
        return value
    ends = [float(end) for end in value.split(_TO)] if isinstance(value, str) else [float(value)] * 2
    half = 0.0 if isinstance(value, str) else 0.5 * 10.0**-decimals
    if slack <= _COVERED * max(half, (ends[1] - ends[0]) / 2.0):
        return value
    low = ends[0] - half - slack
    return f"{low if ends[0] < 0 else max(low, 0.0):.12g} to {ends[1] + half + slack:.12g}"


def _error_of_b(error: Printed, ratio: Printed | None) -> float | str:
    """The standard error of b, where that of exp(b) is printed: exp(b) times it."""
    if ratio is None or ratio.value - ratio.half <= 0:
        return "withheld"
    low = max(error.value - error.half, 0.0) / (ratio.value + ratio.half)
    high = (error.value + error.half) / (ratio.value - ratio.half)
    return f"{low:.9f} to {high:.9f}"


def _of_page(found: Printed, decimals: int) -> float | str:
    """A number that stands alone, such as a log-likelihood: to its own digits, of which five are significant."""
    if abs(found.value) >= 10_000 and found.decimals <= 1 and math.isclose(found.value % 1, 0.0):
        half = 0.5 * 10.0 ** max(0, len(str(int(abs(found.value)))) - 5)
        return f"{found.value - half:.12g} to {found.value + half:.12g}"
    return as_given(found, decimals)
