"""Draw docs/seven-people-*.svg from what `outrisk prove configs/cacm.yaml` finds.

python docs/make_seven_people.py             # --single: what must go of single numbers, in words
"""

from __future__ import annotations

import sys
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from outrisk.config import read_study
from outrisk.prove.few_people import FewPeople, few_people
from outrisk.prove.what_must_go import MustGo, what_must_go

DOCS = Path(__file__).resolve().parent
COLOURS = {"F": "#b5446e", "M": "#2f6690"}
STYLE = "font-family:system-ui,sans-serif;font-size:13px;fill:#222"


def main() -> None:
    """Write both pictures."""
    study = read_study(DOCS.parent / "configs" / "cacm.yaml")
    book = study.codebook()
    assert book is not None
    few = few_people(book, study.released(book), 7, [rule.mask for rule in study.rules(book)])
    assert few is not None
    found, ended = few.data_sets(np.ones(len(few.statistics), dtype=bool), most=2)
    assert ended and len(found) == 1
    labels = [book[name].labels for name in few.names]
    people = [
        {name: labels[at][code] for at, (name, code) in enumerate(zip(few.names, row, strict=True))}
        for row in few.kinds[found[0]].tolist()
    ]
    if "--single" in sys.argv:
        alone = few.number_by_number()
        single = what_must_go(alone, found[0], searches=100_000)
        print(f"smallest sets of single numbers that leave nobody proved, all of them: {single.complete}")
        for answer in single.answers:
            print("; ".join(f"{alone.statistics[at].output} {alone.statistics[at].words}" for at in answer))
        return
    must_go = what_must_go(few, found[0])
    (DOCS / "seven-people-found.svg").write_text(picture_of_people(people), encoding="utf-8")
    (DOCS / "seven-people-must-go.svg").write_text(picture_of_numbers(few, must_go), encoding="utf-8")


def picture_of_people(people: list[dict[str, str]]) -> str:
    """Seven people on a line of age."""
    parts = ['<line x1="40" x2="680" y1="110" y2="110" stroke="#999"/>']
    for age in range(0, 91, 10):
        x = 40 + age * 7
        parts.append(f'<text x="{x}" y="132" text-anchor="middle" style="{STYLE};fill:#777">{age}</text>')
    for each in people:
        x = 40 + int(each["age"]) * 7
        married = each["marital"] == "M"
        fill = COLOURS[each["sex"]] if each["race"] == "B" else "#fff"
        shape = f'fill="{fill}" stroke="{COLOURS[each["sex"]]}" stroke-width="3"'
        mark = f'<rect x="{x - 9}" y="101" width="18" height="18" {shape}/>' if married else ""
        parts.append(mark or f'<circle cx="{x}" cy="110" r="10" {shape}/>')
        parts.append(f'<text x="{x}" y="88" text-anchor="middle" style="{STYLE};font-weight:600">{each["age"]}</text>')
    legend = "rose: female · blue: male · filled: black · hollow: white · square: married · circle: single"
    parts.append(f'<text x="40" y="30" style="{STYLE};font-weight:600">The only seven people who fit the page</text>')
    parts.append(f'<text x="40" y="52" style="{STYLE};fill:#555">{escape(legend)}; ages in years</text>')
    return _svg(720, 145, parts)


def picture_of_numbers(few: FewPeople, must_go: MustGo) -> str:
    """The printed numbers by whom they are about; what must go is struck out."""
    gone = set(must_go.answers[0])
    groups: dict[int, list[str]] = {}
    for each in few.statistics:
        groups.setdefault(each.about, []).append(f"{each.output}: {each.words}")
    parts = [
        f'<text x="20" y="28" style="{STYLE};font-weight:600">What the page prints; struck out: without it nobody is '
        "proved</text>"
    ]
    for at, (about, words) in enumerate(groups.items()):
        y, out = 40 + 30 * at, about in gone
        colour = "#fbe3e3" if out else "#f2f4f6"
        line = ";text-decoration:line-through;fill:#a11" if out else ""
        text = escape("   ·   ".join(words))
        parts.append(f'<rect x="14" y="{y}" width="792" height="25" rx="4" fill="{colour}"/>')
        parts.append(f'<text x="22" y="{y + 17}" style="{STYLE};font-size:12px{line}">{text}</text>')
    return _svg(820, 50 + 30 * len(groups), parts)


def _svg(width: int, height: int, parts: list[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    ground = f'<rect width="{width}" height="{height}" fill="#fff"/>'
    return "\n".join([head, ground, *parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    main()
