"""Marginal risk record by record: what synthetic data tell of people in the data, less what they tell of others."""
