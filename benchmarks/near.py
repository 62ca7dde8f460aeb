"""Does risk move between the two measures of "reproduced"? python benchmarks/near.py [--people N] [--runs N]

Five releases of a census excerpt beside the checkout (2019; holdout 2018; target TENURE). Each run of preset `fast`
goes on to its digits, and gives its first data set with every number within 1 % of its sampling error (or at its
digits), the first with every number at its digits, and its last one where it has none. For contrast the same search
from a start that knows the codebook alone: that start, and its first data sets with numbers on average 1 and 0.1
sampling errors off. Each is scored by two intruders: one with the codebook, by the attribution of the data set (TCAP
and DCAP, means over sets of three keys), and one with a register of everybody's keys, who has each number only as well
as that data set reproduces it: anywhere between what was released and what the data set has. Marginal risks: original
minus holdout. Intervals: 95 %, of the mean over runs, the people being the same.
"""

from __future__ import annotations

import argparse
import time
from itertools import combinations

import numpy as np
import pandas as pd
from census import PLACE, TARGET
from pydantic import TypeAdapter
from scipy.stats import t as student
from threadpoolctl import threadpool_limits

from outrisk.assess.folds import Fold
from outrisk.assess.with_register import guess_fold
from outrisk.config import OutputEntry
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata, from_frame, infer_codebook
from outrisk.outputs import release
from outrisk.outputs.base import released
from outrisk.problem.refit import refit_all
from outrisk.risk.attribution.over_key_sets import score

WITH_ERRORS = {
    "event": 1,
    "release": ["coefficients", "standard_errors"],
    "decimals": {"coefficients": 4, "standard_errors": 4},
}
RELEASES = {
    "logit": [
        {"kind": "logit", "formula": f"{TARGET} ~ AGE + C(SEX) + C(MSTATUS) + C(LTILL) + C(ETHGROUP)", "event": 1,
         "decimals": 4},
    ],
    "two logits with SEs": [
        {"kind": "logit", "formula": f"{TARGET} ~ AGE + C(SEX)", **WITH_ERRORS},
        {"kind": "logit", "formula": f"LTILL ~ AGE + {TARGET} + C(MSTATUS)", **WITH_ERRORS},
    ],
    "three tables, probit with SEs": [
        *({"kind": "frequencies", "by": [name, TARGET]} for name in ("SEX", "MSTATUS", "LTILL")),
        {"kind": "probit", "formula": f"{TARGET} ~ AGE + C(LTILL)", **WITH_ERRORS},
    ],
    "detailed tables, logit": [
        {"kind": "frequencies", "by": ["AGE", "SEX", TARGET]},
        {"kind": "frequencies", "by": ["AREA", "MSTATUS", TARGET]},
        {"kind": "frequencies", "by": ["ETHGROUP", "LTILL", TARGET]},
        {"kind": "logit", "formula": f"{TARGET} ~ C(SEX) + C(ETHGROUP)", "event": 1, "decimals": 4},
    ],
    "a paper: table, means, logit, OLS": [
        {"kind": "frequencies", "by": ["MSTATUS", TARGET]},
        {"kind": "magnitudes", "value": "AGE", "by": [TARGET], "statistics": ["mean", "sd", "count"], "decimals": 2},
        {"kind": "logit", "formula": f"{TARGET} ~ AGE + C(SEX) + C(LTILL)", **WITH_ERRORS},
        {"kind": "ols", "formula": f"AGE ~ C(SEX) + C(LTILL) + {TARGET}", "release": WITH_ERRORS["release"],
         "decimals": 3},
    ],
}  # fmt: skip
START, NEAR, DIGITS, LAST = "a start from the codebook", "all within 1 %", "all at digits", "the last, not at digits"
STEPS = {"1 sampling error off": 1.0, "0.1 off": 0.1}
RISKS = ("TCAP", "DCAP", "register")
STAGES = (START, *STEPS, NEAR, DIGITS, LAST)


def people(n: int) -> tuple[Microdata, Microdata]:
    """So many people of 2019, and of 2018."""
    frame = pd.read_csv(PLACE)
    frame["ETHGROUP"] = frame["ETHGROUP"].replace({5: 4, 6: 5, 7: 6})  # 32 people of 2019 had 5
    years = [frame[frame["YEAR"] == year].drop(columns="YEAR").sample(n, random_state=1) for year in (2019, 2018)]
    book, _ = infer_codebook(pd.concat(years, ignore_index=True))
    original, holdout = (from_frame(year.reset_index(drop=True), book) for year in years)
    return original, holdout


def on_the_way(problem: Problem, seed: int, seconds: float):
    """What data sets on the way from the codebook's start are, and their records and refits."""
    steps, until = dict(STEPS), time.thread_time() + seconds
    for generation in evolve(problem, preset("fast", start="uniform"), np.random.default_rng(seed)):
        refits = refit_all(problem.released, problem.codebook, generation.codes)
        reached = [name for name, step in steps.items() if _off(refits) <= step]
        if not generation.number or reached:
            yield reached[-1] if reached else START, generation.codes, refits
        steps = {name: step for name, step in steps.items() if name not in reached}
        if not steps or time.thread_time() > until:
            return


