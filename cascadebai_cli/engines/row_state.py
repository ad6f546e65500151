"""State of trials that advance together: arrays of which the first axis counts the rows of a block."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cascadebai_cli.model.instance import IntArray


@dataclass
class RowState:
    """A record of arrays with an entry a row, which are filtered together; what is no array is the same for all."""

    def keep(self, rows: IntArray) -> None:
        """Forget all rows but these, in the records that are part of it too."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, RowState):
                value.keep(rows)
            elif isinstance(value, np.ndarray):
                setattr(self, field.name, value[rows])


def objects(values: Sequence[object]) -> NDArray[Any]:
    """An array of objects, one a row."""
    array = np.empty(len(values), object)
    array[:] = values
    return array
