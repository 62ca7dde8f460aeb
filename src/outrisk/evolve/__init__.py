"""The evolution: from released numbers and a codebook to synthetic data, without ever seeing a record."""
