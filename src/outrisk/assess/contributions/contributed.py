"""What each output of a study adds: which subsets are evolved, and the rows of contributions.csv."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from outrisk.assess.contributions.combinations import (
    MOST_SHARED,
    Combination,
    Subset,
    Wish,
    combinations_of,
    increment,
    subsets_in,
)
from outrisk.assess.contributions.subset_runs import Kept, SubsetJob, subset_jobs, synthetic_of
from outrisk.assess.contributions.worth import Place, Worth, estimate, run_variance, worth_of
from outrisk.assess.folds import SWAPPED
from outrisk.assess.run import Job, RunResult
from outrisk.assess.verdict.decide import MEAN, WORST
from outrisk.errors import ConfigError
from outrisk.microdata import Microdata
from outrisk.records.schema import Contribution, Decision
from outrisk.risk.by_person.crossed import Pairing

BY_ITSELF = 4  # outputs that are taken apart without being asked to: at most as many evolutions again as a usual study
EARLIER = "already released"


@dataclass(frozen=True)
class Part:
    """An output, or several that count as one; positions among the released outputs."""

    name: str
    outputs: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Asked:
    """Which quantities are asked for, of which parts, and the evolutions that they need.

    unasked: whether the study file says nothing of it, so that it is left out where there is no risk to be shared.
    """

    parts: tuple[Part, ...]
    chosen: tuple[Combination, ...]
    jobs: tuple[SubsetJob, ...]
    unasked: bool
    target: str
    tau: float

    @property
    def subsets(self) -> list[Subset]:
        """The subsets that are evolved."""
        return list(dict.fromkeys(job.subset for job in self.jobs))


def ask(wish: Wish, jobs: Sequence[Job], n_earlier: int, seed: int) -> Asked | None:
    """What a study asks for; None where that is nothing. `n_earlier`: the first outputs are already released.

    ConfigError where it asks for what cannot be had.
    """
    held = [job for job in jobs if job.fold.holdout is not None]
    leading = [job for job in held if job.fold.level == min(each.fold.level for each in held)]
    parts = _parts(jobs[0], n_earlier)
    explicit = bool(wish.leave_one_out or wish.shapley)
    chosen = _chosen(wish, len(parts), n_earlier > 0, explicit)
    if not chosen:
        if explicit:
            raise ConfigError("[contributions] one output says anything, and adds all there is: leave the section out")
        return None
    if not leading:
        if explicit or n_earlier:
            what = "what outputs add" if explicit else "what new outputs add to released ones"
            raise ConfigError(f"{what} is measured against a holdout: add one, or let the study have folds of 2")
        return None
    runs = subset_jobs(leading, [part.outputs for part in parts], subsets_in(chosen, len(parts)), wish.runs, seed)
    unasked = not explicit and not n_earlier
    return Asked(parts, tuple(chosen), tuple(runs), unasked, jobs[0].target, jobs[0].tau)


def _parts(job: Job, n_earlier: int) -> tuple[Part, ...]:
    """What is already released as one part, first; then every other output. Those that say nothing are left out."""
    released = job.problem.released
    known = [at for at, each in enumerate(released) if each.known.any()]
    earlier = tuple(at for at in known if at < n_earlier)
    later = [Part(released[at].name, (at,)) for at in known if at >= n_earlier]
    return (Part(EARLIER, earlier), *later) if earlier else tuple(later)


def _chosen(wish: Wish, n: int, earlier: bool, explicit: bool) -> list[Combination]:
    if wish.shapley and n > MOST_SHARED:
        raise ConfigError(
            f"[contributions] shapley: shares are computed for at most {MOST_SHARED} outputs, and there are {n}: "
            "leave it out (leave_one_out does for any number)"
        )
    if n < 2:
        return []
    one_by_one = explicit or (wish.leave_one_out is None and n <= BY_ITSELF)
    chosen = list(combinations_of(n, wish.shapley)) if one_by_one else []
    return [increment(n), *chosen] if earlier else chosen


def places_of(decision: Decision, key_sets: Sequence[tuple[str, ...]]) -> list[Place]:
    """Where the verdict looks: of each measure the mean over the study's key sets, and the worst key set."""
    found = []
    for limit in decision.limits:
        if limit.over == MEAN:
            found.append(Place(limit.measure, limit.over, tuple(key_sets)))
        elif limit.over == WORST:
            found.append(Place(limit.measure, limit.over, (tuple(limit.keys.split("+")),)))
    return found


def worths(
    asked: Asked, results: Sequence[RunResult], kept: Mapping[str, Kept], places: Sequence[Place]
) -> dict[Subset, Worth]:
    """The worth of all outputs together, by the study's own runs, and of every subset that was evolved."""
    names = {job.job.fold.name for job in asked.jobs}
    level = asked.jobs[0].job.fold.level
    own = [each for each in results if each.job.fold.level == level and each.job.fold.name in names]
    met = all(refit.matched.all() for each in own for refit in each.refits)
    runs = [(each.job, each.synthetic) for each in own]
    everything = tuple(range(len(asked.parts)))
    found = {everything: worth_of(_pairings(runs), places, asked.target, asked.tau, met)}
    for subset in asked.subsets:
        jobs = [job for job in asked.jobs if job.subset == subset]
        runs = [(job.job, synthetic_of(job, kept[job.name])) for job in jobs]
        met = all(kept[job.name].met for job in jobs)
        found[subset] = worth_of(_pairings(runs), places, asked.target, asked.tau, met)
    return found


def _pairings(runs: Sequence[tuple[Job, Microdata]]) -> list[Pairing]:
    """The pairs of folds that are each other's holdout, or the whole and its holdout, with the runs on each."""
    by_fold: dict[str, list[Microdata]] = {}
    for job, synthetic in runs:
        by_fold.setdefault(job.fold.name, []).append(synthetic)
    folds = {job.fold.name: job.fold for job, _ in runs}
    found, used = list[Pairing](), set[str]()
    for name, fold in folds.items():
        sibling = SWAPPED if fold.level == 1 else fold.holdout_name.removeprefix("fold ")
        if name in used or fold.holdout is None or fold.swapped:
            continue
        used |= {name, sibling}
        holdout = folds[sibling].original if sibling in folds else fold.holdout
        found.append(Pairing(fold.original, holdout, by_fold[name], by_fold.get(sibling, []), fold.bands))
    return found


def rows(asked: Asked, worth: Mapping[Subset, Worth], places: Sequence[Place]) -> Iterator[Contribution]:
    """Rows of contributions.csv: every quantity at every place."""
    between = run_variance(list(worth.values()))
    for combination in asked.chosen:
        found = estimate(combination, worth, between)
        for at, place in enumerate(places):
            yield Contribution(
                output="" if combination.part is None else asked.parts[combination.part].name,
                what=combination.what,
                measure=place.measure,
                over=place.over,
                keys="+".join(place.sets[0]) if len(place.sets) == 1 else "",
                value=float(found.value[at]),
                low=float(found.low[at]),
                high=float(found.high[at]),
                standard_error=float(found.standard_error[at]),
                reproduced=found.met,
            )
