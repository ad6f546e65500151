"""Best arm identification for cascading bandits: exact simulation, fits and figures."""

__version__ = "0.1.0"
