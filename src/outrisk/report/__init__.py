"""A run directory's files turned into a report for the output checker and a summary for the terminal."""
