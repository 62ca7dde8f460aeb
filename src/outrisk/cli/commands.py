"""The subcommands and their options. What does the work is imported when it is called, to start quickly."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from outrisk import __version__
from outrisk.cli import STOPPED
from outrisk.cli.spread import Spread
from outrisk.errors import ConfigError, OutRiskError


class AttacksEncoding(StrEnum):
    """How classifiers take keys."""

    nominal = "nominal"
    ordinal = "ordinal"


class Rare(StrEnum):
    """What becomes of levels that few people have."""

    keep = "keep"
    merge = "merge"
    drop = "drop"


class Backend(StrEnum):
    """Where runs are carried out."""

    fork = "fork"
    threads = "threads"
    loky = "loky"
    dask = "dask"


app = typer.Typer(
    name="outrisk",
    help="Measure the disclosure risk of released statistical outputs.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
_SEP = "Separator of a CSV, such as ';' or 'tab' (else found out)."
_DECIMAL = "Decimal mark of a CSV, '.' or ',' (else found out)."
_ENCODING = "Encoding of a CSV, such as cp1252 (else found out)."
_ClickError: type[Exception] = typer.BadParameter.__mro__[2]  # typer re-exports click's errors only in part


def run(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command line; returns the exit code. A user's mistake is told in one line on stderr."""
    log = logging.getLogger("outrisk")
    log.handlers = [_Notes()]
    log.setLevel(logging.INFO)
    try:
        return int(app(list(arguments) if arguments is not None else None, standalone_mode=False) or 0)
    except OutRiskError as error:
        return _tell(str(error), 2)
    except _ClickError as error:
        return _tell(_misused(error), 2)
    except OSError as error:
        return _tell(f"{error.filename or 'output'}: {error.strerror or error}", 2)
    except (_Stopped, KeyboardInterrupt, typer.Abort):
        return _tell("stopped; nothing was written", STOPPED)


def _misused(error: Exception) -> str:
    """What is wrong with a command line, and where its own options stand."""
    message = error.format_message().rstrip(".")  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    command = f" {context.info_name}" if context is not None and context.parent is not None else ""
    short = re.fullmatch(r"-(\w)", getattr(error, "option_name", ""))
    if short and context is not None and command:
        long = sorted(name for each in context.command.params for name in each.opts if name.startswith(f"--{short[1]}"))
        message += f"; did you mean {' or '.join(long)}?" if long else ""
    return f"{message}; see 'outrisk{command} --help'"


