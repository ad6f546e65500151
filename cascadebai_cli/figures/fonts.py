"""Letters that the font of the figures lacks: taken from an installed font that has them, where there is one."""

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font
from matplotlib.text import Text

MOST_LETTERS = 10
"""Letters that a warning names."""
PLACEHOLDERS = ("Last Resort",)
"""Fonts that have a box for every letter."""


@lru_cache(maxsize=1024)
def _letters(path: str) -> frozenset[int]:
    return frozenset(get_font(path).get_charmap())


@lru_cache(maxsize=1024)
def _families(letters: frozenset[int]) -> tuple[str, ...]:
    """Installed fonts that together have as many of the letters as possible; the one with most of them first."""
    if not letters:
        return ()
    upright = [
        font for font in fontManager.ttflist if font.style == "normal" and not font.name.startswith(PLACEHOLDERS)
    ]
    found = {font.name: letters & _letters(font.fname) for font in sorted(upright, key=lambda font: font.name)}
    best = max(found, key=lambda name: len(found[name]))
    return (best, *_families(letters - found[best])) if found[best] else ()


def set_fonts(figure: Figure) -> str:
    """Give each text of a figure the fonts that its letters need.

    Returns:
        letters that no installed font has, each once: they are drawn as boxes.
    """
    lacking: dict[str, None] = {}
    for text in figure.findobj(Text):
        if isinstance(text, Text) and (letters := _uncovered(text)):
            families = _families(letters)
            own = text.get_fontfamily()
            # in a text with formulas only the first font counts for what is not formula
            text.set_fontfamily([*families, *own] if "$" in text.get_text() else [*own, *families])
            lacking |= dict.fromkeys(chr(letter) for letter in sorted(letters) if not _has(families, letter))
    return "".join(lacking)


def warn_of_letters(pages: Sequence[Figure], name: str, warn: Callable[[str], None]) -> None:
    """Warn of the letters of a figure that no installed font has."""
    if letters := "".join(dict.fromkeys("".join(map(set_fonts, pages)))):
        shown = letters[:MOST_LETTERS] + ("..." if len(letters) > MOST_LETTERS else "")
        warn(
            f"warning: {name}: no installed font has {shown}, so that boxes stand there; install a font for this "
            "script, such as one of Noto"
        )


def _uncovered(text: Text) -> frozenset[int]:
    letters = frozenset(ord(letter) for letter in text.get_text() if letter.isprintable())
    if max(letters, default=0) < 256:
        return frozenset()
    return letters - _letters(findfont(FontProperties(family=text.get_fontfamily()[0])))


def _has(families: tuple[str, ...], letter: int) -> bool:
    return any(letter in _letters(findfont(FontProperties(family=family))) for family in families)


@contextmanager
def no_warnings_of_glyphs() -> Iterator[None]:
    """What `set_fonts` has said once is not said again for each letter and each time that it is drawn."""
    logger = logging.getLogger("matplotlib.mathtext")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            warnings.filterwarnings("ignore", message="Matplotlib currently does not support .* natively")
            yield
    finally:
        logger.setLevel(level)
