"""`outrisk check`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from outrisk.api.acro_folders import faults_of
from outrisk.api.looking import Folded, in_groups, look_at_study


def check_study(path: Path, inside: bool, trust: bool, released: Sequence[Path], each_one: bool = False) -> int:
    """Print what the outputs of a study say outright; returns the exit code."""
    sentence, findings = look_at_study(path, inside, trust, released)
    print_findings(sentence, in_groups(findings, each_one))
    return 0


def print_findings(sentence: str, groups: Sequence[Folded]) -> None:
    """Print findings, the worst first, those that are in a group as one."""
    console = Console(highlight=False)
    console.print(escape(sentence))
    number = sum(len(group.findings) for group in groups)
    if len(groups) < number:
        console.print(f"\n{number:,} findings, of {len(groups):,} kinds; --all prints each one.")
    for number, group in enumerate(groups, start=1):
        each = group.worst
        certain = ", certain" if each.certain else ""
        concerned = f": {each.people:,} {'person' if each.people == 1 else 'people'}" if each.people else ""
        more = f"; the worst of {len(group.findings):,}" if group.others else ""
        console.print(f"\n[bold]{number}. {escape(each.output)}[/bold] ({each.rule}{certain}{more}){concerned}")
        for text in (each.what, each.places, each.advice, f"Likewise {group.named}." if group.others else ""):
            if text:
                console.print(Padding(escape(text), (0, 0, 0, 3)))


def check_folder(folder: Path) -> int:
    """Print what is wrong with a folder of ACRO by itself, the worst first; returns the exit code."""
    sentence, faults = faults_of(folder)
    console = Console(highlight=False)
    console.print(escape(sentence))
    for number, each in enumerate(faults, start=1):
        console.print(f"\n[bold]{number}. {escape(each.output)}[/bold] ({each.rule})")
        for text in (each.what, each.places, each.advice):
            if text:
                console.print(Padding(escape(text), (0, 0, 0, 3)))
    return 0
