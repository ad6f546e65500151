"""Configs, grids, seeds, the runner and the result store."""
