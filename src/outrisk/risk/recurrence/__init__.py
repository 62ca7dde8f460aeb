"""Records that recur from one synthesis to the next, and whether they are those of people in the data."""
