"""Classifiers trained on synthetic data."""
