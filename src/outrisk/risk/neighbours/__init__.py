"""Exact nearest neighbours in blocks of bounded memory."""
