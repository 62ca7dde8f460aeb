"""Quantiles as programs define them: against numpy, numbers solved by hand, and a search that has to reach them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from outrisk.codebook import Codebook, Variable
from outrisk.config import read_study
from outrisk.evolve.loop import evolve
from outrisk.evolve.problem import Problem
from outrisk.evolve.settings import preset
from outrisk.microdata import Microdata, from_frame, infer_codebook
from outrisk.outputs import Frequencies, Quantiles, release
from outrisk.problem.quantile_places import METHODS, TYPES, places

PROGRAMS = list(TYPES)
SHARES = (0.0, 0.1, 0.25, 1 / 3, 0.5, 0.75, 0.9, 1.0)
PAY = tuple(float(each) for each in (0, 1, 2, 3, 5, 8, 13, 21, 34, 55))
CODEBOOK = Codebook(
    (Variable("area", "integer", (1, 2, 3)), Variable("pay", "number", PAY, missing=True)),
)


def records(n, seed):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, 2, n), rng.integers(0, len(PAY) + 1, n)], axis=1)  # nobody in the third area
    return Microdata(CODEBOOK, codes.astype(np.uint16))


@pytest.mark.parametrize("of_type", list(METHODS))
def test_places_are_those_of_numpy(of_type):
    for n in range(1, 42):
        along = np.arange(float(n))
        for share in SHARES:
            expected = pytest.approx(np.quantile(along, share, method=METHODS[of_type]), abs=1e-8)
            assert places(np.array(n), share, of_type) == expected


@pytest.mark.parametrize(
    ("n", "program", "quartiles"),
    [  # by hand, of 1 to n: Stata's manual of summarize, SAS's definition 5, SPSS's HAVERAGE
        (8, "r", (2.75, 4.5, 6.25)),
        (8, "stata", (2.5, 4.5, 6.5)),
        (8, "sas", (2.5, 4.5, 6.5)),
        (8, "spss", (2.25, 4.5, 6.75)),
        (10, "r", (3.25, 5.5, 7.75)),
        (10, "stata", (3, 5.5, 8)),
        (10, "spss", (2.75, 5.5, 8.25)),
        (2, "spss", (1, 1.5, 2)),
    ],
)
def test_quartiles_solved_by_hand(n, program, quartiles):
    codebook = Codebook((Variable("x", "integer", tuple(range(1, n + 1))),))
    data = Microdata(codebook, np.arange(n, dtype=np.uint16)[:, None])
    output = Quantiles(codebook, "q", "x", (), (0.25, 0.5, 0.75), program=program)
    assert output.refit(data).tolist() == pytest.approx(quartiles)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("seed", range(6))
def test_totals_have_the_numbers_of_the_records(program, seed):
    data = records(3 + 7 * seed, seed)
    output = Quantiles(CODEBOOK, "q", "pay", ("area",), SHARES, program=program)
    numbers = output.refit(data)
    (part,) = output.parts(output.publish(numbers)[0])
    problem = Problem(CODEBOOK, len(data), (release(output, data),))
    totals = problem.totals(data.codes)
    assert part.map.numbers(totals).tolist() == pytest.approx(numbers.tolist(), nan_ok=True)
    assert np.isnan(numbers[-len(SHARES) :]).all()  # of nobody
    frame = pd.DataFrame(
        {"area": np.array([1, 2, 3])[data.codes[:, 0]], "pay": np.array([*PAY, np.nan])[data.codes[:, 1]]}
    )
    some = frame.loc[frame["area"] == 1, "pay"].dropna()
    if len(some):
        assert numbers[: len(SHARES)].tolist() == pytest.approx(
            np.quantile(some, SHARES, method=METHODS[TYPES[program]]).tolist()
        )


@pytest.mark.parametrize("program", ["stata", "spss"])
@pytest.mark.parametrize("n", [40, 400])
def test_a_search_reaches_them(program, n):
    rng = np.random.default_rng(n)
    frame = pd.DataFrame({"area": rng.integers(1, 4, n), "age": rng.integers(18, 90, n)})
    codebook = Codebook((CODEBOOK["area"], Variable("age", "integer", tuple(range(18, 90)))))
    data = from_frame(frame, codebook)
    outputs = [
        Frequencies(codebook, "t", ("area",)),
        Quantiles(codebook, "q", "age", ("area",), (0.25, 0.5, 0.75), program=program),
    ]
    problem = Problem(codebook, n, tuple(release(each, data) for each in outputs))
    *_, last = evolve(problem, preset("fast"), np.random.default_rng(1))
    refits = [each.recompute(Microdata(codebook, last.codes)) for each in problem.released]
    assert all(refit.matched.all() for refit in refits), last.stop


def test_a_study_says_the_program(tmp_path):
    frame = pd.DataFrame({"area": [1, 1, 2, 2] * 4, "age": range(16)})
    frame.to_csv(tmp_path / "d.csv", index=False)
    study = """
name: d
data: {path: d.csv}
outputs:
  - {kind: quantiles, value: age, by: [area], quantiles: [0.25], program: stata}
  - {kind: table_one, by: area, variables: [age], medians: [age], program: spss}
keys: [area]
target: age
"""
    Path(tmp_path / "d.yaml").write_text(study)
    codebook, _ = infer_codebook(frame)
    found = [each for each in read_study(tmp_path / "d.yaml").outputs(codebook) if isinstance(each, Quantiles)]
    assert [each.program for each in found] == ["stata", "spss"]
    assert "halfway between two" in found[0].notes
