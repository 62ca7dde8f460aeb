"""What is wrong with a finalised ACRO folder by itself: no data, no evolution; the worst first."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from outrisk.acro.command import read_command
from outrisk.acro.count_tables import CountTable, count_tables
from outrisk.acro.proposed_tables import data_corner, flagged_texts
from outrisk.acro.session import OWN, Result, Session
from outrisk.acro.withheld_counts import recovered
from outrisk.errors import OutRiskError
from outrisk.readers.printed_number import read_printed

_SHOWN = 6
_WORST = (
    "file is missing",
    "checksum",
    "not suppressed",
    "withheld cells recoverable",
    "not rounded",
    "difference of outputs",
    "small cells",
    "degrees of freedom",
    "failed in ACRO",
    "command cut off",
    "cannot be read",
    "not looked at",
)


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong, or that a checker must know. cells: how many; places: the first of them."""

    rule: str
    output: str
    what: str
    cells: int = 0
    places: str = ""
    advice: str = ""


def folder_faults(session: Session) -> list[Fault]:
    """Everything found, the worst rule first, in each the most cells first."""
    found = [*_files(session)]
    missing = {fault.output for fault in found if fault.rule == "file is missing"}
    results = [result for result in session.results if result.files and result.key not in missing]
    for result in results:
        found += _of_result(session, result)
    tables, unread = count_tables(session, results)
    found += [Fault("cannot be read", key, f"Its numbers cannot be read: {why}") for key, why in unread.items()]
    found += _small_cells(session, tables)
    found += _recoverable(tables)
    found += _differences(session, tables)
    found += _failed(session, found)
    found += _not_seen(session, {table.key for table in tables}, found)
    return sorted(found, key=lambda fault: (_WORST.index(fault.rule), -fault.cells))


def _files(session: Session) -> Iterator[Fault]:
    """Files that are listed and not there, not listed, or not what their checksum says."""
    listed = {name.partition("#")[0]: result.key for result in session.results for name in result.files}
    for name, key in listed.items():  # a sheet of a workbook is named behind '#'
        if not (session.folder / name).is_file():
            yield Fault("file is missing", key, f"The file {name} is listed and is not in the folder.")
    sums = session.folder / "checksums"
    for path in sorted(session.folder.iterdir()):
        if not path.is_file() or path.name == "config.json":
            continue
        note = sums / f"{path.name}.txt"
        if not note.is_file():
            if path.name in listed or path.name == "results.json":
                what = f"{path.name} has no checksum in the folder checksums."
                yield Fault("checksum", listed.get(path.name, path.name), what)
            continue
        said = note.read_text(encoding="utf-8", errors="replace").split()
        if not said or said[0].lower() != hashlib.sha256(path.read_bytes()).hexdigest():
            yield Fault(
                "checksum",
                listed.get(path.name, path.name),
                f"{path.name} is not the file that its checksum is of: it was changed after it was finalised.",
                advice="Ask for the session again.",
            )


def _of_result(session: Session, result: Result) -> Iterator[Fault]:
    """What an output's own entry and cells say."""
    theirs = bool(result.command) and not result.key.endswith(OWN) and result.type != "custom"
    if theirs and not read_command(result.command).whole:
        yield Fault(
            "command cut off",
            result.key,
            f"Its command was kept to the end of its first line only ({result.command.strip()[:60]}): formula and "
            "subset are not told.",
            advice="Ask for the command; write it in one line.",
        )
    least = session.appetite.safe_dof_threshold
    if result.dof is not None and result.dof < least:
        yield Fault(
            "degrees of freedom",
            result.key,
            f"{result.dof:g} residual degrees of freedom; at least {least} are asked for.",
            advice="Fit it on more records, or with fewer terms.",
        )
    if session.workbook or result.type != "table" or result.mitigation not in ("suppress", "round"):
        return
    try:
        if result.mitigation == "suppress":
            yield from _not_suppressed(session, result)
        else:
            yield from _not_rounded(session, result)
    except OutRiskError as error:
        yield Fault("cannot be read", result.key, f"Its cells cannot be read: {error}")


def _not_suppressed(session: Session, result: Result) -> Iterator[Fault]:
    texts = flagged_texts(session, result)
    zeros = session.config.get("zeros_are_disclosive", True)
    empty = ("", "nan") if zeros else ("", "nan", "0", "0.0")
    shown = {place: text for place, text in texts.items() if text not in empty}
    if shown:
        places = [f"row {row + 1}, column {column + 1}: {text}" for (row, column), text in shown.items()]
        yield Fault(
            "not suppressed",
            result.key,
            f"It is labelled as suppressed, and {len(shown)} of {len(texts)} cells that fail a check are printed.",
            len(shown),
            "; ".join(places[:_SHOWN]),
            "Do not go by the label; suppress it by hand, or have it computed again.",
        )


