"""Integer programmes write nothing to the terminal, and what comes after them does."""

import ctypes
import os
import sys
from threading import Barrier, Thread

import numpy as np
import pytest
from scipy.optimize import Bounds

from outrisk import quiet_milp


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is silenced there")
def test_what_highs_prints_is_not_seen_and_all_else_is(capfd, monkeypatch):
    both = Barrier(2)

    def loud(*arguments, **settings):
        ctypes.CDLL(None).printf(b"transformNewIntegerFeasibleSolution\n")
        os.write(1, b"also from C\n")
        both.wait(10)

    monkeypatch.setattr(quiet_milp, "_milp", loud)
    threads = [Thread(target=quiet_milp.milp) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    ctypes.CDLL(None).fflush(None)
    os.write(1, b"seen\n")
    assert capfd.readouterr().out == "seen\n"


def test_it_is_the_same_programme():
    found = quiet_milp.milp([-1.0, -1.0], integrality=np.ones(2), bounds=Bounds(0.0, 2.5))
    assert found.fun == -4.0
