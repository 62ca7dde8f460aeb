"""Run benchmarks and write what they print, with its conditions, into docs/benchmarks.md.

`python benchmarks/write_page.py` runs all (hours on a small machine), with names (`engine first_use`) some; what the
page has of others stays.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from outrisk import __version__

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
COMMANDS = {
    "engine": ["benchmarks/engine.py"],
    "studies": ["benchmarks/studies.py"],
    "planted": ["benchmarks/planted.py"],
    "small": ["benchmarks/small.py", "--people", "7"],
    "everyday": ["benchmarks/everyday.py"],
    "intruder": ["benchmarks/intruder.py"],
    "outputs": ["benchmarks/outputs.py"],
    "privacy": ["benchmarks/privacy.py"],
    "disclosure": ["benchmarks/disclosure.py"],
    "attacks": ["benchmarks/attacks.py"],
    "certain": ["benchmarks/certain.py"],
    "first_use": ["benchmarks/first_use.py"],
}
BEGIN, END = "<!-- printed: begin -->", "<!-- printed: end -->"


def printed(text: str) -> dict[str, str]:
    """What stands on the page of each benchmark."""
    inside = text[text.index(BEGIN) + len(BEGIN) : text.index(END)]
    parts = re.split(r"^### (\w+)$", inside, flags=re.MULTILINE)[1:]
    return {name: body.strip() for name, body in zip(parts[::2], parts[1::2], strict=True)}


def written(text: str, found: dict[str, str]) -> str:
    """The page with these parts."""
    parts = [f"### {name}\n\n{found[name]}" for name in COMMANDS if name in found]
    body = "\n\n".join(parts) or "None is run yet: `make bench`."
    return f"{text[: text.index(BEGIN)]}{BEGIN}\n{body}\n{text[text.index(END) :]}"


def commit() -> str:
    """The version of the sources; nothing where there is no git."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f" ({done.stdout.strip()})"


def run(name: str) -> str:
    """One benchmark: its conditions, and what it printed."""
    began, load = time.perf_counter(), os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    before = os.times()
    done = subprocess.run([sys.executable, *COMMANDS[name]], cwd=ROOT, capture_output=True, text=True, check=True)
    after = os.times()
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    conditions = (
        f"`python {' '.join(COMMANDS[name])}`, {datetime.now(UTC):%Y-%m-%d}, OutRisk {__version__}{commit()}, Python "
        f"{platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores, load "
        f"{load:.1f} at the start, {time.perf_counter() - began:.0f} s in all, {processor:.0f} processor seconds."
    )
    return f"{conditions}\n\n```\n{done.stdout.strip()}\n```"


def main(names: list[str]) -> None:
    """Run the benchmarks named, or all, writing the page after each."""
    for name in names or list(COMMANDS):
        if name not in COMMANDS:
            raise SystemExit(f"no benchmark {name!r}; there are {', '.join(COMMANDS)}")
        body = run(name)
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(written(text, printed(text) | {name: body}), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
