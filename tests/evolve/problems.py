"""Random problems for the tests of the engine: codebook, data, outputs of every kind."""

from __future__ import annotations

import numpy as np
from pydantic import TypeAdapter

from outrisk.codebook import Codebook, Variable
from outrisk.config import OutputEntry
from outrisk.evolve.candidate import draw_candidate
from outrisk.evolve.linear_map import linearise
from outrisk.evolve.problem import Problem
from outrisk.evolve.start import STARTS
from outrisk.microdata import Microdata
from outrisk.outputs import Frequencies, Logit, release, released


def random_data(rng, n=60):
    """Five variables of every kind, two of them with a missing level."""
    codebook = Codebook(
        (
            Variable("age", "integer", tuple(range(int(rng.integers(3, 9))))),
            Variable("income", "numeric", (0.5, 1.0, 2.5, 4.0), missing=True),
            Variable("area", "categorical", ("n", "s", "w")),
            Variable("job", "categorical", ("a", "b", "c"), missing=True),
            Variable("ill", "categorical", ("0", "1")),
        )
    )
    codes = np.stack([rng.integers(0, size, n) for size in codebook.sizes], axis=1).astype(np.uint16)
    return Microdata(codebook, codes)


def people(n, seed=1):
    """Areas, statuses, ages and sexes of n people, and who is ill, the older the rather."""
    rng = np.random.default_rng(seed)
    area = rng.choice(12, n, p=np.arange(3, 15) / 102)
    status = rng.choice(4, n, p=[0.45, 0.3, 0.15, 0.1])
    age, sex = rng.integers(0, 60, n), rng.integers(0, 2, n)
    ill = (rng.random(n) < 1 / (1 + np.exp(1.5 - age / 30))).astype(int)
    codebook = Codebook(
        (
            Variable("area", "categorical", tuple("abcdefghijkl")),
            Variable("status", "categorical", ("single", "married", "divorced", "widowed")),
            Variable("age", "integer", tuple(range(60))),
            Variable("sex", "categorical", ("f", "m")),
            Variable("ill", "categorical", ("0", "1")),
        )
    )
    return Microdata(codebook, np.stack([area, status, age, sex, ill], axis=1).astype(np.uint16))


def published(data, *entries):
    """The problem of outputs, as entries of a study, with the numbers that they have on data."""
    adapter = TypeAdapter(OutputEntry)
    outputs = [
        output
        for at, entry in enumerate(entries, 1)
        for output in adapter.validate_python(entry).build(data.codebook, at)
    ]
    return Problem(data.codebook, len(data), tuple(release(output, data) for output in outputs))


def drawn(problem, start="calibrated"):
    """A data set drawn from a start, what is linear around it, and where chance goes on."""
    rng = np.random.default_rng(1)
    candidate = draw_candidate(problem, STARTS[start](problem), rng)
    return candidate, linearise(problem, candidate.codes, candidate.totals, "tightening"), rng


FORMULAS = (
    "ill ~ age",
    "ill ~ age + C(area) + income",
    "ill ~ C(area):C(job) + age",
    "ill ~ age*income + job",
    "ill ~ 0 + area + np.log(income) + I(age ** 2)",
)


def random_problem(seed, n=60):
    """A problem with one to four outputs on random data, and its outputs; published logit values are random."""
    rng = np.random.default_rng(seed)
    data = random_data(rng, n)
    outputs, parts = [], []
    for number in range(int(rng.integers(1, 5))):
        where = str(rng.choice(["", "", "age >= 1", "area == 's' or ill == '1'", "income > 1"]))
        if rng.random() < 0.5:
            by = tuple(rng.choice(data.codebook.names, int(rng.integers(1, 4)), replace=False))
            output = Frequencies(data.codebook, f"table {number}", tuple(map(str, by)), where)
            values = output.refit(data)
        else:
            output = Logit(data.codebook, f"logit {number}", str(rng.choice(FORMULAS)), 4, where)
            values = rng.normal(0, 0.5, len(output.labels))
        outputs.append(output)
        parts.append(released(output, values))
    return Problem(data.codebook, len(data), tuple(parts)), outputs, data
