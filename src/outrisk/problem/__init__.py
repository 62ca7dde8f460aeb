"""What released numbers ask of records: blocks of totals, and released numbers with their maps. No numba, no pandas."""
