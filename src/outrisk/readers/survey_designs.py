"""What prints say of a survey's design: R's package survey in its call, Stata's svy in its head."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from outrisk.codebook import Codebook
from outrisk.errors import OutputError
from outrisk.outputs.survey_design import SurveyDesign, SurveyProgram

_CALL = re.compile(r"(?:survey::)?svydesign\(((?:[^()]|\([^()]*\))*)\)")
_NAME = re.compile(r"~\s*([A-Za-z_.][\w.]*)(?:\s*\+.*)?")  # further stages do not count where the first is as drawn
_OF_STATA = re.compile(r"^\s*Survey:|Number of PSUs\s*=|Design df\s*=", re.M)
_REPLICATES = re.compile(
    r"(?im)^[^|\n]*\|\s*(?:jackknife|jknife|brr|bootstrap|sdr)\b|(?:jackknife|brr|bootstrap|sdr) std"
)
_CALIBRATED = re.compile(
    r"\b(?:calibrate|postStratify|rake|twophase)\(|N\. of (?:poststrata|calibration)\w*|Calibration *="
)


@dataclass(frozen=True)
class PrintedDesign:
    """The program, and names of weights, strata and PSU as far as they are printed: '' for one that is not, None for
    one that is known not to be. subset: it is of a subpopulation.
    """

    program: SurveyProgram
    weights: str | None = ""
    strata: str | None = ""
    psu: str | None = ""
    subset: bool = False

    @property
    def clustered(self) -> bool:
        """Whether it may have strata or PSUs."""
        return self.strata is not None or self.psu is not None


def design_in(text: str, place: str) -> PrintedDesign | None:
    """The design of a survey that a text is of; None for another text. OutputError for a correction for a finite
    population, and for designs of replicate weights, which are not known.
    """
    if re.search(r"svrepdesign\(|as\.svrepdesign\(", text) or (_OF_STATA.search(text) and _REPLICATES.search(text)):
        raise OutputError(f"{place}: its errors are by replicate weights, which are not known; linearised ones are")
    calibrated = _CALIBRATED.search(text) if _OF_STATA.search(text) or "Survey design:" in text else None
    if calibrated:
        raise OutputError(
            f"{place}: its design is calibrated ({calibrated[0].strip().rstrip('(')}), which is not known; release "
            "estimates by the design itself"
        )
    if _OF_STATA.search(text):
        return PrintedDesign("stata", subset=re.search(r"Subpop\. no\. obs\s*=", text) is not None)
    subset = re.search(r"Survey design:\s*(?:survey:::?)?(?:subset|\[\.survey)", text) is not None
    call = _CALL.search(text)
    if call is None:
        return PrintedDesign("r", subset=subset) if "Survey design:" in text or re.search(r"\bsvyglm\(", text) else None
    said = dict[str, str]()
    for at, each in enumerate(re.split(r",\s*(?![^()]*\))", call[1])):
        name, sign, value = each.partition("=")
        said[name.strip() if sign else ("ids" if at == 0 else f"argument {at}")] = (value if sign else name).strip()
    if "fpc" in said:
        raise OutputError(f"{place}: its design has an fpc, which is not known; release it without")
    ids = said.get("ids", said.get("id", ""))
    psu = None if ids in ("~1", "~0") else _named(ids)
    strata = _named(said["strata"]) if "strata" in said else None
    weights = _named(said.get("weights", "")) if {"weights", "probs"} & set(said) else None
    return PrintedDesign("r", weights, strata, psu, subset)


def _named(text: str) -> str:
    found = _NAME.fullmatch(text)
    return found[1] if found else ""


def with_design(
    printed: PrintedDesign | None, design: SurveyDesign | None, codebook: Codebook, place: str
) -> SurveyDesign | None:
    """The design of study and print together; None where there is none, or the print has strata or PSUs that it does
    not name. OutputError where they differ.
    """
    if printed is None:
        return design
    if printed.subset and not (design and design.subpop):
        raise OutputError(
            f"{place}: it is of a subpopulation of the design; give the output its design with the 'subpop'"
        )
    if design is None:
        names = {role: getattr(printed, role) for role in ("weights", "strata", "psu")}
        told = all(name is None or name in codebook for name in names.values())
        some = {role: name for role, name in names.items() if name}
        return SurveyDesign(program=printed.program, **some) if told and some else None
    for role in ("weights", "strata", "psu"):
        own, theirs = getattr(design, role), getattr(printed, role)
        if (theirs is None and own) or (theirs and theirs in codebook and theirs != own):
            raise OutputError(
                f"{place}: the {role} of the print are '{theirs or 'none'}', the output says design: {role}: "
                f"{own or 'none'}; correct it"
            )
    if "program" in design.model_fields_set and design.program != printed.program:
        raise OutputError(
            f"{place}: it is of {'R' if printed.program == 'r' else 'Stata'}, the output says design: program: "
            f"{design.program}; correct it"
        )
    changes: dict[str, Any] = {"program": printed.program}
    return design.model_copy(update=changes)
