"""Write docs/api.md from the docstrings of the public names: python docs/make_api.py (or make api)."""

from __future__ import annotations

import inspect
import textwrap
from pathlib import Path

import outrisk
from outrisk.api.output_kinds import OutputKind, kinds

PAGE = Path(__file__).with_name("api.md")
HEAD = """# Python API

Made from the docstrings by `make api`; a [notebook](notebook.ipynb) shows it at work. Shares lie in [0, 1], larger =
riskier; what is undefined is NaN with a reason. Errors are kinds of `outrisk.OutRiskError`, in one line. Nothing is
written unless it is asked for.
"""
FUNCTIONS = ("check", "prove", "follow", "assess", "measure", "teach", "init")
CLASSES = (
    "outrisk.api.looking.Checked",
    "outrisk.api.proving.Proof",
    "outrisk.api.assessed.Assessed",
    "outrisk.api.measuring.Measured",
    "outrisk.api.lessons.Taught",
    "outrisk.api.starter.Starter",
)


def page() -> str:
    """The page as text; the same code, the same page."""
    parts = [HEAD, *map(function, FUNCTIONS), "## Results\n", *map(results, CLASSES)]
    parts.append(
        "## Outputs\n\nObjects for every kind of output, with the arguments of a [study file](outputs.md);\n"
        "those before `*` may go without their name. Fitted models of statsmodels (Cox's `PHReg`, too)\n"
        "and tables by `pandas.crosstab` are taken as they are.\n"
    )
    parts += [f"- `outrisk.{name}{arguments(getattr(outrisk, name))}`" for name in kinds()]
    parts += [f"- `outrisk.{name}(...)`: {one_line(getattr(outrisk, name))}" for name in ("Fitted", "Crosstab")]
    return "\n".join(parts) + "\n"


def function(name: str) -> str:
    """A function: how it is called, and what its docstring says."""
    found = inspect.unwrap(getattr(outrisk, name))
    call = "\n".join(textwrap.wrap(f"outrisk.{name}{arguments(found)}", 110, subsequent_indent="    "))
    return f"## outrisk.{name}\n\n```python\n{call}\n```\n\n{prose(inspect.getdoc(found) or '')}\n"


def results(place: str) -> str:
    """A class of results: its properties and methods, a line each."""
    module, _, name = place.rpartition(".")
    kind = getattr(__import__(module, fromlist=[name]), name)
    lines = [f"### {name}\n\n{inspect.getdoc(kind)}\n"]
    for member, value in vars(kind).items():
        if member.startswith("_"):
            continue
        if isinstance(value, property):
            lines.append(f"- `.{member}`: {one_line(value)}")
        elif inspect.isfunction(value):
            lines.append(f"- `.{member}{arguments(value)}`: {one_line(value)}")
    return "\n".join(lines) + "\n"


def arguments(found: object) -> str:
    """The arguments and their defaults, without types and `self`."""
    signature = inspect.signature(found)  # type: ignore[arg-type]
    kept = [
        each.replace(annotation=inspect.Parameter.empty)
        for name, each in signature.parameters.items()
        if name != "self"
    ]
    if isinstance(found, OutputKind):  # whose defaults stand in docs/outputs.md
        kept = [each.replace(default=inspect.Parameter.empty) for each in kept]
    return str(inspect.Signature(kept))


def prose(text: str) -> str:
    """A docstring in numpy's form as Markdown: its headings, a list of its arguments, its examples as code."""
    lines, found, code = text.splitlines(), list[str](), False
    for at, line in enumerate(lines):
        if set(line) == {"-"}:
            continue
        heading = at + 1 < len(lines) and lines[at + 1] != "" and set(lines[at + 1]) == {"-"}
        if code and not line.startswith(">>>"):
            found.append("```")
            code = False
        if line.startswith(">>>"):
            found += [] if code else ["```python"]
            code = True
            found.append(line.removeprefix(">>> "))
        elif heading:
            found += [f"**{line}**", ""]
        elif " : " in line and not line.startswith(" "):
            names, _, what = line.partition(" : ")
            found.append(f"- `{names}`: {what}")
        else:
            found.append(f"  {line.strip()}" if line.startswith("    ") else line)
    return "\n".join([*found, *(["```"] if code else [])])


def one_line(found: object) -> str:
    """The first paragraph of a docstring, in one line."""
    return " ".join((inspect.getdoc(found) or "").split("\n\n")[0].split())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
