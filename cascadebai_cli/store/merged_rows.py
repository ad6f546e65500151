"""The rows of several directories together: a trial that is in two of them must be the same in both."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.instance import IntArray
from cascadebai_cli.store.journal import Stored, each_once, repeats
from cascadebai_cli.store.schema import SAME


def merged_rows(parts: Sequence[tuple[Path, Stored]]) -> Stored:
    """The rows of several directories, of which none has a size in bytes any more.

    Args:
        parts: directories with their rows, one or more.

    Raises:
        ConfigError: if a trial ended in one of them in another way than in another.
    """
    places = {name: i for i, name in enumerate(dict.fromkeys(name for _, part in parts for name in part.cell_ids))}
    rows = np.concatenate([part.rows for _, part in parts])
    rows["cell"] = np.concatenate([_renumbered(part, places) for _, part in parts])
    owners = np.repeat(np.arange(len(parts)), [len(part.rows) for _, part in parts])
    order = np.lexsort((owners, rows["trial"], rows["cell"]))
    rows, owners = rows[order], owners[order]
    unequal = np.flatnonzero(repeats(rows) & (rows[list(SAME)][1:] != rows[list(SAME)][:-1]))
    if len(unequal):
        one, other = rows[unequal[0] : unequal[0] + 2]
        here, there = (parts[owner][0] for owner in owners[unequal[0] : unequal[0] + 2])
        raise ConfigError(
            f"trial {one['trial']} of cell {list(places)[one['cell']]} has {one['steps']} steps and "
            f"{one['observations']} observations in {here}, but {other['steps']} and {other['observations']} in "
            f"{there}, or another end; find out which is wrong and leave it out"
        )
    return Stored(tuple(places), each_once(rows), sum(part.damaged for _, part in parts), 0)


def _renumbered(part: Stored, places: dict[str, int]) -> IntArray:
    numbers: IntArray = np.array([places[name] for name in part.cell_ids], dtype=np.int64)[part.rows["cell"]]
    return numbers
