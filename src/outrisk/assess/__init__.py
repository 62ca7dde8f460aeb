"""Studies: folds, runs, refits, risks and what they say together."""
