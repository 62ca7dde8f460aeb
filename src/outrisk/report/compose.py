"""The one way to a page: sections, each a template and a function of the records, numbered where they come to stand.

A page is a list of sections (`pages/`). Nobody writes a section's number: templates say `{{ ref("risk") }}`, texts made
in Python say `[[risk]]`, and both become a link with the number the section has on this page, or on the page behind it.
A template draws a figure by `{{ draw(figure) }}`; what a page has drawn is handed back with it, to be kept beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, Generic, TypeVar

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from outrisk.report import formats
from outrisk.report.drawing import Drawing
from outrisk.side_by_side.halved import halved
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


@dataclass(frozen=True, eq=False)
class Behind:
    """The page that stands behind another one: its file, and the names of its sections in their order."""

    file: str
    names: Sequence[str]


@dataclass(frozen=True, eq=False)
class Composed:
    """A page as text, the figures drawn on it, and the names of the sections it has."""

    text: str
    drawings: tuple[Drawing, ...]
    names: tuple[str, ...]


def compose(head: Head, sections: Sequence[Section[Record]], record: Record) -> str:
    """One self-contained HTML page; same record, same text."""
    return composed(head, sections, record).text


def composed(
    head: Head,
    sections: Sequence[Section[Record]],
    record: Record,
    *,
    behind: Behind | None = None,
    numbered: bool = True,
    beside: bool = False,
) -> Composed:
    """A page with what is to be kept beside it.

    numbered: whether sections have numbers, and links at the top. behind: where sections stand that this page refers to
    and does not have. beside: whether figures will stand beside the page as files, so that it links to them.
    """
    contents = halved([partial(section.content, record) for section in sections])
    shown = [(section, content) for section, content in zip(sections, contents, strict=True) if content is not None]
    names = tuple(section.name for section, _ in shown)
    drawings: list[Drawing] = []
    page = _environment(names, behind)

    def draw(figure: Drawing) -> Markup:
        drawings.append(figure)
        return figure.inline if not beside else figure.inline + figure.links

    page.globals["draw"] = draw
    bodies = [(section, Markup(page.from_string(section.template).render(content))) for section, content in shown]
    css = Markup(asset("style.css"))  # our own file
    text = page.from_string(asset("page.html")).render(head=head, sections=bodies, css=css, numbered=numbered)
    return Composed(text, tuple(drawings), names)


def asset(name: str) -> str:
    """A file of `templates/` as text."""
    return files("outrisk.report").joinpath("templates", *name.split("/")).read_text(encoding="utf-8")


def _environment(names: Sequence[str], behind: Behind | None = None) -> Environment:
    """Templates with the filters that write numbers for readers, and with references to the sections of these names."""
    page = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(asset),
    )
    shown = (formats.share, formats.signed, formats.points, formats.interval, formats.error, formats.count)
    others = (formats.seconds, formats.names, formats.plural, formats.level_name, formats.file_name, formats.stop)
    texts = (formats.whole, formats.minus, formats.first_capital)
    page.filters.update({function.__name__: function for function in (*shown, *others, *texts)})
    places = {name: (f"#{name}", "", number) for number, name in enumerate(names, start=1)}
    if behind is not None:
        more = {name: (f"{behind.file}#{name}", "details, ", at) for at, name in enumerate(behind.names, start=1)}
        places = more | places

    def ref(name: str, word: str = "section") -> Markup:
        if name not in places:
            raise LookupError(f"no section {name!r} on this page; it has {names}")
        place, before, number = places[name]
        return Markup('<a href="{}">{}{} {}</a>').format(place, before, word, number)

    def referring(text: str) -> Markup:
        """A text whose `[[name]]` become references; other brackets stay."""
        parts = re.split(r"\[\[([^\[\]]*)\]\]", text)
        found = [ref(part) if at % 2 and part in places else _mark(part, at) for at, part in enumerate(parts)]
        return Markup("").join(found)

    page.globals["ref"] = ref
    page.filters["referring"] = referring
    page.filters["coded"] = _coded
    return page


def _coded(text: str) -> Markup:
    """A text whose parts between backticks, as a terminal shows commands, are code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(Markup("<code>{}</code>").format(part) if at % 2 else part for at, part in enumerate(parts))


def _mark(part: str, at: int) -> Markup:
    return escape(f"[[{part}]]" if at % 2 else part)


def write_page(path: Path, text: str) -> Path:
    """Write a page whole or not at all, and return its path."""
    write_text(path, text)
    return path
