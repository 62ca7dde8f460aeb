"""Tables and summaries by group: counts, shares, means, quantiles, modes, histograms, and their protection."""
