"""Numbers, texts of others made fit for a terminal, and tables of texts in every format."""

import csv
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from math import floor, inf, isfinite, log10
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple
from unicodedata import category, combining, east_asian_width

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


def quantity(value: float) -> str:
    """Format a number as a whole one from 10 on, else with two digits."""
    return count(round(value)) if value >= 10 else f"{value:.2g}"


def spread_in_words(low: float, median: float, high: float) -> str:
    """Format a median, and 5 and 95 % quantiles, as whole numbers."""
    lowest, middle, highest = (count(round(x)) if abs(x) < inf else "no end" for x in (low, median, high))
    return f"{middle} ({lowest} to {highest})"


_PLUS_MINUS = " \N{PLUS-MINUS SIGN} "


def with_error(value: float, error: float) -> str:
    """Format a number and its error, the error with two digits and the number as exactly: `30,030 ± 370`."""
    if not (isfinite(value) and isfinite(error)) or abs(value) >= 1e15:
        return number(value)
    if error == 0:
        return f"{number(value)}{_PLUS_MINUS}0"
    decimals = 1 - floor(log10(error))
    return _PLUS_MINUS.join(count(round(x, decimals), max(0, decimals)) for x in (value, error))


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


def values_of(text: str) -> list[str]:
    """Return the values between commas; one that has a comma itself stands in double quotes."""
    return [value.strip() for value in next(csv.reader([text], skipinitialspace=True), [])]


def with_quotes(value: str) -> str:
    """Return a value as `values_of` reads it back."""
    return f'"{value}"' if "," in value else value