class _Notes(logging.Handler):
    """What was found out on the way, as how a file is written: a line on stderr, each once."""

    def __init__(self) -> None:
        super().__init__()
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Write one note."""
        said = record.getMessage()
        if said not in self._said:
            self._said.add(said)
            sys.stderr.write(f"note: {said}\n")


def _speak(quiet: bool) -> None:
    logging.getLogger("outrisk").setLevel(logging.ERROR if quiet else logging.INFO)


class _Stopped(Exception):  # noqa: N818
    """Ctrl-C, under a name that typer does not know: it would end the command without a word."""


def _stoppable(work: Callable[[], int]) -> int:
    try:
        return work()
    except KeyboardInterrupt:
        raise _Stopped from None


def _tell(message: str, code: int) -> int:
    sys.stderr.write(f"outrisk: {' '.join(message.split())}\n")
    return code


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"outrisk {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


Released = Annotated[
    list[Path] | None, typer.Option(help="Studies, or folders of them, whose outputs are already released.")
]


@app.command(cls=Spread)
def assess(
    study: Annotated[Path, typer.Argument(metavar="STUDY.yaml", help="The study to carry out.")],
    out: Annotated[Path | None, typer.Option(help="Directory to write (default: runs/<name>).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the directory if it exists.")] = False,
    workers: Annotated[int | None, typer.Option(min=1, help="Runs at a time (default: one a core).")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed in place of the study's.")] = None,
    time_limit: Annotated[
        float | None, typer.Option(min=0, metavar="SECONDS", help="End the runs then; what has ended is reported.")
    ] = None,
    run_time_limit: Annotated[
        float | None, typer.Option(min=0, metavar="SECONDS", help="End the evolution of each run then.")
    ] = None,
    backend: Annotated[
        Backend | None,
        typer.Option(
            help="Where runs are carried out: in processes forked from this one (by default, on Linux), on threads "
            "(elsewhere), in processes begun anew (loky), or on a dask cluster."
        ),
    ] = None,
    address: Annotated[str | None, typer.Option(help="Of the dask scheduler, tcp://HOST:8786.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, no summary; errors only.")] = False,
    trust: Annotated[bool, typer.Option("--trust", help="Run the study's own functions (kind: custom).")] = False,
    released: Released = None,
) -> int:
    """Assess the outputs of a study: evolve, refit, measure, report. An unfinished study goes on where it was."""
    from outrisk.cli.assess import run_study

    _speak(quiet)
    more = (time_limit, run_time_limit, backend and backend.value, address, released or [])
    return _stoppable(lambda: run_study(study, out, force, workers, seed, quiet, trust, *more))


@app.command(cls=Spread)
def check(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY.yaml|FOLDER", help="The study, or the ACRO folder, that is looked at.")
    ],
    inside: Annotated[
        bool, typer.Option("--inside", help="Name the small cells that only a subtraction of two outputs shows.")
    ] = False,
    trust: Annotated[bool, typer.Option("--trust", help="Run the study's own functions (kind: custom).")] = False,
    released: Released = None,
    each_one: Annotated[
        bool, typer.Option("--all", help="Print each finding by itself, also those that say the same of other outputs.")
    ] = False,
) -> int:
    """Look at what outputs say outright: small cells, groups with one answer, dominance. No evolution."""
    from outrisk.cli.check import check_folder, check_study

    if study.is_dir():
        if released:
            raise ConfigError(f"{study}: --released goes with a study; make one of the folder (outrisk init --acro)")
        return _stoppable(lambda: check_folder(study))
    return _stoppable(lambda: check_study(study, inside, trust, released or [], each_one))


@app.command(cls=Spread)
def prove(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY.yaml", help="The study whose outputs are taken as equations.")
    ],
    time_limit: Annotated[
        float | None, typer.Option(min=1, help="Seconds for it; what is proved by then is told. Without: as much work.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Write who is proved to this file, to be kept inside.")] = None,
    sample: Annotated[int | None, typer.Option(min=1, help="Ask about so many people only, drawn at random.")] = None,
    known_for: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Share of the people whose keys are known, drawn at random (else the study's)."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of what is drawn.")] = 1,
    trust: Annotated[bool, typer.Option("--trust", help="Run the study's own functions (kind: custom).")] = False,
    released: Released = None,
) -> int:
    """Prove whose target the outputs give away to an intruder who knows everybody's keys. No evolution."""
    from outrisk.cli.prove import prove as prove_outputs

    return _stoppable(lambda: prove_outputs(study, time_limit, csv, sample, known_for, seed, trust, released or []))


@app.command()
def follow(
    study: Annotated[Path, typer.Argument(metavar="STUDY.yaml", help="The study whose outputs are released again.")],
    runs: Annotated[int, typer.Option(min=1, max=1_000, help="Runs of evolution on each release; 5 or more.")] = 5,
    rounds: Annotated[
        int, typer.Option(min=1, max=1_000, help="How often values are changed, of 5 % of the records at most.")
    ] = 1,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed in place of the study's.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Runs at a time (default: one a core).")] = None,
    trust: Annotated[bool, typer.Option("--trust", help="Run the study's own functions (kind: custom).")] = False,
    released: Released = None,
) -> int:
    """Ask whom the outputs follow: change the values of few people, release again, and see what is inferred then."""
    from outrisk.cli.follow import follow as follow_people

    return _stoppable(lambda: follow_people(study, runs, rounds, seed, workers, trust, released or []))


