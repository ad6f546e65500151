"""Summaries, scaling fits and tables."""
