"""Best guesses: how likely each value of each person is among the data sets that fit the released numbers."""
