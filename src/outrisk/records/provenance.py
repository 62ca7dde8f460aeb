"""Where a result comes from: versions, seeds, digests of inputs. Never a record."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

import numpy as np

from outrisk import __version__
from outrisk.codebook import codebook_to_dict
from outrisk.microdata import Microdata

_PACKAGES = ("deap", "formulaic", "joblib", "matplotlib", "numba", "numpy", "pandas", "scipy", "statsmodels")


def versions() -> dict[str, str]:
    """Versions of OutRisk, Python and the packages that bear on the numbers."""
    return {"outrisk": __version__, "python": platform.python_version()} | {
        package: metadata.version(package) for package in _PACKAGES
    }


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def code_digest() -> str:
    """SHA-256 of OutRisk's own source files, which a version alone does not tell apart while it is worked on."""
    digest, folder = hashlib.sha256(), Path(__file__).resolve().parents[1]
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def flat(document: object, place: str = "") -> dict[str, str]:
    """The entries of a document, each by its place, such as `outputs 1.by`, as text."""
    if isinstance(document, Mapping):
        parts = [(f"{place}.{key}" if place else str(key), item) for key, item in document.items()]
    elif isinstance(document, list | tuple) and any(isinstance(item, Mapping) for item in document):
        parts = [(f"{place} {at}", item) for at, item in enumerate(document, start=1)]
    else:
        return {place: str(document)}
    return {name: text for part, item in parts for name, text in flat(item, part).items()}


def data_digest(data: Microdata) -> str:
    """SHA-256 of records as encoded, with their codebook."""
    digest = hashlib.sha256(repr(codebook_to_dict(data.codebook)).encode())
    digest.update(np.ascontiguousarray(data.codes).tobytes())
    return digest.hexdigest()


def codebook_digest(data: Microdata) -> str:
    """SHA-256 of the codebook of records."""
    return hashlib.sha256(repr(codebook_to_dict(data.codebook)).encode()).hexdigest()


def records_digest(data: Microdata) -> str:
    """SHA-256 of the values of records, however their codebook codes them, and of whose they are."""
    digest = hashlib.sha256()
    for name, codes in sorted(zip(data.codebook.names, data.codes.T, strict=True)):
        used, at = np.unique(codes, return_inverse=True)
        labels = np.array([data.codebook[name].labels[code] for code in used], dtype=str)
        order = np.argsort(labels)
        digest.update(repr((name, labels[order].tolist())).encode())
        digest.update(np.argsort(order)[at].tobytes())
    for name, numbers in (("person", data.person), ("together", data.together)):
        if numbers is not None:
            digest.update(name.encode() + numbers.astype(np.int64).tobytes())
    return digest.hexdigest()


def seed_of(seed: int, path: Sequence[int]) -> np.random.SeedSequence:
    """One random tree: the branch `path` of the study's seed."""
    return np.random.SeedSequence(seed, spawn_key=tuple(path))


def resident_mb() -> float:
    """Resident memory of this process now, in MB; on Linux."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def peak_memory_mb() -> float | None:
    """Largest resident memory of this process so far, in MB; None where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak * (1 if sys.platform == "darwin" else 1024) / 1e6, 1)
