"""Errors that a user meets: one plain sentence that names the value and the remedy."""

INTERRUPTED = 130
"""Exit code after Ctrl-C."""


class CascadeError(Exception):
    """Something went wrong that the user can act on; the CLI prints the message and exits with `exit_code`."""

    exit_code = 1


class ConfigError(CascadeError):
    """A config, an argument or an input file is not usable; nothing was run or written."""

    exit_code = 2
