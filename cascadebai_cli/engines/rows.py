"""State of trials that advance together: arrays of which the first axis counts the rows of a block."""

from dataclasses import dataclass, fields


@dataclass
class RowState:
    """A record of arrays, one entry a row; they are filtered together."""

    def keep(self, rows: object) -> None:
        """Forget all rows but these, an index of the first axis."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name)[rows])
