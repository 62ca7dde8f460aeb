"""What a study says while it is at work."""

import io
import re
import sys
import time
from types import SimpleNamespace

import pytest
from numba import njit
from rich.console import Console

from outrisk import progress as progress_module
from outrisk.progress import MetricProgress, Outlook, Progress, in_words


@pytest.mark.parametrize(("quiet", "times"), [(False, 1), (True, 0)])
def test_compiling_is_told_once_without_a_terminal_and_not_where_quiet_is_asked_for(quiet, times):
    said = io.StringIO()
    with Progress("runs", Outlook(1, 0, 1, 10), Console(file=said, quiet=quiet)):
        for added in (1, 2):
            assert njit(lambda x, added=added: x + added)(1) == 1 + added
    njit(lambda x: x + 3)(1)
    assert said.getvalue().count("compiling, once") == times


def test_time_left_is_a_bound_at_first_and_then_a_mean():
    outlook = Outlook(total=9, done=1, side_by_side=2, budget=100)
    assert outlook.left(0.0) is None
    outlook.heard("a", 1, 0.5, 0.0)
    outlook.heard("b", 1, 0.5, 0.0)
    assert outlook.left(1.0) is None  # one generation tells nothing
    outlook.heard("a", 10, 0.9, 5.0)
    # a generation takes 0.5 s, a run at most 50 s; six wait, two have 45 s to go; two at a time
    assert outlook.left(5.0) == (pytest.approx((6 * 50 + 2 * 45) / 2), True)
    outlook.finished("a", 1.0, 8.0)
    assert outlook.left(10.0) == (pytest.approx((6 * 8 + 0.8) / 2), False)
    assert outlook.share == pytest.approx((1.0 + 0.5) / 2)


@pytest.mark.parametrize(("seconds", "words"), [(0.2, "1 s"), (89, "89 s"), (100, "2 min"), (6000, "1.7 h")])
def test_a_time_that_is_not_known_to_the_second(seconds, words):
    assert in_words(seconds) == words


def test_the_line_has_sixty_columns_on_a_terminal_and_says_the_three_things():
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=200)
    outlook = Outlook(total=120_000, done=100_000, side_by_side=2, budget=4000)
    with Progress("data sets", outlook, console) as progress:
        progress.heard("a", 1, 0.97)
        progress.finished("a", 0.97, 30.0)
    shown = [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", line) for line in re.split(r"[\r\n]", screen.getvalue())]
    assert max(map(len, shown)) <= 60
    assert any("data sets 100001 of 120000, 83.3 h left, 97 % at digits" in line for line in shown)


def test_without_a_terminal_a_line_a_minute_and_nothing_where_quiet(monkeypatch):
    monkeypatch.setattr(progress_module, "EVERY", 0.05)
    for quiet in (False, True):
        said = io.StringIO()
        with Progress("runs", Outlook(4, 0, 2, 10), Console(file=said, quiet=quiet)) as progress:
            progress.heard("a", 1, 0.97)
            progress.finished("a", 0.97, 4.0)
            time.sleep(0.3)
        lines = said.getvalue().splitlines()
        assert set(lines) == (set() if quiet else {"runs 1 of 4, 6 s left, 97 % of numbers at their digits"}), lines


def test_a_line_comes_before_anything_is_heard_with_the_time_that_was_foretold(monkeypatch):
    monkeypatch.setattr(progress_module, "EVERY", 0.2)
    said = io.StringIO()
    with Progress("runs", Outlook(4, 0, 2, 10), Console(file=said)) as progress:
        time.sleep(0.3)
        progress.expect(6000.0)
        time.sleep(0.2)
    assert list(dict.fromkeys(said.getvalue().splitlines())) == ["runs 0 of 4", "runs 0 of 4, 1.7 h left"]


def test_the_forecast_runs_down_until_runs_say_more():
    outlook = Outlook(total=2, done=0, side_by_side=1, budget=10, forecast=(100.0, 5.0))
    assert [outlook.left(now) for now in (5.0, 65.0, 500.0)] == [(100.0, False), (40.0, False), (10.0, False)]
    outlook.finished("a", 1.0, 30.0)
    assert outlook.left(500.0) == (30.0, False)


def test_in_a_notebook_one_line_that_changes_where_it_stands(monkeypatch):
    shown = []

    def display(data, raw, display_id):
        assert raw and display_id
        shown.append(data["text/plain"])
        return SimpleNamespace(update=lambda data, raw: shown.append(data["text/plain"]) if raw else None)

    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    for quiet in (False, True):
        console = Console(file=io.StringIO(), force_jupyter=True, quiet=quiet)
        with Progress("runs", Outlook(2, 0, 1, 10), console) as progress:
            progress.finished("a", 1.0, 2.0)
            progress.finished("b", 0.5, 2.0)
        with MetricProgress(console) as metrics:
            metrics.heard("NNAA", 0.257)
            metrics.heard("NNAA", 1.0)
    assert shown == [
        "runs 0 of 2",
        "runs 1 of 2, 2 s left, 100 % of numbers at their digits",
        "runs 2 of 2, 75 % of numbers at their digits",
        "NNAA: 25 %",
        "NNAA: 100 %",
    ]
