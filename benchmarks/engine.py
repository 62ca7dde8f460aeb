"""The engine against the naive design, on the same data in one run: python benchmarks/engine.py [--quick]

naive: DEAP, population 32, Table 1's operators on numpy codes, and a statsmodels refit of every child. paper: preset
`paper`. fast: preset `fast` until MAE 0.0004 on the 23 coefficients of the SARS-like logit (50,357 records), the error
checked by refit. tables: all 21 two-way tables of the same data, preset `fast`, until the mean absolute cell error is
0.05. Processor seconds of one thread, linear algebra included: on a machine that others use the clock says little.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import statistics
import time

import numpy as np
import pandas as pd
import statsmodels.api as sm
from deap import base, tools
from threadpoolctl import threadpool_limits

from outrisk.datasets import sars_codebook, sars_like
from outrisk.evolve.compiled import climb as kernels
from outrisk.evolve.linear_map import linearise
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata, from_frame
from outrisk.outputs import Frequencies, logit_from_terms, release

TERMS = ["AGE", "AREAP", "ETHGROUP", "LTILL", "MSTATUS", "SEX"]
PAPER_MAE = 0.0004


class Fitness(base.Fitness):
    weights = (-1.0,)


class Individual:
    def __init__(self, codes):
        self.codes, self.fitness = codes, Fitness()


def naive_generation_seconds(codebook, published, n, generations, rng):
    """Median seconds of a generation of the naive design."""

    def refit(codes):
        frame = Microdata(codebook, codes).frame()
        design = pd.get_dummies(frame[TERMS], drop_first=True, dtype=float)
        design.insert(0, "const", 1.0)
        return sm.Logit((frame["TENURE"] == "1").astype(float), design).fit(disp=0).params.to_numpy()

    def evaluate(individual):
        return (float(np.mean((refit(individual.codes) - published) ** 2)),)

    def mate(one, other):
        swapped = rng.random(n) < 0.1
        one.codes[swapped], other.codes[swapped] = other.codes[swapped], one.codes[swapped].copy()

    def mutate(individual):
        for j, size in enumerate(codebook.sizes):
            hit = rng.random(n) < 0.005
            individual.codes[hit, j] = rng.integers(0, size, hit.sum())

    def draw():
        return Individual(np.stack([rng.integers(0, size, n) for size in codebook.sizes], axis=1).astype(np.uint16))

    toolbox = base.Toolbox()
    toolbox.register("population", tools.initRepeat, list, draw)
    population = toolbox.population(n=32)
    for individual in population:
        individual.fitness.values = evaluate(individual)
    seconds = []
    for _ in range(generations):
        started = time.process_time()
        children = [copy.deepcopy(individual) for individual in population]
        for one, other in zip(children[::2], children[1::2], strict=True):
            if rng.random() < 0.8:
                mate(one, other)
        for child in children:
            mutate(child)
            child.fitness.values = evaluate(child)
        population = tools.selBest(population + children, 32)
        seconds.append(time.process_time() - started)
    return statistics.median(seconds)


def paper_generation_seconds(problem, generations):
    """Median seconds of a generation of preset `paper`."""
    seconds, last = [], time.process_time()
    for _ in evolve(problem, preset("paper", generations=generations), np.random.default_rng(1), 1):
        now = time.process_time()
        seconds.append(now - last)
        last = now
    return statistics.median(seconds[1:])


def fast_seconds(problem, output, seed):
    """Seconds of preset `fast` to the paper's error (confirmed by refit) and to all numbers matched."""
    started, reached = time.process_time(), None
    for generation in evolve(problem, preset("fast"), np.random.default_rng(seed)):
        if reached is None and generation.errors.mae <= PAPER_MAE:
            reached = time.process_time() - started
            codes = generation.codes
    total = time.process_time() - started
    refit = output.refit(Microdata(problem.codebook, codes))
    error = float(np.mean(np.abs(refit - problem.released[0].values)))
    if error > PAPER_MAE * 1.01:
        raise SystemExit(f"the refit says MAE {error}, the totals said {PAPER_MAE}")
    return reached, total, generation.stop


def table_seconds(data, seed):
    """Seconds of preset `fast` to a mean cell error of 0.05, that error by refit, cells, proposals a second."""
    codebook = data.codebook
    tables = [Frequencies(codebook, " x ".join(by), by) for by in itertools.combinations(codebook.names, 2)]
    problem = Problem(codebook, len(data), tuple(release(table, data) for table in tables))
    started = time.process_time()
    for generation in evolve(problem, preset("fast"), np.random.default_rng(seed)):
        if generation.errors.mae <= 0.05:
            break
    seconds = time.process_time() - started
    synthetic = Microdata(codebook, generation.codes)
    difference = np.concatenate([table.refit(synthetic) for table in tables]) - problem.low
    return seconds, float(np.abs(difference).mean()), len(difference), proposals_a_second(problem, generation)


def proposals_a_second(problem, generation):
    """Values looked at a second on one core, at the end of a run."""
    codes, totals = generation.best.codes.copy(), generation.best.totals.copy()
    linear = linearise(problem, codes, totals, "precision")
    ranges = (*linear.arrays, *linear.slopes(totals))
    started = time.thread_time()
    _, looked = kernels.climb(problem.plan, codes, totals, *ranges, 200_000, True, 0.0, np.random.default_rng(1))
    return looked / (time.thread_time() - started)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    quick = parser.parse_args().quick
    codebook = sars_codebook()
    data = from_frame(sars_like(), codebook)
    output = logit_from_terms(codebook, "logit", "TENURE", TERMS, {})
    problem = Problem(codebook, len(data), (release(output, data),))
    for _ in evolve(problem, preset("fast", generations=12), np.random.default_rng(0)):
        pass  # compile
    seeds = range(3 if quick else 10)
    naive_problem = (codebook, problem.released[0].values, len(data), 2 if quick else 5)
    naive = naive_generation_seconds(*naive_problem, np.random.default_rng(0))
    print(f"naive            {naive:9.4f} s a generation; 2,000 generations {naive * 2000:,.0f} s")
    paper = paper_generation_seconds(problem, 60 if quick else 200)
    print(f"paper            {paper:9.4f} s a generation; {naive / paper:,.0f} times faster than naive")
    runs = [fast_seconds(problem, output, seed) for seed in seeds]
    reached = statistics.median(run[0] for run in runs)
    print(
        f"fast             {reached:9.4f} s to MAE {PAPER_MAE}; "
        f"{naive * 2000 / reached:,.0f} times faster than 2,000 naive generations"
    )
    print(
        f"                 {statistics.median(run[1] for run in runs):9.4f} s to the end; "
        f"all matched at 4 decimals in {sum(run[2] == 'matched' for run in runs)} of {len(runs)} runs"
    )
    tables = [table_seconds(data, seed) for seed in seeds]
    seconds, worst, cells = statistics.median(t[0] for t in tables), max(t[1] for t in tables), tables[0][2]
    print(f"21 tables        {seconds:9.4f} s to a mean absolute cell error of at most {worst:.3f} ({cells:,} cells)")
    print(
        f"                 {statistics.median(t[3] for t in tables) / 1e6:9.2f} million proposals a second (one core)"
    )


if __name__ == "__main__":
    with threadpool_limits(limits=1):
        main()
