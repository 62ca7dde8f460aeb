"""Does the verdict work? Measured, and written to docs/validation.md with its figures.

    python validation/run.py [--size full|quick] [--part NAME ...] [--workers 2] [--out docs]

null: releases of people who are on neither side, and intervals where there is risk. dose: from one-way tables to the
full table. planted: few people hidden among ordinary outputs, by the direct look, the verdict, and ACRO's rules.
search: one release by both presets from several starts. paper: Tables 2 to 5 and Figure 3. followed: whom the release
follows.

What was measured is kept in runs/validation with what it took, so that parts can be run one by one and an interrupted
run goes on; the page is written from all parts at the end, and has what it had before of parts that were not measured.
Needs `shared` beside the checkout.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cases
import dose
import followed
import intervals
import joblib
import kept
import null
import numpy as np
import paper_tables
import search
from pool import ALONE, DOSES, compiled


@dataclass(frozen=True)
class Size:
    """How much is run: pairs of null releases by number of people, pairs of samples by number of people, draws."""

    null: dict[int, int]
    releases: tuple[str, ...]
    dose: dict[int, int]
    doses: tuple[str, ...]
    planted: int
    alarms: int
    followed: int
    runs: int  # on a release
    permutations: int
    search_seconds: float
    paper_seconds: float
    paper_folds: tuple[str, ...]
    trace: tuple[int, int]  # generations, and between two points
    starts: tuple[str, ...]


FULL = Size(
    {1000: 75, 5000: 75}, null.RELEASES, {25435: 1, 5000: 3, 1000: 5}, (*DOSES, ALONE[0]),
    40, 100, 40, 2, 499, 4.0, 15.0,
    ("whole", "1", "2", "1.1", "1.2"), (2000, 40), ("uniform", "univariate"),
)  # fmt: skip
QUICK = Size(
    {1000: 3}, ("logit", "two-way"), {1000: 2}, ("one-way", "one-way and a logit", "two-way", "four-way"),
    3, 10, 1, 2, 99, 1.0, 3.0,
    ("1.1", "1.2"), (0, 1), (),
)  # fmt: skip
SIZES = {"full": FULL, "quick": QUICK}
HOLDOUTS = {"whole": "", "1": "2", "2": "1", "1.1": "1.2", "1.2": "1.1"}

Key = tuple[Any, ...]
Task = tuple[Key, Callable[[], Any]]


def tasks(size: Size) -> dict[str, list[Task]]:
    """What is measured, by part: each task by its key."""
    k, permutations = size.runs, size.permutations
    return {
        "null": [
            ((n, release, number), lambda n=n, r=release, i=number: null.of_releases(n, r, i, k, permutations))
            for number in range(max(size.null.values()))
            for n, most in size.null.items()
            for release in size.releases
            if number < most
        ],
        "dose": [
            ((n, pair), lambda n=n, i=pair: dose.of_pair(n, i, size.doses, k, permutations))
            for n, pairs in size.dose.items()
            for pair in range(pairs)
        ],
        "planted": [
            ((case, seed), lambda c=case, s=seed: cases.of_draw(c, s, 2000))
            for case in cases.CASES
            for seed in range(size.planted)
        ]
        + [(("nothing", seed), lambda s=seed: cases.alarms(s, 2000)) for seed in range(size.alarms)],
        "search": [((name,), lambda r=name: search.of_release(r, k, size.search_seconds)) for name in search.RELEASES],
        "paper": [
            (
                (fold, name),
                lambda f=fold, r=name: paper_tables.of_fold(f, HOLDOUTS[f], r, 1, size.paper_seconds),
            )
            for fold in size.paper_folds
            for name in paper_tables.RELEASES
        ]
        + [(("trace", start), lambda s=start: paper_tables.trace(s, *size.trace)) for start in size.starts],
        "followed": [
            ((case, seed), lambda c=case, s=seed: followed.of_draw(c, s, 1000))
            for case in followed.CASES
            for seed in range(size.followed)
        ],
    }


def measured(name: str, parts: list[Task], size: str, workers: int) -> None:
    """Measure a part; each result is kept as soon as it is there."""
    joblib.Parallel(n_jobs=workers)(joblib.delayed(kept.measure)(_place(size, name, key), task) for key, task in parts)
    print(f"{name}: measured", file=sys.stderr, flush=True)


def _place(size: str, part: str, key: Key) -> str:
    """Where the row of a task is kept."""
    return f"{size}/{part}/{'-'.join(str(each).replace(' ', '_') for each in key)}"


def _rows(part: str, made: Callable[[], Iterable[str]]) -> list[str]:
    """Rows of a table; where a part has not been measured, a line that says so."""
    try:
        return list(made())
    except KeyError:
        return [f"| not measured yet: `python validation/run.py --part {part}` |"]


def took(records: dict[str, dict[Key, kept.Measured]], todo: dict[str, list[Task]]) -> dict[str, str]:
    """A row for each part that was measured: of how much of it, with what commits, seconds of processor and clock; and
    one of the whole.
    """
    rows, whole = {}, np.zeros(2)
    for name, some in records.items():
        if some:
            commits = ", ".join(dict.fromkeys(each.commit for each in some.values()))
            seconds, clock = (sum(getattr(each, what) for each in some.values()) for what in ("seconds", "clock"))
            rows[name] = f"| {name} | {len(some)} of {len(todo[name])} | {commits} | {seconds:,.0f} | {clock:,.0f} |"
            whole += seconds, clock
    done, asked = (sum(map(len, each.values())) for each in (records, todo))
    if done == asked:
        rows["the whole"] = f"| the whole | {done} of {asked} | | {whole[0]:,.0f} | {whole[1]:,.0f} |"
    return rows


def standing(text: str, template: str) -> dict[str, str]:
    """What an earlier page has in the places of the template; nothing where its text has changed since."""
    names = re.findall(r"\{(\w+)\}", template)
    pattern = "(.*?)".join(re.escape(part) for part in re.split(r"\{\w+\}", template))
    found = re.fullmatch(pattern, text, flags=re.DOTALL)
    return dict(zip(names, found.groups(), strict=True)) if found else {}


def page(found: dict[str, dict[Key, Any]], size: Size, out: Path, command: str, times: dict[str, str]) -> str:
    """The page, from what all parts measured; what was not measured stands as in the page before."""
    pairs = {n: [found["dose"].get((n, pair)) for pair in range(most)] for n, most in sorted(size.dose.items())}
    doses = {n: rows for n, rows in pairs.items() if all(rows)}
    traces = {start: found["paper"]["trace", start] for start in size.starts if ("trace", start) in found["paper"]}
    if doses:
        dose.figure(doses, out / "validation.svg")
    if traces:
        paper_tables.figure(traces, out / "validation-paper.svg")

    def nulls(row: Callable[[int, str, list[Any]], str]) -> list[str]:
        return [
            row(n, release, [found["null"][n, release, number] for number in range(most)])
            for n, most in size.null.items()
            for release in size.releases
        ]

    def draws(case: str) -> list[Any]:
        return [found["planted"][case, seed] for seed in range(size.planted)]

    def alarms() -> str:
        number = sum(found["planted"]["nothing", seed] for seed in range(size.alarms))
        return f"| nothing: all cells hold 50 people or more | | | {number} of {size.alarms} findings | | |"

    def follows(case: str) -> list[Any]:
        return [found["followed"][case, seed] for seed in range(size.followed)]

    def releases(said: Callable[[list[list[Any]]], str]) -> list[str]:
        return [
            said(
                [[found["null"][n, r, i] for i in range(most)] for n, most in size.null.items() for r in size.releases]
            )
        ]

    parts = {
        "command": command,
        "null": _rows("null", lambda: nulls(null.null_row)),
        "own": _rows("null", lambda: nulls(null.own_row)),
        "within": _rows("null", lambda: releases(intervals.within)),
        "short": _rows("null", lambda: releases(intervals.short)),
        "dose": [dose.row(n, name, rows) for n, rows in doses.items() for name in rows[0]["doses"]],
        "falls": [dose.falls(doses)] if doses else [],
        "planted": _rows(
            "planted", lambda: [*(cases.planted_row(case, draws(case)) for case in cases.ASKED), alarms()]
        ),
        "acro": _rows("planted", lambda: [cases.acro_row(case, draws(case)) for case in cases.CASES]),
        "search": [search.row(name, row) for (name,), rows in found["search"].items() for row in rows],
        "coefficients": _rows("paper", lambda: paper_tables.coefficients(found["paper"])),
        "tcap": _rows("paper", lambda: paper_tables.table_five(found["paper"])),
        "lines": [
            "| {} | {:.3f} | {:.3f} | {:.3f} |".format(f"ours, start `{start}`", *paper_tables.line(points))
            for start, points in traces.items()
        ]
        + ["", "![TCAP as zero against the error of the coefficients](validation-paper.svg)"] * bool(traces)
        or ["| ours | not measured yet: `python validation/run.py --part paper` | | |"],
        "followed": _rows("followed", lambda: [followed.row(case, follows(case)) for case in followed.CASES]),
    }
    text = (Path(__file__).parent / "page.md").read_text(encoding="utf-8")
    before = out / "validation.md"
    earlier = standing(before.read_text(encoding="utf-8"), text) if before.exists() else {}
    old = {row.split("|")[1].strip(): row for row in earlier.get("took", "").splitlines()}
    parts["took"] = [(old | times)[name] for name in tasks(size) if name in old | times]
    parts["took"] += [times[name] for name in times if name == "the whole"]
    for name, value in parts.items():
        new = value if isinstance(value, str) else "\n".join(value)
        text = text.replace("{" + name + "}", new if new and "not measured yet" not in new else earlier.get(name, new))
    return text


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=list(SIZES), default="full", help="how many draws of each")
    parser.add_argument("--quick", action="store_const", const="quick", dest="size", help="the same as --size quick")
    parser.add_argument("--part", action="append", help="measure this part alone, and write no page; may be repeated")
    parser.add_argument("--write", action="store_true", help="write the page from what is kept, and measure nothing")
    parser.add_argument("--workers", type=int, default=2, help="processes side by side")
    parser.add_argument("--out", type=Path, default=kept.ROOT / "docs")
    options = parser.parse_args()
    size = SIZES[options.size]
    todo = tasks(size)
    unknown = set(options.part or ()) - set(todo)
    if unknown:
        parser.error(f"no part {sorted(unknown)}; there are {list(todo)}")
    began = time.time()
    if not options.write:
        compiled()
        for name in options.part or todo:
            measured(name, todo[name], options.size, options.workers)
        print(f"{(time.time() - began) / 60:.1f} minutes", file=sys.stderr)
    if options.part:
        return
    records = {
        name: {key: row for key, _ in parts if (row := kept.known(_place(options.size, name, key))) is not None}
        for name, parts in todo.items()
    }
    found = {name: {key: each.row for key, each in some.items()} for name, some in records.items()}
    options.out.mkdir(parents=True, exist_ok=True)
    command = "python validation/run.py" + ("" if options.size == "full" else f" --size {options.size}")
    text = page(found, size, options.out, command, took(records, todo))
    (options.out / "validation.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
