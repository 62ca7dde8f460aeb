"""Certain claims: what holds in every data set that fits the released numbers, by linear and integer programmes."""
