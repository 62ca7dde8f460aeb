"""What other programs made, as entries of a study: fitted models and cross tables, each checked against the records."""
