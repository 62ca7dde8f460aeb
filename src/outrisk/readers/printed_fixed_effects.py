"""What prints of regressions say of fixed effects: Stata's areg, xtreg and reghdfe, and R's fixest and plm."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.regression.fixed_effects import split_absorbed
from outrisk.outputs.regression.programs import Program
from outrisk.outputs.regression.regression_entry import RegressionEntry
from outrisk.outputs.regression.sandwich import Estimator
from outrisk.readers.coefficients import Coefficients

_NUMBER = r"(-?[\d,]*\.?\d+(?:e[-+]?\d+)?)"
_STATA: tuple[tuple[str, Program], ...] = (
    (r"^\s*Linear regression, absorbing indicators", "areg"),
    (r"^\s*Fixed-effects \(within\) regression", "xtreg"),
    (r"^\s*HDFE Linear regression", "reghdfe"),
)
_OF_STATA = {
    "r2_adjusted": rf"Adj R-squared\s*=\s*{_NUMBER}",
    "r2_within": rf"(?:Within R-sq\.|\b[Ww]ithin)\s*=\s*{_NUMBER}",
    "f": rf"\bF\(\s*[\d,.]+\s*,\s*[\d,.]+\)\s*=\s*{_NUMBER}",
    "sigma_u": rf"^\s*sigma_u \|\s+{_NUMBER}",
    "residual_sd": rf"(?:^\s*sigma_e \||Root MSE\s*=)\s*{_NUMBER}",
    "rho": rf"^\s*rho \|\s+{_NUMBER}",
}
_UNREAD = {  # what a log says of a model and no output has, by a pattern
    "the R2 between and overall, and corr(u_i, Xb)": r"corr\(u_i, Xb\)",
    "the least, mean and largest number of records per group": r"Obs per group:",
    "the F test of the fixed effects": r"F test (?:of absorbed|that all u_i)|\| +F\([\d, ]+\) *=.*categories",
}
_OTHERS_OF_FIXEST = {  # lines of models that are others, and what to do
    "Weights": "and weights with fixed effects are not known; fit it without them",
    "Offset": "which is not known; fit it without it",
    "Varying slopes": "which are not known; write them as terms of the formula",
}
_ROBUST: dict[str, Estimator] = {"iid": "", "heteroskedasticity-robust": "HC1", "clustered": "CR1S"}


@dataclass
class Absorbed:
    """What a print says: the program, the variables that are absorbed (none where it names none) and how many levels
    each has, texts of other numbers by part, and what else is printed, in words. robust, covariance, cluster,
    response, subset: as of `Coefficients`.
    """

    program: Program
    names: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    single: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    robust: str = ""
    covariance: Estimator = ""
    cluster: str = ""
    response: str = ""
    subset: str = ""


def of_stata(text: str, place: str) -> Absorbed | None:
    """What a log of areg, xtreg (fe) or reghdfe says; None for another command. OutputError for xtreg's others."""
    other = re.search(r"^\s*((?:Random-effects ML|Between|GEE|Population-averaged)\b.*? regression)", text, re.M)
    if other and "Group variable" in text:
        raise OutputError(f"{place}: it is a {other[1]}, which is not known; of xtreg, fe and re are")
    program = next((name for pattern, name in _STATA if re.search(pattern, text, re.M)), None)
    if program is None:
        return None
    found = Absorbed(program)
    for part, pattern in _OF_STATA.items():
        said = re.search(pattern, text, re.M)
        if said:
            found.single[part] = said[1]
    found.unread = [what for what, pattern in _UNREAD.items() if re.search(pattern, text, re.M)]
    if program == "reghdfe":
        rows = re.findall(r"^\s*([\w.#]+)\s*\|\s*(\d+)\s+(\d+)\s+(\d+)\s*[?*]?\s*\|\s*$", text, re.M)
        found.names, found.levels = tuple(row[0] for row in rows), tuple(row[1] for row in rows)
    else:
        name = re.search(r"(?:Absorbed variable|Group variable)\s*(?:\(i\))?\s*:\s*(\w+)", text)
        count = re.search(r"(?:No\. of categories|Number of groups)\s*=\s*([\d,]+)", text)
        footer = re.search(r"^\s*(\w+) \|\s+F\([\d, ]+\)\s*=.*\(([\d,]+) categories\)", text, re.M)
        found.names = (name[1],) if name else (footer[1],) if footer else ()
        found.levels = (count[1],) if count else (footer[2],) if footer else ()
    return found


def of_r(text: str, place: str) -> Absorbed | None:
    """What a print of fixest's feols or a summary of plm says; None for another fit. OutputError for a plm that is not
    of the model 'within', and for what else fixest fits.
    """
    if re.search(r"^\w.* estimation, Dep\. Var\.:", text, re.M):
        return _of_fixest(text, place)
    if re.search(r"\bplm\(", text) and re.search(r"^(?:Oneway|Twoways)", text, re.M):
        return _of_plm(text, place)
    return None


