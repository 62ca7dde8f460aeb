"""Several tables under one coding."""
