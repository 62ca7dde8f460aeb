"""Teaching data: synthetic records from a codebook and released numbers alone, and what they do and do not hold."""
