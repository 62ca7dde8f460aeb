"""What an intruder with a register of everybody's keys guesses rightly, beside people who are not in the data."""