@app.command(cls=Spread)
def measure(
    original: Annotated[Path, typer.Option(help="Original records: CSV, Parquet, Stata, SPSS or Excel.")],
    synthetic: Annotated[list[Path], typer.Option(help="Synthetic records; several files: several syntheses.")],
    keys: Annotated[list[str], typer.Option(help="Variables that an intruder knows.")],
    target: Annotated[str, typer.Option(help="Variable that the intruder wants to learn.")],
    holdout: Annotated[Path | None, typer.Option(help="Records of the same population that were not used.")] = None,
    targets: Annotated[list[str] | None, typer.Option(help="Further targets, to be compared.")] = None,
    key_sizes: Annotated[list[int] | None, typer.Option(help="CAP family over all key sets of these sizes.")] = None,
    attacks: Annotated[bool, typer.Option("--attacks", help="Train classifiers on the synthetic data.")] = False,
    attacks_encoding: Annotated[
        AttacksEncoding | None, typer.Option(help="Keys that classifiers learn from, as categories or as numbers.")
    ] = None,
    privacy: Annotated[bool, typer.Option("--privacy", help="Privacy metrics for synthetic data.")] = False,
    metrics: Annotated[list[str] | None, typer.Option(help="Only these privacy metrics.")] = None,
    sample: Annotated[int | None, typer.Option(min=2, help="Records that the privacy metrics are asked about.")] = None,
    time_limit: Annotated[float | None, typer.Option(min=0, help="Seconds for a privacy metric and table.")] = None,
    codebook: Annotated[Path | None, typer.Option(help="Says which variables are numbers, which categories.")] = None,
    ngroups_keys: Annotated[
        int | None, typer.Option(min=1, help="Intervals that numeric keys are grouped into (default: not grouped).")
    ] = None,
    sep: Annotated[str, typer.Option(help=_SEP)] = "",
    decimal: Annotated[str, typer.Option(help=_DECIMAL)] = "",
    encoding: Annotated[str, typer.Option(help=_ENCODING)] = "",
    details: Annotated[
        bool, typer.Option("--details", help="Show all tables and columns, as how intervals are made.")
    ] = False,
    json: Annotated[Path | None, typer.Option(help="Write all results to this file.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a self-contained report to this file.")] = None,
) -> int:
    """Measure what synthetic data give away, whatever tool made them."""
    from outrisk.cli.measure import measure_files

    return _stoppable(
        lambda: measure_files(
            original=original,
            synthetic=synthetic,
            holdout=holdout,
            keys=keys,
            target=target,
            targets=targets or [],
            key_sizes=key_sizes or [],
            attacks=attacks,
            attacks_encoding=attacks_encoding.value if attacks_encoding else None,
            privacy=privacy,
            metrics=metrics or [],
            sample=sample,
            time_limit=time_limit,
            codebook=codebook,
            ngroups_keys=ngroups_keys,
            written=(sep, decimal, encoding),
            details=details,
            json_file=json,
            html_file=html,
        )
    )


