"""Numbers as text: for each kind of number one way to print it."""

from collections.abc import Sequence
from math import inf
from typing import Any

NO_NUMBER = "-"
"""Stands in a sentence or a column where every row should have a number and this one has none."""


def is_missing(value: Any) -> bool:
    """Whether there is no number: `None` or NaN."""
    return value is None or value != value


def count(value: float, decimals: int = 0) -> str:
    """A number, thousands apart, by default a whole one; an `int` of any size is exact."""
    return f"{value:,}" if isinstance(value, int) and not decimals else f"{value:,.{decimals}f}"


def exact(value: float) -> str:
    """A number as it stands in a file of somebody's own, thousands apart."""
    return f"{value:,.10g}"


def number(value: float) -> str:
    """Three digits, thousands apart from 1,000 on; a dash where there is none."""
    if is_missing(value):
        return NO_NUMBER
    return count(value) if 999.5 <= abs(value) < 1e15 else f"{value:.3g}"


def digits(value: float) -> str:
    """Three significant digits, zeros included, without a power of ten down to 0.001; a dash if unknown."""
    if is_missing(value):
        return NO_NUMBER
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:#.3g}"


def coefficient(value: float) -> str:
    """Two decimals, as the paper prints them; empty if unknown."""
    return "" if is_missing(value) else f"{value:.2f}" if abs(value) >= 0.1 or value == 0 else f"{value:.2g}"


def share(value: float) -> str:
    """Four decimals; empty if unknown."""
    return "" if is_missing(value) else f"{value:.4f}"


def exponent(value: float) -> str:
    """Three decimals, as for the slope on a log-log scale; a dash if unknown."""
    return NO_NUMBER if is_missing(value) else f"{value:.3f}"


def p_value(value: float) -> str:
    """Three digits; empty if unknown."""
    return "" if is_missing(value) else f"{value:.2e}"


def parameter(value: float) -> str:
    """A number that somebody has written, such as `delta`, as short as it is."""
    return f"{value:g}"


def unrounded(value: float) -> str:
    """A number that breaks a rule, with all its digits: rounded it could seem to keep it."""
    return short if float(short := f"{value:g}") == value else repr(float(value))


def change(value: float, decimals: int = 1) -> str:
    """A relative change in per cent, with its sign."""
    return f"{100 * value:+.{decimals}f} %"


def percent(value: float, decimals: int = 0) -> str:
    """A share in per cent; a dash where there is none."""
    return NO_NUMBER if is_missing(value) else f"{value:.{decimals}%}"


def precise_percent(chance: float) -> str:
    """A share in per cent, with more digits near 0 and 1, where they tell something: 62%, 95.2%, 99.93%."""
    rest = min(chance, 1 - chance)
    return percent(chance, 0 if rest >= 0.1 or rest <= 0 else 1 if rest >= 0.01 else 2)


def quantity(value: float) -> str:
    """A whole number from 10 on, else two digits."""
    return count(round(value)) if value >= 10 else f"{value:.2g}"


def spread_in_words(low: float, median: float, high: float) -> str:
    """The median, and 5 to 95 %, as whole numbers."""
    lowest, middle, highest = (count(round(x)) if abs(x) < inf else "no end" for x in (low, median, high))
    return f"{middle} ({lowest} to {highest})"


def difference(ours: float, theirs: float) -> str:
    """`ours` relative to `theirs` in per cent, with its sign; empty if there is nothing to compare with."""
    return "" if is_missing(theirs) or theirs == 0 else change(ours / theirs - 1)


def duration(seconds: float) -> str:
    """A time in the two largest units."""
    if seconds < 10:
        return f"{seconds:.2g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 1:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def listed(words: Sequence[str], last: str = "and") -> str:
    """`a, b and c`."""
    return f" {last} ".join(", ".join(words).rsplit(", ", 1))
