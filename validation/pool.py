"""Samples of a census excerpt, releases computed from each, and the synthetic data that reproduce them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from outrisk.assess.verdict.reproduction import distance
from outrisk.codebook import Codebook
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import Settings, preset
from outrisk.microdata import Microdata, from_frame, infer_codebook
from outrisk.outputs import Frequencies, Regression
from outrisk.outputs.base import Output, release

EXCERPT = Path(__file__).resolve().parents[2] / "shared" / "data" / "census" / "acs_us" / "acs7.csv"
KEYS = ("AREA", "AGE", "ETHGROUP", "LTILL", "MSTATUS", "SEX")
TARGET = "TENURE"
VARIABLES = (*KEYS, TARGET)
LOGITS = (
    "TENURE ~ AGE + C(MSTATUS) + SEX + LTILL",
    "LTILL ~ AGE + C(MSTATUS) + SEX + TENURE",
    "SEX ~ AGE + C(MSTATUS) + LTILL + TENURE",
)
DOSES = ("one-way", "logit", "three logits", "two-way", "three-way", "four-way", "full table")


def census(year: int) -> tuple[Codebook, pd.DataFrame]:
    """The people of a year in random order, ages in groups of ten years; a codebook of both years."""
    frame = pd.read_csv(EXCERPT)
    frame["AGE"] = frame["AGE"] // 10
    codebook, _ = infer_codebook(frame[list(VARIABLES)])
    chosen = frame.loc[frame["YEAR"] == year, list(VARIABLES)]
    return codebook, chosen.sample(frac=1.0, random_state=1).reset_index(drop=True)


def outputs(codebook: Codebook, dose: str) -> list[Output]:
    """What is released, by its name in DOSES."""
    if dose in ("logit", "three logits"):
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
    people: Microdata,
    released: Sequence[Output],
    runs: int,
    seconds: float,
    seed: int,
    settings: Settings | None = None,
) -> Made:
    """Evolve some runs on the release of a sample, each for at most so many processor seconds."""
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
    return Made(people, found, reproduced)


def samples(codebook: Codebook, frame: pd.DataFrame, n: int, number: int) -> list[Microdata]:
    """Disjoint samples of n people."""
    parts = [frame.iloc[start : start + n].reset_index(drop=True) for start in range(0, len(frame) - n + 1, n)]
    return [from_frame(part, codebook) for part in parts[:number]]
