"""What each of several outputs adds: the risk of subsets of them, evolved and compared person by person."""
