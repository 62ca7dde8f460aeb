"""Data sets that OutRisk draws itself, by name."""

from __future__ import annotations

import pandas as pd

from outrisk.datasets.sars import sars_codebook, sars_like

__all__ = ["DATASETS", "load", "sars_codebook", "sars_like"]

DATASETS = {"sars_like": sars_like}


def load(name: str, **options: int) -> pd.DataFrame:
    """Draw a data set by name; KeyError for an unknown one, TypeError for an unknown option."""
    return DATASETS[name](**options)
