"""The paper's Tables 2 to 5 and Figure 3 beside the same on SARS-like data, with and without one-way tables.

Printed values: Elliot, Little and Allmendinger, Evolutionary Algorithms for Output Disclosure Risk Assessment; read
from `shared` beside the checkout.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kept
import numpy as np
from matplotlib.figure import Figure

from outrisk.datasets import sars_codebook, sars_like
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata, from_frame
from outrisk.outputs import Frequencies, logit_from_terms, release
from outrisk.outputs.base import Output
from outrisk.risk.attribution.definitions import key_sets, targeted_attribution
from outrisk.risk.coding.classes import HOLDOUT, ORIGINAL, SYNTHETIC, code_microdata, cross

PRINTED = kept.ROOT.parent / "shared" / "data" / "sars_shape" / "spec.json"
KEYS, TARGET = ("AGE", "AREAP", "ETHGROUP", "LTILL", "MSTATUS", "SEX"), "TENURE"
SETS = key_sets(KEYS, range(3, 7))
REFERENCES = {"AREAP": 57, "ETHGROUP": 1, "LTILL": 1, "MSTATUS": 1, "SEX": 1}
RELEASES = {"logit and one-way tables": True, "logit alone": False}
EXPERIMENTS = {"whole": 2, "two_fold_fold1": 3, "two_fold_fold": 4}  # and the number of the paper's table
NOTHING = 1e-15  # importance of the one-way tables where `paper` starts from them


def printed() -> dict[str, Any]:
    """The paper's values."""
    found: dict[str, Any] = json.loads(PRINTED.read_text(encoding="utf-8"))
    return found


def people() -> dict[str, Microdata]:
    """The whole, its halves, and the halves of the first half."""
    whole = from_frame(sars_like(), sars_codebook())
    order = np.random.default_rng(5).permutation(len(whole))
    half, quarter = len(whole) // 2, len(whole) // 4
    parts = {"whole": order, "1": order[:half], "2": order[half:], "1.1": order[:quarter], "1.2": order[quarter:half]}
    return {name: whole.take(part) for name, part in parts.items()}


def outputs(data: Microdata, one_way: bool, importance: float = 1.0) -> list[Output]:
    """The logit, and perhaps the one-way table of each variable."""
    model = logit_from_terms(data.codebook, "logit", TARGET, list(KEYS), REFERENCES)
    tables = [Frequencies(data.codebook, name, (name,), importance=importance) for name in data.codebook.names]
    return [model, *(tables if one_way else [])]


def evolved(fold: str, data: Microdata, one_way: bool, runs: int, seconds: float) -> dict[str, np.ndarray]:
    """Runs of `fast` on a fold: their data, and the refitted logit beside the released one."""

    def made() -> dict[str, np.ndarray]:
        released = [release(output, data) for output in outputs(data, one_way)]
        problem = Problem(data.codebook, len(data), tuple(released))
        settings = preset("fast", start="released" if one_way else "uniform")
        codes = []
        for run in range(runs):
            began = time.thread_time()
            for generation in evolve(problem, settings, np.random.default_rng([int(one_way), run])):
                if generation.stop or time.thread_time() - began > seconds:
                    break
            codes.append(generation.codes)
        refits = [released[0].output.refit(Microdata(data.codebook, each)) for each in codes]
        return {"codes": np.array(codes), "refits": np.array(refits), "released": released[0].values}

    return kept.arrays(f"paper/{fold}-{'one-way' if one_way else 'logit'}-{runs}-{seconds:g}", made)


def tcap(synthetic: Microdata, sides: dict[str, Microdata], sets: list[tuple[str, ...]]) -> dict[str, list[float]]:
    """TCAP of each side, mean over key sets: non-matches undefined, and as zero."""
    coding = code_microdata({SYNTHETIC: synthetic, **sides}, [*KEYS, TARGET])
    found: dict[str, list[list[float]]] = {side: [] for side in sides}
    for keys in sets:
        equivalence = cross(coding, keys, TARGET)
        for side in sides:
            one = targeted_attribution(equivalence, side)
            found[side].append([one.tcap_undefined, one.tcap_zero])
    return {side: np.nanmean(values, axis=0).tolist() for side, values in found.items()}


def of_fold(fold: str, holdout: str, release_name: str, runs: int, seconds: float) -> dict[str, Any]:
    """TCAP of a fold and of its holdout, over runs; and the coefficients of the logit."""
    folds = people()
    held = evolved(fold, folds[fold], RELEASES[release_name], runs, seconds)
    sides = {ORIGINAL: folds[fold]} | ({HOLDOUT: folds[holdout]} if holdout else {})
    data = [Microdata(folds[fold].codebook, codes) for codes in held["codes"]]
    values = {name: [tcap(each, sides, sets) for each in data] for name, sets in (("3 to 6", SETS), ("6", [KEYS]))}
    return {
        **{
            f"{side}, {name} keys": np.mean([run[side] for run in runs_], axis=0).tolist()
            for name, runs_ in values.items()
            for side in sides
        },
        "released": held["released"].tolist(),
        "refit": held["refits"].mean(axis=0).tolist(),
        "mae": np.abs(held["refits"] - held["released"]).mean(axis=1).tolist(),
    }


