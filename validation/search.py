"""Does the answer depend on the search? One release of each of two samples, reproduced by both presets from starts."""

from __future__ import annotations

import time
from typing import Any

import kept
import numpy as np
from pool import AT, Made, between, crossed, dealt, outputs

from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata
from outrisk.outputs.base import release
from outrisk.result_row import NORMAL

N, STARTS = 1000, ("released", "univariate", "uniform")
RELEASES = {"logit and one-way tables": ("logit", "one-way"), "two-way tables": ("two-way",)}
FIRST = ("fast", "released")  # what the others are compared with


def _evolved(name: str, people: Microdata, doses: tuple[str, ...], search: tuple[str, str], runs: int, goal: float,
             seconds: float, seed: int) -> dict[str, np.ndarray]:  # fmt: skip
    """Runs that stop at an error of `goal` (mean absolute error of the numbers), and the errors they stop at."""

    def made() -> dict[str, np.ndarray]:
        released = [release(output, people) for dose in doses for output in outputs(dose)]
        problem = Problem(people.codebook, len(people), tuple(released))
        codes, errors, used = [], [], []
        for run in range(runs):
            began = time.thread_time()
            for generation in evolve(problem, preset(search[0], start=search[1]), np.random.default_rng([seed, run])):
                late = time.thread_time() - began > seconds
                if generation.stop or generation.errors.mae <= goal or late:
                    break
            codes.append(generation.codes)
            errors.append(generation.errors.mae)
            used.append(time.thread_time() - began)
        return {"codes": np.array(codes), "errors": np.array(errors), "seconds": np.array(used)}

    return kept.arrays(f"search/{name}-{'-'.join(search)}-{runs}-{seconds:g}-{goal:.4g}", made)


def of_release(release_name: str, runs: int, seconds: float) -> list[dict[str, Any]]:
    """A row for each preset and start: `paper` for so many seconds, `fast` to the same error, and `fast` to its end."""
    people = dealt(N, 2, (N, 7))
    doses = RELEASES[release_name]
    name = release_name.replace(" ", "-")
    searches: dict[tuple[str, str, str], list[dict[str, np.ndarray]]] = {}
    for start in STARTS:
        searches["fast", start, "to its end"] = [
            _evolved(f"{name}-{side}", each, doses, ("fast", start), runs, 0.0, seconds, side)
            for side, each in enumerate(people)
        ]
    for start in STARTS:
        searches["paper", start, "as far as it comes"] = [
            _evolved(f"{name}-{side}", each, doses, ("paper", start), runs, 0.0, seconds, side)
            for side, each in enumerate(people)
        ]
    papers = [each for (way, _, _), sides in searches.items() if way == "paper" for each in sides]
    goal = float(np.median([each["errors"] for each in papers]))
    for start in STARTS:
        searches["fast", start, "to the error of paper"] = [
            _evolved(f"{name}-{side}", each, doses, ("fast", start), runs, goal, seconds, side)
            for side, each in enumerate(people)
        ]
    made = {
        search: [
            Made(side, [Microdata(side.codebook, codes) for codes in each["codes"]], 0)
            for side, each in zip(people, sides, strict=True)
        ]
        for search, sides in searches.items()
    }
    return [
        {
            "search": list(search),
            "error": float(np.mean([each["errors"].mean() for each in searches[search]])),
            "seconds": float(np.mean([each["seconds"].mean() for each in searches[search]])),
            **_estimates(made[search], made["fast", "released", "to its end"]),
        }
        for search in made
    ]


def _estimates(made: list[Made], first: list[Made]) -> dict[str, Any]:
    """Marginal risks with their errors, and their difference to those of another search, person by person."""
    people = [each.people for each in made]
    found = crossed(made, people, 0, 0)
    gap, error = between(made, first)
    return {
        "risk": found.difference[AT, -1].tolist(),
        "risk_error": found.standard_error[AT, -1].tolist(),
        "gap": gap.tolist(),
        "gap_error": error.tolist(),
    }


def row(release_name: str, found: dict[str, Any]) -> str:
    """A row of the table."""
    way, start, how_far = found["search"]
    cells = []
    for m in (0, 1):
        margin = NORMAL * found["risk_error"][m]
        cells.append(f"{found['risk'][m]:.4f} ({found['risk'][m] - margin:.4f} to {found['risk'][m] + margin:.4f})")
        cells.append(f"{found['gap'][m]:+.4f} ± {NORMAL * found['gap_error'][m]:.4f}")
    return (
        f"| {release_name} | `{way}`, {how_far} | {start} | {found['error']:.3g} | {found['seconds']:.1f} | "
        f"{' | '.join(cells)} |"
    )
