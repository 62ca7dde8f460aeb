"""Planted cases: what the direct look says of them, what the verdict is, and what ACRO's rules would flag."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf

from outrisk.appetite import Appetite
from outrisk.assess.look import look
from outrisk.assess.verdict.decide import are_disclosive
from outrisk.codebook import Codebook, Variable
from outrisk.microdata import Microdata, from_frame
from outrisk.outputs import Frequencies, Magnitudes, Regression
from outrisk.outputs.base import Output

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))
import planted

_FAIR = ("age", "yrs_married", "religious", "educ", "occupation", "affair")


def affairs(rng: np.random.Generator, n: int) -> planted.Case:
    """Affairs of women by age, years married and religion (first draw: all of the survey; then 90 % of them)."""
    raw = sm.datasets.fair.load_pandas().data
    frame = raw.assign(affair=(raw["affairs"] > 0).astype(float))[list(_FAIR)]
    book = Codebook(
        tuple(Variable(name, "numeric", tuple(sorted(values.unique().tolist()))) for name, values in frame.items())
    )
    if rng.bit_generator.seed_seq.entropy:  # type: ignore[attr-defined]
        frame = frame.sample(frac=0.9, random_state=int(rng.integers(2**31))).reset_index(drop=True)
    groups = frame.groupby(["age", "yrs_married", "religious"])["affair"]
    told = int((groups.transform("nunique") == 1).sum())  # counted by pandas
    tables = [Frequencies(book, "four", ("age", "yrs_married", "religious", "affair"))]
    tables.append(Frequencies(book, "three", ("educ", "occupation", "affair")))
    return tables, from_frame(frame, book), "same answer", "four", told


def three_tables(rng: np.random.Generator, n: int) -> planted.Case:
    """Three tables: all, areas 1 to 3, areas 4 and 5; the first less the others leaves two people, both ill."""
    codes = planted.people(rng, n)
    codes[:2, [planted.AREA, planted.ILL]] = 5, 1
    parts = {"all": "", "areas 1 to 3": "area <= 3", "areas 4 and 5": "area > 3 and area < 6"}
    tables = [Frequencies(planted.BOOK, name, ("sex", "ill"), where) for name, where in parts.items()]
    return (
        [*planted.ordinary(), *tables],
        planted.data(codes),
        "difference of outputs",
        "all minus areas 1 to 3 minus areas 4 and 5",
        2,
    )


def two_models(rng: np.random.Generator, n: int) -> planted.Case:
    """A linear regression with its standard errors, before and after one person of area 6 has left."""
    codes = planted.people(rng, n)
    codes[0, planted.AREA] = 5
    models = [
        Regression(planted.BOOK, name, "ols", "pay ~ age + sex", where=where)
        for name, where in (("with", ""), ("without", "area < 6"))
    ]
    return [*planted.ordinary(), *models], planted.data(codes), "difference of outputs", "with minus without", 1


ASKED: dict[str, Callable[[np.random.Generator, int], planted.Case]] = {
    case.__name__: case
    for case in (
        planted.three_alike, planted.difference, planted.dummy, planted.ten_ones, planted.dominated, planted.listing,
        affairs,
    )
}  # fmt: skip
BESIDES: dict[str, Callable[[np.random.Generator, int], planted.Case]] = {
    case.__name__: case for case in (three_tables, two_models)
}
CASES = ASKED | BESIDES


def of_draw(case: str, seed: int, people: int) -> dict[str, Any]:
    """Whether the case is found, named rightly and makes the verdict disclosive, and what ACRO's rules flag."""
    released, records, rule, output, number = CASES[case](np.random.default_rng(seed), people)
    target = next(name for name in ("diagnosis", "affair", "ill") if name in records.codebook.names)
    keys = tuple(name for name in records.codebook.names if name not in (target, "pay"))
    found = look(released, records, Appetite(), target)
    mine = [each for each in found if (each.rule, each.output) == (rule, output)]
    return {
        "rule": rule,
        "found": bool(mine),
        "named": any(each.people == number for each in mine),
        "people": number,
        "disclosive": are_disclosive(found, Appetite(), keys),
        "acro": acro_flags(released, records, Appetite()),
    }


def alarms(seed: int, people: int) -> bool:
    """Whether anything is found where all cells hold 50 people or more."""
    return bool(planted.nothing(np.random.default_rng(seed), people))


def acro_flags(outputs: Sequence[Output], data: Microdata, rules: Appetite) -> list[str]:
    """Which of ACRO's rules some output breaks, each output by itself, from their definitions on the records.

    Its defaults: cells of fewer than 10 records, empty ones among them; the (n, k) and p % rules of sums and means;
    fewer than 10 residual degrees of freedom.
    """
    broken: list[str] = []
    for output in outputs:
        frame = data.frame()
        kept = frame.query(output.where) if output.where else frame
        if isinstance(output, Frequencies):
            *rows, column = output.by
            counts = pd.crosstab([kept[name] for name in rows] or np.zeros(len(kept)), kept[column])
            if (counts.to_numpy() < rules.safe_threshold).any():
                broken.append("threshold")
        elif isinstance(output, Magnitudes):
            for _, values in kept.groupby(list(output.by))[output.value]:
                broken += _of_cell(np.sort(np.abs(values.to_numpy(dtype=float)))[::-1], rules)
        elif isinstance(output, Regression):
            rows, columns = smf.ols(output.formula, kept).exog.shape
            if rows - columns < rules.safe_dof_threshold:
                broken.append("degrees of freedom")
    return sorted(set(broken))


def _of_cell(part: np.ndarray, rules: Appetite) -> list[str]:
    """The rules that a cell breaks; contributions of the largest first."""
    broken = ["threshold"] if len(part) < rules.safe_threshold else []
    if part.sum() > 0 and part[: rules.safe_nk_n].sum() / part.sum() > rules.safe_nk_k:
        broken.append("(n, k)")
    if part.sum() > 0 and part[2:].sum() / part[0] < rules.safe_pratio_p:
        broken.append("p %")
    return broken


def planted_row(case: str, draws: Sequence[dict[str, Any]]) -> str:
    """A row of the table of planted cases."""
    counts = [f"{sum(draw[name] for draw in draws)} of {len(draws)}" for name in ("found", "named", "disclosive")]
    numbers = sorted({draw["people"] for draw in draws})
    people = f"{numbers[0]:,}" + f" to {numbers[-1]:,}" * (len(numbers) > 1)
    return f"| {_words(case)} | {draws[0]['rule']} | {people} | {' | '.join(counts)} |"


def acro_row(case: str, draws: Sequence[dict[str, Any]]) -> str:
    """A row of the table of who catches what."""
    acro = sum(bool(draw["acro"]) for draw in draws)
    ours = sum(draw["found"] for draw in draws)
    rules = ", ".join(dict.fromkeys(rule for draw in draws for rule in draw["acro"]))
    many = len(draws)
    who = {(True, True): "both", (True, False): "ACRO's rules", (False, True): "OutRisk", (False, False): "neither"}
    catches = who[acro > many / 2, ours > many / 2]
    return f"| {_words(case)} | {acro} of {many}{f' ({rules})' if rules else ''} | {ours} of {many} | {catches} |"


def _words(case: str) -> str:
    return (CASES[case].__doc__ or "").rstrip(".")