def at_the_end(problem: Problem, seed: int, seconds: float, patience: int):
    """The first data sets near and at digits, or the last one, and their records and refits."""
    near, until = False, time.thread_time() + seconds
    for generation in evolve(problem, preset("fast", patience=patience), np.random.default_rng(seed)):
        refits = refit_all(problem.released, problem.codebook, generation.codes)
        if not near and all(refit.near.all() for refit in refits):
            near = True
            yield NEAR, generation.codes, refits
        if all(refit.matched.all() for refit in refits):
            yield DIGITS, generation.codes, refits
            return
        if generation.stop or time.thread_time() > until:
            yield LAST, generation.codes, refits
            return


def _off(refits) -> float:
    """Mean distance of the numbers, in sampling errors; of those at their digits 0."""
    off = [np.where(r.matched, 0.0, np.abs(r.differences) / r.sampling_errors) for r in refits]
    return float(np.nan_to_num(np.mean(np.concatenate(off)), nan=np.inf))


def by_codebook(original: Microdata, holdout: Microdata, codes) -> dict[str, float]:
    """The marginal TCAP and DCAP of a data set, means over all sets of three keys."""
    sets = list(combinations(_keys(original), 3))
    synthetic = Microdata(original.codebook, codes)
    found = score(original, synthetic, holdout, sets=sets, target=TARGET, tau=1.0, groups=0)
    by = {what: [found.values[what, side] for side in ("original", "holdout")] for what in ("tcap_undefined", "dcap")}
    return {what[:4].upper(): float(np.nanmean(ours - theirs)) for what, (ours, theirs) in by.items()}


def by_register(original: Microdata, holdout: Microdata, refits) -> float:
    """The marginal share of people guessed rightly from keys and numbers known as well as a data set has them."""
    ranges = []
    for refit in refits:
        one, numbers = refit.released, np.where(np.isfinite(refit.numbers), refit.numbers, refit.released.values)
        ranges.append(released(one.output, np.minimum(one.low, numbers), np.maximum(one.high, numbers)))
    problem = Problem(original.codebook, len(original), tuple(ranges))
    found = guess_fold(Fold(1, 0, "whole", original, holdout, "2018"), problem, _keys(original), TARGET, 1)
    by = {(each.measure, each.unique): each for each in found.compared}
    return by["right", False].difference.value


def _keys(data: Microdata) -> tuple[str, ...]:
    return tuple(name for name in data.codebook.names if name != TARGET)


def rows(name: str, n: int, first: int, runs: int, seconds: float, patience: int):
    """What each data set of each run gives away."""
    original, holdout = people(n)
    adapter, entries = TypeAdapter(OutputEntry), enumerate(RELEASES[name], 1)
    outputs = [one for at, entry in entries for one in adapter.validate_python(entry).build(original.codebook, at)]
    problem = Problem(original.codebook, n, tuple(release(output, original) for output in outputs))
    for seed in range(first, first + runs):
        found = [*on_the_way(problem, seed, seconds), *at_the_end(problem, seed, seconds, patience)]
        for stage, codes, refits in found:
            yield {
                "stage": stage,
                "seed": seed,
                "off": _off(refits),
                "near": np.concatenate([refit.near for refit in refits]).mean(),
                "matched": np.concatenate([refit.matched for refit in refits]).mean(),
                **by_codebook(original, holdout, codes),
                "register": by_register(original, holdout, refits),
            }


def _mean(values) -> str:
    """A mean with its interval."""
    values = np.asarray(values, dtype=np.float64)
    if len(values) < 2:
        return " ".join(f"{value:+.4f}" for value in values)
    half = student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():+.4f} ({values.mean() - half:+.4f} to {values.mean() + half:+.4f})"


def show(name: str, frame: pd.DataFrame) -> str:
    """Rows of what the stages give away; the row of what changes from near to the end."""
    for stage in STAGES:
        some = frame[frame.stage == stage]
        if len(some):
            risks = " | ".join(_mean(some[risk]) for risk in RISKS)
            shares = f"{some.off.mean():.2g} | {some.near.mean():.3f} | {some.matched.mean():.3f}"
            print(f"| {name} | {stage} | {len(some)} | {shares} | {risks} |", flush=True)
    near, end = (frame[frame.stage.isin(of)].set_index("seed") for of in ([NEAR], [DIGITS, LAST]))
    both = near.index.intersection(end.index)
    changes = " | ".join(_mean(end.loc[both, risk] - near.loc[both, risk]) for risk in RISKS)
    return f"| {name} | {len(both)} | {sum(end.stage == DIGITS)} | {changes} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=2_000)
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--seconds", type=float, default=12.0, help="of each search, at most")
    parser.add_argument("--patience", type=int, default=200, help="generations without gain, to get to the digits")
    parser.add_argument("--only", action="append")
    given = parser.parse_args()
    risks = " | ".join(RISKS)
    print(f"| release | data set | runs | sampling errors off | within 1 % | at digits | {risks} |")
    print("| --- " * 9 + "|")
    changes = []
    for name in given.only or RELEASES:
        frame = pd.DataFrame(rows(name, given.people, given.first, given.runs, given.seconds, given.patience))
        changes.append(show(name, frame))
    print("\nFrom all within 1 % to the digits, or to the last, in the same run:\n")
    print(f"| release | runs within 1 % | runs at digits | {risks} |")
    print("| --- " * 6 + "|\n" + "\n".join(changes))
    print(f"\n{time.process_time():.0f} processor seconds")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
