"""The fair data of statsmodels under the names that the printed tables of this folder use, and studies of them."""

from functools import cache
from pathlib import Path

import pandas as pd
import statsmodels.api as sm

from outrisk.codebook import Codebook, Variable
from outrisk.config import study_of
from outrisk.microdata import from_frame, infer_codebook

PRINTED = Path(__file__).parent / "printed"
OCCUPATIONS = {
    1: "student",
    2: "unskilled",
    3: "white_collar",
    4: "teacher_nurse",
    5: "managerial",
    6: "professional",
}
MEANINGS = ("not at all", "mildly", "fairly", "strongly")


@cache
def frame() -> pd.DataFrame:
    raw = sm.datasets.fair.load_pandas().data
    return pd.DataFrame(
        {
            "affair": (raw["affairs"] > 0).astype(int),
            "affairs": raw["affairs"],
            "marriage": raw["rate_marriage"].astype(int),
            "religion": raw["religious"].astype(int),
            "age": raw["age"],
            "yrs_married": raw["yrs_married"],
            "children": raw["children"],
            "educ": raw["educ"].astype(int),
            "occ": raw["occupation"].map(OCCUPATIONS),
        }
    )


@cache
def codebook(labelled: bool = False) -> Codebook:
    found, _ = infer_codebook(frame(), few=20)
    if not labelled:
        return found
    religion = Variable("religion", "categorical", ("1", "2", "3", "4"), descriptions=MEANINGS)
    return Codebook(tuple(religion if each.name == "religion" else each for each in found.variables))


@cache
def data(labelled: bool = False):
    return from_frame(frame(), codebook(labelled))


def study(*entries):
    """A study of these outputs, as if its file stood in the folder of printed tables."""
    document = {
        "name": "fair",
        "data": {"path": "fair.csv"},
        "outputs": list(entries),
        "keys": ["age", "educ", "religion"],
        "target": "affair",
    }
    return study_of(document, PRINTED / "fair.yaml")


def given(entry, labelled=False):
    """The one output of an entry as its file gives it, and beside what the data give."""
    (released,) = study(entry).given(codebook(labelled)).values()
    return released, released.recompute(data(labelled))
