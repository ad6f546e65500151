"""Where steps begin: walks round the survivors over the rows of a table of rewards."""

from array import array
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from cascadebai_cli.engines.reward_table import Place, RewardTable
from cascadebai_cli.model.instance import BoolArray, IntArray

MEMORY = 64 * 2**20
"""Bytes for the places and the walks of blocks that may be met again."""


class Path(NamedTuple):
    """Consecutive steps, at least one.

    Attributes:
        seen: observations from the beginning of the first round to the end of each step, shape `(m,)`.
        at: indices of the steps that end with a click.
        place: places of the survivors that were clicked.
        clicks: clicks by place, shape `(d,)`.
    """

    seen: IntArray
    at: IntArray
    place: IntArray
    clicks: IntArray

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(part.nbytes for part in self)


def joined(parts: Sequence[Path], d: int) -> Path:
    """Paths of `d` survivors, each of which begins where the last one ends, as one."""
    seen, at, made, rounds = [], [], 0, 0
    for part in parts:
        seen.append(part.seen + rounds)
        at.append(part.at + made)
        made, rounds = made + len(part.seen), int(seen[-1][-1]) // d * d
    place = np.concatenate([part.place for part in parts])
    return Path(np.concatenate(seen), np.concatenate(at), place, np.sum([part.clicks for part in parts], axis=0))


class Places:
    """The places of a round while the survivors stay the same.

    Walks over the same rows that meet stay together, so a block is often entered at a place known from the last time.

    Args:
        table: source of the outcomes.
        survivors: items in the order of `D`.
        batch: most observations of a step, at most the number of survivors.
    """

    def __init__(self, table: RewardTable, survivors: IntArray, batch: int) -> None:
        self.table, self.survivors, self.batch = table, survivors, batch
        self._room = MEMORY
        self._columns: dict[int, list[Sequence[int]]] = {}
        self._paths: dict[tuple[int, int], Path] = {}
        self._laps: dict[int, Path] = {}

    def walk(self, step: int, begin: int, most: int) -> Path:
        """The steps after step `step` to the end of its block, but at most `most`.

        Args:
            step: number of steps made.
            begin: place of the round at which the next one begins.
            most: 1 or larger.
        """
        at = self.table.place(step)
        if at.row or at.rows > most:
            return self._path(at, begin, most)
        lap = self._lap(begin) if at.block == 0 else None
        if lap is not None and len(lap.seen) <= most:
            return lap
        known = self._paths.get((at.block, begin))
        if known is None:
            known = self._path(at, begin, most)
            self._keep(self._paths, (at.block, begin), known, known.size)
        return known

    def _lap(self, begin: int) -> Path | None:
        """Once round the whole table, if each block was walked before from the place at which this walk enters it."""
        lap, parts, place = self._laps.get(begin), list[Path](), begin
        if lap is None:
            for block in range(self.table.blocks):
                known = self._paths.get((block, place))
                if known is None:
                    return None
                parts.append(known)
                place = int(known.seen[-1]) % len(self.survivors)
            lap = joined(parts, len(self.survivors))
            self._keep(self._laps, begin, lap, lap.size)
        return lap

    def _path(self, at: Place, begin: int, most: int) -> Path:
        d, columns, code = len(self.survivors), self._columns_of(at), 2 * begin
        rows = range(at.row - at.rows, min(0, at.row - at.rows + most))
        codes = [code := columns[code][row] for row in rows]
        place, clicked = np.divmod(np.array(codes), 2)
        observed = (place - np.append(begin, place[:-1]) - 1) % d + 1
        seen, steps = begin + np.cumsum(observed), np.flatnonzero(clicked)
        clicked_place = (place[steps] - 1) % d
        return Path(seen, steps, clicked_place, np.bincount(clicked_place, minlength=d))

    def _columns_of(self, at: Place) -> list[Sequence[int]]:
        """`next_places` of the rows from `at` on, or more rows before them."""
        known = self._columns.get(at.block)
        if known is None or len(known[0]) < at.rows - at.row:
            known = next_places(self.table.clicks(at)[self.survivors, at.row :], self.batch)
            self._keep(self._columns, at.block, known, len(known) * len(known[0]))
        return known

    def _keep(self, store: dict[Any, Any], key: Hashable, value: object, size: int) -> None:
        if size <= self._room:
            self._room -= size
            store[key] = value


def next_places(clicks: BoolArray, batch: int) -> list[Sequence[int]]:
    """Where the next step begins, by place and row.

    Args:
        clicks: outcomes of the survivors, shape `(d, rows)`.
        batch: most observations of a step, `1 <= batch <= d`.

    Returns:
        entry `[2 p + c][row]`, the same for `c = 0` and `c = 1`, is `2 p' + c'` for a step that begins at place `p`:
        the next one begins at `p'`, and `c'` is 1 if this one ends with a click. So a code leads to the next one.
    """
    d, rows = clicks.shape
    kind = np.dtype(np.uint8 if d <= 128 else np.uint16 if d <= 2**15 else np.uint32)
    skips = np.logical_not(clicks).astype(kind)
    observed, clicked = np.empty((d, rows), kind), np.empty((d, rows), bool)
    ahead, next_observed = np.empty(rows, kind), np.ones(rows, kind)
    for place in [*range(batch - 1)[::-1], *range(d)[::-1]]:
        # Skips before the first click from this place on; the first turns only prepare those at the end of the round.
        np.multiply(skips[place], next_observed, out=ahead)
        np.less(ahead, batch, out=clicked[place])
        next_observed = observed[place]
        np.minimum(np.add(ahead, 1, out=ahead), batch, out=next_observed)
    following = np.add(observed, np.arange(d, dtype=kind)[:, None], out=observed)
    following[following >= d] -= kind.type(d)
    codes = 2 * following + clicked
    return [column for code in codes for column in [array(kind.char, code.tobytes())] * 2]
