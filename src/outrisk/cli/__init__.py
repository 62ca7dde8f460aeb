"""The command line. It translates and computes nothing; each subcommand's work is in a module of its own, imported when it is called."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from outrisk import __version__
from outrisk.errors import OutRiskError

app = typer.Typer(
    name="outrisk",
    help="Measure the disclosure risk of released statistical outputs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def main() -> None:
    """Entry point of the `outrisk` command."""
    app()


def _told(work: Callable[[], int]) -> None:
    """Carry out a command; a user's mistake ends in one line and exit code 2."""
    try:
        code = work()
    except OutRiskError as error:
        sys.stderr.write(f"outrisk: {' '.join(str(error).split())}\n")
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        sys.stderr.write("outrisk: stopped; nothing was written\n")
        raise typer.Exit(130) from None
    raise typer.Exit(code)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"outrisk {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def assess(
    study: Annotated[Path, typer.Argument(metavar="STUDY.yaml", help="The study to carry out.")],
    out: Annotated[Path | None, typer.Option(help="Directory to write (default: runs/<name>).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the directory if it exists.")] = False,
    workers: Annotated[int | None, typer.Option(min=1, help="Runs at a time (default: one a core).")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed in place of the study's.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, no summary; errors only.")] = False,
) -> None:
    """Assess the outputs of a study: evolve, refit, measure, report."""

    def work() -> int:
        from outrisk.cli.assess import run_study

        return run_study(study, out, force, workers, seed, quiet)

    _told(work)


@app.command()
def init(
    data: Annotated[Path, typer.Argument(metavar="DATA.csv", help="CSV or Parquet file with the records.")],
    out: Annotated[Path | None, typer.Option(help="Study file to write (default: <data>.yaml beside the data).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> None:
    """Write a starter study and an inferred codebook, for a person to correct."""

    def work() -> int:
        from outrisk.cli.init import start_study

        return start_study(data, out, force)

    _told(work)


@app.command()
def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")],
) -> None:
    """Render the report of a run again from its files."""

    def work() -> int:
        from outrisk.cli.report import render_again

        return render_again(run)

    _told(work)
