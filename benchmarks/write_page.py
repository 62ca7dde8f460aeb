"""Run benchmarks and write what they print, with its conditions, into docs/benchmarks.md.

`python benchmarks/write_page.py` runs all, in a form that is done in about 25 minutes of processor time; with names
(`engine first_use`) some, and what the page has of others stays. One that fails is told at the end and keeps its place
on the page; one whose data are not beside the checkout is left out, and said to be.
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
from typing import NamedTuple

from outrisk import __version__

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
DATA = ROOT.parent / "shared" / "data"


class Benchmark(NamedTuple):
    """A benchmark as the page has it, and what its longer form has more."""

    arguments: str = ""
    longer: str = ""
    data: str = ""  # folder of DATA without which it cannot run


BENCHMARKS = {
    "engine": Benchmark("--quick", "ten seeds and more generations without `--quick`"),
    "paper": Benchmark("--quick", "half and whole of the data without `--quick`; `--runs 10`, `--variants`"),
    "everyday": Benchmark("--seeds 1 --seconds 60", "five seeds to their own end without options", "census"),
    "outputs": Benchmark(
        "tables scale variables --seeds 1", "three seeds; `mixed`; `scale --largest 10000000`", "census"
    ),
    "small": Benchmark("--seeds 3", "ten seeds without options"),
    "near": Benchmark("--runs 2", "twelve runs of each release without options", "census"),
    "ablation": Benchmark("--seeds 1 --sizes 300", "ten seeds and four sizes without options"),
    "planted": Benchmark("--draws 10", "forty draws without options"),
    "crude": Benchmark(),
    "bands": Benchmark("", "`--seeds 5`", "census"),
    "enough": Benchmark("--draws 2 --sizes 800 3000", "five draws of 300, 800 and 3,000 women without options"),
    "limits_hold": Benchmark(
        "", "`enough`, `several`, `quarters`, `holdout`, `smaller`, `assess`; `--draws`, `--people`"
    ),
    "several_records": Benchmark("", "`--seeds 5`", "census"),
    "certain": Benchmark("", "`protected`, `null` and `few`", "census"),
    "amounts": Benchmark("--seeds 1", "five seeds without options; `--columns`"),
    "intruder": Benchmark("", "`logit`, `protected`, `null`, `reliable` and `recurring`", "census"),
    "disclosure": Benchmark("--rounds 3", "nine rounds without options"),
    "privacy": Benchmark("", "`--rows 20000 100000`"),
    "attacks": Benchmark("--quick", "50,000 records instead of 5,000 without `--quick`"),
    "studies": Benchmark("", "`ten-outputs` of the census, with what each adds to the others: 8 processor minutes"),
    "forecast": Benchmark("fair fair-tables heart", "seven more studies without names"),
    "first_use": Benchmark(),
}
BEGIN, END = "<!-- printed: begin -->", "<!-- printed: end -->"


def printed(text: str) -> dict[str, str]:
    """What stands on the page of each benchmark."""
    inside = text[text.index(BEGIN) + len(BEGIN) : text.index(END)]
    parts = re.split(r"^### (\w+)$", inside, flags=re.MULTILINE)[1:]
    return {name: body.strip() for name, body in zip(parts[::2], parts[1::2], strict=True)}


def written(text: str, found: dict[str, str]) -> str:
    """The page with these parts."""
    parts = [f"### {name}\n\n{found[name]}" for name in BENCHMARKS if name in found]
    body = "\n\n".join(parts) or "None is run yet: `make bench`."
    return f"{text[: text.index(BEGIN)]}{BEGIN}\n{body}\n{text[text.index(END) :]}"


def commit() -> str:
    """The version of the sources, the page aside; nothing where there is no git."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()
        changed = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", ".", ":!docs"], cwd=ROOT).returncode
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f" ({done}{', changed' if changed else ''})"


def run(name: str) -> str:
    """One benchmark: its conditions, and what it printed."""
    benchmark = BENCHMARKS[name]
    command = [f"benchmarks/{name}.py", *benchmark.arguments.split()]
    began, load = time.perf_counter(), os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    before = os.times()
    done = subprocess.run([sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    after = os.times()
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    longer = f" (longer: {benchmark.longer})" if benchmark.longer else ""
    conditions = (
        f"`python {' '.join(command)}`{longer}, {datetime.now(UTC):%Y-%m-%d}, OutRisk {__version__}{commit()}, Python "
        f"{platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores, load "
        f"{load:.1f} at the start, {time.perf_counter() - began:.0f} s in all, {processor:.0f} processor seconds."
    )
    return f"{conditions}\n\n```\n{done.stdout.strip()}\n```"


def main(names: list[str]) -> None:
    """Run the benchmarks named, or all, writing the page after each."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        raise SystemExit(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    failed = []
    for name in names or BENCHMARKS:
        if not (DATA / BENCHMARKS[name].data).exists():
            print(f"{name} is left out: {DATA / BENCHMARKS[name].data} is not there", flush=True)
            continue
        print(name, flush=True)
        try:
            body = run(name)
        except subprocess.CalledProcessError:
            failed.append(name)
            continue
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(written(text, printed(text) | {name: body}), encoding="utf-8")
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main(sys.argv[1:])
