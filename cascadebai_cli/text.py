"""Numbers, texts of others made fit for a terminal, and tables of texts in every format."""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple
from unicodedata import category

# --- Numbers: for each kind one way to print it ---------------------------------------------------------------------


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


_SMALL_SHARE = 0.001
"""A share of which four decimals would show one digit or none."""


def share(value: float) -> str:
    """Format with four decimals, below 0.001 with three digits and a power of ten; empty if unknown."""
    if is_missing(value):
        return ""
    return f"{value:.2e}" if 0 < value < _SMALL_SHARE else f"{value:.4f}"


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


# --- Text that others have written, such as names of items, is made safe for a terminal and a table -----------------


_JOINERS = "\u200c\u200d"
"""Invisible characters that are part of words and emoji."""


def for_terminal(text: str) -> str:
    """Write what a terminal would obey, such as escape sequences, as `\\x1b` and the like; keep line breaks."""
    return "".join(_visible(sign) if sign not in "\n\t" else sign for sign in text)


def for_table(text: str) -> str:
    """Replace line breaks and tabs as well, for a cell of a table."""
    return "".join(map(_visible, text))


def for_shell(path: Path) -> str:
    """Quote a path for a command that is to be pasted, if it has blanks, quotes and the like."""
    return shlex.quote(str(path))


def _visible(sign: str) -> str:
    plain = sign.isprintable() or sign in _JOINERS or category(sign) == "Zs"
    return sign if plain else sign.encode("unicode_escape").decode("ascii")


def shortened(text: str, most: int = 60) -> str:
    """A text of others, as long as a sentence can quote it."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def quoted(value: object) -> str:
    """A value of Python as it is written there, on one line and shortened, whatever it is."""
    try:
        return for_table(shortened(repr(value)))
    except (ValueError, RecursionError):  # a number of thousands of digits
        return f"of type {type(value).__name__} and too long to print"


def value_text(value: Any) -> str:
    """Format a name or a number of the grid; a dash if there is none."""
    if isinstance(value, str):
        return value
    return NO_NUMBER if is_missing(value) else parameter(value)


# --- A table of texts, and the formats in which it can be printed ---------------------------------------------------


_LATEX = MappingProxyType(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\\": r"\textbackslash{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "[": "{[}",
        "*": "{*}",
        "\N{MINUS SIGN}": "$-$",
        "\N{SUPERSCRIPT TWO}": r"\textsuperscript{2}",
    }
)
"""Character -> its LaTeX."""


_MARKDOWN = re.compile(r"[`*\[<&|~]|\\(?=[!-/:-@\[-`{-~])|(?<!\w)_|_(?!\w)")
"""Signs that Markdown takes for more than themselves."""


class Head(NamedTuple):
    """The heading of a column, and whether the column holds words (flush left) or numbers (flush right)."""

    heading: str
    words: bool = False


@dataclass(frozen=True)
class Table:
    """Texts in rows and columns; `str` of it is the format `text`.

    Args:
        columns: headings of one or more columns.
        rows: rows with one text per column.
        above: a line above the table, empty for none.
    """

    columns: Sequence[Head]
    rows: Sequence[Sequence[str]]
    above: str = field(default="", kw_only=True)

    @property
    def header(self) -> list[str]:
        """The headings."""
        return [column.heading for column in self.columns]

    def __str__(self) -> str:
        return as_text(self)


def table_of(header: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> Table:
    """Return a table whose first `words` columns hold words, the others numbers."""
    return Table([Head(heading, i < words) for i, heading in enumerate(header)], rows)


def noted(table: Table, note: str) -> Table:
    """Return the table with a note added to the line above it."""
    return replace(table, above=f"{table.above}; {note}" if table.above else note)


def as_text(table: Table) -> str:
    """Format a table as aligned columns with a rule under the header."""
    rows = _cleaned(table)
    widths = [max(map(len, texts)) for texts in zip(table.header, *rows, strict=True)]
    lines = [table.header, ["-" * width for width in widths], *rows]
    above = [for_table(table.above)] if table.above else []
    return "\n".join([*above, *(_aligned(line, table.columns, widths) for line in lines)])


def _cleaned(table: Table) -> list[list[str]]:
    return [[for_table(text) for text in row] for row in table.rows]


def _aligned(line: Sequence[str], columns: Sequence[Head], widths: Sequence[int]) -> str:
    placed = [
        text.ljust(width) if column.words else text.rjust(width)
        for text, column, width in zip(line, columns, widths, strict=True)
    ]
    return "  ".join(placed).rstrip()


def as_markdown(table: Table, *, special: re.Pattern[str] = _MARKDOWN) -> str:
    """Format a table as Markdown, in which tags, images, bars and backticks of names are escaped.

    Args:
        table: a table.
        special: what is escaped; only bars if the cells are Markdown already.
    """
    rule = ["---" if column.words else "---:" for column in table.columns]
    header, *rows = ([special.sub(r"\\\g<0>", text) for text in row] for row in [table.header, *_cleaned(table)])
    lines = [header, rule, *rows]
    above = [special.sub(r"\\\g<0>", for_table(table.above)), ""] if table.above else []
    return "\n".join([*above, *(f"| {' | '.join(line)} |" for line in lines)])


def as_latex(table: Table) -> str:
    """Format a table as a `tabular` with the rules of `booktabs`, in which special characters are escaped."""
    kinds = "".join("l" if column.words else "r" for column in table.columns)
    header, *rows = [rf"{' & '.join(map(_in_latex, line))} \\" for line in [table.header, *_cleaned(table)]]
    above = [rf"{_in_latex(for_table(table.above))}\par\medskip"] if table.above else []
    begin = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", header, r"\midrule"]
    return "\n".join([*above, *begin, *rows, r"\bottomrule", r"\end{tabular}"])


def _in_latex(text: str) -> str:
    signs = "".join(_LATEX.get(sign, sign) for sign in re.sub(r"^-(?=[0-9.])", "\N{MINUS SIGN}", text))
    return re.sub(r"\\textasciicircum\{\}([0-9.]+)", r"\\textsuperscript{\1}", signs)


FormatName = Literal["text", "markdown", "latex", "csv", "json"]
"""How tables are printed."""
FORMATS: Mapping[str, Callable[[Table], str]] = MappingProxyType(
    {"text": as_text, "markdown": as_markdown, "latex": as_latex}
)
"""Name of a format -> how to print a table in it; the others hold all digits."""
