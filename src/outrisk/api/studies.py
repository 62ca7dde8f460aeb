"""Assess released outputs: a study is read, carried out, and kept or written."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any, Literal

import pandas as pd
from rich.console import Console

from outrisk.api.assessed import Assessed
from outrisk.api.checks_of_arguments import (
    check_codebook,
    check_count,
    check_frame,
    check_place,
    check_switch,
    listed,
    section,
    seeded,
)
from outrisk.api.entries import check_sources, entry_of, numbered
from outrisk.api.not_over_inputs import check_directory
from outrisk.api.rendering import import_meanwhile
from outrisk.assess.backends import connect
from outrisk.assess.folds import Fold
from outrisk.assess.forecast import Forecast
from outrisk.assess.run import RunResult
from outrisk.assess.study_run import StudyRun, prepare
from outrisk.codebook import Codebook
from outrisk.config import Study, is_study, read_study, study_of
from outrisk.errors import ConfigError, OutRiskError
from outrisk.load import StudyData, encode_frames, exactly, load_study_data, named_by
from outrisk.microdata import MISSING_VALUES, Microdata
from outrisk.progress import Outlook, Progress, Stages, in_words
from outrisk.records.directory import StudyDirectory
from outrisk.report.pages.study_page import render

_LONG = 30.0  # seconds, at most, from which a forecast is worth a line
_UNLIMITED = (
    "The time limit ends the runs. The direct look before them, and what is measured and written after them, take the "
    "time that they need."
)


def assess(
    data: pd.DataFrame,
    outputs: Sequence[object],
    *,
    keys: Sequence[str],
    target: str,
    holdout: pd.DataFrame | None = None,
    codebook: Codebook | None = None,
    person: str = "",
    household: str = "",
    decimals: int | None = None,
    rules: Sequence[str] = (),
    key_sizes: Sequence[int] = (),
    target_within: float | None = None,
    tau: float = 1.0,
    appetite: Mapping[str, Any] | None = None,
    intruder: Sequence[str] = ("codebook", "register"),
    register: Mapping[str, Any] | None = None,
    privacy: Mapping[str, Any] | bool | None = None,
    contributions: Mapping[str, Any] | None = None,
    released: Sequence[object] = (),
    attacks: Sequence[str] | str | Mapping[str, Any] | bool = (),
    evolve: Mapping[str, Any] | None = None,
    runs: int | Mapping[int, int] | Literal["enough"] = 3,
    folds: Sequence[int] = (1, 2),
    seed: int = 1,
    name: str = "study",
    out: str | Path | None = None,
    force: bool = False,
    workers: int | None = None,
    time_limit: float | None = None,
    run_time_limit: float | None = None,
    backend: str | None = None,
    address: str | None = None,
    quiet: bool = False,
) -> Assessed:
    """Assess outputs that are to be released: evolve synthetic data that reproduce them, measure what these give away.

    Parameters
    ----------
    data : the records (n, variables) behind the outputs. They are used for releasing the numbers and for the measures
        of risk; the evolution sees neither them nor `holdout`.
    outputs : what is to be released, in any mixture: fitted models of statsmodels, cross tables by `pandas.crosstab`
        (both are checked against the records), objects such as `outrisk.Logit("ill ~ age")`, entries of a study file.
    keys, target : what an intruder knows of a person, and wants to learn.
    target_within : a number as target counts as right to within this share of its value, in bands; 0: exactly. None:
        0.1 for a number of more than 100 values, and 0 else.
    holdout : records of the same population that were not used. Without them the halves of the data serve each other.
    codebook : the variables and their supports; without one it is inferred, and the result has it to be checked.
    person, household : columns of the data (and holdout) that say whose records are whose, where people have several or
        live together: halves are of people or households, and people are counted.
    decimals : printed digits after the point of outputs that do not say their own (counts have none).
    rules, key_sizes, tau, appetite, intruder, register, privacy, contributions, attacks, evolve, runs, folds : as in a
        study file (docs/study-file.md); `privacy` and `attacks` may be True, as of `outrisk.measure`: the metrics that
        are measured by default, and all classifiers; or False, for none.
    released : outputs already released of these records, as `outputs`; and study files, or folders of them, whose
        outputs are already released of the same people: the verdict is
        then of all together, and `tables["contributions"]` has what the new ones add.
    seed : the same seed gives the same result, on any number of workers, and as a study file gives it.
    name, out, force : `out` is a run directory to be written, named as the study; without it nothing is written.
    workers, quiet : runs side by side (by default one a core); no progress.
    time_limit, run_time_limit : seconds, after which the study ends with the runs that have ended, and after which the
        evolution of a run ends where it is. Without them nothing depends on time.
    backend, address : where runs are carried out: "fork" (processes forked from this one: the default on Linux, in a
        process that has no other threads), "threads" (the default elsewhere), "loky" (processes begun anew), "dask" (a
        cluster, whose scheduler answers at the address); the results are the same bytes (docs/clusters.md).

    Returns
    -------
    Assessed : its `sentence`, data frames `released`, `risk`, `key_sets`, `people`, `register`, and `report(path)`.

    Raises
    ------
    OutRiskError : in one line, for whatever is wrong with the data, the outputs or the settings.

    Examples
    --------
    >>> result = outrisk.assess(df, [fit, pd.crosstab(df.area, df.ill)], keys=["age", "area"], target="ill")
    """
    check_count(workers, "workers", or_none=True)
    check_switch(force, "force")
    check_switch(quiet, "quiet")
    place = None if out is None else check_place(out, "out")
    settings: dict[str, Any] = {
        "name": name,
        "rules": listed(rules),
        "key_sizes": listed(key_sizes),
        "target_within": target_within,
        "tau": tau,
        "intruder": listed(intruder),
        "attacks": {True: "all", False: []}[attacks] if isinstance(attacks, bool) else listed(section(attacks)),
        "evolve": seeded(evolve, seed),
        "study": {
            "runs": runs,
            "folds": listed(folds),
            "time_limit": time_limit,
            "run_time_limit": run_time_limit,
        },
    }
    privacy = {True: {}, False: {"metrics": []}}[privacy] if isinstance(privacy, bool) else privacy
    sections: dict[str, object] = {
        "appetite": appetite,
        "register": register,
        "privacy": privacy,
        "contributions": contributions,
    }
    settings |= {name: section(given) for name, given in sections.items() if given is not None}
    frames = {"data": data} | ({} if holdout is None else {"holdout": holdout})
    study, records = study_of_session(
        "outrisk.assess", frames, outputs, keys, target, codebook, decimals, settings, released, person, household
    )
    directory = None if place is None else StudyDirectory(place, force)
    if directory is not None:
        check_directory(directory.folder, study.files)
    run = prepare(study, records, directory, workers)
    run.backend = connect(backend, address)
    with run:
        console = Console(stderr=True, quiet=quiet)
        carry_out(run, Event(), console)
        if directory is not None:
            write_study(run, console=console)
    return Assessed(run)


def study_of_session(
    place: str,
    frames: Mapping[str, pd.DataFrame],
    outputs: Sequence[object],
    keys: Sequence[str],
    target: str,
    codebook: Codebook | None,
    decimals: int | None,
    settings: Mapping[str, Any],
    released: Sequence[object] = (),
    person: str = "",
    household: str = "",
) -> tuple[Study, StudyData]:
    """A study, and its records, of what a session gives: frames `data` and perhaps `holdout`; outputs checked.

    `released`: outputs, or study files and folders of them, that are already out. `person`, `household`: see `Whose`.
    """
    for what, frame in frames.items():
        check_frame(frame, what)
    check_codebook(codebook)
    data = frames["data"]
    exact = exactly(data, codebook)
    found = [entry_of(output, position, data, exact, decimals) for position, output in numbered(outputs)]
    document: dict[str, Any] = {
        **settings,
        **already_out(place, released),
        **{what: {"path": "data frame"} for what in frames},
        "data": {"path": "data frame", "person": person, "household": household},
        "outputs": [entry for entry, _ in found],
        "keys": listed(keys),
        "target": target,
    }
    study = study_of(document, Path(place))
    check_sources(study, exact, [source for _, source in found])
    named, objects = named_by(study), [each for each in released if not isinstance(each, str | Path)]
    if objects:
        earlier = _already_out_here(study, document, objects, data, exact, decimals)
        study, named = replace(study, earlier=(*study.earlier, earlier)), f"{named}{named_by(earlier)}"
    return study, encode_frames(frames, codebook, dict.fromkeys(frames, MISSING_VALUES), named, study)


def _already_out_here(
    study: Study,
    document: Mapping[str, Any],
    outputs: Sequence[object],
    data: pd.DataFrame,
    exact: Microdata,
    decimals: int | None,
) -> Study:
    """Outputs of the session that are already released, as a study of its own in the same place."""
    try:
        found = [entry_of(output, position, data, exact, decimals) for position, output in numbered(outputs)]
        entries = {"name": "released", "outputs": [entry for entry, _ in found], "released": []}
        earlier = study_of({**document, **entries}, study.path)
        check_sources(earlier, exact, [source for _, source in found])
    except OutRiskError as error:
        raise ConfigError(f"released: {error}") from None
    return earlier


def prepare_study(
    path: Path,
    out: Path | None,
    force: bool,
    workers: int | None,
    seed: int | None,
    trust: bool = False,
    time_limit: float | None = None,
    run_time_limit: float | None = None,
    backend: str | None = None,
    address: str | None = None,
    released: Sequence[Path] = (),
) -> StudyRun:
    """A study file made ready to be carried out (see `StudyRun`), to be written into `out` (None: runs/<name>).

    `trust`: the study's own functions may be run. The time limits take the place of the study's. `backend`, `address`:
    where runs are carried out (see docs/clusters.md). `released`: studies (or folders of them) whose outputs are
    already released, besides those that the file names.
    """
    study = read_study(path, seed, trust, time_limit, run_time_limit, studies_at(path, released))
    directory = StudyDirectory(out or Path("runs") / study.file.name, force)
    check_directory(directory.folder, study.files)
    run = prepare(study, load_study_data(study), directory, workers)
    run.backend = connect(backend, address)
    return run


def already_out(place: str, released: Sequence[object]) -> dict[str, list[str]]:
    """The setting of a study of a session that names the study files whose outputs are already released."""
    if isinstance(released, str | Path):
        raise ConfigError(f"{place}: released is {str(released)!r}; give a list of study files or folders")
    if not isinstance(released, list | tuple):
        raise ConfigError(f"{place}: released is a {type(released).__name__}; give a list of outputs, or study files")
    found = studies_at(Path(place), [Path(each) for each in released if isinstance(each, str | Path)])
    return {"released": [os.path.relpath(each) for each in found]}


def studies_at(path: Path, places: Sequence[Path]) -> list[Path]:
    """Study files by their names, or all in a folder but `path` itself; ConfigError where there are none."""
    found: list[Path] = []
    for place in places:
        if not place.is_dir():
            found.append(place)
            continue
        inside = [each for each in sorted(place.glob("*.y*ml")) if is_study(each) and each.resolve() != path.resolve()]
        if not inside:
            raise ConfigError(f"{place}: no study file in this folder; name the files, or another folder")
        found += inside
    return found


def carry_out(study: StudyRun, halt: Event, console: Console) -> None:
    """Carry out a study, its progress told on `console`."""

    def watch(fold: Fold, run: int, number: int, share: float) -> None:
        outlook.total = len(study.jobs)
        progress.heard(f"fold {fold.name}, run {run}", number, share)

    def end(result: RunResult) -> None:
        matched = [int(refit.matched.sum()) for refit in result.refits]
        share = sum(matched) / max(1, sum(len(refit.matched) for refit in result.refits))
        progress.finished(f"fold {result.job.fold.name}, run {result.job.run}", share, result.seconds)

    study.fork()
    if study.directory is not None:
        import_meanwhile()
    outlook = Outlook(len(study.jobs), len(study.done), study.workers, study.assessment.settings.generations)
    with Progress("runs", outlook, console) as progress:
        if not console.quiet and study.left:
            limited = study.study.file.study.time_limit is not None
            if limited:
                progress.say(f"{_UNLIMITED}\n{study.outright}")
            found = study.foretell(halt, end)
            if found is not None:
                progress.expect(found.likely)
            if found is not None and found.most >= _LONG:
                progress.say(foretold(study, found) if limited else f"{study.outright}\n{foretold(study, found)}")
        study.carry_out(halt, watch, end)
    wanted = [] if halt.is_set() else study.wanted_subsets
    if wanted:
        outlook = Outlook(len(wanted), 0, study.workers, study.assessment.settings.generations)
        with Progress("subsets of outputs", outlook, console) as progress:
            study.contribute(halt, progress.finished)


def foretold(study: StudyRun, found: Forecast) -> str:
    """What a study will take, in a line: time, memory, and what would make it shorter."""
    left, limit = len(study.left), study.study.file.study.time_limit
    of = f"{left} runs" if left == len(study.jobs) else f"the {left} of {len(study.jobs)} runs that are left"
    parts = [f"Forecast: likely {in_words(found.likely)}, at most about {in_words(found.most)}, for {of}"]
    parts += [", and more where these are not enough"] if study.rounds is not None and not study.rounds.last else []
    if found.subsets:
        where = ", if there is a marginal risk" if study.asked is not None and study.asked.unasked else ""
        parts += [f"; likely {in_words(found.subsets)} more to tell outputs apart{where}"]
    parts += [f"; {found.memory:,.0f} MB of memory" if found.memory else ""]
    if limit is not None and limit < found.likely:
        parts += [
            f"; the time limit of {in_words(limit)} ends it after about "
            f"{max(1, int(left * limit / found.likely))} of them"
        ]
    generations = study.assessment.settings.generations
    parts += [f". Shorter with more --workers than {study.workers}, fewer runs or folds, fewer generations than "]
    parts += [f"{generations}, or a --run-time-limit; Ctrl-C keeps what is done."]
    return "".join(parts)


def _at_once(render: Callable[[], object]) -> bool:
    render()
    return True


def write_study(
    run: StudyRun,
    rendering: Callable[[Callable[[], object]], bool] = _at_once,
    console: Console | None = None,
) -> tuple[Path, bool]:
    """Write what is done of a study into its directory: where that is now, and whether the report was rendered.

    `rendering` is given what renders the report of a whole study, and says whether that came to its end. Results of a
    study before stay where this one is not whole. What goes on is told on `console`.
    """
    directory = run.directory
    assert directory is not None
    ended = "all runs done" if run.all_runs else f"{len(run.done)} of {len(run.jobs)} runs done"
    with Stages(console or Console(quiet=True)) as stages:
        if run.done and (run.whole or run.late or not directory.replaces):
            directory.begin_results()
            run.write(directory, lambda stage: stages.say(f"{ended}; {stage}"))
            stages.say(f"{ended}; writing the synthetic data")
            run.write_synthetic(directory.synthetic)
        stages.say(f"{ended}; rendering the report")
        rendered = (run.whole or run.late) and rendering(lambda: render(directory.folder))
    if rendered and run.whole:
        run.complete(directory)
        return directory.close(), True
    directory.log("late" if run.late else "interrupted", runs=len(run.results))
    return directory.leave(), rendered
