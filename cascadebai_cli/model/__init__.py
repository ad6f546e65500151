"""The problem: instances and their families, and what a step reveals."""
