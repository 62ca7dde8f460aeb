"""Preset `paper` once at full length on the SARS-like data: how far it gets, by refit. python benchmarks/paper.py
[--seed 1]

Prints the error of the best candidate, by a statsmodels refit, every 250 generations (each time the mutation rate is
divided by 3).
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np

from outrisk.datasets import sars_codebook, sars_like
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata, from_frame
from outrisk.outputs import logit_from_terms, release

TERMS = ["AGE", "AREAP", "ETHGROUP", "LTILL", "MSTATUS", "SEX"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    seed = parser.parse_args().seed
    codebook = sars_codebook()
    data = from_frame(sars_like(), codebook)
    output = logit_from_terms(codebook, "logit", "TENURE", TERMS, {})
    problem = Problem(codebook, len(data), (release(output, data),))
    published = problem.released[0].values
    print("generation  mutation rate  MSE by refit  MAE by refit  largest  matched  seconds")
    started = time.perf_counter()
    for generation in evolve(problem, preset("paper"), np.random.default_rng(seed), os.cpu_count() or 1):
        if generation.number % 250 == 0 or generation.stop:
            refit = output.refit(Microdata(codebook, generation.codes), published)
            size = np.abs(refit - published)
            print(
                f"{generation.number:10d}  {generation.mutation_rate:13.2e}  {np.mean(size**2):12.3e}  "
                f"{size.mean():12.3e}  {size.max():7.4f}  {(np.round(refit, 4) == published).sum():4d}/{len(size)}  "
                f"{time.perf_counter() - started:7.1f}",
                flush=True,
            )
    print(f"stopped: {generation.stop}")


if __name__ == "__main__":
    main()