def _not_rounded(session: Session, result: Result) -> Iterator[Fault]:
    grid = session.source(result).grid
    rows, columns = data_corner(grid, result)
    numbers = [read_printed(text) for row in grid[rows:] for text in row[columns:]]
    wrong = [number.value for number in numbers if number is not None and result.base and number.value % result.base]
    if wrong:
        yield Fault(
            "not rounded",
            result.key,
            f"It is labelled as rounded to base {result.base}, and {len(wrong)} cells are no multiple of it.",
            len(wrong),
            "; ".join(f"{value:g}" for value in wrong[:_SHOWN]),
        )


def _small_cells(session: Session, tables: Sequence[CountTable]) -> Iterator[Fault]:
    least = session.appetite.safe_threshold
    for table in tables:
        small = {key: count for key, count in table.cells.items() if count is not None and 0 < count < least}
        if small and not table.rounded:
            yield Fault(
                "small cells",
                table.key,
                f"{len(small)} of {len(table.cells)} cells hold fewer than {least} records.",
                len(small),
                _places(table, small),
                "Merge levels, or withhold these cells and enough others.",
            )


def _failed(session: Session, found: Sequence[Fault]) -> Iterator[Fault]:
    """Outputs that fail checks of ACRO and are not suppressed or rounded, of which nothing else says why."""
    told = {fault.output for fault in found if fault.rule != "command cut off"}
    for result in session.results:
        if result.key in told or result.mitigation in ("suppress", "round"):
            continue
        if result.failed or result.status == "fail":
            why = "; ".join(result.failed) or "it does not say which"
            asked = f" The researcher asks for an exception: {result.exception}" if result.exception else ""
            yield Fault(
                "failed in ACRO",
                result.key,
                f"It fails ACRO's own checks ({why}).{asked}",
                len(result.flagged),
                advice="Withhold what fails, or decide on the exception; with the data it is told whom it is about.",
            )


def _not_seen(session: Session, counts: Collection[str], found: Sequence[Fault]) -> Iterator[Fault]:
    """Outputs of whose numbers nothing is known without data."""
    known = {*counts, *(fault.output for fault in found)}
    theirs = [result for result in session.results if not result.key.endswith(OWN)]
    left = [result.key for result in theirs if result.key not in known and result.type != "regression"]
    if left:
        yield Fault(
            "not looked at",
            ", ".join(left),
            f"{len(left)} outputs are no tables of counts: without data only their files and what ACRO says was read.",
            advice="Look at each, or give the data: `outrisk init --acro FOLDER --data DATA`, then `outrisk check`.",
        )


def _places(table: CountTable, cells: Mapping[tuple[str, ...], float]) -> str:
    texts = [f"{table.words(key)}: {count:g}" for key, count in sorted(cells.items(), key=lambda each: each[1])]
    more = f"; and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return "; ".join(texts[:_SHOWN]) + more


def _recoverable(tables: Sequence[CountTable]) -> Iterator[Fault]:
    """Withheld counts that follow from other cells, totals and outputs."""
    for table in tables:
        hidden = [key for key, count in table.cells.items() if count is None]
        if not hidden:
            continue
        found, outputs = recovered(table, tables)
        if found:
            by = ", ".join("its own cells and totals" if name == table.key else name for name in outputs)
            yield Fault(
                "withheld cells recoverable",
                table.key,
                f"{len(found)} of {len(hidden)} withheld cells follow from {by}.",
                len(found),
                _places(table, found),
                "Withhold them in every output that tells them.",
            )


def _differences(session: Session, tables: Sequence[CountTable]) -> Iterator[Fault]:
    """Tables by the same variables on other records: what subtracting one from the other leaves."""
    least = session.appetite.safe_threshold
    for larger, smaller in permutations(tables, 2):
        if set(larger.by) != set(smaller.by) or larger.rounded or smaller.rounded:
            continue
        other = smaller.summed(larger.by)
        pairs = {key: (count, other.get(key, 0.0)) for key, count in larger.cells.items()}
        if any(one is None or two is None for one, two in pairs.values()):
            continue
        left = {key: float(one or 0) - float(two or 0) for key, (one, two) in pairs.items()}
        total = sum(left.values())
        if min(left.values(), default=0) < 0 or total <= 0:
            continue
        small = {key: count for key, count in left.items() if 0 < count < least}
        if small or total < least:
            yield Fault(
                "difference of outputs",
                f"{larger.key} minus {smaller.key}",
                f"Subtracting one from the other leaves {total:g} records; {len(small)} of their cells hold fewer than "
                f"{least}.",
                max(1, len(small)),
                _places(larger, small),
                "Release only one of the two, or compute both on the same records.",
            )
