"""The one way to a page: sections, each a template and a function of the records, numbered where they come to stand.

A page is a list of sections (`pages/`). Nobody writes a section's number: templates say `{{ ref("risk") }}`, texts made
in Python say `[[risk]]`, and both become a link with the number the section has on this page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Generic, TypeVar

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from outrisk.report import formats
from outrisk.whole_files import write_text

Record = TypeVar("Record")


@dataclass(frozen=True, eq=False)
class Section(Generic[Record]):
    """A section of a page.

    name: its anchor, once a page. title: its heading. content: what the template shows, from what the page is about;
    None leaves the section out. template: Jinja text of the body, without heading; `asset` reads one of this package.
    """

    name: str
    title: str
    content: Callable[[Record], Mapping[str, Any] | None]
    template: str


@dataclass(frozen=True)
class Head:
    """What stands above the sections; warnings are (word, text) pairs."""

    title: str
    heading: str
    kicker: str
    warnings: tuple[tuple[str, str | Markup], ...] = ()
    description: str = ""


def compose(head: Head, sections: Sequence[Section[Record]], record: Record) -> str:
    """One self-contained HTML page; same record, same text."""
    contents = [(section, section.content(record)) for section in sections]
    shown = [(section, content) for section, content in contents if content is not None]
    page = _environment([section.name for section, _ in shown])
    bodies = [(section, Markup(page.from_string(section.template).render(content))) for section, content in shown]
    css = Markup(asset("style.css"))  # our own file
    return page.from_string(asset("page.html")).render(head=head, sections=bodies, css=css)


def asset(name: str) -> str:
    """A file of `templates/` as text."""
    return files("outrisk.report").joinpath("templates", *name.split("/")).read_text(encoding="utf-8")


def _environment(names: Sequence[str]) -> Environment:
    """Templates with the filters that write numbers for readers, and with references to the sections of these names."""
    page = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(asset),
    )
    shown = (formats.share, formats.signed, formats.points, formats.interval, formats.error, formats.count)
    more = (formats.seconds, formats.names, formats.plural, formats.level_name, formats.file_name, formats.stop)
    page.filters.update({function.__name__: function for function in (*shown, *more)})
    numbers = {name: number for number, name in enumerate(names, start=1)}

    def ref(name: str, word: str = "section") -> Markup:
        if name not in numbers:
            raise LookupError(f"no section {name!r} on this page; it has {names}")
        return Markup('<a href="#{}">{} {}</a>').format(name, word, numbers[name])

    def referring(text: str) -> Markup:
        """A text whose `[[name]]` become references; other brackets stay."""
        parts = re.split(r"\[\[([^\[\]]*)\]\]", text)
        found = [ref(part) if at % 2 and part in numbers else _mark(part, at) for at, part in enumerate(parts)]
        return Markup("").join(found)

    page.globals["ref"] = ref
    page.filters["referring"] = referring
    return page


def _mark(part: str, at: int) -> Markup:
    return escape(f"[[{part}]]" if at % 2 else part)


def write_page(path: Path, text: str) -> Path:
    """Write a page whole or not at all, and return its path."""
    write_text(path, text)
    return path
