"""The algorithms, each readable beside its pseudocode."""
