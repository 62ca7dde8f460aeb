"""Functions without machine code of their own are, in what calls them, what Python makes of them."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit

from outrisk import inner_code
from outrisk.inner_code import TRIED, inner


def _share(found, n):
    if n == 0:
        raise ValueError("share of nobody")
    return found.sum() / n


def _shares(found, n):
    return np.array([share(found, n), share(found[:1], n), share(found, 2 * n)])


share = inner()(_share)
shares = inner(error_model="numpy", forceinline=True)(_shares)


@njit
def largest(found, n):
    return shares(found, n).max() + share(found, n)


@njit
def least(found, n):
    return shares(found, n).min()


def test_what_is_called_by_what_is_called_is_as_in_python():
    found = np.arange(4.0)
    python = [_share(found, 2), _share(found[:1], 2), _share(found, 4)]
    assert (largest(found, 2), least(found, 2)) == (max(python) + python[0], min(python))
    assert largest(found.astype(np.int32), 2) == largest(found, 2)


def test_another_version_of_numba_goes_its_own_way(monkeypatch):
    monkeypatch.setattr(inner_code, "TRIED", False)
    plain = inner_code.inner()(_share)
    found = np.arange(4.0)
    assert njit(lambda found, n: plain(found, n))(found, 2) == _share(found, 2)
    assert _address(plain) != 0


def test_it_fails_as_in_python():
    with pytest.raises(ValueError, match="share of nobody"):
        largest(np.ones(2), 0)


@pytest.mark.skipif(not TRIED, reason="another version of numba: its own way is taken")
def test_nothing_is_made_of_it_alone():
    largest(np.ones(2), 1)
    assert _address(largest) != 0
    assert _address(share) == 0


def _address(function):
    made = function.overloads[function.signatures[0]]
    return made.library.get_pointer_to_function(made.fndesc.llvm_func_name)


def test_it_is_kept_with_what_calls_it(tmp_path):
    code = (
        "from numba import njit\nfrom outrisk.inner_code import inner\n\n"
        "@inner()\ndef twice(x):\n    return 2 * x\n\n"
        "@njit(cache=True)\ndef fourfold(x):\n    return twice(twice(x))\n"
    )
    (tmp_path / "kept.py").write_text(code)
    call = "from kept import fourfold; print(fourfold(3), sum(fourfold.stats.cache_hits.values()))"
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[1] / "src")])
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": path}
    answers = [subprocess.check_output([sys.executable, "-c", call], env=environment, text=True) for _ in range(2)]
    assert answers == ["12 0\n", "12 1\n"]
