"""What `outrisk measure` shows: sections of tables on any original and synthetic data."""
