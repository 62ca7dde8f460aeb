"""A page as a reader and a browser see it, and run directories altered for what cannot be had in a small study."""

import csv
import json
import re
import shutil
from html.parser import HTMLParser

VOID = {"meta", "br", "col", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """Checks that tags balance, and collects what the tests ask for."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.tables: list[tuple[str, str, list[list[str]]]] = []  # section, caption, rows of cells
        self.words: list[str] = []
        self.above = 0
        self.section, self.cell, self.caption = "", False, False
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag == "section":
            self.section = dict(attrs)["id"]
        if tag == "table":
            self.tables.append((self.section, "", []))
        if tag == "tr":
            self.tables[-1][2].append([""] * self.above)
            self.above = 0
        if tag in ("td", "th"):
            self.tables[-1][2][-1] += [""] * int(dict(attrs).get("colspan", 1))
            self.above += "rowspan" in dict(attrs)  # they stand first here
        self.cell, self.caption = self.cell or tag in ("td", "th"), self.caption or tag == "caption"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.cell, self.caption = self.cell and tag not in ("td", "th"), self.caption and tag != "caption"

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "title"):
            self.words.append(data)
        if self.caption:
            section, caption, rows = self.tables[-1]
            self.tables[-1] = section, caption + data, rows
        elif self.cell:
            self.tables[-1][2][-1][-1] += data

    def table(self, caption: str) -> list[dict[str, str]]:
        """The rows of the table of this caption, by heading (the second of a name is called `name 2`)."""
        (rows,) = [rows for _, found, rows in self.tables if found == caption]
        names = [re.sub(r"\s+", " ", name).strip() for name in rows[0]]
        names = [
            name if name not in names[:i] else f"{name} {names[:i].count(name) + 1}" for i, name in enumerate(names)
        ]
        return [dict(zip(names, (cell.strip() for cell in row), strict=True)) for row in rows[1:]]


def words(text: str) -> str:
    """The page's text as a reader sees it."""
    found = re.sub(r"\s+", " ", " ".join(Page(text).words))
    return re.sub(r" ([.,;)])", r"\1", found.replace("\N{NON-BREAKING HYPHEN}", "-"))


def altered(directory, place, **changes):
    """A copy of a run directory; a change is given what a JSON file (or a CSV's rows) holds, and alters it in place."""
    shutil.copytree(directory, place)
    for name, change in changes.items():
        path = place / name.replace("_json", ".json").replace("_csv", ".csv")
        if path.suffix == ".json":
            document = json.loads(path.read_text())
            change(document)
            path.write_text(json.dumps(document))
        else:
            with path.open(newline="") as file:
                rows = list(csv.DictReader(file))
            columns = list(rows[0])
            change(rows)
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, columns, lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
    return place
