"""Write a directory of files: whole or not at all (teaching data), or run by run, to be gone on with (studies)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from outrisk.codebook import Codebook, codebook_to_dict
from outrisk.errors import ConfigError
from outrisk.records import files
from outrisk.records.lock import Lock
from outrisk.records.schema import Identity
from outrisk.records.stored import read_stored, remove_stored, write_stored
from outrisk.whole_files import sync_folder

Kind = TypeVar("Kind")


class Folder:
    """The files of a directory that is being written. folder: where they go; log_folder: where the log goes."""

    folder: Path
    log_folder: Path

    @property
    def synthetic(self) -> Path:
        """Where the synthetic data go."""
        return self.folder / "synthetic"

    def log(self, event: str, **particulars: object) -> None:
        """Add a line to log.jsonl."""
        line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **particulars}
        with (self.log_folder / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(files.plain(line)) + "\n")

    def rows(self, name: str, kind: type[Any], rows: Iterable[Any]) -> None:
        """Write a table: rows of a class of the schema."""
        files.write_rows(self.folder / name, kind, rows)

    def json(self, name: str, document: Any) -> None:
        """Write a document of the schema as JSON."""
        files.write_json(self.folder / name, document)

    def yaml(self, name: str, document: Mapping[str, Any]) -> None:
        """Write YAML."""
        files.write_yaml(self.folder / name, document)

    def text(self, name: str, text: str) -> None:
        """Write a text."""
        files.write_text(self.folder / name, text)

    def codebook(self, codebook: Codebook) -> None:
        """Write codebook.yaml."""
        self.yaml("codebook.yaml", codebook_to_dict(codebook))


class RunDirectory(Folder):
    """A directory that takes its name when it is whole: written as a hidden folder beside, of a fixed name."""

    def __init__(self, final: Path, force: bool) -> None:
        self.final, self.force = _in_home(final), force
        self.check()
        self.folder = self.log_folder = self.final.parent / f".{self.final.name}.unfinished"
        self._lock = Lock(self.final.parent / f".{self.final.name}.lock", self.final)
        self._made: list[Path] = []

    def check(self) -> None:
        """ConfigError if the directory is taken."""
        _check(self.final, self.force)

    def open(self) -> None:
        """Make the folder, in place of what a process that has died left of it; ConfigError if that is not allowed."""
        self._made = _missing(self.final.parent)
        try:
            self.final.parent.mkdir(parents=True, exist_ok=True)
            self._lock.take()
            shutil.rmtree(self.folder, ignore_errors=True)
            self.synthetic.mkdir(parents=True)
        except OSError as error:
            self._lock.release()
            raise _not_writable(self.final.parent, error) from None

    def close(self) -> Path:
        """Give the folder its name, in place of a directory that stands there."""
        old = self.final.with_name(f".{self.final.name}.replaced")
        shutil.rmtree(old, ignore_errors=True)
        if self.final.exists():
            self.final.rename(old)
        self.folder.rename(self.final)
        shutil.rmtree(old, ignore_errors=True)
        self._lock.release()
        return self.final

    def discard(self) -> None:
        """Remove the unfinished folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.release()
        _remove_empty(self._made)


