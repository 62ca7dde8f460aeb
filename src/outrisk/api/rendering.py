"""Render the page of a run directory, or of teaching data, and sum it up on a terminal."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from threading import Thread

from rich.console import Console

from outrisk.report.comparison import compare as compare_directories
from outrisk.report.pages.study_page import render
from outrisk.report.pages.teaching_page import is_teaching, render_teaching, teaching_summary
from outrisk.report.terminal import summary


def import_meanwhile() -> None:
    """Import what figures are drawn with in a thread, while runs go on: it takes half a second."""
    Thread(target=import_module, args=("outrisk.report.figures.study_figures",)).start()


def render_page(place: Path) -> Path:
    """Render the page of a directory from its files; returns its path."""
    return render_teaching(place) if is_teaching(place) else render(place)


def show(place: Path, console: Console) -> None:
    """Print the summary of a directory."""
    (teaching_summary if is_teaching(place) else summary)(place, console)


def compare(one: Path, other: Path, console: Console) -> None:
    """Print two run directories side by side."""
    compare_directories(one, other, console)
