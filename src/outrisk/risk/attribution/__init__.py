"""Correct attribution (CAP) and its family."""
