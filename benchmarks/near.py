"""Does risk move between the two measures of "reproduced"? python benchmarks/near.py [--people N] [--runs N]

Five releases of a census excerpt beside the checkout (2019; holdout 2018; target TENURE), evolved by preset `fast`. On
the way of each run its first data set at which numbers are, on average, 1, 0.3, 0.1 and 0.03 sampling errors off; the
first of which every number is within 1 % of its sampling error (or at its digits); and its last. Each is scored by two
intruders: one with the codebook, by the attribution of the data set (TCAP, mean over sets of three keys), and one with
a register of everybody's keys, who has each number only as well as that data set reproduces it: anywhere between what
was released and what the data set has. Marginal risks: original minus holdout, mean over the runs.
"""

from __future__ import annotations

import argparse
import math
import time
from itertools import combinations

import numpy as np
import pandas as pd
from census import TARGET, Census
from pydantic import TypeAdapter
from threadpoolctl import threadpool_limits

from outrisk.assess.folds import Fold
from outrisk.assess.with_register import guess_fold
from outrisk.config import OutputEntry
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata
from outrisk.outputs import release
from outrisk.outputs.base import released
from outrisk.problem.refit import refit_all
from outrisk.risk.attribution.over_key_sets import score

ERRORS = {
    "event": "1",
    "release": ["coefficients", "standard_errors"],
    "decimals": {"coefficients": 4, "standard_errors": 3},
}
TABLES = [{"kind": "frequencies", "by": [name, TARGET]} for name in ("SEX", "MSTATUS", "LTILL")]
RELEASES = {
    "logit": [{"kind": "logit", "formula": f"{TARGET} ~ C(SEX) + C(MSTATUS) + C(LTILL)", "event": "1", "decimals": 4}],
    "logit with SEs": [{"kind": "logit", "formula": f"{TARGET} ~ C(SEX) + C(MSTATUS)", **ERRORS}],
    "three tables, logit": [
        *TABLES,
        {"kind": "logit", "formula": f"{TARGET} ~ C(AREA) + C(SEX)", "event": "1", "decimals": 4},
    ],
    "three tables, probit with SEs": [
        *TABLES,
        {"kind": "probit", "formula": f"{TARGET} ~ C(SEX) + C(LTILL)", **ERRORS},
    ],
    "two logits with SEs": [
        {"kind": "logit", "formula": f"{TARGET} ~ C(SEX) + C(LTILL)", **ERRORS},
        {"kind": "logit", "formula": f"{TARGET} ~ C(MSTATUS)", **ERRORS},
    ],
}
STEPS = (1.0, 0.3, 0.1, 0.03)
NEAR, LAST = "all within 1 %", "the last"


def snapshots(problem: Problem, seed: int, seconds: float):
    """Data sets on the way of a run, by what they are: codes and refits."""
    found, steps, until = {}, list(STEPS), time.thread_time() + seconds
    for generation in evolve(problem, preset("fast"), np.random.default_rng(seed)):
        refits = refit_all(problem.released, problem.codebook, generation.codes)
        off = _off(refits)
        what = []
        while steps and off <= steps[0]:
            what = [f"{steps.pop(0):g}"]  # one that skips steps counts for the last
        if NEAR not in found and all(refit.near.all() for refit in refits):
            what.append(NEAR)
        found |= dict.fromkeys(what, (generation.codes, refits))
        if generation.stop or time.thread_time() > until:
            return found | {LAST: (generation.codes, refits)}
    raise AssertionError("a run ends by its stop")


def _off(refits) -> float:
    """Mean distance of the numbers, in sampling errors; of those at their digits 0."""
    off = [np.where(r.matched, 0.0, np.abs(r.differences) / r.sampling_errors) for r in refits]
    found = float(np.mean(np.concatenate(off)))
    return found if math.isfinite(found) else math.inf


def by_codebook(census: Census, original: Microdata, holdout: Microdata, codes) -> float:
    """The marginal TCAP of a data set, mean over all sets of three keys."""
    sets = list(combinations(census.keys, 3))
    found = score(original, Microdata(census.book, codes), holdout, sets=sets, target=TARGET, tau=1.0, groups=0)
    ours, theirs = (found.values["tcap_undefined", side] for side in ("original", "holdout"))
    return float(np.nanmean(ours - theirs))


def by_register(census: Census, original: Microdata, holdout: Microdata, refits) -> float:
    """The marginal share of people guessed rightly from keys and numbers known as well as a data set has them."""
    ranges = []
    for refit in refits:
        one, numbers = refit.released, np.where(np.isfinite(refit.numbers), refit.numbers, refit.released.values)
        ranges.append(released(one.output, np.minimum(one.low, numbers), np.maximum(one.high, numbers)))
    fold = Fold(1, 0, "whole", original, holdout, "2018")
    found = guess_fold(fold, Problem(census.book, len(original), tuple(ranges)), census.keys, TARGET, 1)
    by = {(each.measure, each.unique): each for each in found.compared}
    return by["right", False].difference.value


def rows(census: Census, name: str, people: int, runs: int, seconds: float):
    """What each data set on the way of each run gives away."""
    original, holdout = census.some("2019", people, 1), census.some("2018", people, 1)
    adapter = TypeAdapter(OutputEntry)
    entries = enumerate(RELEASES[name], 1)
    outputs = [one for at, entry in entries for one in adapter.validate_python(entry).build(census.book, at)]
    problem = Problem(census.book, people, tuple(release(output, original) for output in outputs))
    for seed in range(1, runs + 1):
        for what, (codes, refits) in snapshots(problem, seed, seconds).items():
            matched = np.concatenate([refit.matched for refit in refits])
            near = np.concatenate([refit.near for refit in refits])
            yield {
                "what": what,
                "off": _off(refits),
                "near": near.mean(),
                "matched": matched.mean(),
                "codebook": by_codebook(census, original, holdout, codes),
                "register": by_register(census, original, holdout, refits),
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=2_000)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=12.0, help="of a run, at most")
    parser.add_argument("--only", action="append")
    given = parser.parse_args()
    census = Census()
    print("| release | data set | runs | sampling errors off | within 1 % | at digits | codebook | register |")
    print("| --- " * 8 + "|")
    for name in given.only or RELEASES:
        frame = pd.DataFrame(rows(census, name, given.people, given.runs, given.seconds))
        for what in (*(f"{step:g}" for step in STEPS), NEAR, LAST):
            some = frame[frame.what == what]
            if some.empty:
                continue
            risks = [
                f"{some[by].mean():+.3f} ({some[by].min():+.3f} to {some[by].max():+.3f})"
                for by in ("codebook", "register")
            ]
            print(
                f"| {name} | {what} | {len(some)} | {some.off.mean():.2g} | {some.near.mean():.2f} | "
                f"{some.matched.mean():.2f} | {' | '.join(risks)} |",
                flush=True,
            )
    print(f"\n{time.process_time():.0f} processor seconds")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
