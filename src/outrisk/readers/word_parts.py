"""Parts of a Word document as trees of elements, from a file that nobody vouches for: nothing in it is followed or run.

The standard library's zip and expat are enough for what is read, and python-docx, which needs lxml, would leave out
inserted text (w:ins) without a word.
"""

from __future__ import annotations

import posixpath
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from outrisk.errors import DataError, first_line

_LARGEST_PART = 60_000_000  # bytes, unpacked
_MOST_ELEMENTS = 1_000_000
_DEEPEST = 200  # elements within each other
_OLE = b"\xd0\xcf\x11\xe0"  # how a .doc, or a document with a password, begins


@dataclass(slots=True)
class Element:
    """An element by its local name; its children, among them texts; its attributes by local name."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)

    @property
    def elements(self) -> list[Element]:
        """Its children without texts."""
        return [child for child in self.children if isinstance(child, Element)]

    def child(self, *names: str) -> Element | None:
        """The element on a path of names below it; None where there is none."""
        found: Element | None = self
        for name in names:
            found = next((each for each in found.elements if each.name == name), None) if found else None
        return found

    def value(self, *names: str) -> str | None:
        """The attribute `val` of the element on a path, '' where it has none; None where there is no element."""
        found = self.child(*names)
        return None if found is None else found.attributes.get("val", "")

    def is_on(self, *names: str) -> bool:
        """Whether a property on a path is switched on."""
        return self.value(*names) not in (None, "0", "false", "off")


def read_parts(path: Path) -> tuple[Element, Element | None]:
    """The text of a document and its styles; DataError in one line where it cannot be read."""
    with path.open("rb") as file:
        if file.read(4) == _OLE:
            raise DataError(f"{path}: an old Word document, or one with a password; save it as docx without one")
    try:
        with zipfile.ZipFile(path) as archive:
            name = _main_part(archive, path)
            styles = posixpath.join(posixpath.dirname(name), "styles.xml")
            document = _part(archive, name, path)
            return document, _part(archive, styles, path) if styles in archive.namelist() else None
    except DataError:
        raise
    except Exception as error:  # zip has faults of many kinds
        raise DataError(f"{path}: cannot be read as docx: {first_line(error)}") from None


def _main_part(archive: zipfile.ZipFile, path: Path) -> str:
    """The name of the part that the document's text is in."""
    names = archive.namelist()
    if "_rels/.rels" in names:
        for relation in _part(archive, "_rels/.rels", path).elements:
            target = relation.attributes.get("Target", "").lstrip("/")
            if relation.attributes.get("Type", "").endswith("/officeDocument") and target in names:
                return target
    if "word/document.xml" in names:
        return "word/document.xml"
    raise DataError(f"{path}: no Word document in it; give a docx, or the table as CSV")


def _part(archive: zipfile.ZipFile, name: str, path: Path) -> Element:
    with archive.open(name) as packed:
        raw = packed.read(_LARGEST_PART + 1)
    if len(raw) > _LARGEST_PART:
        raise DataError(f"{path}: its {name} is more than {_LARGEST_PART:,} bytes; give the table alone")
    return parsed(raw, f"{path}: its {name}")


def parsed(raw: bytes, place: str) -> Element:
    """The root of an XML text; DataError for one with a document type, which alone can have entities, and for elements
    within each other without end.
    """
    root = Element("")
    stack, left = [root], iter(range(_MOST_ELEMENTS))

    def start(name: str, attributes: dict[str, str]) -> None:
        if next(left, None) is None:
            raise DataError(f"{place} has more than {_MOST_ELEMENTS:,} elements; give the table alone")
        if len(stack) > _DEEPEST:
            raise DataError(f"{place} has more than {_DEEPEST} elements within each other")
        local = {key.rpartition("|")[2]: value for key, value in attributes.items()}
        element = Element(name.rpartition("|")[2], local)
        stack[-1].children.append(element)
        stack.append(element)

    def refuse(*_: object) -> None:
        raise DataError(f"{place} has a document type, which no document of Word has; it is not read")

    parser = expat.ParserCreate(namespace_separator="|")
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: stack.pop()
    parser.CharacterDataHandler = lambda text: stack[-1].children.append(text)
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(raw, True)
    except expat.ExpatError as error:
        raise DataError(f"{place} is not XML: {first_line(error)}") from None
    return root.elements[0]
