"""A made-up run directory in the formats of docs/files.md, for the report's tests."""

import json
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

KEYS = ("age", "yrs_married", "children", "religious", "educ", "occupation")
FOLDS = {1: ("whole",), 2: ("1", "2"), 4: ("1.1", "1.2", "2.1", "2.2")}
MEASURES = ("tcap_undefined", "tcap_zero", "dcap", "baseline")
RECORDS = 6366
REASON = "no synthetic record has WEAP >= tau"


@dataclass(frozen=True)
class Made:
    """What to make up; the defaults are a complete study of three levels without a holdout of the whole."""

    study: str = "fair"
    outputs: tuple[tuple[str, str, int, int], ...] = (("affair on background", "logit", 26, 4),)
    keys: tuple[str, ...] = KEYS
    target: str = "affair"
    key_sizes: tuple[int, ...] = (3, 4, 5, 6)
    levels: tuple[int, ...] = (1, 2, 4)
    runs: int = 4
    whole_holdout: bool = False
    marginal: float = 0.004
    matched: bool = True  # every number within its precision
    undefined: bool = False  # all risk undefined, with reasons
    runs_done: int | None = None  # fewer than planned: interrupted
    exact: bool = False  # errors reach 0
    labels: tuple[str, ...] = ()
    notes: str = "converged in 6 iterations"
    data_name: str = "statsmodels/fair"
    generations: int = 60
    seed: int = 1


def write(directory: Path, made: Made | None = None) -> Path:
    """Write the directory's files (but for the report) and return it."""
    made = made or Made()
    directory.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(made.seed)
    plan = [(level, fold, run) for level in made.levels for fold in FOLDS[level] for run in range(1, made.runs + 1)]
    done = plan[: made.runs_done] if made.runs_done is not None else plan
    trajectory, snapshots = _errors(rng, made, done)
    frames = {
        "matched": _matched(rng, made, done),
        "trajectory": trajectory,
        "snapshots": snapshots,
        "risk": _scores(rng, made, done),
    }
    for name, frame in frames.items():
        frame.to_csv(directory / f"{name}.csv", index=False)
    (directory / "risk.json").write_text(json.dumps(_risk(rng, made, done, frames), indent=1))
    (directory / "manifest.json").write_text(json.dumps(_manifest(made, len(done), len(plan)), indent=1))
    study = {
        "name": made.study,
        "data": {"path": f"/home/someone/{made.study}.csv"},
        "outputs": [
            {"name": name, "kind": kind, "formula": "affair ~ C(occupation) + age"} for name, kind, _, _ in made.outputs
        ],
        "evolve": {"preset": "fast", "seed": made.seed, "checkpoint": None},
        "study": {"runs": made.runs, "folds": list(made.levels)},
    }
    (directory / "study.yaml").write_text(json.dumps(study))  # JSON is YAML
    (directory / "codebook.yaml").write_text("variables: []\n")
    return directory


def _holdout(made: Made, level: int) -> bool:
    return level > 1 or made.whole_holdout


def _mae(made: Made) -> float:
    decimals = max(decimals for *_, decimals in made.outputs)
    return 10.0**-decimals * (0.2 if made.matched else 30)


def _matched(rng: np.random.Generator, made: Made, done: list[tuple[int, str, int]]) -> pd.DataFrame:
    labels = [
        (name, made.labels[i] if i < len(made.labels) else f"{name} {i}: C(occupation)[T.{i}.0]", decimals)
        for name, _, count, decimals in made.outputs
        for i in range(count)
    ]
    names, labels_, decimals = (list(column) for column in zip(*labels, strict=True))
    parts = []
    for level, fold, run in done:
        released = np.random.default_rng([7, level, len(fold)]).normal(0, 1, len(names))
        released = np.array([round(x * (1 if d else 400), d) for x, d in zip(released, decimals, strict=True)])
        difference = np.zeros(len(names)) if made.exact else rng.normal(0, _mae(made), len(names))
        unit = 0.5 * 10.0 ** -np.array(decimals)
        if made.matched:
            difference = np.clip(difference, -0.99 * unit, 0.99 * unit)
        parts.append(
            pd.DataFrame(
                {
                    "level": level,
                    "fold": fold,
                    "run": run,
                    "output": names,
                    "label": labels_,
                    "released": released,
                    "low": released,
                    "high": released,
                    "refit": released + difference,
                    "difference": difference,
                    "decimals": decimals,
                    "matched": np.where(np.abs(difference) <= unit, "true", "false"),
                }
            )
        )
    columns = ["level", "fold", "run", "output", "label", "released", "low", "high"]
    columns += ["refit", "difference", "decimals", "matched"]
    return pd.concat(parts) if parts else pd.DataFrame(columns=columns)


