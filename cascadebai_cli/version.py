"""The version of the program, for rooms that must not look up to the names that it offers."""

__version__ = "1.1.0"
