"""Kernels compiled by numba, and the flat layout of a problem that they read."""