def _errors(rng, made, done) -> tuple[pd.DataFrame, pd.DataFrame]:
    n, count = made.generations, sum(count for *_, count, _ in made.outputs)
    sides = [f"{measure}_{side}" for measure in MEASURES[:2] for side in ("original", "holdout")]
    all_lines = [
        pd.DataFrame(columns=["level", "fold", "run", "generation", "mse", "mae", "chi2", "rate", "seconds", "matched"])
    ]
    all_points = [pd.DataFrame(columns=["level", "fold", "run", "generation", "mse", "mae", *sides])]
    for level, fold, run in done:
        place = {"level": level, "fold": fold, "run": run}
        steps = np.arange(n + 1)
        start, end = np.log10(0.3), np.log10(_mae(made))
        mae = 10 ** (start + (end - start) * (steps / n) ** 0.7 + rng.normal(0, 0.05, n + 1))
        mae = np.minimum.accumulate(mae)
        if made.exact:
            mae[-3:] = 0
        all_lines.append(
            pd.DataFrame({**place, "generation": steps, "mse": mae**2, "mae": mae, "chi2": mae * 100, "rate": 0.005,
                          "seconds": steps * 0.02, "matched": (count * (steps / n)).astype(int)})
        )  # fmt: skip
        at = np.unique(np.geomspace(1, n, 12).round().astype(int))
        points = pd.DataFrame({**place, "generation": at, "mse": mae[at] ** 2, "mae": mae[at]})
        for measure, middle in (("tcap_undefined", 0.66), ("tcap_zero", 0.36)):
            risk = middle - 0.3 * mae[at] + rng.normal(0, 0.008, len(at))
            points[f"{measure}_original"] = np.nan if made.undefined else risk + made.marginal
            other = risk + rng.normal(0, 0.006, len(at)) if _holdout(made, level) and not made.undefined else np.nan
            points[f"{measure}_holdout"] = other
        all_points.append(points)
    return pd.concat([f for f in all_lines if len(f) or not done]), pd.concat(
        [f for f in all_points if len(f) or not done]
    )


def _scores(rng, made, done) -> pd.DataFrame:
    rows = []
    sets = [chosen for size in made.key_sizes for chosen in combinations(made.keys, size)]
    for level, fold, run in done:
        for keys in sets:
            gap = rng.normal(made.marginal, 0.01)
            base = 0.5 + 0.03 * len(keys) + rng.normal(0, 0.01)
            certain = int(60 * len(keys) ** 2)
            for measure in MEASURES:
                lower = 1 - 0.08 * len(keys) if measure == "tcap_zero" else 1
                for side, value in (("original", base + gap), ("holdout", base)):
                    if side == "holdout" and not _holdout(made, level):
                        continue
                    undefined = made.undefined and measure.startswith("tcap")
                    rows.append((level, fold, run, len(keys), "+".join(keys), measure, side,
                                 None if undefined else value * lower, 0 if undefined else certain,
                                 0 if undefined else int(certain * lower), REASON if undefined else ""))  # fmt: skip
            rows.append((level, fold, run, len(keys), "+".join(keys), "weap", "synthetic", 0.8, certain, certain, ""))
    columns = ["level", "fold", "run", "key_size", "keys", "measure", "side", "value", "certain", "matched", "reason"]
    return pd.DataFrame(rows, columns=columns)


def _risk(rng, made, done, frames) -> dict:
    folds, levels = [], []
    for level in dict.fromkeys(level for level, *_ in done):
        names = list(dict.fromkeys(fold for at, fold, _ in done if at == level))
        found = [
            _fold(rng, made, level, fold, [run for a, f, run in done if (a, f) == (level, fold)], frames)
            for fold in names
        ]
        folds += found
        shrink = len(names) ** 0.5
        held = _holdout(made, level)
        levels.append({"level": level, "n_folds": len(names), "runs": made.runs,
                       "estimates": _estimates(rng, made, held, 0.012 / shrink)})  # fmt: skip
    outputs = [
        {"name": name, "kind": kind, "notes": made.notes, "numbers": count, "withheld": 0}
        for name, kind, count, _ in made.outputs
    ]
    return {"target": made.target, "keys": list(made.keys), "key_sizes": list(made.key_sizes), "tau": 1.0,
            "largest": max(made.key_sizes), "outputs": outputs, "folds": folds, "levels": levels}  # fmt: skip


