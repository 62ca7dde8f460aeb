"""Make zips of wheels, from which OutRisk is installed where there is no network: one for Linux, one for Windows.

    python install/wheelhouse.py --platforms linux windows --pythons 3.11 3.12 3.13 --extras excel spss --out dist

Each zip has the wheels of every package for CPython 3.11 to 3.13 on 64-bit x86, in the versions of requirements.lock,
the demo's study, and INSTALL.txt with the two commands. Needs a network, pip, and about 1 GB of disk.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from email.parser import HeaderParser
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13")
PLATFORMS = {
    "linux": ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"),
    "windows": ("win_amd64",),
}
MARKERS = {  # what `sys_platform == ...` in a package's metadata is held against
    "linux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "platform_machine": "x86_64"},
    "windows": {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt", "platform_machine": "AMD64"},
}
BESIDE = {"linux": (), "windows": ("colorama", "tzdata")}  # pip weighs such conditions for the machine that it runs on
DEMO = ("fair.yaml", "fair.codebook.yaml")
INSTALL = """\
OutRisk {version}, with all it needs, for {platform} on 64-bit x86 and CPython {pythons}. No network is used.

In this folder, with the Python that is to be used ({python} --version says which):

    {python} -m venv outrisk-env
    {bin}python -m pip install --no-index --find-links wheels "outrisk[{extras}]"

Then the demo, which takes about half a minute and writes runs{slash}fair{slash}report.html:

    {bin}outrisk assess demo{slash}fair.yaml
"""


def requirements(extras: Sequence[str]) -> list[str]:
    """What OutRisk needs, from pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *(each for extra in extras for each in project["optional-dependencies"][extra])]


def download(folder: Path, platform: str, python: str, extras: Sequence[str]) -> None:
    """Download the wheels for one platform and Python, in the versions of the lock file."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]
    command += ["--dest", str(folder), "--constraint", str(ROOT / "requirements.lock"), "--implementation", "cp"]
    command += ["--python-version", python, *(part for tag in PLATFORMS[platform] for part in ("--platform", tag))]
    subprocess.run([*command, *requirements(extras), *BESIDE[platform]], check=True)


def own_wheel(folder: Path) -> str:
    """Build OutRisk's wheel; its version."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", str(ROOT)]
    subprocess.run([*command, "--wheel-dir", str(folder)], check=True)
    return str(next(version for name, version, _ in _wheels(folder) if name == "outrisk"))


def lacking(folder: Path, platform: str, python: str, extras: Iterable[str]) -> list[str]:
    """What the wheels in a folder need on a platform and Python, and none of them is; by their own metadata."""
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    } | MARKERS[platform]
    tag = "cp" + python.replace(".", "")
    found: dict[str, list[tuple[Version, Path]]] = {}
    for name, version, path in _wheels(folder):
        if _fits(path, tag):
            found.setdefault(name, []).append((version, path))
    missing, asked, waiting = [], set[tuple[str, str]](), [("outrisk", extra) for extra in ("", *extras)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in asked:
            continue
        asked.add((name, extra))
        for version, path in found.get(name, []):
            for need in map(Requirement, _metadata(path).get_all("Requires-Dist") or []):
                if need.marker is not None and not need.marker.evaluate({**environment, "extra": extra}):
                    continue
                wheels = found.get(canonicalize_name(need.name), [])
                if not any(need.specifier.contains(each, prereleases=True) for each, _ in wheels):
                    missing.append(f"{name} {version} needs {need}")
                waiting += [(canonicalize_name(need.name), each) for each in ("", *need.extras)]
    return missing if "outrisk" in found else ["outrisk itself"]


def _wheels(folder: Path) -> Iterator[tuple[str, Version, Path]]:
    for path in sorted(folder.glob("*.whl")):
        name, version, _, _ = parse_wheel_filename(path.name)
        yield name, version, path


def _fits(path: Path, tag: str) -> bool:
    """Whether a wheel is for a Python: its own, any, or the stable interface of this one or an older one."""
    tags = parse_wheel_filename(path.name)[3]
    return any(
        each.interpreter == tag
        or each.interpreter.startswith("py")
        or (each.abi == "abi3" and int(each.interpreter[3:]) <= int(tag[3:]))
        for each in tags
    )


def _metadata(path: Path) -> HeaderParser:
    with zipfile.ZipFile(path) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        return HeaderParser().parsestr(wheel.read(name).decode("utf-8"))


def make(platform: str, pythons: Sequence[str], extras: Sequence[str], out: Path) -> Path:
    """Download, check and zip the wheels for a platform; the path of the zip."""
    with tempfile.TemporaryDirectory() as scratch:
        wheels = Path(scratch) / "wheels"
        wheels.mkdir()
        for python in pythons:
            download(wheels, platform, python, extras)
        version = own_wheel(wheels)
        missing = [each for python in pythons for each in lacking(wheels, platform, python, extras)]
        if missing:
            raise SystemExit(f"{platform}: {len(missing)} packages lack a wheel: {'; '.join(missing[:5])}")
        out.mkdir(parents=True, exist_ok=True)
        place = out / f"outrisk-{version}-wheels-{platform}.zip"
        draft = place.with_suffix(".part")
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_STORED) as file:  # wheels are compressed already
            for path in sorted(wheels.iterdir()):
                file.write(path, f"wheels/{path.name}")
            for name in DEMO:
                file.write(ROOT / "configs" / name, f"demo/{name}")
            file.writestr("INSTALL.txt", install_text(platform, version, pythons, extras))
        shutil.move(draft, place)
    return place


def install_text(platform: str, version: str, pythons: Sequence[str], extras: Sequence[str]) -> str:
    """How it is installed, with the line ends of the platform."""
    windows = platform == "windows"
    text = INSTALL.format(
        version=version,
        platform=platform.capitalize(),
        pythons=", ".join(pythons),
        python="py" if windows else "python3",
        bin="outrisk-env\\Scripts\\" if windows else "outrisk-env/bin/",
        slash="\\" if windows else "/",
        extras=",".join(extras),
    ).replace('"outrisk[]"', "outrisk")
    return text.replace("\n", "\r\n") if windows else text


def main() -> None:
    """Make the zips that are asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--platforms", nargs="+", choices=sorted(PLATFORMS), default=sorted(PLATFORMS))
    parser.add_argument("--pythons", nargs="+", choices=PYTHONS, default=list(PYTHONS))
    parser.add_argument("--extras", nargs="*", default=["excel", "spss"])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    given = parser.parse_args()
    for platform in given.platforms:
        place = make(platform, given.pythons, given.extras, given.out)
        print(f"{place}: {place.stat().st_size / 1e6:,.0f} MB")


if __name__ == "__main__":
    main()
