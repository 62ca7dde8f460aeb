"""Intervals of measures and of their differences."""