def trace(start: str, generations: int, every: int) -> list[list[float]]:
    """Error (MAE of the coefficients) and six-key TCAP, undefined and as zero, along a run of `paper` on the whole."""
    whole = people()["whole"]
    released = [release(output, whole) for output in outputs(whole, start == "univariate", NOTHING)]
    problem = Problem(whole.codebook, len(whole), tuple(released))
    found = []
    settings = preset("paper", start=start)
    for generation in evolve(problem, settings, np.random.default_rng(1)):
        if generation.number % every == 0:
            data = Microdata(whole.codebook, generation.codes)
            error = float(np.abs(released[0].output.refit(data) - released[0].values).mean())
            found.append([error, *tcap(data, {ORIGINAL: whole}, [KEYS])[ORIGINAL]])
        if generation.number >= generations:
            break
    return found


def table_five(found: dict[tuple[str, str], dict[str, Any]]) -> Iterator[str]:
    """Rows of Table 5 and of the whole data: TCAP of original and holdout, the paper's and ours."""
    risk = printed()["published_risk"]
    whole = risk["whole"]
    yield _beside("whole, six keys", [whole["mean_TCAP_6_keys"]], found, "whole", "6 keys")
    yield _beside("whole, 3 to 6 keys", [whole["mean_TCAP_3_to_6_keys"]], found, "whole", "3 to 6 keys")
    for row in (*risk["table5"]["fold"], *risk["table5"]["fold_fold"]):
        fold = row["name"].split()[-1]
        theirs = [row["tcap_original"], row["tcap_holdout"], row["difference"]]
        yield _beside(row["name"].lower() + ", 3 to 6 keys", theirs, found, fold, "3 to 6 keys")


def _beside(words: str, theirs: list[float], found: dict[tuple[str, str], dict[str, Any]], fold: str, sets: str) -> str:
    """A row: original, holdout, difference of the paper, then of ours by release and by what becomes of non-matches."""
    cells = [" / ".join(f"{value:.3f}" for value in theirs)]
    for release_name in RELEASES:
        for convention in (0, 1):
            mine = [
                found[fold, release_name][f"{side}, {sets}"][convention]
                for side in (ORIGINAL, HOLDOUT)
                if f"{side}, {sets}" in found[fold, release_name]
            ]
            mine += [mine[0] - mine[1]] if len(mine) > 1 else []
            cells.append(" / ".join(f"{value:.3f}" for value in mine))
    return f"| {words} | {' | '.join(cells)} |"


def coefficients(found: dict[tuple[str, str], dict[str, Any]]) -> Iterator[str]:
    """Rows of Tables 2 to 4: original and absolute difference, the paper's and ours."""
    theirs = printed()["published_coefficients"]
    labels = outputs(people()["1.1"], False)[0].labels
    names = list(theirs["whole"]["original"])
    folds = {"whole": "whole", "two_fold_fold1": "1", "two_fold_fold": "1.1"}
    for name in names:
        cells = []
        for where in EXPERIMENTS:
            mine, at = found[folds[where], "logit and one-way tables"], labels.index(name)
            original, synthetic = theirs[where]["original"][name], theirs[where]["synthetic"][name]
            gap = abs(mine["released"][at] - mine["refit"][at])
            cells += [
                f"{original:.4f}",
                f"{abs(original - synthetic):.4f}",
                f"{mine['released'][at]:.4f}",
                f"{gap:.4f}",
            ]
        yield f"| `{name}` | {' | '.join(cells)} |"
    cells = []
    for where in EXPERIMENTS:
        errors = [np.mean(found[folds[where], name]["mae"]) for name in RELEASES]
        cells += ["", f"{theirs[where]['published_mae']:.4f}", "", f"{errors[0]:.5f} (logit alone {errors[1]:.5f})"]
    yield f"| mean absolute error | {' | '.join(cells)} |"


def figure(traces: dict[str, list[list[float]]], path: Path) -> None:
    """TCAP as zero against the error, along runs of `paper`, with the paper's line."""
    drawing = Figure(figsize=(7, 3.6))
    axes = drawing.subplots()
    for start, points in traces.items():
        rows = np.array(points)
        axes.plot(rows[:, 0], rows[:, 2], ".", label=f"start {start}")
    line = printed()["published_risk"]["figure3"]
    errors = np.linspace(0, max(max(point[0] for point in points) for points in traces.values()), 2)
    axes.plot(errors, line["intercept"] + line["slope"] * errors, color="grey", label="the paper's line")
    axes.set_xlabel("mean absolute error of the coefficients")
    axes.set_ylabel("TCAP, six keys, non-matches as zero")
    axes.legend(frameon=False)
    drawing.tight_layout()
    drawing.savefig(path, metadata={"Date": None})


def line(points: list[list[float]]) -> tuple[float, float, float]:
    """Correlation, intercept and slope of TCAP as zero against the error."""
    rows = np.array(points)
    slope, intercept = np.polyfit(rows[:, 0], rows[:, 2], 1)
    return float(np.corrcoef(rows[:, 0], rows[:, 2])[0, 1]), float(intercept), float(slope)
