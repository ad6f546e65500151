"""Values of Python as YAML would give them, so that a study may be written with arrays, fractions and paths."""

import os
from collections.abc import Mapping
from decimal import Decimal
from numbers import Integral, Real
from typing import Any


def plain(value: Any) -> Any:
    """Numbers of Python's own, lists, and mappings with keys of text; anything else as it is.

    What has `tolist`, as arrays and columns of tables have, is a list, or a number if it is one.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if hasattr(value, "tolist") and not isinstance(value, type):
        value = value.tolist()
    if isinstance(value, list | tuple | range):
        return [plain(part) for part in value]
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real | Decimal):
        return float(value)
    return os.fspath(value) if isinstance(value, os.PathLike) else value
