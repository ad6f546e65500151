"""Writing what a user asked for, so that a reader never sees half a file."""

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

from cascadebai_cli.errors import CascadeError
from cascadebai_cli.store.files import replace_file

if TYPE_CHECKING:
    import pandas as pd


def write_bytes(path: Path, content: bytes, *, through: bool = True) -> None:
    """Put `content` in `path` at once, or leave what was there.

    Args:
        path: where.
        content: what.
        through: whether a device or a pipe, which a user has named, is written to; else it is replaced.

    Raises:
        CascadeError: if the file cannot be written.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        _make_parent(path)
        if through and path.exists() and not path.is_file():
            path.write_bytes(content)
        else:
            replace_file(path, [content])
    except OSError as error:
        raise CascadeError(f"{path} cannot be written ({error.strerror}); {_remedy(error)}") from error


def _make_parent(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, f"{path.parent} is not a directory") from None


def _remedy(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", None)):
        return "free some space or choose another place"
    if error.errno == errno.EPIPE:
        return "who was to read it has ended; choose another place"
    return "choose another place"


def write_table(path: Path, table: "pd.DataFrame", *, through: bool = True) -> None:
    """Write `table` as CSV; arguments as for `write_bytes`.

    Raises:
        CascadeError: if the file cannot be written.
    """
    write_bytes(path, table_bytes(table), through=through)


def table_bytes(table: "pd.DataFrame") -> bytes:
    """`table` as CSV; ten digits are more than a fit has, and hide how a machine rounds."""
    return table.to_csv(index=False, float_format="%.10g", lineterminator="\n").encode()
