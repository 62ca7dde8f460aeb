"""Hand a run back to the ACRO session that it is of: an annotated copy of its folder."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from outrisk.acro.annotated_copy import annotate, plain
from outrisk.acro.session import Session, read_session
from outrisk.errors import ConfigError
from outrisk.records.results import Results, read_run
from outrisk.records.schema import VERDICTS, Decision, with_number

_PICTURES = 4


def copy_session(run: Path, copy: Path, folder: Path | None = None) -> tuple[Path, int]:
    """Write an annotated copy of the session that a run is of: where it is, and how many outputs have a comment.

    `folder`: the session, where the study does not say it or it has moved. Neither the session nor the run is touched;
    no synthetic record is copied. ConfigError for a run without a decision, or of no session.
    """
    results = read_run(run)
    decision = results.decision
    if decision is None:
        raise ConfigError(f"{run}: no decision.json in it; carry the study out again")
    session = read_session(folder or _session_of(results, run))
    rows = _rows(results, decision, session)
    if not rows:
        raise ConfigError(f"{session.folder}: no output of the run is one of its; name the session with --acro")
    comments = {key: f"OutRisk: {verdict}: {reason}" for key, _, verdict, reason in rows}
    lines = [f"OutRisk: {decision.sentence}", *decision.reasons, *(f"To settle it: {text}" for text in decision.settle)]
    attached = {
        "outrisk_summary.csv": _csv(rows),
        "outrisk_summary.md": _markdown(results, decision, rows),
        **_pictures(run),
    }
    return annotate(session.folder, copy, comments, lines, attached), len(comments)


def _session_of(results: Results, run: Path) -> Path:
    said = str(results.study.get("acro") or "")
    if not said:
        raise ConfigError(f"{run}: its study is of no ACRO session; name the folder with --acro")
    for place in (run, Path(), run.resolve().parent, run.resolve().parent.parent):
        if (place / said).is_dir():
            return place / said
    raise ConfigError(f"{run}: the ACRO session {said} is not there; name its folder with --acro")


def _rows(results: Results, decision: Decision, session: Session) -> list[tuple[str, str, str, str]]:
    """Output of the session, output of the study, verdict, why: of each output of the session its worst."""
    keys = sorted((result.key for result in session.results), key=len, reverse=True)
    differing = {row.output for row in results.given if not row.matched}
    found: dict[str, tuple[int, str, str, str, str]] = {}
    for output in decision.outputs:
        key = next((key for key in keys if output.name == key or output.name.startswith((f"{key}: ", f"{key} ("))), "")
        if not key:
            continue
        rules = dict.fromkeys(finding.rule for finding in results.findings or () if finding.concerns(output.name))
        more = f" Direct look: {', '.join(rules)}." if rules else ""
        more += " Released numbers differ from what the data give." if output.name in differing else ""
        reason = f"{output.reason.rstrip('.')}.{more}"
        row = (VERDICTS.index(output.verdict), key, output.name, with_number(output.verdict, output.up_to), reason)
        found[key] = min(found.get(key, row), row, key=lambda each: each[0])
    return [found[result.key][1:] for result in session.results if result.key in found]


def _csv(rows: Sequence[tuple[str, str, str, str]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("output", "in_study", "verdict", "reason"))
    writer.writerows([_cell(each) for each in row] for row in rows)
    return text.getvalue().encode()


def _cell(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    line = plain(text)
    return f"'{line}" if line[:1] in "=+-@" else line


def _markdown(results: Results, decision: Decision, rows: Sequence[tuple[str, str, str, str]]) -> bytes:
    def cell(text: str) -> str:
        return plain(text).replace("\\", "\\\\").replace("|", "\\|")

    lines = [
        "# OutRisk: for the output checker, not for release",
        "",
        cell(decision.sentence),
        "",
        *(f"- {cell(reason)}" for reason in decision.reasons),
        "",
        *(f"- To settle it: {cell(text)}" for text in decision.settle),
        "",
        "| output | verdict | why |",
        "| --- | --- | --- |",
        *(f"| {cell(key)} | {cell(verdict)} | {cell(reason)} |" for key, _, verdict, reason in rows),
        "",
        f"Study {cell(results.manifest.study)}, OutRisk {results.manifest.outrisk}, {results.manifest.started}.",
    ]
    return ("\n".join(lines) + "\n").encode()


def _pictures(run: Path) -> dict[str, bytes]:
    """The figures that the Viewer shows."""
    found = sorted((run / "figures").glob("*.png"))[:_PICTURES] if (run / "figures").is_dir() else []
    return {f"outrisk_{path.name}": path.read_bytes() for path in found}
