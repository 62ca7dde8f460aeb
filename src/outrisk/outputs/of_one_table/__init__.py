"""What tells of the table that it was computed from: tests of counts, crude ratios, curves beside tables."""
