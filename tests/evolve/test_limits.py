"""What keeps the search readable: short functions, little state, few constants, all of them in one place."""

import ast
import inspect
import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from problems import random_data

from outrisk.evolve import tuning
from outrisk.evolve.local_search import _Search
from outrisk.evolve.problem import Problem
from outrisk.evolve.schedule import Schedule
from outrisk.evolve.settings import preset
from outrisk.evolve.tuning import Tuning
from outrisk.outputs import Frequencies, release

EVOLVE = Path(__file__).resolve().parents[2] / "src" / "outrisk" / "evolve"
PYTHON = sorted(EVOLVE.glob("*.py"))
LIMITS = {  # numbers that tune nothing: guards of the arithmetic, sizes of memory, a mathematical constant
    "candidate._REDRAWS", "number_errors.FAR", "linear_map.SEEN", "problem.SAFE", "start._CHUNK",
    "around._NARROW", "around._MARGIN", "start._LARGEST", "told_counts._UNKNOWN", "weights.LEAST",
    "start._DRAWS", "start._ALIKE", "order_statistics.WORK", "order_statistics.EACH",
    "quantile_choices._TURNS", "quantile_choices._TRIES",
    # values of which sums were published: sizes up to which it is tried, attempts, and how far sums over classes may go
    "agreeing_sums._NODES", "agreeing_sums._GAP", "agreeing_sums._BEYOND", "agreeing_sums._LITTLE",
    "agreeing_sums._FAR", "agreeing_sums.EXACT",
    "exact_moments._LARGE",
    "exact_moments._LOOSE",
    "exact_moments._AGAIN", "exact_moments._HOPELESS", "exact_moments._OTHERS",
    "exact_moments._CHOICES", "exact_moments._ALIKE", "exact_moments._CHANCE",
    "exact_moments._FURTHER", "exact_moments._ROOM", "shaped.WITHIN",
    "tested_moments._SUMS", "tested_moments._COMBINATIONS", "tested_moments._DRAWN",
    "tested_moments._CHANGED", "tested_moments._LEAST", "tested_moments._FAR",
    "tested_moments._WITHIN", "tested_moments._TILTS", "exact_moments._TURNS",
    "values_with_sums._FEWER", "values_with_sums._NODES", "values_with_sums._TRIES",
    "values_with_sums._NEAR", "values_with_sums._ROUNDS", "values_with_sums._PAIRS",
    # tolerances that end an iteration, and its steps at most
    "amounts.MANY", "amounts.STEPS", "amounts.IN_VAIN", "amounts.WORTH", "amounts.MOST", "amounts.RECORDS",
    "amounts.EACH", "amounts.DAMPED", "amounts.LESS", "amounts.MORE", "amounts.WITHIN", "amounts.APART",
    "balance.STEPS", "balance.STILL", "balance.TIGHTER",
    "mending.GENTLY", "mending.MOST",
    "mending.TURNS", "mending.VISITS", "mending.EDITS", "mending.CHANGES", "mending.FROM",
    "mending.WEIGHED", "mending.FIRST", "mending.NEEDED", "calibrated.OPEN",
    # counts behind shares: draws, and how near they are to what is expected and to each other
    "settled_shares._DRAWS", "settled_shares._FIRM", "settled_shares._APART",
    "settled_shares._AGAIN", "subset_shares._CELLS",
    "subset_shares._KEPT",
    "settled_shares._LOOSE", "settled_shares._INSIDE", "agreeing_shares._FIRM",
    "calibrated.WAIT", "asked.STEPS", "asked.GAIN", "asked.STUCK",
    "calibrated.MUCH", "calibrated.LESS",
    "calibrated.BADLY", "calibrated.HELD", "calibrated.MOST_HELD",
    "small.CHAINS", "small.STEPS", "small.LEAST_STEPS", "small.EVERY",
    # where a step of the arithmetic holds, and what is worth its time
    "calibrated.WITHIN", "linear_map.WITHIN", "calibrated.RECORDS", "calibrated.NUMBERS",
    "calibrated.OF_MODELS", "calibrated.MANY", "closing.BRIEF", "closing.FEW",
    "local_search.LEAST_VISITS", "local_search.TOLD",
    "local_search.MOST_VISITS", "closing.EACH", "closing.KICKS", "closing.PATIENT", "closing.SEEN",
    "closing.EARLY", "closing.LATE", "closing.FAR", "closing.HEAVY",
    "swaps.NUMERIC", "swaps.TRIED", "swaps.AIMED", "shaped.GROUPS", "shaped.TURNS", "schedule.STILL",
    "moves.SWEEPS",
    "resolved.BACK", "resolved.MOST", "resolved.ROUNDS", "resolved.STEP",
    "resolved.WIDEST", "resolved.PULLS", "resolved.UNMET", "resolved.UNTOLD", "resolved.AGAIN",
    "calibrated.FROM_ENDS", "calibrated.MET",
    # regressions alone: steps and what ends them; how far one may go; how many changes are drawn
    "tilted.STEPS", "tilted.INNER", "tilted.WAIT", "tilted.HASTE", "tilted.FAR", "tilted.BACK",
    "tilted.NEARLY", "tilted.INSIDE", "tilted.SLACK", "tilted.SMOOTH", "tilted.FELT", "tilted.DRAWN",
    "tilted.LEAST",
    "estimated.STEPS", "estimated.CLOSE", "estimated.MOST", "estimated.LOOSE", "estimated.LEAP", "estimated.FASTER",
    "estimated.SLOWER", "closing.HEAT", "closing.KICK", "closing.NEARER", "closing.LESS", "local_search.UNSURE",
    "freely.PATIENT",
    "by_kinds.EXCHANGES", "by_kinds.PAIRS", "by_kinds.RESTS",
    "by_size.SIZES", "by_size.SMALLER", "by_size.IDLE", "by_size.PATIENT", "by_size.TRIES",
    "by_size.TURNS", "by_size.SEEN", "by_size.PROPOSALS", "by_size.HEATS", "by_size.PACE", "by_size.LEAST",
    "by_size.PEOPLE", "by_size.EACH", "in_pairs.TRIES", "in_pairs.ALONE", "in_pairs.AGREE",
    "in_pairs.HELD",
    # a pool drawn anew: how far equations are weighed, records of small cells
    "calibrated.ANEW", "calibrated.LOOSE", "calibrated.PINNED", "asked.FOLLOWS", "redrawn.LEAST", "redrawn.OWN",
    "redrawn.FELT", "around._NOISE", "closing.OTHERS", "statistics.LEAST", "statistics.FREE",
    "candidate.FEW",  # of how many records those changed are counted alone
    "acceptance.STILL", "balance.LAST", "balance.SWEEPS", "calibrated.COARSE", "calibrated.COARSER",
    "exact_moments._FEW", "number_errors.GAIN", "values_with_sums.FEW",
    # one place for all modules: how long whole numbers are looked for; from how many people on less is tried
    "whole_numbers.GAP", "whole_numbers.NODES", "whole_numbers.UNKNOWNS", "problem.LARGE",
    "told_counts.CELLS",
}  # fmt: skip