def _of_fixest(text: str, place: str) -> Absorbed | None:
    head = re.search(r"^(\w.*?) estimation, Dep\. Var\.:\s*(\S+)", text, re.M)
    assert head is not None
    if head[1] != "OLS":
        raise OutputError(f"{place}: it is fixest's {head[1]}, which is not known; feols (OLS) is")
    for what, way in _OTHERS_OF_FIXEST.items():
        other = re.search(rf"^{what}.*:\s*(.+?)\s*$", text, re.M)
        if other:
            raise OutputError(f"{place}: it is of {other[0].strip()}, {way}")
    said = re.search(r"^Fixed-effects:\s*(.+?)\s*$", text, re.M)
    pairs = re.findall(r"([\w.^]+):\s*([\d,]*\d)", said[1]) if said else []
    found = Absorbed("fixest", tuple(one for one, _ in pairs), tuple(count for _, count in pairs), response=head[2])
    for part, name in (("rmse", "RMSE"), ("r2_adjusted", r"Adj\. R2"), ("r2_within", "Within R2")):
        number = re.search(rf"{name}:\s*{_NUMBER}", text)
        if number:
            found.single[part] = number[1]
    subset = re.search(r"^(?:Subset|Sample)\b.*?:\s*(.+?)\s*$", text, re.M)
    found.subset = subset[1] if subset else ""
    n = re.search(r"^Observations:\s*([\d,]+)", text, re.M)
    found.single |= {"n": n[1]} if n else {}
    errors = re.search(r"^Standard-errors:\s*([\w-]+)(?:\s*\((.+?)\))?", text, re.M)
    kind = errors[1].casefold() if errors else "iid"
    found.robust = "nonrobust" if kind == "iid" else kind
    found.covariance = _ROBUST.get(kind, "")
    if errors and errors[2]:
        found.cluster = errors[2].strip()
        if re.search(r"[&^]", found.cluster):
            found.covariance, found.robust = "", f"clustered by {found.cluster}"
    return found


def _of_plm(text: str, place: str) -> Absorbed:
    head = re.search(r"^(Oneway|Twoways)\s*(?:\((\w+)\))?\s*effects?\s+(.+?)\s*(?:Model)?\s*$", text, re.M)
    if head is None or head[3] != "Within":
        raise OutputError(f"{place}: it is plm's {head[3] if head else 'model'}, which is not known; 'within' is")
    if re.search(r"^Instrumental variable estimation", text, re.M):
        raise OutputError(f"{place}: it is of instrumental variables, which are not known; fit it without them")
    call = " ".join(text.partition("Call:")[2].partition("Panel:")[0].split())
    index = re.search(r"index\s*=\s*c\(([^)]*)\)", call)
    named = re.findall(r"[\w.]+", index[1]) if index else []
    panel = re.search(r"Panel:\s*n\s*=\s*(\d+),\s*T\s*=\s*(\d+)(-\d+)?,\s*N\s*=\s*(\d+)", text)
    which = {"individual": [0], "time": [1]}.get(head[2] or "", [0, 1])
    found = Absorbed("plm", tuple(named[at] for at in which if at < len(named)))
    if panel:
        found.single["n"] = panel[4]
        counts = [panel[1], "" if panel[3] else panel[2]]
        levels = tuple(counts[at] for at in which)
        found.levels = levels if all(levels) else ()
    for part, pattern in (
        ("r2_within", rf"^R-Squared:\s*{_NUMBER}"),
        ("r2_adjusted", rf"^Adj\. R-Squared:\s*{_NUMBER}"),
        ("f", rf"F-statistic:\s*{_NUMBER}"),
    ):
        number = re.search(pattern, text, re.M)
        if number:
            found.single[part] = number[1]
    found.unread = ["sums of squares"] if "Sum of Squares" in text else []
    found.robust = "nonrobust"
    if "variance-covariance matrix supplied" in text:
        found.robust = "those of a covariance matrix that was supplied"
        found.single.pop("f", None)
    return found


def absorbing(table: Coefficients, entry: RegressionEntry, codebook: Codebook, place: str) -> RegressionEntry:
    """The entry with the fixed effects of a print, where it does not say them itself, and those of its formula apart.

    OutputError where the two differ, or the print names none or what is no variable.
    """
    formula, named = split_absorbed(entry.formula)
    said = entry.absorb or named
    if not said and not table.program:
        return entry
    program = entry.program or table.program or None
    if table.absorb and said and set(table.absorb) != set(said):
        raise OutputError(
            f"{place}: the table absorbs {' and '.join(table.absorb)}, the output says {' and '.join(said)}; correct it"
        )
    names = said or table.absorb
    if not names:
        if table.program == "fixest":
            return entry
        raise OutputError(f"{place}: the table does not name what is absorbed; give the output its 'absorb'")
    missing = [name for name in names if name not in codebook]
    if missing:
        way = (
            "make one variable of it (data: derive)"
            if re.search(r"[#^]", missing[0])
            else "give the output its 'absorb'"
        )
        raise OutputError(f"{place}: it absorbs '{missing[0]}', which is no variable; {way}")
    return RegressionEntry.model_validate(
        entry.model_dump(exclude_unset=True) | {"formula": formula, "absorb": names, "program": program}
    )


def levels_of(table: Coefficients, names: Sequence[str]) -> list[str]:
    """Texts of how many levels each absorbed variable has, in the order of an output; 'withheld' for none."""
    found = dict(zip(table.absorb, table.levels, strict=False))
    if not found and len(table.levels) == len(names):
        return list(table.levels)
    return [found.get(name, "") for name in names]
