"""Writing results so that a reader never sees half a file."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from cascadebai_cli.errors import CascadeError

if TYPE_CHECKING:
    import pandas as pd


def write_bytes(path: Path, content: bytes) -> None:
    """Put `content` in `path` at once, or leave what was there.

    Raises:
        CascadeError: if the file cannot be written.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(content)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise CascadeError(
            f"{path} cannot be written ({error.strerror}); free some space or choose another place"
        ) from error


def write_table(path: Path, table: "pd.DataFrame") -> None:
    """Write `table` as CSV; ten digits are more than a fit has, and hide how a machine rounds."""
    write_bytes(path, table.to_csv(index=False, float_format="%.10g", lineterminator="\n").encode())
