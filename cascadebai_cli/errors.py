"""Errors for users: each is one plain sentence that names the value and the remedy."""

import errno
import os
import re
from collections.abc import Iterable

INTERRUPTED = 130
"""Exit code after Ctrl-C."""

_MOST_SIGNS = 300
"""Longest word of a message; longer ones, which are no paths that anybody types, are cut."""


class CascadeError(Exception):
    """Something went wrong that the user can act on; the CLI prints the message and exits with `exit_code`."""

    exit_code = 1

    def __init__(self, text: str = "", *more: object) -> None:
        super().__init__(re.sub(rf"\S{{{_MOST_SIGNS},}}", lambda word: f"{word[0][:57]}...", text), *more)


class ConfigError(CascadeError, ValueError):
    """A config, an argument or an input file is not usable; nothing was run or written.

    As it is a `ValueError` too, code that catches those for other reasons must let this one pass.
    """

    exit_code = 2


def of_removed_folder(error: OSError | None = None) -> ConfigError | None:
    """Return the error to raise if the working directory is gone, from which a missing file was named; else `None`."""
    if error and error.filename is not None and (error.errno != errno.ENOENT or os.path.isabs(error.filename)):
        return None
    try:
        os.getcwd()
    except FileNotFoundError:
        return ConfigError("the working directory has been removed; change to one that is there")
    return None


def suggest(word: str, valid: Iterable[str]) -> str:
    """Return the remedy for a word that is not known.

    It is `did you mean X?` if a valid word is near, else `use one of A, B`; capitals do not count.
    """
    from difflib import get_close_matches

    words = {name.lower(): name for name in valid}
    near = get_close_matches(word.lower(), words, n=1, cutoff=0.55)
    return f"did you mean {words[near[0]]}?" if near else f"use one of {', '.join(words.values())}"
