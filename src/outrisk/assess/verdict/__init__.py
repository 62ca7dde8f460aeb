"""The verdict of a study: what is certain, what was measured beside the margin, and what could not be told."""
