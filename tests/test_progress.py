"""What a study says while it is at work."""

import io

import pytest
from numba import njit
from rich.console import Console

from outrisk.progress import Progress


@pytest.mark.parametrize(("quiet", "times"), [(False, 1), (True, 0)])
def test_compiling_is_told_once_without_a_terminal_and_not_where_quiet_is_asked_for(quiet, times):
    said = io.StringIO()
    with Progress("runs", 1, Console(file=said, quiet=quiet)):
        for added in (1, 2):
            assert njit(lambda x, added=added: x + added)(1) == 1 + added
    njit(lambda x: x + 3)(1)
    assert said.getvalue().count("compiling, once") == times
