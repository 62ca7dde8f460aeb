"""Dose and response: from one-way tables to the full table, of people of 2019, read against people of 2018."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from pool import ALONE, AT, DOSES, JUDGED, KEYS, SETS, TARGET, Made, between, census, crossed, make, outputs
from scipy import stats

from outrisk.assess.verdict.decide import says
from outrisk.risk.attribution.definitions import targeted_attribution
from outrisk.risk.by_person.crossed import simultaneous
from outrisk.risk.coding.classes import HOLDOUT, ORIGINAL, SYNTHETIC, code_microdata, cross

MARGIN = 0.05
SECONDS = {1000: 4.0, 5000: 5.0, 25435: 8.0}  # of a run at most


def of_pair(n: int, number: int, doses: Sequence[str], runs: int, permutations: int) -> dict[str, Any]:
    """What each dose of a sample of each year gives, and the steps from one of DOSES to the next."""
    years = census()[1]
    people = [years[year].take(np.arange(number * n, min((number + 1) * n, len(years[year])))) for year in (2019, 2018)]

    def of_side(dose: str, side: int) -> Made:
        if dose == DOSES[-1]:  # a table of all variables lists its records: they are read off it
            return Made(people[side], [people[side]] * runs, runs)
        name, seed = f"dose/{n}-{dose}/{number}-{side}", 100 + 2 * number + side
        return make(name, people[side], outputs(dose), runs, SECONDS[n], seed)

    made = {dose: [of_side(dose, side) for side in (0, 1)] for dose in doses}
    ladder = [dose for dose in DOSES if dose in made]
    steps = [between(made[more], made[less]) for less, more in pairwise(ladder)]
    return {
        "doses": {dose: _of_dose(each, permutations, number) for dose, each in made.items()},
        "steps": [(step.tolist(), error.tolist()) for step, error in steps],
    }


def _of_dose(made: list[Made], permutations: int, seed: int) -> dict[str, Any]:
    """Marginal risks by both releases; six-key TCAP as zero; what a verdict says."""
    found = crossed(made, [each.people for each in made], permutations, seed)
    limits = simultaneous(found, JUDGED)
    return {
        "all keys": found.difference[AT, len(SETS) - 1].tolist(),
        "worst": found.difference[AT, : len(SETS)].max(axis=1).tolist(),
        "mean": found.difference[AT, -1].tolist(),
        "tcap": _tcap(made),
        "says": says(float(limits.low.max()), float(limits.high.max()), MARGIN),
        "reproduced": sum(each.reproduced for each in made),
        "runs": sum(len(each.synthetic) for each in made),
    }


def _tcap(made: list[Made]) -> float:
    """Six-key TCAP with non-matches as zero, of people in a release less of the other year's, mean of both releases."""
    found = []
    for own, other in (made, made[::-1]):
        for synthetic in own.synthetic:
            tables = {SYNTHETIC: synthetic, ORIGINAL: own.people, HOLDOUT: other.people}
            equivalence = cross(code_microdata(tables, [*KEYS, TARGET]), KEYS, TARGET)
            mine, theirs = (targeted_attribution(equivalence, side).tcap_zero for side in (ORIGINAL, HOLDOUT))
            found.append(mine - theirs)
    return float(np.mean(found))


def row(n: int, dose: str, pairs: Sequence[dict[str, Any]]) -> str:
    """A row of the table: means over pairs."""
    found = [pair["doses"][dose] for pair in pairs]
    risks = [f"{np.mean([each[at][m] for each in found]):.4f}" for m in (0, 1) for at in ("all keys", "worst", "mean")]
    words = [each["says"] for each in found]
    said = ", ".join(f"{word} {words.count(word)}" for word in dict.fromkeys(words))
    made = f"{sum(each['reproduced'] for each in found)} of {sum(each['runs'] for each in found)}"
    tcap = np.mean([each["tcap"] for each in found])
    name = f"{dose} alone" if dose in ALONE else dose
    return f"| {n:,} | {name} | {len(found)} | {' | '.join(risks)} | {tcap:.3f} | {said} | {made} |"


def falls(found: dict[int, Sequence[dict[str, Any]]]) -> str:
    """Where a risk falls from one dose to the next, beyond chance and at all, in words."""
    levels, fallen = [], []
    for n, pairs in found.items():
        ladder = [dose for dose in DOSES if dose in pairs[0]["doses"]]
        for at, (less, more) in enumerate(pairwise(ladder)):
            values = np.array([pair["steps"][at] for pair in pairs])  # pairs x (step, error) x measures
            steps, errors = values[:, 0].mean(axis=0), np.sqrt((values[:, 1] ** 2).sum(axis=0)) / len(pairs)
            for measure, step, error in zip(JUDGED, steps, errors, strict=True):
                levels.append(stats.norm.cdf(step / error) if step else 0.5)
                if step < 0:
                    fallen.append(f"{measure}, {n:,} people, {less} to {more}: {step:.4f} (standard error {error:.4f})")
    listed = "; ".join(fallen)
    one, all_ = (sum(level < most for level in levels) for most in (0.025, 0.05 / len(levels)))
    return (
        f"Of {len(levels)} steps of the mean over key sets {one} fall below the 95 % limits of a step by itself, "
        f"{all_} below limits for all steps at once. "
        + (f"Falls of any size: {listed}." if fallen else "None falls at all.")
    )


def figure(found: dict[int, Sequence[dict[str, Any]]], path: Path) -> None:
    """Marginal risk at all keys by dose and number of people."""
    drawing = Figure(figsize=(7, 3.8))
    axes = drawing.subplots()
    for colour, (n, pairs) in enumerate(found.items()):
        names = [dose for dose in DOSES if dose in pairs[0]["doses"]]
        for m, line in enumerate(("-", "--")):
            values = [np.mean([pair["doses"][name]["all keys"][m] for pair in pairs]) for name in names]
            ticks = [name.replace(" and ", ",\n") for name in names]
            axes.plot(ticks, values, line, color=f"C{colour}", marker="o", label=f"{JUDGED[m]}, {n:,} people")
    axes.axhline(MARGIN, color="grey", linewidth=1)
    axes.annotate("margin", (0, MARGIN + 0.005), color="grey")
    axes.set_ylabel("marginal risk, all six keys")
    axes.legend(frameon=False, fontsize=9)
    drawing.tight_layout()
    drawing.savefig(path, metadata={"Date": None})
