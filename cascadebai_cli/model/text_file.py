"""Reading a file that somebody has named: a device may never end, so that only so much is read."""

import errno
from pathlib import Path

MOST_BYTES = 100 * 2**20


def read_text(path: Path) -> str:
    """The text of a UTF-8 file or pipe; a byte order mark is left out.

    Raises:
        OSError: if it cannot be read, or has more than `MOST_BYTES`.
        UnicodeDecodeError: if it is not UTF-8.
        ValueError: if the name is none.
    """
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise OSError(errno.EFBIG, f"more than {MOST_BYTES >> 20} MB")
    return content.decode("utf-8-sig")