def _fold(rng, made, level, fold, runs, frames) -> dict:
    matched = frames["matched"]
    held = _holdout(made, level)
    found = []
    for run in runs:
        own = matched[(matched.level == level) & (matched.fold == fold) & (matched.run == run)]
        found.append(
            {"run": run, "stop": "matched" if (own.matched == "true").all() else "budget",
             "generations": made.generations, "seconds": round(rng.uniform(0.7, 1.4), 2),
             "mae": own.difference.abs().mean(), "mse": (own.difference**2).mean(),
             "largest_difference": own.difference.abs().max(),
             "matched": int((own.matched == "true").sum()), "numbers": len(own)}
        )  # fmt: skip
    return {"level": level, "fold": fold, "n_original": RECORDS // level,
            "n_holdout": RECORDS // max(level, 2) if held else None,
            "holdout": (f"fold {fold[:-1]}{3 - int(fold[-1])}" if level > 1 else "fair-holdout.csv") if held else None,
            "runs": found, "estimates": _estimates(rng, made, held, 0.012 * level**0.5),
            "extrapolation": _fits(rng, made, held)}  # fmt: skip


def _estimates(rng, made, held, error) -> list[dict]:
    found = []
    middles = {"tcap_undefined": 0.662, "tcap_zero": 0.351, "dcap": 0.571, "baseline": 0.563}
    for keys in ("all", "largest"):
        for measure, middle in middles.items():
            original = middle + made.marginal + rng.normal(0, 0.002)
            holdout = middle + rng.normal(0, 0.002)
            values = {"original": original, "holdout": holdout, "marginal": original - holdout}
            for side, value in values.items():
                gone = side != "original" and not held
                undefined = made.undefined and measure.startswith("tcap")
                reason = (
                    f"undefined in all {made.runs} runs: no holdout"
                    if gone
                    else f"undefined in all 42 key sets, the first: {REASON}"
                    if undefined
                    else ""
                )
                none = bool(reason)
                width = error * (1.4 if side == "marginal" else 1)
                sets = 42 if keys == "all" else 1
                found.append(
                    {"measure": measure, "keys": keys, "side": side, "value": None if none else value,
                     "standard_error": None if none else width, "low": None if none else value - 2 * width,
                     "high": None if none else value + 2 * width, "n_key_sets": 0 if none else sets - (sets > 1),
                     "n_undefined": sets if none else int(sets > 1), "reason": reason}
                )  # fmt: skip
    return found


def _fits(rng, made, held) -> list[dict]:
    found = []
    for measure, middle in (("tcap_undefined", 0.66), ("tcap_zero", 0.36)):
        for side in ("original", "holdout", "marginal"):
            reason = "no holdout" if side != "original" and not held else REASON if made.undefined else ""
            value = made.marginal if side == "marginal" else middle + (made.marginal if side == "original" else 0)
            line = {"intercept": value, "low": value - 0.006, "high": value + 0.006, "slope": -0.3,
                    "correlation": -0.93, "r_squared": 0.865, "measured": value + rng.normal(0, 0.002)}  # fmt: skip
            found.append(
                {"measure": measure, "side": side, **{key: None if reason else each for key, each in line.items()},
                 "n_points": 12 * made.runs, "n_runs": made.runs, "mae_from": _mae(made), "mae_to": 0.3,
                 "reason": reason}
            )  # fmt: skip
    return found


def _manifest(made: Made, done: int, planned: int) -> dict:
    digest = "9f2c5b1e0d7a4c3b8e6f1a2d3c4b5a69788f9e0d1c2b3a4958677685940312ab"
    return {
        "outrisk": "0.1.0", "study": made.study, "status": "complete" if done == planned else "interrupted",
        "runs_done": done, "runs_planned": planned, "started": "2026-11-21T10:00:00+00:00", "seconds": 73.4,
        "seed": made.seed,
        "workers": 2, "peak_memory_mb": 410, "versions": {"python": "3.11.7", "numpy": "2.4.6", "deap": "1.4.3"},
        "inputs": [
            {"what": "study", "name": f"{made.study}.yaml", "sha256": digest},
            {"what": "data", "name": made.data_name, "sha256": digest[::-1], "records": RECORDS},
            {"what": "codebook", "name": "fair.codebook.yaml", "sha256": digest},
        ],
    }  # fmt: skip
