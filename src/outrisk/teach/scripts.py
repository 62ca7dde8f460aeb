"""Scripts that read a synthetic file with its labels: a do-file for Stata, a script for R."""

from __future__ import annotations

import json
import re

from outrisk.codebook import Codebook, Variable

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")  # names that Stata takes as they are
_WHOLE = re.compile(r"-?\d{1,9}")


def stata_script(codebook: Codebook, file: str) -> str:
    """A do-file: import, variable labels, value labels; text becomes a labelled number in codebook order."""
    texts = [at for at, each in enumerate(codebook.variables, 1) if each.kind == "categorical" and not coded(each)]
    as_text = f" stringcols({' '.join(map(str, texts))})" if texts else ""
    lines = [
        "* synthetic: reads synthetic teaching data; no record was collected from a person",
        f'import delimited "{file}", varnames(1) case(preserve) encoding("utf-8"){as_text} clear',
    ]
    for number, variable in enumerate(codebook.variables, start=1):
        if not _NAME.fullmatch(variable.name):
            lines.append("* a variable whose name Stata changes stays without labels")
            continue
        if variable.kind == "categorical":
            lines += _stata_levels(variable, number)
        lines += [f"label variable {variable.name} {_stata(variable.label)}"] if variable.label else []
    return "\n".join(lines) + "\n"


def _stata_levels(variable: Variable, number: int) -> list[str]:
    """Value labels of whole numbers as they are, of text as numbers from 1."""
    whole, name, labels = coded(variable), variable.name, f"labels{number}"
    if whole and not variable.descriptions:
        return []
    codes = variable.values if whole else range(1, len(variable.values) + 1)
    said = zip(codes, meanings(variable), strict=True)
    lines = [f"label define {labels} {code} {_stata(text)}, add" for code, text in said]
    if whole:
        return [*lines, f"label values {name} {labels}"]
    made = f"coded{number}"
    lines.append(f"generate {made} = .")
    lines += [f"replace {made} = {at} if {name} == {_stata(value)}" for at, value in enumerate(variable.values, 1)]
    return [*lines, f"label values {made} {labels}", f"drop {name}", f"rename {made} {name}"]


def r_script(codebook: Codebook, file: str) -> str:
    """An R script that makes the data frame `data`: categories as factors with their labels."""
    text = [variable.name for variable in codebook.variables if variable.kind == "categorical"]
    classes = ", ".join(f'{_r(name)} = "character"' for name in text)
    lines = [
        "# synthetic: reads synthetic teaching data; no record was collected from a person",
        f'data <- read.csv({_r(file)}, check.names = FALSE, na.strings = "", encoding = "UTF-8"'
        + (f", colClasses = c({classes}))" if text else ")"),
    ]
    for variable in codebook.variables:
        place = f"data[[{_r(variable.name)}]]"
        if variable.kind == "categorical":
            levels, labels = (", ".join(map(_r, texts)) for texts in (variable.values, meanings(variable)))
            lines.append(f"{place} <- factor({place}, levels = c({levels}), labels = c({labels}))")
        if variable.label:
            lines.append(f'attr({place}, "label") <- {_r(variable.label)}')
    return "\n".join(lines) + "\n"


def coded(variable: Variable) -> bool:
    """Whether the levels are whole numbers, which Stata can label as they are."""
    return all(_WHOLE.fullmatch(value) and str(int(value)) == value for value in variable.values)


def meanings(variable: Variable) -> list[str]:
    """What each level is called, each once: its description, or itself."""
    pairs = list(zip(variable.descriptions or variable.values, variable.values, strict=True))
    found = [text or value for text, value in pairs]
    said = zip(found, variable.values, strict=True)
    return [f"{text} ({value})" if found.count(text) > 1 else text for text, value in said]


def _stata(text: str) -> str:
    """Text in compound quotes, in which no macro is expanded."""
    plain = " ".join(text.split()).replace("\\", "/").replace("`", "'").replace("$", "\\$")
    return f'`"{plain.replace(chr(34) + chr(39), chr(34) + " " + chr(39))}"\''


def _r(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
