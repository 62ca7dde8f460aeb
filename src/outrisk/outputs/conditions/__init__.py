"""Conditions on records: subsets of outputs set side by side, and plausibility rules."""
