"""Files of the pages of a figure: `figure.png`, `figure-2.png`, ..."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

from cascadebai_cli.figures.style import page_mark

METADATA = 65_536
"""Bytes at the beginning of a file that hold its metadata."""


def page_files(file: Path) -> Iterator[Path]:
    """Names of the pages of a figure, without an end."""
    yield file
    for number in count(2):
        yield _page_file(file, number)


def remove_later_pages(file: Path, pages: int) -> list[Path]:
    """Remove what an earlier figure of the same name left behind its first pages, and nothing that is not one of it.

    Args:
        file: the first page.
        pages: number of those that the figure has now.

    Returns:
        the files that are gone.
    """
    gone: list[Path] = []
    for number in count(pages + 1):
        later = _page_file(file, number)
        if not _is_page(later, number):
            return gone
        later.unlink()
        gone.append(later)
    return gone


def _page_file(file: Path, number: int) -> Path:
    return file.with_stem(f"{file.stem}-{number}")


def _is_page(path: Path, number: int) -> bool:
    """Whether a file says of itself that it is that page of a figure of this program."""
    if not path.is_file() or path.is_symlink():
        return False
    with path.open("rb") as file:
        found = file.read(METADATA)
    start = found.find(b"rows_sha256=")
    return start >= 0 and page_mark(number).encode() in found[start:]
