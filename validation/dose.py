"""Dose and response: from one-way tables to the full table, of people of 2019, read against people of 2018."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from pool import AT, DOSES, JUDGED, KEYS, SETS, TARGET, census, crossed, dealt, make, outputs

from outrisk.assess.verdict.decide import says
from outrisk.microdata import Microdata
from outrisk.risk.attribution.definitions import targeted_attribution
from outrisk.risk.by_person.crossed import simultaneous
from outrisk.risk.coding.classes import HOLDOUT, ORIGINAL, SYNTHETIC, code_microdata, cross

MARGIN = 0.05
SECONDS = {1000: 2.0, 5000: 4.0, 25365: 6.0}  # of a run at most


def of_pair(n: int, dose: str, number: int, runs: int, permutations: int) -> dict[str, Any]:
    """Marginal risks of a sample of each year, by both releases; six-key TCAP as zero; what a verdict says.

    Where the years have no people left, both samples are dealt from both years.
    """
    years = census()[1]
    people = (
        [years[year].take(np.arange(number * n, (number + 1) * n)) for year in (2019, 2018)]
        if (number + 1) * n <= len(years[2018])
        else dealt(n, 2, (n, number))
    )
    made = [
        make(f"dose/{n}-{dose}/{number}-{side}", people[side], outputs(dose), runs, SECONDS[n], 100 + 2 * number + side)
        for side in (0, 1)
    ]
    found = crossed(made, people, permutations, number)
    limits = simultaneous(found, JUDGED)
    return {
        "all keys": found.difference[AT, len(SETS) - 1].tolist(),
        "worst": found.difference[AT, : len(SETS)].max(axis=1).tolist(),
        "mean": found.difference[AT, -1].tolist(),
        "error": found.standard_error[AT, -1].tolist(),
        "tcap": float(np.mean([_tcap(each, *people) for each in made[0].synthetic])),
        "says": says(float(limits.low.max()), float(limits.high.max()), MARGIN),
        "reproduced": sum(each.reproduced for each in made),
        "runs": 2 * runs,
    }


def _tcap(synthetic: Microdata, original: Microdata, holdout: Microdata) -> float:
    """Six-key TCAP with non-matches as zero, of the original less of the holdout."""
    tables = {SYNTHETIC: synthetic, ORIGINAL: original, HOLDOUT: holdout}
    equivalence = cross(code_microdata(tables, [*KEYS, TARGET]), KEYS, TARGET)
    own, held = (targeted_attribution(equivalence, side) for side in (ORIGINAL, HOLDOUT))
    return own.tcap_zero - held.tcap_zero


def row(n: int, dose: str, pairs: Sequence[dict[str, Any]]) -> str:
    """A row of the table: means over pairs."""
    risks = [f"{np.mean([pair[at][m] for pair in pairs]):.3f}" for m in (0, 1) for at in ("all keys", "worst", "mean")]
    words = [pair["says"] for pair in pairs]
    said = ", ".join(f"{word} {words.count(word)}" for word in dict.fromkeys(words))
    made = f"{sum(pair['reproduced'] for pair in pairs)} of {sum(pair['runs'] for pair in pairs)}"
    tcap = np.mean([pair["tcap"] for pair in pairs])
    return f"| {n:,} | {dose} | {len(pairs)} | {' | '.join(risks)} | {tcap:.3f} | {said} | {made} |"


def falls(found: dict[tuple[int, str], Sequence[dict[str, Any]]]) -> str:
    """Where a risk falls from one dose to the next, by more than two standard errors and at all, in words."""
    steps, fallen, clearly = 0, [], 0
    for n in dict.fromkeys(size for size, _ in found):
        names = [dose for dose in DOSES if (n, dose) in found]
        for m, measure in enumerate(JUDGED):
            for less, more in pairwise(names):
                values = [np.array([pair["mean"][m] for pair in found[n, name]]) for name in (less, more)]
                errors = [np.array([pair["error"][m] for pair in found[n, name]]) for name in (less, more)]
                step = float(values[1].mean() - values[0].mean())
                error = float(np.sqrt(sum((each**2).sum() for each in errors)) / len(values[0]))
                steps += 1
                clearly += step < -2 * error
                if step < 0:
                    fallen.append(f"{measure}, {n:,} people, {less} to {more}: {step:.4f} (standard error {error:.4f})")
    listed = "; ".join(fallen)
    return f"Of {steps} steps of the mean over key sets {clearly} fall by more than two standard errors. " + (
        f"Falls of any size: {listed}." if fallen else "None falls at all."
    )


def again(n: int, doses: tuple[str, str], pairs: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> str:
    """A step of the mean over key sets on further pairs, in words."""
    said = []
    for m, measure in enumerate(JUDGED):
        steps = np.array([more["mean"][m] - less["mean"][m] for less, more in pairs])
        error = float(steps.std(ddof=1) / np.sqrt(len(steps)))
        said.append(f"{measure} {steps.mean():+.5f} (standard error {error:.5f})")
    return (
        f"The step from {doses[0]} to {doses[1]} at {n:,} people once more, on {len(pairs)} pairs of samples dealt "
        f"from both years: {', '.join(said)}."
    )


def figure(found: dict[tuple[int, str], Sequence[dict[str, Any]]], path: Path) -> None:
    """Marginal risk at all keys by dose and number of people."""
    drawing = Figure(figsize=(7, 3.8))
    axes = drawing.subplots()
    for colour, n in enumerate(dict.fromkeys(size for size, _ in found)):
        names = [dose for dose in DOSES if (n, dose) in found]
        for m, line in enumerate(("-", "--")):
            values = [np.mean([pair["all keys"][m] for pair in found[n, name]]) for name in names]
            axes.plot(names, values, line, color=f"C{colour}", marker="o", label=f"{JUDGED[m]}, {n:,} people")
    axes.axhline(MARGIN, color="grey", linewidth=1)
    axes.annotate("margin", (0, MARGIN + 0.005), color="grey")
    axes.set_ylabel("marginal risk, all six keys")
    axes.legend(frameon=False, fontsize=9)
    drawing.tight_layout()
    drawing.savefig(path, metadata={"Date": None})
