"""Samples of a census excerpt, releases computed from each, and the synthetic data that reproduce them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path

import kept
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from outrisk.assess.verdict.reproduction import distance
from outrisk.codebook import Codebook
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import Settings, preset
from outrisk.microdata import Microdata, from_frame, infer_codebook
from outrisk.outputs import Frequencies, Regression
from outrisk.outputs.base import Output, release
from outrisk.risk.attribution.definitions import key_sets
from outrisk.risk.by_person.crossed import Contrasts, Pairing, contrasts, person_contrasts
from outrisk.risk.by_person.record_scores import MEASURES

EXCERPT = Path(__file__).resolve().parents[2] / "shared" / "data" / "census" / "acs_us" / "acs7.csv"
KEYS = ("AREA", "AGE", "ETHGROUP", "LTILL", "MSTATUS", "SEX")
TARGET = "TENURE"
VARIABLES = (*KEYS, TARGET)
SETS = key_sets(KEYS, range(1, 7))
JUDGED = ("attribution", "existence")
AT = [MEASURES.index(measure) for measure in JUDGED]
LOGITS = (
    "TENURE ~ AGE + C(MSTATUS) + SEX + LTILL",
    "LTILL ~ AGE + C(MSTATUS) + SEX + TENURE",
    "SEX ~ AGE + C(MSTATUS) + LTILL + TENURE",
)
DOSES = ("one-way", "one-way and a logit", "one-way and three logits", "two-way", "three-way", "four-way", "full table")
ALONE = ("logit", "three logits")


@cache
def census() -> tuple[Codebook, dict[int, Microdata]]:
    """The people of each year in random order, ages in groups of ten years; a codebook of both years."""
    frame = pd.read_csv(EXCERPT)
    frame["AGE"] = frame["AGE"] // 10
    codebook, _ = infer_codebook(frame[list(VARIABLES)])
    years = {
        year: from_frame(
            frame.loc[frame["YEAR"] == year, list(VARIABLES)].sample(frac=1.0, random_state=1).reset_index(drop=True),
            codebook,
        )
        for year in (2018, 2019)
    }
    return codebook, years


def dealt(n: int, number: int, seed: Sequence[int]) -> list[Microdata]:
    """Disjoint samples of n people of both years, dealt at random."""
    codebook, years = census()
    everybody = np.vstack([people.codes for people in years.values()])
    order = np.random.default_rng(list(seed)).permutation(len(everybody))[: n * number]
    return [Microdata(codebook, everybody[part]) for part in np.split(order, number)]


def outputs(dose: str) -> list[Output]:
    """What is released, by its name in DOSES or ALONE."""
    codebook, _ = census()
    if " and " in dose:
        return [*outputs("one-way"), *outputs("logit" if dose.endswith("a logit") else "three logits")]
    if dose in ALONE:
        formulas = LOGITS[:1] if dose == "logit" else LOGITS
        return [
            Regression(codebook, f"logit {number}", "logit", formula, event="" if formula[0] == "T" else "2")
            for number, formula in enumerate(formulas, 1)
        ]
    ways = {"one-way": 1, "two-way": 2, "three-way": 3, "four-way": 4, "full table": len(VARIABLES)}[dose]
    return [Frequencies(codebook, " x ".join(by), by) for by in combinations(VARIABLES, ways)]


@dataclass(frozen=True, eq=False)
class Made:
    """A sample, the synthetic data of the runs on its release, and in how many of these it was reproduced."""

    people: Microdata
    synthetic: list[Microdata]
    reproduced: int


def make(
    name: str,
    people: Microdata,
    released: Sequence[Output],
    runs: int,
    seconds: float,
    seed: int,
    settings: Settings | None = None,
) -> Made:
    """Evolve some runs on the release of a sample, each for at most so many processor seconds; kept by name."""

    def evolved() -> dict[str, np.ndarray]:
        problem = Problem(people.codebook, len(people), tuple(release(output, people) for output in released))
        found, reproduced = [], 0
        for run in range(runs):
            started = time.thread_time()
            for generation in evolve(problem, settings or preset("fast"), np.random.default_rng([seed, run])):
                if generation.stop or time.thread_time() - started > seconds:
                    break
            found.append(Microdata(people.codebook, generation.codes))
            refits = [each.recompute(found[-1]) for each in problem.released]
            reproduced += all(distance(refit) <= 1 for refit in refits)
        return {"codes": np.array([each.codes for each in found]), "reproduced": np.array(reproduced)}

    held = kept.arrays(f"{name}-{runs}-{seconds:g}", evolved)
    return Made(people, [Microdata(people.codebook, codes) for codes in held["codes"]], int(held["reproduced"]))


def compiled() -> None:
    """Have what evolutions call compiled, so that it is in no run's seconds."""
    people = dealt(300, 1, (300, 0))[0]
    for dose in ("logit", "two-way"):
        problem = Problem(people.codebook, 300, tuple(release(output, people) for output in outputs(dose)))
        for generation in evolve(problem, preset("fast"), np.random.default_rng(0)):
            if generation.number >= 3:
                break


def between(more: Sequence[Made], less: Sequence[Made]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Marginal risk of a release less that of another of the same people, person by person, and its standard error.

    Means over key sets, by measure judged.
    """
    people = [each.people for each in more]
    found = [person_contrasts(_pairing(of, people), SETS, TARGET) for of in (more, less)]
    gaps = [(one - other)[:, AT].astype(float) for one, other in zip(*found, strict=True)]  # of each side
    both = [crossed(of, people, 0, 0) for of in (more, less)]
    runs = sum((each.runs_share * each.standard_error**2)[AT, -1] for each in both)
    error = np.sqrt(sum(gap.var(axis=0, ddof=1) / len(gap) for gap in gaps) + runs)
    return gaps[0].mean(axis=0) - gaps[1].mean(axis=0), np.asarray(error)


def crossed(of: Sequence[Made], people: Sequence[Microdata], permutations: int, seed: int) -> Contrasts:
    """Two samples' synthetic data scored on two samples of people, the same or others."""
    return contrasts(_pairing(of, people), SETS, TARGET, permutations=permutations, seed=seed)


def _pairing(of: Sequence[Made], people: Sequence[Microdata]) -> Pairing:
    return Pairing(people[0], people[1], of[0].synthetic, of[1].synthetic)