def spans(values: Sequence[int]) -> str:
    """Return whole numbers in short: `20 to 60`, `20 to 60 in steps of 10`, or a list."""
    ordered = sorted(values)
    steps = {b - a for a, b in pairwise(ordered)}
    if len(ordered) > 2 and len(steps) == 1:
        step = steps.pop()
        return f"{ordered[0]} to {ordered[-1]}" + (f" in steps of {step}" if step > 1 else "")
    return ", ".join(map(str, values))


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
    """Return a text of others, cut to a length that a sentence can quote."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def quoted(value: object) -> str:
    """Return a value as Python writes it, on one line and shortened; this works for any value."""
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
        "\N{PLUS-MINUS SIGN}": r"$\pm$",
        "\N{SUPERSCRIPT TWO}": r"\textsuperscript{2}",
    }
)
"""Character -> its LaTeX."""

_MARKDOWN = re.compile(r"[`*\[<&|~]|\\(?=[!-/:-@\[-`{-~])|(?<!\w)_|_(?!\w)")
"""Signs that Markdown takes for more than themselves."""


class Head(NamedTuple):
    """The heading of a column.

    Attributes:
        words: whether it holds words, which are set flush left, or numbers.
        over: what stands above several columns beside each other.
    """

    heading: str
    words: bool = False
    over: str = ""

    @property
    def line(self) -> str:
        """Both headings on one line."""
        return ": ".join(filter(None, [self.over, self.heading]))


@dataclass(frozen=True)
class Table:
    """Texts in rows and columns; `str` of it is the format `text`.

    Args:
        above: a line above the table, empty for none.
        marked: row and column of each text that stands out: bold, or with a star.
        caption: text under which a paper shows it, empty for none; LaTeX reads it as it is.
        label: name by which LaTeX refers to it.
    """

    columns: Sequence[Head]
    rows: Sequence[Sequence[str]]
    above: str = field(default="", kw_only=True)
    marked: Collection[tuple[int, int]] = field(default=(), kw_only=True)
    caption: str = field(default="", kw_only=True)
    label: str = field(default="", kw_only=True)

    @property
    def header(self) -> list[str]:
        """The headings."""
        return [column.line for column in self.columns]

    @classmethod
    def of(cls, header: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> "Table":
        """Return a table whose first `words` columns hold words, the others numbers."""
        return cls([Head(heading, i < words) for i, heading in enumerate(header)], rows)

    def noted(self, note: str) -> "Table":
        """Return the table with a note added to the line above it."""
        return replace(self, above=f"{self.above}; {note}" if self.above else note)

    @property
    def wider_than_a_page(self) -> bool:
        """Whether the table is too wide in LaTeX, even across both columns and in small letters."""
        return _latex_width(self, small=True) > _ROOM["table*"]

    @property
    def _cleaned(self) -> list[list[str]]:
        """The headings and the rows, each text fit for a cell."""
        return [[for_table(text) for text in row] for row in [self.header, *self.rows]]

    @property
    def _said_above(self) -> list[str]:
        return [for_table(text) for text in (self.caption, self.above) if text]

    def __str__(self) -> str:
        """Format the table as aligned columns with a rule under the header; a star is behind what is marked."""
        starred = {column for _, column in self.marked}
        lines = [
            [f"{text}{'*' if (row, i) in self.marked else ' ' * (i in starred)}" for i, text in enumerate(line)]
            for row, line in enumerate(self._cleaned, -1)
        ]
        widths = [max(map(_places, texts)) for texts in zip(*lines, strict=True)]
        lines.insert(1, ["-" * width for width in widths])
        return "\n".join([*self._said_above, *(_aligned(line, self.columns, widths) for line in lines)])

    def markdown(self, *, special: re.Pattern[str] = _MARKDOWN) -> str:
        """Format the table as Markdown, in which tags, images, bars and backticks of names are escaped.

        Args:
            special: what is escaped; only bars if the cells are Markdown already.
        """
        rule = ["---" if column.words else "---:" for column in self.columns]
        header, *rows = ([special.sub(r"\\\g<0>", text) for text in row] for row in self._cleaned)
        for row, column in self.marked:
            rows[row][column] = f"**{rows[row][column]}**"
        above = [line for text in self._said_above for line in (special.sub(r"\\\g<0>", text), "")]
        return "\n".join([*above, *(f"| {' | '.join(line)} |" for line in [header, rule, *rows])])

    def latex(self) -> str:
        """Format the table as a `tabular` with the rules of `booktabs`, in which special characters are escaped.

        A column with errors is an S column of `siunitx`. A table with a caption or a label is a `table` with both; one
        that is too wide for a column is set smaller, or as a `table*` across both columns.
        """
        _, *rows = self._cleaned
        measured = [any(_WITH_ERROR.fullmatch(row[i]) for row in rows) for i in range(len(self.columns))]
        kinds = "".join(
            _siunitx([row[i] for row in rows]) if measured[i] else "l" if column.words else "r"
            for i, column in enumerate(self.columns)
        )
        lines = [
            [_latex_cell(text, measured[i], (row, i) in self.marked) for i, text in enumerate(line)]
            for row, line in enumerate(rows)
        ]
        body = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", *_latex_header(self, measured), r"\midrule"]
        body += [*map(_latex_line, lines), r"\bottomrule", r"\end{tabular}"]
        return "\n".join([*([_PREAMBLE] if any(measured) else []), *_latex_around(self, body)])


def _aligned(line: Sequence[str], columns: Sequence[Head], widths: Sequence[int]) -> str:
    blanks = [" " * (width - _places(text)) for text, width in zip(line, widths, strict=True)]
    placed = [
        text + blank if column.words else blank + text
        for text, column, blank in zip(line, columns, blanks, strict=True)
    ]
    return "  ".join(placed).rstrip()


def _places(text: str) -> int:
    """Return how many places of a terminal a text takes: two for a wide sign, none for an accent on the one before."""
    return sum(0 if combining(sign) else 2 if east_asian_width(sign) in "WF" else 1 for sign in text)


# --- LaTeX: a `tabular` with the rules of booktabs; numbers with errors are columns of siunitx -----------------------

_PREAMBLE = r"% \usepackage{booktabs, siunitx} and \sisetup{detect-weight, mode=text} belong in the preamble"
_NUMBER = r"[0-9][0-9,]*(?:\.[0-9]+)?"
_WITH_ERROR = re.compile(f"(-?{_NUMBER}){_PLUS_MINUS}({_NUMBER})")

_LETTER = 5.3
"""Width of a letter or digit in points."""
_SMALL = r"\small\setlength{\tabcolsep}{3pt}"
_ROOM = MappingProxyType({"table": 229.0, "table*": 469.0})
"""Points that a table has in a column, and across both columns, of an article with margins of an inch."""
_LATEX_SIZES = (("table", False), ("table", True), ("table*", False), ("table*", True))
"""Environments, and whether letters are small, the best first."""
_TOO_WIDE = _LATEX_SIZES[-1]


def _latex_around(table: Table, body: Sequence[str]) -> list[str]:
    """Return a `tabular` with what stands above it, or inside a `table` if there is a caption or a label."""
    above = _in_latex(for_table(table.above))
    if not (table.caption or table.label):
        return [*([rf"{above}\par\medskip"] if above else []), *body]
    said = " ".join(filter(None, [_sentence(table.caption), above and f"{above}."]))
    label = [rf"\label{{{table.label}}}"] if table.label else []
    around, small = next((one for one in _LATEX_SIZES if _latex_width(table, small=one[1]) <= _ROOM[one[0]]), _TOO_WIDE)
    size = [_SMALL] if small else []
    return [rf"\begin{{{around}}}", r"\centering", rf"\caption{{{said}}}", *label, *size, *body, rf"\end{{{around}}}"]


def _sentence(text: str) -> str:
    """End a text with a full stop if another sentence may follow it."""
    return f"{text}." if text and text[-1] not in ".!?:" else text


def _latex_width(table: Table, *, small: bool) -> float:
    """Return about how many points wide a table is, at 10 points or small with narrow gaps."""
    columns = zip(*([column.heading for column in table.columns], *table.rows), strict=True)
    widths = [max(map(len, texts)) for texts in columns]
    groups = groupby(zip(table.columns, widths, strict=True), lambda found: found[0].over)
    letters = sum(max(len(over), sum(width for _, width in found)) for over, found in groups)
    return (0.9 * _LETTER * letters + 6 * len(widths)) if small else (_LETTER * letters + 12 * len(widths))


def _latex_header(table: Table, measured: Sequence[bool]) -> Iterator[str]:
    """Yield one line of headings, or two if some stand above several columns."""
    if any(column.over for column in table.columns):
        groups = [(over, len(list(found))) for over, found in groupby(table.columns, lambda column: column.over)]
        yield _latex_line(rf"\multicolumn{{{n}}}{{c}}{{{_in_latex(for_table(over))}}}" for over, n in groups)
    heads = [_in_latex(for_table(column.heading)) for column in table.columns]
    yield _latex_line(f"{{{head}}}" if measured[i] else head for i, head in enumerate(heads))


def _latex_line(cells: Iterable[str]) -> str:
    return rf"{' & '.join(cells)} \\"


def _siunitx(texts: Sequence[str]) -> str:
    """Return the S column for some texts: how many digits are in front of the point, behind it, and in the errors."""
    found = [number for number in map(_WITH_ERROR.fullmatch, texts) if number]
    parts = [(*number[1].replace(",", "").partition(".")[::2], _digits_only(number[2])) for number in found]
    whole, behind, errors = (max(map(len, column)) for column in zip(*parts, strict=True))
    return f"S[table-format={whole}.{behind}({errors})]"


def _digits_only(error: str) -> str:
    return re.sub("[.,]", "", error).lstrip("0") or "0"


def _latex_cell(text: str, measured: bool, bold: bool) -> str:
    if found := measured and _WITH_ERROR.fullmatch(text):
        number = f"{found[1].replace(',', '')}({_digits_only(found[2])})"
        return rf"\bfseries {number}" if bold else number
    shown = rf"\textbf{{{_in_latex(text)}}}" if bold else _in_latex(text)
    return f"{{{shown}}}" if measured else shown


def _in_latex(text: str) -> str:
    signs = "".join(_LATEX.get(sign, sign) for sign in re.sub(r"^-(?=[0-9.])", "\N{MINUS SIGN}", text))
    return re.sub(r"\\textasciicircum\{\}([0-9.]+)", r"\\textsuperscript{\1}", signs)


FormatName = Literal["text", "markdown", "latex", "csv", "json"]
"""How tables are printed."""
FORMATS: Mapping[str, Callable[[Table], str]] = MappingProxyType(
    {"text": str, "markdown": Table.markdown, "latex": Table.latex}
)
"""Name of a format -> how to print a table in it; the others hold all digits."""
