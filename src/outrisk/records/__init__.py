"""Run directories: what stands in each file, how it is written whole, and how it is read back."""
