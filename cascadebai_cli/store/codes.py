"""How a value of a trial is kept: in a line of text, and in an array."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cascadebai_cli.store.schema import MOST_COUNT, OUTCOME, STATUSES


@dataclass(frozen=True)
class Code:
    """The two forms of a value.

    Attributes:
        dtype: type of the array.
        read: text -> value; raises `ValueError` or `KeyError` where no sweep writes such a text.
        text: value -> text.
        pack, unpack: value -> number in the array, and back; the same where none is named.
    """

    dtype: type
    read: Callable[[str], Any]
    text: Callable[[Any], str] = str
    pack: Callable[[Any], Any] | None = None
    unpack: Callable[[Any], Any] | None = None

    def texts(self, packed: NDArray[Any]) -> Iterator[str]:
        """The texts of an array of packed values."""
        values = packed.tolist()
        return map(self.text, map(self.unpack, values) if self.unpack else values)


def _count(text: str) -> int:
    number = int(text)
    if not 0 <= number <= MOST_COUNT:
        raise ValueError(f"{number} is no count")
    return number


_FLAGS: tuple[bool | None, ...] = (False, True, None)
"""Place in it: 0, 1, and -1 where it does not apply."""
_BY_TEXT = {"0": False, "1": True, "": None}

_COUNT = Code(np.int64, _count)
_STATUS = Code(
    np.int8, dict(zip(STATUSES, STATUSES, strict=True)).__getitem__, str, STATUSES.index, STATUSES.__getitem__
)
_FLAG = Code(
    np.int8,
    _BY_TEXT.__getitem__,
    lambda flag: "" if flag is None else str(int(flag)),
    lambda flag: -1 if flag is None else int(flag),
    _FLAGS.__getitem__,
)
_OPTIONAL = Code(
    np.int64,
    lambda text: _count(text) if text else None,
    lambda number: "" if number is None else str(number),
    lambda number: -1 if number is None else number,
    lambda packed: None if packed < 0 else packed,
)
_SECONDS = Code(np.float64, float, "{:.6f}".format)

CODES: Mapping[str, Code] = MappingProxyType(
    {name: {int: _COUNT, str: _STATUS, bool: _FLAG}[kind] for name, kind in OUTCOME.items()}
    | {"seconds": _SECONDS, "right": _OPTIONAL}
)
"""What the journal keeps of a trial, in the order of `TrialRow`; the last one only where there is a budget."""
