"""Integer programmes write nothing to the terminal, and what comes after them, or from another thread, is seen."""

import ctypes
import os
import sys
from threading import Thread

import numpy as np
import pytest
from scipy.optimize import Bounds

from outrisk import quiet_milp

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing is silenced there")


@pytest.fixture
def loud(monkeypatch):
    def printing(*arguments, **settings):
        ctypes.CDLL(None).printf(b"transformNewIntegerFeasibleSolution\n")
        os.write(1, b"also from C\n")

    monkeypatch.setattr(quiet_milp, "_milp", printing)


def test_what_highs_prints_is_not_seen_and_all_else_is(capfd, loud):
    os.write(1, b"before\n")
    quiet_milp.milp()
    os.write(1, b"after\n")
    assert capfd.readouterr().out == "before\nafter\n"


def test_a_thread_does_not_silence_the_main_one(capfd, loud):
    thread = Thread(target=quiet_milp.milp)
    thread.start()
    thread.join()
    ctypes.CDLL(None).fflush(None)
    assert "also from C" in capfd.readouterr().out


def test_standard_output_is_there_again_after_an_error(capfd, monkeypatch):
    def fails(*arguments, **settings):
        raise ValueError("no")

    monkeypatch.setattr(quiet_milp, "_milp", fails)
    with pytest.raises(ValueError, match="no"):
        quiet_milp.milp()
    os.write(1, b"seen\n")
    assert capfd.readouterr().out == "seen\n"


def test_it_is_the_same_programme():
    found = quiet_milp.milp([-1.0, -1.0], integrality=np.ones(2), bounds=Bounds(0.0, 2.5))
    assert found.fun == -4.0
