"""A shard: the part of a grid that one of several machines runs."""

import re
from dataclasses import dataclass

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.instance import IntArray

MOST_SHARDS = 100_000


@dataclass(frozen=True)
class Shard:
    """Part `number` of `of`; every trial of every cell is in exactly one, whatever the number of trials.

    Neighbours in a cell and in the grid go to different shards, so that all have about as much to do.
    """

    number: int = 1
    of: int = 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def takes(self, position: int, trials: IntArray) -> IntArray:
        """Those of the trials of the cell at a position of the grid that are in this shard."""
        part: IntArray = trials[(trials + position) % self.of == self.number - 1]
        return part

    def share(self, position: int, trials: int) -> int:
        """How many of the trials below `trials` they are."""
        return len(range((self.number - 1 - position) % self.of, trials, self.of))


WHOLE = Shard()
"""The only shard of a grid that is not cut."""


def shard_of(text: str) -> Shard:
    """The shard that a text such as `2/5` names.

    Raises:
        ConfigError: if it names none.
    """
    found = re.fullmatch("([0-9]{1,6})/([0-9]{1,6})", text)
    number, of = map(int, found.groups()) if found else (0, 0)
    if not 1 <= number <= of <= MOST_SHARDS:
        raise ConfigError(f"--shard {text} is not a part of a grid; write such as 2/5 for the second of five")
    return Shard(number, of)
