"""Numbers as text: for each kind of number one way to print it."""

from collections.abc import Sequence
from math import inf
from typing import Any

NO_NUMBER = "-"
"""Sign for a missing number, in a sentence or a column in which all others are known."""


def is_missing(value: Any) -> bool:
    """Return whether a value is no number: `None` or NaN."""
    return value is None or value != value


def count(value: float, decimals: int = 0) -> str:
    """Format a number with commas between thousands, by default as a whole one; an `int` of any size is exact."""
    return f"{value:,}" if isinstance(value, int) and not decimals else f"{value:,.{decimals}f}"


def exact(value: float) -> str:
    """Format a number as in the user's file, with commas between thousands."""
    return f"{value:,.10g}"


def number(value: float) -> str:
    """Format a number with three digits, from 1,000 on as a whole number with commas; a dash if there is none."""
    if is_missing(value):
        return NO_NUMBER
    return count(value) if 999.5 <= abs(value) < 1e15 else f"{value:.3g}"


def digits(value: float) -> str:
    """Format with three significant digits, zeros included, without a power of ten down to 0.001; a dash if unknown."""
    if is_missing(value):
        return NO_NUMBER
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:#.3g}"


def coefficient(value: float) -> str:
    """Format with two decimals, as the paper does; empty if unknown."""
    return "" if is_missing(value) else f"{value:.2f}" if abs(value) >= 0.1 or value == 0 else f"{value:.2g}"


def share(value: float) -> str:
    """Format with four decimals; empty if unknown."""
    return "" if is_missing(value) else f"{value:.4f}"


def exponent(value: float) -> str:
    """Format with three decimals, as for a slope on a log-log scale; a dash if unknown."""
    return NO_NUMBER if is_missing(value) else f"{value:.3f}"


def p_value(value: float) -> str:
    """Format with three digits and a power of ten; empty if unknown."""
    return "" if is_missing(value) else f"{value:.2e}"


def parameter(value: float) -> str:
    """Format a number that a user has written, such as `delta`, as briefly as it was written."""
    return f"{value:g}"


def unrounded(value: float) -> str:
    """Format a number that breaks a rule, with all its digits, since rounded it might seem to keep the rule."""
    return short if float(short := f"{value:g}") == value else repr(float(value))


def change(value: float, decimals: int = 1) -> str:
    """Format a relative change in per cent, with its sign."""
    return f"{100 * value:+.{decimals}f} %"


def percent(value: float, decimals: int = 0) -> str:
    """Format a share in per cent; a dash if there is none."""
    return NO_NUMBER if is_missing(value) else f"{value:.{decimals}%}"


def precise_percent(chance: float) -> str:
    """Format a share in per cent, with more digits near 0 and 1: 62%, 95.2%, 99.93%."""
    rest = min(chance, 1 - chance)
    return percent(chance, 0 if rest >= 0.1 or rest <= 0 else 1 if rest >= 0.01 else 2)


def quantity(value: float) -> str:
    """Format a number as a whole one from 10 on, else with two digits."""
    return count(round(value)) if value >= 10 else f"{value:.2g}"


def spread_in_words(low: float, median: float, high: float) -> str:
    """Format a median, and 5 and 95 % quantiles, as whole numbers."""
    lowest, middle, highest = (count(round(x)) if abs(x) < inf else "no end" for x in (low, median, high))
    return f"{middle} ({lowest} to {highest})"


def difference(ours: float, theirs: float) -> str:
    """Format `ours` relative to `theirs` in per cent, with its sign; empty if there is nothing to compare with."""
    return "" if is_missing(theirs) or theirs == 0 else change(ours / theirs - 1)


def duration(seconds: float) -> str:
    """Format a time in its two largest units."""
    if seconds < 10:
        return f"{seconds:.2g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 1:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def listed(words: Sequence[str], last: str = "and") -> str:
    """Join words as in `a, b and c`."""
    return f" {last} ".join(", ".join(words).rsplit(", ", 1))
