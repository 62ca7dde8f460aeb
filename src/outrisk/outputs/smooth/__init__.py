"""Outputs that are smooth functions of totals: correlations, survival curves, functions of a study."""
