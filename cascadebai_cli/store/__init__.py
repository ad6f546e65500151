"""A result directory: every file, read and written, by one writer."""