class StudyDirectory(Folder):
    """The directory of a study, which another process can go on with.

    What is kept for that stands in `unfinished/`: whose study it is (study.json), every run that has ended, and the
    last checkpoints of those that have not. The files of the results are written beside it at the end, and replace what
    a study before left there; then `unfinished/` goes.
    """

    def __init__(self, final: Path, force: bool) -> None:
        self.folder, self.force = _in_home(final), force
        self.work = self.log_folder = self.folder / "unfinished"
        self._lock = Lock(self.work / "lock", self.folder)
        self._made: list[Path] = []
        self.check()

    @property
    def checkpoints(self) -> Path:
        """Where runs under way keep their state."""
        return self.work / "checkpoints"

    @property
    def begun(self) -> bool:
        """Whether a study was begun here and is not complete."""
        return (self.work / "study.json").is_file()

    @property
    def replaces(self) -> bool:
        """Whether results of another study stand here, which stay until these are whole."""
        return not self._own.is_file()

    @property
    def _own(self) -> Path:
        """Says that nothing but what this study writes stands in the directory."""
        return self.work / "own"

    def check(self) -> None:
        """ConfigError if the directory is taken: a complete one is replaced by force only; an unfinished one is not.
        Nor is a folder of the user's own that is called `unfinished`.
        """
        if not _is_own(self.work):
            raise ConfigError(f"{self.work} is not OutRisk's; move it, or name another directory")
        if not self.begun:
            if not self.force and self.work.is_dir() and (self.folder / "manifest.json").is_file():
                self._sweep()
            _check(self.folder, self.force, self.work.name)

    def _sweep(self) -> None:
        """Remove what a process left in a complete directory that was killed while it cleared up."""
        with suppress(ConfigError):
            self._lock.take()
            self._clear_up([self.work])

    def _clear(self) -> None:
        """Remove what is kept: all in `unfinished/` but the lock, which says whose it is."""
        for path in self.work.iterdir():
            if path.name != "lock":
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _clear_up(self, folders: Iterable[Path]) -> None:
        """Remove what is kept, let go of the lock, and remove these folders as far as nothing is left in them."""
        with suppress(OSError):
            self._clear()
        self._lock.release()
        _remove_empty(folders)

    def open(self, identity: Identity) -> None:
        """Begin the directory, or go on with it; ConfigError where another study, or the same of other data or another
        version, was begun there, where a process is at work on it, or where it cannot be written.
        """
        self.check()
        self._made = _missing(self.folder)
        try:
            self.work.mkdir(parents=True, exist_ok=True)
            self._lock.take()
        except OSError as error:
            self._lock.release()
            raise _not_writable(self.folder, error) from None
        try:
            self.check()
            if self.begun and not self.force:
                self._compare(identity)
            else:
                self._begin(identity)
        except OSError as error:
            self.discard()
            raise _not_writable(self.folder, error) from None
        except ConfigError:
            self._lock.release()
            raise

    def _begin(self, identity: Identity) -> None:
        """Begin anew: what is kept of a study that does not go on is removed."""
        self._clear()
        for folder in (self.work / "runs", self.checkpoints):
            folder.mkdir()
        if _is_empty(self.folder, self.work.name):
            self._own.touch()
        write_stored(self.work / "study", identity, Identity)

    def _compare(self, identity: Identity) -> None:
        found = read_stored(self.work / "study", Identity)
        differs = differences(found, identity) if found is not None else ["what it was begun with cannot be read"]
        if differs:
            more = f" (and {len(differs) - 3} more)" if len(differs) > 3 else ""
            raise ConfigError(
                f"{self.folder} is unfinished and does not go on with another study: {'; '.join(differs[:3])}{more}; "
                "give --force to begin again (in Python force=True), or name another directory"
            )

    def keep(self, name: str, value: Any, kind: Any) -> None:
        """Keep a value until the study is complete: how far it has come."""
        write_stored(self.work / "runs" / name, value, kind)

    def kept(self, name: str, kind: type[Kind]) -> Kind | None:
        """A value that was kept; None where there is none, or its files are not as they were written."""
        return read_stored(self.work / "runs" / name, kind)

    @property
    def keeps(self) -> bool:
        """Whether anything is kept."""
        return any(any(folder.glob("*.json")) for folder in (self.work / "runs", self.checkpoints))

    def begin_results(self) -> None:
        """Make room for the results: those of a study before go, first what says that they are complete."""
        if self.replaces:
            (self.folder / "manifest.json").unlink(missing_ok=True)
            sync_folder(self.folder)
            for path in self.folder.iterdir():
                if path != self.work:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            self._own.touch()
        self.synthetic.mkdir(exist_ok=True)
        files.write_bytes(self.folder / "log.jsonl", (self.work / "log.jsonl").read_bytes())  # pages point at it

    def close(self) -> Path:
        """End with everything in its place: nothing is kept to go on with."""
        (self.work / "log.jsonl").replace(self.folder / "log.jsonl")
        remove_stored(self.work / "study")
        self._clear_up([self.work])
        return self.folder

    def leave(self) -> Path:
        """End with what is kept, for another process to go on with."""
        self._lock.release()
        return self.folder

    def discard(self) -> None:
        """Remove what this study has begun, where it has kept nothing; nothing of a study before."""
        if self.keeps:
            self._lock.release()
        else:
            begun = [self.work, *([] if self.replaces else [self.folder]), *self._made]
            self._clear_up(dict.fromkeys(begun))


def differences(one: Identity, other: Identity) -> list[str]:
    """What differs between the study that was begun and the one that is to go on, each in a few words."""
    found = []
    for field in fields(Identity):
        before, now = getattr(one, field.name), getattr(other, field.name)
        for name in dict.fromkeys([*before, *now]):
            was, is_ = before.get(name, "none"), now.get(name, "none")
            if was != is_:
                said = f"{name} was {was}, is {is_}" if len(was) + len(is_) < 60 else f"{name} differs"
                found.append(said)
    return found


def _check(final: Path, force: bool, beside: str = "") -> None:
    """ConfigError if a directory is taken; `beside`: what may stand in it."""
    if not final.exists() or _is_empty(final, beside):
        return
    if not force:
        raise ConfigError(
            f"{final} exists; give --force to replace it (in Python force=True), or name another directory"
        )
    if not (final / "manifest.json").is_file():
        raise ConfigError(f"{final} exists and is not a run directory; --force does not replace it, name another")


def _is_empty(folder: Path, beside: str) -> bool:
    with suppress(OSError):
        return folder.is_dir() and not any(path.name != beside for path in folder.iterdir())
    return False


def _is_own(work: Path) -> bool:
    """Whether a folder, if it is there, is empty or holds what OutRisk keeps of a study: one of two files says so."""
    if not work.exists():
        return True
    with suppress(OSError, ValueError):
        study, lock = work / "study.json", work / "lock"
        if study.is_file():
            found = json.loads(study.read_text(encoding="utf-8"))
            return isinstance(found, dict) and found.keys() == {"arrays", "value"}
        if lock.is_file():
            return (lock.read_text(encoding="utf-8") or "process").startswith("process")
        return not any(work.iterdir())
    return False


def _in_home(final: Path) -> Path:
    """A directory, `~` being the user's home."""
    try:
        return final.expanduser()
    except RuntimeError:
        raise ConfigError(f"{final}: there is no such home; give another --out") from None


def _missing(folder: Path) -> list[Path]:
    """The folder and those above it that are not there, the innermost first."""
    return [each for each in (folder, *folder.parents) if not each.exists()]


def _remove_empty(folders: Iterable[Path]) -> None:
    """Remove folders as far as nothing is in them."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def _not_writable(place: Path, error: OSError) -> ConfigError:
    return ConfigError(f"{place}: cannot write there: {error.strerror or error}")
