"""Regressions: formula and design, fit, released numbers, totals and their map."""