def functions(path):
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]


@pytest.mark.parametrize("path", sorted(EVOLVE.rglob("*.py")), ids=lambda path: path.stem)
def test_no_function_is_longer_than_a_screen(path):
    longest = 120 if path.parent.name == "compiled" else 60
    lengths = {f.name: f.end_lineno - f.lineno + 1 for f in functions(path)}
    assert {name: length for name, length in lengths.items() if length > longest} == {}


def test_the_state_of_a_run_is_small():
    data = random_data(np.random.default_rng(0), 50)
    problem = Problem(data.codebook, 50, (release(Frequencies(data.codebook, "t", ("area",)), data),))
    search = _Search(problem, preset("fast"), np.random.default_rng(0))
    assert isinstance(search.schedule, Schedule)
    assert len(vars(search)) <= 12 and len(vars(search.schedule)) <= 12


def test_constants_are_few_and_in_one_place():
    assert len(fields(Tuning)) <= 25 and Tuning.__dataclass_params__.frozen
    assert [name for name, _ in inspect.getmembers(tuning, inspect.isclass)] == ["Tuning"]
    found = set()
    for path in PYTHON:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and any(isinstance(each, ast.Constant) for each in ast.walk(node.value)):
                numbers = [each.value for each in ast.walk(node.value) if isinstance(each, ast.Constant)]
                names = [each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)]
                if any(isinstance(number, int | float) for number in numbers):
                    found |= {f"{path.stem}.{name}" for name in names}
    assert found - {"settings._RANGES"} == LIMITS


def test_every_constant_says_what_it_is_for_and_what_measured_it():
    lines = inspect.getsource(Tuning).splitlines()
    said = " ".join(line.strip() for line in lines).split(": ", 1)[1]
    for field in fields(Tuning):
        assert re.search(rf"\b{field.name}: [^#]*# [^#]*\(.+\)", said), field.name
