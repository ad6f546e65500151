"""The numbers that span a grid, the one list of their names; it imports nothing, so that help can be made of it."""

AXES = ("L", "K", "delta", "epsilon")
"""Numbers that span every grid, the last one varying fastest; the key of each in `Study` has its default."""
ALL_AXES = (*AXES, "budget")
"""All that may, in the same order."""
GRID = ("instance", "learner", *ALL_AXES)
"""Columns that span the grid of a study."""
K_FIRST = tuple(sorted(AXES, key=lambda name: name != "K"))
"""Those of them that a figure tries for its x, in this order."""