@app.command(cls=Spread)
def init(
    records: Annotated[
        Path | None, typer.Argument(metavar="DATA", help="The records: CSV, Parquet, Stata, SPSS or Excel.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Study file to write (default: <data>.yaml beside the data).")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
    keys: Annotated[list[str] | None, typer.Option(help="Variables that an intruder knows.")] = None,
    target: Annotated[str, typer.Option(help="Variable that the intruder wants to learn.")] = "",
    formula: Annotated[list[str] | None, typer.Option(help="A regression to be released: 'ill ~ age + sex'.")] = None,
    table: Annotated[list[str] | None, typer.Option(help="A table to be released: area,ill.")] = None,
    missing: Annotated[
        list[str] | None, typer.Option(help="Codes that mean missing: -9, or COLUMN=CODE; 'none': there are none.")
    ] = None,
    rare: Annotated[
        Rare | None, typer.Option(help="Levels of few people: kept, merged (default) or their records dropped.")
    ] = None,
    threshold: Annotated[int, typer.Option(min=1, help="People that a level needs.")] = 10,
    sep: Annotated[str, typer.Option(help=_SEP)] = "",
    decimal: Annotated[str, typer.Option(help=_DECIMAL)] = "",
    encoding: Annotated[str, typer.Option(help=_ENCODING)] = "",
    acro: Annotated[Path | None, typer.Option(help="A folder of ACRO, whose outputs become the study.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="With --acro: the records, to settle what the folder lacks.")
    ] = None,
) -> int:
    """Write a starter study and a codebook that points at nobody, for a person to correct."""
    from outrisk.cli.init import start_acro_study, start_study

    if acro is not None:
        found = data or records
        return _stoppable(
            lambda: start_acro_study(acro, found, out, force, (sep, decimal, encoding), keys or [], target)
        )
    if records is None:
        raise typer.BadParameter("name the file with the records, or a folder with --acro")
    return _stoppable(
        lambda: start_study(
            records,
            out,
            force,
            sep,
            decimal,
            encoding,
            table or [],
            missing or [],
            keys=keys or [],
            target=target,
            formulas=formula or [],
            rare=rare.value if rare else "",
            threshold=threshold,
        )
    )


@app.command()
def teach(
    study: Annotated[Path, typer.Argument(metavar="STUDY.yaml", help="The study with the released numbers.")],
    records: Annotated[int | None, typer.Option(min=1, help="Synthetic records (default: as the study).")] = None,
    copies: Annotated[int, typer.Option(min=1, max=1000, help="Data sets to make, each from its own seed.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Directory to write (default: runs/<name>-teaching).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the directory if it exists.")] = False,
    parquet: Annotated[bool, typer.Option("--parquet", help="Write Parquet beside CSV.")] = False,
    dta: Annotated[bool, typer.Option("--dta", help="Write Stata files with value labels beside CSV.")] = False,
    sav: Annotated[bool, typer.Option("--sav", help="Write SPSS files with value labels beside CSV.")] = False,
    workers: Annotated[int | None, typer.Option(min=1, help="Copies at a time (default: one a core).")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed in place of the study's.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No summary; errors only.")] = False,
    trust: Annotated[bool, typer.Option("--trust", help="Run the study's own functions (kind: custom).")] = False,
) -> int:
    """Make synthetic teaching data from a codebook and released numbers alone."""
    from outrisk.cli.teach import make_teaching_data

    _speak(quiet)
    more = tuple(ending for ending, on in ((".parquet", parquet), (".dta", dta), (".sav", sav)) if on)
    return _stoppable(lambda: make_teaching_data(study, records, copies, out, force, more, workers, seed, quiet, trust))


@app.command()
def compare(
    one: Annotated[Path, typer.Argument(metavar="RUN1", help="A run directory.")],
    other: Annotated[Path, typer.Argument(metavar="RUN2", help="Another, of the same target and keys.")],
) -> int:
    """Put two runs side by side: verdicts, findings, outputs, and marginal risks with their difference."""
    from outrisk.cli.compare import compare_runs

    return _stoppable(lambda: compare_runs(one, other))


@app.command()
def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")],
    acro_copy: Annotated[
        Path | None, typer.Option(help="Write an annotated copy of the run's ACRO session to this directory.")
    ] = None,
    acro: Annotated[Path | None, typer.Option(help="With --acro-copy: where the session's folder is now.")] = None,
) -> int:
    """Render the report of a run again from its files; or hand it back as an annotated copy of its ACRO session."""
    from outrisk.cli.report import copy_session, render_again

    if acro_copy is not None:
        return _stoppable(lambda: copy_session(run, acro_copy, acro))
    return _stoppable(lambda: render_again(run))
