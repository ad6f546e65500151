"""The remedy for a word that is not known: the nearest one that is, or all of them."""

from collections.abc import Iterable
from difflib import get_close_matches


def suggest(word: str, valid: Iterable[str]) -> str:
    """`did you mean X?` if a valid word is near, else `use one of A, B`; capitals do not count."""
    words = {name.lower(): name for name in valid}
    near = get_close_matches(word.lower(), words, n=1, cutoff=0.55)
    return f"did you mean {words[near[0]]}?" if near else f"use one of {', '.join(words.values())}"
