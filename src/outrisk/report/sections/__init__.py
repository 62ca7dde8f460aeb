"""Sections of a study's report: one file a section, or a few that belong together."""
