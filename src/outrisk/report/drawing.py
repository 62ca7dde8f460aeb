"""A figure of a page: inline, where it follows the page's colours, and as files of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from outrisk.whole_files import write_bytes, write_text

INK, QUIET, RULE = "#1f2933", "#5f6b76", "#d5dbe1"
# Okabe and Ito (2008): told apart with any colour vision; the shapes tell them apart in grey.
COLOURS = {"original": "#0072B2", "holdout": "#D55E00", "marginal": INK}
PAPER = "#ffffff"
_VARIABLES = {  # what the style sheet calls them, so that a dark page has light figures
    INK: "--ink",
    QUIET: "--quiet",
    RULE: "--rule",
    COLOURS["original"]: "--original",
    COLOURS["holdout"]: "--holdout",
    PAPER: "--paper",
}
FOLDER = "figures"


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure. name: of its files. size: width and height in points. body: what stands inside the <svg> element.

    png: the raster image; None where there is to be none.
    """

    name: str
    description: str
    size: tuple[float, float]
    body: str
    png: bytes | None = None

    @property
    def inline(self) -> Markup:
        """The <svg> element for a page: colours of the style sheet, ids prefixed by the name, wide as its place."""
        body = re.sub(r'\bid="', f'id="{self.name}-', self.body)
        body = re.sub(r'(?:xlink:)?(href="#|url\(#)', rf"\g<1>{self.name}-", body)
        body = re.sub(r"font-family: [^;\"]*(; )?", "", body)  # the style sheet's
        for colour, variable in _VARIABLES.items():
            body = re.sub(re.escape(colour), f"var({variable})", body, flags=re.IGNORECASE)
        box = f"0 0 {self.size[0]:g} {self.size[1]:g}"
        return Markup(f'<svg role="img" aria-label="{self.description}" viewBox="{box}">{body}</svg>')

    @property
    def links(self) -> Markup:
        """Links to the figure's files."""
        ends = ("svg", "png") if self.png else ("svg",)
        links = [f'<a href="{FOLDER}/{self.name}.{end}">{end.upper()}</a>' for end in ends]
        return Markup(f'<p class="note files">This figure as a file: {", ".join(links)}</p>')

    def write(self, folder: Path) -> None:
        """Write the figure as an SVG file, and as PNG if it is to be one, on white."""
        width, height = self.size
        start = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
        text = f'{start} width="{width:g}pt" height="{height:g}pt" viewBox="0 0 {width:g} {height:g}">\n'
        ground = f'<rect width="100%" height="100%" fill="{PAPER}"/>'
        write_text(folder / f"{self.name}.svg", f"{text}{ground}{self.body}</svg>\n")
        if self.png is not None:
            write_bytes(folder / f"{self.name}.png", self.png)


def drawings_as_files(drawings: tuple[Drawing, ...], directory: Path) -> None:
    """Write figures into `figures/` of a directory."""
    folder = directory / FOLDER
    if drawings:
        folder.mkdir(exist_ok=True)
    for drawing in drawings:
        drawing.write(folder)
