"""What is compiled ahead is what a search calls: nothing is compiled twice, or for nothing."""

import os
import subprocess
import sys
from shutil import copyfile

import numpy as np
import pytest
from blocks import random_problem

from outrisk.evolve import ahead, moves
from outrisk.evolve.candidate import Candidate
from outrisk.evolve.compiled import kept_code
from outrisk.evolve.compiled.kept_code import entry, kept
from outrisk.evolve.linear_map import linearise


def test_a_search_asks_for_no_other_types_than_those_compiled_ahead():
    ahead._sums()
    ahead._visits()
    ahead._batches()
    before = {entry.py_func: set(entry.signatures) for entry in ahead._ENTRIES}
    assert all(before.values())
    for seed in range(10):
        problem, codes = random_problem(seed)
        candidate, rng = Candidate(codes, problem.totals(codes)), np.random.default_rng(seed)
        linear = linearise(problem, codes, candidate.totals, "tightening")
        assert linear.profiles.dtype == np.float64
        moves.descend_with_swaps(candidate, linear, 20, 1.0, rng)
        moves.anneal(candidate, linear, 1.0, rng)
    assert before == {entry.py_func: set(entry.signatures) for entry in ahead._ENTRIES}


def test_what_is_kept_on_disk_is_seen():
    ahead._sums()
    assert kept(ahead.sums.add_all)
    assert not kept(_never_called)


@entry
def _never_called():
    return 1


def test_nothing_that_lies_in_the_current_folder_is_run(tmp_path, monkeypatch):
    mark = tmp_path / "mark"
    (tmp_path / "numpy.py").write_text(f"open({str(mark)!r}, 'w')")
    (tmp_path / ".numba_config.yaml").write_text(f"cache_dir: {tmp_path}\ncache_locator_classes: numpy.any\n")
    monkeypatch.chdir(tmp_path)
    for name, instead in {"kept": lambda _: False, "_visits": lambda: None, "_batches": lambda: None}.items():
        monkeypatch.setattr(ahead, name, instead)
    ahead.compile_ahead(swaps=True)
    asked = "print([config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES])"
    code = f"from outrisk import inner_code; from numba import config; {asked}"
    unset = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_CACHE")}
    said = subprocess.run([sys.executable, "-P", "-c", code], env=unset, check=True, capture_output=True, text=True)
    assert said.stdout == "['', '']\n"
    assert not mark.exists()


@pytest.mark.parametrize("how", ["entry", "njit(cache=True)"])  # numba's own way shows what this is about
def test_a_constant_that_changes_elsewhere_is_compiled_anew(how, tmp_path):
    package = tmp_path / "sources"
    package.mkdir()
    copyfile(kept_code.__file__, package / "kept_code.py")
    (package / "function.py").write_text(
        f"from constant import ONE\nfrom kept_code import entry, njit\n\n\n@{how}\ndef of():\n    return ONE\n"
    )
    answers = []
    for one in ("1", "12", "12"):
        (package / "constant.py").write_text(f"ONE = {one}\n")
        code = "from function import of; from kept_code import kept; was = kept(of); print(of(), was)"
        asked = [sys.executable, "-B", "-c", code]
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(package)}
        answers.append(
            subprocess.run(asked, env=environment, check=True, capture_output=True, text=True).stdout.split()
        )
    stale = how != "entry"
    assert answers == [["1", "False"], ["1" if stale else "12", str(stale)], ["1" if stale else "12", "True"]]
