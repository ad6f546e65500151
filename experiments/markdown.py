"""Tables in Markdown, and what stands for a number that is not there yet."""

from collections.abc import Sequence

NOT_YET = "not run yet"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], numbers: int = 0) -> str:
    """A table; the last `numbers` columns are flush right."""
    rule = ["---"] * (len(header) - numbers) + ["---:"] * numbers
    lines = [header, rule, *([escaped(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escaped(text: str) -> str:
    """Text of a cell, in which a bar is a bar."""
    return text.replace("|", "\\|")


def plain(text: str) -> str:
    """Text in which a star is a star."""
    return text.replace("*", "\\*")
