"""Text that others have written, such as names of items, made fit for a terminal and for a table."""

import shlex
from pathlib import Path
from unicodedata import category

JOINERS = "\u200c\u200d"
"""Invisible signs that belong to words and pictures."""


def for_terminal(text: str) -> str:
    """Lines without what a terminal obeys: escape sequences and the like stand as `\\x1b`; line breaks stay."""
    return "".join(_visible(sign) if sign not in "\n\t" else sign for sign in text)


def for_table(text: str) -> str:
    """The same on one line, for a cell of a table."""
    return "".join(map(_visible, text))


def for_shell(path: Path) -> str:
    """A file in a command that is there to be pasted: in quotes if it has blanks, quotes and the like."""
    return shlex.quote(str(path))


def _visible(sign: str) -> str:
    plain = sign.isprintable() or sign in JOINERS or category(sign) == "Zs"
    return sign if plain else sign.encode("unicode_escape").decode("ascii")
