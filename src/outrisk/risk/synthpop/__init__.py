"""The disclosure measures of R's synthpop."""
