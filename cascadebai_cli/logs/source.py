"""The text of a file of any origin: compressed or not, in the encodings that spreadsheets write."""

import gzip
import io
import sys
import zlib
from pathlib import Path
from typing import BinaryIO

from cascadebai_cli.errors import ConfigError

STDIN = Path("-")
MOST_BYTES = 100 * 2**20
GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def shown(path: Path) -> str:
    """How messages call a file."""
    return "stdin" if path == STDIN else str(path)


def file_name(path: Path) -> str:
    """Name of a file without its folder."""
    return "stdin" if path == STDIN else path.name


def text_of(path: Path) -> tuple[str, list[str]]:
    """The text of a file, `-` being what comes through a pipe, and what was noticed about it.

    Raises:
        ConfigError: if it is no text, larger than 100 MB, or cannot be read.
    """
    name = shown(path)
    try:
        content = _content(path)
    except ConfigError:
        raise
    except (OSError, EOFError, zlib.error, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{name} cannot be read ({reason}); name a CSV file") from None
    if len(content) > MOST_BYTES:
        raise ConfigError(f"{name} has more than {MOST_BYTES >> 20} MB; keep the columns needed, or sum its rows")
    if content.startswith(ZIP):
        raise ConfigError(f"{name} is a spreadsheet or an archive; save the sheet as CSV")
    return _decoded(content, name)


def _content(path: Path) -> bytes:
    if path == STDIN:
        if sys.stdin is None:
            raise ConfigError("- is stdin, which is closed; name a CSV file")
        return _plain(sys.stdin.buffer)
    if not path.is_file():
        raise ConfigError(f"{path} is not a file; name a CSV file, or - for what comes through a pipe")
    with path.open("rb") as file:
        return _plain(file)


def _plain(file: BinaryIO) -> bytes:
    """What the file holds, not compressed, but one byte more than allowed at most."""
    content = file.read(MOST_BYTES + 1)
    if not content.startswith(GZIP):
        return content
    with gzip.open(io.BytesIO(content)) as packed:
        return packed.read(MOST_BYTES + 1)


def _decoded(content: bytes, name: str) -> tuple[str, list[str]]:
    encoding = "utf-16" if content.startswith(UTF_16) else "utf-8-sig"
    try:
        return content.decode(encoding), []
    except UnicodeDecodeError:
        pass
    if b"\0" in content:
        raise ConfigError(f"{name} is not text; save it as CSV in UTF-8")
    note = f"{name} is not UTF-8 text and is read as Windows-1252; save it in UTF-8 if names look wrong"
    return content.decode("cp1252", errors="replace"), [note]
